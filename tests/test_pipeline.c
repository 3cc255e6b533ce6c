/*
 * The report `pipeline`: a made-up schedule whose shares can be read off, on one trace and on two ranks with clocks
 * that differ, and on devices.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../analyze/studies/pipeline.h"
#include "../lib/count_of.h"

#define CONFIGURATION "gpipe partitions=2 microbatches=2"

static uint32_t thread_of(struct nvt_trace *trace, int64_t tid)
{
    return nvt_trace_thread(trace, nvt_trace_process(trace, 1), tid);
}

static void add_range(struct nvt_trace *trace, int64_t tid, const char *name, int64_t start,
                      int64_t end, const char *payload)
{
    uint32_t thread = thread_of(trace, tid);
    const struct nvt_range range = {
        .start = start,
        .end = end,
        .thread = thread,
        .end_thread = thread,
        .domain = nvt_trace_domain(trace, trace->threads.process[thread], "nvtally"),
        .name = nvt_strings_add_text(trace->strings, name),
        .payload = payload ? nvt_strings_add_text(trace->strings, payload) : 0,
        .style = NVT_PUSH_POP,
        .flags = payload ? NVT_RANGE_HAS_PAYLOAD : 0};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
}

static void add_mark(struct nvt_trace *trace, int64_t tid, const char *name, int64_t time,
                     const char *payload)
{
    uint32_t thread = thread_of(trace, tid);
    const struct nvt_mark mark = {
        .time = time,
        .thread = thread,
        .domain = nvt_trace_domain(trace, trace->threads.process[thread], "nvtally"),
        .name = nvt_strings_add_text(trace->strings, name),
        .payload = nvt_strings_add_text(trace->strings, payload)};
    assert_int_not_equal(nvt_mark_add(trace, &mark), NVT_NONE);
}

static struct nvt_trace *begin(void)
{
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    assert_non_null(trace);
    /* A warm-up, which counts for nothing, and one iteration with a step of a hundred. */
    add_range(trace, 1, CONFIGURATION, 0, 1000, NULL);
    add_range(trace, 1, "warmup", 10, 90, "0");
    add_range(trace, 2, "forward p0", 20, 80, "0");
    add_range(trace, 1, "iteration", 95, 300, "0");
    add_range(trace, 1, "step", 100, 200, NULL);
    add_range(trace, 1, "backward", 140, 200, NULL);
    return trace;
}

static void finish(struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
}

static void put_first(struct nvt_trace *trace)
{
    add_range(trace, 2, "forward p0", 100, 110, "0");
    add_range(trace, 2, "forward p0", 110, 120, "1");
    add_range(trace, 2, "wait p0", 120, 160, "1");
    add_range(trace, 2, "backward p0", 160, 190, "1");
    add_range(trace, 2, "recompute p0", 160, 170, "1");
    add_mark(
        trace, 2, "memory p0", 112,
        "{\"allocated\":5,\"reserved\":8,\"peak_allocated\":7,\"peak_reserved\":8,\"microbatch\":0,"
        "\"is_backward\":0}");
}

static void put_second(struct nvt_trace *trace, int64_t later)
{
    add_range(trace, 3, "wait p1", 100 + later, 110 + later, "0");
    add_range(trace, 3, "forward p1", 110 + later, 130 + later, "0");
    add_range(trace, 3, "backward p1", 130 + later, 150 + later, "0");
    /* No span of a pipeline, for all its name. */
    add_range(trace, 3, "forward px", 150 + later, 190 + later, "0");
    add_range(trace, 3, "forward", 150 + later, 190 + later, "0");
}

