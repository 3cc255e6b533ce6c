/*
 * nvtx_gpu_proj_trace: every range that has device operations, in the order in which it starts on
 * the devices, with nsys's columns (Nsight Systems Analysis Guide; analyze/device/project.h). Ids, levels
 * and stacks are those of nvtx_pushpop_trace; children are the ones that have operations themselves. A table a trace: each has its own time axis.
 */
#include <stdlib.h>

#include "../model/nesting.h"
#include "../device/project.h"
#include "report.h"
#include "../model/sort.h"
#include "../model/style_name.h"

struct projection {
    const struct nvt_trace *trace;
    struct nvt_projected *ranges;
    uint32_t *children;
    struct nvt_nesting nesting;
    struct nvt_buffer name, stack; /* of the range that is put */
};

/* "domain:name". 0, or -1 when out of memory. */
static int name_range(struct projection *projection, uint32_t i)
{
    const struct nvt_trace *trace = projection->trace;
    projection->name.size = 0;
    return nvt_buffer_printf(&projection->name, "%s:%s",
                             nvt_domain_name(trace, trace->ranges.domain[i]),
                             nvt_name(trace, trace->ranges.name[i])) ||
           nvt_buffer_append(&projection->name, "", 1);
}

static int put_nvtx_gpu_trace_range(struct nvt_table *table, struct projection *projection,
                                    uint32_t i)
{
    const struct nvt_trace *trace = projection->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_projected *projected = &projection->ranges[i];
    const struct nvt_nesting *nesting = &projection->nesting;
    uint32_t thread = ranges->thread[i], parent = nesting->parent[i];
    if (name_range(projection, i) || nvt_nesting_stack(nesting, i, &projection->stack))
        return -1;
    nvt_table_put(table, (const char *)projection->name.data, projected->start,
                  projected->end - projected->start, ranges->start[i],
                  ranges->end[i] - ranges->start[i], nvt_style_name(ranges->style[i]),
                  trace->processes.pid[trace->threads.process[thread]], trace->threads.tid[thread],
                  projected->ops, nesting->level[i], projection->children[i], (int64_t)i + 1,
                  NVT_IF(parent != NVT_NONE, (int64_t)parent + 1),
                  (const char *)projection->stack.data);
    return 0;
}

static int put_nvtx_gpu_trace(struct nvt_table *table, struct projection *projection)
{
    uint32_t count = projection->trace->ranges.count, *order = NULL;
    int64_t *starts = malloc(((size_t)count + 1) * sizeof(*starts));
    if (!starts)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        starts[i] = projection->ranges[i].ops ? projection->ranges[i].start : INT64_MAX;
    int status = nvt_sort_order(starts, NULL, count, &order);
    for (uint32_t i = 0; i < count && !status; i++) {
        uint32_t range = order ? order[i] : i;
        if (projection->ranges[range].ops)
            status = put_nvtx_gpu_trace_range(table, projection, range);
    }
    free(order);
    free(starts);
    return status;
}

static int put_nvtx_gpu_trace_rows(struct nvt_table *table, const struct nvt_trace *trace,
                                   const struct nvt_making *making)
{
    struct projection projection = {.trace = trace};
    projection.ranges = nvt_project_ranges(trace, making->input->project_flags, making->err);
    int status = projection.ranges ? nvt_nesting_make(&projection.nesting, trace, making->err) : -1;
    if (!status && !(projection.children = nvt_projected_children(
                         trace, projection.ranges, projection.nesting.parent, making->err)))
        status = -1;
    if (!status)
        status = put_nvtx_gpu_trace(table, &projection);
    nvt_nesting_free(&projection.nesting);
    nvt_buffer_free(&projection.name);
    nvt_buffer_free(&projection.stack);
    free(projection.ranges);
    free(projection.children);
    return status;
}

const struct nvt_report nvt_report_nvtx_gpu_proj_trace = {
    .name = "nvtx_gpu_proj_trace",
    .about = "every range with device operations, from its first to its last device operation",
    .needs = NVT_PROJECTS_AS_NSYS,
    .columns = {{"Name", NVT_NAMES},
                {"Projected Start (ns)", NVT_MOMENTS_NS},
                {"Projected Duration (ns)", NVT_NS},
                {"Orig Start (ns)", NVT_MOMENTS_NS},
                {"Orig Duration (ns)", NVT_NS},
                {"Style", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"NumGPUOps", NVT_COUNTS},
                {"Lvl", NVT_COUNTS},
                {"NumChild", NVT_COUNTS},
                {"RangeId", NVT_SPARE_IDS},
                {"ParentId", NVT_SPARE_IDS},
                {"RangeStack", NVT_NAMES}},
    .title = "NVTX GPU projection trace: spans from first to last operation",
    .each_trace = put_nvtx_gpu_trace_rows,
};
