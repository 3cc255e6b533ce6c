#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "snapshot.h"

/* How many open ranges an end looks for its own among. */
#define OPEN_LOOKED_AT 1000

struct open {
    uint32_t *rows; /* of ranges, the innermost last */
    size_t count, capacity;
    int is_crossed; /* one ended before another that began after it */
};

static int push(struct open *open, uint32_t row)
{
    if (nvt_reserve(&open->rows, &open->capacity, open->count + 1, sizeof(*open->rows)))
        return -1;
    open->rows[open->count++] = row;
    return 0;
}

static int begin_range(struct nvt_snapshot *snapshot, struct open *open, uint32_t name,
                       int64_t time)
{
    struct nvt_range range = {.start = time,
                              .end = time,
                              .thread = snapshot->thread,
                              .end_thread = snapshot->thread,
                              .name = name,
                              .style = NVT_PUSH_POP,
                              .flags = NVT_RANGE_UNCLOSED};
    uint32_t row = nvt_range_add(snapshot->trace, &range);
    return row == NVT_NONE ? -1 : push(open, row);
}

/* The innermost one of its name; one that began before the history did is lost. */
static void end_range(struct nvt_snapshot *snapshot, struct open *open, uint32_t name, int64_t time)
{
    struct nvt_ranges *ranges = &snapshot->trace->ranges;
    size_t last = open->count > OPEN_LOOKED_AT ? open->count - OPEN_LOOKED_AT : 0;
    for (size_t i = open->count; i-- > last;) {
        uint32_t row = open->rows[i];
        if (ranges->name[row] != name)
            continue;
        ranges->end[row] = time;
        ranges->flags[row] = 0;
        open->is_crossed |= i + 1 < open->count;
        open->count--;
        memmove(open->rows + i, open->rows + i + 1, (open->count - i) * sizeof(*open->rows));
        return;
    }
}

/* Threads are not on record: where ranges cross each other they are of several, and do not nest. */
static void finish(struct nvt_snapshot *snapshot, const struct open *open)
{
    struct nvt_ranges *ranges = &snapshot->trace->ranges;
    int64_t last = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        last = ranges->end[i] > last ? ranges->end[i] : last;
    for (uint32_t i = 0; i < snapshot->trace->memory.count; i++)
        last = snapshot->trace->memory.time[i] > last ? snapshot->trace->memory.time[i] : last;
    for (size_t i = 0; i < open->count; i++)
        ranges->end[open->rows[i]] = last;
    for (uint32_t i = 0; i < ranges->count && open->is_crossed; i++)
        ranges->style[i] = NVT_START_END;
}

int nvt_snapshot_ranges(struct nvt_snapshot *snapshot, uint32_t annotations)
{
    const struct nvt_pickle *pickle = &snapshot->pickle;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, annotations);
    struct open open = {0};
    uint32_t item;
    int status = 0;
    while (!status && nvt_pickle_next(pickle, &walk, &item)) {
        uint32_t text = nvt_pickle_find(pickle, item, "name");
        uint32_t stage = nvt_pickle_find(pickle, item, "stage");
        if (nvt_snapshot_take_room(snapshot)) {
            free(open.rows);
            return -1;
        }
        if (nvt_pickle_kind(pickle, text) != NVT_PICKLE_TEXT)
            continue;
        int64_t us = nvt_pickle_integer(pickle, item, "time_us", snapshot->first);
        int64_t time = snapshot->first == INT64_MAX ? 0 : nvt_snapshot_time(snapshot, us);
        uint32_t name = nvt_strings_add(snapshot->trace->strings, pickle->values[text].is.text,
                                        pickle->values[text].size);
        if (name == NVT_NO_STRING)
            status = -1;
        else if (nvt_pickle_is(pickle, stage, "START"))
            status = begin_range(snapshot, &open, name, time);
        else if (nvt_pickle_is(pickle, stage, "END"))
            end_range(snapshot, &open, name, time);
    }
    if (!status)
        finish(snapshot, &open);
    free(open.rows);
    return status ? nvt_fail_at(snapshot->err, snapshot->path, -1, "out of memory") : 0;
}
