/*
 * The collector end to end: programs run under `nvtally record`, and what their traces then hold.
 * What is kept when something is killed or full: test_record_losses.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/trace_file.h"
#include "record_kit.h"

static void assert_name(const struct nvt_trace *trace, uint32_t id, const char *expected)
{
    assert_string_equal(nvt_name(trace, id), expected);
}

/* --- what is recorded ------------------------------------------------------------------------------ */

static void check_plain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    static const char *const inner[] = {
        "reused buffer one", "reused buffer two", "wide \xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80",
        "a name that is much longer than the thirty-one bytes of the short way",
        "quote \" comma , pipe | tab\tline\nend _ & %"};
    uint32_t outer = recorded_range(trace, "outer");
    assert_int_equal(ranges->level[outer], 0);
    assert_int_equal(ranges->children[outer], 7);
    for (size_t i = 0; i < NVT_COUNT_OF(inner); i++) {
        uint32_t row = recorded_range(trace, inner[i]);
        assert_int_equal(ranges->parent[row], outer);
        assert_int_equal(ranges->level[row], 1);
        assert_true(ranges->start[row] >= ranges->start[outer]);
        assert_true(ranges->end[row] <= ranges->end[outer]);
    }
    assert_int_equal(recorded_count(trace, ""), 2);
    assert_int_equal(ranges->style[recorded_range(trace, "started")], NVT_START_END);
    assert_int_equal(ranges->style[recorded_range(trace, "started wide")], NVT_START_END);
    assert_true(ranges->flags[recorded_range(trace, "never ended")] & NVT_RANGE_UNCLOSED);
    assert_true(ranges->flags[recorded_range(trace, "never popped")] & NVT_RANGE_UNCLOSED);
    recorded_mark(trace, "a mark");
    recorded_mark(trace, "a wide mark");
}

static void check_domain(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t first = recorded_range(trace, "registered"),
             second = recorded_range(trace, "registered wide");
    assert_name(trace, trace->domains.name[ranges->domain[first]], "my, domain");
    assert_name(trace, ranges->category[first], "network");
    assert_true(ranges->flags[first] & NVT_RANGE_HAS_COLOR);
    assert_int_equal(ranges->color[first], 0xff3366cc);
    assert_name(trace, ranges->payload[first], "2.5");
    assert_int_equal(ranges->parent[second], first);
    assert_name(trace, ranges->category[second], "8");
    assert_false(ranges->flags[second] & NVT_RANGE_HAS_COLOR);
    assert_name(trace, ranges->payload[second], "-42");
    uint32_t mark = recorded_mark(trace, "domain mark");
    assert_name(trace, trace->marks.payload[mark], "4000000000");
    assert_name(trace, trace->domains.name[trace->marks.domain[mark]], "my, domain");
    assert_int_equal(ranges->style[recorded_range(trace, "domain start")], NVT_START_END);
    assert_int_equal(trace->domains.count, 2);
}

