#include "levels.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"

#define MOST_BYTES (INT64_C(1) << 50) /* more than there is */

void nvt_levels_free(struct nvt_levels *levels)
{
    for (uint32_t i = 0; i < levels->count; i++) {
        free(levels->series[i].events);
        free(levels->series[i].allocated);
        free(levels->series[i].reserved);
    }
    free(levels->series);
    *levels = (struct nvt_levels){0};
}

static struct nvt_level_series *series_of(struct nvt_levels *levels, struct nvt_map *map,
                                          uint32_t process, uint32_t device)
{
    struct nvt_level_series *series = nvt_map_item(
        map, (uint64_t)process << 32 | device, &levels->series, &levels->count, sizeof(*series));
    if (series) {
        series->process = process;
        series->device = device;
    }
    return series;
}

static int add_event(struct nvt_level_series *series, uint32_t row)
{
    if (nvt_grow(&series->events, series->count, sizeof(*series->events)))
        return -1;
    series->events[series->count++] = row;
    return 0;
}

/* Single allocations that are freed, and were taken before the record: they were there from its beginning on. Sums below zero that no
 * device has are nonsense. */
static void add_earlier(struct nvt_level_series *series)
{
    int64_t least = 0;
    for (uint32_t i = series->count; i < 2 * series->count; i++)
        least = series->allocated[i] < least ? series->allocated[i] : least;
    if (!least || least < -MOST_BYTES)
        return;
    series->base -= least;
    for (uint32_t i = series->count; i < 2 * series->count; i++) {
        series->allocated[i] -= least;
        series->reserved[i] -= least;
    }
}

/* The levels after each event, and the maxima over them. */
static int build(struct nvt_level_series *series, const struct nvt_memory *events)
{
    uint32_t count = series->count;
    int says_used = 0, says_held = 0;
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
        int holds = events->reserved[row] != UINT64_MAX && events->reserved[row];
        series->reserved[count + i] = holds ? (int64_t)events->reserved[row] : level;
        says_used |= events->allocated[row] != UINT64_MAX;
        says_held |= holds;
        if (events->is_earlier[row])
            series->base = level;
    }
    series->lacks_reserved = says_used && !says_held;
    if (!says_used)
        add_earlier(series);
    for (uint32_t i = count; i-- > 1;) {
        const int64_t *a = &series->allocated[2 * (size_t)i], *r = &series->reserved[2 * (size_t)i];
        series->allocated[i] = a[0] > a[1] ? a[0] : a[1];
        series->reserved[i] = r[0] > r[1] ? r[0] : r[1];
    }
    return 0;
}

int nvt_levels_make(struct nvt_levels *levels, const struct nvt_trace *trace)
{
    const struct nvt_memory *events = &trace->memory;
    struct nvt_map map = {0};
    int status = 0;
    for (uint32_t i = 0; i < events->count && !status; i++) {
        struct nvt_level_series *series =
            series_of(levels, &map, events->process[i], events->device[i]);
        status = series ? add_event(series, i) : -1;
    }
    nvt_map_free(&map);
    for (uint32_t i = 0; i < levels->count && !status; i++)
        status = build(&levels->series[i], events);
    return status;
}

uint32_t nvt_level_until(const struct nvt_level_series *series, const struct nvt_trace *trace,
                         int64_t time, int strictly)
{
    const int64_t *times = trace->memory.time;
    uint32_t low = 0;
    NVT_BISECT(low, series->count,
               times[series->events[low]] < time ||
                   (!strictly && times[series->events[low]] == time));
    return low;
}

int64_t nvt_level_maximum(const int64_t *tree, uint32_t count, uint32_t from, uint32_t to)
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

/* --- the peak --- */

/* The greatest of levels and of what was before them, `most`; *event gets the first such, or NVT_NONE. */
static int64_t most_of(const int64_t *levels, uint32_t count, int64_t most, uint32_t *event)
{
    uint32_t at = NVT_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (levels[i] > most) {
            most = levels[i];
            at = i;
        }
    if (event)
        *event = at;
    return most;
}

int64_t nvt_level_most(const struct nvt_level_series *series, uint32_t *event)
{
    return most_of(series->allocated + series->count, series->count, series->base, event);
}

int64_t nvt_level_most_reserved(const struct nvt_level_series *series, uint32_t *event)
{
    int64_t reserved = most_of(series->reserved + series->count, series->count, INT64_MIN, event);
    int64_t allocated = nvt_level_most(series, NULL);
    return reserved > allocated ? reserved : allocated;
}

/* The rows in use after the first `count` events, and how many bytes they are. An address that is given out anew was freed,
 * whether that is on record or not. What was taken before the record is known where its stack is. 0, or -1 when out of
 * memory. */
static int find_held(struct nvt_level_peak *peak, const struct nvt_level_series *series,
                     uint32_t count, const struct nvt_memory *events, uint64_t *bytes)
{
    struct nvt_map by_address = {0};
    int status = 0, has_addresses = 0;
    peak->held = malloc(((size_t)count + 1) * sizeof(*peak->held));
    for (uint32_t i = 0; i < count && !status; i++) {
        uint32_t row = series->events[i];
        uint32_t *at = nvt_map_at(&by_address, events->address[row]);
        int is_taken = events->kind[row] == NVT_MEMORY_ALLOC && events->address[row] &&
                       (!events->is_earlier[row] || events->frame[row]);
        if (at)
            *at = is_taken ? row : NVT_MAP_NONE;
        has_addresses |= events->address[row] != 0;
        status = at ? 0 : -1;
    }
    for (uint32_t i = 0; i < count && peak->held && !status; i++) {
        uint32_t row = series->events[i];
        if (nvt_map_get(&by_address, events->address[row]) != row)
            continue;
        peak->held[peak->count++] = row;
        *bytes += events->bytes[row];
    }
    peak->lacks_addresses = count && !has_addresses;
    nvt_map_free(&by_address);
    return peak->held ? status : -1;
}

int nvt_level_peak(struct nvt_level_peak *peak, const struct nvt_level_series *series,
                   const struct nvt_trace *trace)
{
    *peak = (struct nvt_level_peak){.held = NULL};
    peak->allocated = nvt_level_most(series, &peak->event);
    uint64_t known = 0;
    uint32_t until = peak->event == NVT_NONE ? 0 : peak->event + 1;
    if (find_held(peak, series, until, &trace->memory, &known))
        return -1;
    if (peak->allocated > 0 && (uint64_t)peak->allocated > known)
        peak->unknown = peak->allocated - (int64_t)known;
    return 0;
}
