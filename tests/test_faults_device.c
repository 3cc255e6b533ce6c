/*
 * Faults while device records come, on the made-up device of tests/cupti: two threads launch
 * kernels, each within a range, and count them in shared memory. Whatever happens then, every range
 * is in the file, the kernels up to the last hand-over too (10 times a second; at most what was
 * still with CUPTI is unknown, and the trace says so), and nothing hangs.
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

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "faults_kit.h"

#define STREAMS 2

static const char *counters(void)
{
    static char path[600];
    snprintf(path, sizeof(path), "%s/counters", faults_folder());
    return path;
}

static struct cli_result run(const char *const argv[])
{
    char cupti[600];
    snprintf(cupti, sizeof(cupti), "NVTALLY_CUPTI=%s", cli_built("tests/libcupti-stand-in.so"));
    const char *environment[] = {cupti, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 60};
    unlink(counters());
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    return result;
}

static struct cli_result record(const char *how, const char *output)
{
    const char *argv[] = {"nvtally",     "record",   "--level", "0",  "--trace",
                          "nvtx,kernel", "-o",       output,    "--", cli_client("device"),
                          how,           counters(), NULL};
    return run(argv);
}

/* Launches that had returned. */
static uint64_t launched(void)
{
    size_t size;
    uint64_t sum = 0, *lines = (uint64_t *)(void *)cli_read_file(counters(), &size);
    assert_non_null(lines);
    assert_true(size >= STREAMS * 64);
    for (int i = 0; i < STREAMS; i++)
        sum += lines[i * 8];
    free(lines);
    return sum;
}

/* To the last event and record: what happened is in the file, or is said to be lost. Of each launch
 * there are a push, a pop, a kernel and its call; *lost gets what was said. */
static void check_sum(const char *fault, const struct cli_result *result, uint64_t *lost)
{
    *lost = faults_said_lost(result);
    uint64_t in_file = faults_said(result, " events of ") + faults_said(result, " device records");
    faults_note_said(fault, 4 * launched(), in_file, *lost ? "counted" : "0",
                     (double)result->elapsed_ns / 1e9);
    assert_int_equal(in_file + *lost, 4 * launched());
}

/* All ranges; as many kernels as must be; of each kernel the call that launched it. */
static void check(const char *fault, const struct cli_result *result, uint64_t least_kernels,
                  int ended_suddenly)
{
    char title[100];
    uint64_t returned = launched();
    struct nvt_trace *trace = faults_read();
    double seconds = (double)result->elapsed_ns / 1e9;
    snprintf(title, sizeof(title), "%s: ranges", fault);
    faults_note(title, returned, faults_count(trace, "stream"), 0, seconds);
    assert_true(faults_count(trace, "stream") <= returned + STREAMS);
    snprintf(title, sizeof(title), "%s: kernels", fault);
    if (ended_suddenly)
        faults_note_said(title, returned, trace->ops.count, "later unknown", seconds);
    else
        faults_note(title, returned, trace->ops.count, 0, seconds);
    assert_true(trace->ops.count >= least_kernels && least_kernels > 0);
    assert_true(trace->ops.count <= returned + STREAMS);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.api[i] == NVT_NONE && !ended_suddenly)
            fail_msg("kernel %u has no launching call", i);
    assert_int_equal(trace->notes && strstr(trace->notes, "later ones are unknown") != NULL,
                     ended_suddenly);
    nvt_trace_free(trace);
    faults_no_session_left();
}

/* Killed a second after a moment: what had been launched by then was handed over long ago. */
static void a_kill_leaves_all_but_the_last_moment(void **state)
{
    (void)state;
    char script[4096], early[600];
    snprintf(early, sizeof(early), "%s/early", faults_folder());
    snprintf(script, sizeof(script),
             "%s stream_kill %s & p=$!; "
             "until od -An -tu8 -N8 %s 2>&1 | grep -q '^ *[1-9][0-9]*$'; do sleep 0.01; done; "
             "sleep 0.5; od -An -tu8 -N8 %s >%s; sleep 1.5; kill -9 $p; wait $p",
             cli_client("device"), counters(), counters(), counters(), early);
    const char *argv[] = {"nvtally", "record", "--trace", "nvtx,kernel", "-o", faults_output(),
                          "--",      "sh",     "-c",      script,        NULL};
    struct cli_result result = run(argv);
    cli_expect_status(&result, 128 + SIGKILL);
    char *text = cli_read_file(early, NULL);
    assert_non_null(text);
    check("SIGKILL while kernels run", &result, strtoull(text, NULL, 10), 1);
    free(text);
    cli_result_free(&result);
}

