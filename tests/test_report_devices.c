/*
 * Reports about devices that several processes or traces share, about memory, copies between devices and short names,
 * over traces whose every number is worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/gaps.h"
#include "../analyze/model/cuda_names.h"
#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "gpu_trace_kit.h"

static void count_gap(void *context, const struct nvt_gap *gap)
{
    (void)gap;
    ++*(int *)context;
}

/*
 * Two processes that take turns, 100 ns each, on what one calls device 0 and the other device
 * `second`; of the GPU it is known what it is, or not. The report's notes, which the caller frees;
 * *gaps gets the number of gaps that a diagnosis sees.
 */
static char *share(uint32_t second, int known, const char *rows, int *gaps)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    for (uint32_t process = 0; process < 2; process++) {
        const struct nvt_device device = {.process = nvt_trace_process(trace, 10 + process),
                                          .device = process ? second : 0,
                                          .gpu = known ? gpu_string(trace, "GPU-5f") : 0};
        nvt_device_add(trace, &device);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const struct nvt_op op = {.start = 100 * i,
                                  .end = 100 * i + 100,
                                  .process = i % 2,
                                  .device = i % 2 ? second : 0,
                                  .thread = NVT_NONE,
                                  .launch = INT64_MIN,
                                  .name = gpu_string(trace, "gemm"),
                                  .detail = NVT_NONE};
        nvt_op_add(trace, &op);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(nvt_report_make(nvt_report_find("gpu_idle"), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_memory_equal(strchr(out, '\n') + 1, rows, strlen(rows));
    free(out);
    *gaps = 0;
    assert_int_equal(nvt_gaps(trace, NULL, count_gap, gaps, NULL, &err), 0);
    char *notes =
        input.notes.size ? strndup((const char *)input.notes.data, input.notes.size) : strdup("");
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
    assert_non_null(notes);
    return notes;
}

static void idle_of_a_shared_device(void **state)
{
    (void)state;
    int gaps;
    char *notes = share(1, 1, "(0),,400,400,0,0.0,0,0,,,\n", &gaps);
    assert_string_equal(notes, "");
    assert_int_equal(gaps, 0);
    free(notes);
    notes = share(0, 0, "(0),10,300,200,100,33.3,0,1,100.0,100.0,100\n(0),11,300,200,100,", &gaps);
    assert_non_null(strstr(notes, "note: several processes use devices of the same number"));
    assert_int_equal(gaps, 0);
    free(notes);
    notes = share(1, 0, "(0),10,300,200,100,33.3,0,1,100.0,100.0,100\n(1),11,300,200,100,", &gaps);
    assert_string_equal(notes, "");
    assert_int_equal(gaps, 2);
    free(notes);
}

/* A trace of a process that works on its device 0, which is `gpu`, for 100 ns from `origin` on. */
static struct nvt_trace *work_on(const char *path, const char *gpu, int64_t origin)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    const struct nvt_device device = {.process = nvt_trace_process(trace, 10),
                                      .gpu = gpu ? gpu_string(trace, gpu) : 0};
    const struct nvt_op op = {.end = 100,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .name = gpu_string(trace, "gemm"),
                              .detail = NVT_NONE};
    trace->origin_ns = origin;
    nvt_device_add(trace, &device);
    nvt_op_add(trace, &op);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static int tells_of_sharing(const char *first_gpu, const char *second_gpu, int64_t first_origin,
                            int64_t second_origin)
{
    static const char note[] = "note: a.nvt and b.nvt have work on the same device: when it is "
                               "idle in one, it may have work from the other\n";
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace traces[] = {{.trace = work_on("a.nvt", first_gpu, first_origin)},
                                       {.trace = work_on("b.nvt", second_gpu, second_origin)}};
    struct nvt_input input = {.traces = traces, .trace_count = 2};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("gpu_idle"), &input, &tables, &err), 0);
    int told = input.notes.size > 0;
    if (told) {
        assert_int_equal(input.notes.size, sizeof(note) - 1);
        assert_memory_equal(input.notes.data, note, sizeof(note) - 1);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
    return told;
}

/* Ranks that write a trace each, and each call the same device their first. */
static void traces_of_one_device(void **state)
{
    (void)state;
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 0, 0));
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 5000, 5090));
    assert_true(tells_of_sharing("GPU-5f", "GPU-5f", 5090, 5000));
    assert_false(tells_of_sharing("GPU-5f", "GPU-5f", 5000, 5200));
    assert_false(tells_of_sharing("GPU-5f", "GPU-5f", 5200, 5000));
    assert_false(tells_of_sharing("GPU-5f", "GPU-60", 0, 0));
    assert_false(tells_of_sharing(NULL, NULL, 0, 0));
}

