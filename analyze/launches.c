#include "launches.h"

#include <stdlib.h>
#include <string.h>

#include "column.h"
#include "kinds.h"
#include "map.h"
#include "nesting.h"
#include "project.h"

/* Numbers of classes times names, at most: beyond that a table is not what is wanted. */
#define CELLS_MOST (1u << 22)

/* Places for classes seen last: a power of two. */
#define RECENT 1024
/* Operations that are looked at together, at most, and ranges. */
#define BATCH 4096

/* An open range of a thread. */
struct open {
    int64_t end;
    uint32_t row;
    uint32_t node; /* among the ranges with operations, from 1; 0: it has none yet */
    uint32_t class, ops;
    int64_t first, last; /* of its operations */
};

/* Ranges or operations of a batch: numbers in it, from 1. */
struct chain {
    uint32_t first, last;
};

struct stack {
    struct open *items;
    uint32_t depth, capacity;
    struct chain ranges, ops; /* of the thread, that are still to come in this batch */
    int overlaps;             /* a range was opened that ends behind the one around it */
};

struct sweep {
    const struct nvt_trace *trace;
    struct nvt_launches *out;
    struct nvt_nesting nesting; /* where it is not the model's own */
    int is_nested;
    struct stack *stacks;   /* of every thread */
    struct nvt_map kinds;   /* domain, style, name -> kind */
    struct nvt_map classes; /* class around it << 32 | kind -> class */
    struct {
        uint64_t key;
        uint32_t class;
    } recent[RECENT]; /* of them, by their keys */
    uint32_t *plain;  /* kinds of push/pop ranges of the default domain, by name */
    uint32_t kind_count, class_capacity;
    uint32_t *order;              /* operations by launch, NULL: they are in that order */
    uint32_t next;                /* range to be opened */
    uint32_t op_base, range_base; /* of the batch */
    uint32_t op_after[BATCH], range_after[BATCH]; /* in its chain, 0: none */
    uint32_t touched[2 * BATCH], touched_count;   /* threads with something in the batch */
    int complex;                                  /* it is not simple after all */
    int failed;
};

void nvt_launches_free(struct nvt_launches *launches)
{
    nvt_column_free(launches->cell);
    nvt_column_free(launches->range_class);
    nvt_column_free(launches->range_ns);
    free(launches->classes);
    free(launches->cells);
    free(launches->number);
    *launches = (struct nvt_launches){0};
}

/* --- classes --- */

