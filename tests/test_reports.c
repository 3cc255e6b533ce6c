/* Reports over traces built in memory: what the tables must hold is worked out by hand. */
#include <inttypes.h>
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
#include "../analyze/studies/phases.h"
#include "../analyze/studies/unfinished.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "random_kit.h"

static struct nvt_error err = NVT_ERROR_INIT;

/* A trace with process 53 and two threads, 53 and 54. */
static struct nvt_trace *new_trace(const char *path)
{
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    assert_non_null(trace);
    uint32_t process = nvt_trace_process(trace, 53);
    assert_int_equal(nvt_trace_thread(trace, process, 53), 0);
    assert_int_equal(nvt_trace_thread(trace, process, 54), 1);
    return trace;
}

static struct nvt_range range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    return (struct nvt_range){.start = start,
                              .end = end,
                              .name = nvt_strings_add_text(trace->strings, name),
                              .style = NVT_PUSH_POP};
}

static void add(struct nvt_trace *trace, struct nvt_range row)
{
    row.end_thread = row.thread;
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

static void push(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    add(trace, range(trace, name, start, end));
}

static void push_in(struct nvt_trace *trace, const char *domain, const char *name, int64_t start,
                    int64_t end)
{
    struct nvt_range row = range(trace, name, start, end);
    row.domain = nvt_trace_domain(trace, 0, domain);
    add(trace, row);
}

/* A table is called as its report is, or as one of its further ones: stats tells by these which report has it. */
static void expect_names(const struct nvt_report *report, const struct nvt_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        const char *name = nvt_table_name(tables->items[i]);
        const char *const *further = report->further;
        while (further && *further && strcmp(*further, name) != 0)
            further++;
        const struct nvt_table_kind *more = report->more;
        while (more && more->title && (!more->name || strcmp(more->name, name) != 0))
            more++;
        if (strcmp(name, report->name) != 0 && (!further || !*further) && (!more || !more->title))
            fail_msg("report %s has a table %s", report->name, name);
    }
}

/* The tables of a report over these traces, which are finished first and freed with the input. */
static struct nvt_tables make_tables(const char *report, struct nvt_input *input)
{
    struct nvt_tables tables = {0};
    for (size_t i = 0; i < input->trace_count; i++)
        assert_int_equal(nvt_trace_finish(input->traces[i].trace, &err), 0);
    assert_non_null(nvt_report_find(report));
    assert_int_equal(nvt_report_make(nvt_report_find(report), input, &tables, &err), 0);
    expect_names(nvt_report_find(report), &tables);
    return tables;
}

static struct nvt_input input_of(struct nvt_trace *first, struct nvt_trace *second)
{
    struct nvt_input input = {.trace_count = second ? 2 : 1};
    input.traces = calloc(2, sizeof(*input.traces));
    input.traces[0].trace = first;
    input.traces[1].trace = second;
    return input;
}

static char *csv(const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    nvt_render_csv(tables, out);
    fclose(out);
    return text;
}