static void records_everything_that_nvtx_has(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("everything", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    check_plain(trace);
    check_domain(trace);
    assert_name(trace, trace->ranges.payload[recorded_range(trace, "with schema")],
                "{\"rank\":-3,\"fruit\":\"pear\",\"seconds\":0.125,\"name\":\"a \\\"pointed\\\" "
                "text\",\"code\":\"ab\",\"inner\":{\"ratio\":1.5,\"counts\":[1,2,65535]}}");
    assert_name(trace, trace->ranges.payload[recorded_range(trace, "payload at the end")], "99");
    assert_int_equal(trace->threads.count, 1);
    assert_name(trace, trace->threads.name[0], "the main thread");
    assert_int_equal(trace->resources.count, 1);
    assert_name(trace, trace->resources.name[0], "first device");
    nvt_trace_free(trace);
}

static void records_cpp_clients(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("scoped", NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    uint32_t scoped = recorded_range(trace, "scoped");
    assert_int_equal(recorded_count(trace, "main"), 1);
    assert_int_equal(recorded_count(trace, "unique"), 1);
    assert_name(trace, trace->domains.name[trace->ranges.domain[scoped]], "a C++ library");
    assert_name(trace, trace->ranges.category[scoped], "network");
    assert_name(trace, trace->ranges.payload[scoped], "17");
    assert_int_equal(trace->ranges.color[scoped], 0xff010203);
    recorded_mark(trace, "marked");
    nvt_trace_free(trace);
}

/* A report says how its trace came about, with the options of the recording. */
static void tells_by_which_command_it_was_recorded(void **state)
{
    (void)state;
    const char *trace = recorded_in("by options.nvt"), *path = recorded_in("told.md");
    struct cli_result result =
        cli_run((const char *[]){"nvtally", "record", "--trace", "nvtx", "--level", "3", "-o",
                                 trace, "--", cli_client("scoped"), "two words", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result = cli_run((const char *[]){"nvtally", "report", trace, "-o", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char line[4000], *text = cli_read_file(path, NULL);
    snprintf(line, sizeof(line),
             "sh\nnvtally record --trace nvtx --level 3 -o '%s' -- %s 'two words'\n", trace,
             cli_client("scoped"));
    assert_non_null(text);
    if (!strstr(text, line))
        fail_msg("no %s in\n%s", line, text);
    free(text);
}

/* Ranges "name 0" to "name N-1", and that once more. Of those that begin at the same tick, as short ones do where the
 * clock is slow, the longest comes first. */
static void expect_numbers_in_turn(const struct nvt_trace *trace, uint32_t numbers)
{
    const int64_t *start = trace->ranges.start;
    uint8_t *seen = calloc(numbers, 1);
    char name[32];
    assert_non_null(seen);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        uint32_t number = numbers;
        const char *is = nvt_name(trace, trace->ranges.name[i]);
        assert_true(sscanf(is, "name %" SCNu32, &number) == 1 && number < numbers);
        seen[number]++;
        snprintf(name, sizeof(name), "name %u", i % numbers);
        if ((!i || start[i - 1] != start[i]) &&
            (i + 1 == trace->ranges.count || start[i + 1] != start[i]))
            assert_string_equal(is, name);
    }
    for (uint32_t i = 0; i < numbers; i++)
        assert_int_equal(seen[i], 2);
    free(seen);
}

static void keeps_names_of_all_lengths_and_numbers(void **state)
{
    (void)state;
    char name[80];
    struct cli_result result = recorded_run("life", "lengths");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    for (int length = 1; length < 70; length++) {
        memset(name, 'a' + length % 26, sizeof(name));
        name[length] = 0;
        /* 'z' names of less than 39 bytes are made a fourth time, at a page's end. */
        uint32_t expected = length % 26 == 25 && length < 39 ? 4 : 3;
        assert_int_equal(recorded_count(trace, name), expected);
    }
    nvt_trace_free(trace);
    result = recorded_run("life", "names");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    assert_int_equal(trace->ranges.count, 40000);
    expect_numbers_in_turn(trace, 20000);
    nvt_trace_free(trace);
}

/* The reader takes pushes and pops without attributes by a short way of its own. */
static void closes_ranges_with_attributes(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "attributes");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "colored"), 3);
    assert_int_equal(recorded_count(trace, "plain"), 3);
    nvt_trace_free(trace);
}

static void pops_too_many_are_ignored(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "deep");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "deep"), 2000);
    assert_int_equal(trace->ranges.level[trace->ranges.count - 1], 1999);
    nvt_trace_free(trace);
}

static void keeps_more_definitions_than_a_chunk_holds(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "definitions");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->warning);
    uint32_t row = recorded_range(trace, "defined");
    assert_int_equal(strlen(nvt_name(trace, trace->ranges.category[row])), 60000);
    nvt_trace_free(trace);
}

static void ends_ranges_that_another_thread_ends(void **state)
{
    (void)state;
    struct cli_result result = recorded_run("life", "hands_over");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    int64_t ended = trace->marks.time[recorded_mark(trace, "all ended")];
    assert_int_equal(recorded_count(trace, "handed over"), 200);
    assert_int_equal(trace->ranges.count, 200);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        assert_true(trace->ranges.end[i] >= trace->ranges.start[i]);
        assert_true(trace->ranges.end[i] <= ended);
        assert_int_not_equal(trace->ranges.end_thread[i], trace->ranges.thread[i]);
    }
    nvt_trace_free(trace);
}

/* --- lives and ends -------------------------------------------------------------------------------- */

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

/* --- bad use ----------------------------------------------------------------------------------------- */

