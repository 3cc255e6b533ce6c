/*
 * memory_peak and memory_timeline: memory as the allocators report it (levels.h).
 *
 * memory_peak: the highest level during each range of the process, on whatever thread, by name: a
 * range without an event of its own has the level that it found. Growth is what a range leaves
 * behind, its level at the end less that at the start, on average. The first row of a series is
 * the whole trace. What is reserved is empty where no allocator tells it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../device/devices.h"
#include "../../lib/map.h"
#include "../model/groups.h"
#include "../memory/levels.h"
#include "memory_runs.h"
#include "../studies/pipeline.h"
#include "memory_tables.h"
#include "report.h"

#define MIB (1024.0 * 1024.0)

/* --- memory_peak --- */

struct peak {
    uint32_t range; /* one of the name */
    uint32_t instances;
    int64_t allocated, reserved, growth;
};

static void put_peak(struct nvt_table *table, const struct nvt_trace *trace,
                     const struct nvt_level_series *series, const char *name,
                     const struct peak *peak)
{
    nvt_table_put(table, name, NVT_DEVICE(trace, series->process, series->device),
                  trace->processes.pid[series->process], peak->instances,
                  (double)peak->allocated / MIB,
                  NVT_IF(!series->lacks_reserved, (double)peak->reserved / MIB),
                  (double)peak->growth / MIB / peak->instances);
}

/* Levels are a stranger's numbers: sums of them wrap around. */
static int64_t grown(int64_t growth, int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)growth + (uint64_t)to - (uint64_t)from);
}

static void add_gpu_memory_range(struct peak *peak, const struct nvt_trace *trace,
                                 const struct nvt_level_series *series, uint32_t range)
{
    const int64_t *levels = series->allocated + series->count;
    uint32_t before = nvt_level_until(series, trace, trace->ranges.start[range], 1);
    uint32_t until = nvt_level_until(series, trace, trace->ranges.end[range], 0);
    uint32_t from = before ? before - 1 : 0;
    int64_t allocated = nvt_level_maximum(series->allocated, series->count, from, until);
    int64_t reserved = nvt_level_maximum(series->reserved, series->count, from, until);
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
    struct peak *peak =
        nvt_map_item(map, (uint64_t)ranges->domain[range] << 32 | ranges->name[range], peaks, count,
                     sizeof(*peak));
    if (peak && !peak->instances)
        peak->range = range;
    return peak;
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

static void put_gpu_memory_whole(struct nvt_table *table, const struct nvt_trace *trace,
                                 const struct nvt_level_series *series)
{
    const struct peak whole = {
        .instances = 1,
        .allocated = nvt_level_most(series, NULL),
        .reserved = nvt_level_most_reserved(series, NULL),
        .growth = grown(0, series->base, series->allocated[2 * (size_t)series->count - 1])};
    put_peak(table, trace, series, "(whole trace)", &whole);
}

static int put_series(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_level_series *series, struct nvt_groups *names)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map map = {0};
    struct peak *peaks = NULL;
    uint32_t count = 0;
    int status = 0;
    put_gpu_memory_whole(table, trace, series);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        if (trace->threads.process[ranges->thread[i]] != series->process)
            continue;
        struct peak *peak = peak_of(&peaks, &count, &map, ranges, i);
        if (peak)
            add_gpu_memory_range(peak, trace, series, i);
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

/* --- both --- */

static int make_peak(const struct nvt_report *report, struct nvt_input *input,
                     struct nvt_tables *tables, struct nvt_error *err)
{
    size_t before = tables->count;
    if (nvt_report_make_each(report, input, tables, err))
        return -1;
    if (!input->run_count)
        nvt_memory_note_missing(input);
    if (nvt_memory_of_runs(input, tables, err) || nvt_pipeline_memory(input, tables, err))
        return -1;
    if (tables->count == before)
        nvt_note(input, "note: no trace has memory events, and no run has a peak");
    return 0;
}

static const char *const further[] = {NVT_MEMORY_OF_RUNS, NVT_PIPELINE_MEMORY, NULL};

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
    .has = nvt_has_memory,
    .each_trace = peaks_of,
    .make = make_peak,
    .further = further,
};

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
    .has = nvt_has_memory,
    .each_trace = timeline_of,
    .make = nvt_memory_make,
};
