/*
 * cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum, cuda_api_sum, cuda_gpu_mem_time_sum,
 * cuda_gpu_mem_size_sum, cuda_gpu_sum, cuda_api_gpu_sum, osrt_sum, mpi_event_sum, profiler_overhead_sum: device operations, CUDA calls,
 * calls of the operating system's libraries and a profiler's own work by name, with nsys's headings (Nsight Systems Analysis Guide, "Statistical Reports
 * Shipped With Nsight Systems"), over all traces. Calls of libraries (cuBLAS, cuDNN) are no CUDA calls. A megabyte is
 * 10^6 bytes.
 */
#include "../../lib/count_of.h"
#include "../device/kernel_times.h"
#include "../diagnosis/hip_words.h"
#include "../model/groups.h"
#include "report.h"
#include "../device/kernel_naming.h"
#include "osrt.h"

/* What a report counts, and by what. */
enum {
    KERNELS = 1,
    MEMORY = 2,
    CALLS = 4,
    OS_CALLS = 8,
    OVERHEAD = 16,
    MPI_CALLS = 32,
    BY_SHAPE = 64, /* grid and block are parts of the key */
    BY_CATEGORY = 128,
    SIZES = 256, /* bytes instead of times */
    IN_HIP = 512 /* categories of a trace of ROCm */
};

static uint32_t shape(struct nvt_groups *groups, uint32_t x, uint32_t y, uint32_t z)
{
    char text[NVT_SHAPE_MAX];
    return nvt_groups_text(groups, nvt_shape_text(x, y, z, text));
}

static uint32_t op_group(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                         uint32_t op, unsigned of)
{
    const struct nvt_trace *trace = naming->trace;
    const struct nvt_kernels *kernels = &trace->kernels;
    uint32_t parts[3], count = 0, detail = trace->ops.detail[op];
    if (of & BY_CATEGORY)
        parts[count++] = nvt_groups_text(groups, trace->ops.kind[op] == NVT_OP_KERNEL
                                                     ? of & IN_HIP ? "HIP_KERNEL" : "CUDA_KERNEL"
                                                     : "MEMORY_OPER");
    if (of & BY_SHAPE && trace->ops.kind[op] == NVT_OP_KERNEL && detail < kernels->count) {
        parts[count++] = shape(groups, kernels->grid_x[detail], kernels->grid_y[detail],
                               kernels->grid_z[detail]);
        parts[count++] = shape(groups, kernels->block_x[detail], kernels->block_y[detail],
                               kernels->block_z[detail]);
    } else if (of & BY_SHAPE) {
        parts[count++] = nvt_groups_text(groups, "");
        parts[count++] = nvt_groups_text(groups, "");
    }
    parts[count++] = nvt_kernel_naming_key(naming, groups, op);
    return nvt_groups_key(groups, parts, (int)count);
}

/* What is not known to have a size has no place among sizes. */
static void collect_ops(struct nvt_groups *groups, const struct nvt_kernel_naming *naming,
                        unsigned of)
{
    const struct nvt_ops *ops = &naming->trace->ops;
    if (of == KERNELS && !naming->flags && nvt_kernel_durations_add(groups, naming->trace))
        return;
    for (uint32_t i = 0; i < ops->count; i++)
        if (of & (ops->kind[i] == NVT_OP_KERNEL ? KERNELS : MEMORY) &&
            (ops->bytes[i] || !(of & SIZES)))
            nvt_groups_add(groups, op_group(groups, naming, i, of),
                           of & SIZES ? (int64_t)ops->bytes[i] : ops->end[i] - ops->start[i]);
}

static void collect_calls(struct nvt_groups *groups, const struct nvt_trace *trace, unsigned of)
{
    const struct nvt_apis *apis = &trace->apis;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (!nvt_is_cuda_call(apis, i))
            continue;
        uint32_t parts[2], count = 0;
        if (of & BY_CATEGORY)
            parts[count++] = nvt_groups_text(groups, of & IN_HIP ? "HIP_API" : "CUDA_API");
        parts[count++] = nvt_groups_string(groups, apis->name[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, parts, (int)count),
                       apis->end[i] - apis->start[i]);
    }
}

