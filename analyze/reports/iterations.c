/*
 * iterations: the training loop of each device, found without annotations (analyze/device/iterations.h).
 * The first table has a row a device and process: how many iterations there are, their period (from
 * the first operation of one to the first of the next), and the operation that each begins with.
 * "Match" is how alike neighbouring iterations are. The second table has a row an iteration. A last
 * one that nothing follows has no period: it counts as an iteration, and its times do not.
 */
#include <stdlib.h>

#include "../../lib/sample.h"
#include "../model/groups.h"
#include "../device/iterations.h"
#include "report.h"

enum { DEVICE, PID, COUNT, PERIOD, OPS = PERIOD + 5, BUSY, MATCH, BEFORE, BEHIND, FIRST };

static const struct nvt_column_spec columns[] = {
    [DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [COUNT] = {"Iterations", "", NVT_INT, 0, 0},
    [PERIOD] = {"Avg (ns)", "ns", NVT_REAL, 1, 0},
    [PERIOD + 1] = {"Med (ns)", "ns", NVT_REAL, 1, 0},
    [PERIOD + 2] = {"Min (ns)", "ns", NVT_INT, 0, 0},
    [PERIOD + 3] = {"Max (ns)", "ns", NVT_INT, 0, 0},
    [PERIOD + 4] = {"StdDev (ns)", "ns", NVT_REAL, 1, 0},
    [OPS] = {"Med Operations", "", NVT_REAL, 1, 0},
    [BUSY] = {"Med Busy (%)", "%", NVT_REAL, 1, 0},
    [MATCH] = {"Match (%)", "%", NVT_REAL, 1, 0},
    [BEFORE] = {"Ops Before", "", NVT_INT, 0, 0},
    [BEHIND] = {"Ops Behind", "", NVT_INT, 0, 0},
    [FIRST] = {"First Operation", "", NVT_TEXT, 0, 0},
};

enum { I_DEVICE, I_PID, I_NUMBER, I_START, I_PERIOD, I_BUSY, I_IDLE, I_OPS, I_MATCH };

static const struct nvt_column_spec item_columns[] = {
    [I_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [I_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [I_NUMBER] = {"Iteration", "", NVT_INT, 0, 0},
    [I_START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [I_PERIOD] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [I_BUSY] = {"Busy (ns)", "ns", NVT_INT, 0, 0},
    [I_IDLE] = {"Idle (ns)", "ns", NVT_INT, 0, 0},
    [I_OPS] = {"Operations", "", NVT_INT, 0, 0},
    [I_MATCH] = {"Match (%)", "%", NVT_REAL, 1, 0},
};

static double median_of(double *values, size_t count)
{
    struct nvt_summary summary;
    nvt_sample_summary(values, count, &summary);
    return summary.median;
}

static int put_device(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_used_device *device, const struct nvt_iterations *found)
{
    struct nvt_summary periods;
    double *values = malloc(((size_t)found->count + 1) * sizeof(*values));
    if (!values)
        return -1;
    size_t row = nvt_table_add_row(table);
    nvt_put_device(table, row, DEVICE, trace, device->process, device->device);
    nvt_table_set_int(table, row, PID, trace->processes.pid[device->process]);
    nvt_table_set_int(table, row, COUNT, found->count);
    nvt_table_set_int(table, row, BEFORE, found->before);
    nvt_table_set_int(table, row, BEHIND, found->behind);
    nvt_table_set_real(table, row, MATCH, 100 * found->score);
    nvt_table_set_text(table, row, FIRST, nvt_name(trace, trace->ops.short_name[found->first_op]));
    for (uint32_t i = 0; i < found->periods; i++)
        values[i] = (double)found->items[i].period;
    nvt_sample_summary(values, found->periods, &periods);
    nvt_put_summary(table, row, PERIOD, &periods, 1);
    for (uint32_t i = 0; i < found->count; i++)
        values[i] = found->items[i].ops;
    nvt_table_set_real(table, row, OPS, median_of(values, found->count));
    for (uint32_t i = 0; i < found->periods; i++)
        values[i] = found->items[i].period > 0
                        ? 100 * (double)found->items[i].busy / (double)found->items[i].period
                        : 0;
    nvt_table_set_real(table, row, BUSY, median_of(values, found->periods));
    free(values);
    return 0;
}

static void put_items(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_used_device *device, const struct nvt_iterations *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct nvt_iteration *item = &found->items[i];
        size_t row = nvt_table_add_row(table);
        nvt_put_device(table, row, I_DEVICE, trace, device->process, device->device);
        nvt_table_set_int(table, row, I_PID, trace->processes.pid[device->process]);
        nvt_table_set_int(table, row, I_NUMBER, i + 1);
        nvt_table_set_int(table, row, I_START, item->start);
        nvt_table_set_int(table, row, I_BUSY, item->busy);
        if (i < found->periods) {
            nvt_table_set_int(table, row, I_PERIOD, item->period);
            nvt_table_set_int(table, row, I_IDLE, item->period > 0 ? item->period - item->busy : 0);
        }
        nvt_table_set_int(table, row, I_OPS, item->ops);
        nvt_table_set_real(table, row, I_MATCH, 100 * item->match);
    }
}

/* *open counts the devices whose last iteration has no period. */
static int add_trace(struct nvt_table *table, struct nvt_table *items,
                     const struct nvt_trace *trace, uint32_t *open, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, err);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_iterations found = {0};
        const struct nvt_used_device *device = &devices.items[i];
        if (nvt_iterations_find(&found, trace, device) ||
            (found.count && put_device(table, trace, device, &found)))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        else
            put_items(items, trace, device, &found);
        *open += found.periods < found.count;
        nvt_iterations_free(&found);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table =
        nvt_report_table(&nvt_report_iterations, input, "Iterations, by what repeats", err);
    struct nvt_table *items = table ? nvt_table_new("iterations", "Each iteration", item_columns,
                                                    sizeof(item_columns) / sizeof(item_columns[0]))
                                    : NULL;
    int status = items ? 0 : table ? nvt_fail(err, "out of memory") : -1;
    uint32_t open = 0;
    if (items)
        nvt_table_set_provenance(items, nvt_table_provenance(table));
    for (size_t i = 0; !status && i < input->trace_count; i++)
        status = add_trace(table, items, input->traces[i].trace, &open, err);
    if (status) {
        nvt_table_free(table);
        nvt_table_free(items);
        return -1;
    }
    if (!nvt_table_rows(table))
        nvt_note(input, "note: no device in the input has operations that repeat");
    if (open)
        nvt_note(input, "note: nothing follows the last iteration, so it has no period and is not "
                        "part of the times");
    status = nvt_report_add(tables, table, err);
    if (!status && nvt_table_rows(items))
        return nvt_report_add(tables, items, err);
    nvt_table_free(items);
    return status;
}

const struct nvt_report nvt_report_iterations = {
    .name = "iterations",
    .about = "the loop of each device, found without annotations: iterations and their period",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