static void says_what_cannot_be_run(void **state)
{
    (void)state;
    const char *missing[] = {"nvtally", "record",          "-o", recorded_path(),
                             "--",      "no-such-command", NULL};
    unlink(recorded_path());
    struct cli_result result = cli_run(missing);
    cli_expect_failure(&result, "no-such-command: command not found");
    cli_result_free(&result);
    assert_int_equal(access(recorded_path(), F_OK), -1);
    const char *folder[] = {"nvtally", "record", "-o", recorded_path(), "--", "/", NULL};
    result = cli_run(folder);
    cli_expect_failure(&result, "Permission denied");
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "record", "-o", "/no/such/folder/t.nvt",
                             "--",      "true",   NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "/no/such/folder/t.nvt: cannot be created");
    cli_result_free(&result);
}

/* A command that is found and cannot be started: what stands where the trace would be stays as it is. */
static void leaves_the_output_alone_when_nothing_runs(void **state)
{
    (void)state;
    static const char script[] = "#!/no/such/interpreter\n";
    const char *broken = recorded_in("broken"), *device = recorded_in("device");
    struct stat status;
    cli_write_file(broken, script, sizeof(script) - 1);
    assert_int_equal(chmod(broken, 0700), 0);
    static const char trace[] = NVT_FILE_MAGIC "what was there";
    cli_write_file(recorded_path(), trace, sizeof(trace));
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(), "--", broken, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "the interpreter /no/such/interpreter, which is not there");
    cli_result_free(&result);
    size_t size;
    char *kept = cli_read_file(recorded_path(), &size);
    assert_int_equal(size, sizeof(trace));
    assert_memory_equal(kept, trace, sizeof(trace));
    free(kept);
    unlink(recorded_path());
    result = cli_run(argv);
    cli_expect_failure(&result, "which is not there");
    cli_result_free(&result);
    assert_int_equal(access(recorded_path(), F_OK), -1);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 3)))
        return; /* no right to make one */
    argv[3] = device;
    result = cli_run(argv);
    cli_expect_failure(&result, "which is not there");
    cli_result_free(&result);
    assert_int_equal(lstat(device, &status), 0);
}

/* It waits for nobody who may never come, and whom no signal would end. */
static void a_pipe_that_nobody_reads_is_named(void **state)
{
    (void)state;
    const char *pipe_path = recorded_in("pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const char *argv[] = {"nvtally", "record", "-o", pipe_path, "--", "echo", "ran", NULL};
    struct cli_options options = {.timeout_s = 20};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "is a pipe that nobody reads");
    cli_result_free(&result);
    char script[2000];
    snprintf(script, sizeof(script),
             "cat %s >%s & exec \"$0\" record --trace nvtx -o %s -- %s plain", pipe_path,
             recorded_path(), pipe_path, cli_client("life"));
    const char *read_it[] = {"sh", "-c", script, cli_built("nvtally"), NULL};
    for (int try = 0; try < 50; try++) {
        result = cli_run_with(&options, read_it); /* cat may not have come yet */
        const int is_read = result.status == 3;
        cli_result_free(&result);
        if (is_read)
            break;
        assert_true(try < 49);
    }
    unlink(pipe_path);
}

static void leaves_another_tool_alone(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(),
                          "--",      "sh",     "-c", "echo $NVTX_INJECTION64_PATH",
                          NULL};
    const char *environment[] = {"NVTX_INJECTION64_PATH=/opt/other/tool.so", NULL};
    struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "/opt/other/tool.so\n");
    assert_non_null(strstr(result.err, "another tool is injected already"));
    cli_result_free(&result);
}

static void leaves_no_session_behind(void **state)
{
    (void)state;
    /* A place of its own: other recordings may come and go in the common one. */
    char place[600];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", recorded_in("sessions"));
    assert_int_equal(mkdir(recorded_in("sessions"), 0700), 0);
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally",
                          "record",
                          "-o",
                          recorded_path(),
                          "--",
                          "sh",
                          "-c",
                          "ls -d \"$NVTALLY_TMPDIR\"/nvtally-*/control; exec \"$0\" forks",
                          cli_client("life"),
                          NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/sessions/nvtally-"));
    cli_result_free(&result);
    assert_int_equal(rmdir(recorded_in("sessions")), 0);
}

