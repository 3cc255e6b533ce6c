/*
 * The collector of device records, end to end, on a made-up device: tests/clients/device.c runs
 * under `record`, and the collector in it talks to tests/cupti/stand_in.c as it would to libcupti.
 * What is shown here is the collector's side: what it enables, how it takes buffers, flushes,
 * captures and ends.
 */
#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "../analyze/model/cuda_names.h"
#include "../analyze/readers/reader.h"
#include "cupti_kit.h"
#include "record_kit.h"

#define KERNEL "void lib::kernel<float>(float*, int)"

/* Run the client under `record --trace levels [--capture capture]`. */
struct run {
    const char *how, *levels, *capture; /* levels NULL: the default */
    const char *refuses;                /* what the stand-in does not do */
    const char *library;                /* in place of the stand-in */
    int status, signal;                 /* as which it must end */
};

static struct nvt_trace *record(const struct run *run, char **messages)
{
    char stand_in[600], refuses[200];
    const char *path = cli_in(cli_folder, "t.nvt");
    const char *argv[12] = {"nvtally", "record", "-o", path};
    size_t count = 4;
    if (run->levels) {
        argv[count++] = "--trace";
        argv[count++] = run->levels;
    }
    if (run->capture) {
        argv[count++] = "--capture";
        argv[count++] = run->capture;
    }
    argv[count++] = "--";
    argv[count++] = cli_client("device");
    argv[count++] = run->how;
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             run->library ? run->library : cli_built("tests/libcupti-stand-in.so"));
    snprintf(refuses, sizeof(refuses), "STAND_IN_REFUSES=%s", run->refuses ? run->refuses : "");
    const char *environment[] = {stand_in, refuses, "CUDA_INJECTION64_PATH",
                                 "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.signal != run->signal || (!run->signal && result.status != run->status))
        fail_msg("ended with status %d, signal %d: %s", result.status, result.signal, result.err);
    if (messages)
        *messages = strdup(result.err);
    cli_result_free(&result);
    return recorded_trace_at(path);
}

static struct nvt_trace *record_plainly(const char *how, const char *levels)
{
    return record(&(struct run){.how = how, .levels = levels}, NULL);
}

static int has_note(const struct nvt_trace *trace, const char *text)
{
    return trace->notes && strstr(trace->notes, text);
}

static uint32_t count_ops(const struct nvt_trace *trace, enum nvt_op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.kind[i] == kind;
    return count;
}

static uint32_t find_range(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range '%s'", name);
    return 0;
}

static uint32_t count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    return count;
}

/* Kernels whose launching call lies within the range, on its thread. */
static uint32_t launched_in(const struct nvt_trace *trace, uint32_t range)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.thread[i] == trace->ranges.thread[range] &&
                 trace->ops.launch[i] >= trace->ranges.start[range] &&
                 trace->ops.launch[i] <= trace->ranges.end[range];
    return count;
}

/* --- levels --- */

static void assert_plain_links(const struct nvt_trace *trace)
{
    assert_int_equal(launched_in(trace, find_range(trace, "forward")), 2);
    assert_int_equal(launched_in(trace, find_range(trace, "backward")), 1);
    assert_int_equal(launched_in(trace, find_range(trace, "in a thread")), 3);
}

