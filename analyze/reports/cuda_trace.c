/*
 * cuda_gpu_trace, cuda_api_trace: every device operation and every CUDA call in the order of its
 * start, with nsys's columns (Nsight Systems Analysis Guide). Columns that are not on record
 * (green contexts; priorities of threads, but in nsys's exports) stay empty. A table a trace: each has its own time axis.
 */
#include <stdio.h>

#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "kernel_naming.h"
#include "report.h"

#define MEGABYTE 1e6

enum {
    G_START,
    G_DURATION,
    G_CORRELATION,
    G_GRID,
    G_BLOCK = G_GRID + 3,
    G_REGISTERS = G_BLOCK + 3
};
enum { G_STATIC = G_REGISTERS + 1, G_DYNAMIC, G_BYTES, G_THROUGHPUT, G_SOURCE, G_TARGET, G_DEVICE };
enum { G_CONTEXT = G_DEVICE + 1, G_GREEN, G_STREAM, G_NAME };

static const struct nvt_column_spec gpu_columns[] = {{"Start (ns)", "ns", NVT_INT, 0, 0},
                                                     {"Duration (ns)", "ns", NVT_INT, 0, 0},
                                                     {"CorrId", "", NVT_INT, 0, NVT_PLAIN},
                                                     {"GrdX", "", NVT_INT, 0, 0},
                                                     {"GrdY", "", NVT_INT, 0, 0},
                                                     {"GrdZ", "", NVT_INT, 0, 0},
                                                     {"BlkX", "", NVT_INT, 0, 0},
                                                     {"BlkY", "", NVT_INT, 0, 0},
                                                     {"BlkZ", "", NVT_INT, 0, 0},
                                                     {"Reg/Trd", "", NVT_INT, 0, 0},
                                                     {"StcSMem (MB)", "MB", NVT_REAL, 3, 0},
                                                     {"DymSMem (MB)", "MB", NVT_REAL, 3, 0},
                                                     {"Bytes (MB)", "MB", NVT_REAL, 3, 0},
                                                     {"Throughput (MB/s)", "MB/s", NVT_REAL, 3, 0},
                                                     {"SrcMemKd", "", NVT_TEXT, 0, 0},
                                                     {"DstMemKd", "", NVT_TEXT, 0, 0},
                                                     {"Device", "", NVT_TEXT, 0, 0},
                                                     {"Ctx", "", NVT_INT, 0, NVT_PLAIN},
                                                     {"GreenCtx", "", NVT_INT, 0, NVT_PLAIN},
                                                     {"Strm", "", NVT_INT, 0, NVT_PLAIN},
                                                     {"Name", "", NVT_TEXT, 0, 0}};

static void put_kernel(struct nvt_table *table, size_t row, const struct nvt_kernels *kernels,
                       uint32_t at)
{
    nvt_table_set_int(table, row, G_GRID, kernels->grid_x[at]);
    nvt_table_set_int(table, row, G_GRID + 1, kernels->grid_y[at]);
    nvt_table_set_int(table, row, G_GRID + 2, kernels->grid_z[at]);
    nvt_table_set_int(table, row, G_BLOCK, kernels->block_x[at]);
    nvt_table_set_int(table, row, G_BLOCK + 1, kernels->block_y[at]);
    nvt_table_set_int(table, row, G_BLOCK + 2, kernels->block_z[at]);
    nvt_table_set_int(table, row, G_REGISTERS, kernels->registers[at]);
    nvt_table_set_real(table, row, G_STATIC, kernels->static_shared[at] / MEGABYTE);
    nvt_table_set_real(table, row, G_DYNAMIC, kernels->dynamic_shared[at] / MEGABYTE);
}

/* nsys shows the kind of a memset's memory as its source. */
static void put_transfer(struct nvt_table *table, size_t row, const struct nvt_ops *ops,
                         uint32_t op)
{
    int64_t duration = ops->end[op] - ops->start[op];
    int is_copy = ops->kind[op] == NVT_OP_MEMCPY;
    nvt_table_set_real(table, row, G_BYTES, (double)ops->bytes[op] / MEGABYTE);
    if (duration > 0)
        nvt_table_set_real(table, row, G_THROUGHPUT,
                           (double)ops->bytes[op] / MEGABYTE / ((double)duration * 1e-9));
    nvt_table_set_text(table, row, G_SOURCE,
                       nvt_memory_label(is_copy ? ops->source_kind[op] : ops->target_kind[op]));
    if (is_copy)
        nvt_table_set_text(table, row, G_TARGET, nvt_memory_label(ops->target_kind[op]));
}