/* Somebody who says where the buffers shall be has a reason, a small /dev/shm as a rule. */
static void keeps_to_the_folder_that_was_asked_for(void **state)
{
    (void)state;
    char place[600];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", recorded_in("no-such-folder"));
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(), "--", "echo", "ran", NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "no-such-folder: no private folder can be made for the "
                                       "buffers in it, as NVTALLY_TMPDIR asks: No such file"));
    cli_result_free(&result);
    environment[0] = "NVTALLY_TMPDIR=";
    result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "ran\n");
    cli_result_free(&result);
}

/* Its loader ends a program over what a preloaded library lacks. In a tree of both, the other libc's programs are recorded. */
static void programs_of_another_libc_start(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    const char *program = recorded_in("musl");
    char script[1200];
    snprintf(script, sizeof(script),
             "command -v musl-gcc >/dev/null || exit 77; "
             "printf 'int puts(const char *), usleep(unsigned); int main(void) { puts(\"runs\"); "
             "usleep(500000); return 3; }' >%s.c; "
             "musl-gcc %s.c -o %s",
             program, program, program);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    if (result.status == 77) {
        cli_result_free(&result);
        print_message("no musl-gcc here: not run\n");
        skip();
    }
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char *const levels[] = {"nvtx", "osrt", "cpu", "mpi", "nvtx,osrt,cpu,mpi"};
    snprintf(script, sizeof(script), "%s plain >/dev/null; %s; s=$?; sleep 0.02; exit $s",
             cli_client("life"), program);
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", levels[i], "-o",
                                          recorded_path(), "--", "sh", "-c", script, NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, "runs\n");
        if (!strstr(result.err, "not recorded, as it is of another libc: musl ("))
            fail_msg("%s", result.err);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        if (strstr(levels[i], "nvtx"))
            assert_int_equal(recorded_count(trace, "plain"), 1);
        if (strstr(levels[i], "osrt"))
            assert_true(trace->os_calls.count > 0);
        nvt_trace_free(trace);
    }
}

/* AddressSanitizer as a shared library ends a program where another one is in front of it, unless it is told not to look: so
 * programs that have it start, and are recorded, at all levels; what the user has said of it stays. */
