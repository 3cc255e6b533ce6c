/*
 * What the collector of device records does with a CUPTI that refuses, lacks, loses or says something, or that another
 * tool has: on a made-up device (device_record_kit.h).
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

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "cupti_kit.h"
#include "device_record_kit.h"
#include "record_kit.h"

/* --- what CUPTI cannot do --- */

static void without_choice_all_calls_are_recorded(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "nvtx,kernel", .refuses = "choice"},
        NULL);
    device_assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 6);
    assert_true(device_has_note(trace, "CUPTI refuses to record some API calls without the others "
                                       "(CUPTI_ERROR_NOT_SUPPORTED)"));
    nvt_trace_free(trace);
    trace = device_record(&(struct device_record){.how = "plain",
                                                  .levels = "nvtx,kernel",
                                                  .refuses = "kernel launches"},
                          NULL);
    device_assert_plain_links(trace);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 6);
    nvt_trace_free(trace);
}

/* One call that cannot be chosen leaves the choice of the others, and no records of contexts leave kernels. */
static void a_single_refusal_stops_nothing_else(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "nvtx,kernel", .refuses = "one call"},
        NULL);
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 6);
    assert_int_equal(recorded_calls(trace, "cudaGetDevice"), 0);
    assert_int_equal(recorded_calls(trace, "cudaLaunchKernel"), 6);
    assert_int_equal(recorded_calls(trace, "cuMemcpyHtoDAsync_v2"), 0);
    assert_false(device_has_note(trace, "CUPTI refuses"));
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "contexts"}, NULL);
    assert_true(
        device_has_note(trace, "CUPTI refuses to record contexts (CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 6);
    nvt_trace_free(trace);
}

/* What goes wrong within CUPTI is told in its words, and not without end. */
static void what_cupti_says_is_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("warned", "nvtx,kernel");
    assert_true(device_has_note(trace, "CUPTI warns: a stand-in has its reasons "
                                       "(CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_true(device_has_note(
        trace,
        "CUPTI stopped, and later device operations are not recorded: a stand-in has its reasons"));
    assert_true(device_has_note(trace, "CUPTI warns: no reason is given"));
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 2);
    nvt_trace_free(trace);
}

/* CUPTI takes the choice of calls and makes no records of them. */
static void kernels_without_calls_are_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "nvtx,kernel", .refuses = "silently"},
        NULL);
    assert_true(device_count_ops(trace, NVT_OP_KERNEL) > 0);
    assert_int_equal(trace->apis.count, 0);
    assert_true(device_has_note(trace, "CUPTI does not report which calls launched the kernels"));
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){.how = "plain", .levels = "nvtx,kernel,api", .refuses = "silently"},
        NULL);
    assert_true(trace->apis.count > 0);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* Where that goes on, all calls are recorded. */
static void all_calls_are_recorded_where_single_ones_are_not(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "long", .levels = "nvtx,kernel", .refuses = "silently"},
        NULL);
    assert_true(device_has_note(trace, "CUPTI ignores filters on API calls"));
    assert_null(strstr(trace->notes, "so they are in no range"));
    assert_true(trace->apis.count > 0);
    uint32_t linked = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        linked += trace->ops.api[i] != NVT_NONE;
    assert_true(linked && linked < trace->ops.count);
    nvt_trace_free(trace);
    trace = device_record(&(struct device_record){.how = "long", .levels = "nvtx,kernel"}, NULL);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void what_is_refused_is_named(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "pools"}, NULL);
    assert_true(
        device_has_note(trace, "CUPTI refuses to record memory pools (CUPTI_ERROR_NOT_SUPPORTED)"));
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 6);
    nvt_trace_free(trace);
}

