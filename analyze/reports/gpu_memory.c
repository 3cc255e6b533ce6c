/*
 * memory_peak, memory_timeline and memory_at_peak: memory as the allocators report it (levels.h).
 *
 * memory_peak: the highest level during each range of the process, by name (range_peaks.h); growth is that of
 * a range on average. The first row of a series is
 * the whole trace. What is reserved is empty where no allocator tells it. Of runs a further table has the peaks of the workloads'
 * own allocator, by phase, as their rows have it: it counts the same on a host as on a device.
 *
 * memory_at_peak: what memory was in use for at its peak, by the ranges that allocated it, as a tree (stacks.h). The
 * outermost rows are the memory of a device as a process takes it, and of the host, each at its own peak, the first
 * moment at which most is allocated. In Use is what was allocated in a range, or in one within it, and not freed until
 * then; Own that of no deeper range. Share is that of the outermost row. Functions of Python's stack are left out, where
 * there are other ranges.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../device/devices.h"
#include "../memory/levels.h"
#include "../memory/range_peaks.h"
#include "../model/groups.h"
#include "../model/nesting.h"
#include "../studies/pipeline.h"
#include "../studies/stacks.h"
#include "report.h"

/* Whether a trace has memory events: levels of different processes and times are never added up. */
static int has_memory(const struct nvt_trace *trace)
{
    return trace->memory.count > 0;
}

static void note_missing(struct nvt_input *input)
{
    size_t without = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        without += !has_memory(input->traces[i].trace);
    if (without == 1 && input->trace_count == 1)
        nvt_note(input, "note: no memory events in %s", input->traces[0].trace->path);
    else if (without)
        nvt_note(input, "note: no memory events in %zu of %zu traces", without, input->trace_count);
}

/* The tables of the traces that have some, and a note on those that have none. */
static int make_each(const struct nvt_report *report, struct nvt_input *input,
                     struct nvt_tables *tables, struct nvt_error *err)
{
    if (nvt_report_make_each(report, input, tables, err))
        return -1;
    note_missing(input);
    return 0;
}

/* --- memory_peak --- */

static void put_peak(struct nvt_table *table, const struct nvt_trace *trace,
                     const struct nvt_level_series *series, const char *name,
                     const struct nvt_range_peak *peak)
{
    nvt_table_put(table, name, NVT_DEVICE(trace, series->process, series->device),
                  trace->processes.pid[series->process], peak->instances,
                  (double)peak->allocated / NVT_MEBIBYTE,
                  NVT_IF(!series->lacks_reserved, (double)peak->reserved / NVT_MEBIBYTE),
                  (double)peak->growth / NVT_MEBIBYTE / peak->instances);
}

static int put_series(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_level_series *series, struct nvt_groups *names)
{
    uint32_t count = 0;
    const struct nvt_range_peak whole = nvt_whole_peak(series);
    struct nvt_range_peak *peaks = nvt_range_peaks(series, trace, &count);
    put_peak(table, trace, series, "(whole trace)", &whole);
    for (uint32_t i = 0; i < count; i++)
        put_peak(table, trace, series,
                 nvt_groups_name(names, nvt_groups_range(names, peaks[i].range)), &peaks[i]);
    free(peaks);
    return peaks ? 0 : -1;
}

static int peaks_of(struct nvt_table *table, const struct nvt_trace *trace,
                    const struct nvt_making *making)
{
    struct nvt_levels levels = {0};
    struct nvt_groups names = {0};
    int status = nvt_levels_make(&levels, trace);
    (void)making;
    nvt_groups_trace(&names, trace);
    for (uint32_t i = 0; i < levels.count && !status; i++)
        status = put_series(table, trace, &levels.series[i], &names);
    status = status || nvt_groups_failed(&names) ? -1 : 0;
    nvt_groups_free(&names);
    nvt_levels_free(&levels);
    return status;
}

/* --- memory_peak of runs --- */

static const char allocated_end[] = "peak_allocated_bytes";

static struct nvt_cell bytes_of(double bytes)
{
    return NVT_IF(bytes >= 0 && bytes < 9e15, (int64_t)bytes);
}

