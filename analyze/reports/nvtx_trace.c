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

/* "----domain:name" of a range two levels deep; *name gets where "domain:name" begins. NULL when out of memory. */
static const char *tree_name(struct nvt_buffer *text, uint32_t level, const char *domain,
                             const char *range, const char **name)
{
    int failed = 0;
    text->size = 0;
    for (uint32_t i = 0; i < level && i < NVT_NESTING_DEPTH && !failed; i++)
        failed = nvt_buffer_append(text, "--", 2);
    size_t indent = text->size;
    if (failed || nvt_buffer_printf(text, "%s:%s", domain, range) || nvt_buffer_append(text, "", 1))
        return NULL;
    *name = (const char *)text->data + indent;
    return (const char *)text->data;
}

static int put_nvtx_trace_range(struct nvt_table *table, const struct nvt_trace *trace,
                                const struct nvt_nesting *tree, uint32_t i,
                                struct nvt_buffer texts[2])
{
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t duration = ranges->end[i] - ranges->start[i];
    uint32_t thread = ranges->thread[i];
    const char *domain = nvt_domain_name(trace, ranges->domain[i]);
    const char *name, *in_tree = tree_name(&texts[0], tree->level[i], domain,
                                           nvt_name(trace, ranges->name[i]), &name);
    char color[16];
    if (!in_tree || nvt_nesting_stack(tree, i, &texts[1]))
        return -1;
    snprintf(color, sizeof(color), "#%08" PRIX32, ranges->color[i]);
    nvt_table_put(
        table, ranges->start[i], ranges->end[i], duration, tree->children_ns[i],
        duration - tree->children_ns[i], name, trace->processes.pid[trace->threads.process[thread]],
        trace->threads.tid[thread], tree->level[i], tree->children[i], (int64_t)i + 1,
        NVT_IF(tree->parent[i] != NVT_NONE, (int64_t)tree->parent[i] + 1),
        (const char *)texts[1].data, in_tree, nvt_text_if_any(domain),
        NVT_IF(ranges->category[i], nvt_name(trace, ranges->category[i])),
        NVT_IF(ranges->flags[i] & NVT_RANGE_HAS_COLOR, color),
        NVT_IF(ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD, nvt_name(trace, ranges->payload[i])),
        NVT_IF(ranges->flags[i] & NVT_RANGE_UNCLOSED, 1));
    return 0;
}

/* A table a trace: each has its own time axis and ids. */
static int put_nvtx_trace(struct nvt_table *table, const struct nvt_trace *trace,
                          const struct nvt_making *making)
{
    struct nvt_nesting tree = {0};
    struct nvt_buffer texts[2] = {{0}, {0}};
    int status = nvt_nesting_make(&tree, trace, making->err);
    for (uint32_t i = 0; !status && i < trace->ranges.count; i++)
        if (trace->ranges.style[i] == NVT_PUSH_POP)
            status = put_nvtx_trace_range(table, trace, &tree, i, texts);
    nvt_buffer_free(&texts[0]);
    nvt_buffer_free(&texts[1]);
    nvt_nesting_free(&tree);
    return status;
}

const struct nvt_report nvt_report_nvtx_pushpop_trace = {
    .name = "nvtx_pushpop_trace",
    .about = "every push/pop range: times, nesting, thread, category, colour, payload",
    .needs = NVT_TAKES_COMPENSATED,
    .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                {"End (ns)", NVT_MOMENTS_NS},
                {"Duration (ns)", NVT_NS},
                {"DurChild (ns)", NVT_NS},
                {"DurNonChild (ns)", NVT_NS},
                {"Name", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"TID", NVT_SPARE_IDS},
                {"Lvl", NVT_COUNTS},
                {"NumChild", NVT_COUNTS},
                {"RangeId", NVT_SPARE_IDS},
                {"ParentId", NVT_SPARE_IDS},
                {"RangeStack", NVT_NAMES},
                {"NameTree", NVT_NAMES},
                {"Domain", NVT_NAMES},
                {"Category", NVT_NAMES},
                {"Color", NVT_NAMES},
                {"Payload", NVT_NAMES},
                {"Unfinished", "", NVT_BOOL, 0, 0}},
    .title = "NVTX push/pop range trace",
    .each_trace = put_nvtx_trace,
};
