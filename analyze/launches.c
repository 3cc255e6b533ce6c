#include "launches.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/clock.h"
#include "map.h"
#include "parallel.h"
#include "project.h"

/* Classes times names, at most, of all threads: beyond that a table is not what is wanted. */
#define CELLS_MOST (1u << 21)

/* Places for classes seen last: a power of two. */
#define RECENT 1024

/* Rows from which on a second thread is worth its start. */
#define BESIDE_FROM 20000

/* An entry of nvt_lane_ids that was taken by a lane: its number is below. */
#define TAKEN 0x80000000u

/* An open range. */
struct open {
    int64_t end;
    uint32_t row, level;
    uint32_t node; /* among the ranges with operations, from 1; 0: it has none yet */
    uint32_t class, ops;
    int64_t first, last; /* of its operations */
};

/* A range that others may lie in. */
struct outer {
    int64_t start, end;
    uint32_t row;
};

struct stack {
    void *items;
    uint32_t depth, capacity;
};

/* What becomes of a lane. */
enum outcome { DONE, COMPLEX, NO_MEMORY };

struct walk {
    const struct nvt_lanes *lanes;
    struct nvt_lane *lane;
    struct nvt_launch_lane *out;
    const struct nvt_lane_ids *ids;
    const struct nvt_lane_kind *kinds;
    uint32_t number; /* of the lane, with TAKEN */
    uint32_t *cells; /* that all lanes have */
    struct stack open, outer;
    struct nvt_map classes; /* class around it << 32 | kind -> class */
    struct {
        uint64_t key;
        uint32_t class;
    } recent[RECENT]; /* of them, by their keys */
    uint32_t next;    /* range to be opened */
    uint32_t nodes;
    uint64_t ops;
    int overlaps; /* a range was opened that ends behind the one around it */
    enum outcome outcome;
};

static void free_lane(struct nvt_launch_lane *lane, uint32_t names)
{
    for (uint32_t i = 0; i < lane->class_count; i++) {
        free(lane->classes[i].times.values);
        free(lane->classes[i].longer);
    }
    for (size_t i = 0; i < (size_t)lane->class_capacity * names; i++)
        free(lane->cells[i].times.values);
    free(lane->classes);
    free(lane->cells);
    *lane = (struct nvt_launch_lane){.thread = lane->thread};
}

void nvt_launches_free(struct nvt_launches *launches)
{
    for (uint32_t i = 0; launches->lanes && i < launches->lane_count; i++)
        free_lane(&launches->lanes[i], launches->names);
    free(launches->lanes);
    free(launches->kinds);
    free(launches->name);
    *launches = (struct nvt_launches){0};
}

struct nvt_lane_kind nvt_launch_kind(const struct nvt_launches *launches,
                                     const struct nvt_launch_class *class)
{
    return class->kind & NVT_LANE_KIND ? launches->kinds[class->kind & ~NVT_LANE_KIND]
                                       : (struct nvt_lane_kind){0, class->kind, NVT_PUSH_POP};
}

struct nvt_piece nvt_launch_piece(const struct nvt_launch_times *times)
{
    return (struct nvt_piece){times->values, times->count,
                              nvt_sums_of(times->values, times->count)};
}

/* The first thing that went wrong stays. */
static void give_up(struct walk *walk, enum outcome outcome)
{
    if (walk->outcome == DONE)
        walk->outcome = outcome;
}

static int add_time(struct nvt_launch_times *times, uint32_t value)
{
    if (times->count == times->capacity) {
        uint32_t capacity = times->capacity ? times->capacity * 2 : 4;
        uint32_t *values = capacity > times->capacity
                               ? realloc(times->values, (size_t)capacity * sizeof(*values))
                               : NULL;
        if (!values)
            return -1;
        times->values = values;
        times->capacity = capacity;
    }
    times->values[times->count++] = value;
    return 0;
}

static int add_longer(struct nvt_launch_class *class, int64_t ns)
{
    if (!(class->longer_count & (class->longer_count - 1))) {
        size_t capacity = class->longer_count ? (size_t) class->longer_count * 2 : 1;
        int64_t *longer = realloc(class->longer, capacity * sizeof(*longer));
        if (!longer)
            return -1;
        class->longer = longer;
    }
    class->longer[class->longer_count++] = ns;
    return 0;
}

