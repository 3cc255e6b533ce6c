/*
 * cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum, cuda_api_sum, cuda_gpu_mem_time_sum,
 * cuda_gpu_mem_size_sum, cuda_gpu_sum, cuda_api_gpu_sum, osrt_sum, mpi_event_sum, profiler_overhead_sum: device operations, CUDA calls,
 * calls of the operating system's libraries and a profiler's own work by name, with nsys's headings (Nsight Systems Analysis Guide, "Statistical Reports
 * Shipped With Nsight Systems"), over all traces. Calls of libraries (cuBLAS, cuDNN) are no CUDA calls. A megabyte is
 * 10^6 bytes.
 */
#include <stdlib.h>

#include "../model/column.h"
#include "../model/groups.h"
#include "../model/kinds.h"
#include "../model/launches.h"
#include "report.h"
#include "kernel_naming.h"
#include "osrt.h"

#define MEGABYTE 1e6

/* Columns of all of them; names of the group follow. */
enum { TIME, TOTAL, INSTANCES, AVG, MED, MIN, MAX, STD, NAMES };

#define TIME_COLUMNS(instances)                                                                    \
    {"Time (%)", "%", NVT_REAL, 1, 0}, {"Total Time (ns)", "ns", NVT_INT, 0, 0},                   \
        {instances, "", NVT_INT, 0, 0}, {"Avg (ns)", "ns", NVT_REAL, 1, 0},                        \
        {"Med (ns)", "ns", NVT_REAL, 1, 0}, {"Min (ns)", "ns", NVT_INT, 0, 0},                     \
        {"Max (ns)", "ns", NVT_INT, 0, 0},                                                         \
    {                                                                                              \
        "StdDev (ns)", "ns", NVT_REAL, 1, 0                                                        \
    }
#define TEXT_COLUMN(heading)                                                                       \
    {                                                                                              \
        heading, "", NVT_TEXT, 0, 0                                                                \
    }

/* What a report counts. */
enum kinds { KERNELS = 1, MEMORY = 2, CALLS = 4, OS_CALLS = 8, OVERHEAD = 16, MPI_CALLS = 32 };

struct summary_report {
    unsigned kinds; /* enum kinds */
    int by_shape;   /* grid and block are part of the key */
    int by_category;
    int sizes; /* bytes instead of times */
    const char *nothing;
};

static uint32_t shape(struct nvt_groups *groups, uint32_t x, uint32_t y, uint32_t z)
{
    char text[NVT_SHAPE_MAX];
    return nvt_groups_text(groups, nvt_shape_text(x, y, z, text));
}

static uint32_t op_group(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                         uint32_t op, const struct summary_report *report)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t parts[3], count = 0, detail = trace->ops.detail[op];
    if (report->by_category)
        parts[count++] = nvt_groups_text(
            groups, trace->ops.kind[op] == NVT_OP_KERNEL ? "CUDA_KERNEL" : "MEMORY_OPER");
    if (report->by_shape && trace->ops.kind[op] == NVT_OP_KERNEL && detail < kernels->count) {
        parts[count++] = shape(groups, kernels->grid_x[detail], kernels->grid_y[detail],
                               kernels->grid_z[detail]);
        parts[count++] = shape(groups, kernels->block_x[detail], kernels->block_y[detail],
                               kernels->block_z[detail]);
    } else if (report->by_shape) {
        parts[count++] = nvt_groups_text(groups, "");
        parts[count++] = nvt_groups_text(groups, "");
    }
    parts[count++] = nvt_kernel_naming_key(naming, groups, op);
    return nvt_groups_key(groups, parts, (int)count);
}

/* Kernels by name only, of a time that fits into 32 bits. Returns 0 where that is not so: nothing
 * has been added. */
