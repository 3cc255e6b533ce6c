#include "overview_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/map.h"
#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../device/project.h"
#include "../model/nesting.h"
#include "../model/plain_names.h"
#include "../model/alike_names.h"

/* What a node takes in a unit. */
struct entry {
    uint32_t node, unit;
    int64_t cpu, gpu; /* gpu: of all GPUs */
    uint32_t calls;
};

struct build {
    struct nvt_overview_tree *tree;
    const struct nvt_overview_units *units;
    uint32_t *alike; /* of each plain name */
    struct nvt_map by_path, by_entry;
    struct entry *entries;
    uint32_t entry_count;

    /* Of the trace that is looked at. */
    const struct nvt_trace *trace;
    uint32_t at; /* of the input */
    uint32_t functions;
    uint32_t *plain;    /* of each of its strings: a plain name, NVT_NONE: not looked at yet */
    uint32_t *entry_of; /* of each range, NVT_NONE: it does not count */
    /* of each operation: the innermost ranges of its thread, and of another one */
    uint32_t *own, *lent;
    struct nvt_nesting nesting;
};

/* --- names --- */

static uint32_t plain_name(struct build *build, uint32_t string)
{
    uint32_t *known = &build->plain[string];
    if (*known == NVT_NONE) {
        char *plain = nvt_plain_name(nvt_name(build->trace, string));
        *known = plain ? nvt_strings_add_text(build->tree->names, plain) : NVT_NO_STRING;
        free(plain);
    }
    return *known;
}

static int begin_names(struct build *build, const struct nvt_trace *trace)
{
    const size_t strings = nvt_strings_count(trace->strings);
    build->trace = trace;
    free(build->plain);
    build->plain = malloc((strings + 1) * sizeof(*build->plain));
    for (size_t i = 0; build->plain && i < strings; i++)
        build->plain[i] = NVT_NONE;
    return build->plain ? 0 : -1;
}

/* All names first, so that those that are alike in several traces are one. 0, or -1 when out of memory. */
static int find_alike(struct build *build, const struct nvt_input *input)
{
    int has_alike = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_ranges *ranges = &input->traces[i].trace->ranges;
        if (begin_names(build, input->traces[i].trace))
            return -1;
        for (uint32_t row = 0; row < ranges->count; row++)
            if (plain_name(build, ranges->name[row]) == NVT_NO_STRING)
                return -1;
    }
    const size_t names = nvt_strings_count(build->tree->names);
    build->alike = build->tree->with_every_name ? malloc((names + 1) * sizeof(*build->alike))
                                                : nvt_alike_names(build->tree->names, &has_alike);
    for (size_t i = 0; build->tree->with_every_name && build->alike && i < names; i++)
        build->alike[i] = (uint32_t)i;
    return build->alike ? 0 : -1;
}

/* --- nodes and entries --- */

/* NVT_NONE when out of memory. */
static uint32_t node_at(struct build *build, uint32_t parent, uint32_t name)
{
    struct nvt_overview_tree *tree = build->tree;
    struct nvt_overview_node *node =
        nvt_map_item(&build->by_path, (uint64_t)(parent + 1) << 32 | name, &tree->nodes,
                     &tree->count, sizeof(*node));
    if (!node)
        return NVT_NONE;
    node->parent = parent;
    node->name = name;
    return (uint32_t)(node - tree->nodes);
}

static uint32_t entry_at(struct build *build, uint32_t node, uint32_t unit)
{
    struct entry *entry = nvt_map_item(&build->by_entry, (uint64_t)node << 32 | unit,
                                       &build->entries, &build->entry_count, sizeof(*entry));
    if (!entry)
        return NVT_NONE;
    entry->node = node;
    entry->unit = unit;
    return (uint32_t)(entry - build->entries);
}

/* --- ranges --- */

/* The unit that a range counts for; NVT_NONE: none. */
static uint32_t unit_of(const struct build *build, uint32_t range)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    const uint32_t first = build->units->first[build->at], thread = ranges->thread[range];
    const struct nvt_named_iterations *iterations = &build->units->iterations[build->at];
    if (build->units->first[build->at + 1] == first)
        return NVT_NONE;
    if (!build->units->are_iterations)
        return first;
    const uint32_t iteration = nvt_iteration_at(
        iterations, thread, build->trace->threads.process[thread], ranges->start[range]);
    if (iteration == NVT_NONE ||
        (!build->tree->with_others && ranges->thread[iterations->rows[iteration]] != thread))
        return NVT_NONE;
    return first + iteration;
}