static void check(struct nvt_input *input)
{
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_pipeline_views_make(&views, input, &err), 0);
    assert_int_equal(views.count, 1);
    const struct nvt_pipeline_view *view = &views.items[0];
    assert_int_equal(view->partitions, 2);
    assert_int_equal(view->step_count, 1);
    assert_int_equal(nvt_pipeline_span_of_steps(view), 100);
    assert_int_equal(view->steps[0].backward_start, 130); /* of partition 1 */
    assert_int_equal(view->span_count, 8);
    assert_int_equal(view->has_workers, 1);
    assert_int_equal(nvt_pipeline_time(view, 0, -1), 50);
    assert_int_equal(nvt_pipeline_time(view, 0, NVT_PIPE_WAIT), 40);
    assert_int_equal(nvt_pipeline_time(view, 0, NVT_PIPE_RECOMPUTE), 10);
    assert_int_equal(nvt_pipeline_time(view, 1, -1), 40);
    assert_int_equal(nvt_pipeline_time(view, 1, NVT_PIPE_WAIT), 10);
    assert_int_equal(view->level_count, 1);
    assert_true(view->levels[0].peak_allocated == 7 && view->levels[0].allocated == 5);
    assert_int_equal(view->levels[0].start, 100); /* of the first forward */
    assert_int_equal(view->levels[0].time, 110);
    assert_true(nvt_pipeline_level_before(view, 0, 0) == 5);
    assert_true(isnan(nvt_pipeline_level_before(view, 0, 1)));
    /* Sorted, and on one clock. */
    for (size_t i = 1; i < view->span_count; i++)
        assert_true(view->spans[i - 1].start <= view->spans[i].start);
    assert_int_equal(view->spans[0].start, 100);
    nvt_pipeline_views_free(&views);
}

static void shares_of_one_trace(void **state)
{
    struct nvt_trace *trace = begin();
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    (void)state;
    put_first(trace);
    put_second(trace, 0);
    finish(trace);
    check(&input);
    nvt_trace_free(trace);
}

/* The first rank's trace: its axis begins at 10000000 of its clock. */
static struct nvt_trace *rank0(void)
{
    struct nvt_trace *trace = begin();
    put_first(trace);
    add_mark(trace, 1, "clock offset", 50,
             "{\"rank\":0,\"ranks\":2,\"offset_ns\":0,\"error_ns\":0,\"time_ns\":10000050}");
    finish(trace);
    return trace;
}

/* The second rank's: what is at 0 for the first one is at 300000 of its axis, and its clock is 5000 ahead of rank 0's. */
static struct nvt_trace *rank1(void)
{
    const int64_t later = 300000;
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    char clock[200];
    snprintf(clock, sizeof(clock),
             "{\"rank\":1,\"ranks\":2,\"offset_ns\":-5000,\"error_ns\":1,\"time_ns\":%" PRId64 "}",
             7 - later + 10000000 + 5000);
    add_range(trace, 1, CONFIGURATION, later + 1, later + 400, NULL);
    add_mark(trace, 1, "clock offset", 7, clock);
    add_range(trace, 1, "iteration", 95 + later, 300 + later, "0");
    add_range(trace, 1, "step", 100 + later, 200 + later, NULL);
    put_second(trace, later);
    finish(trace);
    return trace;
}

static void ranks_lie_on_one_clock(void **state)
{
    struct nvt_trace *first = rank0(), *second = rank1();
    struct nvt_runs runs = {0};
    struct nvt_record record = {0};
    runs.records = &record;
    runs.count = 1;
    struct nvt_input_trace traces[] = {{.trace = first, .runs = &runs},
                                       {.trace = second, .runs = &runs}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    (void)state;
    check(&input);
    nvt_trace_free(first);
    nvt_trace_free(second);
}

/* Of themselves they say that they are ranks of one; a rank that is there twice is another run's. */
static void ranks_find_each_other(void **state)
{
    struct nvt_trace *first = rank0(), *second = rank1(), *again = rank1();
    struct nvt_input_trace traces[] = {{.trace = first}, {.trace = second}, {.trace = again}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    check(&input);
    input.trace_count = 3;
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 2);
    assert_string_equal(views.items[0].configuration, "partitions=2 microbatches=2");
    assert_int_equal(views.items[0].ranks_here, 2);
    assert_int_equal(views.items[1].ranks, 2);
    assert_int_equal(views.items[1].ranks_here, 1);
    assert_false(nvt_pipeline_has(&views.items[1], 0));
    assert_true(nvt_pipeline_has(&views.items[1], 1));
    nvt_pipeline_views_free(&views);
    /* The table leaves out what is not known, of the mean too. */
    struct nvt_tables tables = {0};
    input.traces = &traces[2];
    input.trace_count = 1;
    assert_int_equal(nvt_report_make(nvt_report_find("pipeline"), &input, &tables, &err), 0);
    assert_int_equal(nvt_table_rows(tables.items[0]), 2);
    assert_string_equal(nvt_table_text(tables.items[0], 0, 1), "1");
    assert_true(nvt_table_real(tables.items[0], 0, 4) == nvt_table_real(tables.items[0], 1, 4));
    assert_non_null(strstr((const char *)input.notes.data, "traces of 1 of 2 ranks"));
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(first);
    nvt_trace_free(second);
    nvt_trace_free(again);
}

/* A rank beyond the ranks, by the part of one that no rank is: it is of none. */
static void a_rank_is_one_of_the_ranks(void **state)
{
    struct nvt_trace *traces[2];
    struct nvt_input_trace items[2] = {{0}};
    struct nvt_input input = {.traces = items, .trace_count = 2};
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    for (int i = 0; i < 2; i++) {
        items[i].trace = traces[i] = begin();
        put_first(traces[i]);
        add_mark(traces[i], 1, "clock offset", 50,
                 "{\"rank\":2.2,\"ranks\":2.5,\"offset_ns\":0,\"error_ns\":0,\"time_ns\":1}");
        finish(traces[i]);
    }
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 2);
    assert_int_equal(views.items[0].ranks, 1);
    nvt_pipeline_views_free(&views);
    nvt_trace_free(traces[0]);
    nvt_trace_free(traces[1]);
}