static int group_cuda_sum(struct nvt_groups *groups, const struct nvt_trace *trace,
                          const struct nvt_making *making)
{
    const struct nvt_os_calls *os = &trace->os_calls;
    const struct nvt_mpi_calls *mpi = &trace->mpi_calls;
    const struct nvt_overheads *overheads = &trace->overheads;
    const unsigned asked = making->report->of,
                   of = asked | (asked & BY_CATEGORY && nvt_is_of_hip(trace) ? IN_HIP : 0);
    struct nvt_kernel_naming naming;
    if (making->from->launches) {
        nvt_launched_kernels_add(groups, making->from->launches);
        return 0;
    }
    int status = nvt_kernel_naming_make(&naming, trace, making->input, making->err);
    if (!status && of & (KERNELS | MEMORY))
        collect_ops(groups, &naming, of);
    if (of & CALLS)
        collect_calls(groups, trace, of);
    if (of & OS_CALLS)
        nvt_groups_durations(groups, os->count, os->name, os->start, os->end);
    if (of & MPI_CALLS)
        nvt_groups_durations(groups, mpi->count, mpi->name, mpi->start, mpi->end);
    if (of & OVERHEAD)
        nvt_groups_durations(groups, overheads->count, overheads->name, overheads->start,
                             overheads->end);
    nvt_kernel_naming_free(&naming);
    return status;
}

/* The names of the group come last. */
static void put_cuda_sum_group(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    const struct nvt_group *group = &groups->groups[number];
    struct nvt_summary values = nvt_groups_summary(groups, number);
    size_t used = 8;
    nvt_table_put(table, groups->total > 0 ? nvt_percent(group->total, groups->total) : 0,
                  group->total, group->count, &values);
    for (size_t part = 0; used + part < nvt_table_columns(table); part++)
        nvt_table_more(table, nvt_groups_part(groups, number, part));
}

static void put_sizes(struct nvt_table *table, struct nvt_groups *groups, uint32_t number)
{
    const struct nvt_group *group = &groups->groups[number];
    struct nvt_summary sizes = nvt_groups_summary(groups, number);
    double *const values[] = {&sizes.mean, &sizes.median, &sizes.min, &sizes.max, &sizes.std};
    for (size_t i = 0; i < NVT_COUNT_OF(values); i++)
        *values[i] /= NVT_MEGABYTE;
    nvt_table_put(table, (double)group->total / NVT_MEGABYTE, group->count, &sizes,
                  nvt_groups_part(groups, number, 0));
}

#define BY_ANY_NAME (NVT_KERNEL_BASE | NVT_KERNEL_NVTX)

/* A report of times, by these columns. */
#define TIMES_BY(instances, ...)                                                                   \
    .columns = {NVT_TIME_COLUMNS(instances), __VA_ARGS__}, .group = group_cuda_sum,                \
    .put_group = put_cuda_sum_group
#define TIMES_BY_NAME(instances)                                                                   \
    TIMES_BY(instances, {"Name", NVT_NAMES}), .order = {"-Total Time (ns)", "Name"}

const struct nvt_report nvt_report_cuda_gpu_kern_sum = {
    .name = "cuda_gpu_kern_sum",
    .about = "kernels by total time",
    .title = "CUDA GPU kernel summary",
    TIMES_BY("Instances", {"Name", NVT_KERNELS}),
    .order = {"-Total Time (ns)", "Name"},
    .needs = NVT_TAKES_LAUNCHES,
    .naming = BY_ANY_NAME,
    .nothing = "no kernels in the input",
    .of = KERNELS,
};

const struct nvt_report nvt_report_cuda_gpu_kern_gb_sum = {
    .name = "cuda_gpu_kern_gb_sum",
    .about = "kernels by total time, each grid and block in a row of its own",
    .title = "CUDA GPU kernel summary by grid and block",
    TIMES_BY("Instances", {"GridXYZ", NVT_NAMES}, {"BlockXYZ", NVT_NAMES}, {"Name", NVT_KERNELS}),
    .order = {"-Total Time (ns)", "Name", "BlockXYZ", "GridXYZ"},
    .naming = BY_ANY_NAME,
    .nothing = "no kernels in the input",
    .of = KERNELS | BY_SHAPE,
};

