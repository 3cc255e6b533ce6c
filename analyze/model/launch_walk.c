/* Following a thread whose ranges are all in memory, in the order of their starts: they may end in
 * any order as long as nothing is launched where they overlap. */
#include "launch_walk.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"

/* Classes times names, at most, of all threads: beyond that a table is not what is wanted. */
#define CELLS_MOST (1u << 21)

/* The first thing that went wrong stays. */
static void give_up(struct nvt_walk *walk, enum nvt_walk_outcome outcome)
{
    if (walk->outcome == NVT_WALK_DONE)
        walk->outcome = outcome;
}

/* Room for one more open range. 0; -1: there is none, and the walk has given up. */
static int reserve(struct nvt_walk *walk)
{
    if (!nvt_reserve(&walk->open, &walk->capacity, walk->depth + (size_t)1, sizeof(*walk->open)))
        return 0;
    give_up(walk, NVT_WALK_NO_MEMORY);
    return -1;
}

int nvt_launch_grow_times(struct nvt_launch_times *times)
{
    return nvt_grow(&times->values, times->count, sizeof(*times->values));
}

static int add_longer(struct nvt_launch_class *class, int64_t ns)
{
    if (nvt_grow(&class->longer, class->longer_count, sizeof(*class->longer)))
        return -1;
    class->longer[class->longer_count++] = ns;
    return 0;
}

/* --- classes --- */

enum nvt_walk_outcome nvt_launch_grow(struct nvt_launch_lane *out, uint32_t names, uint32_t *all)
{
    uint32_t from = out->class_capacity, to = from ? from * 2 : 1;
    uint64_t more = (uint64_t)(to - from) * (names + 1);
    if (more > CELLS_MOST || __atomic_add_fetch(all, (uint32_t)more, __ATOMIC_RELAXED) > CELLS_MOST)
        return NVT_WALK_COMPLEX;
    if (nvt_resize(&out->classes, to, sizeof(*out->classes)) ||
        nvt_resize(&out->cells, (size_t)to * names, sizeof(*out->cells)))
        return NVT_WALK_NO_MEMORY;
    memset(out->cells + (size_t)from * names, 0, (size_t)(to - from) * names * sizeof(*out->cells));
    out->class_capacity = to;
    return NVT_WALK_DONE;
}

static uint32_t new_class(struct nvt_walk *walk, uint32_t outer, uint32_t kind)
{
    struct nvt_launch_lane *out = walk->out;
    enum nvt_walk_outcome outcome = out->class_count < out->class_capacity
                                        ? NVT_WALK_DONE
                                        : nvt_launch_grow(out, walk->lanes->names, walk->cells);
    if (outcome != NVT_WALK_DONE) {
        give_up(walk, outcome);
        return 0;
    }
    out->classes[out->class_count] = (struct nvt_launch_class){.outer = outer, .kind = kind};
    return out->class_count++;
}

/* The class of ranges of a kind within those of a class. */
static uint32_t class_of(struct nvt_walk *walk, uint32_t outer, uint32_t kind)
{
    /* No key is 0. */
    uint64_t key = ((uint64_t)outer + 1) << 32 | kind;
    size_t place = (key ^ (key >> 32) * 31) % NVT_WALK_RECENT;
    if (walk->recent[place].key == key)
        return walk->recent[place].class;
    /* Where two want the same place, the other one is next to it. */
    if (walk->recent[place].key)
        place ^= 1;
    if (walk->recent[place].key == key)
        return walk->recent[place].class;
    uint32_t *class = nvt_map_at(&walk->classes, key);
    if (!class) {
        give_up(walk, NVT_WALK_NO_MEMORY);
        return 0;
    }
    if (*class == NVT_MAP_NONE)
        *class = new_class(walk, outer, kind);
    walk->recent[place].key = key;
    walk->recent[place].class = *class;
    return *class;
}

/* --- ranges --- */

/* A range that is not open any more, with its end and children in it: what it held, `outer` (that
 * around it, or NULL) held as well. */
static void sum_range(struct nvt_walk *walk, const struct nvt_walk_open *open,
                      struct nvt_walk_open *outer)
{
    /* Without an operation of its own: within one that ended before it, which has given up. */
    if (!open->node || open->last < open->first)
        return;
    struct nvt_launch_class *class = &walk->out->classes[open->class];
    int64_t ns = open->last - open->first;
    if ((uint64_t)ns <= UINT32_MAX ? nvt_launch_add_time(&class->times, (uint32_t)ns)
                                   : add_longer(class, ns))
        give_up(walk, NVT_WALK_NO_MEMORY);
    class->ops += open->ops;
    class->original = nvt_clock_sum(class->original, open->end - open->start);
    class->levels += open->level;
    class->children += open->children;
    if (!outer)
        return;
    outer->first = open->first < outer->first ? open->first : outer->first;
    outer->last = open->last > outer->last ? open->last : outer->last;
    outer->ops += open->ops;
}

/* Number the first `count` open ranges, which have operations from now on. */
static void name_nodes(struct nvt_walk *walk, uint32_t count)
{
    uint32_t from = count;
    while (from && !walk->open[from - 1].node)
        from--;
    for (uint32_t i = from; i < count && walk->outcome == NVT_WALK_DONE; i++) {
        struct nvt_walk_open *open = &walk->open[i];
        open->class = class_of(walk, i ? open[-1].class : 0, open->kind);
        open->node = ++walk->nodes;
    }
}

/* --- operations --- */

/* A kernel of a name, for all ranges in which there was none yet: where there was one, there was
 * one around it. */
