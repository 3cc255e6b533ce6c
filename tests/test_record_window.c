/*
 * record --delay and --duration: what is recorded lies within, as a whole, and the command does not notice.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/record_window.h"
#include "../lib/count_of.h"
#include "record_kit.h"

#define MS INT64_C(1000000)

/* `nvtally record -f -o the trace … COMMAND …`; what stands in `rest`, NULL-terminated, goes behind. */
static struct cli_result record(const char *const rest[])
{
    const char *argv[32] = {"nvtally", "record", "-f", "-o", recorded_path()};
    size_t count = 5;
    while (*rest && count + 1 < NVT_COUNT_OF(argv))
        argv[count++] = *rest++;
    char stand_in[600];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    const char *environment[] = {stand_in, NULL};
    const struct cli_options options = {.environment = environment};
    return cli_run_with(&options, argv);
}
#define RECORD(...) record((const char *const[]){__VA_ARGS__, NULL})

static void expect_said(struct cli_result *result, int status, const char *said)
{
    cli_expect_status(result, status);
    if (!strstr(result->err, said) || strstr(result->err, "were lost"))
        fail_msg("not '%s':\n%s", said, result->err);
    cli_result_free(result);
}

/* A window that is over before the command is. Again where the recorder got no time to see that before the command had ended. Returns
 * how long the command took, ns. */
static int64_t record_over(const char *const *rest, int status)
{
    struct cli_result result;
    for (int try = 0; try < CLI_TRIES; try++) {
        result = record(rest);
        if (strstr(result.err, "the recording is over, as --duration says; the command goes on")) {
            const int64_t took = result.elapsed_ns;
            expect_said(&result, status, "");
            return took;
        }
        print_message("the command ended before its recorder looked at the clock\n");
        cli_expect_status(&result, status);
        cli_result_free(&result);
    }
    cli_give_up("the recorder never said that the recording is over");
    return 0;
}
#define RECORD_OVER(status, ...) record_over((const char *const[]){__VA_ARGS__, NULL}, (status))

/* From the first event to the last, ms. */
static int64_t length(const struct nvt_trace *trace)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        int64_t end =
            trace->ranges.flags[i] & NVT_RANGE_UNCLOSED ? INT64_MIN : trace->ranges.end[i];
        first = trace->ranges.start[i] < first ? trace->ranges.start[i] : first;
        last = end > last ? end : last;
    }
    return last > first ? (last - first) / MS : 0;
}

static void records_a_part(void **state)
{
    (void)state;
    char script[600];
    snprintf(script, sizeof(script), "%s 1500; exit 7", cli_client("flight"));
    const int64_t took = RECORD_OVER(7, "--trace", "nvtx", "--delay", "0.4", "--duration", "400ms",
                                     "sh", "-c", script);
    assert_true(took > 1500 * MS);
    struct nvt_trace *trace = recorded_trace();
    /* Open since before the window. */
    assert_int_equal(recorded_count(trace, "epoch"), 0);
    assert_int_equal(recorded_count(trace, "main"), 0);
    const uint32_t forward = recorded_count(trace, "forward");
    assert_true(forward > 5);
    /* One may lie across the beginning or the end. */
    assert_in_range(recorded_count(trace, "kernel"), (forward - 1) * 50, (forward + 2) * 50);
    if (length(trace) < 150 || length(trace) > 750)
        fail_msg("%lld ms", (long long)length(trace));
    assert_string_equal(nvt_trace_meta(trace, "delay"), "0.4 s");
    assert_string_equal(nvt_trace_meta(trace, "duration"), "0.4 s");
    assert_true(trace->is_late);
    nvt_trace_free(trace);
}

static void records_from_then_on(void **state)
{
    (void)state;
    struct cli_result result = RECORD("--trace", "nvtx", "-y", "0.5", cli_client("flight"), "1000");
    expect_said(&result, 0, " events of ");
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(recorded_count(trace, "epoch"), 0);
    assert_true(trace->ranges.count > 0 && trace->first_ns >= 500 * MS);
    nvt_trace_free(trace);
}

