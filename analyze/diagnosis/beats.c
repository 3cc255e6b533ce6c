#include "beats.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../model/batches.h"
#include "../model/recorded_parts.h"

static int add(struct nvt_beats *beats, uint32_t range)
{
    const struct nvt_ranges *ranges = &beats->trace->ranges;
    if (nvt_grow(&beats->items, beats->count, sizeof(*beats->items)))
        return -1;
    struct nvt_beat *before = beats->count ? &beats->items[beats->count - 1] : NULL;
    if (before && !nvt_is_across_parts(beats->trace, before->start, ranges->start[range])) {
        before->end = ranges->start[range];
        before->is_followed = 1;
    }
    beats->items[beats->count++] =
        (struct nvt_beat){.range = range, .start = ranges->start[range], .end = ranges->end[range]};
    return 0;
}

/* The thread with most of the view's iterations. 0, or -1 when out of memory. */
static int find_thread(struct nvt_beats *beats, const struct nvt_view *view)
{
    const uint32_t threads = view->trace->threads.count;
    uint32_t *counts = calloc((size_t)threads + 1, sizeof(*counts)), most = 0;
    for (uint32_t i = 0; counts && i < view->iteration_count; i++) {
        const uint32_t thread = view->trace->ranges.thread[view->iterations[i]];
        if (thread < threads && ++counts[thread] > most) {
            most = counts[thread];
            beats->thread = thread;
        }
    }
    free(counts);
    return counts ? 0 : -1;
}

/* --- what repeats where no iterations are named ------------------------------------------------ */

struct repeated {
    uint64_t key; /* thread and name */
    int64_t ns;
    uint32_t count;
};

static int is_outermost(const struct nvt_beats *beats, const struct nvt_view *view, uint32_t range)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    return ranges->style[range] == NVT_PUSH_POP && !(ranges->flags[range] & NVT_RANGE_PARTIAL) &&
           nvt_is_viewed_thread(view, ranges->thread[range]) &&
           beats->ranges.parent[range] == NVT_NONE;
}

static uint64_t key_of(const struct nvt_ranges *ranges, uint32_t range)
{
    return (uint64_t)ranges->thread[range] << 32 | ranges->name[range];
}

/* The one of that key, which is made when it is new; NULL when out of memory. */
static struct repeated *repeated_of(struct nvt_map *places, struct repeated **items,
                                    uint32_t *count, uint64_t key)
{
    struct repeated *item = nvt_map_item(places, key, items, count, sizeof(*item));
    if (item)
        item->key = key;
    return item;
}

/* The one that takes most time; NULL: none repeats. */
static const struct repeated *most_of(const struct repeated *items, uint32_t count)
{
    const struct repeated *most = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].count >= NVT_BEATS_LEAST && (!most || items[i].ns > most->ns))
            most = &items[i];
    return most;
}

/* 0, or -1 when out of memory. */
static int add_repeated(struct nvt_beats *beats, const struct nvt_view *view)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    struct nvt_map places = {0};
    struct repeated *items = NULL;
    uint32_t count = 0;
    int failed = 0;
    for (uint32_t i = 0; i < ranges->count && !failed; i++) {
        if (!is_outermost(beats, view, i))
            continue;
        struct repeated *item = repeated_of(&places, &items, &count, key_of(ranges, i));
        failed = !item;
        if (item) {
            item->ns += ranges->end[i] - ranges->start[i];
            item->count++;
        }
    }
    const struct repeated *most = most_of(items, count);
    for (uint32_t i = 0; i < ranges->count && most && !failed; i++)
        if (key_of(ranges, i) == most->key && is_outermost(beats, view, i))
            failed = add(beats, i);
    if (most)
        beats->thread = (uint32_t)(most->key >> 32);
    nvt_map_free(&places);
    free(items);
    return failed ? -1 : 0;
}

/* --- steps ------------------------------------------------------------------------------------- */

static void find_steps(struct nvt_beats *beats)
{
    const struct nvt_ranges *ranges = &beats->trace->ranges;
    uint32_t at = 0, seen = 0;
    for (uint32_t i = 0; i < ranges->count && beats->count; i++) {
        if (ranges->thread[i] != beats->thread || !nvt_is_optimizer_step(beats->trace, i))
            continue;
        while (at + 1 < beats->count && beats->items[at + 1].start <= ranges->start[i])
            at++;
        struct nvt_beat *beat = &beats->items[at];
        if (ranges->start[i] < beat->start || ranges->end[i] > beat->end)
            continue;
        seen += !beat->step;
        beat->step = ranges->end[i] > beat->step ? ranges->end[i] : beat->step;
    }
    for (uint32_t i = 0; i < beats->count; i++) {
        struct nvt_beat *beat = &beats->items[i];
        const int64_t end = ranges->end[beat->range];
        if (!beat->step)
            beat->step = end < beat->end ? end : beat->end;
        beat->until = beat->end;
    }
    beats->has_steps = seen && 2 * seen >= beats->count;
}

/* A program may tell PyTorch's profiler of its next step only when it has the batch for that. */
static void find_waits(struct nvt_beats *beats)
{
    const struct nvt_ranges *ranges = &beats->trace->ranges;
    for (uint32_t i = 0, at = 0; i < ranges->count && at < beats->count; i++) {
        if (ranges->thread[i] != beats->thread || !nvt_is_batch_wait(beats->trace, i) ||
            nvt_is_of_pytorch(beats->trace, i, "data"))
            continue;
        while (at < beats->count && beats->items[at].end <= ranges->start[i])
            at++;
        if (at < beats->count && ranges->start[i] >= beats->items[at].step &&
            ranges->start[i] < beats->items[at].until)
            beats->items[at].until = ranges->start[i];
    }
}

int nvt_beats_make(struct nvt_beats *beats, const struct nvt_view *view)
{
    int failed = 0;
    beats->trace = view->trace;
    beats->thread = NVT_NONE;
    if (nvt_thread_ranges_make(&beats->ranges, view->trace, NULL) || find_thread(beats, view))
        return -1;
    for (uint32_t i = 0; i < view->iteration_count && !failed; i++)
        if (view->trace->ranges.thread[view->iterations[i]] == beats->thread)
            failed = add(beats, view->iterations[i]);
    if (!view->iteration_count && !view->trace->iteration && !failed) {
        beats->is_guess = 1;
        failed = add_repeated(beats, view);
    }
    if (!failed) {
        find_steps(beats);
        find_waits(beats);
    }
    return failed ? -1 : 0;
}

void nvt_beats_keep_longest_part(struct nvt_beats *beats)
{
    uint32_t first = 0, most = 0, most_count = 0;
    for (uint32_t i = 0; i < beats->count; i++) {
        if (beats->items[i].is_followed && i + 1 < beats->count)
            continue;
        if (i + 1 - first > most_count) {
            most = first;
            most_count = i + 1 - first;
        }
        first = i + 1;
    }
    if (most)
        memmove(beats->items, beats->items + most, most_count * sizeof(*beats->items));
    beats->count = most_count;
}

void nvt_beats_free(struct nvt_beats *beats)
{
    nvt_thread_ranges_free(&beats->ranges);
    free(beats->items);
    *beats = (struct nvt_beats){0};
}
