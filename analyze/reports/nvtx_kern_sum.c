/*
 * nvtx_kern_sum: kernels by the ranges that hold their launch, with nsys's headings and definitions
 * (Nsight Systems Analysis Guide; analyze/device/project.h), over all traces.
 *
 * A kernel counts for every range that holds its launch, so rows of nested ranges hold it several
 * times; "NVTX Inst" is in how many ranges of the name there was such a kernel. Kernels of no range
 * have a row without one.
 */
#include <stdlib.h>
#include <string.h>

#include "../model/groups.h"
#include "../model/kinds.h"
#include "../device/project.h"
#include "report.h"
#include "../device/kernel_naming.h"
#include "../device/launch_cache.h"

enum { KEY_RANGE, KEY_STYLE, KEY_PID, KEY_TID, KEY_KERNEL, KEY_COUNT };

/* Values of KEY_STYLE and of ids for kernels of no range and of no thread. */
#define NO_RANGE 2u
#define NO_ID    UINT32_MAX

/* What groups carry: ranges that were counted, and the number of the last of them and 1. */
struct counted {
    uint32_t instances, last;
};

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
    parts[KEY_PID] = parts[KEY_TID] = NO_ID;
    if (thread == NVT_NONE)
        return;
    parts[KEY_PID] = (uint32_t)trace->processes.pid[trace->threads.process[thread]];
    parts[KEY_TID] = (uint32_t)trace->threads.tid[thread];
}

/* Kernels of a name that a thread launched in ranges of a kind, NULL: in none. */
static uint32_t kernel_group(struct kernel_sum *sum, uint32_t name, uint32_t thread,
                             const struct nvt_lane_kind *kind)
{
    uint32_t parts[KEY_COUNT] = {[KEY_STYLE] = NO_RANGE};
    if (!kind)
        parts[KEY_RANGE] = nvt_groups_text(sum->groups, "");
    else {
        parts[KEY_RANGE] = nvt_groups_named(sum->groups, kind->domain, kind->name);
        parts[KEY_STYLE] = kind->style != NVT_PUSH_POP;
    }
    thread_ids(sum->trace, thread, parts);
    parts[KEY_KERNEL] = nvt_groups_string(sum->groups, name);
    return nvt_groups_key(sum->groups, parts, KEY_COUNT);
}

/*
 * Count a range once a group, however many kernels it holds. Launches come in the order of time: a
 * range that has ended does not come again, so only those that are still open have to be
 * remembered.
 */
static int count_range(struct kernel_sum *sum, uint32_t group, uint32_t range, int64_t launch)
{
    struct counted *counted = nvt_groups_item(sum->groups, group);
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
        ((struct counted *)nvt_groups_item(sum->groups, group))->last = 0;
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
        struct counted *counted = nvt_groups_item(sum->groups, group);
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

static int group_nvtx_kern_sum(struct nvt_groups *groups, const struct nvt_trace *trace,
                               const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    const int is_base = input->naming & NVT_KERNEL_BASE;
    const struct nvt_launches *launches;
    struct kernel_sum sum = {.groups = groups,
                             .trace = trace,
                             .op_names = is_base ? trace->ops.short_name : trace->ops.name};
    int status =
        input->naming ? 1 : nvt_input_launches(input, making->from, &launches, making->err);
    if (status > 0)
        status = add_projected(&sum, input->project_flags, making->err);
    else if (!status)
        status = add_launches(&sum, launches);
    nvt_map_free(&sum.seen);
    nvt_map_free(&sum.keys);
    free(sum.table);
    free(sum.number);
    nvt_kinds_free(&sum.kinds);
    return status;
}

static void put_nvtx_kern_sum_group(struct nvt_table *table, struct nvt_groups *groups,
                                    uint32_t number)
{
    const struct nvt_group *group = &groups->groups[number];
    const struct counted *counted = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const uint32_t *key = group->key;
    const int in_range = key[KEY_STYLE] != NO_RANGE, in_thread = key[KEY_PID] != NO_ID;
    nvt_table_put(table, NVT_IF(in_range, nvt_groups_name(groups, key[KEY_RANGE])),
                  NVT_IF(in_range, nvt_style_name(key[KEY_STYLE])),
                  NVT_IF(in_thread, (int32_t)key[KEY_PID]),
                  NVT_IF(in_thread, (int32_t)key[KEY_TID]), counted->instances, group->count,
                  group->total, &times, nvt_groups_name(groups, key[KEY_KERNEL]));
}

const struct nvt_report nvt_report_nvtx_kern_sum = {
    .name = "nvtx_kern_sum",
    .about = "kernels by the range that they were launched in",
    .needs = NVT_TAKES_LAUNCHES | NVT_PROJECTS_AS_NSYS,
    .naming = NVT_KERNEL_BASE,
    .columns = {{"NVTX Range", NVT_RANGES},
                {"Style", NVT_SPARE_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"NVTX Inst", NVT_COUNTS},
                {"Kern Inst", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                NVT_SUMMARY_COLUMNS(""),
                {"Kernel Name", NVT_KERNELS}},
    .title = "NVTX range kernel summary",
    .order = {"-Total Time (ns)", "NVTX Range", "Kernel Name", "PID", "TID"},
    .nothing = "no kernels in the input",
    .group = group_nvtx_kern_sum,
    .put_group = put_nvtx_kern_sum_group,
    .group_size = sizeof(struct counted),
};