/* Cells for so many classes, zeroed. */
static int grow_cells(struct nvt_launches *out, uint32_t from, uint32_t to)
{
    struct nvt_launch_cell *grown =
        realloc(out->cells, ((size_t)to * out->names + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    memset(grown + (size_t)from * out->names, 0, (size_t)(to - from) * out->names * sizeof(*grown));
    out->cells = grown;
    return 0;
}

static uint32_t new_class(struct sweep *sweep, uint32_t outer, uint32_t range)
{
    struct nvt_launches *out = sweep->out;
    uint32_t from = sweep->class_capacity;
    if (out->class_count == from) {
        uint32_t to = from ? from * 2 : 64;
        struct nvt_launch_class *grown = realloc(out->classes, to * sizeof(*grown));
        if (grown)
            out->classes = grown;
        sweep->complex |= (uint64_t)to * (out->names + 1) > CELLS_MOST;
        sweep->failed |= !grown || sweep->complex || grow_cells(out, from, to);
        if (sweep->failed)
            return 0;
        sweep->class_capacity = to;
    }
    out->classes[out->class_count] = (struct nvt_launch_class){.outer = outer, .range = range};
    return out->class_count++;
}

static uint32_t kind_of(struct sweep *sweep, uint32_t range)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    uint32_t name = ranges->name[range], domain = ranges->domain[range];
    uint32_t style = ranges->style[range] != NVT_PUSH_POP, *kind = &sweep->plain[name];
    if (domain || style) {
        /* Pairs of name and domain first: the three do not fit into a key. */
        uint32_t *pair = nvt_map_at(&sweep->kinds, (uint64_t)domain << 32 | name);
        if (pair && *pair == NVT_MAP_NONE) {
            *pair = sweep->kind_count;
            sweep->kind_count += 2;
        }
        sweep->failed |= !pair;
        return pair ? *pair + style : 0;
    }
    if (*kind == NVT_NONE) {
        *kind = sweep->kind_count;
        sweep->kind_count += 2;
    }
    return *kind;
}

/* The class of a range within one of that class, on this thread. */
static uint32_t class_of(struct sweep *sweep, uint32_t outer, uint32_t range)
{
    /* Classes of the outermost are told apart by their threads: they have the highest keys. */
    uint64_t within = outer ? outer : (uint64_t)UINT32_MAX - sweep->trace->ranges.thread[range];
    uint64_t key = within << 32 | kind_of(sweep, range);
    size_t place = (key ^ (key >> 32) * 31) % RECENT;
    /* No key is 0: there is no class within class 0 on a thread of that number. */
    if (sweep->recent[place].key == key)
        return sweep->recent[place].class;
    uint32_t *class = nvt_map_at(&sweep->classes, key);
    if (!class || sweep->failed) {
        sweep->failed = 1;
        return 0;
    }
    if (*class == NVT_MAP_NONE)
        *class = new_class(sweep, outer, range);
    sweep->recent[place].key = key;
    sweep->recent[place].class = *class;
    return *class;
}

/* --- the stack of a thread --- */

/* A range will not hold a launch any more: what it held, that around it held as well. */
static void close_range(struct sweep *sweep, struct open *open, struct open *outer)
{
    struct nvt_launches *out = sweep->out;
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    if (!open->node)
        return;
    struct nvt_launch_class *class = &out->classes[open->class];
    int64_t ns = open->last - open->first;
    uint32_t row = open->row;
    out->range_ns[open->node - 1] = ns;
    class->longest = ns > class->longest ? ns : class->longest;
    class->ranges++;
    class->ops += open->ops;
    class->original += ranges->end[row] - ranges->start[row];
    class->levels += sweep->is_nested ? sweep->nesting.level[row] : ranges->level[row];
    class->children += sweep->is_nested ? sweep->nesting.children[row] : ranges->children[row];
    if (!outer)
        return;
    outer->first = open->first < outer->first ? open->first : outer->first;
    outer->last = open->last > outer->last ? open->last : outer->last;
    outer->ops += open->ops;
}

static void close_top(struct sweep *sweep, struct stack *stack)
{
    uint32_t at = --stack->depth;
    close_range(sweep, &stack->items[at], at ? &stack->items[at - 1] : NULL);
}

static void open_range(struct sweep *sweep, uint32_t row)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    struct stack *stack = &sweep->stacks[ranges->thread[row]];
    /* Launches come after the start from now on, so what has ended is done with. */
    while (stack->depth && stack->items[stack->depth - 1].end < ranges->start[row])
        close_top(sweep, stack);
    if (stack->depth == stack->capacity) {
        uint32_t capacity = stack->capacity ? stack->capacity * 2 : 16;
        struct open *items = realloc(stack->items, capacity * sizeof(*items));
        if (!items) {
            sweep->failed = 1;
            return;
        }
        stack->items = items;
        stack->capacity = capacity;
    }
    struct open *open = &stack->items[stack->depth++];
    *open =
        (struct open){.end = ranges->end[row], .row = row, .first = INT64_MAX, .last = INT64_MIN};
    if (stack->depth > 1 && open->end > open[-1].end)
        stack->overlaps = 1;
}

/* Ranges that ended, from below ones that are still open. */
static void drop_ended(struct sweep *sweep, struct stack *stack, int64_t time)
{
    uint32_t kept = 0;
    stack->overlaps = 0;
    for (uint32_t i = 0; i < stack->depth; i++) {
        struct open *open = &stack->items[i];
        if (open->end < time) {
            /* Those above that have operations already would have them within different ranges. */
            sweep->complex |= i + 1 < stack->depth && stack->items[i + 1].node;
            close_range(sweep, open, kept ? &stack->items[kept - 1] : NULL);
            continue;
        }
        if (kept && open->end > stack->items[kept - 1].end)
            sweep->complex = 1;
        stack->items[kept++] = *open;
    }
    stack->depth = kept;
}

/* How many of the ranges of a thread hold a call. */
static uint32_t holding(struct sweep *sweep, struct stack *stack, int64_t start, int64_t end)
{
    if (stack->overlaps)
        drop_ended(sweep, stack, start);
    while (stack->depth && stack->items[stack->depth - 1].end < start)
        close_top(sweep, stack);
    uint32_t count = stack->depth;
    while (count && stack->items[count - 1].end < end)
        count--;
    return count;
}