static void programs_with_address_sanitizer_start(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    const char *program = recorded_in("asan");
    char script[1200];
    snprintf(script, sizeof(script),
             "printf '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
             "int main(void) { usleep(20000); puts(getenv(\"ASAN_OPTIONS\") ? "
             "getenv(\"ASAN_OPTIONS\") : \"none\"); return 3; }' >%s.c; "
             "gcc -fsanitize=address %s.c -o %s 2>/dev/null && %s >/dev/null",
             program, program, program, program);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    const int is_there = result.status == 3;
    cli_result_free(&result);
    if (!is_there) {
        print_message("no AddressSanitizer here: not run\n");
        skip();
    }
    static const struct {
        const char *levels, *before, *seen;
    } ways[] = {{"nvtx", "ASAN_OPTIONS", "none\n"},
                {"osrt", "ASAN_OPTIONS", "verify_asan_link_order=0\n"},
                {"cpu", "ASAN_OPTIONS=exitcode=9", "verify_asan_link_order=0:exitcode=9\n"},
                {"mpi,osrt,cpu", "ASAN_OPTIONS=", "verify_asan_link_order=0\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        const char *environment[] = {ways[i].before, NULL};
        const struct cli_options options = {.environment = environment};
        result = cli_run_with(&options, (const char *const[]){"nvtally", "record", "-f", "--trace",
                                                              ways[i].levels, "-o", recorded_path(),
                                                              "--", program, NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, ways[i].seen);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        if (strstr(ways[i].levels, "osrt"))
            assert_true(trace->os_calls.count > 0);
        nvt_trace_free(trace);
    }
}

/* `record` needs little stack, and says so where the address space has no room for the collector. */
static void limits_of_memory_are_kept_to(void **state)
{
    (void)state;
    char script[600];
    static const char *const levels[] = {"nvtx", "nvtx,osrt,cpu,mpi,machine,process"};
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        if (i && !recorded_preloads())
            break;
        snprintf(script, sizeof(script),
                 "ulimit -s 64 && exec $0 record -f --trace %s -o %s -- %s plain", levels[i],
                 recorded_path(), cli_client("life"));
        struct cli_result result =
            cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_status(&result, 3);
        if (!strstr(result.err, "nvtally: 2 events of 1 thread in 1 process"))
            fail_msg("%s: %s", levels[i], result.err);
        cli_result_free(&result);
    }
#ifdef __SANITIZE_ADDRESS__
    print_message("no limit of address space: AddressSanitizer takes terabytes of it\n");
    return;
#endif
    /* From a limit at which no program starts up to one that leaves room: who is recorded has all, of the others it is said. */
    int has_some = 0;
    for (int kib = 2000; !has_some && kib < 1 << 20; kib += kib / 8) {
        snprintf(script, sizeof(script),
                 "exec $0 record -f --trace nvtx -o %s -- sh -c 'ulimit -v %d; %s plain; s=$?; "
                 "/bin/sleep 0.3; exit $s'",
                 recorded_path(), kib, cli_client("life"));
        struct cli_result result =
            cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        has_some = strstr(result.err, "nvtally: 2 events of 1 thread in 1 process") != 0;
        if (result.status == 3 && !has_some &&
            !strstr(result.err, "the limit of address space (ulimit -v) is") &&
            !strstr(result.err, "were lost"))
            fail_msg("%d KiB: %s", kib, result.err);
        cli_result_free(&result);
    }
    assert_true(has_some);
}

/* Where a limit leaves a recorder no room, the command runs as it would alone, and a line says so. */
static void limits_that_leave_no_room(void **state)
{
    (void)state;
    static const struct {
        const char *limit, *value, *said;
    } limits[] = {{"-n 8", "8\n", "ulimit -n allows 8 open files: "},
                  {"-f 4", "4\n", "ulimit -f allows "}};
    for (size_t i = 0; i < NVT_COUNT_OF(limits); i++) {
        char script[600];
        snprintf(script, sizeof(script),
                 "rm -f %s; ulimit %s && exec $0 record -o %s -- sh -c 'ulimit %.2s; exit 3'",
                 recorded_path(), limits[i].limit, recorded_path(), limits[i].limit);
        struct cli_result result =
            cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, limits[i].value);
        if (strncmp(result.err, "nvtally: the command runs without being recorded, as ", 53) != 0 ||
            !strstr(result.err, limits[i].said) || strchr(result.err, '\n')[1])
            fail_msg("%s: %s", limits[i].limit, result.err);
        cli_result_free(&result);
        assert_int_not_equal(access(recorded_path(), F_OK), 0);
        /* What cannot be started is still that. */
        snprintf(script, sizeof(script), "ulimit %s && exec $0 record -o %s -- ./missing",
                 limits[i].limit, recorded_path());
        result = cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_failure(&result, "missing");
        cli_result_free(&result);
    }
}

/* As the recorder itself has said, which nobody may have kept. */
static void events_without_a_buffer_are_noted(void **state)
{
    (void)state;
    char script[600];
    snprintf(script, sizeof(script),
             "(ulimit -f 16; exec $0 record -f -o %s -- %s plain 2>/dev/null); "
             "exec $0 stats -r nvtx_sum %s",
             recorded_path(), cli_client("life"), recorded_path());
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    if (!strstr(result.err, "2 events were lost of threads that got no buffer\n"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
}

/* Why nothing was recorded is what the process itself found, not a guess. */
static void who_cannot_join_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *script, *said;
    } ways[] = {
        {"unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec %s plain' 2>/dev/null",
         "is not there in its mount namespace"},
        {"setpriv --reuid 65534 --clear-groups %s plain", "it runs as another user"},
        {"exec %s changes_user", "changed its user after it had joined the recording"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        char script[800];
        snprintf(script, sizeof(script), ways[i].script, cli_client("life"));
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "-f", "-o", recorded_path(), "--", "sh", "-c", script, NULL});
        if (result.status != 3) {
            cli_result_free(&result);
            print_message("no right to make a mount namespace, or to be another user: not run\n");
            skip();
        }
        if (!strstr(result.err, ways[i].said) || !strstr(result.err, "life (process "))
            fail_msg("%s", result.err);
        assert_null(strstr(result.err, "no NVTX calls were recorded"));
        cli_result_free(&result);
    }
}

