#include "kernels_by_range.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "../model/kinds.h"
#include "kernel_naming.h"
#include "launch_cache.h"
#include "project.h"

/* Kernels of one trace. */
struct kernel_sum {
    struct nvt_groups *groups; /* of all traces */
    const struct nvt_trace *trace;
    const uint32_t *op_names; /* of its operations: whole, or base names */
    struct nvt_map seen;      /* group << 32 | range: counted already, and may come again */
    struct nvt_map keys;      /* kind << 32 | kernel name -> group */
    uint32_t *table;  /* the same as an array [kind][number of the name], where it is small */
    uint32_t *number; /* of a kernel name, by string */
    uint32_t names;
    struct nvt_kinds kinds; /* ranges by name, domain, style and thread */
};

static void thread_ids(const struct nvt_trace *trace, uint32_t thread, uint32_t *parts)
{
    parts[NVT_BY_RANGE_PID] = parts[NVT_BY_RANGE_TID] = NVT_BY_NO_ID;
    if (thread == NVT_NONE)
        return;
    parts[NVT_BY_RANGE_PID] = (uint32_t)trace->processes.pid[trace->threads.process[thread]];
    parts[NVT_BY_RANGE_TID] = (uint32_t)trace->threads.tid[thread];
}

/* Kernels of a name that a thread launched in ranges of a kind, NULL: in none. */
static uint32_t kernel_group(struct kernel_sum *sum, uint32_t name, uint32_t thread,
                             const struct nvt_lane_kind *kind)
{
    uint32_t parts[NVT_BY_RANGE_PARTS] = {[NVT_BY_RANGE_STYLE] = NVT_BY_NO_RANGE};
    if (!kind)
        parts[NVT_BY_RANGE_NAME] = nvt_groups_text(sum->groups, "");
    else {
        parts[NVT_BY_RANGE_NAME] = nvt_groups_named(sum->groups, kind->domain, kind->name);
        parts[NVT_BY_RANGE_STYLE] = kind->style != NVT_PUSH_POP;
    }
    thread_ids(sum->trace, thread, parts);
    parts[NVT_BY_RANGE_KERNEL] = nvt_groups_string(sum->groups, name);
    return nvt_groups_key(sum->groups, parts, NVT_BY_RANGE_PARTS);
}

/*
 * Count a range once a group, however many kernels it holds. Launches come in the order of time: a
 * range that has ended does not come again, so only those that are still open have to be
 * remembered.
 */
static int count_range(struct kernel_sum *sum, uint32_t group, uint32_t range, int64_t launch)
{
    struct nvt_launching_ranges *counted = nvt_groups_item(sum->groups, group);
    if (!counted || counted->last == range + 1)
        return counted ? 0 : -1;
    uint32_t last = counted->last;
    counted->last = range + 1;
    if (last && sum->trace->ranges.end[last - 1] >= launch) {
        uint32_t *open = nvt_map_at(&sum->seen, (uint64_t)group << 32 | (last - 1));
        if (!open)
            return -1;
        *open = 1;
    }
    if (!sum->seen.used || nvt_map_get(&sum->seen, (uint64_t)group << 32 | range) == NVT_MAP_NONE)
        counted->instances++;
    return 0;
}

/* The group of kernels of an operation's name in ranges of a range's kind, NVT_NONE: out of memory.
 */
static uint32_t group_of(struct kernel_sum *sum, uint32_t op, uint32_t range)
{
    uint32_t name = sum->op_names[op], kind = sum->kinds.of[range];
    uint32_t *group = sum->table ? &sum->table[(size_t)kind * sum->names + sum->number[name]]
                                 : nvt_map_at(&sum->keys, (uint64_t)kind << 32 | name);
    if (group && *group == NVT_MAP_NONE) {
        const struct nvt_ranges *ranges = &sum->trace->ranges;
        const struct nvt_lane_kind of = {ranges->domain[range], ranges->name[range],
                                         ranges->style[range]};
        *group = kernel_group(sum, name, ranges->thread[range], &of);
    }
    return group ? *group : NVT_NONE;
}