static void a_crash_leaves_what_was_delivered(void **state)
{
    (void)state;
    struct cli_result result = record("stream_segv", faults_output());
    assert_int_equal(result.signal, SIGSEGV);
    check("SIGSEGV while kernels run", &result, 1, 1);
    cli_result_free(&result);
}

static void an_exec_leaves_what_was_delivered(void **state)
{
    (void)state;
    struct cli_result result = record("stream_exec", faults_output());
    cli_expect_status(&result, 0);
    check("exec while kernels run", &result, 1, 1);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "nothing"), 1);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

static void forks_lose_nothing(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("launches go on for as long as 50 forks take: minutes of records");
    struct cli_result result = record("stream_fork", faults_output());
    cli_expect_status(&result, 0);
    check("50 forks while kernels run", &result, launched(), 0);
    struct nvt_trace *trace = faults_read();
    assert_int_equal(faults_count(trace, "child"), 50);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

/* The disk is full midway: the program ends as always, and what is missing is said. */
static void a_full_disk_is_counted(void **state)
{
    (void)state;
    char output[700];
    const char *disk = cli_in(faults_folder(), "disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=256k")) {
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    snprintf(output, sizeof(output), "%s/t.nvt", disk);
    struct cli_result result = record("stream_on", output);
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(output, &err);
    uint64_t lost;
    assert_int_equal(umount(disk), 0);
    cli_expect_status(&result, 0);
    assert_non_null(trace);
    assert_non_null(strstr(result.err, "No space left on device"));
    check_sum("disk full while kernels run: records", &result, &lost);
    assert_true(trace->ops.count > 0);
    assert_true(lost > 0);
    if (trace->notes && strstr(trace->notes, "suddenly"))
        fail_msg("%s%s", trace->notes, result.err);
    nvt_trace_free(trace);
    cli_result_free(&result);
    faults_no_session_left();
}

/* What does not fit is dropped, by threads and by what takes the device's records. Whether that could
 * be sent or not, it is counted. */
static void what_is_dropped_is_counted(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally",     "record",
                          "--level",     "0",
                          "--trace",     "nvtx,kernel",
                          "--on-full",   "drop",
                          "--ring-size", "64K",
                          "-o",          faults_output(),
                          "--",          cli_client("device"),
                          "stream_on",   counters(),
                          NULL};
    struct cli_result result = run(argv);
    uint64_t lost;
    cli_expect_status(&result, 0);
    check_sum("small buffers, dropping: records", &result, &lost);
    cli_result_free(&result);
    faults_no_session_left();
}

/* The recorder stands still for so long that it is taken for dead, and then goes on. */
/* One recording whose recorder stands still for 3 s: how many records were lost. Whatever it is, the
   records that are there and those that were lost are all that there were. */
static uint64_t lost_while_it_stood_still(void)
{
    char script[2048], note[100];
    snprintf(script, sizeof(script),
             "(sleep 0.2; kill -STOP $PPID; sleep 3; kill -CONT $PPID) & %s stream_on %s; wait",
             cli_client("device"), counters());
    const char *argv[] = {"nvtally",     "record",      "--level", "0",    "--trace",
                          "nvtx,kernel", "--ring-size", "64K",     "-o",   faults_output(),
                          "--",          "sh",          "-c",      script, NULL};
    struct cli_result result = run(argv);
    uint64_t lost;
    cli_expect_status(&result, 0);
    check_sum("recorder stopped for 3 s: records", &result, &lost);
    struct nvt_trace *trace = faults_read();
    snprintf(note, sizeof(note), "%llu events and device records were lost",
             (unsigned long long)lost);
    assert_int_equal(trace->notes && strstr(trace->notes, note), lost > 0);
    nvt_trace_free(trace);
    cli_result_free(&result);
    faults_no_session_left();
    return lost;
}

/* A recorder that was stopped in the middle of a write() is waited for, as for a slow disk, and then
   nothing is lost: it is stopped again until it was not in one. */
static void a_recorder_that_stands_still_is_counted(void **state)
{
    (void)state;
    for (int i = 0; i < CLI_TRIES; i++)
        if (lost_while_it_stood_still() > 0)
            return;
    cli_give_up("in each of %d recordings all records were waited for", CLI_TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_leaves_all_but_the_last_moment),
        cmocka_unit_test(a_crash_leaves_what_was_delivered),
        cmocka_unit_test(an_exec_leaves_what_was_delivered),
        cmocka_unit_test(forks_lose_nothing),
        cmocka_unit_test(a_full_disk_is_counted),
        cmocka_unit_test(what_is_dropped_is_counted),
        cmocka_unit_test(a_recorder_that_stands_still_is_counted),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}

#endif
