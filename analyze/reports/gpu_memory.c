/*
 * memory_peak and memory_timeline: memory as the allocators report it.
 *
 * A series is the memory of one device (or of the host) as one process takes it. Where an allocator
 * says how much is in use and how much it holds (PyTorch's does), these are the numbers; where only
 * single allocations are on record (cudaMalloc), what is allocated is their running sum, what is
 * reserved the same.
 *
 * memory_peak: the highest level during each range of the process, on whatever thread, by name: a
 * range without an event of its own has the level that it found. Growth is what a range leaves
 * behind, its level at the end less that at the start, on average. What there was before the first
 * event is known where the allocator says how much is in use after it. The first row of a series is
 * the whole trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../devices.h"
#include "../groups.h"
#include "../memory_runs.h"
#include "../pipeline.h"
#include "report.h"

#define MIB (1024.0 * 1024.0)

/* --- series --- */

/* Levels after each event, in bytes, and a tree of maxima over them: node i + count is event i,
 * node i the greater of 2 i and 2 i + 1. */
struct series {
    uint32_t process, device;
    uint32_t count, capacity;
    uint32_t *events; /* rows of memory, ascending */
    int64_t *allocated, *reserved;
    int64_t base; /* allocated before the first event */
    uint64_t sum; /* wraps around where the record is nonsense */
};

struct memory {
    struct series *series;
    uint32_t count;
};

static void release(struct memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++) {
        free(memory->series[i].events);
        free(memory->series[i].allocated);
        free(memory->series[i].reserved);
    }
    free(memory->series);
}

static struct series *series_of(struct memory *memory, struct nvt_map *map, uint32_t process,
                                uint32_t device)
{
    uint32_t *at = nvt_map_at(map, (uint64_t)process << 32 | device);
    if (!at)
        return NULL;
    if (*at == NVT_MAP_NONE) {
        struct series *grown =
            realloc(memory->series, ((size_t)memory->count + 1) * sizeof(*grown));
        if (!grown)
            return NULL;
        memory->series = grown;
        memset(&grown[memory->count], 0, sizeof(*grown));
        grown[memory->count].process = process;
        grown[memory->count].device = device;
        *at = memory->count++;
    }
    return &memory->series[*at];
}

static int add_event(struct series *series, uint32_t row)
{
    if (series->count == series->capacity) {
        uint32_t capacity = series->capacity ? series->capacity * 2 : 64;
        uint32_t *events = realloc(series->events, capacity * sizeof(*events));
        if (!events)
            return -1;
        series->events = events;
        series->capacity = capacity;
    }
    series->events[series->count++] = row;
    return 0;
}

/* The levels after each event, and the maxima over them. */
static int build(struct series *series, const struct nvt_memory *events)
{
    uint32_t count = series->count;
    series->allocated = malloc((size_t)count * 2 * sizeof(int64_t));
    series->reserved = malloc((size_t)count * 2 * sizeof(int64_t));
    if (!series->allocated || !series->reserved)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = series->events[i];
        series->sum +=
            events->kind[row] == NVT_MEMORY_FREE ? -events->bytes[row] : events->bytes[row];
        if (!i && events->allocated[row] != UINT64_MAX)
            series->base = (int64_t)(events->allocated[row] - series->sum);
        int64_t level = events->allocated[row] == UINT64_MAX ? (int64_t)series->sum
                                                             : (int64_t)events->allocated[row];
        series->allocated[count + i] = level;
        series->reserved[count + i] =
            events->reserved[row] == UINT64_MAX ? level : (int64_t)events->reserved[row];
    }
    for (uint32_t i = count; i-- > 1;) {
        const int64_t *a = &series->allocated[2 * (size_t)i], *r = &series->reserved[2 * (size_t)i];
        series->allocated[i] = a[0] > a[1] ? a[0] : a[1];
        series->reserved[i] = r[0] > r[1] ? r[0] : r[1];
    }
    return 0;
}

