/* Recordings in parts: what lies between them is nobody's time, and what was open when one ended is not open. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/gaps.h"
#include "../analyze/device/iterations.h"
#include "../analyze/diagnosis/beats.h"
#include "../analyze/model/recorded_parts.h"
#include "../analyze/model/window.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/open_items.h"
#include "finding_kit.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static void add_part(struct nvt_trace *trace, int64_t start, int64_t end)
{
    const struct nvt_part part = {start, end, end};
    assert_int_not_equal(nvt_part_add(trace, &part), NVT_NONE);
}

/* --- the model --- */

static void they_are_in_order_and_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("t", "nvt");
    add_part(trace, 50, 60);
    add_part(trace, 10, 20);
    add_part(trace, 15, 30);
    add_part(trace, 90, 80);
    assert_int_equal(nvt_parts_settle(trace), 0);
    assert_int_equal(trace->parts.count, 3);
    const int64_t times[] = {10, 30, 50, 60, 90, 90};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(trace->parts.start[i], times[2 * i]);
        assert_int_equal(trace->parts.end[i], times[2 * i + 1]);
    }
    assert_int_equal(nvt_part_at(trace, 9), 0);
    assert_int_equal(nvt_part_at(trace, 10), 1);
    assert_int_equal(nvt_part_at(trace, 40), 1);
    assert_int_equal(nvt_part_at(trace, 50), 2);
    assert_true(nvt_is_across_parts(trace, 40, 50));
    assert_false(nvt_is_across_parts(trace, 12, 35));
    assert_true(nvt_is_recorded_at(trace, 30));
    assert_false(nvt_is_recorded_at(trace, 31));
    assert_false(nvt_is_recorded_at(trace, 5));
    assert_int_equal(nvt_between_parts_ns(trace, 0, 100), 50);
    assert_int_equal(nvt_between_parts_ns(trace, 35, 45), 10);
    assert_int_equal(nvt_between_parts_ns(trace, 55, 70), 10);
    assert_true(nvt_recorded_ns(trace, 10, 60) == 30);
    nvt_trace_free(trace);
    trace = nvt_trace_new("t", "nvt");
    assert_false(nvt_is_across_parts(trace, 0, 100));
    assert_true(nvt_is_recorded_at(trace, 5));
    assert_int_equal(nvt_between_parts_ns(trace, 0, 100), 0);
    nvt_trace_free(trace);
}

/* --- time between them --- */

/* Parts of 32 iterations of 10 ms, 281 ms apart; is_known: the trace says so. */
static struct maker loop_in_parts(int parts, int is_known)
{
    struct maker maker = make_begin();
    for (int part = 0; part < parts; part++) {
        for (int i = 0; i < 32; i++) {
            maker.now += 10 * MS;
            make_range(&maker, "iteration", maker.now - 10 * MS);
        }
        if (is_known)
            make_pause(&maker, part + 1 < parts ? 281 * MS : -1);
        else
            maker.now += 281 * MS;
    }
    return maker;
}

static void it_is_no_periodic_work(void **state)
{
    (void)state;
    struct maker maker = loop_in_parts(9, 0);
    struct nvt_findings findings = kit_find(&maker, &nvt_rule_periodic);
    assert_int_equal(findings.count, 1);
    free(findings.items);
    maker = loop_in_parts(9, 1);
    kit_find_nothing(&maker, &nvt_rule_periodic);
}

/* All rules, on a program whose device is busy but for the waits: what they share, and say, is the same as of one part. */
static void it_is_in_no_share(void **state)
{
    (void)state;
    const struct program parts = {.kernels = 60, .kernel_ns = 4500, .second_part = 24},
                         whole = {.kernels = 60, .kernel_ns = 4500};
    struct nvt_input_trace traces[2] = {{.trace = make_program(&whole)},
                                        {.trace = make_program(&parts)}};
    struct nvt_findings findings[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        const struct nvt_input input = {.traces = &traces[i], .trace_count = 1};
        assert_int_equal(nvt_diagnose(&input, NULL, &findings[i], NULL), 0);
    }
    assert_true(findings[0].count > 0);
    assert_int_equal(findings[0].count, findings[1].count);
    for (size_t i = 0; i < findings[0].count; i++) {
        assert_string_equal(findings[0].items[i].cause, findings[1].items[i].cause);
        const double a = nvt_finding_share(&findings[0].items[i]),
                     b = nvt_finding_share(&findings[1].items[i]);
        assert_true((isnan(a) && isnan(b)) || fabs(a - b) < 0.01);
        assert_true(fabs(findings[0].items[i].cost_ns - findings[1].items[i].cost_ns) <=
                    0.02 * findings[0].items[i].cost_ns);
    }
    for (int i = 0; i < 2; i++) {
        free(findings[i].items);
        nvt_trace_free(traces[i].trace);
    }
}

