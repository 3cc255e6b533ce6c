/*
 * cuda_gpu_trace, cuda_api_trace: every device operation and every CUDA call in the order of its
 * start, with nsys's columns (Nsight Systems Analysis Guide). Columns that are not on record
 * (green contexts; priorities of threads, but in nsys's exports) stay empty. A table a trace: each has its own time axis.
 */
#include <stdio.h>

#include "../model/cuda_names.h"
#include "../device/devices.h"
#include "../device/kernel_naming.h"
#include "report.h"

static void put_kernel(struct nvt_table *table, const struct nvt_kernels *kernels, uint32_t at)
{
    const uint32_t grid = kernels->grid_x[at], block = kernels->block_x[at];
    const int has_shared =
        kernels->registers[at] || kernels->static_shared[at] || kernels->dynamic_shared[at];
    nvt_table_more(table, NVT_IF(grid, grid), NVT_IF(grid, kernels->grid_y[at]),
                   NVT_IF(grid, kernels->grid_z[at]), NVT_IF(block, block),
                   NVT_IF(block, kernels->block_y[at]), NVT_IF(block, kernels->block_z[at]),
                   NVT_IF(kernels->registers[at], kernels->registers[at]),
                   NVT_IF(has_shared, kernels->static_shared[at] / NVT_MEGABYTE),
                   NVT_IF(has_shared, kernels->dynamic_shared[at] / NVT_MEGABYTE));
}

/* nsys shows the kind of a memset's memory as its source. */
static void put_transfer(struct nvt_table *table, const struct nvt_ops *ops, uint32_t op)
{
    const double megabytes = (double)ops->bytes[op] / NVT_MEGABYTE;
    int64_t duration = ops->end[op] - ops->start[op];
    int is_copy = ops->kind[op] == NVT_OP_MEMCPY;
    const int is_known = ops->bytes[op] != 0;
    nvt_table_more(table, NVT_IF(is_known, megabytes),
                   NVT_IF(is_known && duration > 0, megabytes / ((double)duration * 1e-9)),
                   nvt_memory_label(is_copy ? ops->source_kind[op] : ops->target_kind[op]),
                   NVT_IF(is_copy, nvt_memory_label(ops->target_kind[op])));
}

/* What kernels and transfers have columns for. */
enum { OF_KERNEL = 9, OF_TRANSFER = 4 };

static int put_cuda_trace_op(struct nvt_table *table, const struct nvt_kernel_naming *naming,
                             uint32_t op, struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const char *name = nvt_kernel_naming_text(naming, op, text);
    const int is_kernel = ops->kind[op] == NVT_OP_KERNEL;
    if (!name)
        return -1;
    nvt_table_put(table, ops->start[op], ops->end[op] - ops->start[op], ops->correlation[op]);
    if (is_kernel && ops->detail[op] < trace->kernels.count)
        put_kernel(table, &trace->kernels, ops->detail[op]);
    else
        nvt_table_skip(table, OF_KERNEL);
    if (is_kernel)
        nvt_table_skip(table, OF_TRANSFER);
    else
        put_transfer(table, ops, op);
    nvt_table_more(table, NVT_DEVICE(trace, ops->process[op], ops->device[op]), ops->context[op],
                   NVT_NULL, ops->stream[op], name);
    return 0;
}

static int put_ops(struct nvt_table *table, const struct nvt_trace *trace,
                   const struct nvt_making *making)
{
    struct nvt_kernel_naming naming;
    struct nvt_buffer text = {0};
    int status = nvt_kernel_naming_make(&naming, trace, making->input, making->err);
    for (uint32_t i = 0; i < trace->ops.count && !status; i++)
        status = put_cuda_trace_op(table, &naming, i, &text);
    nvt_kernel_naming_free(&naming);
    nvt_buffer_free(&text);
    return status;
}

static void put_cuda_trace_call(struct nvt_table *table, const struct nvt_trace *trace,
                                uint32_t api)
{
    const struct nvt_apis *apis = &trace->apis;
    uint32_t thread = apis->thread[api];
    nvt_table_put(
        table, apis->start[api], apis->end[api] - apis->start[api],
        nvt_name(trace, apis->name[api]), apis->result[api], (int64_t)apis->correlation[api],
        trace->processes.pid[trace->threads.process[thread]], trace->threads.tid[thread],
        NVT_IF(trace->threads.has_priority[thread], trace->threads.priority[thread]),
        NVT_IF(trace->threads.name[thread], nvt_name(trace, trace->threads.name[thread])));
}

static int put_cuda_trace_calls(struct nvt_table *table, const struct nvt_trace *trace,
                                const struct nvt_making *making)
{
    (void)making;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        if (nvt_is_cuda_call(&trace->apis, i))
            put_cuda_trace_call(table, trace, i);
    return 0;
}

const struct nvt_report nvt_report_cuda_gpu_trace = {
    .name = "cuda_gpu_trace",
    .about = "every kernel, copy and memset",
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = {{"Start (ns)", NVT_MOMENTS_NS}, {"Duration (ns)", NVT_NS},
                {"CorrId", NVT_SPARE_IDS},      {"GrdX", NVT_SPARE_COUNTS},
                {"GrdY", NVT_SPARE_COUNTS},     {"GrdZ", NVT_SPARE_COUNTS},
                {"BlkX", NVT_SPARE_COUNTS},     {"BlkY", NVT_SPARE_COUNTS},
                {"BlkZ", NVT_SPARE_COUNTS},     {"Reg/Trd", NVT_COUNTS},
                {"StcSMem (MB)", NVT_MB},       {"DymSMem (MB)", NVT_MB},
                {"Bytes (MB)", NVT_MB},         {"Throughput (MB/s)", NVT_REALS("MB/s", 3)},
                {"SrcMemKd", NVT_NAMES},        {"DstMemKd", NVT_NAMES},
                {"Device", NVT_NAMES},          {"Ctx", NVT_SPARE_IDS},
                {"GreenCtx", NVT_SPARE_IDS},    {"Strm", NVT_SPARE_IDS},
                {"Name", NVT_KERNELS}},
    .title = "CUDA GPU trace",
    .each_trace = put_ops,
};

const struct nvt_report nvt_report_cuda_api_trace = {
    .name = "cuda_api_trace",
    .about = "every CUDA call",
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"Name", NVT_NAMES},
                {"Result", NVT_IDS},
                {"CorrID", NVT_SPARE_IDS},
                {"Pid", NVT_SPARE_IDS},
                {"Tid", NVT_SPARE_IDS},
                {"T-Pri", NVT_SPARE_IDS},
                {"Thread Name", NVT_NAMES}},
    .title = "CUDA API trace",
    .each_trace = put_cuda_trace_calls,
};
