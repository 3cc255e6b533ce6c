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

enum {
    CONFIGURATION,
    PARTITION,
    STEPS,
    STEP,
    BUSY,
    WAITING,
    BUBBLE,
    PREDICTED,
    RECOMPUTE,
    OPERATIONS,
    CLOCK,
    DEVICE
};

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [PARTITION] = {"partition", "", NVT_TEXT, 0, 0},
    [STEPS] = {"steps", "", NVT_INT, 0, 0},
    [STEP] = {"step (ns)", "ns", NVT_REAL, 0, 0},
    [BUSY] = {"busy (%)", "%", NVT_REAL, 1, 0},
    [WAITING] = {"waiting (%)", "%", NVT_REAL, 1, 0},
    [BUBBLE] = {"bubble (%)", "%", NVT_REAL, 1, 0},
    [PREDICTED] = {"bubble predicted (%)", "%", NVT_REAL, 1, 0},
    [RECOMPUTE] = {"recompute of busy (%)", "%", NVT_REAL, 1, 0},
    [OPERATIONS] = {"own operations (%)", "%", NVT_REAL, 1, 0},
    [CLOCK] = {"time of", "", NVT_TEXT, 0, 0},
    [DEVICE] = {"device", "", NVT_INT, 0, 0},
};

enum { M_CONFIGURATION, M_PARTITION, M_PHASE, M_MICROBATCH, M_ALLOCATED, M_RESERVED, M_BEHIND };

static const struct nvt_column_spec memory_columns[] = {
    [M_CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [M_PARTITION] = {"partition", "", NVT_INT, 0, 0},
    [M_PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [M_MICROBATCH] = {"micro-batch", "", NVT_INT, 0, 0},
    [M_ALLOCATED] = {"peak allocated (bytes)", "B", NVT_INT, 0, 0},
    [M_RESERVED] = {"peak reserved (bytes)", "B", NVT_INT, 0, 0},
    [M_BEHIND] = {"allocated behind it (bytes)", "B", NVT_INT, 0, 0},
};

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

static void put_row(struct nvt_table *table, const struct nvt_pipeline_view *view,
                    const char *partition, const struct shares *shares)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, view->configuration);
    nvt_table_set_text(table, row, PARTITION, partition);
    nvt_table_set_int(table, row, STEPS, (int64_t)view->step_count);
    nvt_table_set_real(table, row, STEP,
                       (double)nvt_pipeline_span_of_steps(view) / (double)view->step_count);
    nvt_table_set_real(table, row, BUSY, shares->busy);
    nvt_table_set_real(table, row, WAITING, shares->waiting);
    nvt_table_set_real(table, row, BUBBLE, 100 - shares->busy);
    nvt_table_set_real(table, row, RECOMPUTE, shares->recompute);
    nvt_table_set_real(table, row, OPERATIONS, view->on_device ? shares->operations : NAN);
    nvt_table_set_text(table, row, CLOCK, view->on_device ? "device" : "host");
    if (!strcmp(partition, "all"))
        nvt_table_set_real(table, row, PREDICTED, 100 * view->predicted);
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
        put_row(table, view, name, &shares);
        int device = nvt_pipeline_device_of(view, i);
        if (device >= 0)
            nvt_table_set_int(table, nvt_table_rows(table) - 1, DEVICE, device);
        all.busy += shares.busy / here;
        all.waiting += shares.waiting / here;
        all.operations += shares.operations / here;
        all.recompute += shares.recompute / here;
    }
    put_row(table, view, "all", &all);
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

static int put_memory(struct nvt_table *table, const struct nvt_pipeline_view *view)
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
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, M_CONFIGURATION, view->configuration);
        nvt_table_set_int(table, row, M_PARTITION, cell.partition);
        nvt_table_set_text(table, row, M_PHASE, cell.is_backward ? "backward" : "forward");
        nvt_table_set_int(table, row, M_MICROBATCH, cell.microbatch);
        nvt_table_set_int(table, row, M_ALLOCATED, (int64_t)cell.peak_allocated);
        nvt_table_set_int(table, row, M_RESERVED, (int64_t)cell.peak_reserved);
        nvt_table_set_int(table, row, M_BEHIND, (int64_t)cell.allocated);
    }
    free(levels);
    return 0;
}

/* An empty table, or NULL with err. */
static struct nvt_table *memory_table(const struct nvt_input *input, struct nvt_error *err)
{
    static const struct nvt_report memory = {.name = NVT_PIPELINE_MEMORY,
                                             .columns = memory_columns,
                                             .column_count = sizeof(memory_columns) /
                                                             sizeof(memory_columns[0])};
    return nvt_report_table(&memory, input,
                            "Memory of a pipeline by partition, phase and micro-batch", err);
}

int nvt_pipeline_memory(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_pipeline_views views;
    int status = nvt_pipeline_views_make(&views, input, err);
    struct nvt_table *table = status ? NULL : memory_table(input, err);
    for (size_t i = 0; table && i < views.count && !status; i++)
        if (put_memory(table, &views.items[i]))
            status = nvt_fail(err, "out of memory");
    nvt_pipeline_views_free(&views);
    if (!table || status || !nvt_table_rows(table)) {
        nvt_table_free(table);
        return table && !status ? 0 : -1;
    }
    return nvt_report_add(tables, table, err);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_pipeline_views views;
    int shared = 0, on_one = 0;
    int status = nvt_pipeline_views_make(&views, input, err);
    struct nvt_table *time =
        status ? NULL : nvt_report_table(&nvt_report_pipeline, input, "Time of a pipeline", err);
    struct nvt_table *levels = time ? memory_table(input, err) : NULL;
    for (size_t i = 0; levels && i < views.count; i++) {
        put_view(time, &views.items[i]);
        if (views.items[i].ranks_here < views.items[i].ranks)
            nvt_note(input,
                     "note: the input has traces of %d of %d ranks: nothing is known of the "
                     "partitions of the others (%s)",
                     views.items[i].ranks_here, views.items[i].ranks, views.items[i].configuration);
        shared |= !views.items[i].on_device && !views.items[i].has_workers &&
                  views.items[i].partitions > 1;
        on_one |= is_shared(&views.items[i]);
        if (put_memory(levels, &views.items[i]))
            status = nvt_fail(err, "out of memory");
    }
    if (on_one)
        nvt_note(input,
                 "note: partitions share a device: the predicted bubble is that of partitions "
                 "with a device each");
    if (shared)
        nvt_note(input,
                 "note: partitions that one thread runs in turn do not overlap: their bubble "
                 "includes the work of the others (--engine torchgpipe gives each a thread)");
    if (levels && !views.count)
        nvt_note(input, "note: no ranges of a pipeline were found");
    nvt_pipeline_views_free(&views);
    if (status || !levels) {
        nvt_table_free(time);
        nvt_table_free(levels);
        return -1;
    }
    if (nvt_report_add(tables, time, err)) {
        nvt_table_free(levels);
        return -1;
    }
    return nvt_report_add(tables, levels, err);
}

static const char *const further[] = {NVT_PIPELINE_MEMORY, NULL};

const struct nvt_report nvt_report_pipeline = {
    .name = "pipeline",
    .about = "partitions of a pipeline: busy, waiting, bubble, recomputing, memory by micro-batch",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
    .further = further,
};