static void kernel_level_links_launches_and_no_more(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "nvtx,kernel");
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 6);
    assert_int_equal(count_ops(trace, NVT_OP_MEMCPY), 1);
    assert_int_equal(count_ops(trace, NVT_OP_MEMSET), 1);
    assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaLaunchKernel"), 6);
    assert_int_equal(recorded_calls(trace, "cuMemcpyHtoDAsync_v2"), 1);
    assert_int_equal(trace->apis.count, 7);
    assert_int_equal(trace->syncs.count, 0);
    assert_int_equal(trace->memory.count, 0);
    assert_int_equal(trace->overheads.count, 0);
    assert_int_equal(trace->externals.count, 0);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void a_kernel_keeps_its_fields(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "nvtx,kernel");
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->kind[0], NVT_OP_KERNEL);
    assert_string_equal(nvt_name(trace, ops->name[0]), KERNEL);
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "kernel");
    assert_int_equal(ops->end[0] - ops->start[0], 1000);
    assert_int_equal(ops->stream[0], 7);
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t detail = ops->detail[0];
    assert_int_equal(kernels->grid_x[detail], 2);
    assert_int_equal(kernels->grid_y[detail], 3);
    assert_int_equal(kernels->grid_z[detail], 4);
    assert_int_equal(kernels->block_x[detail], 32);
    assert_int_equal(kernels->registers[detail], 40);
    assert_int_equal(kernels->static_shared[detail], 128);
    assert_int_equal(kernels->dynamic_shared[detail], 256);
    assert_int_equal(kernels->local_memory[detail], 4096);
    assert_int_equal(kernels->graph[detail], 5);
    assert_int_equal(kernels->graph_node[detail], 9);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "stand-in");
    assert_int_equal(trace->devices.multiprocessors[0], 12);
    assert_int_equal(trace->devices.capability[0], 90);
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.gpu[0]),
                        "GPU-5f5f5f5f-5f5f-5f5f-5f5f-5f5f5f5f5f5f");
    assert_int_equal(strncmp(nvt_trace_meta(trace, "device"), "stand-in, ", 10), 0);
    int named = 0;
    for (uint32_t i = 0; i < trace->resources.count; i++)
        named |= !strcmp(nvt_name(trace, trace->resources.type[i]), "stream id") &&
                 trace->resources.handle[i] == 7 &&
                 !strcmp(nvt_name(trace, trace->resources.name[i]), "compute");
    assert_true(named);
    nvt_trace_free(trace);
}

static void full_level(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "full");
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 6);
    assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaDeviceSynchronize"), 1);
    assert_int_equal(recorded_calls(trace, "cudaMalloc"), 1);
    /* Calls that only ask are made all the time, and left out. */
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 0);
    assert_int_equal(recorded_calls(trace, "cuCtxGetCurrent"), 0);
    assert_int_equal(trace->syncs.count, 1);
    assert_int_equal(trace->syncs.end[0] - trace->syncs.start[0], 30);
    assert_int_equal(trace->overheads.count, 1);
    assert_string_equal(nvt_name(trace, trace->overheads.name[0]), "Resource creation/destruction");
    assert_int_equal(trace->overheads.thread[0],
                     trace->ranges.thread[find_range(trace, "forward")]);
    assert_int_equal(trace->externals.count, 1);
    assert_int_equal(trace->externals.external[0], 77);
    nvt_trace_free(trace);
}

/* 1000 bytes by cudaMalloc, 300 out of a pool of 2000, which is trimmed to 500 then. */
static void memory_level(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "nvtx,memory");
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(trace->ops.count, 0);
    assert_int_equal(memory->count, 3);
    assert_int_equal(memory->allocated[0], 1000);
    assert_int_equal(memory->reserved[0], 1000);
    assert_int_equal(memory->allocated[1], 1300);
    assert_int_equal(memory->reserved[1], 3000);
    assert_int_equal(memory->allocated[2], 1300);
    assert_int_equal(memory->reserved[2], 1500);
    assert_int_equal(memory->thread[0], trace->ranges.thread[find_range(trace, "forward")]);
    assert_int_equal(recorded_calls(trace, "cudaMalloc"), 1);
    assert_int_equal(recorded_calls(trace, "cudaLaunchKernel"), 0);
    nvt_trace_free(trace);
}

static void assert_um(const struct nvt_trace *trace, uint32_t i, uint8_t kind, int64_t start,
                      int64_t end)
{
    const struct nvt_um_events *events = &trace->um_events;
    assert_int_equal(events->kind[i], kind);
    assert_int_equal(events->start[i] - events->start[0], start - 10);
    assert_int_equal(events->end[i] - events->start[0], end - 10);
    assert_true(events->address[i] == UINT64_C(0x7f0000200000));
}

