/*
 * PyTorch's profiles of devices other than NVIDIA's, written here in the way that ROCm's and XPU's
 * are: what calls launched and waited, and what the device is called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/devices.h"
#include "../analyze/device/gaps.h"
#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

#define EVENT(category, name, tid, ts, dur, args)                                                  \
    "{\"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"" name                                 \
    "\", \"pid\": 77, \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define CORRELATION(number) "\"correlation\": " number
#define ON_DEVICE(number)   "\"device\": 2, \"stream\": 3, \"correlation\": " number

static void keep_cause(void *context, const struct nvt_gap *gap)
{
    *(enum nvt_gap_cause *)context = gap->cause;
}

/* ROCm: .item() is hipMemcpyWithStream, which returns when the copy is done. */
static void hip_waits_by_its_own_names(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    enum nvt_gap_cause cause = NVT_GAP_LATENCY;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "{\"traceEvents\": [" EVENT(
            "cuda_runtime", "hipLaunchKernel", "1", "10", "5",
            CORRELATION(
                "1")) "," EVENT("kernel", "a", "3", "20", "10",
                                ON_DEVICE(
                                    "1")) "," EVENT("cuda_runtime", "hipMemcpyWithStream", "1",
                                                    "16", "60",
                                                    CORRELATION(
                                                        "2")) "," EVENT("cuda_runtime",
                                                                        "hipLaunchKernel", "1",
                                                                        "80", "5",
                                                                        CORRELATION(
                                                                            "3")) "," EVENT("kerne"
                                                                                            "l",
                                                                                            "b",
                                                                                            "3",
                                                                                            "90",
                                                                                            "10",
                                                                                            ON_DEVICE(
                                                                                                "3")) "]}");
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    assert_int_equal(nvt_gaps(trace, NULL, keep_cause, &cause, NULL, &err), 0);
    assert_int_equal(cause, NVT_GAP_WAIT);
    nvt_trace_free(trace);
}

static void xpu_has_calls(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "{\"traceEvents\": [" EVENT(
            "cpu_op", "aten::mm", "1", "5", "20",
            "\"External id\": 1") "," EVENT("xpu_runtime", "urEnqueueKernelLaunch", "1", "10", "5",
                                            CORRELATION(
                                                "1")) "," EVENT("kernel", "gemm_kernel", "3", "20",
                                                                "10",
                                                                ON_DEVICE(
                                                                    "1")) "," EVENT("xpu_driver",
                                                                                    "zeEventHostS"
                                                                                    "ynchronize",
                                                                                    "1", "16", "3",
                                                                                    "") "]}");
    assert_string_equal(nvt_trace_meta(trace, "backend"), "xpu");
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->apis.count, 2);
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.api[0], 0);
    assert_true(nvt_call_launches("urEnqueueKernelLaunch"));
    assert_true(nvt_call_waits("zeEventHostSynchronize"));
    nvt_trace_free(trace);
}

/* Titles are of the devices that did the work. */
static void titles_name_what_worked(void **state)
{
    (void)state;
    static const struct {
        const char *device, *report, *title;
    } cases[] = {{"AMD Instinct MI210", "cuda_gpu_kern_sum", "HIP GPU kernel summary"},
                 {"Intel(R) Data Center GPU Max 1550", "cuda_gpu_sum", "XPU summary"},
                 {"NVIDIA H100 80GB HBM3", "cuda_gpu_sum", "CUDA GPU summary"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char text[600];
        const char *path = cli_in(cli_folder, "title.json");
        snprintf(text, sizeof(text),
                 "{\"deviceProperties\": [{\"id\": 2, \"name\": \"%s\"}], \"traceEvents\": [" EVENT(
                     "kernel", "a", "3", "20", "10", ON_DEVICE("1")) "]}",
                 cases[i].device);
        cli_write_file(path, text, strlen(text));
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "stats", "-r", cases[i].report, path, NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.out, cases[i].title))
            fail_msg("no \"%s\" in:\n%s", cases[i].title, result.out);
        cli_result_free(&result);
    }
}

/* No title of a trace of ROCm says CUDA, whatever is asked for. */
static void no_title_of_rocm_says_cuda(void **state)
{
    (void)state;
    static const char *const paths[] = {"tests/fuzz/corpus/rocprofv3/whole.json",
                                        "tests/fuzz/corpus/kineto/rocprof.json"};
    for (size_t i = 0; i < NVT_COUNT_OF(paths); i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "stats", "-r", "all", paths[i], NULL});
        cli_expect_status(&result, 0);
        size_t titles = 0;
        char *rest = NULL;
        for (char *line = strtok_r(result.out, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            if (!strstr(line, "  [") || line[strlen(line) - 1] != ']')
                continue;
            titles++;
            if (strstr(line, "CUDA"))
                fail_msg("%s", line);
        }
        assert_true(titles > 10);
        cli_result_free(&result);
    }
}

