/*
 * What `record` keeps when the target or the recorder is killed, when rings or the disk are full: a
 * loss is one that is counted and said.
 */
#include <setjmp.h>
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

#include "faults_kit.h"
#include "record_kit.h"

/* --- SIGKILL --------------------------------------------------------------------------------------- */

#define KILLS        20
#define KILL_THREADS 4

static uint64_t returned_pairs(const char *counters, uint64_t *by_thread)
{
    size_t size;
    uint64_t sum = 0, *lines = (uint64_t *)(void *)cli_read_file(counters, &size);
    assert_non_null(lines);
    assert_true(size >= KILL_THREADS * 64);
    for (int i = 0; i < KILL_THREADS; i++)
        sum += by_thread[i] = lines[i * 8];
    free(lines);
    return sum;
}

/* Pairs that had returned before the kill are in the file: the program counts them in shared memory,
 * each thread its own, after each pop. */
static void loses_nothing_when_the_target_is_killed(void **state)
{
    (void)state;
    char script[2048];
    char counters[512]; /* cli_in's paths do not last for so many runs */
    snprintf(counters, sizeof(counters), "%s", recorded_in("counters"));
    for (int run = 0; run < KILLS; run++) {
        uint64_t by_thread[KILL_THREADS];
        unlink(counters);
        /* It would go on for hours: killed once its first thread has counted, it is midway, however
         * late the machine starts it. */
        snprintf(script, sizeof(script),
                 "%s %d 1000000000000 literal %s & p=$!; "
                 "until od -An -tu8 -N8 %s 2>&1 | grep -q '^ *[1-9][0-9]*$'; do sleep 0.01; done; "
                 "sleep 0.0%d; kill -9 $p; wait $p",
                 cli_client("pairs"), KILL_THREADS, counters, counters, 1 + run % 9);
        const char *argv[] = {"nvtally", "record", "-o", recorded_path(), "--", "sh",
                              "-c",      script,   NULL};
        struct cli_result result = cli_run(argv);
        assert_false(result.timed_out);
        struct nvt_trace *trace = recorded_trace();
        uint64_t returned = returned_pairs(counters, by_thread);
        assert_true(recorded_count(trace, "work") >= returned);
        assert_true(recorded_count(trace, "work") <= returned + KILL_THREADS);
        assert_true(returned > 0);
        if (run == KILLS - 1)
            faults_note("SIGKILL from outside, midway", returned, recorded_count(trace, "work"), 0,
                        (double)result.elapsed_ns / 1e9);
        cli_result_free(&result);
        nvt_trace_free(trace);
    }
}

