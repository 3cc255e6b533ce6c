#include "launch_walk.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"

/* Classes times names, at most, of all threads: beyond that a table is not what is wanted. */
#define CELLS_MOST (1u << 21)

void nvt_walk_give_up(struct nvt_walk *walk, enum nvt_walk_outcome outcome)
{
    if (walk->outcome == NVT_WALK_DONE)
        walk->outcome = outcome;
}

int nvt_walk_grow(struct nvt_walk *walk)
{
    uint32_t capacity = walk->capacity ? walk->capacity * 2 : 16;
    struct nvt_walk_open *open =
        capacity > walk->capacity ? realloc(walk->open, capacity * sizeof(*open)) : NULL;
    if (!open) {
        nvt_walk_give_up(walk, NVT_WALK_NO_MEMORY);
        return -1;
    }
    walk->open = open;
    walk->capacity = capacity;
    return 0;
}

int nvt_launch_grow_times(struct nvt_launch_times *times)
{
    uint32_t capacity = times->capacity ? times->capacity * 2 : 4;
    uint32_t *values = capacity > times->capacity
                           ? realloc(times->values, (size_t)capacity * sizeof(*values))
                           : NULL;
    if (!values)
        return -1;
    times->values = values;
    times->capacity = capacity;
    return 0;
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
    struct nvt_launch_class *classes = realloc(out->classes, to * sizeof(*classes));
    if (classes)
        out->classes = classes;
    struct nvt_launch_cell *cells = realloc(out->cells, ((size_t)to * names + 1) * sizeof(*cells));
    if (cells)
        out->cells = cells;
    if (!classes || !cells)
        return NVT_WALK_NO_MEMORY;
    memset(cells + (size_t)from * names, 0, (size_t)(to - from) * names * sizeof(*cells));
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
        nvt_walk_give_up(walk, outcome);
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
        nvt_walk_give_up(walk, NVT_WALK_NO_MEMORY);
        return 0;
    }
    if (*class == NVT_MAP_NONE)
        *class = new_class(walk, outer, kind);
    walk->recent[place].key = key;
    walk->recent[place].class = *class;
    return *class;
}

/* --- ranges --- */

void nvt_walk_close(struct nvt_walk *walk, const struct nvt_walk_open *open,
                    struct nvt_walk_open *outer)
{
    /* Without an operation of its own: within one that ended before it, which has given up. */
    if (!open->node || open->last < open->first)
        return;
    struct nvt_launch_class *class = &walk->out->classes[open->class];
    int64_t ns = open->last - open->first;
    if ((uint64_t)ns <= UINT32_MAX ? nvt_launch_add_time(&class->times, (uint32_t)ns)
                                   : add_longer(class, ns))
        nvt_walk_give_up(walk, NVT_WALK_NO_MEMORY);
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

/* From now on the first `count` have operations. */
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
        nvt_walk_give_up(walk, NVT_WALK_NO_MEMORY);
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
            nvt_walk_give_up(walk, NVT_WALK_COMPLEX);
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

uint32_t nvt_walk_take(struct nvt_walk *walk, uint32_t i)
{
    fetch_ahead(walk, i);
    return take(walk, walk->lane->calls.items[i].id);
}

void nvt_walk_put(struct nvt_walk *walk, uint32_t count, uint32_t op)
{
    if (count && !walk->open[count - 1].node)
        name_nodes(walk, count);
    for (; op && walk->outcome == NVT_WALK_DONE; op = walk->lanes->ops[op - 1].next)
        put(walk, count, &walk->lanes->ops[op - 1]);
}

int nvt_walk_begin(struct nvt_walk *walk)
{
    if (!walk->lane->calls.count)
        return 0;
    if (walk->lane->unsure && nvt_lane_sort(walk->lane))
        nvt_walk_give_up(walk, NVT_WALK_NO_MEMORY);
    else
        new_class(walk, 0, 0);
    return walk->outcome == NVT_WALK_DONE ? 0 : -1;
}
