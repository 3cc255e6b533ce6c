/*
 * Reports about loops, launches and ranks over made-up traces, whose every number is worked out by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/iterations.h"
#include "../analyze/reports/report.h"
#include "made_trace.h"

static struct nvt_trace *new_trace(const char *path, uint32_t rank)
{
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    assert_non_null(trace);
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    trace->processes.rank[0] = rank;
    return trace;
}

/* A kernel, launched by a call of 5 ns at `call`. */
static void add_kernel(struct nvt_trace *trace, const char *name, uint32_t stream, int64_t call,
                       int64_t start, int64_t end)
{
    uint32_t text = nvt_strings_add_text(trace->strings, name);
    const struct nvt_api api = {
        .start = call, .end = call + 5, .correlation = trace->ops.count + 1};
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .stream = stream,
                              .correlation = trace->ops.count + 1,
                              .name = text,
                              .short_name = text,
                              .detail = NVT_NONE,
                              .kind = NVT_OP_KERNEL};
    assert_int_not_equal(nvt_api_add(trace, &api), NVT_NONE);
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
}

static void finish(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
}

/* The report over traces, which are freed, as CSV. */
static void expect(const char *name, struct nvt_trace **traces, size_t count, const char *text,
                   const char *note)
{
    char *noted = NULL, *out = make_report(name, traces, count, note ? &noted : NULL);
    assert_string_equal(out, text);
    if (note && !strstr(noted, note))
        fail_msg("%s", noted);
    free(noted);
    free(out);
    for (size_t i = 0; i < count; i++)
        nvt_trace_free(traces[i]);
}

/* --- launch_latency --- */

#define LAUNCH_HEADINGS                                                                            \
    "Device,PID,Stream,Operations,Starved,Starved (%),Launch Avg (ns),Launch Med (ns),"            \
    "Launch Min (ns),Launch Max (ns),Launch StdDev (ns),Queued,Queue Avg (ns),Queue Med (ns),"     \
    "Queue Min (ns),Queue Max (ns),Queue StdDev (ns),Avg Depth,Max Depth\n"

/*
 * Stream 7: a finds it empty, and starts 10 ns after its call began. b and c are launched while a
 * runs, and return 80 and 75 + 100 ns before what is before them ends (at 100 and at 200). d comes
 * after all, and starts before its call returns. Stream 8 has one that finds it empty.
 */
static void tells_queued_from_starved(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    add_kernel(trace, "a", 7, 0, 10, 100);
    add_kernel(trace, "b", 7, 15, 100, 200);
    add_kernel(trace, "c", 7, 20, 202, 300);
    add_kernel(trace, "d", 7, 400, 404, 500);
    add_kernel(trace, "e", 8, 30, 60, 70);
    finish(trace);
    expect("launch_latency", &trace, 1,
           LAUNCH_HEADINGS "(0),10,7,4,2,50.0,7.0,7.0,4,10,4.2,2,127.5,127.5,80,175,67.2,0.8,2\n"
                           "(0),10,8,1,1,100.0,30.0,30.0,30,30,0.0,0,,,,,,0.0,0\n",
           NULL);
}

static void without_calls_there_is_no_latency(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    add_kernel(trace, "a", 7, 0, 10, 100);
    trace->apis.correlation[0] = 99;
    finish(trace);
    expect("launch_latency", &trace, 1, LAUNCH_HEADINGS, "note: no device operations");
}

/* --- iterations --- */

/* One iteration from `start`: three layers of gemm and relu, then loss and update, 10 ns each with
 * 2 ns between them, the update on another stream. 8 kernels, 94 ns. `odd`: the loss has another
 * name. */
static void add_iteration(struct nvt_trace *trace, int64_t start, int odd)
{
    static const char *const names[] = {"gemm", "relu", "gemm", "relu",
                                        "gemm", "relu", "loss", "update"};
    for (int i = 0; i < 8; i++)
        add_kernel(trace, odd && i == 6 ? "check" : names[i], i == 7 ? 8 : 7, start - 50 + i,
                   start + 12 * i, start + 12 * i + 10);
}

/*
 * Two kernels of a start-up, then six iterations 200 ns apart (the fourth one 250), then one that
 * is cut off after five kernels. The loop could begin anywhere; it begins behind the pause.
 */