/* Without a call, the device's name tells it. */
static void a_device_has_a_backend(void **state)
{
    (void)state;
    static const struct {
        const char *device, *backend;
    } cases[] = {{"AMD Instinct MI210", "hip"},
                 {"Intel(R) Data Center GPU Max 1550", "xpu"},
                 {"NVIDIA H100 80GB HBM3", "cuda"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char text[600];
        snprintf(text, sizeof(text),
                 "{\"deviceProperties\": [{\"id\": 2, \"name\": \"%s\"}], \"traceEvents\": [" EVENT(
                     "kernel", "a", "3", "20", "10", ON_DEVICE("1")) "]}",
                 cases[i].device);
        struct nvt_trace *trace = kit_read_text("t.json", text);
        assert_string_equal(nvt_trace_meta(trace, "backend"), cases[i].backend);
        nvt_trace_free(trace);
    }
}

/* ROCm numbers devices of events from 2 on, and those that it lists from 0. */
static void a_device_that_is_not_listed_is_like_the_others(void **state)
{
    (void)state;
    static const struct {
        const char *listed, *named;
    } cases[] = {{"AMD Instinct MI300X", "AMD Instinct MI300X"}, {"AMD Instinct MI210", ""}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char text[600];
        snprintf(text, sizeof(text),
                 "{\"deviceProperties\": [{\"id\": 0, \"name\": \"AMD Instinct MI300X\"}, "
                 "{\"id\": 1, \"name\": \"%s\"}], \"traceEvents\": [" EVENT(
                     "kernel", "a", "3", "20", "10", ON_DEVICE("1")) "]}",
                 cases[i].listed);
        struct nvt_trace *trace = kit_read_text("t.json", text);
        assert_string_equal(nvt_device_name(trace, 0, 2), cases[i].named);
        assert_string_equal(nvt_device_name(trace, 0, 0), "AMD Instinct MI300X");
        assert_string_equal(nvt_device_name(trace, 0, NVT_NONE), "");
        nvt_trace_free(trace);
    }
}

static void count_gap(void *context, const struct nvt_gap *gap)
{
    (void)gap;
    ++*(int *)context;
}

/* The cells of the first row of a report, by their headings. */
static void expect_row(const char *name, struct nvt_trace *trace, const char *const headings[],
                       const int64_t values[], size_t count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    for (size_t i = 0; i < count; i++) {
        size_t column = nvt_table_find(tables.items[0], headings[i]);
        assert_true(column != SIZE_MAX);
        assert_int_equal(nvt_table_int(tables.items[0], 0, column), values[i]);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
}

/* One kernel begins 1 ns behind another, the next 2 ns behind that: PyTorch adds the former to all of ROCm's. */
static void a_nanosecond_of_rocm_is_no_gap(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int gaps;
        int64_t idle;
    } cases[] = {{"hipLaunchKernel", 1, 2}, {"cudaLaunchKernel", 2, 3}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        char text[1200];
        int gaps = 0;
        snprintf(
            text, sizeof(text),
            "{\"traceEvents\": [" EVENT(
                "cuda_runtime", "%s", "1", "10", "5",
                CORRELATION(
                    "1")) "," EVENT("kernel", "a", "3", "20", "10",
                                    ON_DEVICE(
                                        "1")) "," EVENT("kernel", "b", "3", "30.001", "9.999",
                                                        ON_DEVICE(
                                                            "2")) "," EVENT("kernel", "c", "3",
                                                                            "40.002", "5",
                                                                            ON_DEVICE("3")) "]}",
            cases[i].call);
        struct nvt_trace *trace = kit_read_text("t.json", text);
        assert_int_equal(nvt_gaps(trace, NULL, count_gap, &gaps, NULL, &err), 0);
        assert_int_equal(gaps, cases[i].gaps);
        expect_row("gpu_idle", trace,
                   (const char *[]){"Span (ns)", "Busy (ns)", "Idle (ns)", "Gaps"},
                   (const int64_t[]){25002, 25002 - cases[i].idle, cases[i].idle, gaps}, 4);
        expect_row("overlap", trace, (const char *[]){"Idle (ns)", "Only Compute (ns)"},
                   (const int64_t[]){cases[i].idle, 25002 - cases[i].idle}, 2);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nanosecond_of_rocm_is_no_gap),
        cmocka_unit_test(a_device_that_is_not_listed_is_like_the_others),
        cmocka_unit_test(hip_waits_by_its_own_names),
        cmocka_unit_test(xpu_has_calls),
        cmocka_unit_test(titles_name_what_worked),
        cmocka_unit_test(no_title_of_rocm_says_cuda),
        cmocka_unit_test(a_device_has_a_backend),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
