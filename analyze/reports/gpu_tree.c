/*
 * range_tree: ranges as a tree of names, what they took on the host and on the devices, with and
 * without what lies deeper.
 *
 * A row is a path of names, summed over its instances, threads and traces. Nesting is that of the
 * thread, across domains (analyze/model/nesting.h); start/end ranges stand at the top, because they do
 * not nest. Host Total is time in the range, Host Self the same without the ranges directly in it;
 * where these overlap, that time counts once. Unfinished are instances that never ended: they last as
 * long as something is on record of their thread.
 *
 * Host (%) is Host Total over the time in outermost push/pop ranges of those threads that have a range of
 * the row, all of these threads added up. So a thread's outermost ranges come to 100 %, and one that loads
 * data all the time beside another makes no share of that one's smaller. Start/end ranges have none: they may
 * lie beside each other, around a thread's other ranges and end elsewhere, and are parts of no whole.
 *
 * Device operations belong to ranges as analyze/device/project.h says; Device Busy is the time in which at
 * least one of a range's operations ran (operations at the same time count once), Device Self that
 * of those that belong to no deeper range, Device Span from its first to its last operation. These columns
 * come last, and are left out where no device operation is on record.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../model/groups.h"
#include "../model/nesting.h"
#include "../device/project.h"
#include "report.h"

/* A path of names. Nodes are created after their parents. */
struct node {
    uint32_t parent, name;
    uint32_t first_child, next; /* of the same parent */
    uint32_t level, style;
    uint64_t instances, ops, ops_self, unfinished;
    int64_t host, host_self, busy, self, span;
    int64_t threads_ns; /* what Host (%) is a share of */
    uint32_t
        counted; /* the thread of the current trace that was added to it last, NVT_NONE: none */
};

struct tree {
    struct nvt_groups names;
    struct nvt_map by_path; /* (parent + 1) << 32 | name, style on top of the name -> node */
    struct nvt_map counted; /* node << 32 | thread, of the current trace */
    struct node *nodes;
    uint32_t count, first_root;
    int has_ops;
};

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

/* The top of the tree has this number as parent. */
#define NO_NODE UINT32_MAX

static uint32_t new_node(struct tree *tree, uint32_t parent, uint32_t name, uint32_t style)
{
    if (nvt_grow(&tree->nodes, tree->count, sizeof(*tree->nodes)))
        return NO_NODE;
    uint32_t *siblings = parent == NO_NODE ? &tree->first_root : &tree->nodes[parent].first_child;
    tree->nodes[tree->count] = (struct node){
        .parent = parent,
        .name = name,
        .first_child = NO_NODE,
        .next = *siblings,
        .style = style,
        .counted = NVT_NONE,
        .level = parent == NO_NODE ? 0 : tree->nodes[parent].level + 1,
    };
    *siblings = tree->count;
    return tree->count++;
}

static uint32_t node_at(struct tree *tree, uint32_t parent, uint32_t name, uint32_t style)
{
    uint32_t *at =
        nvt_map_at(&tree->by_path, (uint64_t)(parent + 1) << 32 | (uint64_t)style << 31 | name);
    if (at && *at == NVT_MAP_NONE)
        *at = new_node(tree, parent, name, style);
    return at ? *at : NO_NODE;
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
static int count_thread(struct tree *tree, uint32_t node, uint32_t thread, int64_t ns)
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

static void begin_trace(struct tree *tree, const struct nvt_trace *trace)
{
    nvt_groups_trace(&tree->names, trace);
    nvt_map_free(&tree->counted);
    tree->counted = (struct nvt_map){0};
    for (uint32_t i = 0; i < tree->count; i++)
        tree->nodes[i].counted = NVT_NONE;
}

static int add_gpu_tree_ranges(struct tree *tree, const struct nvt_trace *trace,
                               const struct nvt_nesting *nesting, const struct device_time *times)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *node_of = malloc(((size_t)ranges->count + 1) * sizeof(*node_of));
    int64_t *outermost = thread_times(trace, nesting);
    int status = node_of && outermost ? 0 : -1;
    begin_trace(tree, trace);
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint32_t parent = nesting->parent[i] == NVT_NONE ? NO_NODE : node_of[nesting->parent[i]];
        uint32_t name = nvt_groups_range(&tree->names, i);
        node_of[i] = name == NVT_NO_STRING
                         ? NO_NODE
                         : node_at(tree, parent, name, ranges->style[i] != NVT_PUSH_POP);
        if (node_of[i] == NO_NODE ||
            count_thread(tree, node_of[i], ranges->thread[i], outermost[ranges->thread[i]])) {
            status = -1;
            break;
        }
        struct node *node = &tree->nodes[node_of[i]];
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

static int add_gpu_tree_trace(struct tree *tree, const struct nvt_trace *trace, unsigned flags,
                              struct nvt_error *err)
{
    struct nvt_nesting nesting = {0};
    struct device_time *times = device_times(trace, flags, err);
    int status = times ? nvt_nesting_make(&nesting, trace, err) : -1;
    if (!status && add_gpu_tree_ranges(tree, trace, &nesting, times))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_nesting_free(&nesting);
    free(times);
    return status;
}

/* Brothers by their time on the devices, then on the host, greatest first. */
static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct node *nodes = context;
    const struct node *a = &nodes[*(const uint32_t *)left], *b = &nodes[*(const uint32_t *)right];
    if (a->busy != b->busy)
        return a->busy < b->busy ? 1 : -1;
    if (a->host != b->host)
        return a->host < b->host ? 1 : -1;
    return a < b ? -1 : a > b;
}