static void finds_the_loop_behind_its_pause(void **state)
{
    (void)state;
    static const int64_t starts[] = {1000, 1200, 1400, 1600, 1850, 2050};
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    add_kernel(trace, "fill", 7, 100, 200, 300);
    add_kernel(trace, "fill", 7, 110, 300, 400);
    for (int i = 0; i < 6; i++)
        add_iteration(trace, starts[i], 0);
    add_kernel(trace, "gemm", 7, 2200, 2250, 2260);
    add_kernel(trace, "relu", 7, 2201, 2262, 2272);
    add_kernel(trace, "gemm", 7, 2202, 2274, 2284);
    finish(trace);
    expect(
        "iterations", &trace, 1,
        "Device,PID,Iterations,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Med Operations,"
        "Med Busy (%),Match (%),Ops Before,Ops Behind,First Operation\n"
        "(0),10,6,208.3,200.0,200,250,20.4,8.0,40.0,100.0,2,3,gemm\n"
        "\n"
        "Device,PID,Iteration,Start (ns),Duration (ns),Busy (ns),Idle (ns),Operations,Match (%)\n"
        "(0),10,1,1000,200,80,120,8,\n"
        "(0),10,2,1200,200,80,120,8,100.0\n"
        "(0),10,3,1400,200,80,120,8,100.0\n"
        "(0),10,4,1600,250,80,170,8,100.0\n"
        "(0),10,5,1850,200,80,120,8,100.0\n"
        "(0),10,6,2050,200,80,120,8,100.0\n",
        NULL);
}

/* An iteration that differs in one operation of eight is one all the same. */
static void an_odd_one_is_an_iteration(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_used_devices devices = {0};
    struct nvt_iterations found = {0};
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    for (int i = 0; i < 20; i++)
        add_iteration(trace, 1000 + 200 * i, i == 12);
    finish(trace);
    assert_int_equal(nvt_used_devices_make(&devices, trace, &err), 0);
    assert_int_equal(nvt_iterations_find(&found, trace, &devices.items[0]), 0);
    assert_int_equal(found.count, 20);
    assert_int_equal(found.before, 0);
    assert_int_equal(found.behind, 0);
    assert_true(found.items[11].match > 0.99);
    assert_true(found.items[12].match > 0.874 && found.items[12].match < 0.876);
    assert_int_equal(found.items[19].period, 94);
    assert_int_equal(found.items[19].busy, 80);
    assert_int_equal(found.periods, 19);
    nvt_iterations_free(&found);
    nvt_used_devices_free(&devices);
    nvt_trace_free(trace);
}

#define ITERATION_HEADINGS                                                                         \
    "Device,PID,Iterations,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Med Operations,"        \
    "Med Busy (%),Match (%),Ops Before,Ops Behind,First Operation\n"
#define EACH_ITERATION_HEADINGS                                                                    \
    "\nDevice,PID,Iteration,Start (ns),Duration (ns),Busy (ns),Idle (ns),Operations,Match (%)\n"

/*
 * Five iterations 200 ns apart, which begin with an operation of 260 ns: the device is never idle,
 * and an iteration not busy for longer than it takes.
 */
static void a_period_is_busy_for_its_length_at_most(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    for (int i = 0; i < 5; i++) {
        int64_t start = 1000 + 200 * i;
        add_kernel(trace, "gemm", 7, start - 50, start, start + 10);
        add_kernel(trace, "relu", 7, start - 49, start + 10, start + 16);
        add_kernel(trace, "copy", 8, start - 48, start + 70, start + 330);
    }
    finish(trace);
    expect("iterations", &trace, 1,
           ITERATION_HEADINGS
           "(0),10,4,200.0,200.0,200,200,0.0,3.0,100.0,100.0,2,1,copy\n" EACH_ITERATION_HEADINGS
           "(0),10,1,1070,200,200,0,3,\n"
           "(0),10,2,1270,200,200,0,3,100.0\n"
           "(0),10,3,1470,200,200,0,3,100.0\n"
           "(0),10,4,1670,200,200,0,3,100.0\n",
           NULL);
}

/*
 * Five iterations 200 ns apart, and one that is cut off: each launches a copy as its second, which runs ahead of the first
 * on another stream. The last of the five is as long as the others.
 */
static void the_last_period_is_to_the_first_start(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    for (int i = 0; i < 6; i++) {
        int64_t start = 1000 + 200 * i;
        add_kernel(trace, "gemm", 7, start - 50, start + 30, start + 40);
        add_kernel(trace, i < 5 ? "copy" : "last copy", 8, start - 49, start, start + 10);
        if (i < 5)
            add_kernel(trace, "relu", 7, start - 48, start + 50, start + 60);
    }
    finish(trace);
    expect("iterations", &trace, 1,
           ITERATION_HEADINGS
           "(0),10,5,200.0,200.0,200,200,0.0,3.0,15.0,100.0,0,2,gemm\n" EACH_ITERATION_HEADINGS
           "(0),10,1,1000,200,30,170,3,\n"
           "(0),10,2,1200,200,30,170,3,100.0\n"
           "(0),10,3,1400,200,30,170,3,100.0\n"
           "(0),10,4,1600,200,30,170,3,100.0\n"
           "(0),10,5,1800,200,30,170,3,100.0\n",
           NULL);
}

