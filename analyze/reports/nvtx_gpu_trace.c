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

enum { NAME, START, DURATION, ORIGINAL_START, ORIGINAL_DURATION, STYLE, PID, TID, OPS };
enum { LEVEL = OPS + 1, CHILDREN, RANGE_ID, PARENT_ID, STACK };

static const struct nvt_column_spec columns[] = {
    [NAME] = {"Name", "", NVT_TEXT, 0, 0},
    [START] = {"Projected Start (ns)", "ns", NVT_INT, 0, 0},
    [DURATION] = {"Projected Duration (ns)", "ns", NVT_INT, 0, 0},
    [ORIGINAL_START] = {"Orig Start (ns)", "ns", NVT_INT, 0, 0},
    [ORIGINAL_DURATION] = {"Orig Duration (ns)", "ns", NVT_INT, 0, 0},
    [STYLE] = {"Style", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [OPS] = {"NumGPUOps", "", NVT_INT, 0, 0},
    [LEVEL] = {"Lvl", "", NVT_INT, 0, 0},
    [CHILDREN] = {"NumChild", "", NVT_INT, 0, 0},
    [RANGE_ID] = {"RangeId", "", NVT_INT, 0, NVT_PLAIN},
    [PARENT_ID] = {"ParentId", "", NVT_INT, 0, NVT_PLAIN},
    [STACK] = {"RangeStack", "", NVT_TEXT, 0, 0},
};

struct projection {
    const struct nvt_trace *trace;
    struct nvt_projected *ranges;
    uint32_t *children;
    struct nvt_nesting nesting;
    struct nvt_buffer text;
};

static int put_name(struct nvt_table *table, size_t row, struct projection *projection, uint32_t i)
{
    const struct nvt_trace *trace = projection->trace;
    projection->text.size = 0;
    if (nvt_buffer_printf(&projection->text, "%s:%s",
                          nvt_domain_name(trace, trace->ranges.domain[i]),
                          nvt_name(trace, trace->ranges.name[i])) ||
        nvt_buffer_append(&projection->text, "", 1))
        return -1;
    nvt_table_set_text(table, row, NAME, (const char *)projection->text.data);
    return 0;
}

static int put_range(struct nvt_table *table, struct projection *projection, uint32_t i)
{
    const struct nvt_trace *trace = projection->trace;
    const struct nvt_projected *projected = &projection->ranges[i];
    const struct nvt_nesting *nesting = &projection->nesting;
    uint32_t thread = trace->ranges.thread[i];
    size_t row = nvt_table_add_row(table);
    if (put_name(table, row, projection, i))
        return -1;
    nvt_table_set_int(table, row, START, projected->start);
    nvt_table_set_int(table, row, DURATION, projected->end - projected->start);
    nvt_table_set_int(table, row, ORIGINAL_START, trace->ranges.start[i]);
    nvt_table_set_int(table, row, ORIGINAL_DURATION, trace->ranges.end[i] - trace->ranges.start[i]);
    nvt_table_set_text(table, row, STYLE,
                       trace->ranges.style[i] == NVT_PUSH_POP ? "PushPop" : "StartEnd");
    nvt_table_set_int(table, row, PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, TID, trace->threads.tid[thread]);
    nvt_table_set_int(table, row, OPS, projected->ops);
    nvt_table_set_int(table, row, LEVEL, nesting->level[i]);
    nvt_table_set_int(table, row, CHILDREN, projection->children[i]);
    nvt_table_set_int(table, row, RANGE_ID, (int64_t)i + 1);
    if (nesting->parent[i] != NVT_NONE)
        nvt_table_set_int(table, row, PARENT_ID, (int64_t)nesting->parent[i] + 1);
    if (nvt_nesting_stack(nesting, i, &projection->text))
        return -1;
    nvt_table_set_text(table, row, STACK, (const char *)projection->text.data);
    return 0;
}

static int put_all(struct nvt_table *table, struct projection *projection)
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
            status = put_range(table, projection, range);
    }
    free(order);
    free(starts);
    return status;
}

static struct nvt_table *make_one(struct nvt_input *input, const struct nvt_trace *trace,
                                  struct nvt_error *err)
{
    struct projection projection = {.trace = trace};
    struct nvt_table *table = nvt_report_trace_table(&nvt_report_nvtx_gpu_proj_trace, input, trace,
                                                     "NVTX GPU projection trace", err);
    if (table)
        projection.ranges = nvt_project_ranges(trace, input->project_flags, err);
    int status = projection.ranges ? nvt_nesting_make(&projection.nesting, trace, err) : -1;
    if (!status && !(projection.children = nvt_projected_children(trace, projection.ranges,
                                                                  projection.nesting.parent, err)))
        status = -1;
    if (!status && put_all(table, &projection))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_nesting_free(&projection.nesting);
    nvt_buffer_free(&projection.text);
    free(projection.ranges);
    free(projection.children);
    if (!status)
        return table;
    nvt_table_free(table);
    return NULL;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        struct nvt_table *table = make_one(input, input->traces[i].trace, err);
        if (!table || nvt_report_add(tables, table, err))
            return -1;
    }
    return 0;
}

const struct nvt_report nvt_report_nvtx_gpu_proj_trace = {
    .name = "nvtx_gpu_proj_trace",
    .about = "every range with device operations, from its first to its last device operation",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