/* --- classes --- */

/* Room for twice as many, cells zeroed. *all: cells of all lanes. */
static enum outcome grow_classes(struct nvt_launch_lane *out, uint32_t names, uint32_t *all)
{
    uint32_t from = out->class_capacity, to = from ? from * 2 : 1;
    uint64_t more = (uint64_t)(to - from) * (names + 1);
    if (more > CELLS_MOST || __atomic_add_fetch(all, (uint32_t)more, __ATOMIC_RELAXED) > CELLS_MOST)
        return COMPLEX;
    struct nvt_launch_class *classes = realloc(out->classes, to * sizeof(*classes));
    if (classes)
        out->classes = classes;
    struct nvt_launch_cell *cells = realloc(out->cells, ((size_t)to * names + 1) * sizeof(*cells));
    if (cells)
        out->cells = cells;
    if (!classes || !cells)
        return NO_MEMORY;
    memset(cells + (size_t)from * names, 0, (size_t)(to - from) * names * sizeof(*cells));
    out->class_capacity = to;
    return DONE;
}

static uint32_t new_class(struct walk *walk, uint32_t outer, uint32_t kind)
{
    struct nvt_launch_lane *out = walk->out;
    enum outcome outcome = out->class_count < out->class_capacity
                               ? DONE
                               : grow_classes(out, walk->lanes->names, walk->cells);
    if (outcome != DONE) {
        give_up(walk, outcome);
        return 0;
    }
    out->classes[out->class_count] = (struct nvt_launch_class){.outer = outer, .kind = kind};
    return out->class_count++;
}

/* The class of ranges of a kind within those of a class. */
static uint32_t class_of(struct walk *walk, uint32_t outer, uint32_t kind)
{
    /* No key is 0. */
    uint64_t key = ((uint64_t)outer + 1) << 32 | kind;
    size_t place = (key ^ (key >> 32) * 31) % RECENT;
    if (walk->recent[place].key == key)
        return walk->recent[place].class;
    uint32_t *class = nvt_map_at(&walk->classes, key);
    if (!class) {
        give_up(walk, NO_MEMORY);
        return 0;
    }
    if (*class == NVT_MAP_NONE)
        *class = new_class(walk, outer, kind);
    walk->recent[place].key = key;
    walk->recent[place].class = *class;
    return *class;
}

/* --- stacks --- */

static inline struct open *open_at(const struct walk *walk, uint32_t i)
{
    return (struct open *)walk->open.items + i;
}

static inline struct outer *outer_at(const struct walk *walk, uint32_t i)
{
    return (struct outer *)walk->outer.items + i;
}

static int make_room(struct stack *stack, size_t width)
{
    if (stack->depth < stack->capacity)
        return 0;
    uint32_t capacity = stack->capacity ? stack->capacity * 2 : 16;
    void *items = realloc(stack->items, capacity * width);
    if (!items)
        return -1;
    stack->items = items;
    stack->capacity = capacity;
    return 0;
}

/* A range will not hold a launch any more: what it held, that around it held as well. */
static void close_range(struct walk *walk, struct open *open, struct open *outer)
{
    const struct nvt_lane_range *range = &walk->lane->ranges.items[open->row];
    /* Without an operation of its own: within one that ended before it, which has given up. */
    if (!open->node || open->last < open->first)
        return;
    struct nvt_launch_class *class = &walk->out->classes[open->class];
    int64_t ns = open->last - open->first;
    if ((uint64_t)ns <= UINT32_MAX ? add_time(&class->times, (uint32_t)ns) : add_longer(class, ns))
        give_up(walk, NO_MEMORY);
    class->ops += open->ops;
    class->original = nvt_clock_sum(class->original, open->end - range->start);
    class->levels += open->level;
    class->children += range->children;
    if (!outer)
        return;
    outer->first = open->first < outer->first ? open->first : outer->first;
    outer->last = open->last > outer->last ? open->last : outer->last;
    outer->ops += open->ops;
}

static void close_top(struct walk *walk)
{
    uint32_t at = --walk->open.depth;
    close_range(walk, open_at(walk, at), at ? open_at(walk, at - 1) : NULL);
}

