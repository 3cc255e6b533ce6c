/* Reports on ranges over traces built in memory: what the tables must hold is worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/nesting.h"
#include "../analyze/reports/report.h"
#include "../analyze/studies/unfinished.h"
#include "random_kit.h"
#include "reports_kit.h"

#define SUM_HEADINGS                                                                               \
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"

/* Two traces; the same name in two domains, of both styles, and one that never ended. */
static void sum_traces(struct nvt_trace *traces[2])
{
    traces[0] = reports_new_trace("a.nvt");
    reports_push(traces[0], "step", 0, 10);
    reports_push(traces[0], "step", 20, 40);
    reports_push_in(traces[0], "lib", "step", 22, 27);
    struct nvt_range lost = reports_range(traces[0], "lost", 5, 40);
    lost.flags = NVT_RANGE_UNCLOSED;
    reports_add(traces[0], lost);
    traces[1] = reports_new_trace("b.nvt");
    /* Other ids for the same names than in the first trace. */
    nvt_strings_add_text(traces[1]->strings, "in the way");
    reports_push(traces[1], "step", 100, 160);
    struct nvt_range across = reports_range(traces[1], "step", 0, 5);
    across.style = NVT_START_END;
    across.end_thread = 1;
    reports_add(traces[1], across);
}

static void test_nvtx_sum(void **state)
{
    (void)state;
    struct nvt_trace *traces[2];
    sum_traces(traces);
    reports_expect_csv(traces[0], traces[1], "nvtx_sum",
                       SUM_HEADINGS ",Style,Range\n"
                                    "90.0,90,3,30.0,20.0,10,60,26.5,PushPop,:step\n"
                                    "5.0,5,1,5.0,5.0,5,5,0.0,StartEnd,:step\n"
                                    "5.0,5,1,5.0,5.0,5,5,0.0,PushPop,lib:step\n",
                       "note: nvtx_sum leaves out 1 range that never ended\n");
}

static void test_nvtx_sum_by_style(void **state)
{
    (void)state;
    struct nvt_trace *traces[2];
    sum_traces(traces);
    reports_expect_csv(traces[0], traces[1], "nvtx_pushpop_sum",
                       SUM_HEADINGS ",Range\n"
                                    "94.7,90,3,30.0,20.0,10,60,26.5,:step\n"
                                    "5.3,5,1,5.0,5.0,5,5,0.0,lib:step\n",
                       "note: nvtx_pushpop_sum leaves out 1 range that never ended\n");
    sum_traces(traces);
    reports_expect_csv(traces[0], traces[1], "nvtx_startend_sum",
                       SUM_HEADINGS ",Range\n100.0,5,1,5.0,5.0,5,5,0.0,:step\n", "");
}

static void test_sum_of_nothing(void **state)
{
    (void)state;
    reports_expect_csv(reports_new_trace("a.nvt"), NULL, "nvtx_sum", SUM_HEADINGS ",Style,Range\n",
                       "note: no NVTX ranges in the input\n");
}

static void test_pushpop_trace(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    struct nvt_range inner = reports_range(trace, "copy_in", 10, 30);
    inner.flags = NVT_RANGE_HAS_COLOR | NVT_RANGE_HAS_PAYLOAD;
    inner.color = 0xFF00FF00;
    inner.category = nvt_strings_add_text(trace->strings, "io");
    inner.payload = nvt_strings_add_text(trace->strings, "42");
    reports_push(trace, "outer", 0, 100);
    reports_add(trace, inner);
    reports_push_in(trace, "lib", "send", 12, 20);
    struct nvt_range elsewhere = reports_range(trace, "other", 11, 19);
    elsewhere.thread = 1;
    reports_add(trace, elsewhere);
    reports_expect_csv(
        trace, NULL, "nvtx_pushpop_trace",
        "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,"
        "NumChild,RangeId,ParentId,RangeStack,NameTree,Domain,Category,Color,Payload,"
        "Unfinished\n"
        "0,100,100,20,80,:outer,53,53,0,1,1,,:1,:outer,,,,,\n"
        "10,30,20,8,12,:copy_in,53,53,1,1,2,1,:1:2,--:copy_in,,io,#FF00FF00,42,\n"
        "11,19,8,0,8,:other,53,54,0,0,3,,:3,:other,,,,,\n"
        "12,20,8,0,8,lib:send,53,53,2,0,4,2,:1:2:4,----lib:send,lib,,,,\n",
        "");
}

