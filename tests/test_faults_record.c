/*
 * Every allocation and every system call of the recorder, and of the program that it records, failing in turn (SQLite's
 * way), one run for each: a recording is whole, or says what it lost, or did not begin, and the program ends as always.
 * The short form takes every n-th; NVTALLY_FAULTS=full (make check-faults) takes all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "faults_calls_kit.h"
#include "faults_kit.h"

/* --- recording -------------------------------------------------------------------------------- */

/* The ranges of a recording that goes well. */
static uint32_t ranges_of(const char *const argv[])
{
    struct cli_result made = cli_run(argv);
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    struct nvt_trace *trace = faults_read();
    uint32_t all = trace->ranges.count;
    nvt_trace_free(trace);
    return all;
}

/* A recording is whole, or says what it lost, or did not begin; and what is there can be read. */
static void assert_recording(const struct cli_result *result, const struct fault *fault,
                             uint32_t all)
{
    char text[100];
    struct nvt_error err = NVT_ERROR_INIT;
    faults_assert_sound(result, "record", fault);
    struct nvt_trace *trace =
        access(faults_output(), F_OK) ? NULL : nvt_trace_read(faults_output(), &err);
    faults_name_of(fault, text, sizeof(text));
    if (!result->status && !trace && !strstr(result->err, "cannot be written"))
        fail_msg("%s: no trace: %s\n%s", text, err.message, result->err);
    if (!result->status && trace && trace->ranges.count != all &&
        !strstr(result->err, "out of memory") && !strstr(result->err, " lost") &&
        !strstr(result->err, "no NVTX calls were recorded") &&
        !strstr(result->err, "could not join the recording"))
        fail_msg("%s: %u of %u ranges\n%s", text, trace->ranges.count, all, result->err);
    if (faults_is_harmless(fault, 1) && (!trace || trace->ranges.count != all))
        fail_msg("%s: must not matter\n%s", text, result->err);
    nvt_trace_free(trace);
    faults_no_session_left();
}

static void recording_survives(const struct way *way, unsigned long most)
{
    char client[600]; /* cli_client's paths do not last for so many runs */
    snprintf(client, sizeof(client), "%s", cli_client("everything"));
    const char *argv[] = {"nvtally", "record", "-o", faults_output(), "--", client, NULL};
    uint32_t all = ranges_of(argv);
    unsigned long count = faults_count_of(way, argv), runs = 0;
    /* A recorder looks for news as long as it lives: the last of its reads may not come. */
    for (unsigned long n = 1; n <= count; n += faults_step_of(count, most), runs++) {
        struct fault fault = {way, n};
        unlink(faults_output());
        struct cli_result result = faults_run_with(&fault, argv);
        assert_recording(&result, &fault, all);
        cli_result_free(&result);
    }
    faults_of_all = count;
    faults_note_runs_of("record", way, runs);
}

/* A recording of which the latest part is kept: it was cut, or says why it was not, and can be read as it is. */
static void assert_cut(const struct cli_result *result, const struct fault *fault)
{
    char text[100];
    struct nvt_error err = NVT_ERROR_INIT;
    faults_assert_sound(result, "record --max-age", fault);
    struct nvt_trace *trace =
        access(faults_output(), F_OK) ? NULL : nvt_trace_read(faults_output(), &err);
    faults_name_of(fault, text, sizeof(text));
    int is_told = strstr(result->err, "could not be cut off: ") ||
                  strstr(result->err, "cannot be written") ||
                  strstr(result->err, "out of memory") || strstr(result->err, " lost") ||
                  strstr(result->err, "no NVTX calls were recorded") ||
                  strstr(result->err, "could not join the recording");
    int is_cut = trace && trace->notes && strstr(trace->notes, "was cut off");
    if (!result->status && ((!is_cut && !is_told) || (is_cut && trace->warning && !is_told)))
        fail_msg("%s: %s\n%s", text, trace ? trace->notes : err.message, result->err);
    if (faults_is_harmless(fault, 1) && !is_cut)
        fail_msg("%s: must not matter\n%s", text, result->err);
    nvt_trace_free(trace);
    faults_no_session_left();
}

static void cutting_survives(const struct way *way, unsigned long most)
{
    char client[600];
    snprintf(client, sizeof(client), "%s", cli_client("flight"));
    const char *argv[] = {"nvtally", "record", "--max-age", "1ms", "-o", faults_output(),
                          "--",      client,   "150",       "3",   NULL};
    unsigned long count = faults_count_of(way, argv), runs = 0;
    for (unsigned long n = 1; n <= count; n += faults_step_of(count, most), runs++) {
        struct fault fault = {way, n};
        unlink(faults_output());
        struct cli_result result = faults_run_with(&fault, argv);
        assert_cut(&result, &fault);
        cli_result_free(&result);
    }
    faults_of_all = count;
    faults_note_runs_of("record --max-age", way, runs);
}

static void recording_survives_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    recording_survives(NULL, 40);
    cutting_survives(NULL, 30);
}