static int put_op(struct nvt_table *table, const struct nvt_kernel_naming *naming, uint32_t op,
                  struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const char *name = nvt_kernel_naming_text(naming, op, text);
    if (!name)
        return -1;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, G_START, ops->start[op]);
    nvt_table_set_int(table, row, G_DURATION, ops->end[op] - ops->start[op]);
    nvt_table_set_int(table, row, G_CORRELATION, (int64_t)ops->correlation[op]);
    if (ops->kind[op] != NVT_OP_KERNEL)
        put_transfer(table, row, ops, op);
    else if (ops->detail[op] != NVT_NONE)
        put_kernel(table, row, &trace->kernels, ops->detail[op]);
    nvt_put_device(table, row, G_DEVICE, trace, ops->process[op], ops->device[op]);
    nvt_table_set_int(table, row, G_CONTEXT, ops->context[op]);
    nvt_table_set_int(table, row, G_STREAM, ops->stream[op]);
    nvt_table_set_text(table, row, G_NAME, name);
    return 0;
}

static int fill_ops(struct nvt_table *table, const struct nvt_trace *trace,
                    const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_kernel_naming naming;
    struct nvt_buffer text = {0};
    int status = nvt_kernel_naming_make(&naming, trace, input->naming, input->project_flags, err);
    for (uint32_t i = 0; i < trace->ops.count && !status; i++)
        if (put_op(table, &naming, i, &text))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_kernel_naming_free(&naming);
    nvt_buffer_free(&text);
    return status;
}

enum { A_START, A_DURATION, A_NAME, A_RESULT, A_CORRELATION, A_PID, A_TID, A_PRIORITY, A_THREAD };

static const struct nvt_column_spec api_columns[] = {
    {"Start (ns)", "ns", NVT_INT, 0, 0},   {"Duration (ns)", "ns", NVT_INT, 0, 0},
    {"Name", "", NVT_TEXT, 0, 0},          {"Result", "", NVT_INT, 0, NVT_PLAIN},
    {"CorrID", "", NVT_INT, 0, NVT_PLAIN}, {"Pid", "", NVT_INT, 0, NVT_PLAIN},
    {"Tid", "", NVT_INT, 0, NVT_PLAIN},    {"T-Pri", "", NVT_INT, 0, NVT_PLAIN},
    {"Thread Name", "", NVT_TEXT, 0, 0}};

static void put_call(struct nvt_table *table, const struct nvt_trace *trace, uint32_t api)
{
    const struct nvt_apis *apis = &trace->apis;
    uint32_t thread = apis->thread[api];
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, A_START, apis->start[api]);
    nvt_table_set_int(table, row, A_DURATION, apis->end[api] - apis->start[api]);
    nvt_table_set_text(table, row, A_NAME, nvt_name(trace, apis->name[api]));
    nvt_table_set_int(table, row, A_RESULT, apis->result[api]);
    nvt_table_set_int(table, row, A_CORRELATION, (int64_t)apis->correlation[api]);
    nvt_table_set_int(table, row, A_PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, A_TID, trace->threads.tid[thread]);
    if (trace->threads.has_priority[thread])
        nvt_table_set_int(table, row, A_PRIORITY, trace->threads.priority[thread]);
    if (trace->threads.name[thread])
        nvt_table_set_text(table, row, A_THREAD, nvt_name(trace, trace->threads.name[thread]));
}

static int fill_calls(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_input *input, struct nvt_error *err)
{
    (void)input;
    (void)err;
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++)
        if (nvt_is_cuda_call(apis, i))
            put_call(table, trace, i);
    return 0;
}

typedef int fill_table(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_input *input, struct nvt_error *err);

static int make(const struct nvt_report *report, const char *what, fill_table *fill,
                struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_table *table = nvt_report_trace_table(report, input, trace, what, err);
        if (!table)
            return -1;
        if (fill(table, trace, input, err)) {
            nvt_table_free(table);
            return -1;
        }
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    return 0;
}

static int make_gpu(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_cuda_gpu_trace, "CUDA GPU trace", fill_ops, input, tables, err);
}

static int make_api(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return make(&nvt_report_cuda_api_trace, "CUDA API trace", fill_calls, input, tables, err);
}

const struct nvt_report nvt_report_cuda_gpu_trace = {
    .name = "cuda_gpu_trace",
    .about = "every kernel, copy and memset",
    .needs = NVT_NEEDS_TRACES,
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = gpu_columns,
    .column_count = sizeof(gpu_columns) / sizeof(gpu_columns[0]),
    .make = make_gpu,
};

const struct nvt_report nvt_report_cuda_api_trace = {
    .name = "cuda_api_trace",
    .about = "every CUDA call of the host",
    .needs = NVT_NEEDS_TRACES,
    .columns = api_columns,
    .column_count = sizeof(api_columns) / sizeof(api_columns[0]),
    .make = make_api,
};