/* sudo and others begin programs with an environment that does not name the session. */
static void programs_without_our_environment_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int is_named, has_events;
    } ways[] = {{"exec env -i /bin/sleep 0.5", 1, 0},
                {"exec env -i PATH=/bin A=1 /bin/sleep 0.5", 1, 0},
                {"exec env -i A=1 b_2= /bin/sleep 0.5", 1, 0},
                {"$0 plain; exec env -i /bin/sleep 0.5", 1, 1}, /* beside one that is recorded */
                {"$0 plain; exec /bin/sleep 0.5", 0, 1},
                {"exec /bin/sleep 0.5", 0, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "-f", "--trace", "nvtx", "-o", recorded_path(), "--", "sh", "-c",
            ways[i].script, cli_client("life"), NULL});
        cli_expect_status(&result, 0);
        const int is_named = strstr(result.err, "as it began without nvtally's environment") != 0;
        const int is_guessed = strstr(result.err, "no NVTX calls were recorded") != 0;
        if (is_named != ways[i].is_named || is_guessed != (!is_named && !ways[i].has_events))
            fail_msg("%s: %s", ways[i].script, result.err);
        cli_result_free(&result);
    }
}

/* A root folder without the collector, as that of a container or a chroot: the program runs, and the recorder has seen where. */
static void roots_without_the_collector_are_named(void **state)
{
    (void)state;
    char script[1600];
    const char *root = recorded_in("root");
    snprintf(script, sizeof(script),
             "mkdir -p %s/bin && cp /bin/sleep %s/bin && ldd /bin/sleep | grep -o '/[^ ]*' | "
             "while read -r file; do mkdir -p %s$(dirname $file) && cp $file %s$file; done; "
             "chroot %s /bin/sleep 0.5 && exit 3",
             root, root, root, root, root);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "nvtx", "-o",
                                      recorded_path(), "--", "sh", "-c", script, NULL});
    if (result.status != 3) {
        cli_result_free(&result);
        print_message("no right to call chroot: not run\n");
        skip();
    }
    if (!strstr(result.err, "libraries are not in its root folder (a container?): sleep ("))
        fail_msg("%s", result.err);
    assert_null(strstr(result.err, "no NVTX calls were recorded"));
    cli_result_free(&result);
}

/* A registered name takes no longer for the many that were registered before it: some three times as long as one by its text, and
   with lists of them it was a hundred times. By processor time, which a busy machine changes little. */
static void registers_names_by_the_hundred_thousand(void **state)
{
    (void)state;
    long long text_ns, registered_ns;
    const char *argv[] = {
        "nvtally", "record", "-o", recorded_path(), "--", cli_client("many_names"), "200000", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%lld %lld", &text_ns, &registered_ns), 2);
    if (registered_ns > 25 * text_ns)
        fail_msg("registered: %lld ns, by text: %lld ns", registered_ns, text_ns);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->ranges.count, 400000);
    recorded_range(trace, "registered 199999");
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_everything_that_nvtx_has),
        cmocka_unit_test(records_cpp_clients),
        cmocka_unit_test(tells_by_which_command_it_was_recorded),
        cmocka_unit_test(keeps_names_of_all_lengths_and_numbers),
        cmocka_unit_test(registers_names_by_the_hundred_thousand),
        cmocka_unit_test(closes_ranges_with_attributes),
        cmocka_unit_test(pops_too_many_are_ignored),
        cmocka_unit_test(keeps_more_definitions_than_a_chunk_holds),
        cmocka_unit_test(ends_ranges_that_another_thread_ends),
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
        cmocka_unit_test(programs_of_another_libc_start),
        cmocka_unit_test(programs_with_address_sanitizer_start),
        cmocka_unit_test(limits_of_memory_are_kept_to),
        cmocka_unit_test(limits_that_leave_no_room),
        cmocka_unit_test(events_without_a_buffer_are_noted),
        cmocka_unit_test(who_cannot_join_says_why),
        cmocka_unit_test(programs_without_our_environment_are_named),
        cmocka_unit_test(roots_without_the_collector_are_named),
        cmocka_unit_test(says_what_cannot_be_run),
        cmocka_unit_test(leaves_the_output_alone_when_nothing_runs),
        cmocka_unit_test(a_pipe_that_nobody_reads_is_named),
        cmocka_unit_test(leaves_another_tool_alone),
        cmocka_unit_test(leaves_no_session_behind),
        cmocka_unit_test(keeps_to_the_folder_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
