/* The collector in processes that fork, exec, come, go and end, in whatever way, and the recorder with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "record_kit.h"

static void follows_forks(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct cli_result result = recorded_run("life", "forks");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "parent"), 2);
    assert_int_equal(recorded_count(trace, "child"), 20);
    assert_int_equal(trace->processes.count, 21);
    nvt_trace_free(trace);
    result = recorded_run("life", "raw_fork");
    cli_result_free(&result);
    trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "parent"), 2);
    assert_int_equal(recorded_count(trace, "child"), 1);
    assert_int_equal(trace->processes.count, 2);
    nvt_trace_free(trace);
}

static void waits_for_orphans(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct cli_result result = recorded_run("life", "orphan");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "grandchild"), 1);
    nvt_trace_free(trace);
}

static void follows_exec(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "exec");
    cli_expect_status(&result, 3);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "exec"), 1);
    assert_int_equal(recorded_count(trace, "after exec"), 1);
    assert_int_equal(trace->processes.count, 2);
    assert_int_equal(trace->processes.pid[0], trace->processes.pid[1]);
    nvt_trace_free(trace);
}

/* There a process has a number that is another one's here, or nobody's. */
static void follows_into_a_pid_namespace(void **state)
{
    (void)state;
    static const char apart[] = "unshare --pid --fork --mount-proc";
    char script[1200];
    snprintf(script, sizeof(script),
             "%s true 2>/dev/null || exit 77; exec %s record --ring-size 64K -o %s -- %s %s many",
             apart, cli_built("nvtally"), recorded_path(), apart, cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_options options = {.timeout_s = 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    int status = result.status;
    cli_result_free(&result);
    if (status == 77) {
        print_message("no right to make a pid namespace here: not run\n");
        skip();
    }
    assert_int_equal(status, 0);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "many"), 300000);
    nvt_trace_free(trace);
}

static void keeps_threads_that_come_and_go(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "threads");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "in a thread"), 200);
    assert_int_equal(trace->threads.count, 200);
    nvt_trace_free(trace);
}

static void survives_closed_descriptors(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "closed");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "after closing"), 1);
    assert_int_equal(recorded_count(trace, "in a thread"), 1);
    nvt_trace_free(trace);
}

/* Every range of the handler is in the file, or counted as one that came in the middle of an event. */
static void counts_events_of_signal_handlers(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("it lets no signal come in the middle of an event");
    struct cli_result result = recorded_run("life", "signals");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "main"), 2000000);
#ifndef __SANITIZE_THREAD__ /* it keeps a signal until the next call into libc: none in that loop */
    assert_true(recorded_count(trace, "handler") > 0);
#endif
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_false(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
}

static void passes_on_how_the_command_ended(void **state)
{
    (void)state;
    static const struct {
        const char *how;
        int status, signal;
    } ends[] = {{"plain", 3, 0},       {"_exit", 7, 0},       {"abort", -1, SIGABRT},
                {"segv", -1, SIGSEGV}, {"kill", -1, SIGKILL}, {"term", -1, SIGTERM}};
    for (size_t i = 0; i < NVT_COUNT_OF(ends); i++) {
        struct cli_result result = recorded_run("life", ends[i].how);
        assert_int_equal(result.status, ends[i].status);
        assert_int_equal(result.signal, ends[i].signal);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_null(trace->warning);
        assert_int_equal(recorded_count(trace, ends[i].how), 1);
        nvt_trace_free(trace);
    }
}

/* What was open when it was killed lies one within the other, as it was opened. */
static void nests_what_was_open(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "inside");
    assert_int_equal(result.signal, SIGKILL);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t step = recorded_range(trace, "step"), backward = recorded_range(trace, "backward");
    assert_int_equal(trace->ranges.flags[step], NVT_RANGE_UNCLOSED);
    assert_int_equal(trace->ranges.flags[backward], NVT_RANGE_UNCLOSED);
    assert_int_equal(trace->ranges.parent[backward], step);
    assert_int_equal(trace->ranges.level[backward], 1);
    assert_int_equal(trace->ranges.children[step], 2);
    assert_int_equal(trace->ranges.end[step], trace->threads.last_ns[trace->ranges.thread[step]]);
    assert_int_equal(trace->ranges.end[backward], trace->ranges.end[step]);
    nvt_trace_free(trace);
    const char *const argv[] = {"nvtally", "stats", recorded_path(), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    const char *where = strstr(result.err, " ended within: step (");
    assert_non_null(where);
    assert_non_null(strstr(where, "s) > backward ("));
    cli_result_free(&result);
}

