/*
 * What may go wrong around a recording: for each fault, the ranges that were completed are in the
 * file or counted as lost, the command ends as it would have, and nothing hangs. How a command
 * itself may end (signals, _exit, exec, forks) is in test_record.c. NVTALLY_FAULTS=full (make
 * check-faults) has larger numbers, and makes every allocation fail in turn.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/reader.h"
#include "cli.h"

#define FEW 1000

static char *directory;
static char output[512];

static int is_full(void)
{
    const char *form = getenv("NVTALLY_FAULTS");
    return form && !strcmp(form, "full");
}

static int make_directory(void **state)
{
    (void)state;
    directory = cli_tempdir();
    snprintf(output, sizeof(output), "%s/t.nvt", directory);
    /* Sessions are made here too, so that none that a killed recorder leaves outlives the test. */
    setenv("NVTALLY_TMPDIR", directory, 1);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

static struct cli_result record(const char *how, const char *file)
{
    const char *argv[] = {"nvtally", "record", "-o", output, "--", cli_client("faults"),
                          how,       file,     NULL};
    struct cli_options options = {.timeout_s = 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    return result;
}

static struct cli_result shell(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_options options = {.timeout_s = is_full() ? 600 : 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    return result;
}

static struct nvt_trace *read_trace(void)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(output, &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name) &&
                 !(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    return count;
}

/* What the recorder said was lost. */
static uint64_t said_lost(const struct cli_result *result)
{
    const char *end = strstr(result->err, " events were lost");
    const char *at = end;
    while (at && at > result->err && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? strtoull(at, NULL, 10) : 0;
}

/* No session is left in the folder: nothing but files of the test's own. */
static void assert_no_session_left(void)
{
    char script[1200];
    snprintf(script, sizeof(script), "ls %s | grep -c nvtally-", directory);
    struct cli_result result = shell(script);
    assert_string_equal(result.out, "0\n");
    cli_result_free(&result);
}

/* The client ends well, nothing is lost, and these are its ranges. */
static void assert_complete(const char *how, const char *file, const char *const *names,
                            const uint32_t *counts)
{
    struct cli_result result = record(how, file);
    cli_expect_status(&result, 0);
    assert_int_equal(said_lost(&result), 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_null(trace->warning);
    for (; *names; names++, counts++)
        assert_int_equal(count_ranges(trace, *names), *counts);
    nvt_trace_free(trace);
    assert_no_session_left();
}

/* --- what a target does to itself
 * ------------------------------------------------------------------ */

static void survives_all_descriptors_closed(void **state)
{
    (void)state;
    assert_complete("close_all", NULL, (const char *[]){"without descriptors", "in a thread", NULL},
                    (const uint32_t[]){FEW, 1});
}

/* A target without room for a ring runs as always, and every event of it is counted as lost. */
static void counts_what_limits_cost(void **state)
{
    (void)state;
    static const char *const ways[] = {"no_files", "no_file_size", "no_memory"};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct cli_result result = record(ways[i], NULL);
        cli_expect_status(&result, 0);
        struct nvt_trace *trace = read_trace();
        /* NVTX cannot load the library without a descriptor or memory: then nobody counts. */
        if (said_lost(&result))
            assert_int_equal(said_lost(&result), 2 * FEW);
        else
            assert_non_null(strstr(result.err, "made no NVTX call"));
        assert_int_equal(trace->ranges.count, 0);
        nvt_trace_free(trace);
        cli_result_free(&result);
    }
    struct cli_result result = record("limited_later", NULL);
    cli_expect_status(&result, 0);
    assert_int_equal(said_lost(&result), 2);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "before"), FEW);
    assert_int_equal(count_ranges(trace, "limited"), FEW);
    assert_int_equal(count_ranges(trace, "homeless"), 0);
    nvt_trace_free(trace);
    cli_result_free(&result);
    assert_no_session_left();
}

static void is_no_cancellation_point(void **state)
{
    (void)state;
    assert_complete("cancelled", NULL, (const char *[]){"pending", NULL}, (const uint32_t[]){200});
}

/* What had returned before a thread was cut is in the file. One range a thread may be on its way.
 */
static void keeps_what_cut_threads_completed(void **state)
{
    (void)state;
    struct cli_result result = record("cut", NULL);
    cli_expect_status(&result, 0);
    uint64_t returned = strtoull(result.out, NULL, 10);
    assert_true(returned >= 200);
    struct nvt_trace *trace = read_trace();
    assert_true(count_ranges(trace, "cut") >= returned);
    assert_true(count_ranges(trace, "cut") <= returned + 20);
    nvt_trace_free(trace);
    cli_result_free(&result);
    assert_no_session_left();
}

static void keeps_a_crowd_of_threads(void **state)
{
    (void)state;
    for (int round = 0; round < (is_full() ? 10 : 1); round++) {
        assert_complete("crowd", NULL, (const char *[]){"in a crowd", NULL},
                        (const uint32_t[]){1000});
        struct nvt_trace *trace = read_trace();
        assert_int_equal(trace->threads.count, 1000);
        nvt_trace_free(trace);
    }
}

static void goes_on_after_a_stop(void **state)
{
    (void)state;
    assert_complete("stopped", NULL, (const char *[]){"before the stop", "after the stop", NULL},
                    (const uint32_t[]){FEW, FEW});
}

static void lives_beside_a_debugger(void **state)
{
    (void)state;
    struct cli_result result = record("traced", NULL);
    if (result.status == 98) {
        cli_result_free(&result);
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    cli_expect_status(&result, 0);
    assert_int_equal(said_lost(&result), 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "debugged"), FEW);
    assert_true(count_ranges(trace, "debugger") > 0);
    nvt_trace_free(trace);
}

/* A library of somebody else's, and our own where nobody would put it. */
static void lives_beside_preloaded_libraries(void **state)
{
    (void)state;
    const char *const libraries[] = {"tests/libfail-alloc.so", "libnvtally-inject.so"};
    for (size_t i = 0; i < 2; i++)
        assert_complete("preloads", cli_built(libraries[i]),
                        (const char *[]){"before exec", "preloaded", NULL},
                        (const uint32_t[]){FEW, FEW});
}

static void cannot_be_unloaded(void **state)
{
    (void)state;
    assert_complete("unloads", NULL, (const char *[]){"before", "after", "in a thread", NULL},
                    (const uint32_t[]){FEW, FEW, 1});
}

/* --- what happens around them
 * ---------------------------------------------------------------------- */

/* Recorder and target are stopped together for longer than the silence of a dead recorder, as by a
 * debugger or a freezer: nothing is lost. */
static void loses_nothing_when_all_is_stopped(void **state)
{
    (void)state;
    char script[8192];
    snprintf(script, sizeof(script),
             "%s record --ring-size 64K -o %s -- %s many & r=$!; sleep 0.1; "
             "for i in 1 2 3; do c=$(cat /proc/$r/task/$r/children); kill -STOP $c $r; sleep 1.3; "
             "kill -CONT $c; sleep 0.05; kill -CONT $r; sleep 0.02; done; wait $r",
             cli_built("nvtally"), output, cli_client("faults"));
    struct cli_result result = shell(script);
    cli_expect_status(&result, 0);
    assert_int_equal(said_lost(&result), 0);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "many"), 500000);
    nvt_trace_free(trace);
}