static inline void count_ranges(const struct nvt_walk_open *open, uint32_t count,
                                struct nvt_launch_cell *cells, size_t names)
{
    for (uint32_t i = count; i-- > 0;) {
        struct nvt_launch_cell *cell = &cells[open[i].class * names];
        if (cell->last == open[i].node)
            break;
        cell->last = open[i].node;
        cell->instances++;
    }
}

/* An operation in the first `count` ranges. */
static inline void put(struct nvt_walk *walk, uint32_t count, const struct nvt_lane_op *op)
{
    size_t class = 0, names = walk->lanes->names;
    walk->ops++;
    if (count) {
        struct nvt_walk_open *open = &walk->open[count - 1];
        int64_t start = op->start - walk->lane->offset, end = start + op->length;
        open->first = start < open->first ? start : open->first;
        open->last = end > open->last ? end : open->last;
        open->ops++;
        class = open->class;
    }
    if (op->name == NVT_NONE)
        return;
    /* Those of this kernel, of one class behind the other. */
    struct nvt_launch_cell *cells = walk->out->cells + walk->lanes->number[op->name];
    if (nvt_launch_add_time(&cells[class * names].times, op->length))
        give_up(walk, NVT_WALK_NO_MEMORY);
    count_ranges(walk->open, count, cells, names);
}

/* The first operation of a call + 1, 0 none. Relaxed: where calls of several threads have the same
 * id, nobody knows which launched it, and the sum of what was taken tells. */
static uint32_t take(struct nvt_walk *walk, uint32_t id)
{
    const struct nvt_lane_ids *ids = walk->ids;
    if (id - ids->low > ids->high - ids->low || id < ids->low || !ids->first)
        return 0;
    uint32_t *entry = &ids->first[id - ids->low];
    uint32_t op = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (op & NVT_WALK_TAKEN) {
        /* The outer one of two calls launched it, and that comes first. */
        if (op != walk->number)
            give_up(walk, NVT_WALK_COMPLEX);
        return 0;
    }
    if (op)
        __atomic_store_n(entry, walk->number, __ATOMIC_RELAXED);
    return op;
}

/* What a call and its operation are looked up by lies elsewhere, in nearly the same order: fetched
 * so many calls ahead, it is there when it is wanted. */
#define AHEAD_ENTRY 24
#define AHEAD_OP    12

static inline void fetch_ahead(const struct nvt_walk *walk, uint32_t i)
{
    const struct nvt_lane_calls *calls = &walk->lane->calls;
    const struct nvt_lane_ids *ids = walk->ids;
    if (calls->count - i <= AHEAD_ENTRY || !ids->first)
        return;
    uint32_t entry = calls->items[i + AHEAD_ENTRY].id - ids->low;
    uint32_t near = calls->items[i + AHEAD_OP].id - ids->low;
    if (entry <= ids->high - ids->low)
        __builtin_prefetch(&ids->first[entry]);
    if (near <= ids->high - ids->low) {
        uint32_t op = __atomic_load_n(&ids->first[near], __ATOMIC_RELAXED);
        if (op && !(op & NVT_WALK_TAKEN))
            __builtin_prefetch(&walk->lanes->ops[op - 1]);
    }
}

/* An operation that was taken and the others of its call, in the first `count` open ranges. */
static void put_all(struct nvt_walk *walk, uint32_t count, uint32_t op)
{
    if (count && !walk->open[count - 1].node)
        name_nodes(walk, count);
    for (; op && walk->outcome == NVT_WALK_DONE; op = walk->lanes->ops[op - 1].next)
        put(walk, count, &walk->lanes->ops[op - 1]);
}

/* --- a lane --- */

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
    uint32_t outer_depth;
    size_t outer_capacity;
    int overlaps; /* a range was opened that ends behind the one around it */
};

/* A range will not hold a launch any more. Those in it that did are closed before it. */
static void close_range(struct lane_walk *lane, struct nvt_walk_open *open,
                        struct nvt_walk_open *outer)
{
    if (open->node && open->parent != NVT_NONE)
        lane->ranges[open->parent].children++;
    open->children = lane->ranges[open->row].children;
    if (open->end == NEVER)
        open->end = lane->ranges[open->row].end;
    sum_range(lane->walk, open, outer);
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
    if (reserve(lane->walk))
        return -1;
    if (!nvt_reserve(&lane->outer, &lane->outer_capacity, lane->outer_depth + (size_t)1,
                     sizeof(*lane->outer)))
        return 0;
    give_up(lane->walk, NVT_WALK_NO_MEMORY);
    return -1;
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
                                   .row = row,
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
                give_up(walk, NVT_WALK_COMPLEX);
                return;
            }
            close_range(lane, open, kept ? &walk->open[kept - 1] : NULL);
            continue;
        }
        if (kept && open->end > walk->open[kept - 1].end)
            give_up(walk, NVT_WALK_COMPLEX);
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
        fetch_ahead(walk, i);
        uint32_t op = take(walk, calls->items[i].id);
        if (!op)
            continue;
        while (lane->next < lane->count && lane->ranges[lane->next].start <= start)
            open_range(lane, lane->next++);
        put_all(walk, holding(lane, start, start + calls->items[i].length), op);
    }
}

/* 0; -1: the walk has given up. */
static int begin(struct nvt_walk *walk)
{
    if (walk->lane->unsure && nvt_lane_sort(walk->lane))
        give_up(walk, NVT_WALK_NO_MEMORY);
    else
        new_class(walk, 0, 0);
    return walk->outcome == NVT_WALK_DONE ? 0 : -1;
}

void nvt_walk_lane(struct nvt_walk *walk)
{
    if (!walk->lane->calls.count || begin(walk))
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
