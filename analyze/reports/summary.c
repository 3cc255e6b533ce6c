/*
 * summary: where the time and memory went, on one screen: what was recorded; how each device spent the time from
 * its first operation to its last; how much memory was in use at most; the kernels, ranges and CUDA calls that took the
 * most. Devices are
 * those of the reports gpu_idle and overlap, ranges those of nvtx_gpu_proj_sum, calls those of
 * cuda_api_sum; kernels of one telling name (cuda_names.h) count together, as do ranges of one plain name
 * (plain_names.h). "Exposed" is communication during which
 * nothing was computed. What there is none of has no
 * table; a single trace is not named.
 */
#include <stdlib.h>

#include "../device/communication.h"
#include "../device/devices.h"
#include "../model/groups.h"
#include "../model/cuda_names.h"
#include "../model/kinds.h"
#include "../memory/levels.h"
#include "../device/overlap.h"
#include "../model/plain_names.h"
#include "report.h"

/* Rows of the tables, at most. */
enum { TOP_KERNELS = 10, TOP_RANGES = 10, TOP_CALLS = 5 };

enum { SPAN, DEVICES, PROCESSES, THREADS, RANGES, MARKS, KERNELS, COPIES, CALLS, TRACE };

static const struct nvt_column_spec columns[] = {
    [TRACE] = {"Trace", "", NVT_TEXT, 0, 0},    [SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [DEVICES] = {"Devices", "", NVT_INT, 0, 0}, [PROCESSES] = {"Processes", "", NVT_INT, 0, 0},
    [THREADS] = {"Threads", "", NVT_INT, 0, 0}, [RANGES] = {"Ranges", "", NVT_INT, 0, 0},
    [MARKS] = {"Marks", "", NVT_INT, 0, 0},     [KERNELS] = {"Kernels", "", NVT_INT, 0, 0},
    [COPIES] = {"Copies", "", NVT_INT, 0, 0},   [CALLS] = {"CUDA Calls", "", NVT_INT, 0, 0},
};

enum { D_DEVICE, D_PID, D_SPAN, D_BUSY, D_BUSY_SHARE, D_IDLE, D_IDLE_SHARE, D_KERNELS, D_COPIES };
enum { D_EXPOSED = D_COPIES + 1, D_EXPOSED_SHARE };

static const struct nvt_column_spec device_columns[] = {
    [D_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [D_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [D_SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [D_BUSY] = {"Busy (ns)", "ns", NVT_INT, 0, 0},
    [D_BUSY_SHARE] = {"Busy (%)", "%", NVT_REAL, 1, 0},
    [D_IDLE] = {"Idle (ns)", "ns", NVT_INT, 0, 0},
    [D_IDLE_SHARE] = {"Idle (%)", "%", NVT_REAL, 1, 0},
    [D_KERNELS] = {"Kernels (%)", "%", NVT_REAL, 1, 0},
    [D_COPIES] = {"Copies (%)", "%", NVT_REAL, 1, 0},
    [D_EXPOSED] = {"Exposed Communication (ns)", "ns", NVT_INT, 0, 0},
    [D_EXPOSED_SHARE] = {"Exposed Communication (%)", "%", NVT_REAL, 1, 0},
};

enum { M_DEVICE, M_PID, M_ALLOCATED, M_RESERVED, M_AT_END, M_AT };

static const struct nvt_column_spec memory_columns[] = {
    [M_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [M_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [M_ALLOCATED] = {"Peak Allocated (MiB)", "MiB", NVT_REAL, 2, 0},
    [M_RESERVED] = {"Peak Reserved (MiB)", "MiB", NVT_REAL, 2, 0},
    [M_AT_END] = {"Allocated at End (MiB)", "MiB", NVT_REAL, 2, 0},
    [M_AT] = {"Peak at (ns)", "ns", NVT_INT, 0, 0},
};

enum { K_TIME, K_TOTAL, K_INSTANCES, K_AVG, K_NAME };

static const struct nvt_column_spec kernel_columns[] = {
    [K_TIME] = {"Time (%)", "%", NVT_REAL, 1, 0},
    [K_TOTAL] = {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    [K_INSTANCES] = {"Instances", "", NVT_INT, 0, 0},
    [K_AVG] = {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    [K_NAME] = {"Name", "", NVT_TEXT, 0, 0},
};

enum { R_TOTAL, R_COUNT, R_AVG, R_HOST, R_NAME };

#define R_HEADING_TOTAL "Total Proj Time (ns)"
#define R_HEADING_COUNT "Range Instances"
#define R_HEADING_HOST  "Total Range Time (ns)"

static const struct nvt_column_spec range_columns[] = {
    [R_TOTAL] = {R_HEADING_TOTAL, "ns", NVT_INT, 0, 0},
    [R_COUNT] = {R_HEADING_COUNT, "", NVT_INT, 0, 0},
    [R_AVG] = {"Proj Avg (ns)", "ns", NVT_REAL, 1, 0},
    [R_HOST] = {R_HEADING_HOST, "ns", NVT_INT, 0, 0},
    [R_NAME] = {"Range", "", NVT_TEXT, 0, 0},
};

static const struct nvt_column_spec call_columns[] = {
    {"Time (%)", "%", NVT_REAL, 1, 0}, {"Total Time (ns)", "ns", NVT_INT, 0, 0},
    {"Num Calls", "", NVT_INT, 0, 0},  {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    {"Name", "", NVT_TEXT, 0, 0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DEVICE_TABLE, MEMORY_TABLE, KERNEL_TABLE, RANGE_TABLE, CALL_TABLE };

static const char *const further[] = {
    [DEVICE_TABLE] = "summary_devices", [MEMORY_TABLE] = "summary_memory",
    [KERNEL_TABLE] = "summary_kernels", [RANGE_TABLE] = "summary_ranges",
    [CALL_TABLE] = "summary_calls",     NULL,
};

static struct nvt_table *new_table(const char *name, const char *title,
                                   const struct nvt_column_spec *specs, size_t count,
                                   const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_table *table = nvt_table_new(name, title, specs, count);
    struct nvt_provenance provenance = nvt_input_provenance(input);
    if (table)
        nvt_table_set_provenance(table, &provenance);
    else
        nvt_fail(err, "out of memory");
    return table;
}

static double share(int64_t part, int64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* --- what was recorded, and the devices --- */

static int64_t cuda_calls(const struct nvt_trace *trace)
{
    int64_t calls = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        calls += nvt_is_cuda_call(&trace->apis, i);
    return calls;
}

static void put_trace(struct nvt_table *table, const struct nvt_trace *trace, uint32_t devices)
{
    size_t row = nvt_table_add_row(table);
    uint32_t kernels = 0, threads = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        kernels += trace->ops.kind[i] == NVT_OP_KERNEL;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        threads += trace->threads.tid[i] != 0 || trace->threads.events[i];
    nvt_table_set_int(table, row, SPAN, nvt_clock_since(trace->last_ns, trace->first_ns));
    nvt_table_set_int(table, row, DEVICES, devices);
    nvt_table_set_int(table, row, PROCESSES, trace->processes.count);
    nvt_table_set_int(table, row, THREADS, threads);
    nvt_table_set_int(table, row, RANGES, trace->ranges.count);
    nvt_table_set_int(table, row, MARKS, trace->marks.count);
    nvt_table_set_int(table, row, KERNELS, kernels);
    nvt_table_set_int(table, row, COPIES, trace->ops.count - kernels);
    nvt_table_set_int(table, row, CALLS, cuda_calls(trace));
}

static void put_device(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, const struct nvt_overlap *overlap)
{
    const unsigned compute = 1u << NVT_CLASS_COMPUTE, copy = 1u << NVT_CLASS_COPY,
                   communication = 1u << NVT_CLASS_COMMUNICATION;
    size_t row = nvt_table_add_row(table);
    int64_t span = nvt_overlap_with(overlap, 0), busy = span - overlap->time[0];
    int64_t shared = nvt_overlap_with(overlap, communication);
    int64_t exposed = shared - nvt_overlap_with(overlap, communication | compute);
    nvt_put_device(table, row, D_DEVICE, trace, device->process, device->device);
    if (device->users == 1)
        nvt_table_set_int(table, row, D_PID, trace->processes.pid[device->process]);
    nvt_table_set_int(table, row, D_SPAN, span);
    nvt_table_set_int(table, row, D_BUSY, busy);
    nvt_table_set_real(table, row, D_BUSY_SHARE, share(busy, span));
    nvt_table_set_int(table, row, D_IDLE, span - busy);
    nvt_table_set_real(table, row, D_IDLE_SHARE, share(span - busy, span));
    nvt_table_set_real(table, row, D_KERNELS, share(nvt_kernel_time(trace, device), span));
    nvt_table_set_real(table, row, D_COPIES, share(nvt_overlap_with(overlap, copy), span));
    if (D_EXPOSED < nvt_table_columns(table)) {
        nvt_table_set_int(table, row, D_EXPOSED, exposed);
        nvt_table_set_real(table, row, D_EXPOSED_SHARE, share(exposed, span));
    }
}

/* A trace's row, and those of its devices. */
static int put_parts(struct nvt_table *traces, struct nvt_table *rows,
                     const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, err);
    if (!status)
        put_trace(traces, trace, devices.count);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_overlap overlap;
        if (nvt_overlap_make(&overlap, trace, &devices.items[i]))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        else
            put_device(rows, trace, &devices.items[i], &overlap);
    }
    nvt_used_devices_free(&devices);
    return status;
}

/* --- kernels and ranges by telling and plain names --- */

/* Of a name: ns on the device, and on the host for a range. */
struct sum {
    int64_t total, host;
    uint64_t count;
};

struct sums {
    struct nvt_groups names;
    struct sum *items; /* of every group */
    uint32_t count;
};

/* Of a name of `names`; NULL when out of memory. */
static struct sum *sum_at(struct sums *sums, uint32_t name)
{
    uint32_t group = nvt_groups_key(&sums->names, &name, 1);
    if (group == NVT_NONE)
        return NULL;
    if (group >= sums->count) {
        struct sum *items = realloc(sums->items, ((size_t)group + 1) * sizeof(*items));
        if (!items)
            return NULL;
        sums->items = items;
        sums->items[sums->count++] = (struct sum){0, 0, 0};
    }
    return &sums->items[group];
}

static void free_sums(struct sums *sums)
{
    nvt_groups_free(&sums->names);
    free(sums->items);
}

static const char *sum_name(const struct sums *sums, uint32_t i)
{
    return nvt_groups_name(&sums->names, sums->names.groups[i].key[0]);
}

/* The sum of the kernels that have the telling name of this one. NULL when out of memory. */
static struct sum *kernel_sum(struct sums *kernels, const struct nvt_trace *trace, uint32_t name)
{
    char telling[NVT_TELLING_NAME_MAX];
    size_t size;
    const char *full = nvt_strings_get(trace->strings, name, &size);
    return sum_at(kernels, nvt_groups_text(&kernels->names, nvt_telling_name(full, size, telling)));
}

/* Operations are many, names are few: added up by name first. */
static int add_kernels(struct sums *kernels, const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t used, *number = nvt_number_strings(trace, ops->name, ops->count, &used);
    struct sum *sums = number ? calloc((size_t)used + 1, sizeof(*sums)) : NULL;
    uint32_t *name = number ? calloc((size_t)used + 1, sizeof(*name)) : NULL;
    int failed = !sums || !name;
    for (uint32_t i = 0; i < ops->count && !failed; i++) {
        if (ops->kind[i] != NVT_OP_KERNEL)
            continue;
        uint32_t at = number[ops->name[i]];
        sums[at].total = nvt_clock_sum(sums[at].total, ops->end[i] - ops->start[i]);
        sums[at].count++;
        name[at] = ops->name[i];
    }
    nvt_groups_trace(&kernels->names, trace);
    for (uint32_t i = 0; i < used && !failed; i++) {
        struct sum *kernel = sums[i].count ? kernel_sum(kernels, trace, name[i]) : NULL;
        failed = sums[i].count && !kernel;
        if (kernel) {
            kernel->total = nvt_clock_sum(kernel->total, sums[i].total);
            kernel->count += sums[i].count;
        }
    }
    free(number);
    free(sums);
    free(name);
    return failed;
}

static void put_kernels(struct nvt_table *table, const struct sums *kernels)
{
    double all = 0;
    for (uint32_t i = 0; i < kernels->count; i++)
        all += (double)kernels->items[i].total;
    for (uint32_t i = 0; i < kernels->count; i++) {
        const struct sum *kernel = &kernels->items[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_real(table, row, K_TIME, all > 0 ? 100 * (double)kernel->total / all : 0);
        nvt_table_set_int(table, row, K_TOTAL, kernel->total);
        nvt_table_set_int(table, row, K_INSTANCES, (int64_t)kernel->count);
        nvt_table_set_real(table, row, K_AVG, (double)kernel->total / (double)kernel->count);
        nvt_table_set_text(table, row, K_NAME, sum_name(kernels, i));
    }
    nvt_table_sort(table, K_NAME, 0);
    nvt_table_sort(table, K_TOTAL, 1);
}

/* A table made of sums, which are released; NULL with err filled where it, or a name in them, found no memory. */
static struct nvt_table *whole_table(struct nvt_table *table, struct sums *sums,
                                     struct nvt_error *err)
{
    int failed = !table || nvt_groups_failed(&sums->names) || nvt_table_failed(table, NULL);
    free_sums(sums);
    if (!failed)
        return table;
    nvt_table_free(table);
    nvt_fail(err, "out of memory");
    return NULL;
}

/* Of all traces; NULL with err filled when out of memory. */
static struct nvt_table *kernel_table(const struct nvt_input *input, struct nvt_error *err)
{
    struct sums kernels = {.names = {0}};
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        failed = add_kernels(&kernels, input->traces[i].trace);
    struct nvt_table *table =
        failed ? NULL : nvt_table_new("summary", "", kernel_columns, COUNT(kernel_columns));
    if (table)
        put_kernels(table, &kernels);
    return whole_table(table, &kernels, err);
}

/* Whether anything but functions of the Python stack is there: then these are left out, as each of
 * them has the time of those that it calls, and there are hundreds. */
static int has_others(const struct nvt_table *from, size_t name)
{
    for (size_t row = 0; row < nvt_table_rows(from); row++)
        if (!nvt_is_python_function(nvt_table_text(from, row, name)))
            return 1;
    return 0;
}

/* The plain form of a name with its domain, malloc'ed: PyTorch's steps are ranges of the default one. */
static char *plain_range(const char *name)
{
    char *plain = nvt_plain_name(name + (*name == ':')), *whole = NULL;
    if (*name != ':' || !plain)
        return plain;
    int length = asprintf(&whole, ":%s", plain);
    free(plain);
    return length < 0 ? NULL : whole;
}

/* Rows of nvtx_gpu_proj_sum, added up by plain names. */
static int add_ranges(struct sums *ranges, const struct nvt_table *from)
{
    size_t name = nvt_table_find(from, "Range"), total = nvt_table_find(from, R_HEADING_TOTAL);
    size_t host = nvt_table_find(from, R_HEADING_HOST),
           count = nvt_table_find(from, R_HEADING_COUNT);
    int others = has_others(from, name);
    for (size_t row = 0; row < nvt_table_rows(from); row++) {
        if (others && nvt_is_python_function(nvt_table_text(from, row, name)))
            continue;
        char *plain = plain_range(nvt_table_text(from, row, name));
        struct sum *sum = plain ? sum_at(ranges, nvt_groups_text(&ranges->names, plain)) : NULL;
        free(plain);
        if (!sum)
            return -1;
        sum->total = nvt_clock_sum(sum->total, nvt_table_int(from, row, total));
        sum->host = nvt_clock_sum(sum->host, nvt_table_int(from, row, host));
        sum->count += (uint64_t)nvt_table_int(from, row, count);
    }
    return 0;
}

static void put_ranges(struct nvt_table *table, const struct sums *ranges)
{
    for (uint32_t i = 0; i < ranges->count; i++) {
        const struct sum *range = &ranges->items[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_int(table, row, R_TOTAL, range->total);
        nvt_table_set_int(table, row, R_COUNT, (int64_t)range->count);
        nvt_table_set_real(table, row, R_AVG, (double)range->total / (double)range->count);
        nvt_table_set_int(table, row, R_HOST, range->host);
        nvt_table_set_text(table, row, R_NAME, sum_name(ranges, i));
    }
    nvt_table_sort(table, R_NAME, 0);
    nvt_table_sort(table, R_TOTAL, 1);
}

/* As kernel_table. */
static struct nvt_table *range_table(const struct nvt_table *from, struct nvt_error *err)
{
    struct sums ranges = {.names = {0}};
    struct nvt_table *table =
        add_ranges(&ranges, from)
            ? NULL
            : nvt_table_new("summary", "", range_columns, COUNT(range_columns));
    if (table)
        put_ranges(table, &ranges);
    return whole_table(table, &ranges, err);
}

/* --- the first rows of longer tables --- */

static void copy_cell(struct nvt_table *to, size_t row, size_t to_column,
                      const struct nvt_table *from, size_t column)
{
    if (column == SIZE_MAX || nvt_table_is_null(from, row, column))
        return;
    enum nvt_type type = nvt_table_column(from, column)->type;
    if (type == NVT_TEXT)
        nvt_table_set_text(to, row, to_column, nvt_table_text(from, row, column));
    else if (type == NVT_INT)
        nvt_table_set_int(to, row, to_column, nvt_table_int(from, row, column));
    else
        nvt_table_set_real(to, row, to_column, nvt_table_real(from, row, column));
}

/* What a table of the summary shows of a longer one. */
struct top {
    const char *name, *title;
    const char *whole; /* the report that has all */
    const struct nvt_column_spec *columns;
    size_t count, rows;
};

static int add_top(const struct top *top, const struct nvt_table *from,
                   const struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    char title[200];
    size_t rows = nvt_table_rows(from) < top->rows ? nvt_table_rows(from) : top->rows;
    if (!rows)
        return 0;
    snprintf(title, sizeof(title), "%s", top->title);
    if (rows < nvt_table_rows(from))
        snprintf(title, sizeof(title), "%s: the first %zu of %zu, -r %s has all", top->title, rows,
                 nvt_table_rows(from), top->whole);
    struct nvt_table *table = new_table(top->name, title, top->columns, top->count, input, err);
    for (size_t row = 0; table && row < rows; row++) {
        nvt_table_add_row(table);
        for (size_t column = 0; column < top->count; column++)
            copy_cell(table, row, column, from, nvt_table_find(from, top->columns[column].heading));
    }
    return nvt_report_add(tables, table, err);
}

/* The table of a report; that there is nothing in it is no news here. NULL with err filled. */
static struct nvt_table *table_of(const struct nvt_report *report, const struct nvt_input *input,
                                  struct nvt_error *err)
{
    struct nvt_input copy = *input;
    struct nvt_tables made = {0};
    struct nvt_table *table = NULL;
    copy.notes = (struct nvt_buffer){0};
    if (!report->make(&copy, &made, err) && made.count) {
        table = made.items[0];
        made.items[0] = NULL;
    }
    nvt_tables_free(&made);
    nvt_buffer_free(&copy.notes);
    return table;
}

static int add_tops(const struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    const struct top kernels = {further[KERNEL_TABLE], "Kernels by total time", "cuda_gpu_kern_sum",
                                kernel_columns,        COUNT(kernel_columns),   TOP_KERNELS};
    const struct top ranges = {further[RANGE_TABLE], "Ranges by their time on the devices",
                               "nvtx_gpu_proj_sum",  range_columns,
                               COUNT(range_columns), TOP_RANGES};
    const struct top calls = {further[CALL_TABLE], "CUDA calls by total time", "cuda_api_sum",
                              call_columns,        COUNT(call_columns),        TOP_CALLS};
    struct nvt_table *by_name = kernel_table(input, err), *by_range = NULL, *projected = NULL;
    struct nvt_table *by_call = NULL;
    int status = by_name ? add_top(&kernels, by_name, input, tables, err) : -1;
    if (!status && (projected = table_of(&nvt_report_nvtx_gpu_proj_sum, input, err)))
        by_range = range_table(projected, err);
    if (!status)
        status = by_range ? add_top(&ranges, by_range, input, tables, err) : -1;
    if (!status)
        by_call = table_of(&nvt_report_cuda_api_sum, input, err);
    if (!status)
        status = by_call ? add_top(&calls, by_call, input, tables, err) : -1;
    nvt_table_free(by_name);
    nvt_table_free(projected);
    nvt_table_free(by_range);
    nvt_table_free(by_call);
    return status;
}

/* Whether a device did anything that is communication. */
/* --- memory --- */

static void put_memory(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_level_series *series)
{
    const double mib = 1048576;
    uint32_t peak;
    int64_t most = nvt_level_most(series, &peak);
    int64_t reserved = nvt_level_most_reserved(series, NULL);
    if ((double)most < 0.005 * mib && reserved <= most)
        return;
    size_t row = nvt_table_add_row(table);
    nvt_put_device(table, row, M_DEVICE, trace, series->process, series->device);
    nvt_table_set_int(table, row, M_PID, trace->processes.pid[series->process]);
    nvt_table_set_real(table, row, M_ALLOCATED, (double)most / mib);
    if (!series->lacks_reserved)
        nvt_table_set_real(table, row, M_RESERVED, (double)reserved / mib);
    nvt_table_set_real(table, row, M_AT_END,
                       (double)nvt_level_allocated(series, series->count - 1) / mib);
    if (peak != NVT_NONE)
        nvt_table_set_int(table, row, M_AT, trace->memory.time[series->events[peak]]);
}

/* Of all traces, but for what would be no hundredth of a MiB; none where there is nothing of it. */
static int add_memory(const struct nvt_input *input, struct nvt_tables *tables,
                      struct nvt_error *err)
{
    struct nvt_table *table = new_table(
        further[MEMORY_TABLE], "Memory: -r memory_at_peak shows what it was in use for at its peak",
        memory_columns, COUNT(memory_columns), input, err);
    int status = table ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        struct nvt_levels levels = {0};
        if (nvt_levels_make(&levels, input->traces[i].trace))
            status = nvt_fail(err, "out of memory");
        for (uint32_t k = 0; k < levels.count && !status; k++)
            put_memory(table, input->traces[i].trace, &levels.series[k]);
        nvt_levels_free(&levels);
    }
    if (!status && (nvt_table_rows(table) || nvt_table_failed(table, NULL)))
        return nvt_report_add(tables, table, err);
    nvt_table_free(table);
    return status;
}

static int communicates(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        for (uint32_t op = 0; op < input->traces[i].trace->ops.count; op++)
            if (nvt_is_communication(input->traces[i].trace, op))
                return 1;
    return 0;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *traces =
        nvt_report_table(&nvt_report_summary, input, "What was recorded", err);
    struct nvt_table *devices = new_table(
        further[DEVICE_TABLE], "Devices, each from its first operation to its last", device_columns,
        communicates(input) ? COUNT(device_columns) : D_EXPOSED, input, err);
    int status = traces && devices ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_parts(traces, devices, input->traces[i].trace, err);
    for (size_t i = 0; i < input->trace_count && !status && input->trace_count > 1; i++)
        nvt_table_set_text(traces, i, TRACE, input->traces[i].trace->path);
    if (status) {
        nvt_table_free(traces);
        nvt_table_free(devices);
        return -1;
    }
    status = nvt_report_add(tables, traces, err);
    if (status || (!nvt_table_rows(devices) && !nvt_table_failed(devices, NULL)))
        nvt_table_free(devices);
    else
        status = nvt_report_add(tables, devices, err);
    return status || add_memory(input, tables, err) ? -1 : add_tops(input, tables, err);
}

const struct nvt_report nvt_report_summary = {
    .name = "summary",
    .about = "where time and memory went: devices, kernels, ranges on the devices, CUDA calls",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .further = further,
};
