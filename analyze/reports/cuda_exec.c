/*
 * cuda_kern_exec_sum: from launch to end, of every kernel by the call that launched it, with nsys's
 * headings and definitions (Nsight Systems Analysis Guide): A is the time of the call, Q from the
 * call's end to the kernel's start, K the kernel's time, T from the call's start to the end of
 * both. A kernel that starts before its call returns has no queue time, one that starts just then has
 * one of 0; QCount counts those that have one.
 */
#include "../model/groups.h"
#include "kernel_exec.h"
#include "kernel_naming.h"
#include "report.h"

enum { PID, TID, DEVICE, COUNT, QCOUNT, T_AVG, A_AVG = T_AVG + 5, Q_AVG = A_AVG + 5 };
enum { K_AVG = Q_AVG + 5, API_NAME = K_AVG + 5, KERNEL_NAME };

#define PHASE_COLUMNS(letter)                                                                      \
    {letter "Avg (ns)", "ns", NVT_REAL, 1, 0}, {letter "Med (ns)", "ns", NVT_REAL, 1, 0},          \
        {letter "Min (ns)", "ns", NVT_INT, 0, 0}, {letter "Max (ns)", "ns", NVT_INT, 0, 0},        \
    {                                                                                              \
        letter "StdDev (ns)", "ns", NVT_REAL, 1, 0                                                 \
    }

static const struct nvt_column_spec columns[] = {{"PID", "", NVT_INT, 0, NVT_PLAIN},
                                                 {"TID", "", NVT_INT, 0, NVT_PLAIN},
                                                 {"DevId", "", NVT_INT, 0, NVT_PLAIN},
                                                 {"Count", "", NVT_INT, 0, 0},
                                                 {"QCount", "", NVT_INT, 0, 0},
                                                 PHASE_COLUMNS("T"),
                                                 PHASE_COLUMNS("A"),
                                                 PHASE_COLUMNS("Q"),
                                                 PHASE_COLUMNS("K"),
                                                 {"API Name", "", NVT_TEXT, 0, 0},
                                                 {"Kernel Name", "", NVT_TEXT, 0, 0}};

/* The phases are groups of their own, distinguished by the last part of the key. */
enum { TOTAL = NVT_EXEC_TOTAL, QUEUE = NVT_EXEC_QUEUE, PHASES = NVT_EXEC_TIMES };
enum { KEY_PID, KEY_TID, KEY_DEVICE, KEY_API, KEY_KERNEL, KEY_PHASE, KEY_COUNT };

static void collect(struct nvt_groups *groups, const struct nvt_kernel_naming *naming, uint32_t op)
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

static void fill(struct nvt_table *table, struct nvt_groups *groups)
{
    static const size_t first[PHASES] = {T_AVG, A_AVG, Q_AVG, K_AVG};
    uint32_t of_totals = groups->count;
    for (uint32_t i = 0; i < of_totals; i++) {
        const struct nvt_group *group = &groups->groups[i];
        if (group->key[KEY_PHASE] != TOTAL)
            continue;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_int(table, row, PID, (int32_t)group->key[KEY_PID]);
        nvt_table_set_int(table, row, TID, (int32_t)group->key[KEY_TID]);
        nvt_table_set_int(table, row, DEVICE, group->key[KEY_DEVICE]);
        nvt_table_set_int(table, row, COUNT, (int64_t)group->count);
        nvt_table_set_text(table, row, API_NAME, nvt_groups_name(groups, group->key[KEY_API]));
        nvt_table_set_text(table, row, KERNEL_NAME,
                           nvt_groups_name(groups, group->key[KEY_KERNEL]));
        uint32_t parts[KEY_COUNT];
        for (int part = 0; part < KEY_COUNT; part++)
            parts[part] = group->key[part];
        for (parts[KEY_PHASE] = TOTAL; parts[KEY_PHASE] < PHASES; parts[KEY_PHASE]++) {
            uint32_t phase = nvt_groups_key(groups, parts, KEY_COUNT);
            if (phase >= of_totals) /* no queue time: the key was new just now */
                continue;
            struct nvt_summary summary = nvt_groups_summary(groups, phase);
            nvt_put_summary(table, row, first[parts[KEY_PHASE]], &summary, 1);
            if (parts[KEY_PHASE] == QUEUE)
                nvt_table_set_int(table, row, QCOUNT, (int64_t)summary.n);
        }
        if (nvt_table_is_null(table, row, QCOUNT))
            nvt_table_set_int(table, row, QCOUNT, 0);
    }
    nvt_table_sort(table, KERNEL_NAME, 0);
    nvt_table_sort(table, API_NAME, 0);
    nvt_table_sort(table, T_AVG, 1);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_groups groups = {0};
    struct nvt_table *table = NULL;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_kernel_naming naming;
        status = nvt_kernel_naming_make(&naming, trace, input->naming, input->project_flags, err);
        nvt_groups_trace(&groups, trace);
        for (uint32_t op = 0; op < trace->ops.count && !status; op++)
            collect(&groups, &naming, op);
        nvt_kernel_naming_free(&naming);
    }
    if (!status)
        status = nvt_groups_finish(&groups, err);
    if (!status) {
        table = nvt_report_table(&nvt_report_cuda_kern_exec_sum, input,
                                 "CUDA kernel launch and execution time summary", err);
        status = table ? 0 : -1;
    }
    if (!status) {
        fill(table, &groups);
        if (!groups.count)
            nvt_note(input, "note: no kernels with their launching calls in the input");
        status = nvt_report_add(tables, table, err);
    }
    nvt_groups_free(&groups);
    return status;
}

const struct nvt_report nvt_report_cuda_kern_exec_sum = {
    .name = "cuda_kern_exec_sum",
    .about = "kernels by launching call: time in the call, in the queue, on the device",
    .needs = NVT_NEEDS_TRACES,
    .naming = NVT_KERNEL_BASE | NVT_KERNEL_NVTX,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
