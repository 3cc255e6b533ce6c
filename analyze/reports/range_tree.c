/*
 * range_tree: ranges as a tree of names, what they took on the host and on the devices, with and
 * without what lies deeper (studies/range_tree.h). A row is a path of names.
 *
 * Host (%) is Host Total over the time in outermost push/pop ranges of those threads that have a range of
 * the row, all of these threads added up. So a thread's outermost ranges come to 100 %, and one that loads
 * data all the time beside another makes no share of that one's smaller. Start/end ranges have none: they may
 * lie beside each other, around a thread's other ranges and end elsewhere, and are parts of no whole.
 *
 * The columns of devices come last, and are left out where no device operation is on record.
 */
#include <math.h>
#include <stdlib.h>

#include "../device/project.h"
#include "../model/nesting.h"
#include "../model/style_name.h"
#include "../studies/range_tree.h"
#include "report.h"

/* 0, or -1 when there is no memory for its name; what the table has none for, that tells itself. */
static int put_node(struct nvt_table *table, const struct nvt_range_tree *tree,
                    const struct nvt_range_node *node, struct nvt_buffer *text)
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

static int put_nodes(struct nvt_table *table, const struct nvt_range_tree *tree)
{
    struct nvt_buffer text = {0};
    uint32_t *order = nvt_range_tree_order(tree);
    int status = order ? 0 : -1;
    for (uint32_t i = 0; i < tree->count && !status; i++)
        status = put_node(table, tree, &tree->nodes[order[i]], &text);
    nvt_buffer_free(&text);
    free(order);
    return status;
}

static int put_range_tree(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_input *input = making->input;
    struct nvt_range_tree tree = {.count = 0};
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = nvt_range_tree_add(&tree, input->traces[i].trace, nvt_input_projection(input),
                                    making->err);
    if (tree.has_ops)
        nvt_making_title(making, "Range tree, host and device time");
    else
        nvt_table_drop(table, "Device Busy (ns)", 5);
    if (!status)
        status = put_nodes(table, &tree);
    nvt_range_tree_free(&tree);
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
    .of_input = put_range_tree,
};