static void stays_readable_when_the_recorder_is_killed(void **state)
{
    (void)state;
    char script[2048];
    /* Killed when a third has ended, so that the first has long been written. */
    snprintf(
        script, sizeof(script),
        "%s record -o %s -- sh -c 'for i in 1 2 3 4 5; do %s many; echo >>%s; sleep 0.1; done' & "
        "until [ \"$(wc -l <%s)\" -ge 3 ]; do sleep 0.05; done 2>/dev/null; "
        "kill -9 $!; wait $! 2>/dev/null; exit 0",
        cli_built("nvtally"), recorded_path(), cli_client("life"), recorded_in("ended"),
        recorded_in("ended"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    assert_false(result.timed_out);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_non_null(trace->warning);
    assert_true(recorded_count(trace, "many") >= 300000);
    nvt_trace_free(trace);
}

/* --- full rings, full disks -------------------------------------------------------------------------- */

static uint64_t sum_threads(const struct nvt_trace *trace, const uint64_t *column)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        sum += column[i];
    return sum;
}

static void drops_and_counts_whole_ranges_when_told(void **state)
{
    (void)state;
    const char *argv[] = {
        "nvtally",       "record", "--on-full",         "drop", "--ring-size", "64K", "-o",
        recorded_path(), "--",     cli_client("pairs"), "2",    "2000000",     NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    uint64_t dropped = sum_threads(trace, trace->threads.dropped);
    uint64_t events = sum_threads(trace, trace->threads.events);
    assert_int_equal(events + dropped, 2 * 2 * 2000000);
    assert_true(dropped > 0);
    assert_non_null(strstr(result.err, "events were lost"));
    assert_null(strstr(result.err, "nested deeper"));
    assert_int_equal(recorded_count(trace, "work") * 2, events);
    cli_result_free(&result);
    nvt_trace_free(trace);
}

/* Each open range keeps a slot for its end: no waiting makes room for more of them than there are slots. */
static void ranges_too_deep_for_a_ring_are_told(void **state)
{
    (void)state;
    static const char *const sizes[] = {"64K", "1M"};
    for (int large = 0; large < 2; large++) {
        const char *argv[] = {"nvtally",       "record", "--ring-size",      sizes[large], "-o",
                              recorded_path(), "--",     cli_client("deep"), "10000",      NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        struct nvt_trace *trace = recorded_trace();
        uint64_t dropped = sum_threads(trace, trace->threads.dropped);
        assert_int_equal(sum_threads(trace, trace->threads.events) + dropped, 20000);
        assert_int_equal(dropped > 0, !large);
        /* What is there is whole: 4096 slots, a few of them no open range's. */
        assert_true(recorded_count(trace, "deep") >= (large ? 10000 : 4000));
        const char *told = strstr(result.err, "nested deeper than a buffer of 64 KiB has room for");
        assert_int_equal(told != NULL, !large);
        cli_result_free(&result);
        nvt_trace_free(trace);
    }
}

static void waits_and_loses_nothing_by_default(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record",        "--ring-size", "64K",
                          "-o",      recorded_path(), "--",          cli_client("pairs"),
                          "2",       "1000000",       "dynamic",     NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->ranges.count, 2000000);
    assert_int_equal(sum_threads(trace, trace->threads.dropped), 0);
    nvt_trace_free(trace);
}

/* A recorder that stops for good: the target goes on after a second, and what it lost is counted. */
static void goes_on_when_the_recorder_stops(void **state)
{
    (void)state;
    char script[2048];
    snprintf(
        script, sizeof(script),
        "%s record --ring-size 64K -o %s -- %s many & r=$!; kill -STOP $r; sleep 3; kill -CONT $r;"
        "wait $r",
        cli_built("nvtally"), recorded_path(), cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_options options = {.timeout_s = 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    faults_note("recorder stopped for 3 s", 300000, recorded_count(trace, "many"),
                sum_threads(trace, trace->threads.dropped), (double)result.elapsed_ns / 1e9);
    cli_result_free(&result);
    assert_int_equal(sum_threads(trace, trace->threads.dropped) +
                         sum_threads(trace, trace->threads.events),
                     600000);
    nvt_trace_free(trace);
}

/* A disk that stands still for two seconds: the recorder writes, and is waited for. Here it is a pipe whose reader
 * sleeps. */
static void waits_for_a_slow_disk(void **state)
{
    (void)state;
    char script[4096];
    const char *pipe = recorded_in("pipe");
    snprintf(script, sizeof(script),
             "mkfifo %s; (head -c 100000; sleep 2; cat) <%s >%s & "
             "%s record --ring-size 64K --level 0 -o %s -- %s many; s=$?; wait; exit $s",
             pipe, pipe, recorded_path(), cli_built("nvtally"), pipe, cli_client("life"));
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_int_equal(faults_said_lost(&result), 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "many"), 300000);
    nvt_trace_free(trace);
}

/* Run under a recorder that writes to a disk of this size. -1 when no disk can be mounted here. */
static int record_to_disk(const char *size, const char *what, const char *client, const char *how,
                          struct cli_result *result, struct nvt_trace **trace)
{
    char script[2048], option[32];
    struct nvt_error err = NVT_ERROR_INIT;
    const char *disk = recorded_in("disk");
    mkdir(disk, 0700);
    snprintf(option, sizeof(option), "size=%s", size);
    if (mount("tmpfs", disk, "tmpfs", 0, option))
        return -1;
    snprintf(script, sizeof(script), "%s %s; echo done; exit 4", cli_client(client), how);
    const char *argv[] = {
        "nvtally", "record", "--trace", what,   "--level", "0", "-o", cli_in(disk, "t.nvt"),
        "--",      "sh",     "-c",      script, NULL};
    *result = cli_run(argv);
    *trace = nvt_trace_read(cli_in(disk, "t.nvt"), &err);
    return umount(disk);
}

/* A disk that is full with the very first names, and one that is full midway: the target's output and
 * status are as always, the loss is counted and said. */
static void survives_a_full_disk(void **state)
{
    (void)state;
    static const struct {
        const char *fault, *size, *how;
        uint32_t ranges;
    } disks[] = {{"disk full from the first", "64k", "names", 40000},
                 {"disk full midway", "1m", "many", 300000}};
    for (size_t i = 0; i < 2; i++) {
        struct cli_result result = {0};
        struct nvt_trace *trace = NULL;
        if (record_to_disk(disks[i].size, "nvtx", "life", disks[i].how, &result, &trace)) {
            print_message("no right to mount a small disk here: not run\n");
            skip();
        }
        cli_expect_status(&result, 4);
        assert_string_equal(result.out, "done\n");
        assert_non_null(strstr(result.err, "No space left on device"));
        assert_non_null(strstr(result.err, "could not be written"));
        assert_non_null(trace);
        assert_true(i == 0 || trace->ranges.count > 0);
        faults_note(disks[i].fault, disks[i].ranges, trace->ranges.count, faults_said_lost(&result),
                    (double)result.elapsed_ns / 1e9);
        cli_result_free(&result);
        nvt_trace_free(trace);
    }
}

/* Calls of the system and samples are counted, too, and not written half. */
static void survives_a_disk_full_of_calls_and_samples(void **state)
{
    struct cli_result result = {0};
    struct nvt_trace *trace = NULL;
    (void)state;
    if (!recorded_preloads())
        skip();
    if (record_to_disk("28k", "osrt,cpu", "os_calls", "many /", &result, &trace)) {
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    cli_expect_status(&result, 4);
    assert_string_equal(result.out, "done\n");
    assert_non_null(strstr(result.err, "No space left on device"));
    assert_true(faults_said_lost(&result) > 0);
    assert_non_null(trace);
    assert_true(trace->os_calls.count > 0);
    assert_true(trace->os_calls.count + trace->cpu_samples.count + faults_said_lost(&result) >=
                4000);
    cli_result_free(&result);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing_when_the_target_is_killed),
        cmocka_unit_test(stays_readable_when_the_recorder_is_killed),
        cmocka_unit_test(drops_and_counts_whole_ranges_when_told),
        cmocka_unit_test(ranges_too_deep_for_a_ring_are_told),
        cmocka_unit_test(waits_and_loses_nothing_by_default),
        cmocka_unit_test(goes_on_when_the_recorder_stops),
        cmocka_unit_test(waits_for_a_slow_disk),
        cmocka_unit_test(survives_a_full_disk),
        cmocka_unit_test(survives_a_disk_full_of_calls_and_samples),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
