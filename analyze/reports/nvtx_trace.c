/*
 * nvtx_pushpop_trace: every push/pop range in the order of its start, with nsys's columns and,
 * behind them, what NVTX attaches to a range. Nesting is that of the thread, across domains, as in
 * nsys (analyze/model/nesting.h). A range that never ended is shown up to what is last on record of its
 * thread, with true under Unfinished.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../model/nesting.h"
#include "report.h"

enum {
    START,
    END,
    DURATION,
    DUR_CHILD,
    DUR_NON_CHILD,
    NAME,
    PID,
    TID,
    LEVEL,
    CHILDREN,
    RANGE_ID,
    PARENT_ID,
    STACK,
    TREE,
    DOMAIN,
    CATEGORY,
    COLOR,
    PAYLOAD,
    UNFINISHED
};

static const struct nvt_column_spec columns[] = {
    [START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [END] = {"End (ns)", "ns", NVT_INT, 0, 0},
    [DURATION] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [DUR_CHILD] = {"DurChild (ns)", "ns", NVT_INT, 0, 0},
    [DUR_NON_CHILD] = {"DurNonChild (ns)", "ns", NVT_INT, 0, 0},
    [NAME] = {"Name", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [TID] = {"TID", "", NVT_INT, 0, NVT_PLAIN},
    [LEVEL] = {"Lvl", "", NVT_INT, 0, 0},
    [CHILDREN] = {"NumChild", "", NVT_INT, 0, 0},
    [RANGE_ID] = {"RangeId", "", NVT_INT, 0, NVT_PLAIN},
    [PARENT_ID] = {"ParentId", "", NVT_INT, 0, NVT_PLAIN},
    [STACK] = {"RangeStack", "", NVT_TEXT, 0, 0},
    [TREE] = {"NameTree", "", NVT_TEXT, 0, 0},
    [DOMAIN] = {"Domain", "", NVT_TEXT, 0, 0},
    [CATEGORY] = {"Category", "", NVT_TEXT, 0, 0},
    [COLOR] = {"Color", "", NVT_TEXT, 0, 0},
    [PAYLOAD] = {"Payload", "", NVT_TEXT, 0, 0},
    [UNFINISHED] = {"Unfinished", "", NVT_BOOL, 0, 0},
};

static int put_name(struct nvt_buffer *text, uint32_t level, const char *domain, const char *name)
{
    int failed = 0;
    text->size = 0;
    for (uint32_t i = 0; i < level && i < NVT_NESTING_DEPTH && !failed; i++)
        failed = nvt_buffer_append(text, "--", 2);
    return failed || nvt_buffer_printf(text, "%s:%s", domain, name) ||
           nvt_buffer_append(text, "", 1);
}

static void put_attributes(struct nvt_table *table, size_t row, const struct nvt_trace *trace,
                           uint32_t range, const char *domain)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    char color[16];
    nvt_table_set_name(table, row, DOMAIN, domain);
    if (ranges->category[range])
        nvt_table_set_text(table, row, CATEGORY, nvt_name(trace, ranges->category[range]));
    snprintf(color, sizeof(color), "#%08" PRIX32, ranges->color[range]);
    if (ranges->flags[range] & NVT_RANGE_HAS_COLOR)
        nvt_table_set_text(table, row, COLOR, color);
    if (ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD)
        nvt_table_set_text(table, row, PAYLOAD, nvt_name(trace, ranges->payload[range]));
    if (ranges->flags[range] & NVT_RANGE_UNCLOSED)
        nvt_table_set_bool(table, row, UNFINISHED, 1);
}

static int put_range(struct nvt_table *table, const struct nvt_trace *trace,
                     const struct nvt_nesting *tree, uint32_t i, struct nvt_buffer *text)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t duration = ranges->end[i] - ranges->start[i];
    uint32_t thread = ranges->thread[i];
    const char *domain = nvt_domain_name(trace, ranges->domain[i]);
    const char *name = nvt_name(trace, ranges->name[i]);
    size_t row = nvt_table_add_row(table);
    nvt_table_set_int(table, row, START, ranges->start[i]);
    nvt_table_set_int(table, row, END, ranges->end[i]);
    nvt_table_set_int(table, row, DURATION, duration);
    nvt_table_set_int(table, row, DUR_CHILD, tree->children_ns[i]);
    nvt_table_set_int(table, row, DUR_NON_CHILD, duration - tree->children_ns[i]);
    nvt_table_set_int(table, row, PID, trace->processes.pid[trace->threads.process[thread]]);
    nvt_table_set_int(table, row, TID, trace->threads.tid[thread]);
    nvt_table_set_int(table, row, LEVEL, tree->level[i]);
    nvt_table_set_int(table, row, CHILDREN, tree->children[i]);
    nvt_table_set_int(table, row, RANGE_ID, (int64_t)i + 1);
    if (tree->parent[i] != NVT_NONE)
        nvt_table_set_int(table, row, PARENT_ID, (int64_t)tree->parent[i] + 1);
    if (put_name(text, 0, domain, name))
        return -1;
    nvt_table_set_text(table, row, NAME, (const char *)text->data);
    if (put_name(text, tree->level[i], domain, name))
        return -1;
    nvt_table_set_text(table, row, TREE, (const char *)text->data);
    if (nvt_nesting_stack(tree, i, text))
        return -1;
    nvt_table_set_text(table, row, STACK, (const char *)text->data);
    put_attributes(table, row, trace, i, domain);
    return 0;
}

static int put_trace(struct nvt_table *table, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_nesting tree = {0};
    struct nvt_buffer text = {0};
    int status = nvt_nesting_make(&tree, trace, err);
    for (uint32_t i = 0; !status && i < trace->ranges.count; i++)
        if (trace->ranges.style[i] == NVT_PUSH_POP && put_range(table, trace, &tree, i, &text))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_buffer_free(&text);
    nvt_nesting_free(&tree);
    return status;
}

/* A table a trace: each has its own time axis and ids. */
static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        struct nvt_table *table = nvt_report_trace_table(&nvt_report_nvtx_pushpop_trace, input,
                                                         trace, "NVTX push/pop range trace", err);
        if (!table)
            return -1;
        if (put_trace(table, trace, err)) {
            nvt_table_free(table);
            return -1;
        }
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    return 0;
}

const struct nvt_report nvt_report_nvtx_pushpop_trace = {
    .name = "nvtx_pushpop_trace",
    .about = "every push/pop range: times, nesting, thread, category, colour, payload",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_COMPENSATED,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
