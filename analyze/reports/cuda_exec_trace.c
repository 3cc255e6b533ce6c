/*
 * cuda_kern_exec_trace: every kernel with the call that launched it, in the order of the calls, with nsys's columns (Nsight
 * Systems User Guide, "Statistical Reports"): the call, the queue from the call's end to the kernel's start where the kernel does
 * not start before that, the kernel, and the time from the call's start to the end of both. A table a trace: each has its own
 * time axis.
 */
#include <stdlib.h>

#include "../model/sort.h"
#include "kernel_exec.h"
#include "kernel_naming.h"
#include "report.h"

static int put_kernel(struct nvt_table *table, const struct nvt_kernel_naming *naming, uint32_t op,
                      struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t api = ops->api[op], thread = apis->thread[api], detail = ops->detail[op];
    char grid[NVT_SHAPE_MAX] = "", block[NVT_SHAPE_MAX] = "";
    int64_t ns[NVT_EXEC_TIMES];
    const char *name = nvt_kernel_naming_text(naming, op, text);
    if (!name)
        return -1;
    nvt_exec_times(trace, op, ns);
    const int is_queued = ns[NVT_EXEC_QUEUE] >= 0;
    if (detail < kernels->count) {
        nvt_shape_text(kernels->grid_x[detail], kernels->grid_y[detail], kernels->grid_z[detail],
                       grid);
        nvt_shape_text(kernels->block_x[detail], kernels->block_y[detail], kernels->block_z[detail],
                       block);
    }
    nvt_table_put(table, apis->start[api], ns[NVT_EXEC_CALL], NVT_IF(is_queued, apis->end[api]),
                  NVT_IF(is_queued, ns[NVT_EXEC_QUEUE]), ops->start[op], ns[NVT_EXEC_KERNEL],
                  ns[NVT_EXEC_TOTAL], trace->processes.pid[trace->threads.process[thread]],
                  trace->threads.tid[thread], ops->device[op], nvt_name(trace, apis->name[api]),
                  nvt_text_if_any(grid), nvt_text_if_any(block), name);
    return 0;
}

/* In the order of their calls; kernels of one call, as of a graph, in that of their own starts. */
static int put_cuda_exec_trace(struct nvt_table *table, const struct nvt_kernel_naming *naming)
{
    const struct nvt_ops *ops = &naming->trace->ops;
    int64_t *starts = malloc(((size_t)ops->count + 1) * sizeof(*starts));
    struct nvt_buffer text = {0};
    uint32_t *order = NULL;
    if (!starts)
        return -1;
    for (uint32_t i = 0; i < ops->count; i++)
        starts[i] =
            nvt_exec_is_launched(ops, i) ? naming->trace->apis.start[ops->api[i]] : INT64_MAX;
    int status = nvt_sort_order(starts, NULL, ops->count, &order);
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        uint32_t op = order ? order[i] : i;
        if (nvt_exec_is_launched(ops, op))
            status = put_kernel(table, naming, op, &text);
    }
    nvt_buffer_free(&text);
    free(order);
    free(starts);
    return status;
}

static int put_cuda_exec_trace_rows(struct nvt_table *table, const struct nvt_trace *trace,
                                    const struct nvt_making *making)
{
    struct nvt_kernel_naming naming;
    int status = nvt_kernel_naming_make(&naming, trace, making->input->naming,
                                        making->input->project_flags, making->err);
    if (!status)
        status = put_cuda_exec_trace(table, &naming);
    nvt_kernel_naming_free(&naming);
    return status;
}

const struct nvt_report nvt_report_cuda_kern_exec_trace = {
    .name = "cuda_kern_exec_trace",
    .about = "every kernel with its launching call and its time in the queue",
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = {{"API Start (ns)", NVT_MOMENTS_NS},
                {"API Dur (ns)", NVT_NS},
                {"Queue Start (ns)", NVT_MOMENTS_NS},
                {"Queue Dur (ns)", NVT_NS},
                {"Kernel Start (ns)", NVT_MOMENTS_NS},
                {"Kernel Dur (ns)", NVT_NS},
                {"Total Dur (ns)", NVT_NS},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"DevId", NVT_IDS},
                {"API Function", NVT_NAMES},
                {"GridXYZ", NVT_NAMES},
                {"BlockXYZ", NVT_NAMES},
                {"Kernel Name", NVT_NAMES}},
    .title = "CUDA kernel launch and execution time trace",
    .each_trace = put_cuda_exec_trace_rows,
};
