/*
 * CUPTI's second interface (collectors/inject/cupti_second.h), end to end on a made-up device: the stand-in for it aborts a program
 * that mixes both interfaces, so each of these shows that the collector keeps to one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record_kit.h"

/* What differs from the defaults; NULL: nothing. */
struct run {
    const char *how, *levels, *capture;
    const char *refuses;  /* what the stand-in does not do */
    const char *variable; /* one more, "NAME=value" */
    int is_first;         /* a CUPTI that has only the first interface */
};

static struct nvt_trace *record(const struct run *run)
{
    char library[600], refuses[200];
    const char *argv[12] = {"nvtally",       "record",  "-o",
                            recorded_path(), "--trace", run->levels ? run->levels : "nvtx,kernel"};
    size_t count = 6;
    if (run->capture) {
        argv[count++] = "--capture";
        argv[count++] = run->capture;
    }
    argv[count++] = "--";
    argv[count++] = cli_client("device");
    argv[count++] = run->how;
    snprintf(library, sizeof(library), "NVTALLY_CUPTI=%s",
             cli_built(run->is_first ? "tests/libcupti-stand-in.so"
                                     : "tests/libcupti-stand-in-second.so"));
    snprintf(refuses, sizeof(refuses), "STAND_IN_REFUSES=%s", run->refuses ? run->refuses : "");
    const char *environment[] = {
        library, refuses, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", run->variable, NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

static int has_note(const struct nvt_trace *trace, const char *text)
{
    return trace->notes && strstr(trace->notes, text);
}

static uint32_t kernels(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.kind[i] == NVT_OP_KERNEL;
    return count;
}

/* Kernels whose launching call lies within the range, on its thread, and that ran while it or soon after it was open. */
static uint32_t launched_in(const struct nvt_trace *trace, const char *name)
{
    const uint32_t range = recorded_range(trace, name);
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.thread[i] == trace->ranges.thread[range] &&
                 trace->ops.launch[i] >= trace->ranges.start[range] &&
                 trace->ops.launch[i] <= trace->ranges.end[range] &&
                 trace->ops.start[i] >= trace->ranges.start[range] - 1000000 &&
                 trace->ops.start[i] <= trace->ranges.end[range] + 1000000000;
    return count;
}

static void expect_plain(const struct nvt_trace *trace)
{
    assert_int_equal(kernels(trace), 6);
    assert_int_equal(launched_in(trace, "forward"), 2);
    assert_int_equal(launched_in(trace, "backward"), 1);
    assert_int_equal(launched_in(trace, "in a thread"), 3);
    assert_false(has_note(trace, "CUPTI"));
}

static void kernels_lie_in_their_ranges(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&(struct run){.how = "plain"});
    expect_plain(trace);
    nvt_trace_free(trace);
}

static void every_level_is_recorded(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .levels = "full"});
    assert_false(has_note(trace, "CUPTI refuses"));
    assert_true(trace->memory.count > 0);
    assert_true(trace->syncs.count > 0);
    assert_true(trace->overheads.count > 0);
    nvt_trace_free(trace);
}

/* It is off, on, off and on again, as is late. */
static void captures_begin_and_end(void **state)
{
    (void)state;
    struct nvt_trace *second = record(&(struct run){.how = "capture", .capture = "measure"});
    const uint32_t count = kernels(second);
    assert_int_equal(recorded_count(second, "inside"), 2);
    assert_int_equal(recorded_count(second, "between"), 0);
    nvt_trace_free(second);
    struct nvt_trace *first =
        record(&(struct run){.how = "capture", .capture = "measure", .is_first = 1});
    assert_true(count > 0);
    assert_int_equal(kernels(first), count);
    nvt_trace_free(first);
}