static int read_series(struct memory *memory, const struct nvt_trace *trace)
{
    const struct nvt_memory *events = &trace->memory;
    struct nvt_map map = {0};
    int status = 0;
    for (uint32_t i = 0; i < events->count && !status; i++) {
        struct series *series = series_of(memory, &map, events->process[i], events->device[i]);
        status = series ? add_event(series, i) : -1;
    }
    nvt_map_free(&map);
    for (uint32_t i = 0; i < memory->count && !status; i++)
        status = build(&memory->series[i], events);
    return status;
}

/* How many events of a series are not behind `time` (or, strictly, before it). */
static uint32_t events_until(const struct series *series, const struct nvt_memory *events,
                             int64_t time, int strictly)
{
    uint32_t low = 0, high = series->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t at = events->time[series->events[middle]];
        if (at < time || (at == time && !strictly))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The greatest of the levels of events [from, to). */
static int64_t maximum(const int64_t *tree, uint32_t count, uint32_t from, uint32_t to)
{
    int64_t greatest = INT64_MIN;
    uint64_t low = (uint64_t)from + count, high = (uint64_t)to + count;
    for (; low < high; low >>= 1, high >>= 1) {
        if (low & 1 && tree[low++] > greatest)
            greatest = tree[low - 1];
        if (high & 1 && tree[--high] > greatest)
            greatest = tree[high];
    }
    return greatest;
}

/* --- memory_peak --- */

enum { RANGE, DEVICE, PID, INSTANCES, ALLOCATED, RESERVED, GROWTH };

static const struct nvt_column_spec peak_columns[] = {
    [RANGE] = {"Range", "", NVT_TEXT, 0, 0},
    [DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [INSTANCES] = {"Instances", "", NVT_INT, 0, 0},
    [ALLOCATED] = {"Peak Allocated (MiB)", "MiB", NVT_REAL, 2, 0},
    [RESERVED] = {"Peak Reserved (MiB)", "MiB", NVT_REAL, 2, 0},
    [GROWTH] = {"Growth (MiB)", "MiB", NVT_REAL, 2, 0},
};

struct peak {
    uint32_t range; /* one of the name */
    uint32_t instances;
    int64_t allocated, reserved, growth;
};

static void put_peak(struct nvt_table *table, const struct nvt_trace *trace,
                     const struct series *series, const char *name, const struct peak *peak)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, RANGE, name);
    nvt_put_device(table, row, DEVICE, trace, series->process, series->device);
    nvt_table_set_int(table, row, PID, trace->processes.pid[series->process]);
    nvt_table_set_int(table, row, INSTANCES, peak->instances);
    nvt_table_set_real(table, row, ALLOCATED, (double)peak->allocated / MIB);
    nvt_table_set_real(table, row, RESERVED, (double)peak->reserved / MIB);
    nvt_table_set_real(table, row, GROWTH, (double)peak->growth / MIB / peak->instances);
}

/* Levels are a stranger's numbers: sums of them wrap around. */
static int64_t grown(int64_t growth, int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)growth + (uint64_t)to - (uint64_t)from);
}

static void add_range(struct peak *peak, const struct nvt_trace *trace, const struct series *series,
                      uint32_t range)
{
    const int64_t *levels = series->allocated + series->count;
    uint32_t before = events_until(series, &trace->memory, trace->ranges.start[range], 1);
    uint32_t until = events_until(series, &trace->memory, trace->ranges.end[range], 0);
    uint32_t from = before ? before - 1 : 0;
    int64_t allocated = maximum(series->allocated, series->count, from, until);
    int64_t reserved = maximum(series->reserved, series->count, from, until);
    if (!before && allocated < series->base)
        allocated = series->base;
    if (!before && reserved < series->base)
        reserved = series->base;
    if (!peak->instances++ || allocated > peak->allocated)
        peak->allocated = allocated;
    if (peak->instances == 1 || reserved > peak->reserved)
        peak->reserved = reserved;
    peak->growth = grown(peak->growth, before ? levels[before - 1] : series->base,
                         until ? levels[until - 1] : series->base);
}