/* The root of what other threads do, which has what they do of a range that none of theirs is around. NVT_NONE when out of memory. */
static uint32_t add_to_others(struct build *build, uint32_t range, uint32_t unit)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    const uint32_t name = nvt_strings_add_text(build->tree->names, "other threads");
    const uint32_t root = name == NVT_NO_STRING ? NVT_NONE : node_at(build, NVT_NONE, name);
    const uint32_t entry = root == NVT_NONE ? NVT_NONE : entry_at(build, root, unit);
    if (entry == NVT_NONE)
        return NVT_NONE;
    build->tree->others = root + 1;
    build->entries[entry].calls++;
    build->entries[entry].cpu =
        nvt_clock_sum(build->entries[entry].cpu, ranges->end[range] - ranges->start[range]);
    return root;
}

/* The node of the ranges around one that counts for a unit; NVT_NONE: there are none. *failed: out of memory. */
static uint32_t node_around(struct build *build, uint32_t range, uint32_t unit, int *failed)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    uint32_t depth = 0; /* of a program that pushes and never pops there is no end */
    for (uint32_t at = build->nesting.parent[range]; at != NVT_NONE && depth++ < NVT_NESTING_DEPTH;
         at = build->nesting.parent[at]) {
        const uint32_t entry = build->entry_of[at];
        if (entry != NVT_NONE && build->entries[entry].unit == unit)
            return build->entries[entry].node;
    }
    if (!build->units->are_iterations)
        return NVT_NONE;
    const struct nvt_named_iterations *iterations = &build->units->iterations[build->at];
    const uint32_t row = iterations->rows[unit - build->units->first[build->at]];
    if (row == range)
        return NVT_NONE;
    const int is_own = ranges->thread[row] == ranges->thread[range];
    const uint32_t name = plain_name(build, ranges->name[row]);
    const uint32_t root = !is_own                 ? add_to_others(build, range, unit)
                          : name == NVT_NO_STRING ? NVT_NONE
                                                  : node_at(build, NVT_NONE, name);
    *failed |= root == NVT_NONE;
    return root;
}

/* 0, or -1 when out of memory. */
static int add_range(struct build *build, uint32_t range)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    const uint32_t unit = unit_of(build, range);
    int failed = 0;
    build->entry_of[range] = NVT_NONE;
    if (unit == NVT_NONE || ranges->flags[range] & NVT_RANGE_PARTIAL ||
        nvt_is_function_of(build->trace, build->functions, range))
        return 0;
    const uint32_t around = node_around(build, range, unit, &failed);
    const uint32_t name = plain_name(build, ranges->name[range]);
    if (failed || name == NVT_NO_STRING)
        return -1;
    const int is_root = around == NVT_NONE && build->units->are_iterations;
    const uint32_t node = node_at(build, around, is_root ? name : build->alike[name]);
    const uint32_t entry = node == NVT_NONE ? NVT_NONE : entry_at(build, node, unit);
    if (entry == NVT_NONE)
        return -1;
    build->entry_of[range] = entry;
    build->entries[entry].calls++;
    build->entries[entry].cpu =
        nvt_clock_sum(build->entries[entry].cpu, ranges->end[range] - ranges->start[range]);
    return 0;
}

/* --- GPU work --- */

static int find_place(void *context, uint32_t op, const uint32_t *rows, uint32_t count)
{
    struct build *build = context;
    const struct nvt_ranges *ranges = &build->trace->ranges;
    build->own[op] = build->lent[op] = NVT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const int is_own = ranges->thread[rows[i]] == build->trace->ops.thread[op];
        if (ranges->style[rows[i]] == NVT_PUSH_POP)
            *(is_own ? &build->own[op] : &build->lent[op]) = rows[i];
    }
    return 0;
}

/* The part of an operation behind what ranges have of this GPU already, to the innermost range and those around it. */
static int add_op(struct build *build, uint32_t op, uint32_t innermost, int64_t *covered)
{
    const struct nvt_ops *ops = &build->trace->ops;
    int counts = 0;
    for (uint32_t at = innermost; at != NVT_NONE; at = build->nesting.parent[at]) {
        const int64_t from = ops->start[op] > covered[at] ? ops->start[op] : covered[at];
        if (build->entry_of[at] == NVT_NONE || ops->end[op] <= from)
            continue;
        struct entry *entry = &build->entries[build->entry_of[at]];
        entry->gpu = nvt_clock_sum(entry->gpu, ops->end[op] - from);
        covered[at] = ops->end[op];
        counts = 1;
    }
    return counts;
}

static int add_device(struct build *build, const struct nvt_used_device *device, int64_t *covered)
{
    for (uint32_t i = 0; i < build->trace->ranges.count; i++)
        covered[i] = INT64_MIN;
    for (uint32_t i = 0; i < device->count; i++) {
        const uint32_t op = device->ops[i];
        (void)add_op(build, op, build->own[op], covered);
        build->tree->lends |= add_op(build, op, build->lent[op], covered);
    }
    return 0;
}