/* CUPTI is loaded when the device has long been up, stopped, and started again, three times. */
static void late_starts_record_as_well(void **state)
{
    (void)state;
    char library[600];
    static const char script[] =
        "\"$1\" endless & until cat /proc/$!/task/*/comm | grep nvtally-window; do sleep 0.05; "
        "done; "
        "sleep 0.2; for i in 1 2 3; do \"$0\" ctl start; until cat /proc/$!/task/*/comm | grep "
        "nvtally-cupti; do sleep 0.05; done; sleep 0.5; \"$0\" ctl stop; sleep 0.05; done; kill "
        "$!; "
        "wait";
    snprintf(library, sizeof(library), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in-second.so"));
    const char *environment[] = {library, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(
        &options, (const char *const[]){"nvtally", "record", "--dormant", "--trace", "nvtx,kernel",
                                        "-o", recorded_path(), "--", "sh", "-c", script,
                                        cli_built("nvtally"), cli_client("device"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    const uint32_t ticks = recorded_count(trace, "tick"), ran = kernels(trace);
    assert_true(has_note(trace, "recorded in 3 parts"));
    /* A kernel is launched in each range; some behind the stop, until CUPTI's thread has heard of it. */
    if (!ran || ran > ticks + ticks / 4 + 3)
        fail_msg("%u kernels, %u ranges", ran, ticks);
    /* Also of the last part, which took 500 ms at least. */
    uint32_t last = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        last = trace->ranges.start[i] > trace->ranges.start[last] ? i : last;
    uint32_t late = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        late += trace->ops.launch[i] > trace->ranges.start[last] - 100000000;
    assert_true(late > 0);
    nvt_trace_free(trace);
}

/* Each gets its own records, as PyTorch's profiler and nvtally in a process. */
static void another_tool_records_as_well(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&(struct run){.how = "beside"});
    assert_int_equal(launched_in(trace, "before"), 2);
    assert_int_equal(launched_in(trace, "beside"), 5);
    assert_false(has_note(trace, "another tool"));
    nvt_trace_free(trace);
}

/* A clock of ours that is refused, or taken without effect: then moments of both are recorded. */
static void clocks_are_compared(void **state)
{
    (void)state;
    static const char *const refusals[] = {"clock", "deaf"};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = record(&(struct run){.how = "plain", .refuses = refusals[i]});
        const int64_t begin = trace->ranges.start[recorded_range(trace, "forward")];
        assert_int_equal(kernels(trace), 6);
        /* CUPTI's own clock is decades away; how well the two are compared depends on how busy the machine is. */
        for (uint32_t k = 0; k < trace->ops.count; k++)
            assert_in_range(trace->ops.start[k] - begin + 100000000, 0, 10000000000);
        nvt_trace_free(trace);
    }
}

static void the_first_interface_is_left(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .refuses = "second"});
    expect_plain(trace);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .variable = "NVTALLY_CUPTI_V1=1"});
    expect_plain(trace);
    nvt_trace_free(trace);
}

static void a_tool_that_is_served_alone_is_named(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .refuses = "subscriber"});
    assert_int_equal(kernels(trace), 0);
    assert_true(has_note(trace, "another tool (CUPTI for the test) has subscribed"));
    nvt_trace_free(trace);
}

static void hardware_events_are_asked_for(void **state)
{
    (void)state;
    static const char variable[] = "NVTALLY_HARDWARE_EVENTS=1",
                      said[] = "not timed by hardware events";
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .variable = variable});
    expect_plain(trace);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .variable = variable, .refuses = "hardware"});
    assert_true(has_note(trace, said));
    assert_int_equal(kernels(trace), 6);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .variable = variable, .is_first = 1});
    assert_true(has_note(trace, said));
    nvt_trace_free(trace);
}

/* Of two runs: as many rows, and the same sum of a column, whatever their order. */
#define EXPECT_SUM(a, b, table, column)                                                            \
    do {                                                                                           \
        uint64_t sums[2] = {0, 0};                                                                 \
        assert_int_equal((a)->table.count, (b)->table.count);                                      \
        for (uint32_t i = 0; i < (a)->table.count; i++) {                                          \
            sums[0] += (uint64_t)(a)->table.column[i];                                             \
            sums[1] += (uint64_t)(b)->table.column[i];                                             \
        }                                                                                          \
        assert_int_equal(sums[0], sums[1]);                                                        \
    } while (0)