static void expect_csv(struct nvt_trace *first, struct nvt_trace *second, const char *report,
                       const char *expected, const char *notes)
{
    struct nvt_input input = input_of(first, second);
    struct nvt_tables tables = make_tables(report, &input);
    char *text = csv(&tables);
    assert_string_equal(text, expected);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    assert_string_equal((const char *)input.notes.data, notes);
    free(text);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

#define SUM_HEADINGS                                                                               \
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"

/* Two traces; the same name in two domains, of both styles, and one that never ended. */
static void sum_traces(struct nvt_trace *traces[2])
{
    traces[0] = new_trace("a.nvt");
    push(traces[0], "step", 0, 10);
    push(traces[0], "step", 20, 40);
    push_in(traces[0], "lib", "step", 22, 27);
    struct nvt_range lost = range(traces[0], "lost", 5, 40);
    lost.flags = NVT_RANGE_UNCLOSED;
    add(traces[0], lost);
    traces[1] = new_trace("b.nvt");
    /* Other ids for the same names than in the first trace. */
    nvt_strings_add_text(traces[1]->strings, "in the way");
    push(traces[1], "step", 100, 160);
    struct nvt_range across = range(traces[1], "step", 0, 5);
    across.style = NVT_START_END;
    across.end_thread = 1;
    add(traces[1], across);
}

static void test_nvtx_sum(void **state)
{
    (void)state;
    struct nvt_trace *traces[2];
    sum_traces(traces);
    expect_csv(traces[0], traces[1], "nvtx_sum",
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
    expect_csv(traces[0], traces[1], "nvtx_pushpop_sum",
               SUM_HEADINGS ",Range\n"
                            "94.7,90,3,30.0,20.0,10,60,26.5,:step\n"
                            "5.3,5,1,5.0,5.0,5,5,0.0,lib:step\n",
               "note: nvtx_pushpop_sum leaves out 1 range that never ended\n");
    sum_traces(traces);
    expect_csv(traces[0], traces[1], "nvtx_startend_sum",
               SUM_HEADINGS ",Range\n100.0,5,1,5.0,5.0,5,5,0.0,:step\n", "");
}

static void test_sum_of_nothing(void **state)
{
    (void)state;
    expect_csv(new_trace("a.nvt"), NULL, "nvtx_sum", SUM_HEADINGS ",Style,Range\n",
               "note: no NVTX ranges in the input\n");
}

static void test_pushpop_trace(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("a.nvt");
    struct nvt_range inner = range(trace, "copy_in", 10, 30);
    inner.flags = NVT_RANGE_HAS_COLOR | NVT_RANGE_HAS_PAYLOAD;
    inner.color = 0xFF00FF00;
    inner.category = nvt_strings_add_text(trace->strings, "io");
    inner.payload = nvt_strings_add_text(trace->strings, "42");
    push(trace, "outer", 0, 100);
    add(trace, inner);
    push_in(trace, "lib", "send", 12, 20);
    struct nvt_range elsewhere = range(trace, "other", 11, 19);
    elsewhere.thread = 1;
    add(trace, elsewhere);
    expect_csv(trace, NULL, "nvtx_pushpop_trace",
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
        struct nvt_trace *trace = new_trace("a.json");
        push(trace, "step", 0, 100);
        push(trace, "a", 0, 80);
        push_in(trace, other, "b", 20, 90);
        push_in(trace, other, "c", 30, 95);
        struct nvt_input input = input_of(trace, NULL);
        struct nvt_tables tables = make_tables("nvtx_pushpop_trace", &input);
        struct nvt_tables tree = {0};
        assert_int_equal(nvt_table_int(tables.items[0], 0, 3), 95); /* DurChild */
        assert_int_equal(nvt_table_int(tables.items[0], 0, 4), 5);  /* DurNonChild */
        assert_int_equal(nvt_table_int(tables.items[0], 0, 9), 3);  /* NumChild */
        assert_int_equal(nvt_report_make(nvt_report_find("range_tree"), &input, &tree, &err), 0);
        assert_int_equal(nvt_table_int(tree.items[0], 0, 3), 5); /* Host Self */
        nvt_tables_free(&tables);
        nvt_tables_free(&tree);
        nvt_input_free(&input);
    }
}

static struct nvt_range unclosed(struct nvt_trace *trace, const char *name, int64_t start,
                                 int64_t end)
{
    struct nvt_range row = range(trace, name, start, end);
    row.flags = NVT_RANGE_UNCLOSED;
    return row;
}

/* A crash within "inner", which was the last thing on record: it lies in what was opened before it,
 * and what ended at that moment does not hold it. */
static void add_crash(struct nvt_trace *trace)
{
    add(trace, unclosed(trace, "outer", 0, 50));
    push(trace, "done", 10, 50);
    add(trace, unclosed(trace, "inner", 50, 50));
    struct nvt_range deepest = unclosed(trace, "deepest", 50, 50);
    deepest.domain = nvt_trace_domain(trace, 0, "lib");
    add(trace, deepest);
}

static void test_nesting_of_unclosed_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("a.nvt");
    add_crash(trace);
    expect_csv(trace, NULL, "nvtx_pushpop_trace",
               "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,"
               "NumChild,RangeId,ParentId,RangeStack,NameTree,Domain,Category,Color,Payload,"
               "Unfinished\n"
               "0,50,50,40,10,:outer,53,53,0,2,1,,:1,:outer,,,,,true\n"
               "10,50,40,0,40,:done,53,53,1,0,2,1,:1:2,--:done,,,,,\n"
               "50,50,0,0,0,:inner,53,53,1,1,3,1,:1:3,--:inner,,,,,true\n"
               "50,50,0,0,0,lib:deepest,53,53,2,0,4,3,:1:3:4,----lib:deepest,lib,,,,true\n",
               "");
    trace = new_trace("a.nvt");
    add_crash(trace);
    expect_csv(trace, NULL, "range_tree",
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
    struct nvt_trace *traces[2] = {new_trace("a.nvt"), new_trace("b.nvt")};
    struct nvt_range load = range(traces[0], "load", 0, 1000);
    struct nvt_range iteration = range(traces[0], "iteration", 0, 100);
    load.thread = 1;
    iteration.style = NVT_START_END;
    add(traces[0], load);
    add(traces[0], iteration);
    push(traces[0], "step", 0, 60);
    push(traces[0], "forward", 0, 30);
    push(traces[0], "save", 60, 100);
    push(traces[1], "step", 0, 100);
    expect_csv(traces[0], traces[1], "range_tree",
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
    struct nvt_trace *trace = new_trace("a.nvt");
    struct nvt_range other = unclosed(trace, "load", 5, 9);
    char name[16];
    other.thread = 1;
    add(trace, other);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        add(trace, unclosed(trace, name, i, 9));
    }
    struct nvt_input input = input_of(trace, NULL);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_note_unfinished(&input, &err), 0);
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
    struct nvt_trace *trace = new_trace("a.nvt");
    /* What could steer a terminal is not in it: CSI as one character, right to left, a line's end. */
    char name[260] = "x\xc2\x9b\xc2\x9b\xe2\x80\xae\n", expected[300];
    for (size_t used = strlen(name); used < 200; used += 2)
        snprintf(name + used, sizeof(name) - used, "ß");
    add(trace, unclosed(trace, name, 0, 9));
    struct nvt_input input = input_of(trace, NULL);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(nvt_note_unfinished(&input, &err), 0);
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
    struct nvt_trace *trace = new_trace("a.nvt");
    add_mark(trace, "lib", "loss", 40, "0.5");
    add_mark(trace, "", "saved", 20, NULL);
    add_mark(trace, "lib", "loss", 30, "-12");
    add_mark(trace, "lib", "loss", 50, "{\"a\":1}");
    add_mark(trace, "", "loss", 60, "7");
    expect_csv(trace, NULL, "nvtx_marks",
               "Domain,Name,Category,Count,First (ns),Last (ns),Payload Min,Payload Max\n"
               ",saved,,1,20,20,,\n"
               "lib,loss,io,3,30,50,-12,0.5\n"
               ",loss,,1,60,60,7,7\n",
               "");
    expect_csv(new_trace("a.nvt"), NULL, "nvtx_marks",
               "Domain,Name,Category,Count,First (ns),Last (ns),Payload Min,Payload Max\n",
               "note: no NVTX marks in the input\n");
}

/* Parents against the definition: the last one started of those that enclose the range. */
static void test_nesting_of_random_ranges(void **state)
{
    (void)state;
    kit_srand(3);
    for (int round = 0; round < 300; round++) {
        struct nvt_trace *trace = new_trace("random");
        for (int i = 0; i < 40; i++) {
            int64_t start = rand() % 50;
            struct nvt_range row = range(trace, "r", start, start + rand() % 30);
            row.thread = (uint32_t)rand() % 2;
            row.domain = nvt_trace_domain(trace, 0, rand() % 2 ? "a" : "b");
            row.style = rand() % 8 ? NVT_PUSH_POP : NVT_START_END;
            add(trace, row);
        }
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        uint32_t *parent = nvt_nest_threads(trace, &err);
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

#define CONFIGURATION "fragmented size=256 batch=8 fragments=2 mode=train"

/* What the workloads emit: warm-up, then iterations with the optimizer inside the backward. */
static void add_workload(struct nvt_trace *trace, const char *configuration, int64_t at)
{
    push_in(trace, "nvtally", configuration, at, at + 1000);
    push_in(trace, "nvtally", "warmup", at, at + 90);
    push_in(trace, "nvtally", "forward", at + 1, at + 80); /* not of the measurement */
    for (int64_t i = 0; i < 3; i++) {
        int64_t start = at + 100 * (i + 1);
        push_in(trace, "nvtally", "iteration", start, start + 99);
        struct nvt_range forward = range(trace, "forward", start + 1, start + 11 + i);
        forward.domain = nvt_trace_domain(trace, 0, "nvtally");
        forward.flags = NVT_RANGE_HAS_PAYLOAD;
        forward.payload =
            nvt_strings_add_text(trace->strings, "{\"flops\":220, \"bytes\" : 1.1e2}");
        add(trace, forward);
        push_in(trace, "user", "wrapper", start + 20, start + 98);
        push_in(trace, "nvtally", "backward", start + 20, start + 50);
        push_in(trace, "nvtally", "optimizer", start + 40, start + 45);
        push_in(trace, "nvtally", "fragment", start + 2, start + 3);
    }
}

static void test_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("a.nvt");
    add_workload(trace, CONFIGURATION, 0);
    push_in(trace, "nvtally", "forward", 2000, 2999); /* outside of any iteration */
    expect_csv(
        trace, NULL, "phases",
        "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
        "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
        "fragmented,size=256 batch=8 fragments=2 mode=train,forward,3,11.0,1.0,10,11.0,12,"
        "0.020000,,10.000,,ok,measured\n"
        "fragmented,size=256 batch=8 fragments=2 mode=train,backward,3,30.0,0.0,30,30.0,30,,,,"
        ",ok,measured\n"
        "fragmented,size=256 batch=8 fragments=2 "
        "mode=train,optimizer,3,5.0,0.0,5,5.0,5,,,,,ok,measured\n",
        "");
}

/* What else a workload times: directly within its iterations, and calls under one clock. */
static void test_other_phases(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("a.nvt");
    push_in(trace, "nvtally", "switchback dim=64 batch=128", 0, 1000);
    push_in(trace, "nvtally", "warmup", 1, 9);
    push_in(trace, "nvtally", "quantize", 2, 8);
    struct nvt_range loop = range(trace, "loop", 100, 300);
    loop.domain = nvt_trace_domain(trace, 0, "nvtally");
    loop.flags = NVT_RANGE_HAS_PAYLOAD;
    loop.payload = nvt_strings_add_text(trace->strings, "4");
    add(trace, loop);
    struct nvt_range all = range(trace, "quantize", 110, 290);
    all.domain = loop.domain;
    all.flags = NVT_RANGE_HAS_PAYLOAD;
    all.payload = nvt_strings_add_text(trace->strings, "{\"flops\":0,\"bytes\":360}");
    add(trace, all);
    push_in(trace, "nvtally", "part", 120, 130);
    push_in(trace, "user", "loop", 310, 320);
    push_in(trace, "user", "theirs", 312, 318);
    push_in(trace, "nvtally", "iteration", 400, 500);
    push_in(trace, "nvtally", "step", 410, 430);
    push_in(trace, "user", "note", 440, 450);
    push_in(trace, "nvtally", "iteration", 500, 600);
    push_in(trace, "nvtally", "step", 510, 550);
    expect_csv(trace, NULL, "phases",
               "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
               "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
               "switchback,dim=64 batch=128,quantize,4,45.0,,,,,,,2.000,,ok,measured\n"
               "switchback,dim=64 batch=128,step,2,30.0,14.1,20,30.0,40,,,,,ok,measured\n",
               "");
}

/* Two processes ran the same configuration: one row. */
static void test_phases_of_two_traces(void **state)
{
    (void)state;
    struct nvt_trace *first = new_trace("a.nvt"), *second = new_trace("b.nvt");
    add_workload(first, CONFIGURATION, 0);
    add_workload(second, CONFIGURATION, 50);
    add_workload(second, "linear size=64 batch=1", 5000);
    struct nvt_input input = input_of(first, second);
    struct nvt_tables tables = make_tables("phases", &input);
    const struct nvt_table *table = tables.items[0];
    assert_int_equal(nvt_table_rows(table), 6);
    assert_int_equal(nvt_table_int(table, 0, nvt_table_find(table, "n")), 6);
    assert_string_equal(nvt_table_text(table, 3, 0), "linear");
    assert_string_equal(nvt_table_text(table, 3, 1), "size=64 batch=1");
    assert_int_equal(nvt_table_int(table, 3, nvt_table_find(table, "n")), 3);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Somebody's own script: no iteration, a forward within the forward, one that never ended. */
static void test_phases_of_anybody(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("their run.nvt");
    push(trace, "forward", 0, 50);
    push(trace, "forward", 10, 20);
    push(trace, "backward", 60, 160);
    push(trace, "forward", 200, 270);
    struct nvt_range lost = range(trace, "backward", 300, 400);
    lost.flags = NVT_RANGE_UNCLOSED;
    add(trace, lost);
    expect_csv(trace, NULL, "phases",
               "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
               "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n"
               ",their run.nvt,forward,2,60.0,14.1,50,60.0,70,,,,,ok,measured\n"
               ",their run.nvt,backward,1,100.0,,100,100.0,100,,,,,ok,measured\n",
               "");
}

static void test_phases_of_none(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("a.nvt");
    push(trace, "iteration", 0, 100);
    push(trace, "forward", 200, 300);
    expect_csv(
        trace, NULL, "phases",
        "workload,configuration,phase,n,mean (ns),std (ns),min (ns),median (ns),"
        "max (ns),TFLOP/s,of the peak (%),GB/s,of a copy (%),status,source\n",
        "note: no range forward, backward or optimizer was found, or none within an iteration\n");
}

/* Broken payloads say nothing, and break nothing. */
static void test_strange_payloads(void **state)
{
    (void)state;
    const char *const payloads[] = {
        "{\"flops\"",        "{\"flops\":}",   "{\"flops\":nan}", "{\"flops\":-5}",
        "{\"flops\":1e999}", "\"flops\"  :  ", "flops:7",         "",
    };
    struct nvt_trace *trace = new_trace("a.nvt");
    for (size_t i = 0; i < NVT_COUNT_OF(payloads); i++) {
        struct nvt_range row = range(trace, "forward", (int64_t)i * 10, (int64_t)i * 10 + 10);
        row.flags = NVT_RANGE_HAS_PAYLOAD;
        row.payload = nvt_strings_add_text(trace->strings, payloads[i]);
        add(trace, row);
    }
    struct nvt_input input = input_of(trace, NULL);
    struct nvt_tables tables = make_tables("phases", &input);
    assert_int_equal(nvt_table_int(tables.items[0], 0, 3), NVT_COUNT_OF(payloads));
    assert_true(nvt_table_is_null(tables.items[0], 0, nvt_table_find(tables.items[0], "TFLOP/s")));
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

static void test_provenance(void **state)
{
    (void)state;
    struct nvt_trace *first = new_trace("a.nvt"), *second = new_trace("b.nvt");
    push(first, "step", 0, 1);
    nvt_trace_set_meta(first, "backend", "host");
    nvt_trace_set_meta(second, "backend", "host");
    nvt_trace_set_meta(first, "device", "CPU A");
    nvt_trace_set_meta(second, "device", "CPU B");
    nvt_trace_set_meta(second, "date", "2026-11-21");
    struct nvt_input input = input_of(first, second);
    struct nvt_tables tables = make_tables("nvtx_sum", &input);
    const struct nvt_provenance *from = nvt_table_provenance(tables.items[0]);
    assert_string_equal(from->backend, "host");
    assert_string_equal(from->device, "several");
    assert_string_equal(from->date, "date not stated for all");
    assert_null(from->condition);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Moments of one day have that day in common. */
static void test_provenance_of_a_day(void **state)
{
    (void)state;
    static const char *const dates[][2] = {
        {"2026-11-26T09:19:59Z", "2026-11-26"},
        {"2026-11-27T00:00:00Z", "several dates"},
        {"2026-11-26", "several dates"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(dates); i++) {
        struct nvt_trace *first = new_trace("a.nvt"), *second = new_trace("b.nvt");
        push(first, "step", 0, 1);
        nvt_trace_set_meta(first, "date", "2026-11-26T08:20:51Z");
        nvt_trace_set_meta(second, "date", dates[i][0]);
        struct nvt_input input = input_of(first, second);
        struct nvt_tables tables = make_tables("nvtx_sum", &input);
        assert_string_equal(nvt_table_provenance(tables.items[0])->date, dates[i][1]);
        nvt_tables_free(&tables);
        nvt_input_free(&input);
    }
}

/* A table of one trace has that one's facts, whatever else was read; a trace of a run directory has
 * those of its row. */
static void test_provenance_of_one(void **state)
{
    (void)state;
    static const char row[] = "{\"size\": 64, \"backend\": \"cuda\", \"device\": \"GPU C\", "
                              "\"date\": \"2026-11-22T10:00:00Z\"}";
    static const char env[] = "{\"date\": \"2026-11-22\", \"backend\": \"hip\", "
                              "\"condition\": \"warm\"}";
    struct nvt_record record = {0};
    struct nvt_runs *runs = nvt_runs_new("runs");
    assert_int_equal(nvt_record_parse(&record, row, strlen(row), &err), 0);
    assert_int_equal(nvt_runs_add(runs, &record), 0);
    assert_int_equal(nvt_record_parse(&runs->env, env, strlen(env), &err), 0);
    struct nvt_trace *first = new_trace("a.nvt"), *second = new_trace("b.nvt");
    nvt_trace_set_meta(first, "date", "2026-11-20");
    nvt_trace_set_meta(second, "backend", "host");
    struct nvt_input input = input_of(first, second);
    input.traces[1].runs = runs;
    assert_int_equal(nvt_input_take(&input, runs), 0);
    struct nvt_tables tables = make_tables("nvtx_pushpop_trace", &input);
    const struct nvt_provenance *from = nvt_table_provenance(tables.items[0]);
    assert_null(from->backend);
    assert_null(from->device);
    assert_string_equal(from->date, "2026-11-20");
    assert_null(from->condition);
    from = nvt_table_provenance(tables.items[1]);
    assert_string_equal(from->backend, "cuda");
    assert_string_equal(from->device, "GPU C");
    assert_string_equal(from->date, "2026-11-22T10:00:00Z");
    assert_string_equal(from->condition, "warm");
    nvt_tables_free(&tables);
    nvt_input_free(&input);
}

/* Every report is listed, has a line about it, and its table has the columns that it declares. */
static void test_registry(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(nvt_report_find(reports[i]->name), reports[i]);
        for (size_t k = 0; reports[i]->further && reports[i]->further[k]; k++)
            assert_null(nvt_report_find(reports[i]->further[k]));
        assert_true(strlen(reports[i]->about) > 10);
        if (reports[i]->needs & NVT_NEEDS_RUNS)
            continue;
        struct nvt_trace *trace = new_trace("a.nvt");
        push(trace, "forward", 0, 1);
        push(trace, "iteration", 2, 3); /* without, there is no curve of warming up, and no table */
        const struct nvt_op copy = {.start = 2,
                                    .end = 3,
                                    .kind = NVT_OP_MEMCPY,
                                    .detail = NVT_NONE,
                                    .name = nvt_strings_add_text(trace->strings, "copy")};
        nvt_op_add(trace, &copy); /* without, trees of ranges have no columns of devices */
        struct nvt_input input = input_of(trace, NULL);
        struct nvt_tables tables = make_tables(reports[i]->name, &input);
        size_t columns = 0;
        for (; reports[i]->columns[columns].heading; columns++)
            assert_string_equal(nvt_table_column(tables.items[0], columns)->heading,
                                reports[i]->columns[columns].heading);
        assert_int_equal(nvt_table_columns(tables.items[0]), columns);
        nvt_tables_free(&tables);
        nvt_input_free(&input);
    }
    assert_null(nvt_report_find("no_such_report"));
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
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_other_phases),
        cmocka_unit_test(test_phases_of_two_traces),
        cmocka_unit_test(test_phases_of_anybody),
        cmocka_unit_test(test_phases_of_none),
        cmocka_unit_test(test_strange_payloads),
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_provenance_of_a_day),
        cmocka_unit_test(test_provenance_of_one),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