/* Nothing follows the last iteration, which works for 94 ns: that is no period. */
static void a_last_iteration_has_no_period(void **state)
{
    (void)state;
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    add_kernel(trace, "update", 8, 800, 900, 910);
    for (int i = 0; i < 5; i++)
        add_iteration(trace, 1000 + 200 * i, 0);
    finish(trace);
    expect(
        "iterations", &trace, 1,
        ITERATION_HEADINGS
        "(0),10,5,200.0,200.0,200,200,0.0,8.0,40.0,100.0,1,0,gemm\n" EACH_ITERATION_HEADINGS
        "(0),10,1,1000,200,80,120,8,\n"
        "(0),10,2,1200,200,80,120,8,100.0\n"
        "(0),10,3,1400,200,80,120,8,100.0\n"
        "(0),10,4,1600,200,80,120,8,100.0\n"
        "(0),10,5,1800,,80,,8,100.0\n",
        "note: nothing follows the last iteration, so it has no period and its time is left out");
}

static void no_loop_is_seen_where_none_is(void **state)
{
    (void)state;
    uint64_t random = 7;
    char name[8];
    struct nvt_trace *trace = new_trace("t", NVT_NONE);
    for (int i = 0; i < 2000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        snprintf(name, sizeof(name), "k%u", (unsigned)(random >> 60));
        add_kernel(trace, name, 7, 10 * i, 10 * i + 5, 10 * i + 9);
    }
    finish(trace);
    expect("iterations", &trace, 1,
           "Device,PID,Iterations,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Med Operations,"
           "Med Busy (%),Match (%),Ops Before,Ops Behind,First Operation\n",
           "note: no GPU work in the input repeats");
}

/* --- stragglers --- */

/*
 * Three ranks, three collectives and messages that all send. All leave a collective at the same time; rank 2 comes
 * last to the first two and rank 0 to the third. Clocks differ: rank 1's runs a second ahead.
 */
static struct nvt_trace *make_rank(uint32_t rank)
{
    static const int64_t reduce[3][3] = {{100, 90, 30}, {40, 50, 10}, {20, 70, 80}};
    static const char *const paths[] = {"/x/rank0.nvt", "/x/rank1.nvt", "/x/rank2.nvt"};
    struct nvt_trace *trace = new_trace(paths[rank], rank);
    int64_t origin = rank == 1 ? 1000000000 : 0, end = origin;
    for (int i = 0; i < 3; i++) {
        int64_t leave = origin + 1000 * (i + 1), enter = leave - reduce[i][rank];
        add_kernel(trace, "gemm", 7, end, end + 100, enter);
        add_kernel(trace, i < 2 ? "ncclDevKernel_AllReduce" : "ncclDevKernel_AllGather", 8,
                   enter - 20, enter, leave);
        end = leave;
    }
    add_kernel(trace, "ncclDevKernel_SendRecv", 8, end, end + 10, end + 900);
    finish(trace);
    return trace;
}

#define STRAGGLER_HEADINGS                                                                         \
    "Rank,File,PID,Device,Span (ns),Compute (ns),Compute To Median (%),Collectives,Came Last,"     \
    "Came Last (%),Waited (ns),Waited (%)\n"

/*
 * Waited: rank 0 70 + 30 + 0, rank 1 60 + 40 + 50, rank 2 0 + 0 + 60. Compute: 3000 - 3 × 100 less
 * the time in collectives: 2540, 2490, 2580. Span: from 100 to 3900.
 */
static void names_the_rank_that_came_last(void **state)
{
    (void)state;
    struct nvt_trace *traces[] = {make_rank(1), make_rank(0), make_rank(2)};
    expect("stragglers", traces, 3,
           STRAGGLER_HEADINGS
           "0,rank0.nvt,10,(0),3800,2540,0.0,4,1,25.0,100,2.6\n"
           "1,rank1.nvt,10,(0),3800,2490,-2.0,4,0,0.0,150,3.9\n"
           "2,rank2.nvt,10,(0),3800,2580,1.6,4,2,50.0,60,1.6\n"
           "\n"
           "Collective,Group,Number,Longest Wait (ns),All Waits (ns),Last Rank,First Rank\n"
           "ncclDevKernel_AllReduce,all ranks,1,70,130,2,0\n"
           "ncclDevKernel_AllGather,all ranks,1,60,110,0,2\n"
           "ncclDevKernel_AllReduce,all ranks,2,40,70,2,1\n"
           "\n"
           "Late Rank,Cause,Ranks Waiting,All Waits (ns),Longest Of A Rank (ns),"
           "Longest Of A Rank (%)\n"
           "2,its kernels take longer,2,200,100,2.6\n"
           "0,its kernels take longer,2,110,60,1.6\n"
           "\n"
           "Group,Ranks,Collectives,Waited (ns),Transfer (ns),Bus Med (GB/s)\n"
           "all ranks,3,3,310,60,\n"
           "messages of all ranks,3,1,0,890,\n",
           NULL);
}