static struct peak *peak_of(struct peak **peaks, uint32_t *count, struct nvt_map *map,
                            const struct nvt_ranges *ranges, uint32_t range)
{
    uint32_t *at = nvt_map_at(map, (uint64_t)ranges->domain[range] << 32 | ranges->name[range]);
    if (!at)
        return NULL;
    if (*at == NVT_MAP_NONE) {
        if (!(*count & (*count - 1))) {
            size_t capacity = *count ? (size_t)*count * 2 : 1;
            struct peak *grown = realloc(*peaks, capacity * sizeof(*grown));
            if (!grown)
                return NULL;
            *peaks = grown;
        }
        (*peaks)[*count] = (struct peak){.range = range};
        *at = (*count)++;
    }
    return &(*peaks)[*at];
}

static int compare_peaks(const void *left, const void *right)
{
    const struct peak *a = left, *b = right;
    if (a->allocated != b->allocated)
        return a->allocated < b->allocated ? 1 : -1;
    if (a->reserved != b->reserved)
        return a->reserved < b->reserved ? 1 : -1;
    return a->range < b->range ? -1 : a->range > b->range;
}

static void put_whole(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct series *series)
{
    const struct peak whole = {
        .instances = 1,
        .allocated = maximum(series->allocated, series->count, 0, series->count),
        .reserved = maximum(series->reserved, series->count, 0, series->count),
        .growth = grown(0, series->base, series->allocated[2 * (size_t)series->count - 1])};
    put_peak(table, trace, series, "(whole trace)", &whole);
}

static int put_series(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct series *series, struct nvt_groups *names)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map map = {0};
    struct peak *peaks = NULL;
    uint32_t count = 0;
    int status = 0;
    put_whole(table, trace, series);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        if (trace->threads.process[ranges->thread[i]] != series->process)
            continue;
        struct peak *peak = peak_of(&peaks, &count, &map, ranges, i);
        if (peak)
            add_range(peak, trace, series, i);
        status = peak ? 0 : -1;
    }
    if (count)
        qsort(peaks, count, sizeof(*peaks), compare_peaks);
    for (uint32_t i = 0; i < count && !status; i++)
        put_peak(table, trace, series,
                 nvt_groups_name(names, nvt_groups_range(names, peaks[i].range)), &peaks[i]);
    nvt_map_free(&map);
    free(peaks);
    return status;
}

static int peaks_of(struct nvt_table *table, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct memory memory = {0};
    struct nvt_groups names = {0};
    int status = read_series(&memory, trace);
    nvt_groups_trace(&names, trace);
    for (uint32_t i = 0; i < memory.count && !status; i++)
        status = put_series(table, trace, &memory.series[i], &names);
    if (status || nvt_groups_failed(&names))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_groups_free(&names);
    release(&memory);
    return status;
}

/* --- memory_timeline --- */

enum { T_TIME, T_OPERATION, T_BYTES, T_ALLOCATED, T_RESERVED, T_DEVICE, T_PID, T_TID };
enum { T_ADDRESS = T_TID + 1, T_SOURCE };

