/*
 * `record --trace cpu`: samples of programs whose functions burn so much CPU time, and of programs that do everything
 * that samples could be in the way of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/cpu_coverage.h"
#include "cpu_kit.h"
#include "pythons.h"
#include "record_kit.h"

/* --- what is in a trace ------------------------------------------------------------------------------- */

/* Whether it has the one, and further out the other. */
static int is_below(const struct nvt_trace *trace, uint32_t sample, const char *inner,
                    const char *outer)
{
    uint32_t at = trace->cpu_samples.frame[sample];
    while (at && !cpu_is_called(trace, at - 1, inner))
        at = trace->call_frames.parent[at - 1];
    while (at && !cpu_is_called(trace, at - 1, outer))
        at = trace->call_frames.parent[at - 1];
    return at != 0;
}

/* Samples in a function that were taken while a range was open. */
static int64_t time_within(const struct nvt_trace *trace, const char *function, const char *range)
{
    int64_t ns = 0;
    uint32_t row = recorded_range(trace, range);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (trace->cpu_samples.time[i] >= trace->ranges.start[row] &&
            trace->cpu_samples.time[i] <= trace->ranges.end[row] && cpu_is_in(trace, i, function))
            ns += trace->cpu_samples.cpu_ns[i];
    return ns / 1000000;
}

/* --- programs ----------------------------------------------------------------------------------------- */

static void functions_have_their_shares(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("ranges", "nvtx,cpu", NULL, NULL);
    cpu_expect_time(trace, "heavy_work", NULL, 600);
    cpu_expect_time(trace, "light_work", NULL, 200);
    cpu_expect_time(trace, "main", NULL, 800);
    CPU_EXPECT_TIMES(time_within(trace, "heavy_work", "heavy") >=
                     cpu_time_in(trace, "heavy_work", NULL) - 20);
    assert_int_equal(time_within(trace, "heavy_work", "light"), 0);
    assert_int_equal(time_within(trace, "light_work", "heavy"), 0);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if (cpu_is_in(trace, i, "heavy_work")) {
            assert_true(is_below(trace, i, "heavy_work", "ranges"));
            assert_true(is_below(trace, i, "ranges", "main"));
            assert_false(trace->cpu_samples.flags[i]);
        }
    nvt_trace_free(trace);
}

static void more_samples_are_not_more_time(void **state)
{
    uint32_t counts[2];
    (void)state;
    static const char *const rates[] = {"20", "1000"};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = cpu_record("ranges", "nvtx,cpu", "--cpu-rate", rates[i]);
        int64_t heavy = cpu_time_in(trace, "heavy_work", NULL),
                light = cpu_time_in(trace, "light_work", NULL);
        CPU_EXPECT_TIMES(heavy >= 450 && heavy <= 700 && light >= 90 && light <= 300);
        counts[i] = trace->cpu_samples.count;
        nvt_trace_free(trace);
    }
    CPU_EXPECT_TIMES(counts[0] >= 10 && counts[0] <= 20);
    CPU_EXPECT_TIMES(counts[1] > 3 * counts[0]); /* as many as the clock ticks */
}

static void threads_have_their_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("threads", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_a", NULL, 300);
    cpu_expect_time(trace, "work_of_b", NULL, 600);
    cpu_expect_time(trace, "small_work", NULL, 300); /* by thrd_create */
    uint32_t of_a = NVT_NONE, of_b = NVT_NONE;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t thread = trace->cpu_samples.thread[i];
        if (cpu_is_in(trace, i, "work_of_a")) {
            assert_true(of_a == NVT_NONE || of_a == thread);
            of_a = thread;
            assert_true(is_below(trace, i, "work_of_a", "thread_a"));
        } else if (cpu_is_in(trace, i, "work_of_b")) {
            assert_true(of_b == NVT_NONE || of_b == thread);
            of_b = thread;
        }
        /* What starts threads, ours or libc's, is no part of a stack. */
        assert_false(cpu_is_in(trace, i, "start_thread"));
        assert_false(cpu_is_in(trace, i, "begin"));
    }
    assert_int_not_equal(of_a, of_b);
    nvt_trace_free(trace);
}

