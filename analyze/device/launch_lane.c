/* Following a thread whose ranges are all in memory, in the order of their starts: they may end in
 * any order as long as nothing is launched where they overlap. */
#include <stdlib.h>

#include "launch_walk.h"
#include "../model/parallel.h"

/* The end of a range that never ended: behind all others. */
#define NEVER INT64_MAX

/* A range that others may lie in. */
struct outer {
    int64_t start, end;
    uint32_t row;
};

struct lane_walk {
    struct nvt_walk *walk;
    struct nvt_lane_range *ranges;
    uint32_t count, next; /* range to be opened */
    struct outer *outer;
    uint32_t outer_depth, outer_capacity;
    int overlaps; /* a range was opened that ends behind the one around it */
};

/* A range will not hold a launch any more. Those in it that did are closed before it. */
static void close_range(struct lane_walk *lane, struct nvt_walk_open *open,
                        struct nvt_walk_open *outer)
{
    if (open->node && open->parent != NVT_NONE)
        lane->ranges[open->parent].children++;
    open->children = lane->ranges[open->from].children;
    if (open->end == NEVER)
        open->end = lane->ranges[open->from].end;
    nvt_walk_close(lane->walk, open, outer);
}

static void close_top(struct lane_walk *lane)
{
    struct nvt_walk *walk = lane->walk;
    uint32_t at = --walk->depth;
    close_range(lane, &walk->open[at], at ? &walk->open[at - 1] : NULL);
}

/* Room for one more of both. */
static int make_room(struct lane_walk *lane)
{
    if (nvt_walk_reserve(lane->walk))
        return -1;
    if (lane->outer_depth < lane->outer_capacity)
        return 0;
    uint32_t capacity = lane->outer_capacity ? lane->outer_capacity * 2 : 16;
    struct outer *outer = realloc(lane->outer, capacity * sizeof(*outer));
    if (!outer) {
        nvt_walk_give_up(lane->walk, NVT_WALK_NO_MEMORY);
        return -1;
    }
    lane->outer = outer;
    lane->outer_capacity = capacity;
    return 0;
}

/* How many ranges lie around this one, which is then one of them, and in *parent the innermost. */
static uint32_t nest(struct lane_walk *lane, uint32_t row, int64_t end, uint32_t *parent)
{
    int64_t start = lane->ranges[row].start;
    while (lane->outer_depth) {
        const struct outer *outer = &lane->outer[lane->outer_depth - 1];
        if (end <= outer->end && (start < outer->end || outer->start == outer->end))
            break;
        lane->outer_depth--;
    }
    uint32_t level = lane->outer_depth;
    if (level)
        *parent = lane->outer[level - 1].row;
    lane->outer[lane->outer_depth++] = (struct outer){start, end, row};
    return level;
}

static int is_nested(const struct nvt_walk *walk, uint32_t kind)
{
    return nvt_lanes_kind(walk->lanes, kind).style == NVT_PUSH_POP;
}

static void open_range(struct lane_walk *lane, uint32_t row)
{
    struct nvt_walk *walk = lane->walk;
    struct nvt_lane_range *range = &lane->ranges[row];
    int64_t end = range->end < range->start ? range->start : range->end;
    if (range->children == NVT_LANE_OPEN) {
        range->children = 0;
        range->end = end;
        end = NEVER;
    }
    /* Launches come after the start from now on, so what has ended is done with. */
    while (walk->depth && walk->open[walk->depth - 1].end < range->start)
        close_top(lane);
    if (make_room(lane))
        return;
    uint32_t parent = NVT_NONE;
    uint32_t level = is_nested(walk, range->kind) ? nest(lane, row, end, &parent) : 0;
    struct nvt_walk_open *open = &walk->open[walk->depth++];
    *open = (struct nvt_walk_open){.start = range->start,
                                   .end = end,
                                   .first = INT64_MAX,
                                   .last = INT64_MIN,
                                   .kind = range->kind,
                                   .level = level,
                                   .from = row,
                                   .parent = parent};
    if (walk->depth > 1 && end > open[-1].end)
        lane->overlaps = 1;
}

/* Ranges that ended, from below ones that are still open. */
static void drop_ended(struct lane_walk *lane, int64_t time)
{
    struct nvt_walk *walk = lane->walk;
    uint32_t kept = 0;
    lane->overlaps = 0;
    for (uint32_t i = 0; i < walk->depth; i++) {
        struct nvt_walk_open *open = &walk->open[i];
        if (open->end < time) {
            /* Those above that have operations already would have them within different ranges. */
            if (i + 1 < walk->depth && open[1].node) {
                nvt_walk_give_up(walk, NVT_WALK_COMPLEX);
                return;
            }
            close_range(lane, open, kept ? &walk->open[kept - 1] : NULL);
            continue;
        }
        if (kept && open->end > walk->open[kept - 1].end)
            nvt_walk_give_up(walk, NVT_WALK_COMPLEX);
        walk->open[kept++] = *open;
    }
    walk->depth = kept;
}

/* How many of the open ranges hold a call. */
static uint32_t holding(struct lane_walk *lane, int64_t start, int64_t end)
{
    struct nvt_walk *walk = lane->walk;
    if (lane->overlaps)
        drop_ended(lane, start);
    if (walk->outcome != NVT_WALK_DONE)
        return 0;
    while (walk->depth && walk->open[walk->depth - 1].end < start)
        close_top(lane);
    uint32_t count = walk->depth;
    while (count && walk->open[count - 1].end < end)
        count--;
    return count;
}

static void walk_calls(struct lane_walk *lane)
{
    struct nvt_walk *walk = lane->walk;
    const struct nvt_lane_calls *calls = &walk->lane->calls;
    for (uint32_t i = 0; i < calls->count && walk->outcome == NVT_WALK_DONE; i++) {
        int64_t start = calls->items[i].start - walk->lane->offset;
        uint32_t op = nvt_walk_take(walk, i);
        if (!op)
            continue;
        while (lane->next < lane->count && lane->ranges[lane->next].start <= start)
            open_range(lane, lane->next++);
        nvt_walk_put(walk, holding(lane, start, start + calls->items[i].length), op);
    }
}

static void follow_lane(void *context, struct nvt_walk *walk, uint32_t number)
{
    (void)context;
    (void)number;
    if (!walk->lane->calls.count || nvt_walk_begin(walk))
        return;
    struct lane_walk lane = {
        .walk = walk, .ranges = walk->lane->ranges.items, .count = walk->lane->ranges.count};
    walk_calls(&lane);
    /* What comes behind the last launch lies in ranges that are still open. */
    while (lane.next < lane.count && walk->outcome == NVT_WALK_DONE)
        open_range(&lane, lane.next++);
    while (walk->depth && walk->outcome == NVT_WALK_DONE)
        close_top(&lane);
    free(lane.outer);
}

int nvt_launches_of(struct nvt_launches *launches, struct nvt_lanes *lanes)
{
    uint64_t rows = lanes->op_count;
    for (uint32_t i = 0; i < lanes->count; i++)
        rows += lanes->items[i].ranges.count;
    return nvt_launches_walk(launches, lanes, follow_lane, NULL, rows >= NVT_BESIDE_FROM);
}
