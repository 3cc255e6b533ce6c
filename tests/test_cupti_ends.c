/*
 * How the collector of device records ends, on a made-up device (device_record_kit.h): with the process, with a context
 * that is reset, and with each capture.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "device_record_kit.h"
#include "record_kit.h"

/* --- the end --- */

static void every_end_but_a_kill_delivers_all(void **state)
{
    static const struct device_record runs[] = {
        {.how = "none", .levels = "nvtx,kernel"},
        {.how = "_exit", .levels = "nvtx,kernel", .status = 4},
        {.how = "_Exit", .levels = "nvtx,kernel", .status = 4},
        {.how = "quick_exit", .levels = "nvtx,kernel", .status = 4}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(runs); i++) {
        struct nvt_trace *trace = device_record(&runs[i], NULL);
        if (device_launched_in(trace, device_find_range(trace, "not delivered")) != 5)
            fail_msg("%s: kernels of the end are missing", runs[i].how);
        assert_int_equal(trace->ops.count, 10);
        assert_false(device_has_note(trace, "ended suddenly"));
        assert_true(device_has_note(trace, "1 device record without times"));
        nvt_trace_free(trace);
    }
}

/* The driver goes down by a handler that it registers when it comes up, behind the collector's. */
static void an_exit_is_before_the_drivers(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("down", "nvtx,kernel");
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "kernels")), 2);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void a_kill_leaves_what_was_delivered(void **state)
{
    static const struct device_record runs[] = {
        {.how = "kill", .levels = "nvtx,kernel", .signal = SIGKILL},
        {.how = "segv", .levels = "nvtx,kernel", .signal = SIGSEGV}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = device_record(&runs[i], NULL);
        double ms = -1;
        assert_int_equal(trace->ops.count, 5);
        assert_int_equal(device_launched_in(trace, device_find_range(trace, "delivered")), 5);
        assert_int_equal(device_count_ranges(trace, "not delivered"), 1);
        assert_true(device_has_note(trace, "later ones are unknown"));
        const char *at = strstr(trace->notes, "suddenly, ");
        assert_non_null(at);
        assert_int_equal(sscanf(at, "suddenly, %lf ms after", &ms), 1);
        /* Handed over every 100 ms; the machine may be busy. */
        assert_true(ms >= 0 && ms < 5000);
        nvt_trace_free(trace);
    }
}

/* Nothing is asked of CUPTI while the driver comes up, and everything afterwards. */
static void a_driver_that_comes_up_is_left_alone(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "slow", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL);
    assert_int_equal(trace->ops.count, 5);
    assert_int_equal(trace->devices.count, 1);
    nvt_trace_free(trace);
}

/* A record that is not complete holds back those in its buffer: what came since it was asked for may be missing. */
static void a_kill_loses_what_is_held_back(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "held", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL);
    double ms = -1;
    assert_int_equal(trace->ops.count, 5);
    const char *at = trace->notes ? strstr(trace->notes, "suddenly, ") : NULL;
    assert_non_null(at);
    assert_int_equal(sscanf(at, "suddenly, %lf ms after", &ms), 1);
    assert_true(ms >= 500);
    nvt_trace_free(trace);
}

static void reports_say_what_is_unknown(void **state)
{
    (void)state;
    nvt_trace_free(device_record(
        &(struct device_record){.how = "kill", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL));
    const char *argv[] = {
        "nvtally", "stats", "-r", "cuda_gpu_kern_sum", cli_in(cli_folder, "t.nvt"), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "later ones are unknown"));
    assert_non_null(strstr(result.out, "  lib::kernel\n"));
    cli_result_free(&result);
}

/* _exit in a signal handler, which interrupts the program anywhere, in CUPTI too. */
static void an_exit_in_a_signal_handler_ends(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "handler", .levels = "nvtx,kernel", .status = 5}, NULL);
    assert_true(trace->ops.count > 0);
    nvt_trace_free(trace);
}

