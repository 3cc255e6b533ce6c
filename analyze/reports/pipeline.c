/*
 * pipeline: what each partition of a pipeline did with its time. Of all timed steps (forward and backward
 * together, those of ranks that overlap counted once): Busy is the share in which it ran a forward or a backward, Waiting
 * that in which it did not, and waited for a neighbour's message, Bubble what is not busy. Recompute is the part of Busy
 * that repeats forwards. On a device, forwards and backwards last from their first operation to their last one, with what
 * others do in between where partitions share it; Own operations is the share in which the partition's own ran. Kernels
 * that send and receive are in neither: beside work they are Waiting, as is the time from a partition's work until its next
 * where that needs a message. The row
 * "all" has the means, and beside them the bubble of the schedule when all forwards take the same time, all
 * backwards too, and each partition has its own device or core: (K−1)/(M+K−1). Device is the number that the partition's
 * process gives to the device of its work; a note says so where partitions of a process share one.
 *
 * The second table has the memory of each partition, phase and micro-batch: the highest level within it over all
 * steps, and what was left behind it at most.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../studies/pipeline.h"
#include "report.h"

struct shares {
    double busy, waiting, operations; /* of the steps */
    double recompute;                 /* of busy */
};

static struct shares shares_of(const struct nvt_pipeline_view *view, int partition)
{
    double steps = (double)nvt_pipeline_span_of_steps(view);
    double busy = (double)nvt_pipeline_time(view, partition, -1);
    struct shares shares = {
        100 * busy / steps, 100 * (double)nvt_pipeline_time(view, partition, NVT_PIPE_WAIT) / steps,
        100 * (double)nvt_pipeline_operations(view, partition) / steps,
        busy > 0 ? 100 * (double)nvt_pipeline_time(view, partition, NVT_PIPE_RECOMPUTE) / busy : 0};
    return shares;
}

/* `device`: below 0 it is not known. */
static void put_pipeline_row(struct nvt_table *table, const struct nvt_pipeline_view *view,
                             const char *partition, const struct shares *shares, int device)
{
    nvt_table_put(table, view->configuration, partition, view->step_count,
                  (double)nvt_pipeline_span_of_steps(view) / (double)view->step_count, shares->busy,
                  shares->waiting, 100 - shares->busy,
                  NVT_IF(!strcmp(partition, "all"), 100 * view->predicted), shares->recompute,
                  view->on_device ? shares->operations : NAN, view->on_device ? "device" : "host",
                  NVT_IF(device >= 0, device));
}

static void put_view(struct nvt_table *table, const struct nvt_pipeline_view *view)
{
    struct shares all = {0, 0, 0, 0};
    char name[16];
    int here = 0;
    for (int i = 0; i < view->partitions; i++)
        here += nvt_pipeline_has(view, i);
    for (int i = 0; i < view->partitions; i++) {
        if (!nvt_pipeline_has(view, i))
            continue;
        struct shares shares = shares_of(view, i);
        snprintf(name, sizeof(name), "%d", i);
        put_pipeline_row(table, view, name, &shares, nvt_pipeline_device_of(view, i));
        all.busy += shares.busy / here;
        all.waiting += shares.waiting / here;
        all.operations += shares.operations / here;
        all.recompute += shares.recompute / here;
    }
    put_pipeline_row(table, view, "all", &all, -1);
}

/* Partitions of one process that lie on one device; those of ranks are not compared. */
static int is_shared(const struct nvt_pipeline_view *view)
{
    for (int i = 1; i < view->partitions; i++)
        if (nvt_pipeline_shares(view, i))
            return 1;
    return 0;
}

/* --- memory --- */