/* Killed, the recorder leaves what it had flushed; the target ends in its own time and its own way.
 */
static void target_outlives_its_recorder(void **state)
{
    (void)state;
    char script[8192], file[600];
    snprintf(file, sizeof(file), "%s/ready", directory);
    snprintf(script, sizeof(script),
             "%s record --ring-size 64K -o %s -- sh -c '%s waits %s; echo $? >%s.status' & r=$!; "
             "while [ ! -e %s ]; do sleep 0.02; done; kill -9 $r; wait $r; rm %s; i=0; "
             "while [ ! -s %s.status ] && [ $i -lt 1000 ]; do sleep 0.02; i=$((i+1)); done; "
             "cat %s.status",
             cli_built("nvtally"), output, cli_client("faults"), file, file, file, file, file,
             file);
    struct cli_result result = shell(script);
    assert_string_equal(result.out, "6\n");
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_non_null(trace->warning);
    assert_int_equal(count_ranges(trace, "early"), FEW);
    nvt_trace_free(trace);
    snprintf(script, sizeof(script), "rm -r %s/nvtally-*", directory);
    result = shell(script); /* what only a recorder that lives can take away */
    cli_result_free(&result);
}

/* The trace is removed midway: the target notices nothing, and the recorder says that it is gone.
 */
