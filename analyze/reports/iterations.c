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

static int put_iterations_device(struct nvt_table *table, const struct nvt_trace *trace,
                                 const struct nvt_used_device *device,
                                 const struct nvt_iterations *found)
{
    struct nvt_summary periods;
    double *values = malloc(((size_t)found->count + 1) * sizeof(*values));
    if (!values)
        return -1;
    for (uint32_t i = 0; i < found->count; i++)
        values[i] = found->items[i].ops;
    const double ops = nvt_sample_median(values, found->count);
    for (uint32_t i = 0; i < found->periods; i++)
        values[i] = found->items[i].period > 0
                        ? 100 * (double)found->items[i].busy / (double)found->items[i].period
                        : 0;
    const double busy = nvt_sample_median(values, found->periods);
    for (uint32_t i = 0; i < found->periods; i++)
        values[i] = (double)found->items[i].period;
    nvt_sample_summary(values, found->periods, &periods);
    free(values);
    nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                  trace->processes.pid[device->process], found->count, &periods, ops, busy,
                  100 * found->score, found->before, found->behind,
                  nvt_name(trace, trace->ops.name[found->first_op]));
    return 0;
}

static void put_items(struct nvt_table *table, const struct nvt_trace *trace,
                      const struct nvt_used_device *device, const struct nvt_iterations *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct nvt_iteration *item = &found->items[i];
        const int has_period = i < found->periods;
        nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                      trace->processes.pid[device->process], i + 1, item->start,
                      NVT_IF(has_period, item->period), item->busy,
                      NVT_IF(has_period, item->period > 0 ? item->period - item->busy : 0),
                      item->ops, 100 * item->match);
    }
}

/* *open counts the devices whose last iteration has no period. */
static int add_iterations_trace(struct nvt_table *table, struct nvt_table *items,
                                const struct nvt_trace *trace, uint32_t *open,
                                struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, trace, err);
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_iterations found = {0};
        const struct nvt_used_device *device = &devices.items[i];
        if (nvt_iterations_find(&found, trace, device) ||
            (found.count && put_iterations_device(table, trace, device, &found)))
            status = -1;
        else
            put_items(items, trace, device, &found);
        *open += found.periods < found.count;
        nvt_iterations_free(&found);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int put_iterations(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    uint32_t open = 0;
    int status = 0;
    for (size_t i = 0; !status && i < input->trace_count; i++)
        status = add_iterations_trace(table, making->tables[1], input->traces[i].trace, &open,
                                      making->err);
    if (!status && open)
        nvt_note(input, "note: nothing follows the last iteration, so it has no period and its "
                        "time is left out");
    return status;
}

static const struct nvt_table_kind more[] = {
    {.title = "Single iterations",
     .columns = {{"Device", NVT_NAMES},
                 {"PID", NVT_SPARE_IDS},
                 {"Iteration", NVT_COUNTS},
                 {"Start (ns)", NVT_MOMENTS_NS},
                 {"Duration (ns)", NVT_NS},
                 {"Busy (ns)", NVT_NS},
                 {"Idle (ns)", NVT_NS},
                 {"Operations", NVT_COUNTS},
                 {"Match (%)", NVT_PERCENT}},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_iterations = {
    .name = "iterations",
    .about = "GPU work that repeats, and its period: iterations that no range names",
    .columns = {{"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Iterations", NVT_COUNTS},
                NVT_SUMMARY_COLUMNS(""),
                {"Med Operations", NVT_REALS("", 1)},
                {"Med Busy (%)", NVT_PERCENT},
                {"Match (%)", NVT_PERCENT},
                {"Ops Before", NVT_COUNTS},
                {"Ops Behind", NVT_COUNTS},
                {"First Operation", NVT_KERNELS}},
    .title = "GPU work that repeats",
    .nothing = "no GPU work in the input repeats (iterations that ranges name: warmup, range_tree)",
    .of_input = put_iterations,
    .more = more,
};