/* phase: with the '_' behind it, "" of the whole run. */
static void put_run_peak(struct nvt_table *table, const struct nvt_record *record,
                         const char *configuration, const char *phase, double allocated)
{
    char key[160], name[120];
    int length = (int)strlen(phase);
    snprintf(key, sizeof(key), "%speak_reserved_bytes", phase);
    snprintf(name, sizeof(name), "%.*s", length ? length - 1 : 0, phase);
    nvt_table_put(table, nvt_record_text(record, "workload"), configuration,
                  nvt_record_text(record, "collect"), length ? name : "(all)", bytes_of(allocated),
                  bytes_of(nvt_record_number(record, key)));
}

static int put_record(struct nvt_table *table, const struct nvt_record *record)
{
    char *configuration = nvt_record_configuration(record);
    for (size_t i = 0; configuration && i < record->count; i++) {
        const struct nvt_member *member = &record->members[i];
        size_t length = strlen(member->key), end = sizeof(allocated_end) - 1;
        char phase[100];
        /* A phase that took nothing was not run, or is none that allocates. */
        if (member->type != NVT_VALUE_NUMBER || !(member->number > 0) || length < end ||
            length - end >= sizeof(phase) || strcmp(member->key + length - end, allocated_end) != 0)
            continue;
        snprintf(phase, sizeof(phase), "%.*s", (int)(length - end), member->key);
        put_run_peak(table, record, configuration, phase, member->number);
    }
    free(configuration);
    return configuration ? 0 : -1;
}

static int put_memory_runs(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    int status = 0;
    for (size_t i = 0; i < input->run_count && !status; i++)
        for (size_t k = 0; k < input->runs[i]->count && !status; k++)
            status = put_record(table, &input->runs[i]->records[k]);
    if (!nvt_table_rows(table))
        nvt_making_leave_out(making, 0);
    return status;
}

static const struct nvt_report runs = {
    .name = "memory_runs",
    .title = "Peak memory of the workload's allocator, by phase",
    .columns = {{"workload", NVT_NAMES},
                {"configuration", NVT_NAMES},
                {"collect", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"peak allocated (bytes)", "bytes", NVT_INT, 0, 0},
                {"peak reserved (bytes)", "bytes", NVT_INT, 0, 0}},
    .of_input = put_memory_runs,
};

static const char *const further[] = {"memory_runs", NVT_PIPELINE_MEMORY, NULL};

static int make_peak(const struct nvt_report *report, struct nvt_input *input,
                     struct nvt_tables *tables, struct nvt_error *err)
{
    const size_t before = tables->count;
    if (nvt_report_make_each(report, input, tables, err))
        return -1;
    if (!input->run_count)
        note_missing(input);
    if (nvt_report_make_tables(&runs, input, tables, err) ||
        nvt_pipeline_memory(input, tables, err))
        return -1;
    if (tables->count == before)
        nvt_note(input, "note: no trace has memory events, and no run has a peak");
    return 0;
}

const struct nvt_report nvt_report_memory_peak = {
    .name = "memory_peak",
    .about = "peak of allocated and reserved memory, by range and device, or by phase of a run",
    .columns = {{"Range", NVT_RANGES},
                {"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Instances", NVT_COUNTS},
                {"Peak Allocated (MiB)", NVT_MIB},
                {"Peak Reserved (MiB)", NVT_MIB},
                {"Growth (MiB)", NVT_MIB}},
    .title = "Peak memory by range",
    .has = has_memory,
    .each_trace = peaks_of,
    .make = make_peak,
    .further = further,
};

/* --- memory_timeline --- */

static void put_event(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_level_series *series, uint32_t i)
{
    const struct nvt_memory *events = &trace->memory;
    uint32_t event = series->events[i], thread = events->thread[event];
    char address[32];
    snprintf(address, sizeof(address), "0x%" PRIx64, events->address[event]);
    nvt_table_put(table, events->time[event],
                  events->is_earlier[event]                ? "before"
                  : events->kind[event] == NVT_MEMORY_FREE ? "free"
                                                           : "allocate",
                  events->bytes[event], nvt_level_allocated(series, i),
                  NVT_IF(!series->lacks_reserved, nvt_level_reserved(series, i)),
                  NVT_DEVICE(trace, series->process, series->device),
                  trace->processes.pid[series->process],
                  NVT_IF(thread < trace->threads.count, trace->threads.tid[thread]), address,
                  nvt_name(trace, events->source[event]));
}