/* From now on these ranges have operations. */
static void name_nodes(struct sweep *sweep, struct stack *stack, uint32_t count)
{
    uint32_t from = count;
    while (from && !stack->items[from - 1].node)
        from--;
    for (uint32_t i = from; i < count; i++) {
        struct open *open = &stack->items[i];
        open->class = class_of(sweep, i ? stack->items[i - 1].class : 0, open->row);
        if (sweep->failed)
            return;
        sweep->out->range_class[sweep->out->range_count] = open->class;
        open->node = ++sweep->out->range_count;
    }
}

/* A kernel of a name, for all ranges in which there was none yet: where there was one, there was
 * one around it. */
static void count_ranges(struct sweep *sweep, const struct stack *stack, uint32_t count,
                         uint32_t name)
{
    for (uint32_t i = count; i-- > 0;) {
        const struct open *open = &stack->items[i];
        struct nvt_launch_cell *cell =
            &sweep->out->cells[(size_t)open->class * sweep->out->names + name];
        if (cell->last == open->node)
            break;
        cell->last = open->node;
        cell->instances++;
    }
}

/* --- operations --- */

/* The call that launched an operation. */
struct launch {
    int64_t start, end; /* start INT64_MIN: unknown */
    uint32_t thread;
};

static struct launch launch_of(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t api = trace->ops.api[op];
    /* What the operation has of its call lies in the order of time there. */
    if (api != NVT_NONE)
        return (struct launch){trace->apis.start[api], trace->apis.end[api],
                               trace->apis.thread[api]};
    return (struct launch){trace->ops.launch[op], trace->ops.launch[op], trace->ops.thread[op]};
}

/* An operation in the first `count` ranges of a stack. */
static void put(struct sweep *sweep, const struct stack *stack, uint32_t count, uint32_t op)
{
    const struct nvt_ops *ops = &sweep->trace->ops;
    struct nvt_launches *out = sweep->out;
    uint32_t class = 0;
    if (count) {
        struct open *open = &stack->items[count - 1];
        open->first = ops->start[op] < open->first ? ops->start[op] : open->first;
        open->last = ops->end[op] > open->last ? ops->end[op] : open->last;
        open->ops++;
        class = open->class;
    }
    out->cell[op] = NVT_NONE;
    if (ops->kind[op] != NVT_OP_KERNEL)
        return;
    uint32_t name = out->number[ops->name[op]];
    out->cell[op] = class * out->names + name;
    out->cells[out->cell[op]].kernels++;
    if (ops->end[op] - ops->start[op] > out->longest)
        out->longest = ops->end[op] - ops->start[op];
    if (count)
        count_ranges(sweep, stack, count, name);
}

/* All that a thread did in the batch. */
static void run(struct sweep *sweep, struct stack *stack)
{
    const struct nvt_trace *trace = sweep->trace;
    uint32_t range = stack->ranges.first;
    for (uint32_t i = stack->ops.first; i && !sweep->failed; i = sweep->op_after[i - 1]) {
        uint32_t op = sweep->order ? sweep->order[sweep->op_base + i - 1] : sweep->op_base + i - 1;
        struct launch launch = launch_of(trace, op);
        for (; range && trace->ranges.start[sweep->range_base + range - 1] <= launch.start;
             range = sweep->range_after[range - 1])
            open_range(sweep, sweep->range_base + range - 1);
        uint32_t count = holding(sweep, stack, launch.start, launch.end);
        if (count && !stack->items[count - 1].node)
            name_nodes(sweep, stack, count);
        if (!sweep->failed)
            put(sweep, stack, count, op);
    }
    for (; range; range = sweep->range_after[range - 1])
        open_range(sweep, sweep->range_base + range - 1);
    stack->ranges = stack->ops = (struct chain){0, 0};
}

static void append(struct chain *chain, uint32_t *after, uint32_t i)
{
    after[i] = 0;
    if (chain->first)
        after[chain->last - 1] = i + 1;
    else
        chain->first = i + 1;
    chain->last = i + 1;
}

/* Have a thread run at the end of the batch. */
static void touch(struct sweep *sweep, uint32_t thread)
{
    struct stack *stack = &sweep->stacks[thread];
    if (!stack->ranges.first && !stack->ops.first)
        sweep->touched[sweep->touched_count++] = thread;
}