static int collect_names(struct nvt_groups *groups, const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t names, *number = nvt_number_strings(trace, ops->name, ops->count, &names);
    uint32_t *at = calloc((size_t)names + 1, sizeof(*at));
    uint32_t *name = calloc((size_t)names + 1, sizeof(*name));
    uint32_t *times = nvt_column_grow(NULL, ((size_t)ops->count + 1) * sizeof(*times));
    int simple = number && at && name && times;
    for (uint32_t i = 0; i < ops->count && simple; i++) {
        simple = ops->end[i] - ops->start[i] <= UINT32_MAX;
        at[number[ops->name[i]] + 1] += ops->kind[i] == NVT_OP_KERNEL;
        name[number[ops->name[i]]] = ops->name[i];
    }
    for (uint32_t i = 1; i < names && simple; i++)
        at[i] += at[i - 1];
    for (uint32_t i = 0; i < ops->count && simple; i++)
        if (ops->kind[i] == NVT_OP_KERNEL)
            times[at[number[ops->name[i]]]++] = (uint32_t)(ops->end[i] - ops->start[i]);
    for (uint32_t i = 0, from = 0; i < names && simple; from = at[i++]) {
        uint32_t key = nvt_groups_string(groups, name[i]);
        const struct nvt_piece piece = {times + from, at[i] - from,
                                        nvt_sums_of(times + from, at[i] - from), 0};
        if (piece.count)
            nvt_groups_piece(groups, nvt_groups_key(groups, &key, 1), &piece);
    }
    if (simple)
        nvt_groups_own(groups, times);
    else
        nvt_column_free(times);
    free(number);
    free(at);
    free(name);
    return simple;
}

/* Kernels by name, of a trace that has only launches. */
static void collect_launches(struct nvt_groups *groups, const struct nvt_launches *launches)
{
    for (uint32_t i = 0; i < launches->lane_count; i++) {
        const struct nvt_launch_lane *lane = &launches->lanes[i];
        for (size_t cell = 0; cell < (size_t)lane->class_count * launches->names; cell++) {
            uint32_t key = nvt_groups_string(groups, launches->name[cell % launches->names]);
            const struct nvt_piece piece = nvt_launch_cell_piece(lane, &lane->cells[cell]);
            if (piece.count)
                nvt_groups_piece(groups, nvt_groups_key(groups, &key, 1), &piece);
        }
    }
}

static void collect_ops(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                        const struct summary_report *report)
{
    const struct nvt_ops *ops = &naming->trace->ops;
    if (report->kinds == KERNELS && !report->by_shape && !report->by_category && !naming->flags &&
        collect_names(groups, naming->trace))
        return;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (!(report->kinds & (ops->kind[i] == NVT_OP_KERNEL ? KERNELS : MEMORY)))
            continue;
        nvt_groups_add(groups, op_group(groups, naming, i, report),
                       report->sizes ? (int64_t)ops->bytes[i] : ops->end[i] - ops->start[i]);
    }
}

static void collect_calls(struct nvt_groups *groups, const struct nvt_trace *trace,
                          const struct summary_report *report)
{
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (!nvt_is_cuda_call(apis, i))
            continue;
        uint32_t parts[2], count = 0;
        if (report->by_category)
            parts[count++] = nvt_groups_text(groups, "CUDA_API");
        parts[count++] = nvt_groups_string(groups, apis->name[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, parts, (int)count),
                       apis->end[i] - apis->start[i]);
    }
}

static void collect_os_calls(struct nvt_groups *groups, const struct nvt_os_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        uint32_t name = nvt_groups_string(groups, calls->name[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, &name, 1), calls->end[i] - calls->start[i]);
    }
}

static void collect_mpi_calls(struct nvt_groups *groups, const struct nvt_mpi_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        uint32_t name = nvt_groups_string(groups, calls->name[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, &name, 1), calls->end[i] - calls->start[i]);
    }
}

static void collect_overheads(struct nvt_groups *groups, const struct nvt_overheads *overheads)
{
    for (uint32_t i = 0; i < overheads->count; i++) {
        uint32_t name = nvt_groups_string(groups, overheads->name[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, &name, 1),
                       overheads->end[i] - overheads->start[i]);
    }
}

static void fill_times(struct nvt_table *table, struct nvt_groups *groups)
{
    double all = 0;
    size_t names = nvt_table_columns(table) - NAMES;
    for (uint32_t i = 0; i < groups->count; i++)
        all += (double)groups->groups[i].total;
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_group *group = &groups->groups[i];
        struct nvt_summary summary = nvt_groups_summary(groups, i);
        size_t row = nvt_table_add_row(table);
        nvt_table_set_real(table, row, TIME, all > 0 ? 100 * (double)group->total / all : 0);
        nvt_table_set_int(table, row, TOTAL, group->total);
        nvt_table_set_int(table, row, INSTANCES, (int64_t)group->count);
        nvt_put_summary(table, row, AVG, &summary, 1);
        for (size_t part = 0; part < names; part++)
            nvt_table_set_text(table, row, NAMES + part, nvt_groups_name(groups, group->key[part]));
    }
    for (size_t part = 0; part < names; part++)
        nvt_table_sort(table, NAMES + part, 0);
    nvt_table_sort(table, TOTAL, 1);
}