static void recording_survives_failing_calls(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    const char *argv[] = {"nvtally", "reference", "gpipe", NULL};
    if (!faults_count_of(&faults_ways[0], argv)) {
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    for (size_t i = 0; i < WAYS; i++)
        recording_survives(&faults_ways[i], 6);
    for (size_t i = 0; i < WAYS; i++)
        cutting_survives(&faults_ways[i], 6);
}

/* --- the collector in the target -------------------------------------------------------------- */

/* The target's own calls fail, those of the collector in it among them: it ends as always, and the
 * recording is whole or says what is missing. */
static void target_survives_failing_calls(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const struct way its_ways[] = {{"make", "ENOMEM", 0, NO},
                                          {"make", "EMFILE", 0, NO},
                                          {"make", "EMFILE", 1, NO},
                                          {"write", "ENOSPC", 0, NO},
                                          {"read", "EIO", 0, NO}};
    char client[600], tool[600], counts[600], number[40];
    snprintf(client, sizeof(client), "%s", cli_client("faults"));
    snprintf(tool, sizeof(tool), "%s", cli_built("tests/fail-call"));
    snprintf(counts, sizeof(counts), "%s", cli_in(faults_folder(), "count"));
    for (size_t i = 0; i < NVT_COUNT_OF(its_ways); i++) {
        unsigned long count = 1;
        for (unsigned long n = 0; n <= count; n++) {
            snprintf(number, sizeof(number), "%lu%s", n, its_ways[i].all_later ? "+" : "");
            const char *argv[] = {"nvtally",
                                  "record",
                                  "-o",
                                  faults_output(),
                                  "--",
                                  tool,
                                  its_ways[i].group,
                                  its_ways[i].error,
                                  number,
                                  counts,
                                  client,
                                  "once",
                                  NULL};
            struct cli_result result = cli_run(argv);
            if (result.status == 97)
                skip();
            assert_false(result.timed_out);
            assert_recording(&result, &(struct fault){&its_ways[i], n}, 1);
            cli_result_free(&result);
            char *text = cli_read_file(counts, NULL);
            if (!n)
                count = strtoul(text, NULL, 10);
            free(text);
        }
        assert_true(count > 0);
    }
}

/* Every allocation in the target, the loader's and libc's for the collector among them. A client
 * that cannot go on for itself has status 3. */
static void target_survives_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const char *const clients[] = {"everything", "device"};
    char cupti[600], preload[600], number[60], counts[600], client[600];
    snprintf(cupti, sizeof(cupti), "NVTALLY_CUPTI=%s", cli_built("tests/libcupti-stand-in.so"));
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", cli_built("tests/libfail-alloc.so"));
    snprintf(counts, sizeof(counts), "FAIL_ALLOC_COUNT=%s", cli_in(faults_folder(), "count"));
    const char *environment[] = {cupti, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 40};
    for (size_t i = 0; i < 2; i++) {
        unsigned long count = 1;
        snprintf(client, sizeof(client), "%s", cli_client(clients[i]));
        for (unsigned long n = 0; n <= count; n++) {
            snprintf(number, sizeof(number), "FAIL_ALLOC=%lu", n);
            const char *argv[] = {"nvtally",       "record", "--trace", "nvtx,kernel", "-o",
                                  faults_output(), "--",     "env",     preload,       number,
                                  counts,          client,   "plain",   NULL};
            struct cli_result result = cli_run_with(&options, argv);
            if (result.timed_out || result.signal || (result.status && result.status != 3))
                fail_msg("%s, allocation %lu: status %d, signal %d\n%s", clients[i], n,
                         result.status, result.signal, result.err);
            nvt_trace_free(faults_read());
            faults_no_session_left();
            cli_result_free(&result);
            char *text = cli_read_file(cli_in(faults_folder(), "count"), NULL);
            if (!n)
                count = strtoul(text, NULL, 10);
            free(text);
        }
        assert_true(count > 5);
    }
}

/* --- libnvtally ------------------------------------------------------------------------------- */

/* A program that measures itself ends with its result or with a line, whatever fails in it. */
static void a_session_of_ones_own_survives(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    char program[600];
    const char *argv[] = {program, NULL};
    snprintf(program, sizeof(program), "%s", cli_built("examples/range_stats"));
    for (size_t i = 0; i <= WAYS; i++) {
        const struct way *way = i ? &faults_ways[i - 1] : NULL;
        unsigned long count = faults_count_of(way, argv);
        for (unsigned long n = 1; n <= count; n += faults_step_of(count, 6)) {
            char text[100];
            struct fault fault = {way, n};
            struct cli_result result = faults_run_with(&fault, argv);
            faults_name_of(&fault, text, sizeof(text));
            if (result.status != 0 && (result.status != 1 || faults_lines_of(result.err) != 1))
                fail_msg("%s: status %d\n%s", text, result.status, result.err);
            /* Nothing, where its own output could not be written. */
            if (!result.status && *result.out && !strstr(result.out, "work: 100 times, ") &&
                !strstr(result.out, " events were lost"))
                fail_msg("%s: %s", text, result.out);
            cli_result_free(&result);
            faults_no_session_left();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_survives_failing_allocations),
        cmocka_unit_test(recording_survives_failing_calls),
        cmocka_unit_test(target_survives_failing_calls),
        cmocka_unit_test(target_survives_failing_allocations),
        cmocka_unit_test(a_session_of_ones_own_survives),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
