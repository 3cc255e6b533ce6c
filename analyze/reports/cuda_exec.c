/*
 * cuda_kern_exec_sum, cuda_kern_exec_trace: every kernel with the call that launched it, by call and kernel, and one by one in the
 * order of the calls, with nsys's headings and definitions (Nsight Systems Analysis Guide, "Statistical Reports Shipped With
 * Nsight Systems"). A is the time of the call, Q from the call's end to the kernel's start, K the kernel's time, T from the call's
 * start to the end of both. A kernel that starts before its call returns has no queue time, one that starts just then has
 * one of 0; QCount counts those that have one. Of the trace a table a trace: each has its own time axis.
 */
#include <stdlib.h>
#include <string.h>

#include "../model/groups.h"
#include "../model/sort.h"
#include "../device/kernel_naming.h"
#include "report.h"

/* Times of a kernel and its call, ns. QUEUE is below 0 where the kernel was not queued. */
enum { TOTAL, CALL, QUEUE, KERNEL, TIMES };

/* Whether the operation is a kernel whose call was recorded. */
static int is_launched(const struct nvt_ops *ops, uint32_t op)
{
    return ops->kind[op] == NVT_OP_KERNEL && ops->api[op] != NVT_NONE;
}

/* The times of one that is. */
static void times_of(const struct nvt_trace *trace, uint32_t op, int64_t ns[TIMES])
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t start = trace->apis.start[ops->api[op]], end = trace->apis.end[ops->api[op]];
    ns[TOTAL] = (end > ops->end[op] ? end : ops->end[op]) - start;
    ns[CALL] = end - start;
    ns[QUEUE] = ops->start[op] - end;
    ns[KERNEL] = ops->end[op] - ops->start[op];
}

/* --- by call and kernel --- */

/* Each of the times is a group of its own, distinguished by the last part of the key. */
enum { KEY_PID, KEY_TID, KEY_DEVICE, KEY_API, KEY_KERNEL, KEY_PHASE, KEY_COUNT };

static void collect_cuda_exec(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                              uint32_t op)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    int64_t values[TIMES];
    if (!is_launched(ops, op))
        return;
    uint32_t api = ops->api[op], thread = apis->thread[api];
    times_of(trace, op, values);
    uint32_t parts[KEY_COUNT] = {
        (uint32_t)trace->processes.pid[trace->threads.process[thread]],
        (uint32_t)trace->threads.tid[thread],
        ops->device[op],
        nvt_groups_string(groups, apis->name[api]),
        nvt_kernel_naming_key(naming, groups, op),
        TOTAL,
    };
    for (parts[KEY_PHASE] = TOTAL; parts[KEY_PHASE] < TIMES; parts[KEY_PHASE]++)
        if (parts[KEY_PHASE] != QUEUE || values[QUEUE] >= 0)
            nvt_groups_add(groups, nvt_groups_key(groups, parts, KEY_COUNT),
                           values[parts[KEY_PHASE]]);
}

static int group_cuda_exec(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_making *making)
{
    struct nvt_kernel_naming naming;
    int status = nvt_kernel_naming_make(&naming, trace, making->input, making->err);
    for (uint32_t op = 0; op < trace->ops.count && !status; op++)
        collect_cuda_exec(groups, &naming, op);
    nvt_kernel_naming_free(&naming);
    return status;
}

/* Each phase has a group of its own, but a queue in which no kernel was, which has none. */
static void put_cuda_exec_group(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    struct nvt_summary times[TIMES] = {{0}};
    uint32_t key[NVT_KEY_PARTS];
    memcpy(key, groups->groups[number].key, sizeof(key));
    if (key[KEY_PHASE] != TOTAL)
        return;
    for (; key[KEY_PHASE] < TIMES; key[KEY_PHASE]++) {
        uint32_t phase = nvt_groups_key(groups, key, KEY_COUNT);
        if (phase != NVT_NONE && groups->groups[phase].count)
            times[key[KEY_PHASE]] = nvt_groups_summary(groups, phase);
    }
    nvt_table_put(table, (int32_t)key[KEY_PID], (int32_t)key[KEY_TID], key[KEY_DEVICE],
                  times[TOTAL].n, times[QUEUE].n, &times[TOTAL], &times[CALL], &times[QUEUE],
                  &times[KERNEL], nvt_groups_name(groups, key[KEY_API]),
                  nvt_groups_name(groups, key[KEY_KERNEL]));
}

const struct nvt_report nvt_report_cuda_kern_exec_sum = {
    .name = "cuda_kern_exec_sum",
    .about = "kernels by launching call: time in the call, in the queue, on the device",
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = {{"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"DevId", NVT_IDS},
                {"Count", NVT_COUNTS},
                {"QCount", NVT_COUNTS},
                NVT_SUMMARY_COLUMNS("T"),
                NVT_SUMMARY_COLUMNS("A"),
                NVT_SUMMARY_COLUMNS("Q"),
                NVT_SUMMARY_COLUMNS("K"),
                {"API Name", NVT_NAMES},
                {"Kernel Name", NVT_KERNELS}},
    .title = "CUDA kernel launch and execution time summary",
    .order = {"-TAvg (ns)", "API Name", "Kernel Name"},
    .nothing = "no kernels with their launching calls in the input",
    .group = group_cuda_exec,
    .put_group = put_cuda_exec_group,
};

/* --- one by one --- */

static int put_kernel(struct nvt_table *table, const struct nvt_kernel_naming *naming, uint32_t op,
                      struct nvt_buffer *text)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t api = ops->api[op], thread = apis->thread[api], detail = ops->detail[op];
    char grid[NVT_SHAPE_MAX] = "", block[NVT_SHAPE_MAX] = "";
    int64_t ns[TIMES];
    const char *name = nvt_kernel_naming_text(naming, op, text);
    if (!name)
        return -1;
    times_of(trace, op, ns);
    const int is_queued = ns[QUEUE] >= 0;
    if (detail < kernels->count) {
        nvt_shape_text(kernels->grid_x[detail], kernels->grid_y[detail], kernels->grid_z[detail],
                       grid);
        nvt_shape_text(kernels->block_x[detail], kernels->block_y[detail], kernels->block_z[detail],
                       block);
    }
    nvt_table_put(table, apis->start[api], ns[CALL], NVT_IF(is_queued, apis->end[api]),
                  NVT_IF(is_queued, ns[QUEUE]), ops->start[op], ns[KERNEL], ns[TOTAL],
                  trace->processes.pid[trace->threads.process[thread]], trace->threads.tid[thread],
                  ops->device[op], nvt_name(trace, apis->name[api]), nvt_text_if_any(grid),
                  nvt_text_if_any(block), name);
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
        starts[i] = is_launched(ops, i) ? naming->trace->apis.start[ops->api[i]] : INT64_MAX;
    int status = nvt_sort_order(starts, NULL, ops->count, &order);
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        uint32_t op = order ? order[i] : i;
        if (is_launched(ops, op))
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
    int status = nvt_kernel_naming_make(&naming, trace, making->input, making->err);
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
                {"Kernel Name", NVT_KERNELS}},
    .title = "CUDA kernel launch and execution time trace",
    .each_trace = put_cuda_exec_trace_rows,
};