static void records_until_then(void **state)
{
    (void)state;
    RECORD_OVER(0, "--trace", "nvtx", "-d", "0.5", cli_client("flight"), "1000");
    struct nvt_trace *trace = recorded_trace();
    /* It was open at the end. */
    assert_true(trace->ranges.flags[recorded_range(trace, "epoch")] & NVT_RANGE_UNCLOSED);
    assert_true(length(trace) < 900);
    assert_false(trace->is_late);
    nvt_trace_free(trace);
    struct cli_result result = RECORD("--trace", "nvtx", "-d", "1h", cli_client("flight"), "100");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "goes on"));
    cli_result_free(&result);
}

/* What --capture names counts from the process's beginning, and is captured within the window. */
static void captures_within(void **state)
{
    (void)state;
    RECORD_OVER(0, "--trace", "nvtx", "-y", "0.4", "-d", "0.3", "--capture", "hundred",
                cli_client("flight"), "1500");
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        assert_true(ranges->start[i] >= ranges->start[recorded_range(trace, "hundred")]);
    assert_true(recorded_count(trace, "kernel") > 0);
    assert_true(length(trace) < 700);
    nvt_trace_free(trace);
    struct cli_result result = RECORD("--trace", "nvtx", "-y", "0.2", "--capture", "step@train/0",
                                      cli_client("flight"), "400");
    expect_said(&result, 0, "nothing was captured: step@train/0 never began");
}

static int is_there(const char *ending)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", recorded_path(), ending);
    return !access(path, F_OK);
}

/* Five processes, one after 2.5 units and one after 4.5, in a window from 1.5 to 3.5 units. A file ".early" is there if the five ended a while
 * before it, ".within" if the next ended in it. */
static struct cli_result record_processes(int unit_ms)
{
    char script[2000], delay[32], duration[32];
    snprintf(script, sizeof(script),
             "rm -f %s.*; start=$(date +%%s%%N); "
             "is() { now=$(date +%%s%%N); [ $(((now - start) / 10000)) -lt $(($1 * %d)) ]; }; "
             "at() { while is $1; do sleep 0.05; done; %s many; }; "
             "for i in 1 2 3 4 5; do at 0; done; is 140 && touch %s.early; "
             "at 250; is 340 && touch %s.within; at 450",
             recorded_path(), unit_ms, cli_client("life"), recorded_path(), recorded_path());
    snprintf(delay, sizeof(delay), "%dms", unit_ms * 3 / 2);
    snprintf(duration, sizeof(duration), "%dms", unit_ms * 2);
    return RECORD("--trace", "nvtx", "-y", delay, "-d", duration, "sh", "-c", script);
}

/* Each process of its own, whoever forked it, and only those that do something within. A machine on which they take longer gets more time. */
static void processes_begin_and_end(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("its processes take longer to begin than the window lasts");
    struct cli_result result;
    for (int unit_ms = 1000;; unit_ms *= 4) {
        result = record_processes(unit_ms);
        if (unit_ms > 10000 || (is_there(".early") && is_there(".within")))
            break;
        cli_result_free(&result);
    }
    expect_said(&result, 0, "in 1 process: ");
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(trace->processes.count, 1);
    nvt_trace_free(trace);
    result =
        RECORD("--trace", "nvtx", "-y", "0.01", "-d", "0.5", cli_client("life"), "forks_within");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* One that was going on as the window began is not of it; one that goes on at its end has none. */
static void os_calls_across(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    RECORD_OVER(0, "--trace", "osrt", "-y", "0.6", "-d", "1.2", "sh", "-c",
                "sleep 1; sleep 0.2; sleep 2; sleep 0.01");
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t slept = 0, unclosed = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        if (strcmp(nvt_name(trace, calls->name[i]), "clock_nanosleep") &&
            strcmp(nvt_name(trace, calls->name[i]), "nanosleep"))
            continue;
        slept++;
        unclosed += (calls->flags[i] & NVT_RANGE_UNCLOSED) != 0;
        assert_true(calls->end[i] - calls->start[i] < 900 * MS);
    }
    assert_int_equal(slept, 2);
    assert_int_equal(unclosed, 1);
    nvt_trace_free(trace);
}