static void passes_on_signals_and_output(void **state)
{
    (void)state;
    /* The shell signals the recorder, not the client, which says when it can be sent one. */
    char script[2048];
    const char *said = recorded_in("said");
    snprintf(script, sizeof(script),
             "%s record -o %s -- %s wait >%s & while [ ! -s %s ]; do sleep 0.02; done; "
             "kill -USR1 $!; wait $!; status=$?; cat %s; exit $status",
             cli_built("nvtally"), recorded_path(), cli_client("life"), said, said, said);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 5);
    assert_string_equal(result.out, "ready\n");
    cli_result_free(&result);
    const char *both[] = {"nvtally", "record", "-o", recorded_path(),
                          "--",      "sh",     "-c", "echo out; echo err >&2; cat",
                          NULL};
    struct cli_options options = {.input = "typed\n"};
    result = cli_run_with(&options, both);
    assert_string_equal(result.out, "out\ntyped\n");
    assert_memory_equal(result.err, "err\n", 4);
    cli_result_free(&result);
}

/* As a service manager or a script may have it: then children end without anybody's notice. */
static void knows_the_end_where_children_are_ignored(void **state)
{
    (void)state;
    static const char script[] =
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.argv[1], ['nvtally', 'record', '-o', sys.argv[2], '--', 'python3', '-c', "
        "'import signal; print(int(signal.getsignal(signal.SIGCHLD))); exit(3)'])";
    const char *argv[] = {"python3", "-c", script, cli_built("nvtally"), recorded_path(), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 3);
    assert_string_equal(result.out, "1\n"); /* for the command it is as it was */
    cli_result_free(&result);
}

/* Nobody reads what it has to say: that changes neither the trace nor the status. */
static void outlives_whoever_reads_its_messages(void **state)
{
    (void)state;
    char script[1200];
    snprintf(script, sizeof(script),
             "{ %s record -o %s -- %s plain; echo $? >%s; } 2>&1 | :", cli_built("nvtally"),
             recorded_path(), cli_client("life"), recorded_in("status"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_result_free(&result);
    size_t size;
    char *status = cli_read_file(recorded_in("status"), &size);
    assert_non_null(status);
    assert_memory_equal(status, "3\n", 2);
    free(status);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_int_equal(recorded_count(trace, "plain"), 1);
    nvt_trace_free(trace);
}

/* When only descendants are left, a signal ends the recording and not them. */
static void ends_when_asked_to_while_descendants_go_on(void **state)
{
    (void)state;
    char script[4096], reaped[512];
    snprintf(reaped, sizeof(reaped), "%s", recorded_in("reaped"));
    snprintf(script, sizeof(script),
             "%s record -o %s -- sh -c '(while kill -0 $$; do sleep 0.05; done; echo >%s; sleep 5; "
             "echo >%s.late) >/dev/null 2>&1 & %s plain' & r=$!; "
             "while [ ! -e %s ]; do sleep 0.05; done; "
             "kill -TERM $r; wait $r; echo $?; [ ! -e %s.late ]",
             cli_built("nvtally"), recorded_path(), reaped, reaped, cli_client("life"), reaped,
             reaped);
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "3\n");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    assert_int_equal(recorded_count(trace, "plain"), 1);
    nvt_trace_free(trace);
}

/* What a shell started before it became the recorder is nobody's to wait for. */
static void waits_for_no_children_of_others(void **state)
{
    (void)state;
    char script[2048];
    snprintf(script, sizeof(script), "sleep 60 >/dev/null 2>&1 & exec %s record -o %s -- %s plain",
             cli_built("nvtally"), recorded_path(), cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 3);
    assert_true(result.elapsed_ns < 60 * INT64_C(1000000000));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_forks),
        cmocka_unit_test(waits_for_orphans),
        cmocka_unit_test(follows_exec),
        cmocka_unit_test(follows_into_a_pid_namespace),
        cmocka_unit_test(keeps_threads_that_come_and_go),
        cmocka_unit_test(survives_closed_descriptors),
        cmocka_unit_test(counts_events_of_signal_handlers),
        cmocka_unit_test(passes_on_how_the_command_ended),
        cmocka_unit_test(nests_what_was_open),
        cmocka_unit_test(passes_on_signals_and_output),
        cmocka_unit_test(knows_the_end_where_children_are_ignored),
        cmocka_unit_test(outlives_whoever_reads_its_messages),
        cmocka_unit_test(ends_when_asked_to_while_descendants_go_on),
        cmocka_unit_test(waits_for_no_children_of_others),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