static const struct nvt_column_spec timeline_columns[] = {
    [T_TIME] = {"Time (ns)", "ns", NVT_INT, 0, 0},
    [T_OPERATION] = {"Operation", "", NVT_TEXT, 0, 0},
    [T_BYTES] = {"Bytes", "", NVT_INT, 0, 0},
    [T_ALLOCATED] = {"Allocated (bytes)", "bytes", NVT_INT, 0, 0},
    [T_RESERVED] = {"Reserved (bytes)", "bytes", NVT_INT, 0, 0},
    [T_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [T_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [T_TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [T_ADDRESS] = {"Address", "", NVT_TEXT, 0, 0},
    [T_SOURCE] = {"Source", "", NVT_TEXT, 0, 0},
};

static void put_event(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct series *series, uint32_t i)
{
    const struct nvt_memory *events = &trace->memory;
    uint32_t event = series->events[i], thread = events->thread[event];
    char address[32];
    size_t row = nvt_table_add_row(table);
    snprintf(address, sizeof(address), "0x%" PRIx64, events->address[event]);
    nvt_table_set_int(table, row, T_TIME, events->time[event]);
    nvt_table_set_text(table, row, T_OPERATION,
                       events->kind[event] == NVT_MEMORY_FREE ? "free" : "allocate");
    nvt_table_set_int(table, row, T_BYTES, (int64_t)events->bytes[event]);
    nvt_table_set_int(table, row, T_ALLOCATED, series->allocated[series->count + (size_t)i]);
    nvt_table_set_int(table, row, T_RESERVED, series->reserved[series->count + (size_t)i]);
    nvt_put_device(table, row, T_DEVICE, trace, series->process, series->device);
    nvt_table_set_int(table, row, T_PID, trace->processes.pid[series->process]);
    if (thread < trace->threads.count)
        nvt_table_set_int(table, row, T_TID, trace->threads.tid[thread]);
    nvt_table_set_text(table, row, T_ADDRESS, address);
    nvt_table_set_text(table, row, T_SOURCE, nvt_name(trace, events->source[event]));
}

static int timeline_of(struct nvt_table *table, const struct nvt_trace *trace,
                       struct nvt_error *err)
{
    struct memory memory = {0};
    int status = read_series(&memory, trace);
    for (uint32_t i = 0; i < memory.count && !status; i++)
        for (uint32_t event = 0; event < memory.series[i].count; event++)
            put_event(table, trace, &memory.series[i], event);
    nvt_table_sort(table, T_TIME, 0);
    release(&memory);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

/* --- both --- */

/* A table a trace: levels of different processes and times are never added up. */
static int make(const struct nvt_report *report, const char *what,
                int (*fill)(struct nvt_table *, const struct nvt_trace *, struct nvt_error *),
                struct nvt_report_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t without = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        /* Of several, and of a run, those that have some. */
        without += !trace->memory.count;
        if (!trace->memory.count && (input->trace_count > 1 || input->run_count))
            continue;
        struct nvt_table *table = nvt_report_trace_table(report, input, trace, what, err);
        if (!table)
            return -1;
        if (fill(table, trace, err)) {
            nvt_table_free(table);
            return -1;
        }
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    /* Of runs, there are the peaks of their own allocator. */
    if (input->run_count && report == &nvt_report_memory_peak)
        return 0;
    if (without == 1 && input->trace_count == 1)
        nvt_note(input, "note: there is no memory event in %s", input->traces[0].trace->path);
    else if (without)
        nvt_note(input, "note: there is no memory event in %zu of %zu traces", without,
                 input->trace_count);
    return 0;
}

static int make_peak(struct nvt_report_input *input, struct nvt_tables *tables,
                     struct nvt_error *err)
{
    size_t before = tables->count;
    if (make(&nvt_report_memory_peak, "Peak memory by range", peaks_of, input, tables, err))
        return -1;
    if (nvt_memory_of_runs(input, tables, err) || nvt_pipeline_memory(input, tables, err))
        return -1;
    if (tables->count == before)
        nvt_note(input, "note: no trace has a memory event, and no run a peak");
    return 0;
}

static int make_timeline(struct nvt_report_input *input, struct nvt_tables *tables,
                         struct nvt_error *err)
{
    return make(&nvt_report_memory_timeline, "Memory over time", timeline_of, input, tables, err);
}

const struct nvt_report nvt_report_memory_peak = {
    .name = "memory_peak",
    .about = "peak of allocated and reserved memory, by range and device, or by phase of a run",
    .needs = NVT_NEEDS_TRACES,
    .columns = peak_columns,
    .column_count = sizeof(peak_columns) / sizeof(peak_columns[0]),
    .make = make_peak,
};

const struct nvt_report nvt_report_memory_timeline = {
    .name = "memory_timeline",
    .about = "every allocation, with what is allocated and reserved after it",
    .needs = NVT_NEEDS_TRACES,
    .columns = timeline_columns,
    .column_count = sizeof(timeline_columns) / sizeof(timeline_columns[0]),
    .make = make_timeline,
};