static void expect_same(const struct nvt_trace *a, const struct nvt_trace *b)
{
    EXPECT_SUM(a, b, ops, bytes);
    EXPECT_SUM(a, b, ops, kind);
    EXPECT_SUM(a, b, ops, copy_kind);
    EXPECT_SUM(a, b, ops, source_kind);
    EXPECT_SUM(a, b, ops, stream);
    EXPECT_SUM(a, b, ops, correlation);
    EXPECT_SUM(a, b, kernels, grid_x);
    EXPECT_SUM(a, b, kernels, block_x);
    EXPECT_SUM(a, b, kernels, registers);
    EXPECT_SUM(a, b, kernels, dynamic_shared);
    EXPECT_SUM(a, b, kernels, local_memory);
    EXPECT_SUM(a, b, kernels, graph);
    EXPECT_SUM(a, b, migrations, cause);
    EXPECT_SUM(a, b, um_events, faults);
    EXPECT_SUM(a, b, um_events, bytes);
    EXPECT_SUM(a, b, um_events, kind);
    EXPECT_SUM(a, b, apis, correlation);
    EXPECT_SUM(a, b, apis, result);
    EXPECT_SUM(a, b, syncs, type);
    EXPECT_SUM(a, b, syncs, stream);
    EXPECT_SUM(a, b, memory, bytes);
    EXPECT_SUM(a, b, memory, address);
    EXPECT_SUM(a, b, externals, correlation);
    assert_int_equal(a->overheads.count, b->overheads.count);
    assert_int_equal(a->devices.count, b->devices.count);
    for (uint32_t i = 0; i < a->ops.count; i++)
        if (a->ops.kind[i] == NVT_OP_KERNEL)
            assert_string_equal(nvt_name(a, a->ops.name[i]), nvt_name(b, b->ops.name[i]));
    for (uint32_t i = 0; i < a->devices.count; i++)
        assert_string_equal(nvt_name(a, a->devices.name[i]), nvt_name(b, b->devices.name[i]));
}

/* Smaller records, of the fields that we read: the trace is the same. */
static void records_of_selected_fields(void **state)
{
    (void)state;
    static const char variable[] = "NVTALLY_SELECTED_RECORDS=1",
                      said[] = "records of CUPTI have all of their fields";
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .variable = variable});
    expect_plain(trace);
    nvt_trace_free(trace);
    struct nvt_trace *whole = record(&(struct run){.how = "plain", .levels = "full,graph,um"});
    trace = record(&(struct run){.how = "plain", .levels = "full,graph,um", .variable = variable});
    assert_true(whole->ops.count > 4);
    expect_same(whole, trace);
    nvt_trace_free(whole);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "capture", .capture = "measure", .variable = variable});
    assert_true(kernels(trace) > 0);
    assert_false(has_note(trace, said));
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .variable = variable, .refuses = "selected"});
    assert_int_equal(kernels(trace), 6);
    assert_true(has_note(trace, said));
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .variable = variable, .is_first = 1});
    assert_int_equal(kernels(trace), 6);
    assert_true(has_note(trace, said));
    nvt_trace_free(trace);
}

int main(void)
{
#ifndef HAVE_CUPTI
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_lie_in_their_ranges),
        cmocka_unit_test(every_level_is_recorded),
        cmocka_unit_test(captures_begin_and_end),
        cmocka_unit_test(late_starts_record_as_well),
        cmocka_unit_test(another_tool_records_as_well),
        cmocka_unit_test(clocks_are_compared),
        cmocka_unit_test(the_first_interface_is_left),
        cmocka_unit_test(a_tool_that_is_served_alone_is_named),
        cmocka_unit_test(hardware_events_are_asked_for),
        cmocka_unit_test(records_of_selected_fields),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