static void says_that_the_output_was_removed(void **state)
{
    (void)state;
    char script[8192], file[600];
    snprintf(file, sizeof(file), "%s/ready", directory);
    snprintf(script, sizeof(script),
             "%s record -o %s -- %s waits %s & r=$!; while [ ! -e %s ]; do sleep 0.02; done; "
             "rm %s %s; wait $r",
             cli_built("nvtally"), output, cli_client("faults"), file, file, output, file);
    struct cli_result result = shell(script);
    cli_expect_status(&result, 6);
    assert_non_null(strstr(result.err, "t.nvt: was removed"));
    assert_int_equal(access(output, F_OK), -1);
    cli_result_free(&result);
    assert_no_session_left();
}

static void says_where_nothing_can_be_written(void **state)
{
    (void)state;
    const char *folder = cli_in(directory, "fixed");
    assert_int_equal(mkdir(folder, 0500), 0);
    int mounted = !geteuid() && !mount("tmpfs", folder, "tmpfs", MS_RDONLY, "size=64k");
    const char *argv[] = {
        "nvtally", "record", "-o", cli_in(folder, "t.nvt"), "--", "touch", cli_in(directory, "ran"),
        NULL};
    struct cli_result result = cli_run(argv);
    const char *other[] = {
        "nvtally", "record", "-o", "/proc/t.nvt", "--", "touch", cli_in(directory, "ran"), NULL};
    struct cli_result second = cli_run(other);
    if (mounted)
        umount(folder);
    if (geteuid() || mounted)
        cli_expect_failure(&result, mounted ? "Read-only file system" : "Permission denied");
    cli_expect_failure(&second, "/proc/t.nvt: cannot be created");
    assert_int_equal(access(cli_in(directory, "ran"), F_OK), -1);
    cli_result_free(&result);
    cli_result_free(&second);
    assert_no_session_left();
}

/* A build: a shell that starts one short process after another, four at a time. */
static void keeps_many_short_processes(void **state)
{
    (void)state;
    char script[8192];
    uint32_t each = is_full() ? 2500 : 50;
    snprintf(script, sizeof(script),
             "%s record --ring-size 64K -o %s -- sh -c 'build() { i=0; while [ $i -lt %u ]; do "
             "%s once; /bin/true; i=$((i+1)); done; }; build & build & build & build & wait'",
             cli_built("nvtally"), output, each, cli_client("faults"));
    struct cli_result result = shell(script);
    cli_expect_status(&result, 0);
    assert_int_equal(said_lost(&result), 0);
    print_message("%u processes: %.1f s\n", 4 * each, (double)result.elapsed_ns / 1e9);
    cli_result_free(&result);
    struct nvt_trace *trace = read_trace();
    assert_int_equal(count_ranges(trace, "once"), 4 * each);
    assert_int_equal(trace->processes.count, 4 * each);
    nvt_trace_free(trace);
    assert_no_session_left();
}

/* --- allocations
 * ----------------------------------------------------------------------------------- */

static struct cli_result with_failing(const char *const argv[], unsigned long number)
{
    char preload[600], failing[40], counts[600];
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", cli_built("tests/libfail-alloc.so"));
    snprintf(failing, sizeof(failing), "FAIL_ALLOC=%lu", number);
    snprintf(counts, sizeof(counts), "FAIL_ALLOC_COUNT=%s", cli_in(directory, "count"));
    const char *environment[] = {preload, failing, counts, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 20};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.timed_out || result.signal)
        fail_msg("%s, allocation %lu: %s %d\n%s", argv[1], number,
                 result.timed_out ? "hangs" : "signal", result.signal, result.err);
    return result;
}