static int add_ops(struct build *build, unsigned flags, struct nvt_error *err)
{
    const struct nvt_trace *trace = build->trace;
    struct nvt_used_devices devices = {0};
    int64_t *covered = malloc(((size_t)trace->ranges.count + 1) * sizeof(*covered));
    build->own = malloc(((size_t)trace->ops.count + 1) * sizeof(*build->own));
    build->lent = malloc(((size_t)trace->ops.count + 1) * sizeof(*build->lent));
    int status = covered && build->own && build->lent
                     ? nvt_project(trace, flags, find_place, build, err) ||
                           nvt_used_gpus_make(&devices, trace, 0, err)
                     : nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < devices.count && !status; i++)
        status = add_device(build, &devices.items[i], covered);
    nvt_used_devices_free(&devices);
    free(covered);
    free(build->own);
    free(build->lent);
    build->own = build->lent = NULL;
    return status ? -1 : 0;
}

static int add_trace(struct build *build, const struct nvt_input *input, uint32_t at,
                     struct nvt_error *err)
{
    const struct nvt_trace *trace = input->traces[at].trace;
    build->at = at;
    build->entry_of = malloc(((size_t)trace->ranges.count + 1) * sizeof(*build->entry_of));
    int status = begin_names(build, trace) || !build->entry_of ||
                         nvt_nesting_make(&build->nesting, trace, NULL)
                     ? -1
                     : 0;
    build->functions = nvt_python_functions(trace);
    for (uint32_t i = 0; i < trace->ranges.count && !status; i++)
        status = add_range(build, i);
    if (status)
        (void)nvt_fail_at(err, trace->path, -1, "out of memory");
    else if (trace->ops.count)
        status = add_ops(build, nvt_input_projection(input), err);
    build->tree->has_ops |= trace->ops.count > 0;
    nvt_nesting_free(&build->nesting);
    build->nesting = (struct nvt_nesting){0};
    free(build->entry_of);
    build->entry_of = NULL;
    return status;
}

/* --- what a unit has --- */

/* The median of some values and of zeros for the other units; the given mean where zeros are the most, or means are wanted.
   `values` has room for all. */
static double of_unit(const struct nvt_overview_units *units, double *values, uint32_t count,
                      double mean)
{
    if (units->are_means)
        return mean;
    for (uint32_t i = count; i < units->count; i++)
        values[i] = 0;
    const double median = nvt_sample_median(values, units->count);
    return median > 0 ? median : mean;
}

static int by_node(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* GPUs of a unit's process, at least 1. */
static double gpus_of(const struct build *build, const struct entry *entry)
{
    const uint32_t gpus = build->units->items[entry->unit].gpus;
    return gpus ? gpus : 1;
}

static int sum_up(struct build *build)
{
    const struct nvt_overview_units *units = build->units;
    const size_t room = (size_t)units->count + 1;
    const double late = units->late ? units->late : 1;
    double *values = malloc(room * 3 * sizeof(*values));
    if (!values)
        return -1;
    double *gpu = values + room, *calls = gpu + room;
    qsort(build->entries, build->entry_count, sizeof(*build->entries), by_node);
    for (uint32_t i = 0, count; i < build->entry_count; i += count) {
        const struct entry *entries = &build->entries[i];
        double cpu_mean = 0, gpu_mean = 0, calls_mean = 0;
        for (count = 0; i + count < build->entry_count && entries[count].node == entries->node;
             count++) {
            const double part = units->items[entries[count].unit].is_early ? 0 : 1 / late;
            cpu_mean += part * (values[count] = (double)entries[count].cpu);
            gpu_mean +=
                part * (gpu[count] = (double)entries[count].gpu / gpus_of(build, &entries[count]));
            calls_mean += part * (calls[count] = entries[count].calls);
        }
        struct nvt_overview_node *node = &build->tree->nodes[entries->node];
        node->cpu_ns = of_unit(units, values, count, cpu_mean);
        node->gpu_ns = of_unit(units, gpu, count, gpu_mean);
        build->tree->has_gpu_time |= node->gpu_ns > 0;
        node->calls = of_unit(units, calls, count, calls_mean);
    }
    if (build->tree->others)
        build->tree->nodes[build->tree->others - 1].gpu_ns = NAN;
    free(values);
    return 0;
}

int nvt_overview_tree_make(struct nvt_overview_tree *tree, const struct nvt_input *input,
                           const struct nvt_overview_units *units, struct nvt_error *err)
{
    struct build build = {.tree = tree, .units = units};
    tree->names = nvt_strings_new();
    int status = !tree->names || find_alike(&build, input) ? nvt_fail(err, "out of memory") : 0;
    for (uint32_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&build, input, i, err);
    if (!status && build.entry_count && sum_up(&build))
        status = nvt_fail(err, "out of memory");
    nvt_map_free(&build.by_path);
    nvt_map_free(&build.by_entry);
    free(build.entries);
    free(build.alike);
    free(build.plain);
    return status;
}

void nvt_overview_tree_free(struct nvt_overview_tree *tree)
{
    free(tree->nodes);
    nvt_strings_free(tree->names);
    *tree = (struct nvt_overview_tree){0};
}
