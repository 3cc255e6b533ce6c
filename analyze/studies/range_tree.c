#include "range_tree.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../device/project.h"
#include "../model/nesting.h"

/* What the devices did for one range. Times of operations come in the order of their starts. */
struct device_time {
    int64_t first, last; /* of its operations so far */
    int64_t covered, covered_self;
    int64_t busy, self;
    uint32_t ops, ops_self;
};

/* Which ranges every operation belongs to: those of operation i are at [start[i], start[i] +
 * count[i]) of rows. */
struct owners {
    struct nvt_buffer rows;
    size_t *start;
    uint32_t *count;
};

static uint32_t new_node(struct nvt_range_tree *tree, uint32_t parent, uint32_t name,
                         uint32_t style)
{
    if (nvt_grow(&tree->nodes, tree->count, sizeof(*tree->nodes)))
        return NVT_NONE;
    if (!tree->count)
        tree->first_root = NVT_NONE;
    uint32_t *siblings = parent == NVT_NONE ? &tree->first_root : &tree->nodes[parent].first_child;
    tree->nodes[tree->count] = (struct nvt_range_node){
        .parent = parent,
        .name = name,
        .first_child = NVT_NONE,
        .next = *siblings,
        .style = style,
        .counted = NVT_NONE,
        .level = parent == NVT_NONE ? 0 : tree->nodes[parent].level + 1,
    };
    *siblings = tree->count;
    return tree->count++;
}

static uint32_t node_at(struct nvt_range_tree *tree, uint32_t parent, uint32_t name, uint32_t style)
{
    uint32_t *at =
        nvt_map_at(&tree->by_path, (uint64_t)(parent + 1) << 32 | (uint64_t)style << 31 | name);
    if (at && *at == NVT_MAP_NONE)
        *at = new_node(tree, parent, name, style);
    return at ? *at : NVT_NONE;
}

/* --- device time of every range --- */

static int keep_owners(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct owners *owners = context;
    owners->start[op] = owners->rows.size / sizeof(*ranges);
    owners->count[op] = count;
    return nvt_buffer_append(&owners->rows, ranges, count * sizeof(*ranges));
}

/* The part of [start, end] behind what is covered, which then reaches to end. */
static int64_t uncovered(int64_t *covered, uint32_t *ops, int64_t start, int64_t end)
{
    int64_t from = *ops && *covered > start ? *covered : start;
    if (!(*ops)++ || end > *covered)
        *covered = end;
    return end > from ? end - from : 0;
}

static void add_time(struct device_time *time, int64_t start, int64_t end, int is_innermost)
{
    if (!time->ops || start < time->first)
        time->first = start;
    if (!time->ops || end > time->last)
        time->last = end;
    time->busy += uncovered(&time->covered, &time->ops, start, end);
    if (is_innermost)
        time->self += uncovered(&time->covered_self, &time->ops_self, start, end);
}

/* An operation's time to all of its ranges. Nothing lies deeper than a start/end range. */
static void add_times(struct device_time *times, const struct nvt_trace *trace, uint32_t op,
                      const uint32_t *rows, uint32_t count)
{
    uint32_t innermost = NVT_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (trace->ranges.style[rows[i]] == NVT_PUSH_POP)
            innermost = rows[i];
    for (uint32_t i = 0; i < count; i++)
        add_time(&times[rows[i]], trace->ops.start[op], trace->ops.end[op],
                 rows[i] == innermost || trace->ranges.style[rows[i]] != NVT_PUSH_POP);
}

static struct device_time *device_times(const struct nvt_trace *trace, unsigned flags,
                                        struct nvt_error *err)
{
    const struct nvt_ops *ops = &trace->ops;
    struct owners owners = {.start = malloc(((size_t)ops->count + 1) * sizeof(size_t)),
                            .count = malloc(((size_t)ops->count + 1) * sizeof(uint32_t))};
    struct device_time *times = calloc((size_t)trace->ranges.count + 1, sizeof(*times));
    if (!owners.start || !owners.count || !times ||
        nvt_project(trace, flags, keep_owners, &owners, NULL)) {
        nvt_fail_at(err, trace->path, -1, "out of memory");
        free(times);
        times = NULL;
    }
    const uint32_t *rows = (const uint32_t *)(const void *)owners.rows.data;
    for (uint32_t op = 0; times && op < ops->count; op++)
        if (owners.count[op])
            add_times(times, trace, op, rows + owners.start[op], owners.count[op]);
    free(owners.start);
    free(owners.count);
    nvt_buffer_free(&owners.rows);
    return times;
}

/* --- the tree --- */

/* Time in outermost push/pop ranges of each thread; malloc'ed, NULL when out of memory. */
static int64_t *thread_times(const struct nvt_trace *trace, const struct nvt_nesting *nesting)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t *times = calloc((size_t)trace->threads.count + 1, sizeof(*times));
    for (uint32_t i = 0; times && i < ranges->count; i++) {
        int64_t *time = &times[ranges->thread[i]];
        if (ranges->style[i] == NVT_PUSH_POP && nesting->parent[i] == NVT_NONE)
            *time = nvt_clock_sum(*time, ranges->end[i] - ranges->start[i]);
    }
    return times;
}