/* CUPTI can be asked for it only when there is a context. */
static void managed_memory(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "um");
    const struct nvt_um_events *events = &trace->um_events;
    const struct nvt_ops *ops = &trace->ops;
    assert_null(trace->notes);
    assert_int_equal(events->count, 5);
    assert_um(trace, 0, NVT_UM_CPU_FAULT, 10, 10);
    assert_um(trace, 1, NVT_UM_GPU_FAULT, 20, 50);
    assert_um(trace, 2, NVT_UM_THRASHING, 90, 90);
    assert_um(trace, 3, NVT_UM_THROTTLING, 95, 99);
    assert_um(trace, 4, NVT_UM_REMOTE_MAP, 100, 100);
    assert_string_equal(nvt_name(trace, events->instruction[0]), "0x4005d0");
    assert_int_equal(events->device[0], NVT_NONE);
    assert_int_equal(events->device[1], 0);
    assert_int_equal(events->faults[1], 7);
    assert_int_equal(events->reason[1], 1);
    assert_int_equal(events->device[2], NVT_NONE); /* CUPTI's is a mask of several */
    assert_int_equal(events->bytes[4], 65536);
    assert_int_equal(events->target[4], NVT_NONE);
    assert_int_equal(events->reason[4], 2);
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->copy_kind[0], NVT_COPY_UNIFIED_HTOD);
    assert_int_equal(ops->copy_kind[1], NVT_COPY_UNIFIED_DTOH);
    assert_int_equal(ops->start[0] - events->start[0], 20);
    assert_int_equal(ops->end[1] - ops->start[1], 20);
    assert_int_equal(ops->bytes[0], 65536);
    assert_int_equal(ops->source_kind[0], NVT_KIND_MANAGED);
    assert_true(trace->migrations.address[ops->detail[0]] == UINT64_C(0x7f0000200000));
    assert_int_equal(trace->migrations.cause[ops->detail[0]], NVT_UM_MOVE_FAULT);
    assert_int_equal(trace->migrations.cause[ops->detail[1]], 4);
    nvt_trace_free(trace);
    trace = record_plainly("plain", "nvtx,kernel,um");
    assert_null(trace->notes);
    assert_int_equal(trace->um_events.count, 5);
    assert_int_equal(count_ops(trace, NVT_OP_MEMCPY), 3);
    nvt_trace_free(trace);
}

/* It slows managed memory down, so that nobody gets it who has not asked. */
static void managed_memory_is_not_in_full(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("plain", "full");
    assert_int_equal(trace->um_events.count, 0);
    assert_int_equal(trace->migrations.count, 0);
    nvt_trace_free(trace);
}

/* Before the first context, and where that is refused or cannot be known, with it. */
static void managed_memory_is_asked_for_in_time(void **state)
{
    static const char *const refuses[] = {"latecomers", "early", "finish"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(refuses); i++) {
        struct nvt_trace *trace =
            record(&(struct run){.how = "plain", .levels = "um", .refuses = refuses[i]}, NULL);
        assert_true(trace->um_events.count > 0);
        assert_null(trace->notes);
        nvt_trace_free(trace);
    }
}

static void managed_memory_that_is_refused(void **state)
{
    static const struct {
        const char *refuses, *note;
        uint32_t events, ops;
    } cases[] = {
        {"managed",
         "CUPTI refuses to record managed memory (CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED)", 0, 0},
        {"up", "CUPTI refuses to record managed memory (CUPTI_ERROR_NOT_INITIALIZED)", 0, 0},
        {"thrashing",
         "CUPTI refuses to record thrashing of managed memory (CUPTI_ERROR_INVALID_PARAMETER)", 2,
         2}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = record(
            &(struct run){.how = "plain", .levels = "um", .refuses = cases[i].refuses}, NULL);
        assert_true(has_note(trace, cases[i].note));
        assert_int_equal(trace->um_events.count, cases[i].events);
        assert_int_equal(trace->ops.count, cases[i].ops);
        nvt_trace_free(trace);
    }
}

