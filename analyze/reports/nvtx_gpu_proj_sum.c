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
#include "../model/style_name.h"
#include "../device/project.h"
#include "report.h"
#include "../device/launch_cache.h"

/* What groups carry. */
struct extra {
    int64_t original;
    uint64_t ops, levels, children;
};

/* *group is that of the range's kind, NVT_NONE until it is known. */
static int add_nvtx_gpu_proj_sum_range(struct nvt_groups *groups, const struct nvt_trace *trace,
                                       uint32_t range, uint32_t *group,
                                       const struct nvt_projected *projected, uint32_t level,
                                       uint32_t children)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (*group == NVT_NONE) {
        uint32_t parts[] = {nvt_groups_range(groups, range), ranges->style[range] != NVT_PUSH_POP};
        *group = nvt_groups_key(groups, parts, 2);
    }
    struct extra *extra = nvt_groups_item(groups, *group);
    if (!extra)
        return -1;
    nvt_groups_add(groups, *group, projected->end - projected->start);
    extra->original = nvt_clock_sum(extra->original, ranges->end[range] - ranges->start[range]);
    extra->ops += projected->ops;
    extra->levels += level;
    extra->children += children;
    return 0;
}

/* What the ranges of a class add up to. */
static int add_class(struct nvt_groups *groups, const struct nvt_launches *launches,
                     const struct nvt_launch_class *class)
{
    struct nvt_lane_kind kind = nvt_launch_kind(launches, class);
    uint32_t parts[] = {nvt_groups_named(groups, kind.domain, kind.name),
                        kind.style != NVT_PUSH_POP};
    uint32_t group = nvt_groups_key(groups, parts, 2);
    struct extra *extra = nvt_groups_item(groups, group);
    if (!extra)
        return -1;
    const struct nvt_piece piece = nvt_launch_class_piece(class);
    nvt_groups_piece(groups, group, &piece);
    for (uint32_t i = 0; i < class->longer_count; i++)
        nvt_groups_add(groups, group, class->longer[i]);
    extra->original = nvt_clock_sum(extra->original, class->original);
    extra->ops += class->ops;
    extra->levels += class->levels;
    extra->children += class->children;
    return 0;
}

static int add_launches(struct nvt_groups *groups, const struct nvt_launches *launches)
{
    int status = 0;
    for (uint32_t i = 0; i < launches->lane_count; i++)
        for (uint32_t class = 1; class < launches->lanes[i].class_count && !status; class ++)
            status = add_class(groups, launches, &launches->lanes[i].classes[class]);
    return status;
}

static int collect_projected(struct nvt_groups *groups, const struct nvt_trace *trace,
                             unsigned flags, struct nvt_error *err)
{
    struct nvt_nesting nesting = {0};
    struct nvt_kinds kinds = {0};
    uint32_t *of_kind = NULL, *children = NULL;
    struct nvt_projected *projected = nvt_project_ranges(trace, flags, err);
    int status = projected ? nvt_nesting_make(&nesting, trace, err) : -1;
    if (!status && !(children = nvt_projected_children(trace, projected, nesting.parent, err)))
        status = -1;
    if (!status && (nvt_kinds_make(&kinds, trace, 0) ||
                    !(of_kind = malloc(((size_t)kinds.count + 1) * sizeof(*of_kind)))))
        status = -1;
    if (of_kind)
        memset(of_kind, 0xff, kinds.count * sizeof(*of_kind));
    for (uint32_t i = 0; !status && i < trace->ranges.count; i++)
        if (projected[i].ops)
            status = add_nvtx_gpu_proj_sum_range(groups, trace, i, &of_kind[kinds.of[i]],
                                                 &projected[i], nesting.level[i], children[i]);
    nvt_nesting_free(&nesting);
    nvt_kinds_free(&kinds);
    free(of_kind);
    free(children);
    free(projected);
    return status;
}

static int group_nvtx_gpu_proj_sum(struct nvt_groups *groups, const struct nvt_trace *trace,
                                   const struct nvt_making *making)
{
    const struct nvt_launches *launches;
    int status = nvt_input_launches(making->input, making->from, &launches, making->err);
    if (status > 0)
        return collect_projected(groups, trace, making->input->project_flags, making->err);
    return status ? -1 : add_launches(groups, launches);
}

static void put_nvtx_gpu_proj_sum_group(struct nvt_table *table, struct nvt_groups *groups,
                                        uint32_t number)
{
    const struct nvt_group *group = &groups->groups[number];
    const struct extra *extra = nvt_groups_item(groups, number);
    const struct nvt_summary times = nvt_groups_summary(groups, number);
    const double count = (double)group->count;
    nvt_table_put(table, nvt_groups_part(groups, number, 0), nvt_style_name(group->key[1]),
                  group->total, extra->original, group->count, &times, extra->ops,
                  (double)extra->ops / count, (double)extra->levels / count,
                  (double)extra->children / count);
}

const struct nvt_report nvt_report_nvtx_gpu_proj_sum = {
    .name = "nvtx_gpu_proj_sum",
    .about = "ranges by the time from their first to their last device operation",
    .needs = NVT_TAKES_LAUNCHES | NVT_PROJECTS_AS_NSYS,
    .columns = {{"Range", NVT_RANGES},
                {"Style", NVT_SPARE_NAMES},
                {"Total Proj Time (ns)", NVT_NS},
                {"Total Range Time (ns)", NVT_NS},
                {"Range Instances", NVT_COUNTS},
                NVT_SUMMARY_COLUMNS("Proj "),
                {"Total GPU Ops", NVT_COUNTS},
                {"Avg GPU Ops", NVT_REALS("", 1)},
                {"Avg Range Lvl", NVT_REALS("", 1)},
                {"Avg Num Child", NVT_REALS("", 1)}},
    .title = "NVTX GPU projection summary: spans from first to last operation",
    .order = {"-Total Proj Time (ns)", "Range"},
    .nothing = "no ranges with device operations in the input",
    .group = group_nvtx_gpu_proj_sum,
    .put_group = put_nvtx_gpu_proj_sum_group,
    .group_size = sizeof(struct extra),
};