enum { SIZE_TOTAL, SIZE_COUNT, SIZE_AVG, SIZE_OPERATION = SIZE_AVG + 5 };

static void fill_sizes(struct nvt_table *table, struct nvt_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct nvt_group *group = &groups->groups[i];
        struct nvt_summary summary = nvt_groups_summary(groups, i);
        size_t row = nvt_table_add_row(table);
        nvt_table_set_real(table, row, SIZE_TOTAL, (double)group->total / MEGABYTE);
        nvt_table_set_int(table, row, SIZE_COUNT, (int64_t)group->count);
        nvt_put_summary(table, row, SIZE_AVG, &summary, MEGABYTE);
        nvt_table_set_text(table, row, SIZE_OPERATION, nvt_groups_name(groups, group->key[0]));
    }
    nvt_table_sort(table, SIZE_OPERATION, 0);
    nvt_table_sort(table, SIZE_TOTAL, 1);
}

static int collect(struct nvt_groups *groups, const struct nvt_input *input, size_t i,
                   const struct summary_report *summary, struct nvt_error *err)
{
    const struct nvt_trace *trace = input->traces[i].trace;
    nvt_groups_trace(groups, trace);
    if (input->traces[i].launches) {
        collect_launches(groups, input->traces[i].launches);
        return 0;
    }
    struct nvt_kernel_naming naming;
    int status = nvt_kernel_naming_make(&naming, trace, input->naming, input->project_flags, err);
    if (!status && summary->kinds & (KERNELS | MEMORY))
        collect_ops(groups, &naming, summary);
    if (!status && summary->kinds & CALLS)
        collect_calls(groups, trace, summary);
    if (!status && summary->kinds & OS_CALLS)
        collect_os_calls(groups, &trace->os_calls);
    if (!status && summary->kinds & MPI_CALLS)
        collect_mpi_calls(groups, &trace->mpi_calls);
    if (!status && summary->kinds & OVERHEAD)
        collect_overheads(groups, &trace->overheads);
    nvt_kernel_naming_free(&naming);
    return status;
}

static int make(const struct nvt_report *report, const struct summary_report *summary,
                const char *title, struct nvt_input *input, struct nvt_tables *tables,
                struct nvt_error *err)
{
    struct nvt_groups groups = {0};
    struct nvt_table *table = NULL;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = collect(&groups, input, i, summary, err);
    if (!status)
        status = nvt_groups_finish(&groups, err);
    if (!status) {
        table = nvt_report_table(report, input, title, err);
        status = table ? 0 : -1;
    }
    if (!status) {
        if (summary->sizes)
            fill_sizes(table, &groups);
        else
            fill_times(table, &groups);
        if (!groups.count)
            nvt_note(input, "note: no %s in the input", summary->nothing);
        status = nvt_report_add(tables, table, err);
    }
    nvt_groups_free(&groups);
    return status;
}

