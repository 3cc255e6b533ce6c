#include "device_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/gpu_metric_names.h"
#include "../../lib/grow.h"

#define NEAR 64u /* threads that may be in such ranges at once */

/* Ranges that may have been counted. */
struct candidate {
    int64_t start, end;
    uint32_t row, thread;
};

struct candidates {
    struct candidate *items;
    uint32_t count;
};

static int by_end(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return (a->end > b->end) - (a->end < b->end);
}

/* RANGE, RANGE@DOMAIN, RANGE/N. */
static int is_captured(const char *capture, const char *name)
{
    const size_t length = strlen(name);
    return length && !strncmp(capture, name, length) && strchr("@/", capture[length]) != NULL;
}

static int find_candidates(struct candidates *found, const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *capture = nvt_trace_meta(trace, "capture");
    for (uint32_t i = 0; capture && i < ranges->count; i++) {
        if (!is_captured(capture, nvt_name(trace, ranges->name[i])))
            continue;
        if (nvt_grow(&found->items, found->count, sizeof(*found->items)))
            return -1;
        found->items[found->count++] = (struct candidate){.start = ranges->start[i],
                                                          .end = ranges->end[i],
                                                          .row = i,
                                                          .thread = ranges->thread[i]};
    }
    if (found->count)
        qsort(found->items, found->count, sizeof(*found->items), by_end);
    return 0;
}

/* The last that ended by then; NVT_NONE: none, or another thread's was counted with it. */
static uint32_t range_before(const struct candidates *found, int64_t time)
{
    uint32_t place = 0;
    NVT_BISECT(place, found->count, found->items[place].end <= time);
    if (!place)
        return NVT_NONE;
    const struct candidate *last = &found->items[place - 1];
    uint32_t first = 0;
    NVT_BISECT(first, found->count, found->items[first].end <= last->start);
    for (uint32_t i = first; i < found->count && i < place + NEAR; i++) {
        const struct candidate *other = &found->items[i];
        if (other->thread != last->thread && other->start < last->end && other->end > last->start)
            return NVT_NONE;
    }
    return last->row;
}

static int add_sample(struct nvt_device_counts *counts, const struct nvt_trace *trace,
                      uint32_t sample, uint32_t range)
{
    const uint32_t counter = trace->counter_samples.counter[sample], before = counts->count;
    const char *unit = nvt_name(trace, trace->counters.unit[counter]);
    const double value = trace->counter_samples.value[sample];
    struct nvt_device_count *count =
        nvt_map_item(&counts->places, range, &counts->items, &counts->count, sizeof(*count));
    if (!count)
        return -1;
    if (counts->count > before)
        *count = (struct nvt_device_count){range, NAN, NAN};
    if (!strcmp(unit, "B"))
        count->bytes = isnan(count->bytes) ? value : count->bytes + value;
    else if (!strcmp(unit, "FLOP") || !strcmp(unit, "2 FLOP"))
        count->flops = (isnan(count->flops) ? 0 : count->flops) + (*unit == '2' ? 2 : 1) * value;
    return 0;
}

int nvt_device_counts_make(struct nvt_device_counts *counts, const struct nvt_trace *trace,
                           struct nvt_error *err)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    struct candidates found = {NULL, 0};
    uint32_t range = NVT_NONE;
    int status = 0, has_looked = 0;
    int64_t time = 0;
    for (uint32_t i = 0; i < samples->count && !status; i++) {
        const char *domain = nvt_domain_name(trace, trace->counters.domain[samples->counter[i]]);
        if (strncmp(domain, NVT_RANGES_DOMAIN, sizeof(NVT_RANGES_DOMAIN) - 1) != 0)
            continue;
        if (!has_looked)
            status = find_candidates(&found, trace);
        if (!has_looked || samples->time[i] != time)
            range = range_before(&found, samples->time[i]);
        has_looked = 1;
        time = samples->time[i];
        if (!status && range != NVT_NONE)
            status = add_sample(counts, trace, i, range);
    }
    free(found.items);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

void nvt_device_counts_free(struct nvt_device_counts *counts)
{
    nvt_map_free(&counts->places);
    free(counts->items);
    *counts = (struct nvt_device_counts){.items = NULL};
}

const struct nvt_device_count *nvt_device_count_of(const struct nvt_device_counts *counts,
                                                   uint32_t range)
{
    const uint32_t place = counts->count ? nvt_map_get(&counts->places, range) : NVT_MAP_NONE;
    return place == NVT_MAP_NONE ? NULL : &counts->items[place];
}
