#include "range_peaks.h"

#include <stdlib.h>

#include "../../lib/map.h"

/* Levels are untrusted: sums of them wrap around. */
static int64_t grown(int64_t growth, int64_t from, int64_t to)
{
    return (int64_t)((uint64_t)growth + (uint64_t)to - (uint64_t)from);
}

static void add_range(struct nvt_range_peak *peak, const struct nvt_trace *trace,
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

static struct nvt_range_peak *peak_of(struct nvt_range_peak **peaks, uint32_t *count,
                                      struct nvt_map *map, const struct nvt_ranges *ranges,
                                      uint32_t range)
{
    struct nvt_range_peak *peak =
        nvt_map_item(map, (uint64_t)ranges->domain[range] << 32 | ranges->name[range], peaks, count,
                     sizeof(*peak));
    if (peak && !peak->instances)
        peak->range = range;
    return peak;
}

static int compare_peaks(const void *left, const void *right)
{
    const struct nvt_range_peak *a = left, *b = right;
    if (a->allocated != b->allocated)
        return a->allocated < b->allocated ? 1 : -1;
    if (a->reserved != b->reserved)
        return a->reserved < b->reserved ? 1 : -1;
    return a->range < b->range ? -1 : a->range > b->range;
}

struct nvt_range_peak nvt_whole_peak(const struct nvt_level_series *series)
{
    return (struct nvt_range_peak){
        .instances = 1,
        .allocated = nvt_level_most(series, NULL),
        .reserved = nvt_level_most_reserved(series, NULL),
        .growth = grown(0, series->base, series->allocated[2 * (size_t)series->count - 1])};
}

struct nvt_range_peak *nvt_range_peaks(const struct nvt_level_series *series,
                                       const struct nvt_trace *trace, uint32_t *count)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map map = {0};
    struct nvt_range_peak *peaks = NULL;
    int failed = 0;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        if (trace->threads.process[ranges->thread[i]] != series->process)
            continue;
        struct nvt_range_peak *peak = peak_of(&peaks, count, &map, ranges, i);
        failed = !peak;
        if (peak)
            add_range(peak, trace, series, i);
    }
    nvt_map_free(&map);
    if (!failed && !*count)
        return malloc(1);
    if (!failed)
        qsort(peaks, *count, sizeof(*peaks), compare_peaks);
    else {
        free(peaks);
        *count = 0;
    }
    return failed ? NULL : peaks;
}