static unsigned long count_allocations(const char *const argv[])
{
    struct cli_result result = with_failing(argv, 0);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(cli_in(directory, "count"), NULL);
    assert_non_null(text);
    unsigned long count = strtoul(text, NULL, 10);
    free(text);
    assert_true(count > 10);
    return count;
}

/* Success, or an end with one of our lines. Never a signal, never a hang. */
static void assert_sound(const struct cli_result *result, const char *command, unsigned long number)
{
    if (result->status != 0 && (result->status != 2 || strncmp(result->err, "nvtally: ", 9)))
        fail_msg("%s, allocation %lu: status %d\n%s", command, number, result->status, result->err);
}

/* Every n-th in the short form, so that each part is met. */
static unsigned long step_of(unsigned long count, unsigned long most)
{
    return is_full() ? 1 : count / most + 1;
}

static void reading_survives_failing_allocations(void **state)
{
    (void)state;
    struct cli_result made = record("once", NULL);
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    const char *argv[] = {"nvtally", "stats", output, NULL};
    struct cli_result whole = cli_run(argv);
    unsigned long count = count_allocations(argv);
    for (unsigned long n = 1; n <= count; n += step_of(count, 60)) {
        struct cli_result result = with_failing(argv, n);
        assert_sound(&result, "stats", n);
        if (!result.status && strcmp(result.out, whole.out) && !strstr(result.err, "out of memory"))
            fail_msg("stats, allocation %lu: not what it should be\n%s%s", n, result.out,
                     result.err);
        cli_result_free(&result);
    }
    print_message("%lu allocations of a reading\n", count);
    cli_result_free(&whole);
}

/* A recording is whole, or says what it lost, or did not begin. */
static void recording_survives_failing_allocations(void **state)
{
    (void)state;
    char client[600]; /* cli_client's paths do not last for so many runs */
    snprintf(client, sizeof(client), "%s", cli_client("everything"));
    const char *argv[] = {"nvtally", "record", "-o", output, "--", client, NULL};
    struct cli_result made = cli_run(argv);
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    struct nvt_trace *trace = read_trace();
    uint32_t all = trace->ranges.count;
    nvt_trace_free(trace);
    unsigned long count = count_allocations(argv);
    for (unsigned long n = 1; n <= count; n += step_of(count, 40)) {
        struct nvt_error err = NVT_ERROR_INIT;
        unlink(output);
        struct cli_result result = with_failing(argv, n);
        assert_sound(&result, "record", n);
        trace = access(output, F_OK) ? NULL : nvt_trace_read(output, &err);
        if (!result.status && !trace)
            fail_msg("allocation %lu: no trace: %s\n%s", n, err.message, result.err);
        if (!result.status && trace->ranges.count != all && !strstr(result.err, "out of memory") &&
            !strstr(result.err, "were lost"))
            fail_msg("allocation %lu: %u of %u ranges\n%s", n, trace->ranges.count, all,
                     result.err);
        nvt_trace_free(trace);
        cli_result_free(&result);
        assert_no_session_left();
    }
    print_message("%lu allocations of a recording\n", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_all_descriptors_closed),
        cmocka_unit_test(counts_what_limits_cost),
        cmocka_unit_test(is_no_cancellation_point),
        cmocka_unit_test(keeps_what_cut_threads_completed),
        cmocka_unit_test(keeps_a_crowd_of_threads),
        cmocka_unit_test(goes_on_after_a_stop),
        cmocka_unit_test(lives_beside_a_debugger),
        cmocka_unit_test(lives_beside_preloaded_libraries),
        cmocka_unit_test(cannot_be_unloaded),
        cmocka_unit_test(loses_nothing_when_all_is_stopped),
        cmocka_unit_test(target_outlives_its_recorder),
        cmocka_unit_test(says_that_the_output_was_removed),
        cmocka_unit_test(says_where_nothing_can_be_written),
        cmocka_unit_test(keeps_many_short_processes),
        cmocka_unit_test(reading_survives_failing_allocations),
        cmocka_unit_test(recording_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