static void single_levels(void **state)
{
    static const struct {
        const char *level;
        uint32_t ops, apis, syncs, overheads, externals;
    } expected[] = {{"api", 0, 9, 0, 0, 0},
                    {"sync", 0, 1, 1, 0, 0},
                    {"overhead", 0, 0, 0, 1, 0},
                    {"external", 0, 7, 0, 0, 1},
                    {"graph", 1, 0, 0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        struct nvt_trace *trace = record_plainly("plain", expected[i].level);
        assert_int_equal(trace->ops.count, expected[i].ops);
        assert_int_equal(trace->apis.count, expected[i].apis);
        assert_int_equal(trace->syncs.count, expected[i].syncs);
        assert_int_equal(trace->overheads.count, expected[i].overheads);
        assert_int_equal(trace->externals.count, expected[i].externals);
        assert_int_equal(trace->ranges.count, 0);
        if (expected[i].ops)
            assert_string_equal(nvt_name(trace, trace->ops.name[0]), "[CUDA graph 5]");
        /* The call that waits says on which thread, and so in which range. */
        if (expected[i].syncs)
            assert_int_equal(trace->syncs.correlation[0], trace->apis.correlation[0]);
        nvt_trace_free(trace);
    }
}

static void nvtx_alone_does_not_touch_cuda(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace = record(&(struct run){.how = "plain", .levels = "nvtx"}, &messages);
    assert_int_equal(trace->ops.count + trace->apis.count, 0);
    assert_int_equal(trace->ranges.count, 3);
    assert_null(strstr(messages, "device"));
    free(messages);
    nvt_trace_free(trace);
}

static void many_records_through_small_buffers(void **state)
{
    (void)state;
    /* The second clears its buffers itself, the third must not be refused one. */
    static const char *const refuses[] = {NULL, "attributes", "12.8"};
    struct nvt_trace *trace = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(refuses); i++) {
        nvt_trace_free(trace);
        trace = record(&(struct run){.how = "many", .levels = "nvtx,kernel", .refuses = refuses[i]},
                       NULL);
        assert_int_equal(trace->ops.count, 20000);
    }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.api[i] == NVT_NONE)
            fail_msg("kernel %u has no launching call", i);
    assert_int_equal(launched_in(trace, find_range(trace, "many")), 1);
    nvt_trace_free(trace);
}

/* --- time --- */

/* Without the callback CUPTI's times are of another clock (here another zero, 100 ppm fast): a
 * third of a second later a range and its launches still lie on one another. */
static void another_clock_is_followed(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "none", .levels = "nvtx,kernel", .refuses = "clock"}, NULL);
    uint32_t late = find_range(trace, "not delivered");
    assert_int_equal(launched_in(trace, find_range(trace, "delivered")), 5);
    assert_int_equal(launched_in(trace, late), 5);
    assert_true(trace->ranges.start[late] > 300000000);
    nvt_trace_free(trace);
}

/* --- what CUPTI cannot do --- */

static void without_choice_all_calls_are_recorded(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "nvtx,kernel", .refuses = "choice"}, NULL);
    assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 6);
    assert_true(has_note(trace, "CUPTI refuses to record some API calls without the others "
                                "(CUPTI_ERROR_NOT_SUPPORTED)"));
    nvt_trace_free(trace);
    trace = record(
        &(struct run){.how = "plain", .levels = "nvtx,kernel", .refuses = "kernel launches"}, NULL);
    assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 6);
    nvt_trace_free(trace);
}

/* One call that cannot be chosen leaves the choice of the others, and no records of contexts leave kernels. */
static void a_single_refusal_stops_nothing_else(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "nvtx,kernel", .refuses = "one call"}, NULL);
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 6);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 0);
    assert_int_equal(recorded_calls(trace, "cudaLaunchKernel"), 6);
    assert_int_equal(recorded_calls(trace, "cuMemcpyHtoDAsync_v2"), 0);
    assert_false(has_note(trace, "CUPTI refuses"));
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .levels = "full", .refuses = "contexts"}, NULL);
    assert_true(has_note(trace, "CUPTI refuses to record contexts (CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 6);
    nvt_trace_free(trace);
}

/* What goes wrong within CUPTI is told in its words, and not without end. */
static void what_cupti_says_is_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("warned", "nvtx,kernel");
    assert_true(has_note(trace, "CUPTI warns: a stand-in has its reasons "
                                "(CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_true(has_note(
        trace,
        "CUPTI stopped, and later device operations are not recorded: a stand-in has its reasons"));
    assert_true(has_note(trace, "CUPTI warns: no reason is given"));
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 2);
    nvt_trace_free(trace);
}

/* CUPTI takes the choice of calls and makes no records of them. */
static void kernels_without_calls_are_told(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "nvtx,kernel", .refuses = "silently"}, NULL);
    assert_true(count_ops(trace, NVT_OP_KERNEL) > 0);
    assert_int_equal(trace->apis.count, 0);
    assert_true(has_note(trace, "CUPTI does not report which calls launched the kernels"));
    nvt_trace_free(trace);
    trace = record(
        &(struct run){.how = "plain", .levels = "nvtx,kernel,api", .refuses = "silently"}, NULL);
    assert_true(trace->apis.count > 0);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* Where that goes on, all calls are recorded. */