/* 0, or -1 when there is no memory for its name; what the table has none for, that tells itself. */
static int put_node(struct nvt_table *table, const struct tree *tree, const struct node *node,
                    struct nvt_buffer *text)
{
    if (nvt_nesting_indent(node->level, nvt_groups_name(&tree->names, node->name), text))
        return -1;
    nvt_table_put(table, (const char *)text->data, node->instances, node->host, node->host_self,
                  node->style ? NAN : nvt_percent(node->host, node->threads_ns), node->level,
                  nvt_style_name(node->style), node->unfinished);
    if (tree->has_ops)
        nvt_table_more(table, node->busy, node->self, node->span, node->ops, node->ops_self);
    return 0;
}

/*
 * All nodes, each before its children. `order` is a stack of nodes to be put: the children of one
 * take its place, sorted, the first to be put on top.
 */
static int put_tree(struct nvt_table *table, struct tree *tree)
{
    struct nvt_buffer text = {0};
    uint32_t *order = malloc(((size_t)tree->count + 1) * sizeof(*order)), used = 0;
    int status = order ? 0 : -1;
    for (uint32_t from = tree->first_root; !status;) {
        uint32_t first = used;
        for (uint32_t node = from; node != NO_NODE; node = tree->nodes[node].next)
            order[used++] = node;
        qsort_r(order + first, used - first, sizeof(*order), compare_nodes, tree->nodes);
        for (uint32_t low = first, high = used; low + 1 < high;) {
            uint32_t swap = order[low];
            order[low++] = order[--high];
            order[high] = swap;
        }
        if (!used)
            break;
        status = put_node(table, tree, &tree->nodes[order[--used]], &text);
        from = tree->nodes[order[used]].first_child;
    }
    nvt_buffer_free(&text);
    free(order);
    return status;
}

static int put_gpu_tree(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    struct tree tree = {.first_root = NO_NODE};
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        tree.has_ops |= input->traces[i].trace->ops.count > 0;
        status = add_gpu_tree_trace(&tree, input->traces[i].trace, nvt_input_projection(input),
                                    making->err);
    }
    if (tree.has_ops)
        nvt_making_title(making, "Range tree, host and device time");
    else
        nvt_table_drop(table, "Device Busy (ns)", 5);
    if (!status)
        status = put_tree(table, &tree);
    nvt_groups_free(&tree.names);
    nvt_map_free(&tree.by_path);
    nvt_map_free(&tree.counted);
    free(tree.nodes);
    return status;
}

const struct nvt_report nvt_report_range_tree = {
    .name = "range_tree",
    .about = "ranges as a tree: host and device time, total and self",
    .needs = NVT_TAKES_COMPENSATED | NVT_PROJECTS,
    .columns = {{"Range", NVT_RANGES},
                {"Instances", NVT_COUNTS},
                {"Host Total (ns)", NVT_NS},
                {"Host Self (ns)", NVT_SPARE_NS},
                {"Host (%)", NVT_PERCENT},
                {"Lvl", NVT_SPARE_COUNTS},
                {"Style", NVT_SPARE_NAMES},
                {"Unfinished", NVT_SPARE_COUNTS},
                {"Device Busy (ns)", NVT_NS},
                {"Device Self (ns)", NVT_NS},
                {"Device Span (ns)", NVT_SPARE_NS},
                {"GPU Ops", NVT_COUNTS},
                {"GPU Ops Self", NVT_SPARE_COUNTS}},
    .title = "Range tree, host time",
    .nothing = "no NVTX ranges in the input",
    .of_input = put_gpu_tree,
};