/* The first range that starts behind a time. */
static uint32_t ranges_until(const struct sweep *sweep, int64_t time)
{
    const struct nvt_ranges *ranges = &sweep->trace->ranges;
    uint32_t low = sweep->next, high = ranges->count;
    if (time == INT64_MIN)
        return low;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges->start[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Operations from `from` on, and the ranges that start before them, thread by thread: what a
 * thread does can be foreseen much better than what several do in turn. Returns how many operations
 * there were.
 */
static uint32_t take_batch(struct sweep *sweep, uint32_t from)
{
    const struct nvt_trace *trace = sweep->trace;
    uint32_t count = trace->ops.count - from < BATCH ? trace->ops.count - from : BATCH, until;
    for (;; count /= 2) {
        uint32_t last = from + count - 1;
        until =
            ranges_until(sweep, launch_of(trace, sweep->order ? sweep->order[last] : last).start);
        if (until - sweep->next <= BATCH || count == 1)
            break;
    }
    for (; until - sweep->next > BATCH; sweep->next++)
        open_range(sweep, sweep->next);
    sweep->op_base = from;
    sweep->range_base = sweep->next;
    for (; sweep->next < until; sweep->next++) {
        uint32_t thread = trace->ranges.thread[sweep->next];
        touch(sweep, thread);
        append(&sweep->stacks[thread].ranges, sweep->range_after, sweep->next - sweep->range_base);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = sweep->order ? sweep->order[from + i] : from + i;
        struct launch launch = launch_of(trace, op);
        if (launch.thread >= trace->threads.count || launch.start == INT64_MIN) {
            put(sweep, NULL, 0, op);
            continue;
        }
        touch(sweep, launch.thread);
        append(&sweep->stacks[launch.thread].ops, sweep->op_after, i);
    }
    while (sweep->touched_count)
        run(sweep, &sweep->stacks[sweep->touched[--sweep->touched_count]]);
    return count;
}

static int prepare(struct sweep *sweep, struct nvt_error *err)
{
    const struct nvt_trace *trace = sweep->trace;
    struct nvt_launches *out = sweep->out;
    size_t strings = nvt_strings_count(trace->strings);
    int own = nvt_nesting_is_own(trace);
    sweep->is_nested = own == 1 ? nvt_nesting_make(&sweep->nesting, trace, err) : 0;
    if (sweep->is_nested < 0 || own < 0)
        return -1;
    sweep->is_nested = own == 1;
    out->cell = nvt_column_grow(NULL, ((size_t)trace->ops.count + 1) * sizeof(*out->cell));
    out->range_class =
        nvt_column_grow(NULL, ((size_t)trace->ranges.count + 1) * sizeof(*out->range_class));
    out->range_ns =
        nvt_column_grow(NULL, ((size_t)trace->ranges.count + 1) * sizeof(*out->range_ns));
    out->number = nvt_number_strings(trace, trace->ops.name, trace->ops.count, &out->names);
    sweep->stacks = calloc((size_t)trace->threads.count + 1, sizeof(*sweep->stacks));
    sweep->plain = malloc((strings + 1) * sizeof(*sweep->plain));
    if (!out->cell || !out->range_class || !out->range_ns || !out->number || !sweep->stacks ||
        !sweep->plain)
        return -1;
    memset(sweep->plain, 0xff, strings * sizeof(*sweep->plain));
    new_class(sweep, 0, NVT_NONE);
    return 0;
}

static void release(struct sweep *sweep)
{
    for (uint32_t i = 0; sweep->stacks && i < sweep->trace->threads.count; i++)
        free(sweep->stacks[i].items);
    free(sweep->stacks);
    free(sweep->plain);
    nvt_map_free(&sweep->kinds);
    nvt_map_free(&sweep->classes);
    nvt_nesting_free(&sweep->nesting);
    free(sweep->order);
    free(sweep);
}

int nvt_launches_make(struct nvt_launches *launches, const struct nvt_trace *trace, unsigned flags,
                      struct nvt_error *err)
{
    *launches = (struct nvt_launches){0};
    if (flags & NVT_ACROSS_THREADS)
        return 1;
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    if (!sweep)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    sweep->trace = trace;
    sweep->out = launches;
    sweep->failed = prepare(sweep, err) || nvt_launch_order(trace, &sweep->order);
    for (uint32_t i = 0; i < trace->ops.count && !sweep->failed && !sweep->complex;)
        i += take_batch(sweep, i);
    for (uint32_t i = 0; i < trace->threads.count && !sweep->failed && !sweep->complex; i++)
        while (sweep->stacks[i].depth)
            close_top(sweep, &sweep->stacks[i]);
    int complex = sweep->complex, failed = sweep->failed;
    release(sweep);
    if (!complex && !failed)
        return 0;
    nvt_launches_free(launches);
    return complex ? 1 : nvt_fail_at(err, trace->path, -1, "out of memory");
}