/* How many ranges lie around this one, which is then one of them. */
static uint32_t nest(struct walk *walk, const struct nvt_lane_range *range, uint32_t row,
                     int64_t end)
{
    while (walk->outer.depth) {
        const struct outer *outer = outer_at(walk, walk->outer.depth - 1);
        if (end <= outer->end && (range->start < outer->end || outer->start == outer->end))
            break;
        walk->outer.depth--;
    }
    uint32_t level = walk->outer.depth;
    if (level)
        walk->lane->ranges.items[outer_at(walk, level - 1)->row].children++;
    *outer_at(walk, walk->outer.depth++) = (struct outer){range->start, end, row};
    return level;
}

static int is_nested(const struct walk *walk, uint32_t kind)
{
    return !(kind & NVT_LANE_KIND) || walk->kinds[kind & ~NVT_LANE_KIND].style == NVT_PUSH_POP;
}

static void open_range(struct walk *walk, uint32_t row)
{
    const struct nvt_lane_range *range = &walk->lane->ranges.items[row];
    int64_t end = range->end < range->start ? range->start : range->end;
    /* Launches come after the start from now on, so what has ended is done with. */
    while (walk->open.depth && open_at(walk, walk->open.depth - 1)->end < range->start)
        close_top(walk);
    if (make_room(&walk->open, sizeof(struct open)) ||
        make_room(&walk->outer, sizeof(struct outer))) {
        give_up(walk, NO_MEMORY);
        return;
    }
    uint32_t level = is_nested(walk, range->kind) ? nest(walk, range, row, end) : 0;
    struct open *open = open_at(walk, walk->open.depth++);
    *open = (struct open){
        .end = end, .row = row, .level = level, .first = INT64_MAX, .last = INT64_MIN};
    if (walk->open.depth > 1 && end > open[-1].end)
        walk->overlaps = 1;
}

/* Ranges that ended, from below ones that are still open. */
static void drop_ended(struct walk *walk, int64_t time)
{
    uint32_t kept = 0;
    walk->overlaps = 0;
    for (uint32_t i = 0; i < walk->open.depth; i++) {
        struct open *open = open_at(walk, i);
        if (open->end < time) {
            /* Those above that have operations already would have them within different ranges. */
            if (i + 1 < walk->open.depth && open[1].node) {
                give_up(walk, COMPLEX);
                return;
            }
            close_range(walk, open, kept ? open_at(walk, kept - 1) : NULL);
            continue;
        }
        if (kept && open->end > open_at(walk, kept - 1)->end)
            give_up(walk, COMPLEX);
        *open_at(walk, kept++) = *open;
    }
    walk->open.depth = kept;
}

/* How many of the open ranges hold a call. */
static uint32_t holding(struct walk *walk, int64_t start, int64_t end)
{
    if (walk->overlaps)
        drop_ended(walk, start);
    if (walk->outcome != DONE)
        return 0;
    while (walk->open.depth && open_at(walk, walk->open.depth - 1)->end < start)
        close_top(walk);
    uint32_t count = walk->open.depth;
    while (count && open_at(walk, count - 1)->end < end)
        count--;
    return count;
}

/* From now on the first `count` have operations. */
static void name_nodes(struct walk *walk, uint32_t count)
{
    uint32_t from = count;
    while (from && !open_at(walk, from - 1)->node)
        from--;
    for (uint32_t i = from; i < count && walk->outcome == DONE; i++) {
        struct open *open = open_at(walk, i);
        open->class =
            class_of(walk, i ? open[-1].class : 0, walk->lane->ranges.items[open->row].kind);
        open->node = ++walk->nodes;
    }
}

/* --- operations --- */

/* A kernel of a name, for all ranges in which there was none yet: where there was one, there was
 * one around it. */
static void count_ranges(struct walk *walk, uint32_t count, uint32_t name)
{
    for (uint32_t i = count; i-- > 0;) {
        const struct open *open = open_at(walk, i);
        struct nvt_launch_cell *cell =
            &walk->out->cells[(size_t)open->class * walk->lanes->names + name];
        if (cell->last == open->node)
            break;
        cell->last = open->node;
        cell->instances++;
    }
}

