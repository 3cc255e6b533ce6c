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

enum { RANGE, IN_USE, SHARE, OWN, ALLOCATIONS, AT, LEVEL };

static const struct nvt_column_spec columns[] = {
    [RANGE] = {"Range", "", NVT_TEXT, 0, 0},
    [IN_USE] = {"In Use (MiB)", "MiB", NVT_REAL, 2, 0},
    [SHARE] = {"Share (%)", "%", NVT_REAL, 1, 0},
    [OWN] = {"Own (MiB)", "MiB", NVT_REAL, 2, 0},
    [ALLOCATIONS] = {"Allocations", "", NVT_INT, 0, 0},
    [AT] = {"At (ns)", "ns", NVT_INT, 0, 0},
    [LEVEL] = {"Lvl", "", NVT_INT, 0, 0},
};

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

static int put_stacks(struct nvt_table *table, const struct nvt_stacks *stacks)
{
    struct nvt_buffer text = {0};
    uint64_t *counts = count_allocations(stacks);
    int status = counts ? 0 : -1;
    int64_t whole = 0;
    for (uint32_t i = 0; i < stacks->count && !status; i++) {
        const struct nvt_stack *stack = &stacks->items[stacks->order[i]];
        size_t row = nvt_table_add_row(table);
        whole = stack->depth ? whole : stack->total;
        status = nvt_nesting_indent(stack->depth, nvt_stacks_name(stacks, stacks->order[i]), &text);
        if (!status)
            nvt_table_set_text(table, row, RANGE, (const char *)text.data);
        nvt_table_set_real(table, row, IN_USE, (double)stack->total / MIB);
        if (whole > 0)
            nvt_table_set_real(table, row, SHARE, 100 * (double)stack->total / (double)whole);
        nvt_table_set_real(table, row, OWN, (double)stack->self / MIB);
        nvt_table_set_int(table, row, ALLOCATIONS, (int64_t)counts[stacks->order[i]]);
        if (stack->at != INT64_MIN)
            nvt_table_set_int(table, row, AT, stack->at);
        nvt_table_set_int(table, row, LEVEL, stack->depth);
    }
    nvt_buffer_free(&text);
    free(counts);
    return status;
}

static int fill(struct nvt_table *table, const struct nvt_input *input,
                const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_stacks stacks = {0};
    int status = nvt_stacks_make(&stacks, trace, NVT_STACKS_MEMORY,
                                 input->project_flags | NVT_STACKS_NO_FUNCTIONS, err);
    if (!status && put_stacks(table, &stacks))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    nvt_stacks_free(&stacks);
    return status;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    return nvt_memory_tables(&nvt_report_memory_at_peak, "Memory in use at its peak", fill, 0,
                             input, tables, err);
}

const struct nvt_report nvt_report_memory_at_peak = {
    .name = "memory_at_peak",
    .about = "what memory was in use for at its peak, as a tree of the ranges that allocated it",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