const struct nvt_report nvt_report_cuda_api_sum = {
    .name = "cuda_api_sum",
    .about = "CUDA calls by total time",
    .title = "CUDA API summary",
    TIMES_BY_NAME("Num Calls"),
    .nothing = "no CUDA calls in the input",
    .of = CALLS,
};

const struct nvt_report nvt_report_osrt_sum = {
    .name = "osrt_sum",
    .about = "OS calls that may block, by total time",
    .title = "OS runtime summary",
    TIMES_BY_NAME("Num Calls"),
    .nothing = NVT_NO_OS_CALLS,
    .of = OS_CALLS,
};

const struct nvt_report nvt_report_mpi_event_sum = {
    .name = "mpi_event_sum",
    .about = "MPI calls by total time",
    .title = "MPI event summary",
    TIMES_BY_NAME("Num Calls"),
    .nothing = "no MPI calls (record --trace mpi, nsys profile --trace=mpi) in the input",
    .of = MPI_CALLS,
};

const struct nvt_report nvt_report_profiler_overhead_sum = {
    .name = "profiler_overhead_sum",
    .about = "work of CUPTI and the driver for a profiler, by total time",
    .title = "Profiler overhead",
    TIMES_BY_NAME("Num Calls"),
    .nothing = "no profiler overhead (record --trace overhead) in the input",
    .of = OVERHEAD,
};

const struct nvt_report nvt_report_cuda_gpu_mem_time_sum = {
    .name = "cuda_gpu_mem_time_sum",
    .about = "copies and memsets by total time",
    .title = "CUDA GPU memory operations by time",
    TIMES_BY("Count", {"Operation", NVT_NAMES}),
    .order = {"-Total Time (ns)", "Operation"},
    .nothing = "no copies or memsets in the input",
    .of = MEMORY,
};

const struct nvt_report nvt_report_cuda_gpu_sum = {
    .name = "cuda_gpu_sum",
    .about = "kernels, copies and memsets by total time",
    .title = "CUDA GPU summary",
    TIMES_BY("Instances", {"Category", NVT_NAME_KINDS}, {"Operation", NVT_KERNELS}),
    .order = {"-Total Time (ns)", "Operation", "Category"},
    .naming = BY_ANY_NAME,
    .nothing = "no device operations in the input",
    .of = KERNELS | MEMORY | BY_CATEGORY,
};

const struct nvt_report nvt_report_cuda_api_gpu_sum = {
    .name = "cuda_api_gpu_sum",
    .about = "CUDA calls, kernels, copies and memsets by total time",
    .title = "CUDA summary (API, kernels, memory operations)",
    TIMES_BY("Instances", {"Category", NVT_NAME_KINDS}, {"Operation", NVT_KERNELS}),
    .order = {"-Total Time (ns)", "Operation", "Category"},
    .naming = BY_ANY_NAME,
    .nothing = "no device operations or CUDA calls in the input",
    .of = KERNELS | MEMORY | CALLS | BY_CATEGORY,
};

const struct nvt_report nvt_report_cuda_gpu_mem_size_sum = {
    .name = "cuda_gpu_mem_size_sum",
    .about = "copies and memsets by bytes moved",
    .title = "CUDA GPU memory operations by size",
    .columns = {{"Total (MB)", NVT_MB},
                {"Count", NVT_COUNTS},
                {"Avg (MB)", NVT_MB},
                {"Med (MB)", NVT_MB},
                {"Min (MB)", NVT_MB},
                {"Max (MB)", NVT_MB},
                {"StdDev (MB)", NVT_MB},
                {"Operation", NVT_NAMES}},
    .order = {"-Total (MB)", "Operation"},
    .nothing = "no copies or memsets of known size in the input",
    .of = MEMORY | SIZES,
    .group = group_cuda_sum,
    .put_group = put_sizes,
};