static void forked_children_are_left_alone(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = device_record_plainly("fork", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(device_count_ranges(trace, "child"), 1);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* Nor does any other call that ends a context. */
static void a_reset_loses_nothing(void **state)
{
    static const char *const calls[] = {"cudaDeviceReset", "cuDevicePrimaryCtxReset",
                                        "cuDevicePrimaryCtxRelease", "cuCtxDestroy"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        setenv("STAND_IN_RESETS", calls[i], 1);
        struct nvt_trace *trace = device_record_plainly("reset", "nvtx,kernel");
        unsetenv("STAND_IN_RESETS");
        if (trace->ops.count != 2)
            fail_msg("%s: %u", calls[i], trace->ops.count);
        nvt_trace_free(trace);
    }
}

/* Destructors end contexts and captures when recording is over: CUPTI is left alone by then. */
static void a_reset_after_the_end_asks_nothing(void **state)
{
    (void)state;
    static const char *const captures[] = {NULL, "measure"};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = device_record(&(struct device_record){.how = "destructor",
                                                                        .levels = "nvtx,kernel",
                                                                        .capture = captures[i]},
                                                NULL);
        assert_int_equal(trace->ops.count, 2);
        assert_null(trace->notes);
        nvt_trace_free(trace);
    }
}

/* What a device still runs has its record before the device is reset. */
static void a_reset_waits_for_what_runs(void **state)
{
    (void)state;
    setenv("STAND_IN_ENDS", "1", 1);
    struct nvt_trace *trace = device_record_plainly("resets", "nvtx,kernel");
    unsetenv("STAND_IN_ENDS");
    assert_int_equal(trace->ops.count, 17);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void record_resets(void)
{
    struct nvt_trace *trace = device_record_plainly("resets", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "behind")), 2);
    nvt_trace_free(trace);
}

/* What never ends is waited for once, for a second; what is complete is taken before each reset all the same. */
static void a_reset_does_not_wait_for_ever(void **state)
{
    (void)state;
    device_expect_seconds(record_resets, 0.9, 5);
}

static void lost_records_are_counted(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("drop", "nvtx,kernel");
    assert_true(device_has_note(trace, "3 device records were lost, because CUPTI had no room"));
    assert_int_equal(trace->ops.count + trace->apis.count, 5);
    nvt_trace_free(trace);
}

/* Where the device had no memory left for times, CUPTI gives some that cannot be. */
static void impossible_times_are_none(void **state)
{
    static const char *const reports[] = {"cuda_gpu_trace", "nvtx_kern_sum"};
    (void)state;
    struct nvt_trace *trace = device_record_plainly("untimed", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 2);
    nvt_trace_free(trace);
    for (size_t i = 0; i < 2; i++) {
        const char *argv[] = {"nvtally", "stats", "-r", reports[i], cli_in(cli_folder, "t.nvt"),
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, "1 device record without times was left out"));
        cli_result_free(&result);
    }
}

/* Times of another clock make no trace of 36 years: those of CUPTI's own are known. */
static void times_of_another_clock_are_put_right(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("elsewhen", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 3);
    assert_true(device_has_note(trace, "1 device record without times"));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(trace->ops.end[i] - trace->ops.start[i], 1000);
        assert_true(trace->ops.start[i] - trace->ops.launch[i] < 1000000000);
    }
    nvt_trace_free(trace);
}

/* --- capture --- */

static void captures(void **state)
{
    static const struct {
        const char *capture;
        uint32_t kernels, ranges;
        const char *inside;
    } expected[] = {{"measure", 6, 6, "inside"},
                    {"measure@", 6, 6, "inside"},
                    {"measure@work", 1, 2, "in the domain"},
                    {"work@measure", 1, 2, "in the domain"},
                    {"measure@*", 7, 8, "in the domain"},
                    {"started", 1, 2, "in started"},
                    {"cudaProfilerApi", 1, 1, "profiled"}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        struct nvt_trace *trace = device_record(
            &(struct device_record){
                .how = "capture", .levels = "nvtx,kernel", .capture = expected[i].capture},
            NULL);
        if (trace->ops.count != expected[i].kernels || trace->ranges.count != expected[i].ranges)
            fail_msg("%s: %u kernels, %u ranges", expected[i].capture, trace->ops.count,
                     trace->ranges.count);
        assert_true(device_launched_in(trace, device_find_range(trace, expected[i].inside)) > 0);
        assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 0);
        assert_null(trace->notes);
        nvt_trace_free(trace);
    }
}

