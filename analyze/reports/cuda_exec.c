/*
 * cuda_kern_exec_sum: from launch to end, of every kernel by the call that launched it, with nsys's
 * headings and definitions (Nsight Systems Analysis Guide): A is the time of the call, Q from the
 * call's end to the kernel's start, K the kernel's time, T from the call's start to the end of
 * both. A kernel that starts before its call returns has no queue time, one that starts just then has
 * one of 0; QCount counts those that have one.
 */
#include <string.h>

#include "../model/groups.h"
#include "kernel_exec.h"
#include "kernel_naming.h"
#include "report.h"

/* The phases are groups of their own, distinguished by the last part of the key. */
enum { TOTAL = NVT_EXEC_TOTAL, QUEUE = NVT_EXEC_QUEUE, PHASES = NVT_EXEC_TIMES };
enum { KEY_PID, KEY_TID, KEY_DEVICE, KEY_API, KEY_KERNEL, KEY_PHASE, KEY_COUNT };

static void collect_cuda_exec(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                              uint32_t op)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_apis *apis = &trace->apis;
    int64_t values[PHASES];
    if (!nvt_exec_is_launched(ops, op))
        return;
    uint32_t api = ops->api[op], thread = apis->thread[api];
    nvt_exec_times(trace, op, values);
    uint32_t parts[KEY_COUNT] = {
        (uint32_t)trace->processes.pid[trace->threads.process[thread]],
        (uint32_t)trace->threads.tid[thread],
        ops->device[op],
        nvt_groups_string(groups, apis->name[api]),
        nvt_kernel_naming_key(naming, groups, op),
        TOTAL,
    };
    for (parts[KEY_PHASE] = TOTAL; parts[KEY_PHASE] < PHASES; parts[KEY_PHASE]++)
        if (parts[KEY_PHASE] != QUEUE || values[QUEUE] >= 0)
            nvt_groups_add(groups, nvt_groups_key(groups, parts, KEY_COUNT),
                           values[parts[KEY_PHASE]]);
}

static int group_cuda_exec(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_making *making)
{
    struct nvt_kernel_naming naming;
    int status = nvt_kernel_naming_make(&naming, trace, making->input->naming,
                                        making->input->project_flags, making->err);
    for (uint32_t op = 0; op < trace->ops.count && !status; op++)
        collect_cuda_exec(groups, &naming, op);
    nvt_kernel_naming_free(&naming);
    return status;
}

/* Each phase has a group of its own, but a queue in which no kernel was, which has none. */
static void put_cuda_exec_group(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    struct nvt_summary times[PHASES] = {{0}};
    uint32_t key[NVT_KEY_PARTS];
    memcpy(key, groups->groups[number].key, sizeof(key));
    if (key[KEY_PHASE] != TOTAL)
        return;
    for (; key[KEY_PHASE] < PHASES; key[KEY_PHASE]++) {
        uint32_t phase = nvt_groups_key(groups, key, KEY_COUNT);
        if (phase != NVT_NONE && groups->groups[phase].count)
            times[key[KEY_PHASE]] = nvt_groups_summary(groups, phase);
    }
    nvt_table_put(table, (int32_t)key[KEY_PID], (int32_t)key[KEY_TID], key[KEY_DEVICE],
                  times[TOTAL].n, times[QUEUE].n, &times[TOTAL], &times[NVT_EXEC_CALL],
                  &times[QUEUE], &times[NVT_EXEC_KERNEL], nvt_groups_name(groups, key[KEY_API]),
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
                {"Kernel Name", NVT_NAMES}},
    .title = "CUDA kernel launch and execution time summary",
    .order = {"-TAvg (ns)", "API Name", "Kernel Name"},
    .nothing = "no kernels with their launching calls in the input",
    .group = group_cuda_exec,
    .put_group = put_cuda_exec_group,
};
