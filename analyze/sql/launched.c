#include "launched.h"

#include <string.h>

#include "../device/project.h"

#define EXACT (UINT64_C(1) << 53)

static int is_name(const struct nvt_shown_table *table, uint32_t column)
{
    return column == nvt_shown_find(table, "name");
}

int nvt_launched_can(const struct nvt_partial *what)
{
    int can = what->table->number == NVT_TABLE_ops && what->kind == NVT_OP_KERNEL;
    for (uint32_t i = 0; i < what->key_count; i++) {
        const enum nvt_shown_kind kind = what->table->columns[what->keys[i]].kind;
        can = can && (kind == NVT_SHOWN_FILE || kind == NVT_SHOWN_RANGE_NAME ||
                      is_name(what->table, what->keys[i]));
    }
    for (uint32_t i = 0; i < what->sum_count; i++)
        can = can && what->table->columns[what->sums[i]].kind == NVT_SHOWN_DURATION;
    return can;
}

/* Whether one of these ranges, or of those around them, is the program's. */
static int is_own(const struct nvt_trace *trace, const struct nvt_launches *launches,
                  const struct nvt_launch_lane *lane, uint32_t of)
{
    for (uint32_t class = of; class; class = lane->classes[class].outer) {
        const struct nvt_lane_kind kind = nvt_launch_kind(launches, &lane->classes[class]);
        if (!nvt_is_operator_of(trace, kind.domain, kind.name))
            return 1;
    }
    return 0;
}

/* A cell as a group. 0, or 1: it does not fit. */
static int add_cell(struct nvt_partial_groups *groups, const struct nvt_partial *what,
                    const struct nvt_partial_group *fresh, const struct nvt_piece *piece)
{
    if (groups->count == NVT_PARTIAL_GROUPS_MOST || piece->sums.sum >= EXACT)
        return 1;
    struct nvt_partial_group *group = &groups->items[groups->count++];
    *group = *fresh;
    group->rows = (int64_t)piece->count;
    for (uint32_t i = 0; i < what->sum_count; i++)
        group->sums[i] = (struct nvt_partial_sum){(int64_t)piece->count, (int64_t)piece->sums.sum,
                                                  piece->sums.low, piece->sums.high};
    return 0;
}

/* The kernels of a class, by their names. */
static int add_class(struct nvt_partial_groups *groups, const struct nvt_partial *what,
                     const struct nvt_trace *trace, const struct nvt_launches *launches,
                     const struct nvt_launch_lane *lane, uint32_t class, size_t part)
{
    struct nvt_partial_group fresh = {.part = part, .in_range = NVT_NONE};
    int has_kernels = 0;
    if (class)
        fresh.in_range = nvt_launch_kind(launches, &lane->classes[class]).name;
    for (uint32_t number = 0; number < launches->names; number++) {
        const struct nvt_launch_cell *cell =
            &lane->cells[(size_t) class * launches->names + number];
        if (!cell->times.count)
            continue;
        const struct nvt_piece piece = nvt_launch_cell_piece(lane, cell);
        has_kernels = 1;
        fresh.name = launches->name[number];
        if (add_cell(groups, what, &fresh, &piece))
            return 1;
    }
    /* What others may wait for, where there are others. */
    return has_kernels && trace->threads.count > 1 && !is_own(trace, launches, lane, class);
}

int nvt_launched_add(const struct nvt_model *model, const struct nvt_partial *what, size_t part,
                     struct nvt_partial_groups *groups)
{
    const struct nvt_input_trace *from = &model->input->traces[part];
    int status = 0;
    for (uint32_t i = 0; i < from->launches->lane_count && !status; i++) {
        const struct nvt_launch_lane *lane = &from->launches->lanes[i];
        for (uint32_t class = 0; class < lane->class_count && !status; class ++)
            status = add_class(groups, what, from->trace, from->launches, lane, class, part);
    }
    return status;
}