static void samples_within(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    RECORD_OVER(0, "--trace", "cpu", "-y", "0.5", "-d", "0.5", "sh", "-c",
                "t=$(($(date +%s) + 3)); while [ $(date +%s) -lt $t ]; do :; done");
    struct nvt_trace *trace = recorded_trace();
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    for (uint32_t i = 0; i < samples->count; i++)
        assert_true(samples->time[i] - samples->time[0] < 1000 * MS);
    nvt_trace_free(trace);
}

/* CUPTI hands records over every 100 ms: the last are asked for as the window ends. */
static void device_records_within(void **state)
{
    (void)state;
    char wrong[400] = "";
    for (int try = 0; try < CLI_TRIES; try++) {
        RECORD_OVER(0, "-y", "0.4", "-d", "0.45", cli_client("device"), "steady");
        struct nvt_trace *trace = recorded_trace();
        const struct nvt_ops *ops = &trace->ops;
        const uint32_t count = ops->count, ticks = recorded_count(trace, "tick");
        int64_t span = 0;
        for (uint32_t i = 0; i < count; i++)
            span = ops->launch[i] - ops->launch[0] > span ? ops->launch[i] - ops->launch[0] : span;
        snprintf(wrong, sizeof(wrong), "%u records within %lld ms, %u ticks; %.300s", count,
                 (long long)(span / MS), ticks, trace->notes ? trace->notes : "");
        const int has_notes = trace->notes != NULL;
        nvt_trace_free(trace);
        /* Each with its range, from the first to the last. A process that gets no time to hand over has a note. */
        if (count > 50 && span >= 300 * MS && span <= 800 * MS && !has_notes &&
            count <= ticks + 12 && ticks <= count + 12)
            return;
    }
    cli_give_up("%s", wrong);
}

static void a_signal_ends_the_command(void **state)
{
    (void)state;
    struct cli_result result =
        RECORD("-d", "0.2", "--kill", "sigterm", "--trace", "nvtx", "sleep", "30");
    assert_int_equal(result.signal, SIGTERM);
    assert_non_null(strstr(result.err, "the command gets signal 15 (Terminated)"));
    cli_result_free(&result);
    /* With what it has left. */
    result =
        RECORD("-d", "0.2", "--kill=SIGKILL", "--trace", "nvtx", "sh", "-c", "sleep 33 & sleep 34");
    assert_int_equal(result.signal, SIGKILL);
    assert_true(result.elapsed_ns < 20000 * MS);
    cli_result_free(&result);
    result = RECORD("-d", "0.2", "--kill", "10", "--trace", "nvtx", "sh", "-c",
                    "trap 'exit 5' USR1; while :; do sleep 0.05; done");
    cli_expect_status(&result, 5);
    cli_result_free(&result);
    /* Signals find it behind the end, too. */
    result = RECORD("-d", "0.1", "--trace", "nvtx", "sh", "-c",
                    "trap 'exit 6' USR1; (sleep 0.5; kill -USR1 $PPID) & wait $!; sleep 20");
    cli_result_free(&result);
}

static void too_short_a_command(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    struct cli_result result = RECORD("-y", "20", "--trace", "nvtx,osrt,cpu", "sh", "-c", "exit 3");
    cli_expect_status(&result, 3);
    char expected[5000];
    snprintf(expected, sizeof(expected),
             "nvtally: 0 events of 0 threads in 0 processes, 0 OS calls, 0 CPU samples: %s\n"
             "nvtally: nothing was recorded: the command ended before --delay was over\n",
             recorded_path());
    assert_string_equal(result.err, expected);
    cli_result_free(&result);
}

