/*
 * The collector of device records, end to end, on a made-up device (device_record_kit.h): what each level of --trace
 * enables and records, what records have in them, and one device of several processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#include "device_record_kit.h"
#include "record_kit.h"

#define KERNEL "void lib::kernel<float>(float*, int)"

/* --- levels --- */

static void kernel_level_links_launches_and_no_more(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("plain", "nvtx,kernel");
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 6);
    assert_int_equal(device_count_ops(trace, NVT_OP_MEMCPY), 1);
    assert_int_equal(device_count_ops(trace, NVT_OP_MEMSET), 1);
    device_assert_plain_links(trace);
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
    struct nvt_trace *trace = device_record_plainly("plain", "nvtx,kernel");
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
    struct nvt_trace *trace = device_record_plainly("plain", "full");
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 6);
    device_assert_plain_links(trace);
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
                     trace->ranges.thread[device_find_range(trace, "forward")]);
    assert_int_equal(trace->externals.count, 1);
    assert_int_equal(trace->externals.external[0], 77);
    nvt_trace_free(trace);
}

/* 1000 bytes by cudaMalloc, 300 out of a pool of 2000, which is trimmed to 500 then. */
static void memory_level(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("plain", "nvtx,memory");
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(trace->ops.count, 0);
    assert_int_equal(memory->count, 3);
    assert_int_equal(memory->allocated[0], 1000);
    assert_int_equal(memory->reserved[0], 1000);
    assert_int_equal(memory->allocated[1], 1300);
    assert_int_equal(memory->reserved[1], 3000);
    assert_int_equal(memory->allocated[2], 1300);
    assert_int_equal(memory->reserved[2], 1500);
    assert_int_equal(memory->thread[0], trace->ranges.thread[device_find_range(trace, "forward")]);
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
    struct nvt_trace *trace = device_record_plainly("plain", "um");
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
    trace = device_record_plainly("plain", "nvtx,kernel,um");
    assert_null(trace->notes);
    assert_int_equal(trace->um_events.count, 5);
    assert_int_equal(device_count_ops(trace, NVT_OP_MEMCPY), 3);
    nvt_trace_free(trace);
}

/* It slows managed memory down, so that nobody gets it who has not asked. */
static void managed_memory_is_not_in_full(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("plain", "full");
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
        struct nvt_trace *trace = device_record(
            &(struct device_record){.how = "plain", .levels = "um", .refuses = refuses[i]}, NULL);
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
        struct nvt_trace *trace = device_record(
            &(struct device_record){.how = "plain", .levels = "um", .refuses = cases[i].refuses},
            NULL);
        assert_true(device_has_note(trace, cases[i].note));
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
        struct nvt_trace *trace = device_record_plainly("plain", expected[i].level);
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
    struct nvt_trace *trace =
        device_record(&(struct device_record){.how = "plain", .levels = "nvtx"}, &messages);
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
        trace = device_record(
            &(struct device_record){.how = "many", .levels = "nvtx,kernel", .refuses = refuses[i]},
            NULL);
        assert_int_equal(trace->ops.count, 20000);
    }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.api[i] == NVT_NONE)
            fail_msg("kernel %u has no launching call", i);
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "many")), 1);
    nvt_trace_free(trace);
}

/* --- time --- */

/* Without the callback CUPTI's times are of another clock (here another zero, 100 ppm fast): a
 * third of a second later a range and its launches still lie on one another. */
static void another_clock_is_followed(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "none", .levels = "nvtx,kernel", .refuses = "clock"}, NULL);
    uint32_t late = device_find_range(trace, "not delivered");
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "delivered")), 5);
    assert_int_equal(device_launched_in(trace, late), 5);
    assert_true(trace->ranges.start[late] > 300000000);
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
        device_record(&(struct device_record){.how = "capture", .capture = "measure"}, &messages);
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
        cmocka_unit_test(two_processes_share_a_device),
        cmocka_unit_test(devices_are_recorded_by_default),
        cmocka_unit_test(wrong_usage),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