/* --- steps of ranks ------------------------------------------------------------------------------------- */

/* An iteration's step from `start` to `end` of rank 0, which works in its first twenty and its last thirty; of rank 1, which
 * is in it early and waits, works for forty from `work` on, and may leave late. */
static void step_of_rank0(struct nvt_trace *trace, int64_t start, int64_t end)
{
    add_range(trace, 1, "iteration", start, end, "0");
    add_range(trace, 1, "step", start, end, NULL);
    add_range(trace, 1, "forward p0", start, start + 20, "0");
    add_range(trace, 1, "wait p0", start + 20, end - 30, "0");
    add_range(trace, 1, "backward p0", end - 30, end, "0");
}

static void step_of_rank1(struct nvt_trace *trace, int64_t start, int64_t work, int64_t end)
{
    add_range(trace, 1, "iteration", start, end, "0");
    add_range(trace, 1, "step", start, end, NULL);
    add_range(trace, 1, "wait p1", start, work, "0");
    if (work == end)
        return;
    add_range(trace, 1, "forward p1", work, work + 20, "0");
    add_range(trace, 1, "backward p1", work + 20, work + 40, "0");
}

static struct nvt_trace *begin_rank(int rank)
{
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    char clock[120];
    snprintf(clock, sizeof(clock),
             "{\"rank\":%d,\"ranks\":2,\"offset_ns\":0,\"error_ns\":0,\"time_ns\":7}", rank);
    add_range(trace, 1, CONFIGURATION, 0, 10000, NULL);
    add_mark(trace, 1, "clock offset", 7, clock);
    return trace;
}

/* A view of both, in either order. */
static struct nvt_pipeline_views views_of(struct nvt_trace *first, struct nvt_trace *second)
{
    struct nvt_input_trace traces[] = {{.trace = first}, {.trace = second}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 1);
    assert_int_equal(views.items[0].ranks_here, 2);
    return views;
}

/* Who is done goes on to the next step and waits there: that makes the step of the others no longer, and steps that overlap
 * even so count once. */
static void steps_of_ranks_overlap(void **state)
{
    struct nvt_trace *ranks[] = {begin_rank(0), begin_rank(1)};
    (void)state;
    for (int64_t step = 0; step < 3; step++) {
        step_of_rank0(ranks[0], 1000 + step * 110, 1100 + step * 110);
        /* It enters the second one early, and leaves it when the third has begun. */
        static const int64_t enters[] = {1000, 1075, 1226}, leaves[] = {1070, 1225, 1290};
        step_of_rank1(ranks[1], enters[step], 1020 + step * 110, leaves[step]);
    }
    finish(ranks[0]);
    finish(ranks[1]);
    for (int first = 0; first < 2; first++) {
        struct nvt_pipeline_views views = views_of(ranks[first], ranks[!first]);
        const struct nvt_pipeline_view *view = &views.items[0];
        assert_int_equal(view->step_count, 3);
        for (int step = 0; step < 3; step++)
            assert_int_equal(view->steps[step].start, 1000 + step * 110);
        assert_int_equal(view->steps[0].end, 1100);
        assert_int_equal(view->steps[1].end, 1225);
        assert_int_equal(nvt_pipeline_span_of_steps(view), 100 + 210); /* and not 315 */
        assert_int_equal(nvt_pipeline_time(view, 0, -1), 3 * 50);
        assert_int_equal(nvt_pipeline_time(view, 1, -1), 3 * 40);
        assert_int_equal(nvt_pipeline_time(view, 1, NVT_PIPE_WAIT), 20 + 20 + 14);
        for (size_t i = 0; i < view->span_count; i++)
            assert_true(view->spans[i].start >= view->steps[view->spans[i].step].start);
        nvt_pipeline_views_free(&views);
    }
    nvt_trace_free(ranks[0]);
    nvt_trace_free(ranks[1]);
}