static void all_calls_are_recorded_where_single_ones_are_not(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "long", .levels = "nvtx,kernel", .refuses = "silently"}, NULL);
    assert_true(has_note(trace, "CUPTI ignores filters on API calls"));
    assert_null(strstr(trace->notes, "so they are in no range"));
    assert_true(trace->apis.count > 0);
    uint32_t linked = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        linked += trace->ops.api[i] != NVT_NONE;
    assert_true(linked && linked < trace->ops.count);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "long", .levels = "nvtx,kernel"}, NULL);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void what_is_refused_is_named(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "full", .refuses = "pools"}, NULL);
    assert_true(
        has_note(trace, "CUPTI refuses to record memory pools (CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 6);
    nvt_trace_free(trace);
}

/* CUPTI is for one tool, and cannot tell whose calls it gets: those of a second one would break the first one's. */
static void who_has_subscribed_before_is_left_alone(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "full", .refuses = "subscriber"}, NULL);
    assert_true(has_note(trace, "another tool has subscribed to CUPTI"));
    assert_true(has_note(trace, "there are no device records"));
    assert_int_equal(trace->ops.count, 0);
    assert_int_equal(count_ranges(trace, "forward"), 1);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "capture",
                                 .levels = "kernel",
                                 .capture = "cudaProfilerApi",
                                 .refuses = "subscriber"},
                   NULL);
    assert_true(has_note(trace, "does not report cudaProfilerStart"));
    assert_int_equal(trace->ops.count, 0);
    nvt_trace_free(trace);
}

/* PyTorch's profiler subscribes to nothing and takes over CUPTI's buffers, one of ours with it. */
static void what_another_tool_takes_is_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("taken", "nvtx,kernel");
    assert_int_equal(launched_in(trace, find_range(trace, "delivered")), 5);
    assert_int_equal(trace->ops.count, 5);
    assert_true(has_note(trace, "another tool, such as PyTorch's profiler, may have taken over"));
    nvt_trace_free(trace);
    trace = record_plainly("second", "nvtx,kernel");
    assert_true(launched_in(trace, find_range(trace, "kernels")) > 150);
    assert_true(has_note(trace, "buffers of another tool"));
    nvt_trace_free(trace);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* CUPTI may have asked for a buffer for what is to come. Nothing is missing in it, and nobody waits for it. */
static void an_empty_buffer_is_not_waited_for(void **state)
{
    (void)state;
    const double before = seconds_now();
    struct nvt_trace *trace = record(
        &(struct run){
            .how = "rests", .levels = "nvtx,kernel", .capture = "measure", .refuses = "empties"},
        NULL);
    const double took = seconds_now() - before;
    assert_int_equal(count_ops(trace, NVT_OP_KERNEL), 10);
    assert_null(trace->notes);
    nvt_trace_free(trace);
    if (took > 1.75)
        fail_msg("%.2f s", took);
    trace = record(
        &(struct run){
            .how = "held", .levels = "nvtx,kernel", .refuses = "empties", .signal = SIGKILL},
        NULL);
    nvt_trace_free(trace);
}

/* Devices that CUPTI has told of before we were there are asked for: at the end, and of what is killed, a second after its
 * first records. Those that it has told of are not. */
static void devices_are_asked_for_again(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "kernel", .refuses = "devices"}, NULL);
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "dumped");
    assert_null(trace->notes);
    nvt_trace_free(trace);
    trace = record(
        &(struct run){
            .how = "killed late", .levels = "kernel", .refuses = "devices", .signal = SIGKILL},
        NULL);
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "dumped");
    nvt_trace_free(trace);
    trace = record_plainly("plain", "kernel");
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "stand-in");
    nvt_trace_free(trace);
}

