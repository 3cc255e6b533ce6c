/*
 * memory_at_peak: what memory was in use for at its peak, by the ranges that allocated it, as a tree (stacks.h).
 *
 * The outermost rows are the memory of a device as a process takes it, and of the host, each at its own peak, the first
 * moment at which most is allocated. In Use is what was allocated in a range, or in one within it, and not freed until
 * then; Own that of no deeper range. Share is that of the outermost row. Functions of Python's stack are left out, where
 * there are other ranges.
 */
#include <stdlib.h>

#include "../model/nesting.h"
#include "../studies/stacks.h"
#include "report.h"
#include "memory_tables.h"

#define MIB (1024.0 * 1024.0)

/* Allocations of a row and of all below it, which are higher ones. NULL when out of memory. */
static uint64_t *count_allocations(const struct nvt_stacks *stacks)
{
    uint64_t *counts = calloc((size_t)stacks->count + 1, sizeof(*counts));
    for (uint32_t i = counts ? stacks->count : 0; i-- > 0;) {
        counts[i] += stacks->items[i].count;
        if (stacks->items[i].parent != NVT_NONE)
            counts[stacks->items[i].parent] += counts[i];
    }
    return counts;
}

static int put_memory_at_peak_stacks(struct nvt_table *table, const struct nvt_stacks *stacks)
{
    struct nvt_buffer text = {0};
    uint64_t *counts = count_allocations(stacks);
    int status = counts ? 0 : -1;
    int64_t whole = 0;
    for (uint32_t i = 0; i < stacks->count && !status; i++) {
        const uint32_t row = stacks->order[i];
        const struct nvt_stack *stack = &stacks->items[row];
        whole = stack->depth ? whole : stack->total;
        status = nvt_nesting_indent(stack->depth, nvt_stacks_name(stacks, row), &text);
        if (!status)
            nvt_table_put(table, (const char *)text.data, (double)stack->total / MIB,
                          nvt_percent(stack->total, whole), (double)stack->self / MIB, counts[row],
                          NVT_IF(stack->at != INT64_MIN, stack->at), stack->depth);
    }
    nvt_buffer_free(&text);
    free(counts);
    return status;
}

static int put_memory_at_peak_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                    const struct nvt_making *making)
{
    struct nvt_stacks stacks = {0};
    int status =
        nvt_stacks_make(&stacks, trace, NVT_STACKS_MEMORY,
                        nvt_input_projection(making->input) | NVT_STACKS_NO_FUNCTIONS, making->err);
    if (!status)
        status = put_memory_at_peak_stacks(table, &stacks);
    nvt_stacks_free(&stacks);
    return status;
}

const struct nvt_report nvt_report_memory_at_peak = {
    .name = "memory_at_peak",
    .about = "memory in use at its peak, as a tree of the ranges that allocated it",
    .needs = NVT_PROJECTS,
    .columns = {{"Range", NVT_RANGES},
                {"In Use (MiB)", NVT_MIB},
                {"Share (%)", NVT_PERCENT},
                {"Own (MiB)", NVT_MIB},
                {"Allocations", NVT_COUNTS},
                {"At (ns)", NVT_MOMENTS_NS},
                {"Lvl", NVT_COUNTS}},
    .title = "Memory in use at its peak",
    .has = nvt_has_memory,
    .each_trace = put_memory_at_peak_trace,
    .make = nvt_memory_make,
};