/* An operation in the first `count` ranges. */
static void put(struct walk *walk, uint32_t count, const struct nvt_lane_op *op)
{
    uint32_t class = 0;
    walk->ops++;
    if (count) {
        struct open *open = open_at(walk, count - 1);
        int64_t start = op->start - walk->lane->offset, end = start + op->length;
        open->first = start < open->first ? start : open->first;
        open->last = end > open->last ? end : open->last;
        open->ops++;
        class = open->class;
    }
    if (op->name == NVT_NONE)
        return;
    uint32_t name = walk->lanes->number[op->name];
    if (add_time(&walk->out->cells[(size_t) class * walk->lanes->names + name].times, op->length))
        give_up(walk, NO_MEMORY);
    if (count)
        count_ranges(walk, count, name);
}

/* The first operation of a call + 1, 0 none. Relaxed: where calls of several threads have the same
 * id, nobody knows which launched it, and the sum of what was taken tells. */
static uint32_t take(struct walk *walk, uint32_t id)
{
    const struct nvt_lane_ids *ids = walk->ids;
    if (id - ids->low > ids->high - ids->low || id < ids->low || !ids->first)
        return 0;
    uint32_t *entry = &ids->first[id - ids->low];
    uint32_t op = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (op & TAKEN) {
        /* The outer one of two calls launched it, and that comes first. */
        if (op != walk->number)
            give_up(walk, COMPLEX);
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

static inline void fetch_ahead(const struct walk *walk, uint32_t i)
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
        if (op && !(op & TAKEN))
            __builtin_prefetch(&walk->lanes->ops[op - 1]);
    }
}

static void walk_calls(struct walk *walk)
{
    const struct nvt_lane_calls *calls = &walk->lane->calls;
    const struct nvt_lane_ranges *ranges = &walk->lane->ranges;
    for (uint32_t i = 0; i < calls->count && walk->outcome == DONE; i++) {
        fetch_ahead(walk, i);
        int64_t start = calls->items[i].start - walk->lane->offset;
        int64_t end = start + calls->items[i].length;
        uint32_t op = take(walk, calls->items[i].id);
        if (!op)
            continue;
        while (walk->next < ranges->count && ranges->items[walk->next].start <= start)
            open_range(walk, walk->next++);
        uint32_t count = holding(walk, start, end);
        if (count && !open_at(walk, count - 1)->node)
            name_nodes(walk, count);
        for (; op && walk->outcome == DONE; op = walk->lanes->ops[op - 1].next)
            put(walk, count, &walk->lanes->ops[op - 1]);
    }
}

static void walk_lane(struct walk *walk)
{
    if (!walk->lane->calls.count)
        return;
    if (walk->lane->unsure && nvt_lane_sort(walk->lane)) {
        give_up(walk, NO_MEMORY);
        return;
    }
    new_class(walk, 0, 0);
    if (walk->outcome != DONE)
        return;
    walk_calls(walk);
    /* What comes behind the last launch lies in ranges that are still open. */
    while (walk->next < walk->lane->ranges.count && walk->outcome == DONE)
        open_range(walk, walk->next++);
    while (walk->open.depth && walk->outcome == DONE)
        close_top(walk);
}

/* --- all of them --- */

struct job {
    uint32_t cells;
    struct nvt_lanes *lanes;
    struct nvt_launches *out;
    struct {
        enum outcome outcome;
        uint64_t ops;
    } * results; /* of every lane */
};

static void walk_one(void *context, size_t i)
{
    struct job *job = context;
    struct walk *walk = calloc(1, sizeof(*walk));
    if (!walk) {
        job->results[i].outcome = NO_MEMORY;
        return;
    }
    walk->lanes = job->lanes;
    walk->lane = &job->lanes->items[i];
    walk->out = &job->out->lanes[i];
    walk->out->thread = walk->lane->thread;
    walk->kinds = job->out->kinds;
    walk->ids = &job->lanes->ids[walk->lane->process];
    walk->number = TAKEN | (uint32_t)i;
    walk->cells = &job->cells;
    walk_lane(walk);
    job->results[i].outcome = walk->outcome;
    job->results[i].ops = walk->ops;
    nvt_map_free(&walk->classes);
    free(walk->open.items);
    free(walk->outer.items);
    free(walk);
}