/* A CUPTI that cannot choose calls has all of them, in each capture anew. */
static void captures_without_a_choice(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){
            .how = "capture", .levels = "nvtx,kernel", .capture = "measure", .refuses = "choice"},
        NULL);
    assert_true(device_has_note(trace, "some API calls without the others"));
    assert_int_equal(trace->ops.count, 6);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 6);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        assert_int_not_equal(trace->ops.api[i], NVT_NONE);
    nvt_trace_free(trace);
}

/* What was launched within has its end before CUPTI is told to stop. */
static void a_capture_waits_for_what_it_launched(void **state)
{
    (void)state;
    setenv("STAND_IN_ENDS", "1", 1);
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "running", .levels = "nvtx,kernel", .capture = "measure"},
        NULL);
    unsetenv("STAND_IN_ENDS");
    assert_int_equal(trace->ops.count, 15);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void record_without_rest(void)
{
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "running", .levels = "nvtx,kernel", .capture = "measure"},
        NULL);
    assert_true(trace->ops.count < 15);
    nvt_trace_free(trace);
}

/* A device that never rests is waited for once, for a second, and not at the end of each range. */
static void a_capture_does_not_wait_for_ever(void **state)
{
    (void)state;
    device_expect_seconds(record_without_rest, 0.9, 5);
}

static void a_capture_that_never_begins(void **state)
{
    (void)state;
    static const char *const captures[] = {"elsewhere", "cudaProfilerApi", "measure"};
    for (size_t i = 0; i < NVT_COUNT_OF(captures); i++) {
        int begins = i == 2;
        char *messages, text[100];
        struct nvt_trace *trace = device_record(
            &(struct device_record){
                .how = i == 1 ? "plain" : "capture", .levels = "kernel", .capture = captures[i]},
            &messages);
        snprintf(text, sizeof(text), "nothing was captured: %s never began", captures[i]);
        assert_int_equal(trace->ops.count != 0, begins);
        assert_int_equal(trace->ranges.count != 0, begins);
        /* Who reads the trace is told so, and who recorded it at once. */
        assert_int_equal(device_has_note(trace, text) == 0, begins);
        assert_int_equal(strstr(messages, text) == NULL, begins);
        nvt_trace_free(trace);
        free(messages);
    }
}

/* NVTX alone needs no CUDA for it. */
static void captures_of_nvtx(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "capture", .levels = "nvtx", .capture = "started"}, NULL);
    assert_int_equal(trace->ranges.count, 2);
    assert_int_equal(trace->ops.count, 0);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_but_a_kill_delivers_all),
        cmocka_unit_test(an_exit_is_before_the_drivers),
        cmocka_unit_test(a_kill_leaves_what_was_delivered),
        cmocka_unit_test(a_driver_that_comes_up_is_left_alone),
        cmocka_unit_test(a_kill_loses_what_is_held_back),
        cmocka_unit_test(reports_say_what_is_unknown),
        cmocka_unit_test(an_exit_in_a_signal_handler_ends),
        cmocka_unit_test(forked_children_are_left_alone),
        cmocka_unit_test(a_reset_loses_nothing),
        cmocka_unit_test(a_reset_after_the_end_asks_nothing),
        cmocka_unit_test(a_reset_waits_for_what_runs),
        cmocka_unit_test(a_reset_does_not_wait_for_ever),
        cmocka_unit_test(lost_records_are_counted),
        cmocka_unit_test(impossible_times_are_none),
        cmocka_unit_test(times_of_another_clock_are_put_right),
        cmocka_unit_test(captures),
        cmocka_unit_test(captures_without_a_choice),
        cmocka_unit_test(a_capture_waits_for_what_it_launched),
        cmocka_unit_test(a_capture_does_not_wait_for_ever),
        cmocka_unit_test(a_capture_that_never_begins),
        cmocka_unit_test(captures_of_nvtx),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