/* A node has a range of this thread, whose time is `ns`, which counts once. 0, or -1 when out of memory. */
static int count_thread(struct nvt_range_tree *tree, uint32_t node, uint32_t thread, int64_t ns)
{
    if (tree->nodes[node].counted == thread)
        return 0;
    tree->nodes[node].counted = thread;
    uint32_t *at = nvt_map_at(&tree->counted, (uint64_t)node << 32 | thread);
    if (at && *at == NVT_MAP_NONE) {
        *at = 0;
        tree->nodes[node].threads_ns = nvt_clock_sum(tree->nodes[node].threads_ns, ns);
    }
    return at ? 0 : -1;
}

static void begin_trace(struct nvt_range_tree *tree, const struct nvt_trace *trace)
{
    nvt_groups_trace(&tree->names, trace);
    nvt_map_free(&tree->counted);
    tree->counted = (struct nvt_map){0};
    for (uint32_t i = 0; i < tree->count; i++)
        tree->nodes[i].counted = NVT_NONE;
}

static int add_ranges(struct nvt_range_tree *tree, const struct nvt_trace *trace,
                      const struct nvt_nesting *nesting, const struct device_time *times)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *node_of = malloc(((size_t)ranges->count + 1) * sizeof(*node_of));
    int64_t *outermost = thread_times(trace, nesting);
    int status = node_of && outermost ? 0 : -1;
    begin_trace(tree, trace);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint32_t parent = nesting->parent[i] == NVT_NONE ? NVT_NONE : node_of[nesting->parent[i]];
        uint32_t name = nvt_groups_range(&tree->names, i);
        node_of[i] = name == NVT_NO_STRING
                         ? NVT_NONE
                         : node_at(tree, parent, name, ranges->style[i] != NVT_PUSH_POP);
        if (node_of[i] == NVT_NONE ||
            count_thread(tree, node_of[i], ranges->thread[i], outermost[ranges->thread[i]])) {
            status = -1;
            break;
        }
        struct nvt_range_node *node = &tree->nodes[node_of[i]];
        node->instances++;
        node->unfinished += ranges->flags[i] & NVT_RANGE_UNCLOSED;
        int64_t host = ranges->end[i] - ranges->start[i];
        node->host = nvt_clock_sum(node->host, host);
        node->host_self = nvt_clock_sum(node->host_self, host - nesting->children_ns[i]);
        node->busy = nvt_clock_sum(node->busy, times[i].busy);
        node->self = nvt_clock_sum(node->self, times[i].self);
        node->span = nvt_clock_sum(node->span, times[i].ops ? times[i].last - times[i].first : 0);
        node->ops += times[i].ops;
        node->ops_self += times[i].ops_self;
    }
    free(outermost);
    free(node_of);
    return nvt_groups_failed(&tree->names) ? -1 : status;
}

int nvt_range_tree_add(struct nvt_range_tree *tree, const struct nvt_trace *trace, unsigned flags,
                       struct nvt_error *err)
{
    struct nvt_nesting nesting = {0};
    tree->has_ops |= trace->ops.count > 0;
    struct device_time *times = device_times(trace, flags, err);
    int status = times ? nvt_nesting_make(&nesting, trace, err) : -1;
    if (!status && add_ranges(tree, trace, &nesting, times))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_nesting_free(&nesting);
    free(times);
    return status;
}

/* Siblings by their time on the devices, then on the host, the greatest last. */
static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct nvt_range_node *nodes = context;
    const struct nvt_range_node *a = &nodes[*(const uint32_t *)left],
                                *b = &nodes[*(const uint32_t *)right];
    if (a->busy != b->busy)
        return a->busy < b->busy ? -1 : 1;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a < b ? 1 : -(a > b);
}

uint32_t *nvt_range_tree_order(const struct nvt_range_tree *tree)
{
    const size_t room = (size_t)tree->count + 1;
    uint32_t *order = malloc(room * sizeof(*order)), *stack = malloc(room * sizeof(*stack));
    uint32_t count = 0, used = 0, from = tree->count ? tree->first_root : NVT_NONE;
    while (order && stack && (used || from != NVT_NONE)) {
        const uint32_t first = used;
        for (uint32_t node = from; node != NVT_NONE; node = tree->nodes[node].next)
            stack[used++] = node;
        qsort_r(stack + first, used - first, sizeof(*stack), compare_nodes, tree->nodes);
        order[count] = stack[--used];
        from = tree->nodes[order[count++]].first_child;
    }
    if (!stack) {
        free(order);
        order = NULL;
    }
    free(stack);
    return order;
}

void nvt_range_tree_free(struct nvt_range_tree *tree)
{
    nvt_groups_free(&tree->names);
    nvt_map_free(&tree->by_path);
    nvt_map_free(&tree->counted);
    free(tree->nodes);
}
