/* What is seen first: the values of an overview, against what was put into traces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/recording.h"
#include "../analyze/overview/overview_text.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "overview_kit.h"
#include "terminal_kit.h"

static const struct nvt_overview_row *row_named(const struct nvt_overview *overview,
                                                const char *name)
{
    for (uint32_t i = 0; i < overview->row_count; i++)
        if (!strcmp(overview->rows[i].name, name))
            return &overview->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* Five iterations of 1 ms, the first of 9 ms; in each, forward of 400 µs with a kernel of 100 µs; every fifth, save of 500 µs. */
static struct nvt_trace *make_loop(void)
{
    struct maker maker = make_begin();
    for (int i = 0; i < 5; i++) {
        const int64_t start = maker.now;
        make_launch(&maker, "gemm", 100000);
        maker.now = start + 400000;
        make_range(&maker, "forward", start);
        maker.now = start + (i ? 1000000 : 9000000);
        if (i == 4)
            make_range(&maker, "save", maker.now - 500000);
        make_range(&maker, "iteration", start);
        maker.now += 50000;
    }
    return make_end(&maker);
}

static void iterations_are_medians(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_loop();
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_true(overview.has_iterations);
    assert_int_equal(overview.units, 5);
    expect_near(overview.unit_ns, 1e6);
    expect_near(overview.low_ns, 1e6);
    expect_near(overview.high_ns, 1e6);
    expect_near(overview.first_ns, 9e6);
    expect_near(overview.gpu_ns, 1e5);
    expect_near(overview.gpu_share, 0.1);
    assert_true(isnan(overview.peak_bytes));
    assert_int_equal(overview.row_count, 3);
    assert_string_equal(overview.rows[0].name, "iteration");
    assert_int_equal(overview.rows[0].level, 0);
    expect_near(overview.rows[0].cpu_ns, 1e6);
    expect_near(overview.rows[0].gpu_ns, 1e5);
    expect_near(row_named(&overview, "forward")->cpu_ns, 4e5);
    expect_near(row_named(&overview, "forward")->gpu_ns, 1e5);
    expect_near(row_named(&overview, "forward")->calls, 1);
    /* Of what is not in most of them, the mean, without the first one. */
    assert_true(isnan(overview.mean_ns));
    assert_true(isnan(overview.pace_ns));
    assert_string_equal(nvt_overview_unit_name(&overview), "Iteration");
    expect_near(row_named(&overview, "save")->cpu_ns, 1.25e5);
    assert_int_equal(row_named(&overview, "save")->level, 1);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* Twenty iterations of 1 ms, the first of 50 ms, with a save of 3 ms in every sixth: shares are of the mean. */
static void shares_are_of_one_whole(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 20; i++) {
        const int64_t start = maker.now;
        maker.now += i ? 600000 : 49600000;
        make_range(&maker, "forward", start);
        maker.now += 400000;
        if (i % 6 == 5) {
            maker.now += 3000000;
            make_range(&maker, "save", maker.now - 3000000);
        }
        make_range(&maker, "iteration", start);
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    char text[NVT_OVERVIEW_TEXT];
    expect_near(overview.unit_ns, 1e6);
    /* The first two are early. */
    expect_near(overview.mean_ns, (18 * 1e6 + 3 * 3e6) / 18);
    expect_near(nvt_overview_whole(&overview), overview.mean_ns);
    expect_near(row_named(&overview, "iteration")->cpu_ns, overview.mean_ns);
    expect_near(row_named(&overview, "forward")->cpu_ns, 6e5);
    expect_near(row_named(&overview, "save")->cpu_ns, 5e5);
    assert_string_equal(nvt_overview_unit_text(&overview, text),
                        "median of 20, mean 1.50 ms; half 1.00 ms to 1.00 ms");
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* Of a program that infers, a unit is a forward pass: how often there is one is said, as the time between is in no pass. */
static void inference_has_a_pace(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.domain = nvt_trace_domain(maker.trace, maker.process, "PyTorch");
    for (int i = 0; i < 6; i++) {
        maker.now += 1000000;
        make_range(&maker, "forward", maker.now - 1000000);
        maker.now += 9000000;
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    char text[NVT_OVERVIEW_TEXT];
    expect_near(overview.unit_ns, 1e6);
    expect_near(overview.pace_ns, 1e7);
    assert_string_equal(nvt_overview_unit_name(&overview), "Forward pass");
    assert_string_equal(nvt_overview_unit_text(&overview, text), "median of 6, one every 10.0 ms");
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

static void ranges_that_are_all_of_another_stand_for_it(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 4; i++) {
        const int64_t start = maker.now;
        for (int layer = 0; layer < 6; layer++) {
            char name[32];
            snprintf(name, sizeof(name), "layer %d", layer);
            maker.now += 100000;
            make_range(&maker, name, maker.now - 100000);
        }
        make_range(&maker, "model", start);
        maker.now += 2000;
        make_range(&maker, "tiny", maker.now - 2000);
        make_range(&maker, "iteration", start);
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    /* model is all of the iteration; the layers are all of the model, and one row; tiny is too little. */
    assert_int_equal(overview.row_count, 1);
    assert_string_equal(overview.rows[0].name, "iteration");
    assert_string_equal(overview.filled, "model, layer *");
    assert_true(isnan(overview.gpu_share));
    nvt_overview_free(&overview);
    /* Whoever asks for every name gets each. */
    overview = overview_with(&trace, 1, 1);
    assert_int_equal(overview.row_count, 8);
    expect_near(row_named(&overview, "model")->cpu_ns, 6e5);
    expect_near(row_named(&overview, "layer 5")->cpu_ns, 1e5);
    assert_string_equal(overview.filled, "");
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

static void layers_are_one_row(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 4; i++) {
        const int64_t start = maker.now;
        for (int layer = 0; layer < 6; layer++) {
            char name[32];
            snprintf(name, sizeof(name), "layer %d", layer);
            maker.now += 100000;
            make_range(&maker, name, maker.now - 100000);
        }
        maker.now += 400000;
        make_range(&maker, "iteration", start);
    }
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_int_equal(overview.row_count, 2);
    expect_near(row_named(&overview, "layer *")->cpu_ns, 6e5);
    expect_near(row_named(&overview, "layer *")->calls, 6);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* What the backward pass launches on a thread of its own is backward's. */
static void backward_is_not_empty(void **state)
{
    (void)state;
    const struct program program = {
        .iterations = 8, .kernels = 40, .kernel_ns = 20000, .backward = 20};
    struct nvt_trace *trace = make_program(&program);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_true(overview.lends);
    assert_true(row_named(&overview, "iteration")->gpu_ns > 39 * 20000.0);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

static void recordings_without_iterations(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const int64_t start = maker.now;
    maker.now += 1000000;
    make_launch(&maker, "gemm", 300000);
    make_launch(&maker, "gemm", 300000);
    maker.now += 3000000;
    make_range(&maker, "load", start);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_false(overview.has_iterations);
    assert_int_equal(overview.units, 1);
    expect_near(overview.unit_ns, (double)(trace->last_ns - trace->first_ns));
    expect_near(overview.gpu_ns, 6e5);
    assert_true(overview.gpu_share > 0.99);
    expect_near(row_named(&overview, "load")->cpu_ns, (double)(maker.now - start));
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* A range that never ended, pushed now. */
static void make_open(struct maker *maker, const char *name)
{
    nvt_range_add(maker->trace,
                  &(struct nvt_range){.start = maker->now,
                                      .end = maker->now,
                                      .thread = maker->thread,
                                      .end_thread = maker->thread,
                                      .name = nvt_strings_add_text(maker->trace->strings, name),
                                      .flags = NVT_RANGE_UNCLOSED});
}

/* What never ended is in no row: it is shown below them, and the recording lasts until its thread ended. */
static void open_ranges_are_shown(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct maker maker = make_begin();
        make_open(&maker, "server");
        maker.trace->threads.ended_ns[maker.thread] = is_known ? maker.now + 2000000000 : 0;
        struct nvt_trace *trace = make_end(&maker);
        struct nvt_overview overview = overview_of(&trace, 1);
        assert_int_equal(overview.row_count, 0);
        assert_int_equal(overview.open_count, 1);
        assert_string_equal(overview.open[0].name, "server");
        char *text = overview_print(&overview, 80, 24, 0);
        kit_expect_fits(text, 80);
        assert_null(strstr(text, "nan"));
        if (is_known) {
            expect_near(overview.unit_ns, 2e9);
            OVERVIEW_LINE(text, "\nRecording ", "2.00 s");
            OVERVIEW_LINE(text, "\nserver ", "open for 2.00 s, since 0 ns");
        } else {
            OVERVIEW_LINE(text, "\nRecording ", "unknown", "nothing in it has ended");
            OVERVIEW_LINE(text, "\nserver ", "open since 0 ns");
        }
        free(text);
        nvt_overview_free(&overview);
        nvt_trace_free(trace);
    }
}

/* Several of a name are one, and of many names the first three are shown. */
static void open_ranges_are_counted(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    maker.now += 1000000;
    make_range(&maker, "load", maker.now - 1000000);
    for (int i = 0; i < 3; i++, maker.now += 1000000)
        make_open(&maker, "request");
    static const char *const others[] = {"b", "c", "d"};
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++, maker.now += 1000)
        make_open(&maker, others[i]);
    maker.trace->threads.ended_ns[maker.thread] = maker.now + 7000000;
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_int_equal(overview.row_count, 1);
    assert_int_equal(overview.open_count, 4);
    assert_int_equal(overview.open[0].count, 3);
    expect_near(overview.open[0].since_ns, 1e6);
    expect_near(overview.open[0].open_ns, 10003000);
    char *text = overview_print(&overview, 80, 24, 0);
    kit_expect_fits(text, 80);
    OVERVIEW_LINE(text, "\nStill open", "the first 3 of 4 names");
    OVERVIEW_LINE(text, "\nrequest ", "3, the first open for 10.0 ms, since 1.00 ms");
    assert_non_null(strstr(text, "\nc "));
    assert_null(strstr(text, "\nd "));
    free(text);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* A program that waits for workers, one of which only waits, and a script's other commands: the recording is as long as what is known of
 * all, and who has no row is counted. */
static void processes_without_ranges_are_counted(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_trace *trace = maker.trace;
    static const struct {
        int64_t pid, parent;
        const char *command;
    } processes[] = {{2, 1, "/usr/bin/python3 -m pool"},
                     {3, 2, "python3 -c work"},
                     {4, 3, "python3 -c work"},
                     {5, 3, "sed s/a/b/"},
                     {3, 2, "sh work.sh"}};
    trace->recorder = NVT_BY_NVTALLY;
    for (size_t i = 0; i < NVT_COUNT_OF(processes); i++) {
        const struct nvt_process row = {
            .pid = processes[i].pid,
            .parent_pid = processes[i].parent,
            .name = nvt_strings_add_text(trace->strings, processes[i].command),
            .rank = NVT_NONE};
        const uint32_t process = nvt_process_add(trace, &row);
        const uint32_t thread = nvt_trace_thread(trace, process, row.pid);
        if (i == 0) { /* from the begin of the trace to 2.5 s */
            make_sample(&maker, thread, 1000, 5000000, 0);
            make_sample(&maker, thread, 2500001000, 7000000, 0);
        } else if (i == 1) {
            maker.now = 501000000;
            maker.thread = thread;
            make_range(&maker, "work", maker.now - 100000000);
        } else if (i == 3)
            make_sample(&maker, thread, 300000000, 100000, 0);
    }
    trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    expect_near(overview.unit_ns, 2.5e9);
    assert_int_equal(overview.bare, 2);
    char *text = overview_print(&overview, 80, 24, 0);
    kit_expect_fits(text, 80);
    OVERVIEW_LINE(text, "\nRecording ", "2.50 s");
    OVERVIEW_LINE(text, "\nProcesses ", "3", "2 without ranges, 12.0 ms of CPU time: python3 (2)");
    free(text);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* How the command ended stands above all, and of which iterations costs are. */
static void crashes_come_first(void **state)
{
    (void)state;
    const struct program program = {
        .iterations = 32, .kernels = 100, .kernel_ns = 2000, .launch_ns = 8000};
    struct nvt_trace *trace = make_program(&program);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_null(overview.ended);
    nvt_overview_free(&overview);
    assert_int_equal(nvt_recording_set_ended(trace, 11), 0); /* by SIGSEGV */
    overview = overview_of(&trace, 1);
    char *text = overview_print(&overview, 80, 24, 0);
    kit_expect_fits(text, 80);
    OVERVIEW_LINE(text, "\nthe command crashed with SIGSEGV", "");
    assert_true(strstr(text, "crashed with") < strstr(text, "\nIteration "));
    OVERVIEW_LINE(text, "\nFindings", "; costs are of iterations 17 to 32 of 32");
    free(text);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* A range that was open as a recording on request stopped is not open still: when its thread ended is not known then. */
static void what_a_request_cuts_is_not_open(void **state)
{
    (void)state;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct maker maker = make_begin();
        make_open(&maker, "step");
        const int64_t stopped = maker.now + 1000000;
        struct nvt_trace *trace = make_end(&maker);
        assert_int_equal(nvt_trace_set_meta(trace, "recorded", "1 part, 0.001 s"), 0);
        trace->ranges.end[0] = stopped;
        trace->threads.ended_ns[trace->ranges.thread[0]] = goes_on ? 0 : stopped;
        struct nvt_overview overview = overview_of(&trace, 1);
        assert_int_equal(overview.open_count, !goes_on);
        nvt_overview_free(&overview);
        nvt_trace_free(trace);
    }
}

static void kernels_where_there_are_no_ranges(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_launch(&maker, "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64>(int)", 300000);
    make_launch(&maker, "small", 1000);
    struct nvt_trace *trace = make_end(&maker);
    struct nvt_overview overview = overview_of(&trace, 1);
    assert_true(overview.are_kernels);
    assert_int_equal(overview.row_count, 2);
    assert_string_equal(overview.rows[1].name, "small");
    expect_near(overview.rows[0].gpu_ns, 3e5);
    assert_true(isnan(overview.rows[0].cpu_ns));
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

/* Ranks are apart, the slowest first; an iteration of the job is the median of all of theirs. */
static void ranks_are_parts(void **state)
{
    (void)state;
    struct nvt_trace *traces[3];
    for (int i = 0; i < 3; i++) {
        const struct program program = {
            .iterations = 10, .kernels = 10 + 5 * i, .kernel_ns = 50000, .rank = i + 1};
        traces[i] = make_program(&program);
    }
    struct nvt_overview overview = overview_of(traces, 3);
    assert_int_equal(overview.part_count, 3);
    assert_string_equal(overview.parts[0].name, "rank 2");
    assert_string_equal(overview.parts[2].name, "rank 0");
    assert_true(overview.parts[0].unit_ns > overview.parts[1].unit_ns);
    assert_true(overview.unit_ns < overview.parts[0].unit_ns);
    assert_int_equal(overview.parts[1].units, 10);
    assert_int_equal(overview.units, 30);
    nvt_overview_free(&overview);
    for (int i = 0; i < 3; i++)
        nvt_trace_free(traces[i]);
}

/* Commands that differ in numbers alone are of one program. */
static void programs_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *commands[3];
        uint32_t programs;
    } cases[] = {
        {{"python3 train.py --rank 0", "python3 train.py --rank 1", "python3 train.py --rank 12"},
         1},
        {{"python3 train.py", "python3 train.py --rank 1", "python3 train.py"}, 2},
        {{"a", "b", "c"}, 3},
        {{"ab", "a", "ab"}, 2},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *traces[3];
        for (size_t k = 0; k < 3; k++) {
            traces[k] = make_loop();
            assert_int_equal(nvt_trace_set_meta(traces[k], "command", cases[i].commands[k]), 0);
        }
        struct nvt_overview overview = overview_of(traces, 3);
        assert_int_equal(overview.programs, cases[i].programs);
        assert_int_equal(overview.part_count, 3);
        nvt_overview_free(&overview);
        for (size_t k = 0; k < 3; k++)
            nvt_trace_free(traces[k]);
    }
}

/* A device that waits for launches of 8 µs with kernels of 2 µs: three quarters of each iteration. */
static void findings_are_shares_of_an_iteration(void **state)
{
    (void)state;
    const struct program program = {
        .iterations = 32, .kernels = 100, .kernel_ns = 2000, .launch_ns = 8000};
    struct nvt_trace *trace = make_program(&program);
    struct nvt_overview overview = overview_of(&trace, 1);
    double largest = 0;
    assert_in_range(overview.finding_count, 1, NVT_OVERVIEW_FINDINGS);
    for (uint32_t i = 0; i < overview.finding_count; i++)
        largest = fmax(largest, overview.findings[i].share);
    assert_true(largest > 0.5 && largest <= 1);
    nvt_overview_free(&overview);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_are_medians),
        cmocka_unit_test(shares_are_of_one_whole),
        cmocka_unit_test(inference_has_a_pace),
        cmocka_unit_test(ranges_that_are_all_of_another_stand_for_it),
        cmocka_unit_test(layers_are_one_row),
        cmocka_unit_test(backward_is_not_empty),
        cmocka_unit_test(recordings_without_iterations),
        cmocka_unit_test(open_ranges_are_shown),
        cmocka_unit_test(open_ranges_are_counted),
        cmocka_unit_test(processes_without_ranges_are_counted),
        cmocka_unit_test(crashes_come_first),
        cmocka_unit_test(what_a_request_cuts_is_not_open),
        cmocka_unit_test(kernels_where_there_are_no_ranges),
        cmocka_unit_test(ranks_are_parts),
        cmocka_unit_test(programs_are_told_apart),
        cmocka_unit_test(findings_are_shares_of_an_iteration),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