static int timeline_of(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_making *making)
{
    struct nvt_levels levels = {0};
    int status = nvt_levels_make(&levels, trace);
    (void)making;
    for (uint32_t i = 0; i < levels.count && !status; i++)
        for (uint32_t event = 0; event < levels.series[i].count; event++)
            put_event(table, trace, &levels.series[i], event);
    nvt_levels_free(&levels);
    return status;
}

const struct nvt_report nvt_report_memory_timeline = {
    .name = "memory_timeline",
    .about = "every allocation, with what is allocated and reserved after it",
    .columns = {{"Time (ns)", NVT_MOMENTS_NS},
                {"Operation", NVT_NAMES},
                {"Bytes", NVT_COUNTS},
                {"Allocated (bytes)", "bytes", NVT_INT, 0, 0},
                {"Reserved (bytes)", "bytes", NVT_INT, 0, 0},
                {"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Address", NVT_NAMES},
                {"Source", NVT_NAMES}},
    .title = "Memory over time",
    .order = {"Time (ns)"},
    .has = has_memory,
    .each_trace = timeline_of,
    .make = make_each,
};

/* --- memory_at_peak --- */

/* Allocations of a row and of all below it, which are higher ones. NULL when out of memory. */
static uint64_t *count_allocations(const struct nvt_stacks *stacks)
{
    uint64_t *counts = calloc((size_t)stacks->count + 1, sizeof(*counts));
    for (uint32_t i = counts ? stacks->count : 0; i-- > 0;) {
        counts[i] += stacks->items[i].count;
        if (stacks->items[i].parent != NVT_NONE)
            counts[stacks->items[i].parent] += counts[i];
    }
    return counts;
}

static int put_memory_at_peak_stacks(struct nvt_table *table, const struct nvt_stacks *stacks)
{
    struct nvt_buffer text = {0};
    uint64_t *counts = count_allocations(stacks);
    int status = counts ? 0 : -1;
    int64_t whole = 0;
    for (uint32_t i = 0; i < stacks->count && !status; i++) {
        const uint32_t row = stacks->order[i];
        const struct nvt_stack *stack = &stacks->items[row];
        whole = stack->depth ? whole : stack->total;
        status = nvt_nesting_indent(stack->depth, nvt_stacks_name(stacks, row), &text);
        if (!status)
            nvt_table_put(table, (const char *)text.data, (double)stack->total / NVT_MEBIBYTE,
                          nvt_percent(stack->total, whole), (double)stack->self / NVT_MEBIBYTE,
                          counts[row], NVT_IF(stack->at != INT64_MIN, stack->at), stack->depth);
    }
    nvt_buffer_free(&text);
    free(counts);
    return status;
}

static int put_memory_at_peak_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                    const struct nvt_making *making)
{
    struct nvt_stacks stacks = {0};
    int status =
        nvt_stacks_make(&stacks, trace, NVT_STACKS_MEMORY,
                        nvt_input_projection(making->input) | NVT_STACKS_NO_FUNCTIONS, making->err);
    if (!status)
        status = put_memory_at_peak_stacks(table, &stacks);
    nvt_stacks_free(&stacks);
    return status;
}

const struct nvt_report nvt_report_memory_at_peak = {
    .name = "memory_at_peak",
    .about = "memory in use at its peak, as a tree of the ranges that allocated it",
    .needs = NVT_PROJECTS,
    .columns = {{"Range", NVT_RANGES},
                {"In Use (MiB)", NVT_MIB},
                {"Share (%)", NVT_PERCENT},
                {"Own (MiB)", NVT_MIB},
                {"Allocations", NVT_COUNTS},
                {"At (ns)", NVT_MOMENTS_NS},
                {"Lvl", NVT_COUNTS}},
    .title = "Memory in use at its peak",
    .has = has_memory,
    .each_trace = put_memory_at_peak_trace,
    .make = make_each,
};