/* One report: its columns, its function, its entry. */
#define DEFINE_REPORT(id, more, names, title, description, summary, ...)                           \
    static const struct nvt_column_spec id##_columns[] = {__VA_ARGS__};                            \
    static int make_##id(struct nvt_input *input, struct nvt_tables *tables,                       \
                         struct nvt_error *err)                                                    \
    {                                                                                              \
        static const struct summary_report what = summary;                                         \
        return make(&nvt_report_##id, &what, title, input, tables, err);                           \
    }                                                                                              \
    const struct nvt_report nvt_report_##id = {                                                    \
        .name = #id,                                                                               \
        .about = description,                                                                      \
        .needs = NVT_NEEDS_TRACES | (more),                                                        \
        .naming = names,                                                                           \
        .columns = id##_columns,                                                                   \
        .column_count = sizeof(id##_columns) / sizeof(id##_columns[0]),                            \
        .make = make_##id,                                                                         \
    };

#define BY_ANY_NAME (NVT_KERNEL_BASE | NVT_KERNEL_NVTX)

#define SUMMARY(...)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

DEFINE_REPORT(cuda_gpu_kern_sum, NVT_TAKES_LAUNCHES, BY_ANY_NAME, "CUDA GPU kernel summary",
              "kernels by total time", SUMMARY(.kinds = KERNELS, .nothing = "kernels"),
              TIME_COLUMNS("Instances"), TEXT_COLUMN("Name"))

DEFINE_REPORT(cuda_gpu_kern_gb_sum, 0, BY_ANY_NAME, "CUDA GPU kernel summary by grid and block",
              "kernels by total time, those of other grids and blocks apart",
              SUMMARY(.kinds = KERNELS, .by_shape = 1, .nothing = "kernels"),
              TIME_COLUMNS("Instances"), TEXT_COLUMN("GridXYZ"), TEXT_COLUMN("BlockXYZ"),
              TEXT_COLUMN("Name"))

DEFINE_REPORT(cuda_api_sum, 0, 0, "CUDA API summary", "CUDA calls of the host by total time",
              SUMMARY(.kinds = CALLS, .nothing = "CUDA calls"), TIME_COLUMNS("Num Calls"),
              TEXT_COLUMN("Name"))

DEFINE_REPORT(osrt_sum, 0, 0, "OS runtime summary",
              "calls of the operating system's libraries that may block, by total time",
              SUMMARY(.kinds = OS_CALLS, .nothing = NVT_OSRT_CALLS), TIME_COLUMNS("Num Calls"),
              TEXT_COLUMN("Name"))

DEFINE_REPORT(mpi_event_sum, 0, 0, "MPI event summary", "MPI calls by total time",
              SUMMARY(.kinds = MPI_CALLS,
                      .nothing = "MPI calls (record --trace mpi, nsys profile --trace=mpi)"),
              TIME_COLUMNS("Num Calls"), TEXT_COLUMN("Name"))

DEFINE_REPORT(profiler_overhead_sum, 0, 0, "Profiler overhead",
              "what CUPTI and the driver did for a profiler, by total time",
              SUMMARY(.kinds = OVERHEAD,
                      .nothing = "records of a profiler's own work (record --trace overhead)"),
              TIME_COLUMNS("Num Calls"), TEXT_COLUMN("Name"))

DEFINE_REPORT(cuda_gpu_mem_time_sum, 0, 0, "CUDA GPU memory operations by time",
              "copies and memsets by total time",
              SUMMARY(.kinds = MEMORY, .nothing = "copies or memsets"), TIME_COLUMNS("Count"),
              TEXT_COLUMN("Operation"))

DEFINE_REPORT(cuda_gpu_sum, 0, BY_ANY_NAME, "CUDA GPU summary",
              "kernels, copies and memsets by total time",
              SUMMARY(.kinds = KERNELS | MEMORY, .by_category = 1, .nothing = "device operations"),
              TIME_COLUMNS("Instances"), TEXT_COLUMN("Category"), TEXT_COLUMN("Operation"))

DEFINE_REPORT(cuda_api_gpu_sum, 0, BY_ANY_NAME, "CUDA summary (API, kernels, memory operations)",
              "CUDA calls, kernels, copies and memsets by total time",
              SUMMARY(.kinds = KERNELS | MEMORY | CALLS, .by_category = 1,
                      .nothing = "device operations or CUDA calls"),
              TIME_COLUMNS("Instances"), TEXT_COLUMN("Category"), TEXT_COLUMN("Operation"))

DEFINE_REPORT(cuda_gpu_mem_size_sum, 0, 0, "CUDA GPU memory operations by size",
              "copies and memsets by bytes moved",
              SUMMARY(.kinds = MEMORY, .sizes = 1, .nothing = "copies or memsets"),
              {"Total (MB)", "MB", NVT_REAL, 3, 0}, {"Count", "", NVT_INT, 0, 0},
              {"Avg (MB)", "MB", NVT_REAL, 3, 0}, {"Med (MB)", "MB", NVT_REAL, 3, 0},
              {"Min (MB)", "MB", NVT_REAL, 3, 0}, {"Max (MB)", "MB", NVT_REAL, 3, 0},
              {"StdDev (MB)", "MB", NVT_REAL, 3, 0}, TEXT_COLUMN("Operation"))