static void threads_that_come_and_go(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("short-threads", "cpu", "--ring-size", "64K");
    /* None of them lived for a period: some stand for all. */
    CPU_EXPECT_TIMES(cpu_time_in(trace, "short_work", NULL) >= 350);
    CPU_EXPECT_TIMES(cpu_time_in(trace, "short_work", NULL) <= 700);
    CPU_EXPECT_TIMES(trace->cpu_samples.count >= 10);
    nvt_trace_free(trace);
    trace = cpu_record("cancelled", "cpu", "--cpu-rate", "1000");
    cpu_expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void stacks_may_be_small(void **state)
{
    unsigned own[2], other[2];
    (void)state;
    struct nvt_trace *trace = cpu_record("small-stacks", "cpu", NULL, NULL);
    cpu_expect_time(trace, "small_work", NULL, 300);
    nvt_trace_free(trace);
    struct cli_result result = cpu_run("own-stacks", "cpu", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%u %u %u %u", &own[0], &other[0], &own[1], &other[1]), 4);
    cli_result_free(&result);
    /* The registers, of which some processors have 12 KiB, and little more; where there is another stack, nothing at all. */
    assert_true(own[0] < 16384 && !other[0]);
    assert_true(own[1] < 1024 && other[1] > 0 && other[1] < 16384);
    trace = recorded_trace();
    cpu_expect_time(trace, "small_work", NULL, 600);
    nvt_trace_free(trace);
}

static void processes_have_their_own(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = cpu_record("forks", "cpu", NULL, NULL);
    cpu_expect_time(trace, "child_work", NULL, 300);
    cpu_expect_time(trace, "work_before", NULL, 100);
    assert_int_equal(trace->processes.count, 2);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t process = trace->threads.process[trace->cpu_samples.thread[i]];
        if (cpu_is_in(trace, i, "child_work"))
            assert_int_equal(process, 1);
    }
    nvt_trace_free(trace);
    trace = cpu_record("executes", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_before", NULL, 300);
    cpu_expect_time(trace, "work_after", NULL, 300);
    nvt_trace_free(trace);
    trace = cpu_record("spawns", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_before", NULL, 50);
    cpu_expect_time(trace, "work_after", NULL, 600);
    nvt_trace_free(trace);
}

/* A signal that is on its way to a program that becomes another one would end that. */
static void programs_become_others(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    nvt_trace_free(cpu_record("many-executes", "cpu", "--cpu-rate", "1000"));
}

static void samples_survive_a_kill(void **state)
{
    (void)state;
    struct cli_result result = cpu_run("killed", "cpu", NULL, NULL);
    assert_int_equal(result.signal, SIGKILL);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    cpu_expect_time(trace, "work_before", NULL, 400);
    nvt_trace_free(trace);
}

static void signals_are_the_programs_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("blocked", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_main", NULL, 400);
    nvt_trace_free(trace);
    trace = cpu_record("handlers", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_main", NULL, 800);
    nvt_trace_free(trace);
}

static void children_on_the_same_memory_change_nothing(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = cpu_record("shares-memory", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_main", NULL, 200);
    nvt_trace_free(trace);
}

/* The thread is sampled although the event that it was in never ended. */
static void handlers_of_faults_stay(void **state)
{
    (void)state;
    nvt_trace_free(cpu_record("faults", "cpu", "--cpu-rate", "1000"));
}

static void handlers_may_jump(void **state)
{
    (void)state;
    /* It fills its ring as fast as it can. A handler that jumps out of the wait for room leaves the ring full, and a sample that
     * comes before there is room is dropped and counted: in one run of ten. */
    struct nvt_trace *trace = cpu_record_in(CLI_TRIES, "jumps", "nvtx,cpu", "--cpu-rate", "1000");
    cpu_expect_time(trace, "work_of_main", NULL, 400);
    assert_true(recorded_count(trace, "jumped out of") > 100);
    nvt_trace_free(trace);
}

/* The innermost functions are kept. */
static void recursion_may_be_deep(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("deep", "cpu", NULL, NULL);
    cpu_expect_time(trace, "deepest_work", NULL, 300);
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        uint32_t depth = 0;
        for (uint32_t at = trace->cpu_samples.frame[i]; at; at = trace->call_frames.parent[at - 1])
            depth++;
        if (cpu_is_in(trace, i, "deepest_work"))
            assert_true(depth == 192 && !cpu_is_in(trace, i, "main"));
    }
    nvt_trace_free(trace);
}

/* Who throws unwinds the same stack; libgcc's tables are wrong where it lands in a handler. */
static void exceptions_are_thrown_meanwhile(void **state)
{
    (void)state;
    static const char *const options[4] = {"--cpu-rate", "1000"};
    for (int turn = 0; turn < 3; turn++) {
        struct cli_result result =
            cpu_run_with("cpu", options, (const char *const[]){cli_client("cpu_exceptions"), NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        cpu_expect_time(trace, NULL, NULL, 1000);
        CPU_EXPECT_TIMES(cpu_time_in(trace, "_Unwind_RaiseException", NULL) > 50);
        int64_t thrown = 0, below_main = 0;
        for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
            thrown += cpu_is_in(trace, i, "_Unwind_RaiseException");
            below_main += is_below(trace, i, "_Unwind_RaiseException", "main");
        }
        assert_true(below_main >= thrown - thrown / 10 - 2);
        nvt_trace_free(trace);
    }
}

static void libraries_come_and_go(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("libraries", "cpu", "--cpu-rate", "1000");
    cpu_expect_time(trace, "thread_that_loads", NULL, 800);
    cpu_expect_time(trace, "work_of_main", NULL, 200);
    CPU_EXPECT_TIMES(cpu_time_in(trace, "dlopen", NULL) > 100);
    nvt_trace_free(trace);
}

/* A sample that interrupts an event is left out, and the event is as it would be. */
static void events_are_not_disturbed(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("pairs", "nvtx,cpu", "--cpu-rate", "1000");
    assert_int_equal(recorded_count(trace, "pair"), 1000000);
    assert_int_equal(trace->ranges.count, 1000000);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.level[i], 0);
    nvt_trace_free(trace);
}

static void forbidden_timers_do_no_harm(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    nvt_trace_free(cpu_record("no-timers", "cpu", NULL, NULL));
    struct nvt_trace *trace = cpu_record("seccomp", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void descriptors_may_be_closed(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("closes", "cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

/* --- options ------------------------------------------------------------------------------------------ */

static void calls_and_samples_go_together(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("threads", "nvtx,osrt,cpu", NULL, NULL);
    cpu_expect_time(trace, "work_of_a", NULL, 300);
    cpu_expect_time(trace, "work_of_b", NULL, 600);
    int joins = 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        joins += !strcmp(nvt_name(trace, trace->os_calls.name[i]), "pthread_join");
    assert_true(joins > 0);
    nvt_trace_free(trace);
    trace = cpu_record("cancelled", "osrt,cpu", "--cpu-rate", "1000");
    cpu_expect_time(trace, "work_of_main", NULL, 300);
    nvt_trace_free(trace);
}

static void small_rings_will_do(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("deep", "cpu", "--ring-size", "64K");
    cpu_expect_time(trace, "deepest_work", NULL, 300);
    nvt_trace_free(trace);
    static const char *const options[4] = {"--on-full", "drop", "--ring-size", "64K"};
    struct cli_result result = cpu_run_with(
        "cpu", options, (const char *const[]){cli_client("cpu_samples"), "threads", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    cpu_expect_time(trace, "work_of_b", NULL, 600);
    nvt_trace_free(trace);
}

static void capture_and_age_hold_for_samples(void **state)
{
    (void)state;
    struct nvt_trace *trace = cpu_record("captured", "nvtx,cpu", "--capture", "wanted");
    cpu_expect_time(trace, "work_of_main", NULL, 300);
    assert_int_equal(cpu_time_in(trace, "work_before", NULL), 0);
    assert_int_equal(cpu_time_in(trace, "work_after", NULL), 0);
    nvt_trace_free(trace);
    trace = cpu_record("ranges", "nvtx,cpu", "--max-age", "250ms");
    /* how much is up to who else runs */
    CPU_EXPECT_TIMES(cpu_time_in(trace, "light_work", NULL) > 0);
    CPU_EXPECT_TIMES(cpu_time_in(trace, "heavy_work", NULL) <= 350);
    nvt_trace_free(trace);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    static const char *const rates[] = {"0", "1001", "x", "-5", "", "1e2", "100000000000000000000"};
    for (size_t i = 0; i < NVT_COUNT_OF(rates); i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "--trace", "cpu", "--cpu-rate", rates[i], "true", NULL});
        cli_expect_failure(&result, "--cpu-rate");
        cli_result_free(&result);
    }
    /* Also the rate that would be taken. */
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "record", "--cpu-rate", "200", "true", NULL});
    cli_expect_failure(&result, "--cpu-rate needs --trace cpu");
    cli_result_free(&result);
    result = cpu_run("idle", "cpu", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "no CPU samples were recorded"));
    cli_result_free(&result);
    result = cpu_run("ranges", "nvtx", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "sample"));
    cli_result_free(&result);
    nvt_trace_free(recorded_trace());
    result = cli_run((const char *const[]){"nvtally", "record", "--trace", "cpu", "-o",
                                           "/nonexistent/t.nvt", "--", "true", NULL});
    cli_expect_failure(&result, "/nonexistent");
    cli_result_free(&result);
}

/* Their time is in no sample, which record and the reports say; of a program that computes nothing is missed. */
static void time_of_short_processes_is_told(void **state)
{
    (void)state;
    char text[300];
    static const char said[] = "s of CPU time are in no sample: processes and threads ended before";
    /* Of a hundred there may be no sample at all, of a thousand there are some. */
    static const char *const scripts[] = {
        "i=0; while [ $i -lt 100 ]; do ls / >/dev/null; i=$((i + 1)); done",
        "i=0; while [ $i -lt 1000 ]; do ls / >/dev/null; i=$((i + 1)); done"};
    struct cli_result result;
    for (size_t i = 0; i < NVT_COUNT_OF(scripts); i++) {
        result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "cpu", "-o",
                                          recorded_path(), "--", "sh", "-c", scripts[i], NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.err, said))
            fail_msg("%s", result.err);
        cli_result_free(&result);
    }
    result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "cpu_functions", recorded_path(), NULL});
    if (!strstr(result.err, said))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    result = cpu_run("ranges", "cpu", NULL, NULL);
    assert_null(strstr(result.err, "in no sample"));
    cli_result_free(&result);
    assert_int_equal(nvt_cpu_coverage_note(700000000, 1000000000, text, sizeof(text)), 1);
    assert_int_equal(strncmp(text, "0.30 s of 1.00 s of CPU time", 28), 0);
    assert_int_equal(nvt_cpu_coverage_note(750000000, 1000000000, text, sizeof(text)), 0);
    assert_int_equal(nvt_cpu_coverage_note(0, 49000000, text, sizeof(text)), 0);
    assert_int_equal(nvt_cpu_coverage_note(0, 50000000, text, sizeof(text)), 1);
    assert_int_equal(nvt_cpu_coverage_note(INT64_MAX, 0, text, sizeof(text)), 0);
}