/* Kernels from here on, which nobody is known to have launched. Returns how many operations;
 * *failed is set when out of memory. */
static uint64_t put_loose(struct nvt_launches *out, const struct nvt_lanes *lanes, uint32_t first,
                          int *failed)
{
    struct nvt_launch_lane *lane = &out->lanes[out->lane_count - 1];
    uint64_t count = 0;
    for (uint32_t op = first; op; op = lanes->ops[op - 1].next) {
        uint32_t name = lanes->ops[op - 1].name;
        count++;
        if (name != NVT_NONE &&
            add_time(&lane->cells[lanes->number[name]].times, lanes->ops[op - 1].length))
            *failed = 1;
    }
    return count;
}

/* The last lane: operations of no call, and of calls of no lane. Returns how many. */
static uint64_t take_loose(struct nvt_launches *out, const struct nvt_lanes *lanes, uint64_t taken,
                           int *failed)
{
    struct nvt_launch_lane *lane = &out->lanes[out->lane_count - 1];
    uint32_t cells = 0;
    lane->thread = NVT_NONE;
    if (taken == lanes->op_count)
        return 0;
    enum outcome outcome = grow_classes(lane, out->names, &cells);
    *failed = outcome == NO_MEMORY;
    if (outcome != DONE)
        return 0;
    lane->classes[0] = (struct nvt_launch_class){0};
    lane->class_count = 1;
    uint64_t count = put_loose(out, lanes, lanes->loose, failed);
    for (uint32_t p = 0; p < lanes->id_count; p++) {
        const struct nvt_lane_ids *ids = &lanes->ids[p];
        for (uint64_t i = 0;
             taken + count < lanes->op_count && ids->first && i <= ids->high - ids->low; i++)
            if (!(ids->first[i] & TAKEN))
                count += put_loose(out, lanes, ids->first[i], failed);
    }
    return count;
}

static int merge(struct job *job)
{
    uint64_t taken = 0;
    int failed = 0, complex = 0;
    for (uint32_t i = 0; i < job->lanes->count; i++) {
        failed |= job->results[i].outcome == NO_MEMORY;
        complex |= job->results[i].outcome == COMPLEX;
        taken += job->results[i].ops;
    }
    if (failed || complex)
        return failed ? -1 : 1;
    taken += take_loose(job->out, job->lanes, taken, &failed);
    return failed ? -1 : taken != job->lanes->op_count;
}

int nvt_launches_of(struct nvt_launches *launches, struct nvt_lanes *lanes)
{
    struct job job = {.lanes = lanes, .out = launches};
    uint64_t rows = lanes->op_count;
    *launches =
        (struct nvt_launches){.lanes = calloc((size_t)lanes->count + 1, sizeof(*launches->lanes)),
                              .lane_count = lanes->count + 1,
                              .kinds = lanes->kinds,
                              .name = lanes->name,
                              .names = lanes->names};
    lanes->kinds = NULL;
    lanes->name = NULL;
    job.results = calloc((size_t)lanes->count + 1, sizeof(*job.results));
    int status = launches->lanes && job.results ? 0 : -1;
    if (!status && (lanes->op_count > TAKEN - 1 || lanes->count > TAKEN - 1))
        status = 1;
    for (uint32_t i = 0; i < lanes->count; i++)
        rows += lanes->items[i].ranges.count;
    if (!status && rows < BESIDE_FROM)
        for (uint32_t i = 0; i < lanes->count; i++)
            walk_one(&job, i);
    else if (!status)
        nvt_parallel(walk_one, &job, lanes->count);
    if (!status)
        status = merge(&job);
    free(job.results);
    if (status)
        nvt_launches_free(launches);
    return status;
}

int nvt_launches_make(struct nvt_launches *launches, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err)
{
    struct nvt_lanes lanes = {0};
    *launches = (struct nvt_launches){0};
    if (flags & NVT_ACROSS_THREADS)
        return 1;
    int status = nvt_lanes_of_trace(&lanes, trace);
    if (!status)
        status = nvt_launches_of(launches, &lanes);
    nvt_lanes_free(&lanes);
    return status < 0 ? nvt_fail_at(err, trace->path, -1, "out of memory") : status;
}