/* Of a killed run: rank 1 knows a step more than rank 0, and waits for one that nobody begins. */
static void ranks_may_know_of_more_steps(void **state)
{
    struct nvt_trace *ranks[] = {begin_rank(0), begin_rank(1)};
    (void)state;
    step_of_rank0(ranks[0], 1000, 1100);
    step_of_rank1(ranks[1], 1000, 1020, 1070);
    step_of_rank1(ranks[1], 1075, 1130, 1180);
    step_of_rank1(ranks[1], 1190, 1500, 1500);
    finish(ranks[0]);
    finish(ranks[1]);
    for (int first = 0; first < 2; first++) {
        struct nvt_pipeline_views views = views_of(ranks[first], ranks[!first]);
        const struct nvt_pipeline_view *view = &views.items[0];
        assert_int_equal(view->step_count, 2);
        assert_int_equal(nvt_pipeline_span_of_steps(view), 100 + 50);
        for (size_t i = 0; i < view->span_count; i++)
            assert_in_range(view->spans[i].step, 0, 1);
        nvt_pipeline_views_free(&views);
    }
    nvt_trace_free(ranks[0]);
    nvt_trace_free(ranks[1]);
}

/* --- devices -------------------------------------------------------------------------------------------- */

/* An operation of a stream, by a call at that time of the thread that ranges are of. */
static void add_op_of(struct nvt_trace *trace, uint32_t device, int64_t launch, const char *name,
                      int64_t start, int64_t end)
{
    const uint32_t thread = thread_of(trace, 1);
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .process = trace->threads.process[thread],
                              .thread = thread,
                              .launch = launch,
                              .device = device,
                              .kind = NVT_OP_KERNEL,
                              .name = nvt_strings_add_text(trace->strings, name),
                              .short_name = nvt_strings_add_text(trace->strings, name),
                              .detail = NVT_NONE};
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
}

static void add_op(struct nvt_trace *trace, int64_t launch, const char *name, int64_t start,
                   int64_t end)
{
    add_op_of(trace, 0, launch, name, start, end);
}

static struct nvt_pipeline_views views_of_one(struct nvt_trace *trace)
{
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 1);
    assert_true(views.items[0].on_device);
    return views;
}

/* A step from 1000 to 2000 of a partition that is launched at once, within the first hundred. */
static struct nvt_trace *begin_on_device(void)
{
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    add_range(trace, 1, CONFIGURATION, 0, 10000, NULL);
    add_range(trace, 1, "iteration", 1000, 2000, "0");
    add_range(trace, 1, "step", 1000, 2000, NULL);
    return trace;
}

/* A message to a neighbour that is late is launched in a forward: the forward is no longer for it, and what of it lies
 * beside work is waiting. */
static void messages_are_not_work(void **state)
{
    struct nvt_trace *trace = begin_on_device();
    (void)state;
    add_range(trace, 1, "forward p0", 1010, 1020, "0");
    add_range(trace, 1, "forward p0", 1030, 1040, "1");
    add_op(trace, 1011, "gemm", 1100, 1200);
    add_op(trace, 1012, "ncclDevKernel_SendRecv", 1200, 1500);
    add_op(trace, 1031, "gemm", 1200, 1300);
    add_op(trace, 1032, "ncclDevKernel_SendRecv", 1500, 1550);
    finish(trace);
    struct nvt_pipeline_views views = views_of_one(trace);
    const struct nvt_pipeline_view *view = &views.items[0];
    assert_int_equal(nvt_pipeline_time(view, 0, -1), 200);
    assert_int_equal(nvt_pipeline_operations(view, 0), 200);
    assert_int_equal(nvt_pipeline_time(view, 0, NVT_PIPE_WAIT), 250);
    assert_int_equal(view->span_count, 4);
    for (size_t i = 0; i < view->span_count; i++)
        if (view->spans[i].kind == NVT_PIPE_FORWARD)
            assert_int_equal(view->spans[i].end - view->spans[i].start, 100);
    nvt_pipeline_views_free(&views);
    nvt_trace_free(trace);
}