/* Ranges that overlap in part, of one domain and of two: time in any of them counts once. */
static void test_self_of_overlapping_ranges(void **state)
{
    (void)state;
    for (int domains = 0; domains < 2; domains++) {
        const char *other = domains ? "python_function" : "";
        struct nvt_trace *trace = reports_new_trace("a.json");
        reports_push(trace, "step", 0, 100);
        reports_push(trace, "a", 0, 80);
        reports_push_in(trace, other, "b", 20, 90);
        reports_push_in(trace, other, "c", 30, 95);
        struct nvt_input input = reports_input_of(trace, NULL);
        struct nvt_tables tables = reports_make_tables("nvtx_pushpop_trace", &input);
        struct nvt_tables tree = {0};
        assert_int_equal(nvt_table_int(tables.items[0], 0, 3), 95); /* DurChild */
        assert_int_equal(nvt_table_int(tables.items[0], 0, 4), 5);  /* DurNonChild */
        assert_int_equal(nvt_table_int(tables.items[0], 0, 9), 3);  /* NumChild */
        assert_int_equal(
            nvt_report_make(nvt_report_find("range_tree"), &input, &tree, &reports_err), 0);
        assert_int_equal(nvt_table_int(tree.items[0], 0, 3), 5); /* Host Self */
        nvt_tables_free(&tables);
        nvt_tables_free(&tree);
        nvt_input_free(&input);
    }
}

static struct nvt_range unclosed(struct nvt_trace *trace, const char *name, int64_t start,
                                 int64_t end)
{
    struct nvt_range row = reports_range(trace, name, start, end);
    row.flags = NVT_RANGE_UNCLOSED;
    return row;
}

/* A crash within "inner", which was the last thing on record: it lies in what was opened before it,
 * and what ended at that moment does not hold it. */
static void add_crash(struct nvt_trace *trace)
{
    reports_add(trace, unclosed(trace, "outer", 0, 50));
    reports_push(trace, "done", 10, 50);
    reports_add(trace, unclosed(trace, "inner", 50, 50));
    struct nvt_range deepest = unclosed(trace, "deepest", 50, 50);
    deepest.domain = nvt_trace_domain(trace, 0, "lib");
    reports_add(trace, deepest);
}

static void test_nesting_of_unclosed_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    add_crash(trace);
    reports_expect_csv(
        trace, NULL, "nvtx_pushpop_trace",
        "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,"
        "NumChild,RangeId,ParentId,RangeStack,NameTree,Domain,Category,Color,Payload,"
        "Unfinished\n"
        "0,50,50,40,10,:outer,53,53,0,2,1,,:1,:outer,,,,,true\n"
        "10,50,40,0,40,:done,53,53,1,0,2,1,:1:2,--:done,,,,,\n"
        "50,50,0,0,0,:inner,53,53,1,1,3,1,:1:3,--:inner,,,,,true\n"
        "50,50,0,0,0,lib:deepest,53,53,2,0,4,3,:1:3:4,----lib:deepest,lib,,,,true\n",
        "");
    trace = reports_new_trace("a.nvt");
    add_crash(trace);
    reports_expect_csv(
        trace, NULL, "range_tree",
        "Range,Instances,Host Total (ns),Host Self (ns),Host (%),Lvl,Style,Unfinished\n"
        ":outer,1,50,10,100.0,0,PushPop,1\n"
        "--:done,1,40,40,80.0,1,PushPop,0\n"
        "--:inner,1,0,0,0.0,1,PushPop,1\n"
        "----lib:deepest,1,0,0,0.0,2,PushPop,1\n",
        "");
}

/* Of the threads that have it, whatever others do beside them; a start/end range is a part of no whole. */
static void test_shares_of_the_host(void **state)
{
    (void)state;
    struct nvt_trace *traces[2] = {reports_new_trace("a.nvt"), reports_new_trace("b.nvt")};
    struct nvt_range load = reports_range(traces[0], "load", 0, 1000);
    struct nvt_range iteration = reports_range(traces[0], "iteration", 0, 100);
    load.thread = 1;
    iteration.style = NVT_START_END;
    reports_add(traces[0], load);
    reports_add(traces[0], iteration);
    reports_push(traces[0], "step", 0, 60);
    reports_push(traces[0], "forward", 0, 30);
    reports_push(traces[0], "save", 60, 100);
    reports_push(traces[1], "step", 0, 100);
    reports_expect_csv(
        traces[0], traces[1], "range_tree",
        "Range,Instances,Host Total (ns),Host Self (ns),Host (%),Lvl,Style,Unfinished\n"
        ":load,1,1000,1000,100.0,0,PushPop,0\n"
        ":step,2,160,130,80.0,0,PushPop,0\n"
        "--:forward,1,30,30,30.0,1,PushPop,0\n"
        ":iteration,1,100,100,,0,StartEnd,0\n"
        ":save,1,40,40,40.0,0,PushPop,0\n",
        "");
}

/* Processes, threads and deep stacks in a note. */
static void test_note_of_unfinished(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    struct nvt_range other = unclosed(trace, "load", 5, 9);
    char name[16];
    other.thread = 1;
    reports_add(trace, other);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        reports_add(trace, unclosed(trace, name, i, 9));
    }
    struct nvt_input input = reports_input_of(trace, NULL);
    assert_int_equal(nvt_trace_finish(trace, &reports_err), 0);
    assert_int_equal(nvt_note_unfinished(&input, &reports_err), 0);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data,
                        "note: a.nvt: process 53 ended within: r0 > r1 > … > r5 > r6 > r7 > r8; "
                        "thread 54 within: load\n");
    nvt_input_free(&input);
}