static void old_and_missing_libraries(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "plain", .levels = "full", .refuses = "version"}, NULL);
    assert_true(has_note(trace, "API version 14"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .levels = "full", .refuses = "answers"}, NULL);
    assert_true(has_note(trace, "libcupti does not answer (unknown error, 999)"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .levels = "full", .refuses = "driver"}, NULL);
    assert_true(has_note(trace, "the driver is too old for this libcupti"));
    assert_false(has_note(trace, "CUPTI refuses"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = record(&(struct run){.how = "plain", .levels = "full", .refuses = "waits"}, NULL);
    assert_true(has_note(trace, "no records of cudaDeviceSynchronize"));
    nvt_trace_free(trace);
    trace = record(
        &(struct run){.how = "nothing", .levels = "full", .library = "/nowhere/libcupti.so"}, NULL);
    assert_true(has_note(trace, "/nowhere/libcupti.so cannot be loaded"));
    assert_int_equal(count_ranges(trace, "nothing"), 1);
    nvt_trace_free(trace);
}

/* NVIDIA's own libcupti where there is no device: it refuses, and the program does not notice. */
static void the_real_library_without_a_device(void **state)
{
    void *library = cupti_library(), *function = library ? dlsym(library, "cuptiGetVersion") : NULL;
    char path[PATH_MAX];
    Dl_info info;
    (void)state;
    if (!function || cli_has_device())
        skip();
    assert_true(dladdr(function, &info) && realpath(info.dli_fname, path));
    dlclose(library);
    struct nvt_trace *trace =
        record(&(struct run){.how = "nothing", .levels = "full", .library = path}, NULL);
    assert_true(has_note(trace, "(CUPTI_ERROR_"));
    assert_int_equal(count_ranges(trace, "nothing"), 1);
    nvt_trace_free(trace);
}

/* --- the end --- */

static void every_end_but_a_kill_delivers_all(void **state)
{
    static const struct run runs[] = {{.how = "none", .levels = "nvtx,kernel"},
                                      {.how = "_exit", .levels = "nvtx,kernel", .status = 4},
                                      {.how = "_Exit", .levels = "nvtx,kernel", .status = 4},
                                      {.how = "quick_exit", .levels = "nvtx,kernel", .status = 4}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(runs); i++) {
        struct nvt_trace *trace = record(&runs[i], NULL);
        if (launched_in(trace, find_range(trace, "not delivered")) != 5)
            fail_msg("%s: kernels of the end are missing", runs[i].how);
        assert_int_equal(trace->ops.count, 10);
        assert_false(has_note(trace, "ended suddenly"));
        assert_true(has_note(trace, "1 device record without times"));
        nvt_trace_free(trace);
    }
}

/* The driver goes down by a handler that it registers when it comes up, behind the collector's. */
static void an_exit_is_before_the_drivers(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("down", "nvtx,kernel");
    assert_int_equal(launched_in(trace, find_range(trace, "kernels")), 2);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void a_kill_leaves_what_was_delivered(void **state)
{
    static const struct run runs[] = {{.how = "kill", .levels = "nvtx,kernel", .signal = SIGKILL},
                                      {.how = "segv", .levels = "nvtx,kernel", .signal = SIGSEGV}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = record(&runs[i], NULL);
        double ms = -1;
        assert_int_equal(trace->ops.count, 5);
        assert_int_equal(launched_in(trace, find_range(trace, "delivered")), 5);
        assert_int_equal(count_ranges(trace, "not delivered"), 1);
        assert_true(has_note(trace, "later ones are unknown"));
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
    struct nvt_trace *trace =
        record(&(struct run){.how = "slow", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL);
    assert_int_equal(trace->ops.count, 5);
    assert_int_equal(trace->devices.count, 1);
    nvt_trace_free(trace);
}

/* A record that is not complete holds back those in its buffer: what came since it was asked for may be missing. */
static void a_kill_loses_what_is_held_back(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "held", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL);
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
    nvt_trace_free(
        record(&(struct run){.how = "kill", .levels = "nvtx,kernel", .signal = SIGKILL}, NULL));
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
    struct nvt_trace *trace =
        record(&(struct run){.how = "handler", .levels = "nvtx,kernel", .status = 5}, NULL);
    assert_true(trace->ops.count > 0);
    nvt_trace_free(trace);
}

static void forked_children_are_left_alone(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    struct nvt_trace *trace = record_plainly("fork", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(count_ranges(trace, "child"), 1);
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
        struct nvt_trace *trace = record_plainly("reset", "nvtx,kernel");
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
        struct nvt_trace *trace = record(
            &(struct run){.how = "destructor", .levels = "nvtx,kernel", .capture = captures[i]},
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
    struct nvt_trace *trace = record_plainly("resets", "nvtx,kernel");
    unsetenv("STAND_IN_ENDS");
    assert_int_equal(trace->ops.count, 17);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* What never ends is waited for once, for a second; what is complete is taken before each reset all the same. */
static void a_reset_does_not_wait_for_ever(void **state)
{
    (void)state;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    struct nvt_trace *trace = record_plainly("resets", "nvtx,kernel");
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_in_range(ended.tv_sec - began.tv_sec, 1, 4);
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(launched_in(trace, find_range(trace, "behind")), 2);
    nvt_trace_free(trace);
}

static void lost_records_are_counted(void **state)
{
    (void)state;
    struct nvt_trace *trace = record_plainly("drop", "nvtx,kernel");
    assert_true(has_note(trace, "3 device records were lost, because CUPTI had no room"));
    assert_int_equal(trace->ops.count + trace->apis.count, 5);
    nvt_trace_free(trace);
}

/* Where the device had no memory left for times, CUPTI gives some that cannot be. */
static void impossible_times_are_none(void **state)
{
    static const char *const reports[] = {"cuda_gpu_trace", "nvtx_kern_sum"};
    (void)state;
    struct nvt_trace *trace = record_plainly("untimed", "nvtx,kernel");
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
    struct nvt_trace *trace = record_plainly("elsewhen", "nvtx,kernel");
    assert_int_equal(trace->ops.count, 3);
    assert_true(has_note(trace, "1 device record without times"));
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
        struct nvt_trace *trace = record(&(struct run){.how = "capture",
                                                       .levels = "nvtx,kernel",
                                                       .capture = expected[i].capture},
                                         NULL);
        if (trace->ops.count != expected[i].kernels || trace->ranges.count != expected[i].ranges)
            fail_msg("%s: %u kernels, %u ranges", expected[i].capture, trace->ops.count,
                     trace->ranges.count);
        assert_true(launched_in(trace, find_range(trace, expected[i].inside)) > 0);
        assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 0);
        assert_null(trace->notes);
        nvt_trace_free(trace);
    }
}

/* A CUPTI that cannot choose calls has all of them, in each capture anew. */
static void captures_without_a_choice(void **state)
{
    (void)state;
    struct nvt_trace *trace = record(
        &(struct run){
            .how = "capture", .levels = "nvtx,kernel", .capture = "measure", .refuses = "choice"},
        NULL);
    assert_true(has_note(trace, "some API calls without the others"));
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
    struct nvt_trace *trace = record(
        &(struct run){.how = "running", .levels = "nvtx,kernel", .capture = "measure"}, NULL);
    unsetenv("STAND_IN_ENDS");
    assert_int_equal(trace->ops.count, 15);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* A device that never rests is waited for once, for a second, and not at the end of each range. */
static void a_capture_does_not_wait_for_ever(void **state)
{
    (void)state;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    struct nvt_trace *trace = record(
        &(struct run){.how = "running", .levels = "nvtx,kernel", .capture = "measure"}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_in_range(ended.tv_sec - began.tv_sec, 1, 4);
    assert_true(trace->ops.count < 15);
    nvt_trace_free(trace);
}

static void a_capture_that_never_begins(void **state)
{
    (void)state;
    static const char *const captures[] = {"elsewhere", "cudaProfilerApi", "measure"};
    for (size_t i = 0; i < NVT_COUNT_OF(captures); i++) {
        int begins = i == 2;
        char *messages, text[100];
        struct nvt_trace *trace = record(&(struct run){.how = i == 1 ? "plain" : "capture",
                                                       .levels = "kernel",
                                                       .capture = captures[i]},
                                         &messages);
        snprintf(text, sizeof(text), "nothing was captured: %s never began", captures[i]);
        assert_int_equal(trace->ops.count != 0, begins);
        assert_int_equal(trace->ranges.count != 0, begins);
        /* Who reads the trace is told so, and who recorded it at once. */
        assert_int_equal(has_note(trace, text) == 0, begins);
        assert_int_equal(strstr(messages, text) == NULL, begins);
        nvt_trace_free(trace);
        free(messages);
    }
}

/* NVTX alone needs no CUDA for it. */
static void captures_of_nvtx(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        record(&(struct run){.how = "capture", .levels = "nvtx", .capture = "started"}, NULL);
    assert_int_equal(trace->ranges.count, 2);
    assert_int_equal(trace->ops.count, 0);
    nvt_trace_free(trace);
}

/* --- one device of several processes --- */

static void two_processes_share_a_device(void **state)
{
    (void)state;
    char stand_in[600], script[1200];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    snprintf(script, sizeof(script), "%s plain & %s plain; wait", cli_client("device"),
             cli_client("device"));
    const char *environment[] = {stand_in, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    const char *path = cli_in(cli_folder, "t.nvt");
    const char *argv[] = {"nvtally", "record", "-o", path, "--", "sh", "-c", script, NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *idle[] = {"nvtally", "stats", "-r", "gpu_idle", "-f", "csv", path, NULL};
    result = cli_run(idle);
    cli_expect_status(&result, 0);
    /* One row, of no process, and no doubt. */
    assert_non_null(strstr(result.out, "\nstand-in (0),,"));
    assert_null(strstr(strstr(result.out, "\nstand-in (0),") + 1, "\nstand-in (0),"));
    assert_null(strstr(result.err, "same number"));
    cli_result_free(&result);
}

/* --- usage --- */

/* Nothing was asked for: ranges, and what the device did in them. */
static void devices_are_recorded_by_default(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace =
        record(&(struct run){.how = "capture", .capture = "measure"}, &messages);
    assert_int_equal(trace->ops.count, 6);
    assert_int_equal(trace->ranges.count, 6);
    assert_non_null(strstr(messages, " device records"));
    nvt_trace_free(trace);
    free(messages);
    /* Of a command without a device nothing is said of one. */
    struct cli_result result = cli_run((const char *const[]){
        "nvtally", "record", "-o", cli_in(cli_folder, "t.nvt"), "--", "true", NULL});
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "device"));
    assert_null(strstr(result.err, "CUDA"));
    cli_result_free(&result);
}

static void wrong_usage(void **state)
{
    static const struct {
        const char *option, *value, *needle;
    } wrong[] = {{"--trace", "kernels", "--trace kernels"},
                 {"--trace", "nvtx,", "--trace nvtx,"},
                 {"--capture", "", "--capture"},
                 {"--capture", "@domain", "--capture @domain"},
                 {"--trace=nvtx", "--capture=cudaProfilerApi", "needs --trace"}};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *argv[] = {"nvtally", "record", wrong[i].option, wrong[i].value, "--",
                              "true",    NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i].needle);
        cli_result_free(&result);
    }
}

static void another_tool_is_left_in_place(void **state)
{
    (void)state;
    char stand_in[600];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    const char *environment[] = {stand_in, "CUDA_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so",
                                 NULL};
    const struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "record", "-o", cli_in(cli_folder, "o.nvt"),
                          "--trace", "full",   "--", cli_client("device"),
                          "plain",   NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "CUDA_INJECTION64_PATH): it was left in place"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_level_links_launches_and_no_more),
        cmocka_unit_test(a_kernel_keeps_its_fields),
        cmocka_unit_test(full_level),
        cmocka_unit_test(memory_level),
        cmocka_unit_test(managed_memory),
        cmocka_unit_test(managed_memory_is_not_in_full),
        cmocka_unit_test(managed_memory_is_asked_for_in_time),
        cmocka_unit_test(managed_memory_that_is_refused),
        cmocka_unit_test(single_levels),
        cmocka_unit_test(nvtx_alone_does_not_touch_cuda),
        cmocka_unit_test(many_records_through_small_buffers),
        cmocka_unit_test(another_clock_is_followed),
        cmocka_unit_test(without_choice_all_calls_are_recorded),
        cmocka_unit_test(a_single_refusal_stops_nothing_else),
        cmocka_unit_test(what_cupti_says_is_told),
        cmocka_unit_test(kernels_without_calls_are_told),
        cmocka_unit_test(all_calls_are_recorded_where_single_ones_are_not),
        cmocka_unit_test(what_is_refused_is_named),
        cmocka_unit_test(who_has_subscribed_before_is_left_alone),
        cmocka_unit_test(what_another_tool_takes_is_told),
        cmocka_unit_test(an_empty_buffer_is_not_waited_for),
        cmocka_unit_test(devices_are_asked_for_again),
        cmocka_unit_test(old_and_missing_libraries),
        cmocka_unit_test(the_real_library_without_a_device),
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
        cmocka_unit_test(two_processes_share_a_device),
        cmocka_unit_test(devices_are_recorded_by_default),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(another_tool_is_left_in_place),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
