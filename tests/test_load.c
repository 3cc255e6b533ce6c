/*
 * Two threads that make ranges without a rest, for LOAD_SECONDS (2): every event is in the file or
 * was reported lost, the memory of the traced process stays within its buffers, and the trace says
 * how long its threads waited. `make bench-load` does it for a minute and prints the figures.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "faults_kit.h"
#include "trace_tally.h"

#define THREADS 2

/* What a thread's buffer (1 MiB) and its state take, and the collector with its library; in KiB. */
#define THREAD_KIB    1280
#define COLLECTOR_KIB 3072

struct produced {
    unsigned long long pairs;
    double seconds;
    long peak_kib;
};

static struct produced parse(const struct cli_result *result)
{
    struct produced produced;
    cli_expect_status(result, 0);
    assert_int_equal(
        sscanf(result->out, "%llu %lf %ld", &produced.pairs, &produced.seconds, &produced.peak_kib),
        3);
    assert_true(produced.pairs > 0 && produced.peak_kib > 0);
    return produced;
}

static struct produced record(const char *const *options, uint64_t *said_lost)
{
    const char *seconds = getenv("LOAD_SECONDS") ? getenv("LOAD_SECONDS") : "2";
    const char *argv[16] = {"nvtally", "record", "-o", faults_output()};
    size_t count = 4;
    while (*options)
        argv[count++] = *options++;
    const char *command[] = {"--", cli_client("load"), seconds, "2"};
    memcpy(argv + count, command, sizeof(command));
    struct cli_options limits = {.timeout_s = 30 + 3 * atoi(seconds)};
    struct cli_result result = cli_run_with(&limits, argv);
    struct produced produced = parse(&result);
    *said_lost = faults_said_lost(&result);
    cli_result_free(&result);
    return produced;
}

static struct trace_tally tally_up(const struct produced *produced)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct trace_tally tally;
    if (trace_tally_read(faults_output(), &tally, &err))
        fail_msg("%s", err.message);
    assert_int_equal(tally.threads, THREADS);
    assert_int_equal(tally.stated, tally.events);
    assert_int_equal(tally.events + tally.dropped + tally.nested + tally.unwritten,
                     2 * produced->pairs);
    print_message("%.1f million pairs a second, %.2f bytes a pair, peak %ld KiB, waited %.0f %%\n",
                  (double)produced->pairs / produced->seconds / 1e6,
                  (double)tally.bytes / (double)produced->pairs, produced->peak_kib,
                  (double)tally.waited_ns / produced->seconds / 1e7 / THREADS);
    return tally;
}

static void loses_nothing_at_full_rate(void **state)
{
    (void)state;
    uint64_t said_lost;
    const char *argv[] = {cli_client("load"), "0.1", "2", NULL};
    struct cli_result result = cli_run(argv);
    struct produced alone = parse(&result);
    cli_result_free(&result);
    struct produced produced = record((const char *const[]){NULL}, &said_lost);
    struct trace_tally tally = tally_up(&produced);
    assert_int_equal(tally.dropped, 0);
    assert_int_equal(said_lost, 0);
    /* The recorder is slower than two threads without a rest: they wait, and the trace knows. */
    assert_true(tally.waited_ns > 0);
    assert_true((double)tally.waited_ns < produced.seconds * 1e9 * THREADS);
    FAULTS_SKIP_SANITIZED(); /* which has memory of its own */
    if (produced.peak_kib > alone.peak_kib + THREADS * THREAD_KIB + COLLECTOR_KIB)
        fail_msg("peak %ld KiB, without a recorder %ld KiB", produced.peak_kib, alone.peak_kib);
}

static void counts_what_it_drops_at_full_rate(void **state)
{
    (void)state;
    uint64_t said_lost;
    const char *const options[] = {"--on-full", "drop", "--ring-size", "64K", NULL};
    struct produced produced = record(options, &said_lost);
    struct trace_tally tally = tally_up(&produced);
    assert_true(tally.dropped > 0);
    assert_int_equal(tally.waited_ns, 0);
    assert_int_equal(said_lost, tally.dropped + tally.nested + tally.unwritten);
}

/* What bursts of 20,000 pairs every 80 ms lost. */
static uint64_t lost_of_bursts(void)
{
    const char *argv[] = {
        "nvtally",          "record", "-o", faults_output(), "--on-full", "drop", "--",
        cli_client("load"), "1.5",    "1",  "20000",         "80",        NULL};
    struct cli_result result = cli_run(argv);
    struct produced produced = parse(&result);
    cli_result_free(&result);
    assert_true(produced.pairs >= 2 * 20000);
    struct nvt_error err = NVT_ERROR_INIT;
    struct trace_tally tally;
    if (trace_tally_read(faults_output(), &tally, &err))
        fail_msg("%s", err.message);
    assert_int_equal(tally.events + tally.dropped, 2 * produced.pairs);
    return tally.dropped;
}

/* A burst takes more than half of a buffer, and two of them, which come within a sleep of 100 ms, more
 * than all of it: the traced thread has to wake the recorder. One that is woken may still be left
 * without a processor until it is too late, but not each time. */
static void is_woken_when_a_buffer_fills(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED(); /* too slow for its bursts */
    for (int i = 0; i < CLI_TRIES; i++) {
        uint64_t lost = lost_of_bursts();
        if (!lost)
            return;
        print_message("%llu events were lost\n", (unsigned long long)lost);
    }
    cli_give_up("in each of %d runs", CLI_TRIES);
}

/* Beside a program that rests the recorder rests too: it writes every 100 ms, and that is all. */
static void sleeps_while_nothing_happens(void **state)
{
    (void)state;
    const char *argv[] = {
        "nvtally", "record",
        "-o",      faults_output(),
        "--",      "/bin/sh",
        "-c",      "sleep 1; sed -n 's/^voluntary_ctxt_switches://p' /proc/$PPID/status",
        NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    int switches = atoi(result.out);
    /* Starting takes a busy machine longer, and so does ending. */
    double seconds = fmax((double)result.elapsed_ns / 1e9, 1);
    cli_result_free(&result);
    if (switches < 1 || switches > 60 * seconds)
        fail_msg("%d voluntary switches of the recorder in %.1f s", switches, seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing_at_full_rate),
        cmocka_unit_test(counts_what_it_drops_at_full_rate),
        cmocka_unit_test(is_woken_when_a_buffer_fills),
        cmocka_unit_test(sleeps_while_nothing_happens),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
