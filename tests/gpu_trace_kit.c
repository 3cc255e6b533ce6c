#include "gpu_trace_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/project.h"
#include "../analyze/model/cuda_names.h"
#include "../lib/render.h"

uint32_t gpu_string(struct nvt_trace *trace, const char *text)
{
    return nvt_strings_add_text(trace->strings, text);
}

void gpu_add_range(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    const struct nvt_range range = {.start = start, .end = end, .name = gpu_string(trace, name)};
    nvt_range_add(trace, &range);
}

void gpu_add_call(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start)
{
    const struct nvt_api api = {
        .start = start,
        .end = start + 10,
        .thread = thread,
        .correlation = correlation,
        .name = gpu_string(trace, correlation == 4 ? "cudaMemcpyAsync" : "cudaLaunchKernel")};
    nvt_api_add(trace, &api);
}

void gpu_add_kernel(struct nvt_trace *trace, uint64_t correlation, uint32_t stream,
                    const char *name, int64_t start, int64_t end)
{
    const struct nvt_kernel kernel = {4, 1, 1, 128, 1, 1, 32, 0, 16384, 0, 0, 0, 0};
    const struct nvt_op op = {.start = start,
                              .end = end,
                              .context = 1,
                              .stream = stream,
                              .correlation = correlation,
                              .name = gpu_string(trace, name),
                              .short_name = gpu_string(trace, name),
                              .detail = nvt_kernel_add(trace, &kernel),
                              .kind = NVT_OP_KERNEL};
    nvt_op_add(trace, &op);
}

void gpu_add_memory(struct nvt_trace *trace, int64_t time, uint8_t kind, uint64_t mib,
                    uint64_t allocated, uint64_t reserved)
{
    const struct nvt_memory_event event = {.time = time,
                                           .address = 0x1000,
                                           .bytes = mib << 20,
                                           .allocated = allocated << 20,
                                           .reserved = reserved << 20,
                                           .source = gpu_string(trace, "pool"),
                                           .kind = kind};
    nvt_memory_event_add(trace, &event);
}

static struct nvt_trace *make_trace(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t process = nvt_trace_process(trace, 10);
    uint32_t main_thread = nvt_trace_thread(trace, process, 11);
    uint32_t other = nvt_trace_thread(trace, process, 12);
    const struct nvt_device device = {
        .process = NVT_NONE, .name = gpu_string(trace, "H100"), .multiprocessors = 132};
    const struct nvt_op copy = {.start = 280,
                                .end = 380,
                                .context = 1,
                                .stream = 9,
                                .correlation = 4,
                                .name = gpu_string(trace, "[CUDA memcpy Host-to-Device]"),
                                .short_name = gpu_string(trace, "[CUDA memcpy Host-to-Device]"),
                                .bytes = 2000000,
                                .detail = NVT_NONE,
                                .kind = NVT_OP_MEMCPY,
                                .copy_kind = NVT_COPY_HTOD,
                                .source_kind = NVT_KIND_PAGEABLE,
                                .target_kind = NVT_KIND_DEVICE};
    nvt_device_add(trace, &device);
    gpu_add_range(trace, "step", 0, 1000);
    gpu_add_range(trace, "forward", 100, 300);
    gpu_add_range(trace, "backward", 400, 900);
    gpu_add_call(trace, main_thread, 1, 110);
    gpu_add_call(trace, main_thread, 2, 150);
    gpu_add_call(trace, other, 3, 500);
    gpu_add_call(trace, main_thread, 4, 240);
    gpu_add_kernel(trace, 1, 7, "gemm", 115, 215);
    gpu_add_kernel(trace, 2, 7, "gemm", 220, 300);
    gpu_add_kernel(trace, 3, 8, "ncclDevKernel", 520, 720);
    nvt_op_add(trace, &copy);
    gpu_add_memory(trace, 50, NVT_MEMORY_ALLOC, 1, 1, 2);
    gpu_add_memory(trace, 150, NVT_MEMORY_ALLOC, 2, 3, 4);
    gpu_add_memory(trace, 250, NVT_MEMORY_FREE, 2, 1, 4);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

void gpu_expect_of(struct nvt_input_trace *inputs, size_t count, const char *name, unsigned flags,
                   const char *rows)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input = {.traces = inputs, .trace_count = count, .project_flags = flags};
    struct nvt_tables tables = {0};
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    assert_int_equal(nvt_report_make(nvt_report_find(name), &input, &tables, &err), 0);
    assert_int_equal(nvt_render_csv(&tables, stream), 0);
    fclose(stream);
    assert_string_equal(strchr(out, '\n') + 1, rows);
    free(out);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    for (size_t i = 0; i < count; i++)
        nvt_trace_free(inputs[i].trace);
}

void gpu_expect(const char *name, unsigned flags, size_t traces, const char *rows)
{
    struct nvt_input_trace inputs[2] = {{.trace = NULL}, {.trace = NULL}};
    for (size_t i = 0; i < traces; i++)
        inputs[i].trace = make_trace();
    gpu_expect_of(inputs, traces, name, flags, rows);
}