/* What a program has outside of the window is no reason to tell how NVTX is used. */
static void a_window_without_events(void **state)
{
    (void)state;
    struct cli_result result = RECORD("-d", "0.001", "--trace", "nvtx", "sleep", "0.2");
    cli_expect_status(&result, 0);
    if (!strstr(result.err, "no event came within the window (--duration 0.001); nor had any "
                            "process used NVTX by its end") ||
        strstr(result.err, "no NVTX calls"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    char script[600];
    snprintf(script, sizeof(script), "%s plain; sleep 2", cli_client("life"));
    for (int i = 0, is_right = 0; !is_right; i++) { /* a slow machine may be late */
        result = RECORD("-y", "1", "-d", "0.1", "--trace", "nvtx", "sh", "-c", script);
        cli_expect_status(&result, 0);
        is_right = strstr(result.err, "no event came within the window (--delay 1, --duration "
                                      "0.1): give another one, or none\n") &&
                   !strstr(result.err, "no NVTX calls");
        if (!is_right && i + 1 == CLI_TRIES)
            cli_give_up("%s", result.err);
        cli_result_free(&result);
    }
}

static void wrong_values(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"--delay", "x"},      {"--delay", "-1"},
        {"--delay", ""},       {"--delay", "1e3"},
        {"--delay", "1.2.3"},  {"--duration", "0.0"},
        {"--duration", "5 s"}, {"--duration", "inf"},
        {"--duration", "99y"}, {"--kill", "sigfoo"},
        {"--kill", "0"},       {"--kill", "65"},
        {"--kill", ""},        {"--delay", "1000000000000000000000000000000000000000"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result = RECORD(wrong[i][0], wrong[i][1], "true");
        cli_expect_failure(&result, wrong[i][0]);
        cli_result_free(&result);
    }
    struct cli_result result = RECORD("--kill", "sigkill", "--trace", "nvtx", "true");
    expect_said(&result, 0, "--kill: the command goes on, as there is no --duration");
    result = RECORD("--kill", "none", "--delay", "0", "--trace", "nvtx", cli_client("flight"), "9");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "--kill"));
    cli_result_free(&result);
}

/* By the clock alone, and no longer than a process may take that owes records. */
static void the_page_follows_the_clock(void **state)
{
    (void)state;
    static struct nvt_control control;
    struct nvt_record_window window;
    nvt_record_window_prepare(&control, 0, 0);
    assert_int_equal(control.has_window, 0);
    nvt_record_window_begin(&window, &control, 0, 0);
    assert_int_equal(nvt_record_window_look(&window, &control, NVT_CLOCK_MONOTONIC), 0);
    assert_true(nvt_record_window_next(&window, &control) == INT64_MAX);
    assert_int_equal(window.parts, 1);

    nvt_record_window_prepare(&control, 20 * MS, 20 * MS);
    assert_int_equal(control.window, NVT_WINDOW_BEFORE);
    nvt_record_window_begin(&window, &control, 20 * MS, 20 * MS);
    assert_true(nvt_record_window_next(&window, &control) == window.opens);
    assert_int_equal(nvt_record_window_recorded(&window, &control), 0);
    assert_int_equal(window.parts, 0);
    usleep(21000);
    nvt_record_window_look(&window, &control, NVT_CLOCK_MONOTONIC);
    assert_true(control.window != NVT_WINDOW_BEFORE && control.opened);
    usleep(21000);
    control.owing = 1;
    assert_int_equal(nvt_record_window_look(&window, &control, NVT_CLOCK_MONOTONIC), 0);
    assert_int_equal(control.window, NVT_WINDOW_OVER);
    assert_int_equal(window.parts, 1);
    const int64_t recorded = nvt_record_window_recorded(&window, &control);
    assert_true(recorded >= 20 * MS);
    control.owing = 0;
    assert_int_equal(nvt_record_window_look(&window, &control, NVT_CLOCK_MONOTONIC), 1);
    control.owing = 1;
    window.turned -= 3000 * MS;
    assert_int_equal(nvt_record_window_look(&window, &control, NVT_CLOCK_MONOTONIC), 1);
    assert_true(nvt_record_window_recorded(&window, &control) == recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_a_part),
        cmocka_unit_test(records_from_then_on),
        cmocka_unit_test(records_until_then),
        cmocka_unit_test(captures_within),
        cmocka_unit_test(processes_begin_and_end),
        cmocka_unit_test(os_calls_across),
        cmocka_unit_test(samples_within),
        cmocka_unit_test(device_records_within),
        cmocka_unit_test(a_signal_ends_the_command),
        cmocka_unit_test(too_short_a_command),
        cmocka_unit_test(a_window_without_events),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(the_page_follows_the_clock),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
