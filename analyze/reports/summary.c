/*
 * summary: where the time and memory went, on one screen: an overview of the trace; how each device spent the time from
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
#include "../device/kernel_times.h"
#include "../model/cuda_names.h"
#include "../model/extent.h"
#include "../memory/levels.h"
#include "../device/overlap.h"
#include "../model/plain_names.h"
#include "report.h"

/* Rows of the tables, at most. */
enum { TOP_KERNELS = 10, TOP_RANGES = 10, TOP_CALLS = 5 };

/* The tables of the report. */
enum { TRACES, DEVICES, MEMORY, KERNELS, RANGES, CALLS };

static double share(int64_t part, int64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* Headings of nvtx_gpu_proj_sum. */
#define PROJECTED "Total Proj Time (ns)"
#define INSTANCES "Range Instances"
#define ON_HOST   "Total Range Time (ns)"

/* --- the trace, and the devices --- */

static int64_t cuda_calls(const struct nvt_trace *trace)
{
    int64_t calls = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        calls += nvt_is_cuda_call(&trace->apis, i);
    return calls;
}

static void put_summary_trace(struct nvt_table *table, const struct nvt_trace *trace,
                              uint32_t devices, int is_named)
{
    uint32_t kernels = 0, threads = 0;
    const struct nvt_extent all = nvt_extent_of_processes(trace);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        kernels += trace->ops.kind[i] == NVT_OP_KERNEL;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        threads += trace->threads.tid[i] != 0 || trace->threads.events[i];
    nvt_table_put(table, nvt_clock_since(all.last, all.first), devices, trace->processes.count,
                  threads, trace->ranges.count, trace->marks.count, kernels,
                  trace->ops.count - kernels, cuda_calls(trace), NVT_IF(is_named, trace->path));
}

/* Of communication only what has some. */
static void put_summary_device(struct nvt_table *table, const struct nvt_trace *trace,
                               const struct nvt_used_device *device,
                               const struct nvt_overlap *overlap, int communicates)
{
    const unsigned compute = 1u << NVT_CLASS_COMPUTE, copy = 1u << NVT_CLASS_COPY,
                   communication = 1u << NVT_CLASS_COMMUNICATION;
    int64_t span = nvt_overlap_with(overlap, 0), busy = span - overlap->time[0];
    int64_t shared = nvt_overlap_with(overlap, communication);
    int64_t exposed = shared - nvt_overlap_with(overlap, communication | compute);
    nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                  NVT_IF(device->users == 1, trace->processes.pid[device->process]), span, busy,
                  share(busy, span), span - busy, share(span - busy, span),
                  share(nvt_kernel_time(trace, device), span),
                  share(nvt_overlap_with(overlap, copy), span));
    if (communicates)
        nvt_table_more(table, exposed, share(exposed, span));
}

/* A trace's row, and those of its devices. */
static int put_parts(const struct nvt_making *making, const struct nvt_trace *trace,
                     int communicates)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, making->err);
    if (!status)
        put_summary_trace(making->tables[TRACES], trace, devices.count,
                          making->input->trace_count > 1);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_overlap overlap;
        status = nvt_overlap_make(&overlap, trace, &devices.items[i]);
        if (!status)
            put_summary_device(making->tables[DEVICES], trace, &devices.items[i], &overlap,
                               communicates);
    }
    nvt_used_devices_free(&devices);
    return status;
}

/* --- kernels and ranges by telling and plain names --- */

/* What ranges of a name have: ns on the device, and on the host. */
struct sum {
    int64_t total, host;
    uint64_t count;
};

