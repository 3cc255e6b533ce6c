/*
 * nvtx_gpu_proj_sum: what the ranges did on the devices, with nsys's headings and definitions
 * (Nsight Systems Analysis Guide; analyze/device/project.h), over all traces.
 *
 * Only ranges with operations count, as children too. Levels and children are those of the thread,
 * across domains (analyze/model/nesting.h).
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../model/groups.h"
#include "../model/kinds.h"
#include "../model/nesting.h"
#include "../device/project.h"
#include "report.h"
#include "../device/launch_cache.h"

static const char *style_name(uint32_t style)
{
    return style == NVT_PUSH_POP ? "PushPop" : "StartEnd";
}

enum { P_RANGE, P_STYLE, P_TOTAL, P_ORIGINAL, P_INSTANCES, P_AVG, P_OPS = P_AVG + 5, P_AVG_OPS };
enum { P_LEVEL = P_AVG_OPS + 1, P_CHILDREN };

static const struct nvt_column_spec projected_columns[] = {
    {"Range", "", NVT_TEXT, 0, 0},
    {"Style", "", NVT_TEXT, 0, 0},
    {"Total Proj Time (ns)", "ns", NVT_INT, 0, 0},
    {"Total Range Time (ns)", "ns", NVT_INT, 0, 0},
    {"Range Instances", "", NVT_INT, 0, 0},
    {"Proj Avg (ns)", "ns", NVT_REAL, 1, 0},
    {"Proj Med (ns)", "ns", NVT_REAL, 1, 0},
    {"Proj Min (ns)", "ns", NVT_INT, 0, 0},
    {"Proj Max (ns)", "ns", NVT_INT, 0, 0},
    {"Proj StdDev (ns)", "ns", NVT_REAL, 1, 0},
    {"Total GPU Ops", "", NVT_INT, 0, 0},
    {"Avg GPU Ops", "", NVT_REAL, 1, 0},
    {"Avg Range Lvl", "", NVT_REAL, 1, 0},
    {"Avg Num Child", "", NVT_REAL, 1, 0}};

/* What groups do not hold. */
struct extra {
    int64_t original;
    uint64_t ops, levels, children;
};

struct projected_sum {
    struct nvt_groups groups;
    struct extra *extra; /* of every group */
    uint32_t capacity;
    struct nvt_own_launches own;
};

static struct extra *extra_of(struct projected_sum *sum, uint32_t group)
{
    if (group == NVT_NONE)
        return NULL;
    if (group >= sum->capacity) {
        uint32_t capacity = (group + 1) * 2;
        struct extra *extra = realloc(sum->extra, capacity * sizeof(*extra));
        if (!extra)
            return NULL;
        for (uint32_t i = sum->capacity; i < capacity; i++)
            extra[i] = (struct extra){0, 0, 0, 0};
        sum->extra = extra;
        sum->capacity = capacity;
    }
    return &sum->extra[group];
}

/* *group is that of the range's kind, NVT_NONE until it is known. */
static int add_range(struct projected_sum *sum, const struct nvt_trace *trace, uint32_t range,
                     uint32_t *group, const struct nvt_projected *projected, uint32_t level,
                     uint32_t children)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (*group == NVT_NONE) {
        uint32_t parts[] = {nvt_groups_range(&sum->groups, range),
                            ranges->style[range] != NVT_PUSH_POP};
        *group = nvt_groups_key(&sum->groups, parts, 2);
    }
    struct extra *extra = extra_of(sum, *group);
    if (!extra)
        return -1;
    nvt_groups_add(&sum->groups, *group, projected->end - projected->start);
    extra->original = nvt_clock_sum(extra->original, ranges->end[range] - ranges->start[range]);
    extra->ops += projected->ops;
    extra->levels += level;
    extra->children += children;
    return 0;
}

/* What the ranges of a class add up to. */
static int add_class(struct projected_sum *sum, const struct nvt_launches *launches,
                     const struct nvt_launch_class *class)
{
    struct nvt_lane_kind kind = nvt_launch_kind(launches, class);
    uint32_t parts[] = {nvt_groups_named(&sum->groups, kind.domain, kind.name),
                        kind.style != NVT_PUSH_POP};
    uint32_t group = nvt_groups_key(&sum->groups, parts, 2);
    struct extra *extra = extra_of(sum, group);
    if (!extra)
        return -1;
    const struct nvt_piece piece = nvt_launch_class_piece(class);
    nvt_groups_piece(&sum->groups, group, &piece);
    for (uint32_t i = 0; i < class->longer_count; i++)
        nvt_groups_add(&sum->groups, group, class->longer[i]);
    extra->original = nvt_clock_sum(extra->original, class->original);
    extra->ops += class->ops;
    extra->levels += class->levels;
    extra->children += class->children;
    return 0;
}