static void longest_gap(void *context, const struct nvt_gap *gap)
{
    int64_t *longest = context;
    *longest = gap->end - gap->start > *longest ? gap->end - gap->start : *longest;
}

static void it_is_no_gap_of_a_device(void **state)
{
    (void)state;
    const struct program program = {.kernels = 10, .kernel_ns = 8000, .second_part = 16};
    for (int is_known = 0; is_known < 2; is_known++) {
        struct nvt_trace *trace = make_program(&program);
        int64_t longest = 0;
        if (!is_known)
            trace->parts.count = 0;
        assert_int_equal(nvt_gaps(trace, NULL, longest_gap, &longest, NULL, NULL), 0);
        assert_int_equal(longest > S / 2, !is_known);
        nvt_trace_free(trace);
    }
}

/* The report says of a device what its gaps are. */
static void it_is_no_idle_time_of_a_device(void **state)
{
    (void)state;
    const struct program program = {.kernels = 10, .kernel_ns = 8000, .second_part = 16};
    for (int is_known = 0; is_known < 2; is_known++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_input_trace from = {.trace = make_program(&program)};
        struct nvt_input input = {.traces = &from, .trace_count = 1};
        struct nvt_tables tables = {0};
        if (!is_known)
            from.trace->parts.count = 0;
        assert_int_equal(nvt_report_make(&nvt_report_gpu_idle, &input, &tables, &err), 0);
        assert_int_equal(tables.count, 2);
        const struct nvt_table *devices = tables.items[0], *gaps = tables.items[1];
        const int64_t idle = nvt_table_int(devices, 0, nvt_table_find(devices, "Idle (ns)"));
        const int64_t span = nvt_table_int(devices, 0, nvt_table_find(devices, "Span (ns)"));
        const int64_t longest = nvt_table_int(gaps, 0, nvt_table_find(gaps, "Duration (ns)"));
        assert_int_equal(longest > S / 2, !is_known);
        assert_int_equal(idle > S / 2, !is_known);
        assert_true(span > idle);
        nvt_tables_free(&tables);
        nvt_buffer_free(&input.notes);
        nvt_trace_free(from.trace);
    }
}

/* --- what is open --- */

static uint32_t open_range(struct maker *maker, const char *name)
{
    make_range(maker, name, maker->now);
    const uint32_t row = maker->trace->ranges.count - 1;
    maker->trace->ranges.flags[row] = NVT_RANGE_UNCLOSED;
    return row;
}

static struct maker with_steps(int count)
{
    struct maker maker = make_begin();
    assert_int_equal(nvt_trace_set_meta(maker.trace, "recorded", "2 parts, 2 s"), 0);
    for (int i = 0; i < count; i++) {
        maker.now += 100 * MS;
        make_range(&maker, "step", maker.now - 100 * MS);
    }
    return maker;
}

/* It ended with recording under way: what was open is, in the last part alone. */
static void what_hangs_in_the_last_part_is_found(void **state)
{
    (void)state;
    struct maker maker = with_steps(10);
    open_range(&maker, "step");
    make_pause(&maker, 60 * S);
    for (int i = 0; i < 10; i++) {
        maker.now += 100 * MS;
        make_range(&maker, "step", maker.now - 100 * MS);
    }
    open_range(&maker, "save");
    maker.trace->threads.ended_ns[maker.thread] = maker.now + 8 * S;
    maker.trace->was_stopped = 1;
    make_pause(&maker, -1);
    maker.trace->parts.end[1] = maker.now + 8 * S;
    kit_find_one(&maker, &nvt_rule_hang, (double)(8 * S),
                 "process 1 has made no progress for 8.00 s, in save",
                 "before that, nothing took longer than 100 ms to begin (22 ranges, calls and "
                 "marks); process 1: save (8.00 s); record --trace nvtx,osrt,cpu shows what it "
                 "waits for");
}