/* CUPTI is for one tool, and cannot tell whose calls it gets: those of a second one would break the first one's. */
static void who_has_subscribed_before_is_left_alone(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "subscriber"}, NULL);
    assert_true(device_has_note(trace, "another tool has subscribed to CUPTI"));
    assert_true(device_has_note(trace, "there are no device records"));
    assert_int_equal(trace->ops.count, 0);
    assert_int_equal(device_count_ranges(trace, "forward"), 1);
    nvt_trace_free(trace);
    trace = device_record(&(struct device_record){.how = "capture",
                                                  .levels = "kernel",
                                                  .capture = "cudaProfilerApi",
                                                  .refuses = "subscriber"},
                          NULL);
    assert_true(device_has_note(trace, "does not report cudaProfilerStart"));
    assert_int_equal(trace->ops.count, 0);
    nvt_trace_free(trace);
}

/* PyTorch's profiler subscribes to nothing and takes over CUPTI's buffers, one of ours with it. */
static void what_another_tool_takes_is_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record_plainly("taken", "nvtx,kernel");
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "delivered")), 5);
    assert_int_equal(trace->ops.count, 5);
    assert_true(
        device_has_note(trace, "another tool, such as PyTorch's profiler, may have taken over"));
    nvt_trace_free(trace);
    trace = device_record_plainly("second", "nvtx,kernel");
    assert_true(device_launched_in(trace, device_find_range(trace, "kernels")) > 150);
    assert_true(device_has_note(trace, "buffers of another tool"));
    nvt_trace_free(trace);
}

static void record_rests(void)
{
    struct nvt_trace *trace = device_record(
        &(struct device_record){
            .how = "rests", .levels = "nvtx,kernel", .capture = "measure", .refuses = "empties"},
        NULL);
    assert_int_equal(device_count_ops(trace, NVT_OP_KERNEL), 10);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* CUPTI may have asked for a buffer for what is to come. Nothing is missing in it, and nobody waits for it. */
static void an_empty_buffer_is_not_waited_for(void **state)
{
    (void)state;
    device_expect_seconds(record_rests, 0, 1.75);
    struct nvt_trace *trace = device_record(
        &(struct device_record){
            .how = "held", .levels = "nvtx,kernel", .refuses = "empties", .signal = SIGKILL},
        NULL);
    nvt_trace_free(trace);
}

/* Devices that CUPTI has told of before we were there are asked for: at the end, and of what is killed, a second after its
 * first records. Those that it has told of are not. */
static void devices_are_asked_for_again(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "kernel", .refuses = "devices"}, NULL);
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "dumped");
    assert_null(trace->notes);
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){
            .how = "killed late", .levels = "kernel", .refuses = "devices", .signal = SIGKILL},
        NULL);
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "dumped");
    nvt_trace_free(trace);
    trace = device_record_plainly("plain", "kernel");
    assert_int_equal(trace->devices.count, 1);
    assert_string_equal(nvt_name(trace, trace->devices.name[0]), "stand-in");
    nvt_trace_free(trace);
}

static void old_and_missing_libraries(void **state)
{
    (void)state;
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "version"}, NULL);
    assert_true(device_has_note(trace, "API version 14"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "answers"}, NULL);
    assert_true(device_has_note(trace, "libcupti does not answer (unknown error, 999)"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "driver"}, NULL);
    assert_true(device_has_note(trace, "the driver is too old for this libcupti"));
    assert_false(device_has_note(trace, "CUPTI refuses"));
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
    trace = device_record(
        &(struct device_record){.how = "plain", .levels = "full", .refuses = "waits"}, NULL);
    assert_true(device_has_note(trace, "no records of cudaDeviceSynchronize"));
    nvt_trace_free(trace);
    trace = device_record(&(struct device_record){.how = "nothing",
                                                  .levels = "full",
                                                  .library = "/nowhere/libcupti.so"},
                          NULL);
    assert_true(device_has_note(trace, "/nowhere/libcupti.so cannot be loaded"));
    assert_int_equal(device_count_ranges(trace, "nothing"), 1);
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
    struct nvt_trace *trace = device_record(
        &(struct device_record){.how = "nothing", .levels = "full", .library = path}, NULL);
    assert_true(device_has_note(trace, "(CUPTI_ERROR_"));
    assert_int_equal(device_count_ranges(trace, "nothing"), 1);
    nvt_trace_free(trace);
}

/* --- usage --- */

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
        cmocka_unit_test(another_tool_is_left_in_place),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