static int add_kernel(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct kernel_sum *sum = context;
    const struct nvt_ops *ops = &sum->trace->ops;
    if (ops->kind[op] != NVT_OP_KERNEL)
        return 0;
    int64_t time = ops->end[op] - ops->start[op];
    if (!count)
        nvt_groups_add(sum->groups, kernel_group(sum, sum->op_names[op], ops->thread[op], NULL),
                       time);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = group_of(sum, op, ranges[i]);
        if (count_range(sum, group, ranges[i], ops->launch[op]))
            return -1;
        nvt_groups_add(sum->groups, group, time);
    }
    return 0;
}

/* Numbers of the kernels' names, and the table of groups if it is not too large. */
static int make_table(struct kernel_sum *sum)
{
    const struct nvt_ops *ops = &sum->trace->ops;
    sum->number = nvt_number_strings(sum->trace, sum->op_names, ops->count, &sum->names);
    if (!sum->number)
        return -1;
    uint64_t cells = (uint64_t)sum->names * sum->kinds.count;
    if (cells > NVT_KINDS_TABLE)
        return 0;
    sum->table = malloc((size_t)(cells + 1) * sizeof(*sum->table));
    if (sum->table)
        memset(sum->table, 0xff, (size_t)cells * sizeof(*sum->table));
    return sum->table ? 0 : -1;
}

/* Kernel by kernel. */
static int add_projected(struct kernel_sum *sum, unsigned flags, struct nvt_error *err)
{
    for (uint32_t group = 0; group < sum->groups->count; group++)
        ((struct nvt_launching_ranges *)nvt_groups_item(sum->groups, group))->last = 0;
    return nvt_kinds_make(&sum->kinds, sum->trace, 1) || make_table(sum)
               ? -1
               : nvt_project(sum->trace, flags, add_kernel, sum, err);
}

/* The kernels of a name in ranges of a class count for all classes around it as well. */
static int add_cell(struct kernel_sum *sum, const struct nvt_launches *launches,
                    const struct nvt_launch_lane *lane, uint32_t of, uint32_t number)
{
    const struct nvt_launch_cell *cell = &lane->cells[(size_t)of * launches->names + number];
    const struct nvt_piece piece = nvt_launch_cell_piece(lane, cell);
    uint32_t name = launches->name[number];
    if (!of) {
        nvt_groups_piece(sum->groups, kernel_group(sum, name, lane->thread, NULL), &piece);
        return 0;
    }
    for (uint32_t class = of; class; class = lane->classes[class].outer) {
        struct nvt_lane_kind kind = nvt_launch_kind(launches, &lane->classes[class]);
        uint32_t group = kernel_group(sum, name, lane->thread, &kind);
        struct nvt_launching_ranges *counted = nvt_groups_item(sum->groups, group);
        if (!counted)
            return -1;
        nvt_groups_piece(sum->groups, group, &piece);
        if (class == of)
            counted->instances += cell->instances;
    }
    return 0;
}

/* Class by class. */
static int add_launches(struct kernel_sum *sum, const struct nvt_launches *launches)
{
    int status = 0;
    for (uint32_t i = 0; i < launches->lane_count; i++) {
        const struct nvt_launch_lane *lane = &launches->lanes[i];
        for (uint32_t class = 0; class < lane->class_count; class ++)
            for (uint32_t number = 0; number < launches->names && !status; number++) {
                const struct nvt_launch_cell *cell =
                    &lane->cells[(size_t) class * launches->names + number];
                if (cell->times.count || cell->instances)
                    status = add_cell(sum, launches, lane, class, number);
            }
    }
    return status;
}

int nvt_kernels_by_range_add(struct nvt_groups *groups, struct nvt_input *input,
                             const struct nvt_input_trace *from, struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    const int is_base = input->naming & NVT_KERNEL_BASE;
    const struct nvt_launches *launches;
    struct kernel_sum sum = {.groups = groups,
                             .trace = trace,
                             .op_names = is_base ? trace->ops.short_name : trace->ops.name};
    int status = input->naming ? 1 : nvt_input_launches(input, from, &launches, err);
    if (status > 0)
        status = add_projected(&sum, input->project_flags, err);
    else if (!status)
        status = add_launches(&sum, launches);
    nvt_map_free(&sum.seen);
    nvt_map_free(&sum.keys);
    free(sum.table);
    free(sum.number);
    nvt_kinds_free(&sum.kinds);
    return status;
}