/* When recording has stopped, nobody knows. */
static void what_was_open_when_it_stopped_is_not(void **state)
{
    (void)state;
    struct maker maker = with_steps(10);
    const uint32_t row = open_range(&maker, "save");
    maker.trace->threads.ended_ns[maker.thread] = 0;
    maker.trace->was_stopped = 1;
    make_pause(&maker, -1);
    struct nvt_trace *trace = make_end(&maker);
    assert_false(nvt_is_left_open(trace, row));
    const struct nvt_input_trace input_trace = {.trace = trace};
    const struct nvt_input input = {.traces = (struct nvt_input_trace *)&input_trace,
                                    .trace_count = 1};
    struct nvt_buffer lines = {0};
    assert_int_equal(nvt_trace_set_meta(trace, "ended", "was killed by SIGKILL"), 0);
    assert_int_equal(nvt_diagnose_end(&input, &lines, NULL), 0);
    assert_int_equal(nvt_buffer_append(&lines, "", 1), 0);
    assert_string_equal((const char *)lines.data,
                        "the command was killed by SIGKILL; recording had been stopped before, "
                        "after 10 recorded iterations\n");
    nvt_buffer_free(&lines);
    nvt_trace_free(trace);
}

/* --- one part by itself --- */

static void a_window_is_a_part(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint32_t iterations;
    } cases[] = {{"part=1", 16}, {"part=2", 10}};
    const struct program program = {.iterations = 26, .host_ns = 1000000, .second_part = 16};
    struct nvt_error err = NVT_ERROR_INIT;
    for (int i = 0; i < 2; i++) {
        struct nvt_window window = {0};
        struct nvt_trace *trace = make_program(&program);
        uint32_t count = 0;
        assert_int_equal(nvt_window_set_time(&window, cases[i].text, &err), 0);
        assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
        free(nvt_iterations(trace, &count));
        assert_int_equal(count, cases[i].iterations);
        nvt_trace_free(trace);
    }
    struct nvt_window window = {0};
    struct nvt_trace *trace = make_program(&program);
    assert_int_equal(nvt_window_set_time(&window, "part=3", &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), -1);
    assert_non_null(strstr(err.message, "--filter-time part=3: there are 2 parts"));
    nvt_trace_free(trace);
    assert_int_equal(nvt_window_set_time(&window, "part=0", &err), -1);
    assert_int_equal(nvt_window_set_time(&window, "part=x", &err), -1);
}

/* The range that takes longer is named, also in another domain than the iterations. */
static void the_slower_part_is_found(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < 8; i++) {
            const int64_t start = maker.now;
            maker.now += 4 * MS;
            make_range(&maker, "load", start);
            maker.now += (part ? 16 : 6) * MS + (i % 2) * MS;
            maker.domain = nvt_trace_domain(maker.trace, maker.process, "d");
            make_range(&maker, "forward", start + 4 * MS);
            maker.domain = 0;
            make_range(&maker, "iteration", start);
        }
        make_pause(&maker, part ? -1 : 3600 * S);
    }
    kit_find_one(&maker, &nvt_rule_slower_part, (double)(10 * MS),
                 "iterations take 20.5 ms in part 2 of the recording, 1.95 times as long as in "
                 "part 1",
                 "part 1: 8 iterations, mean 10.5 ms, median 10.5 ms; part 2: 8, mean 20.5 ms, "
                 "median 20.5 ms; the difference is 9.43 ms to 10.6 ms with 95 % confidence; most "
                 "of it in range forward itself: 16.5 ms per iteration, not 6.50 ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_in_order_and_apart),
        cmocka_unit_test(it_is_no_periodic_work),
        cmocka_unit_test(it_is_in_no_share),
        cmocka_unit_test(it_is_no_gap_of_a_device),
        cmocka_unit_test(it_is_no_idle_time_of_a_device),
        cmocka_unit_test(what_hangs_in_the_last_part_is_found),
        cmocka_unit_test(what_was_open_when_it_stopped_is_not),
        cmocka_unit_test(a_window_is_a_part),
        cmocka_unit_test(the_slower_part_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