/* A kernel so many ns behind the call that launched it. The trace's notes, which the caller frees. */
static char *notes_of(int64_t behind)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t process = nvt_trace_process(trace, 10);
    const struct nvt_api api = {.start = 5000000,
                                .end = 5000100,
                                .thread = nvt_trace_thread(trace, process, 11),
                                .correlation = 1,
                                .name = gpu_string(trace, "cudaLaunchKernel")};
    const struct nvt_op op = {.start = 5000000 + behind,
                              .end = 5001000 + behind,
                              .process = process,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .correlation = 1,
                              .name = gpu_string(trace, "gemm"),
                              .detail = NVT_NONE};
    nvt_api_add(trace, &api);
    nvt_op_add(trace, &op);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *notes = strdup(trace->notes ? trace->notes : "");
    nvt_trace_free(trace);
    assert_non_null(notes);
    return notes;
}

static void times_of_another_clock(void **state)
{
    (void)state;
    char *notes = notes_of(-900000);
    assert_string_equal(notes, "");
    free(notes);
    notes = notes_of(-2500000);
    assert_string_equal(notes, "1 device operation begins before the call that launched it, by "
                               "up to 2.5 ms: such times cannot be relied on\n");
    free(notes);
    /* A device's work may wait, and CLOCK_REALTIME is decades ahead of CLOCK_MONOTONIC. */
    notes = notes_of(INT64_C(3600000000000));
    assert_string_equal(notes, "");
    free(notes);
    notes = notes_of(INT64_C(1795363682241834747));
    assert_string_equal(notes, "1 device operation begins days after the call that launched it: "
                               "such times come from another clock\n");
    free(notes);
}

static void memory(void **state)
{
    (void)state;
    gpu_expect("memory_peak", 0, 1,
               "(whole trace),H100 (0),10,1,3.00,4.00,1.00\n"
               ":step,H100 (0),10,1,3.00,4.00,1.00\n"
               ":forward,H100 (0),10,1,3.00,4.00,0.00\n"
               ":backward,H100 (0),10,1,1.00,4.00,0.00\n");
    gpu_expect("memory_timeline", 0, 1,
               "50,allocate,1048576,1048576,2097152,H100 (0),10,11,0x1000,pool\n"
               "150,allocate,2097152,3145728,4194304,H100 (0),10,11,0x1000,pool\n"
               "250,free,2097152,1048576,4194304,H100 (0),10,11,0x1000,pool\n");
    gpu_expect("memory_at_peak", 0, 1,
               "H100 (0),3.00,100.0,0.00,1,150,0\n"
               "--step,2.00,66.7,0.00,1,,1\n"
               "----forward,2.00,66.7,2.00,1,,2\n"
               "--[allocated before],1.00,33.3,1.00,0,,1\n");
}

/* Without an allocator's word, levels are running sums. */
static void memory_from_single_allocations(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    for (int i = 0; i < 5; i++) {
        const struct nvt_memory_event event = {.time = i * 10,
                                               .bytes = 1 << 20,
                                               .allocated = UINT64_MAX,
                                               .reserved = UINT64_MAX,
                                               .kind = i < 3 ? NVT_MEMORY_ALLOC : NVT_MEMORY_FREE};
        nvt_memory_event_add(trace, &event);
    }
    gpu_add_range(trace, "late", 35, 36);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    assert_true(nvt_table_real(tables.items[0], 0, 4) == 3.0);
    assert_true(nvt_table_real(tables.items[0], 0, 6) == 1.0);
    assert_true(nvt_table_real(tables.items[0], 1, 4) == 2.0);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* PyTorch's allocator of the host says 0 of what it holds, which is less than what is in use: nothing is shown. */
static void memory_whose_reserve_is_not_told(void **state)
{
    (void)state;
    static const char *const reports[] = {"memory_peak", "memory_timeline", "summary"};
    static const char *const columns[] = {"Peak Reserved (MiB)", "Reserved (bytes)",
                                          "Peak Reserved (MiB)"};
    struct nvt_error err = NVT_ERROR_INIT;
    for (int told = 0; told < 2; told++) {
        struct nvt_trace *trace = nvt_trace_new("t", "test");
        struct nvt_input_trace input_trace = {.trace = trace};
        struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
        nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
        gpu_add_memory(trace, 10, NVT_MEMORY_ALLOC, 5, 5, told ? 6 : 0);
        gpu_add_memory(trace, 20, NVT_MEMORY_FREE, 5, 0, 0);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
            struct nvt_tables tables = {0};
            assert_int_equal(nvt_report_make(nvt_report_find(reports[i]), &input, &tables, &err),
                             0);
            const struct nvt_table *table = tables.items[i == 2]; /* behind the trace overview */
            assert_int_equal(nvt_table_is_null(table, 0, nvt_table_find(table, columns[i])), !told);
            nvt_tables_free(&tables);
        }
        nvt_buffer_free(&input.notes);
        nvt_trace_free(trace);
    }
}