static int by_cell(const void *left, const void *right)
{
    const struct nvt_pipeline_level *a = left, *b = right;
    if (a->partition != b->partition)
        return a->partition < b->partition ? -1 : 1;
    if (a->is_backward != b->is_backward)
        return a->is_backward - b->is_backward;
    return (a->microbatch > b->microbatch) - (a->microbatch < b->microbatch);
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static int put_pipeline_memory(struct nvt_table *table, const struct nvt_pipeline_view *view)
{
    size_t bytes = view->level_count * sizeof(*view->levels);
    struct nvt_pipeline_level *levels = malloc(bytes + 1);
    if (!levels)
        return -1;
    if (bytes)
        memcpy(levels, view->levels, bytes);
    qsort(levels, view->level_count, sizeof(*levels), by_cell);
    for (size_t i = 0, next; i < view->level_count; i = next) {
        struct nvt_pipeline_level cell = levels[i];
        for (next = i; next < view->level_count && !by_cell(&levels[next], &levels[i]); next++) {
            cell.peak_allocated = greater(cell.peak_allocated, levels[next].peak_allocated);
            cell.peak_reserved = greater(cell.peak_reserved, levels[next].peak_reserved);
            cell.allocated = greater(cell.allocated, levels[next].allocated);
        }
        nvt_table_put(table, view->configuration, cell.partition,
                      cell.is_backward ? "backward" : "forward", cell.microbatch,
                      (int64_t)cell.peak_allocated, (int64_t)cell.peak_reserved,
                      (int64_t)cell.allocated);
    }
    free(levels);
    return 0;
}

#define MEMORY_TABLE                                                                               \
    .name = NVT_PIPELINE_MEMORY, .title = "Pipeline memory by partition, phase and micro-batch",   \
    .columns = {{"configuration", NVT_NAMES},                                                      \
                {"partition", NVT_COUNTS},                                                         \
                {"phase", NVT_NAMES},                                                              \
                {"micro-batch", NVT_COUNTS},                                                       \
                {"peak allocated (bytes)", "B", NVT_INT, 0, 0},                                    \
                {"peak reserved (bytes)", "B", NVT_INT, 0, 0},                                     \
                {"allocated behind it (bytes)", "B", NVT_INT, 0, 0}}

static int put_memory_alone(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_pipeline_views views;
    int status = nvt_pipeline_views_make(&views, making->input, making->err);
    for (size_t i = 0; i < views.count && !status; i++)
        status = put_pipeline_memory(table, &views.items[i]);
    if (!nvt_table_rows(table))
        nvt_making_leave_out(making, 0);
    nvt_pipeline_views_free(&views);
    return status;
}

int nvt_pipeline_memory(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    static const struct nvt_report memory = {MEMORY_TABLE, .of_input = put_memory_alone};
    return nvt_report_make_tables(&memory, input, tables, err);
}

static int put_pipeline(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    struct nvt_pipeline_views views;
    int shared = 0, on_one = 0;
    int status = nvt_pipeline_views_make(&views, input, making->err);
    for (size_t i = 0; i < views.count && !status; i++) {
        const struct nvt_pipeline_view *view = &views.items[i];
        put_view(table, view);
        if (view->ranks_here < view->ranks)
            nvt_note(input,
                     "note: the input has traces of %d of %d ranks: the partitions of the others "
                     "are unknown (%s)",
                     view->ranks_here, view->ranks, view->configuration);
        shared |= !view->on_device && !view->has_workers && view->partitions > 1;
        on_one |= is_shared(view);
        status = put_pipeline_memory(making->tables[1], view);
    }
    if (on_one)
        nvt_note(input,
                 "note: partitions share a device: the predicted bubble assumes a device for each");
    if (shared)
        nvt_note(input,
                 "note: partitions that one thread runs in turn do not overlap: their bubble "
                 "includes the work of the others (--engine torchgpipe gives each a thread)");
    nvt_pipeline_views_free(&views);
    return status;
}

static const struct nvt_table_kind more[] = {{MEMORY_TABLE}, {.title = NULL}};

const struct nvt_report nvt_report_pipeline = {
    .name = "pipeline",
    .about = "partitions of a pipeline: busy, waiting, bubble, recomputing, memory by micro-batch",
    .columns = {{"configuration", NVT_NAMES},
                {"partition", NVT_NAMES},
                {"steps", NVT_COUNTS},
                {"step (ns)", NVT_REALS("ns", 0)},
                {"busy (%)", NVT_PERCENT},
                {"waiting (%)", NVT_PERCENT},
                {"bubble (%)", NVT_PERCENT},
                {"bubble predicted (%)", NVT_PERCENT},
                {"recompute of busy (%)", NVT_PERCENT},
                {"own operations (%)", NVT_PERCENT},
                {"time of", NVT_NAMES},
                {"device", NVT_COUNTS}},
    .title = "Pipeline time by partition",
    .nothing = "no ranges of a pipeline in the input",
    .of_input = put_pipeline,
    .more = more,
};