/* One process, three partitions on two devices; a fourth is on both, as none of ours is. */
static void partitions_are_on_devices(void **state)
{
    static const uint32_t devices[] = {3, 5, 3};
    struct nvt_trace *trace = begin_on_device();
    char name[32];
    (void)state;
    for (int p = 0; p < 4; p++) {
        snprintf(name, sizeof(name), "forward p%d", p);
        for (int i = 0; i < 2; i++) {
            int64_t at = 1010 + 20 * p + 100 * i;
            add_range(trace, 1, name, at, at + 10, i ? "1" : "0");
            add_op_of(trace, p < 3 ? devices[p] : (uint32_t)i, at + 1, "gemm", at + 400, at + 410);
        }
    }
    finish(trace);
    struct nvt_pipeline_views views = views_of_one(trace);
    static const int expected[] = {3, 5, 3, -1}, shares[] = {0, 0, 1, 0};
    for (int p = 0; p < 4; p++) {
        assert_int_equal(nvt_pipeline_device_of(&views.items[0], p), expected[p]);
        assert_int_equal(nvt_pipeline_shares(&views.items[0], p), shares[p]);
    }
    nvt_pipeline_views_free(&views);
    nvt_trace_free(trace);
}

/* The host waits for nothing. Partition 0 has nothing to do between its forwards and its backward, partition 1 before its
 * first forward and, as the message comes late, before its second one. */
static void devices_wait_between_work(void **state)
{
    struct nvt_trace *trace = begin_on_device();
    (void)state;
    static const struct {
        const char *wait, *work, *microbatch;
        int64_t start, end;
    } launched[] = {{NULL, "forward p0", "0", 1100, 1200},
                    {"wait p1", "forward p1", "0", 1210, 1300},
                    {NULL, "forward p0", "1", 1200, 1400},
                    {"wait p1", "forward p1", "1", 1420, 1500},
                    {NULL, "backward p1", "1", 1500, 1600},
                    {"wait p0", "backward p0", "1", 1650, 1700},
                    /* Comes before it is needed. */
                    {NULL, "backward p1", "0", 1610, 1640},
                    {"wait p0", "backward p0", "0", 1700, 1800}};
    for (size_t i = 0; i < NVT_COUNT_OF(launched); i++) {
        const int64_t at = 1000 + 10 * (int64_t)i;
        if (launched[i].wait)
            add_range(trace, 1, launched[i].wait, at + 1, at + 2, launched[i].microbatch);
        add_range(trace, 1, launched[i].work, at + 3, at + 6, launched[i].microbatch);
        add_op(trace, at + 4, "gemm", launched[i].start, launched[i].end);
    }
    finish(trace);
    struct nvt_pipeline_views views = views_of_one(trace);
    const struct nvt_pipeline_view *view = &views.items[0];
    assert_int_equal(nvt_pipeline_time(view, 0, -1), 450);
    assert_int_equal(nvt_pipeline_time(view, 0, NVT_PIPE_WAIT), 1650 - 1400);
    assert_int_equal(nvt_pipeline_time(view, 1, -1), 300);
    assert_int_equal(nvt_pipeline_time(view, 1, NVT_PIPE_WAIT), 1210 - 1000 + 1420 - 1300);
    nvt_pipeline_views_free(&views);
    nvt_trace_free(trace);
}

/* --- the bubble of a schedule --------------------------------------------------------------------------- */

static void other_traces_have_no_pipeline(void **state)
{
    struct nvt_trace *trace = nvt_trace_new("test", "test");
    struct nvt_input_trace traces[] = {{.trace = trace}};
    struct nvt_input input = {.traces = traces, .trace_count = 1};
    struct nvt_pipeline_views views;
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    add_range(trace, 1, "step", 1, 2, NULL);
    add_range(trace, 1, "forward p0", 1, 2, "nonsense");
    finish(trace);
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 0);
    nvt_pipeline_views_free(&views);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_one_trace),
        cmocka_unit_test(ranks_lie_on_one_clock),
        cmocka_unit_test(ranks_find_each_other),
        cmocka_unit_test(a_rank_is_one_of_the_ranks),
        cmocka_unit_test(steps_of_ranks_overlap),
        cmocka_unit_test(ranks_may_know_of_more_steps),
        cmocka_unit_test(messages_are_not_work),
        cmocka_unit_test(partitions_are_on_devices),
        cmocka_unit_test(devices_wait_between_work),
        cmocka_unit_test(other_traces_have_no_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