/* A long name is cut between two characters, and it shows. */
static void test_note_of_a_long_name(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    /* What could steer a terminal is not in it: CSI as one character, right to left, a line's end. */
    char name[260] = "x\xc2\x9b\xc2\x9b\xe2\x80\xae\n", expected[300];
    for (size_t used = strlen(name); used < 200; used += 2)
        snprintf(name + used, sizeof(name) - used, "ß");
    reports_add(trace, unclosed(trace, name, 0, 9));
    struct nvt_input input = reports_input_of(trace, NULL);
    assert_int_equal(nvt_trace_finish(trace, &reports_err), 0);
    assert_int_equal(nvt_note_unfinished(&input, &reports_err), 0);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    snprintf(expected, sizeof(expected), "note: a.nvt: process 53 ended within: x????%.*s…\n",
             2 * 94, name + 9);
    assert_string_equal((const char *)input.notes.data, expected);
    nvt_input_free(&input);
}

static void add_mark(struct nvt_trace *trace, const char *domain, const char *name, int64_t time,
                     const char *payload)
{
    const struct nvt_mark mark = {
        .time = time,
        .domain = nvt_trace_domain(trace, 0, domain),
        .name = nvt_strings_add_text(trace->strings, name),
        .category = *domain ? nvt_strings_add_text(trace->strings, "io") : 0,
        .payload = payload ? nvt_strings_add_text(trace->strings, payload) : 0,
        .flags = payload ? NVT_RANGE_HAS_PAYLOAD : 0};
    assert_true(nvt_mark_add(trace, &mark) != NVT_NONE);
}

static void test_marks(void **state)
{
    (void)state;
    struct nvt_trace *trace = reports_new_trace("a.nvt");
    add_mark(trace, "lib", "loss", 40, "0.5");
    add_mark(trace, "", "saved", 20, NULL);
    add_mark(trace, "lib", "loss", 30, "-12");
    add_mark(trace, "lib", "loss", 50, "{\"a\":1}");
    add_mark(trace, "", "loss", 60, "7");
    reports_expect_csv(trace, NULL, "nvtx_marks",
                       "Domain,Name,Category,Count,First (ns),Last (ns),Payload Min,Payload Max\n"
                       ",saved,,1,20,20,,\n"
                       "lib,loss,io,3,30,50,-12,0.5\n"
                       ",loss,,1,60,60,7,7\n",
                       "");
    reports_expect_csv(reports_new_trace("a.nvt"), NULL, "nvtx_marks",
                       "Domain,Name,Category,Count,First (ns),Last (ns),Payload Min,Payload Max\n",
                       "note: no NVTX marks in the input\n");
}

/* Parents against the definition: the last one started of those that enclose the range. */
static void test_nesting_of_random_ranges(void **state)
{
    (void)state;
    kit_srand(3);
    for (int round = 0; round < 300; round++) {
        struct nvt_trace *trace = reports_new_trace("random");
        for (int i = 0; i < 40; i++) {
            int64_t start = rand() % 50;
            struct nvt_range row = reports_range(trace, "r", start, start + rand() % 30);
            row.thread = (uint32_t)rand() % 2;
            row.domain = nvt_trace_domain(trace, 0, rand() % 2 ? "a" : "b");
            row.style = rand() % 8 ? NVT_PUSH_POP : NVT_START_END;
            reports_add(trace, row);
        }
        assert_int_equal(nvt_trace_finish(trace, &reports_err), 0);
        uint32_t *parent = nvt_nest_threads(trace, &reports_err);
        const struct nvt_ranges *r = &trace->ranges;
        for (uint32_t i = 0; i < r->count; i++) {
            uint32_t expected = NVT_NONE;
            for (uint32_t k = 0; k < i && r->style[i] == NVT_PUSH_POP; k++)
                if (r->style[k] == NVT_PUSH_POP && r->thread[k] == r->thread[i] &&
                    r->end[i] <= r->end[k] && (r->start[i] < r->end[k] || r->start[k] == r->end[k]))
                    expected = k;
            assert_int_equal(parent[i], expected);
        }
        free(parent);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvtx_sum),
        cmocka_unit_test(test_nvtx_sum_by_style),
        cmocka_unit_test(test_sum_of_nothing),
        cmocka_unit_test(test_pushpop_trace),
        cmocka_unit_test(test_self_of_overlapping_ranges),
        cmocka_unit_test(test_nesting_of_unclosed_ranges),
        cmocka_unit_test(test_shares_of_the_host),
        cmocka_unit_test(test_note_of_unfinished),
        cmocka_unit_test(test_note_of_a_long_name),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_nesting_of_random_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