/*
 * Two ranks; rank 0 was recorded from one collective earlier on. Rank 1 works for 40 ns longer and
 * comes last to each; they leave at 1000 i + `late` of it. Of the first nothing is known before it.
 */
static struct nvt_trace *make_uneven(uint32_t rank, const int64_t *late)
{
    struct nvt_trace *trace = new_trace(rank ? "/x/rank1.nvt" : "/x/rank0.nvt", rank);
    for (int i = (int)rank; i < 5; i++) {
        int64_t leave = 1000 * (i + 1) + late[i];
        add_kernel(trace, "ncclDevKernel_AllReduce", 8, leave - 200, leave - (rank ? 10 : 50),
                   leave);
    }
    finish(trace);
    return trace;
}

static void uneven_ranks_are_paired_by_gaps(void **state)
{
    (void)state;
    static const int64_t late[] = {0, 30, 10, 70, 40};
    struct nvt_trace *traces[] = {make_uneven(0, late), make_uneven(1, late)};
    expect("stragglers", traces, 2,
           STRAGGLER_HEADINGS "0,rank0.nvt,10,(0),4090,0,,4,0,0.0,160,3.9\n"
                              "1,rank1.nvt,10,(0),3020,0,,4,4,100.0,0,0.0\n"
                              "\n"
                              "Collective,Group,Number,Longest Wait (ns),All Waits (ns),Last Rank,"
                              "First Rank\n"
                              "ncclDevKernel_AllReduce,all ranks,1,40,40,1,0\n"
                              "ncclDevKernel_AllReduce,all ranks,2,40,40,1,0\n"
                              "ncclDevKernel_AllReduce,all ranks,3,40,40,1,0\n"
                              "ncclDevKernel_AllReduce,all ranks,4,40,40,1,0\n"
                              "\n"
                              "Late Rank,Cause,Ranks Waiting,All Waits (ns),"
                              "Longest Of A Rank (ns),Longest Of A Rank (%)\n"
                              "1,its host launches late,1,120,120,2.9\n"
                              "1,unknown,1,40,40,1.0\n"
                              "\n"
                              "Group,Ranks,Collectives,Waited (ns),Transfer (ns),Bus Med (GB/s)\n"
                              "all ranks,2,4,160,40,\n",
           "note: ranks have 4 to 5 of ncclDevKernel_AllReduce: paired by the gaps between them\n");
}

/* With all gaps alike, nobody knows which of them belong together. */
static void what_cannot_be_paired_is_left_out(void **state)
{
    (void)state;
    static const int64_t late[5] = {0};
    struct nvt_trace *traces[] = {make_uneven(0, late), make_uneven(1, late)};
    expect("stragglers", traces, 2,
           STRAGGLER_HEADINGS "0,rank0.nvt,10,(0),4050,0,,0,,,,\n"
                              "1,rank1.nvt,10,(0),3010,0,,0,,,,\n"
                              "\n"
                              "Collective,Group,Number,Longest Wait (ns),All Waits (ns),Last Rank,"
                              "First Rank\n",
           "note: ranks have 4 to 5 of ncclDevKernel_AllReduce: left out\n");
}

static void one_rank_waits_for_nobody(void **state)
{
    (void)state;
    struct nvt_trace *trace = make_rank(0);
    expect("stragglers", &trace, 1,
           STRAGGLER_HEADINGS "0,rank0.nvt,10,(0),3800,2540,0.0,4,0,0.0,0,0.0\n",
           "note: no collectives of two or more ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_queued_from_starved),
        cmocka_unit_test(without_calls_there_is_no_latency),
        cmocka_unit_test(finds_the_loop_behind_its_pause),
        cmocka_unit_test(an_odd_one_is_an_iteration),
        cmocka_unit_test(a_period_is_busy_for_its_length_at_most),
        cmocka_unit_test(the_last_period_is_to_the_first_start),
        cmocka_unit_test(a_last_iteration_has_no_period),
        cmocka_unit_test(no_loop_is_seen_where_none_is),
        cmocka_unit_test(names_the_rank_that_came_last),
        cmocka_unit_test(uneven_ranks_are_paired_by_gaps),
        cmocka_unit_test(what_cannot_be_paired_is_left_out),
        cmocka_unit_test(one_rank_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