/* Where the allocator says what is in use, what was there before the recording is no growth. */
static void memory_from_before_the_recording(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    gpu_add_memory(trace, 10, NVT_MEMORY_ALLOC, 5, 1005, 2000);
    gpu_add_memory(trace, 20, NVT_MEMORY_FREE, 5, 1000, 2000);
    gpu_add_range(trace, "early", 0, 5);
    gpu_add_range(trace, "step", 6, 25);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    static const double peaks[] = {1005, 1005, 1000}; /* the whole trace, step, early */
    for (size_t row = 0; row < 3; row++) {
        assert_true(nvt_table_real(tables.items[0], row, 4) == peaks[row]);
        assert_true(nvt_table_real(tables.items[0], row, 6) == 0);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

/* A copy between devices is communication, and no kernel; a library's call is none of CUDA's; devices never had less in
 * reserve than in use, before the first event neither. */
static void sums_up_copies_between_devices(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 10), 11);
    gpu_add_call(trace, 0, 1, 10);
    const struct nvt_api library = {.start = 5,
                                    .end = 25,
                                    .name = nvt_strings_add_text(trace->strings, "cublasSgemm_v2"),
                                    .class = NVT_API_LIBRARY};
    assert_true(nvt_api_add(trace, &library) != NVT_NONE);
    gpu_add_kernel(trace, 1, 7, "gemm", 100, 125);
    const struct nvt_op copy = {.start = 125,
                                .end = 200,
                                .detail = NVT_NONE,
                                .correlation = 2,
                                .stream = 7,
                                .kind = NVT_OP_MEMCPY,
                                .copy_kind = NVT_COPY_PTOP,
                                .name = nvt_strings_add_text(trace->strings, "copy")};
    assert_true(nvt_op_add(trace, &copy) != NVT_NONE);
    gpu_add_memory(trace, 10, NVT_MEMORY_FREE, 5, 1000, 1000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace input_trace = {.trace = trace};
    struct nvt_input input = {.traces = &input_trace, .trace_count = 1};
    struct nvt_tables tables = {0};
    assert_int_equal(nvt_report_make(nvt_report_find("summary"), &input, &tables, &err), 0);
    const struct nvt_table *devices = tables.items[1];
    assert_int_equal(
        nvt_table_int(tables.items[0], 0, nvt_table_find(tables.items[0], "CUDA Calls")), 1);
    assert_true(nvt_table_real(devices, 0, nvt_table_find(devices, "Kernels (%)")) == 25);
    assert_true(nvt_table_real(devices, 0, nvt_table_find(devices, "Busy (%)")) == 100);
    nvt_tables_free(&tables);
    assert_int_equal(nvt_report_make(nvt_report_find("memory_peak"), &input, &tables, &err), 0);
    assert_true(nvt_table_real(tables.items[0], 0, 4) == 1005);
    assert_true(nvt_table_real(tables.items[0], 0, 5) == 1005);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

static void short_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"gemm", "gemm"},
        {"void f<int>(int)", "f"},
        {"void at::native::elementwise_kernel<(int)128, at::(anonymous namespace)::g(int)>(T1)",
         "elementwise_kernel"},
        {"void ns::(anonymous namespace)::k<float, (4 > 3)>(float const*)", "k"},
        {"std::enable_if<true, void>::type cub::Reduce<a, b<c> >(int*)", "Reduce"},
        {"_Z1kPf", "k"},
        {"_ZL4gemmPKf", "gemm"},
        {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi256EEEvPT0_", "add_rmsnorm_quant_kernel"},
        {"_ZN12_GLOBAL__N_1L6reduceEPf", "reduce"},
        {"_Z9kPf", "_Z9kPf"},
        {"_Z99999999999999999999999kPf", "_Z99999999999999999999999kPf"},
        {"_ZN", "_ZN"},
        {"_Zero", "_Zero"},
        {"", ""},
        {"<<<", "<<<"},
        {"(((", "((("},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        size_t length;
        const char *start = nvt_short_name(names[i][0], strlen(names[i][0]), &length);
        assert_int_equal(length, strlen(names[i][1]));
        assert_memory_equal(start, names[i][1], length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_of_a_shared_device),
        cmocka_unit_test(traces_of_one_device),
        cmocka_unit_test(times_of_another_clock),
        cmocka_unit_test(memory),
        cmocka_unit_test(memory_from_single_allocations),
        cmocka_unit_test(memory_whose_reserve_is_not_told),
        cmocka_unit_test(memory_from_before_the_recording),
        cmocka_unit_test(sums_up_copies_between_devices),
        cmocka_unit_test(short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