/* --- every Python there is ----------------------------------------------------------------------------- */

/* Programs that no library comes in front of are told of. */
static void programs_that_drop_the_library(void **state)
{
    (void)state;
    struct cli_result result =
        cpu_run_with("cpu", NULL,
                     (const char *const[]){"env", "-u", "LD_PRELOAD", cli_client("cpu_samples"),
                                           "ranges", NULL});
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    assert_int_equal(cpu_time_in(trace, "heavy_work", NULL), 0);
    nvt_trace_free(trace);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CPU_TEST(functions_have_their_shares),
        CPU_TEST(more_samples_are_not_more_time),
        CPU_TEST(threads_have_their_own),
        CPU_TEST(threads_that_come_and_go),
        CPU_TEST(stacks_may_be_small),
        CPU_TEST(processes_have_their_own),
        CPU_TEST(programs_become_others),
        CPU_TEST(samples_survive_a_kill),
        CPU_TEST(signals_are_the_programs_own),
        CPU_TEST(children_on_the_same_memory_change_nothing),
        CPU_TEST(handlers_of_faults_stay),
        CPU_TEST(handlers_may_jump),
        CPU_TEST(recursion_may_be_deep),
        CPU_TEST(exceptions_are_thrown_meanwhile),
        CPU_TEST(libraries_come_and_go),
        CPU_TEST(events_are_not_disturbed),
        CPU_TEST(forbidden_timers_do_no_harm),
        CPU_TEST(descriptors_may_be_closed),
        CPU_TEST(calls_and_samples_go_together),
        CPU_TEST(small_rings_will_do),
        CPU_TEST(capture_and_age_hold_for_samples),
        CPU_TEST(time_of_short_processes_is_told),
        CPU_TEST(what_cannot_be_is_told),
        CPU_TEST(programs_that_drop_the_library),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