static int put_kernels(struct nvt_table *table, const struct nvt_input *input)
{
    struct nvt_groups kernels = {.item_size = sizeof(struct nvt_kernel_time)};
    double all = 0;
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        failed = nvt_kernel_times_add(&kernels, input->traces[i].trace);
    failed = failed || nvt_groups_failed(&kernels);
    for (uint32_t i = 0; i < kernels.count; i++)
        all += (double)((const struct nvt_kernel_time *)nvt_groups_item(&kernels, i))->ns;
    for (uint32_t i = 0; i < kernels.count && !failed; i++) {
        const struct nvt_kernel_time *kernel = nvt_groups_item(&kernels, i);
        nvt_table_put(table, all > 0 ? nvt_percent(kernel->ns, all) : 0, kernel->ns, kernel->count,
                      (double)kernel->ns / (double)kernel->count, nvt_groups_part(&kernels, i, 0));
    }
    nvt_groups_free(&kernels);
    return failed ? -1 : 0;
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
static int add_summary_ranges(struct nvt_groups *ranges, const struct nvt_table *from)
{
    size_t name = nvt_table_find(from, "Range"), total = nvt_table_find(from, PROJECTED);
    size_t host = nvt_table_find(from, ON_HOST), count = nvt_table_find(from, INSTANCES);
    int others = has_others(from, name);
    for (size_t row = 0; row < nvt_table_rows(from); row++) {
        if (others && nvt_is_python_function(nvt_table_text(from, row, name)))
            continue;
        char *plain = plain_range(nvt_table_text(from, row, name));
        const uint32_t key = plain ? nvt_groups_text(ranges, plain) : NVT_NO_STRING;
        struct sum *sum = plain ? nvt_groups_item(ranges, nvt_groups_key(ranges, &key, 1)) : NULL;
        free(plain);
        if (!sum)
            return -1;
        sum->total = nvt_clock_sum(sum->total, nvt_table_int(from, row, total));
        sum->host = nvt_clock_sum(sum->host, nvt_table_int(from, row, host));
        sum->count += (uint64_t)nvt_table_int(from, row, count);
    }
    return nvt_groups_failed(ranges) ? -1 : 0;
}

static int put_summary_ranges(struct nvt_table *table, const struct nvt_table *from)
{
    struct nvt_groups ranges = {.item_size = sizeof(struct sum)};
    int status = add_summary_ranges(&ranges, from);
    for (uint32_t i = 0; i < ranges.count && !status; i++) {
        const struct sum *range = nvt_groups_item(&ranges, i);
        nvt_table_put(table, range->total, range->count,
                      (double)range->total / (double)range->count, range->host,
                      nvt_groups_part(&ranges, i, 0));
    }
    nvt_groups_free(&ranges);
    return status;
}

/* --- the first rows of longer tables --- */

/* Rows of cuda_api_sum. */
static int put_summary_calls(struct nvt_table *table, const struct nvt_table *from)
{
    size_t name = nvt_table_find(from, "Name");
    for (size_t row = 0; row < nvt_table_rows(from); row++)
        nvt_table_put(table, nvt_table_real(from, row, 0), nvt_table_int(from, row, 1),
                      nvt_table_int(from, row, 2), nvt_table_real(from, row, 3),
                      nvt_table_text(from, row, name));
    return 0;
}

/* Keep the first rows of a table, and say in its title which report has all. */
static void keep_top(const struct nvt_making *making, size_t table, size_t most, const char *whole)
{
    const struct nvt_table_kind *kind = &making->report->more[table - 1];
    const size_t rows = nvt_table_rows(making->tables[table]);
    char title[200];
    if (rows <= most)
        return;
    snprintf(title, sizeof(title), "%s: the first %zu of %zu, -r %s has all", kind->title, most,
             rows, whole);
    nvt_table_set_title(making->tables[table], title);
    nvt_table_order(making->tables[table], kind->order);
    nvt_table_keep(making->tables[table], most);
}

/* The table of a report; that there is nothing in it is no news here. NULL with err filled. */
static struct nvt_table *table_of(const struct nvt_report *report, const struct nvt_input *input,
                                  struct nvt_error *err)
{
    struct nvt_input copy = *input;
    struct nvt_tables made = {0};
    struct nvt_table *table = NULL;
    copy.notes = (struct nvt_buffer){0};
    copy.project_flags = nvt_input_projection(input);
    if (!nvt_report_make(report, &copy, &made, err) && made.count) {
        table = made.items[0];
        made.items[0] = NULL;
    }
    nvt_tables_free(&made);
    nvt_buffer_free(&copy.notes);
    return table;
}

/* The rows of a table of the summary from that of a longer report. */
static int put_from(const struct nvt_making *making, size_t table, const struct nvt_report *report,
                    int (*put)(struct nvt_table *table, const struct nvt_table *from))
{
    struct nvt_table *from = table_of(report, making->input, making->err);
    int status = from ? put(making->tables[table], from) : -1;
    nvt_table_free(from);
    return status;
}

static int put_tops(const struct nvt_making *making)
{
    if (put_kernels(making->tables[KERNELS], making->input) ||
        put_from(making, RANGES, &nvt_report_nvtx_gpu_proj_sum, put_summary_ranges) ||
        put_from(making, CALLS, &nvt_report_cuda_api_sum, put_summary_calls))
        return -1;
    keep_top(making, KERNELS, TOP_KERNELS, "cuda_gpu_kern_sum");
    keep_top(making, RANGES, TOP_RANGES, "nvtx_gpu_proj_sum");
    keep_top(making, CALLS, TOP_CALLS, "cuda_api_sum");
    return 0;
}

/* --- memory --- */

static void put_summary_memory(struct nvt_table *table, const struct nvt_trace *trace,
                               const struct nvt_level_series *series)
{
    uint32_t peak;
    int64_t most = nvt_level_most(series, &peak);
    int64_t reserved = nvt_level_most_reserved(series, NULL);
    if ((double)most < 0.005 * NVT_MEBIBYTE && reserved <= most)
        return;
    nvt_table_put(table, NVT_DEVICE(trace, series->process, series->device),
                  trace->processes.pid[series->process], (double)most / NVT_MEBIBYTE,
                  NVT_IF(!series->lacks_reserved, (double)reserved / NVT_MEBIBYTE),
                  (double)nvt_level_allocated(series, series->count - 1) / NVT_MEBIBYTE,
                  NVT_IF(peak != NVT_NONE, trace->memory.time[series->events[peak]]));
}

/* Put the memory of all traces, but for what would be no hundredth of a MiB. */
static int put_memories(const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        struct nvt_levels levels = {0};
        status = nvt_levels_make(&levels, input->traces[i].trace);
        for (uint32_t k = 0; k < levels.count && !status; k++)
            put_summary_memory(making->tables[MEMORY], input->traces[i].trace, &levels.series[k]);
        nvt_levels_free(&levels);
    }
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

static int put_summary(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    const int has_communication = communicates(input);
    int status = 0;
    (void)table;
    if (!has_communication)
        nvt_table_drop(making->tables[DEVICES], "Exposed Communication (ns)", 2);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = put_parts(making, input->traces[i].trace, has_communication);
    return status || put_memories(making) ? -1 : put_tops(making);
}

static const struct nvt_table_kind more[] = {
    [DEVICES - 1] = {.name = "summary_devices",
                     .title = "GPU utilisation, first to last operation (includes start-up)",
                     .columns = {{"Device", NVT_NAMES},
                                 {"PID", NVT_SPARE_IDS},
                                 {"Span (ns)", NVT_NS},
                                 {"Busy (ns)", NVT_NS},
                                 {"Busy (%)", NVT_PERCENT},
                                 {"Idle (ns)", NVT_NS},
                                 {"Idle (%)", NVT_PERCENT},
                                 {"Kernels (%)", NVT_PERCENT},
                                 {"Copies (%)", NVT_PERCENT},
                                 {"Exposed Communication (ns)", NVT_NS},
                                 {"Exposed Communication (%)", NVT_PERCENT}},
                     .is_optional = 1},
    [MEMORY - 1] = {.name = "summary_memory",
                    .title = "Memory (-r memory_at_peak shows the ranges that use it at its peak)",
                    .columns = {{"Device", NVT_NAMES},
                                {"PID", NVT_SPARE_IDS},
                                {"Peak Allocated (MiB)", NVT_MIB},
                                {"Peak Reserved (MiB)", NVT_MIB},
                                {"Allocated at End (MiB)", NVT_MIB},
                                {"Peak at (ns)", NVT_MOMENTS_NS}},
                    .is_optional = 1},
    [KERNELS - 1] = {.name = "summary_kernels",
                     .title = "Kernels by total time",
                     .columns = {{"Time (%)", NVT_PERCENT},
                                 {"Total Time (ns)", NVT_NS},
                                 {"Instances", NVT_COUNTS},
                                 {"Avg (ns)", NVT_NS_AVERAGE},
                                 {"Name", NVT_KERNELS}},
                     .order = {"-Total Time (ns)", "Name"},
                     .is_optional = 1},
    [RANGES - 1] = {.name = "summary_ranges",
                    .title = "Ranges by projected GPU span (first to last kernel)",
                    .columns = {{PROJECTED, NVT_NS},
                                {INSTANCES, NVT_COUNTS},
                                {"Proj Avg (ns)", NVT_NS_AVERAGE},
                                {ON_HOST, NVT_NS},
                                {"Range", NVT_RANGES}},
                    .order = {"-" PROJECTED, "Range"},
                    .is_optional = 1},
    [CALLS - 1] = {.name = "summary_calls",
                   .title = "CUDA calls by total time",
                   .columns = {{"Time (%)", NVT_PERCENT},
                               {"Total Time (ns)", NVT_NS},
                               {"Num Calls", NVT_COUNTS},
                               {"Avg (ns)", NVT_NS_AVERAGE},
                               {"Name", NVT_NAMES}},
                   .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_summary = {
    .name = "summary",
    .about = "overview of time and memory: devices, kernels, ranges on the devices, CUDA calls",
    .needs = NVT_PROJECTS,
    .title = "Trace overview",
    .columns = {{"Span (ns)", NVT_NS},
                {"Devices", NVT_COUNTS},
                {"Processes", NVT_COUNTS},
                {"Threads", NVT_COUNTS},
                {"Ranges", NVT_COUNTS},
                {"Marks", NVT_COUNTS},
                {"Kernels", NVT_COUNTS},
                {"Copies", NVT_COUNTS},
                {"CUDA Calls", NVT_COUNTS},
                {"Trace", NVT_NAMES}},
    .of_input = put_summary,
    .more = more,
};