static int add_launches(struct projected_sum *sum, const struct nvt_trace *trace,
                        const struct nvt_launches *launches)
{
    int status = 0;
    nvt_groups_trace(&sum->groups, trace);
    for (uint32_t i = 0; i < launches->lane_count; i++)
        for (uint32_t class = 1; class < launches->lanes[i].class_count && !status; class ++)
            status = add_class(sum, launches, &launches->lanes[i].classes[class]);
    return status;
}

static int collect_projected(struct projected_sum *sum, const struct nvt_trace *trace,
                             unsigned flags, struct nvt_error *err)
{
    struct nvt_nesting nesting = {0};
    struct nvt_kinds kinds = {0};
    uint32_t *groups = NULL, *children = NULL;
    struct nvt_projected *projected = nvt_project_ranges(trace, flags, err);
    int status = projected ? nvt_nesting_make(&nesting, trace, err) : -1;
    if (!status && !(children = nvt_projected_children(trace, projected, nesting.parent, err)))
        status = -1;
    if (!status && (nvt_kinds_make(&kinds, trace, 0) ||
                    !(groups = malloc(((size_t)kinds.count + 1) * sizeof(*groups)))))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_groups_trace(&sum->groups, trace);
    if (groups)
        memset(groups, 0xff, kinds.count * sizeof(*groups));
    for (uint32_t i = 0; !status && i < trace->ranges.count; i++)
        if (projected[i].ops && add_range(sum, trace, i, &groups[kinds.of[i]], &projected[i],
                                          nesting.level[i], children[i]))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_nesting_free(&nesting);
    nvt_kinds_free(&kinds);
    free(groups);
    free(children);
    free(projected);
    return status;
}

static int collect(struct projected_sum *sum, struct nvt_input *input, size_t i,
                   struct nvt_error *err)
{
    const struct nvt_trace *trace = input->traces[i].trace;
    const struct nvt_launches *launches;
    int status = nvt_input_launches(input, i, &sum->own, &launches, err);
    if (status > 0)
        return collect_projected(sum, trace, input->project_flags, err);
    if (!status && add_launches(sum, trace, launches))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    return status;
}

static void fill_projected(struct nvt_table *table, struct projected_sum *sum)
{
    for (uint32_t i = 0; i < sum->groups.count; i++) {
        const struct nvt_group *group = &sum->groups.groups[i];
        const struct extra *extra = &sum->extra[i];
        struct nvt_summary summary = nvt_groups_summary(&sum->groups, i);
        double count = (double)group->count;
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, P_RANGE, nvt_groups_name(&sum->groups, group->key[0]));
        nvt_table_set_text(table, row, P_STYLE, style_name(group->key[1]));
        nvt_table_set_int(table, row, P_TOTAL, group->total);
        nvt_table_set_int(table, row, P_ORIGINAL, extra->original);
        nvt_table_set_int(table, row, P_INSTANCES, (int64_t)group->count);
        nvt_put_summary(table, row, P_AVG, &summary, 1);
        nvt_table_set_int(table, row, P_OPS, (int64_t)extra->ops);
        nvt_table_set_real(table, row, P_AVG_OPS, (double)extra->ops / count);
        nvt_table_set_real(table, row, P_LEVEL, (double)extra->levels / count);
        nvt_table_set_real(table, row, P_CHILDREN, (double)extra->children / count);
    }
    nvt_table_sort(table, P_RANGE, 0);
    nvt_table_sort(table, P_TOTAL, 1);
}

static int make_projected(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct projected_sum sum = {0};
    struct nvt_table *table = NULL;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = collect(&sum, input, i, err);
    if (!status)
        status = nvt_groups_finish(&sum.groups, err);
    if (!status) {
        table = nvt_report_table(&nvt_report_nvtx_gpu_proj_sum, input,
                                 "NVTX GPU projection summary", err);
        status = table ? 0 : -1;
    }
    if (!status) {
        fill_projected(table, &sum);
        if (!sum.groups.count)
            nvt_note(input, "note: no ranges with device operations in the input");
        status = nvt_report_add(tables, table, err);
    }
    nvt_groups_free(&sum.groups);
    nvt_own_launches_free(&sum.own);
    free(sum.extra);
    return status;
}

const struct nvt_report nvt_report_nvtx_gpu_proj_sum = {
    .name = "nvtx_gpu_proj_sum",
    .about = "ranges by the time from their first to their last device operation",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_LAUNCHES,
    .columns = projected_columns,
    .column_count = sizeof(projected_columns) / sizeof(projected_columns[0]),
    .make = make_projected,
};
