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

enum { CALL_START, CALL_TIME, QUEUE_START, QUEUE_TIME, KERNEL_START, KERNEL_TIME, TOTAL };
enum { PID = TOTAL + 1, TID, DEVICE, CALL, GRID, BLOCK, KERNEL };

static const struct nvt_column_spec columns[] = {
    [CALL_START] = {"API Start (ns)", "ns", NVT_INT, 0, 0},
    [CALL_TIME] = {"API Dur (ns)", "ns", NVT_INT, 0, 0},
    [QUEUE_START] = {"Queue Start (ns)", "ns", NVT_INT, 0, 0},
    [QUEUE_TIME] = {"Queue Dur (ns)", "ns", NVT_INT, 0, 0},
    [KERNEL_START] = {"Kernel Start (ns)", "ns", NVT_INT, 0, 0},
    [KERNEL_TIME] = {"Kernel Dur (ns)", "ns", NVT_INT, 0, 0},
    [TOTAL] = {"Total Dur (ns)", "ns", NVT_INT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [DEVICE] = {"DevId", "", NVT_INT, 0, NVT_PLAIN},
    [CALL] = {"API Function", "", NVT_TEXT, 0, 0},
    [GRID] = {"GridXYZ", "", NVT_TEXT, 0, 0},
    [BLOCK] = {"BlockXYZ", "", NVT_TEXT, 0, 0},
    [KERNEL] = {"Kernel Name", "", NVT_TEXT, 0, 0},
};

static void put_shape(struct nvt_table *table, size_t row, size_t column, uint32_t x, uint32_t y,
                      uint32_t z)
{
    char text[NVT_SHAPE_MAX];
    nvt_table_set_text(table, row, column, nvt_shape_text(x, y, z, text));
}

static int put_kernel(struct nvt_table *table, const struct nvt_kernel_naming *naming, uint32_t op,
                      struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t api = ops->api[op], thread = apis->thread[api], detail = ops->detail[op];
    int64_t ns[NVT_EXEC_TIMES];
    const char *name = nvt_kernel_naming_text(naming, op, text);
    if (!name)
        return -1;
    size_t row = nvt_table_add_row(table);
    nvt_exec_times(trace, op, ns);
    nvt_table_set_int(table, row, CALL_START, apis->start[api]);
    nvt_table_set_int(table, row, CALL_TIME, ns[NVT_EXEC_CALL]);
    if (ns[NVT_EXEC_QUEUE] >= 0) {
        nvt_table_set_int(table, row, QUEUE_START, apis->end[api]);
        nvt_table_set_int(table, row, QUEUE_TIME, ns[NVT_EXEC_QUEUE]);
    }
    nvt_table_set_int(table, row, KERNEL_START, ops->start[op]);
    nvt_table_set_int(table, row, KERNEL_TIME, ns[NVT_EXEC_KERNEL]);
    nvt_table_set_int(table, row, TOTAL, ns[NVT_EXEC_TOTAL]);
    nvt_table_set_int(table, row, PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, TID, trace->threads.tid[thread]);
    nvt_table_set_int(table, row, DEVICE, ops->device[op]);
    nvt_table_set_text(table, row, CALL, nvt_name(trace, apis->name[api]));
    if (detail < kernels->count) {
        put_shape(table, row, GRID, kernels->grid_x[detail], kernels->grid_y[detail],
                  kernels->grid_z[detail]);
        put_shape(table, row, BLOCK, kernels->block_x[detail], kernels->block_y[detail],
                  kernels->block_z[detail]);
    }
    nvt_table_set_text(table, row, KERNEL, name);
    return 0;
}

/* In the order of their calls; kernels of one call, as of a graph, in that of their own starts. */
static int put_all(struct nvt_table *table, const struct nvt_kernel_naming *naming)
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

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_table *table =
            nvt_report_trace_table(&nvt_report_cuda_kern_exec_trace, input, trace,
                                   "CUDA kernel launch and execution time trace", err);
        if (!table)
            return -1;
        struct nvt_kernel_naming naming;
        status = nvt_kernel_naming_make(&naming, trace, input->naming, input->project_flags, err);
        if (!status && put_all(table, &naming))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        nvt_kernel_naming_free(&naming);
        if (status)
            nvt_table_free(table);
        else
            status = nvt_report_add(tables, table, err);
    }
    return status;
}

const struct nvt_report nvt_report_cuda_kern_exec_trace = {
    .name = "cuda_kern_exec_trace",
    .about = "every kernel with its launching call and its time in the queue",
    .needs = NVT_NEEDS_TRACES,
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
