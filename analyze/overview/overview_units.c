#include "overview_units.h"

#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../device/gaps.h"
#include "../model/extent.h"
#include "../model/recorded_parts.h"
#include "overview_open.h"

/* --- how busy a GPU is --- */

/* When it works, apart and ascending. */
struct busy {
    int64_t *start, *end;
    uint32_t count;
};

static void free_busy(struct busy *busy)
{
    free(busy->start);
    free(busy->end);
    *busy = (struct busy){0};
}

static int make_busy(struct busy *busy, const struct nvt_trace *trace,
                     const struct nvt_used_device *device)
{
    const int64_t least = nvt_gap_least(trace);
    busy->start = malloc(((size_t)device->count + 1) * sizeof(*busy->start));
    busy->end = malloc(((size_t)device->count + 1) * sizeof(*busy->end));
    if (!busy->start || !busy->end)
        return -1;
    for (uint32_t i = 0; i < device->count; i++) {
        const int64_t start = trace->ops.start[device->ops[i]];
        const int64_t end = trace->ops.end[device->ops[i]];
        const uint32_t last = busy->count - 1;
        if (busy->count && !nvt_is_gap(busy->end[last], start, least)) {
            busy->end[last] = end > busy->end[last] ? end : busy->end[last];
            continue;
        }
        busy->start[busy->count] = start;
        busy->end[busy->count++] = end;
    }
    return 0;
}

/* The part of [from, to] in which it works. */
static int64_t busy_within(const struct busy *busy, int64_t from, int64_t to)
{
    uint32_t low = 0;
    int64_t sum = 0;
    NVT_BISECT(low, busy->count, busy->end[low] <= from);
    for (; low < busy->count && busy->start[low] < to; low++) {
        const int64_t start = busy->start[low] > from ? busy->start[low] : from;
        const int64_t end = busy->end[low] < to ? busy->end[low] : to;
        sum += end > start ? end - start : 0;
    }
    return sum;
}

static int64_t span_of(const struct nvt_trace *trace, const struct busy *busy)
{
    return busy->count ? (int64_t)nvt_recorded_ns(trace, busy->start[0], busy->end[busy->count - 1])
                       : 0;
}

/* --- units --- */

static int uses(const struct nvt_trace *trace, const struct nvt_used_device *device,
                uint32_t process)
{
    if (process == NVT_NONE || (device->users == 1 && device->process == process))
        return 1;
    for (uint32_t i = 0; i < device->count && device->users > 1; i++)
        if (trace->ops.process[device->ops[i]] == process)
            return 1;
    return 0;
}

/* The units of a trace get the time of its GPUs. */
static int add_gpus(struct nvt_overview_units *units, const struct nvt_trace *trace, uint32_t from,
                    struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, err);
    for (uint32_t d = 0; d < devices.count && !status; d++) {
        struct busy busy = {0};
        if (make_busy(&busy, trace, &devices.items[d]))
            status = nvt_fail_at(err, trace->path, -1, "out of memory");
        for (uint32_t i = from; i < units->count && !status; i++) {
            struct nvt_overview_unit *unit = &units->items[i];
            if (!uses(trace, &devices.items[d], unit->process))
                continue;
            unit->busy += busy_within(&busy, unit->start, unit->end);
            unit->span += units->are_iterations ? unit->end - unit->start : span_of(trace, &busy);
            unit->gpus++;
        }
        free_busy(&busy);
    }
    for (uint32_t i = from; i < units->count && !status; i++) {
        units->items[i].busy /= units->items[i].gpus ? units->items[i].gpus : 1;
        units->items[i].span /= units->items[i].gpus ? units->items[i].gpus : 1;
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int add_unit(struct nvt_overview_units *units, struct nvt_overview_unit unit)
{
    if (nvt_grow(&units->items, units->count, sizeof(*units->items)))
        return -1;
    units->items[units->count++] = unit;
    return 0;
}

/* All of a trace, with what processes without ranges did before the first of others, and behind their last. */
static int add_recording(struct nvt_overview_units *units, const struct nvt_trace *trace,
                         uint32_t at)
{
    const struct nvt_extent all = nvt_extent_of_processes(trace);
    const int64_t end = nvt_overview_end(trace);
    const int64_t last = end > all.last ? end : all.last;
    const struct nvt_overview_unit unit = {.start = all.first,
                                           .end = last,
                                           .between = nvt_between_parts_ns(trace, all.first, last),
                                           .trace = at,
                                           .process = NVT_NONE};
    return unit.end > unit.start ? add_unit(units, unit) : 0;
}

static int add_trace(struct nvt_overview_units *units, const struct nvt_input *input, uint32_t at,
                     struct nvt_error *err)
{
    const struct nvt_trace *trace = input->traces[at].trace;
    const struct nvt_named_iterations *iterations = &units->iterations[at];
    const uint32_t from = units->first[at] = units->count;
    int status = 0;
    for (uint32_t i = 0; i < iterations->count && !status; i++) {
        const uint32_t row = iterations->rows[i];
        status = add_unit(units, (struct nvt_overview_unit){
                                     .start = trace->ranges.start[row],
                                     .end = trace->ranges.end[row],
                                     .trace = at,
                                     .process = trace->threads.process[trace->ranges.thread[row]]});
    }
    if (!units->are_iterations && !status)
        status = add_recording(units, trace, at);
    if (status)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    return add_gpus(units, trace, from, err);
}

/* The first tenth of the iterations of each process of a trace, at least one if there are several. */
static int mark_early(struct nvt_overview_units *units, const struct nvt_trace *trace,
                      uint32_t from, uint32_t to)
{
    uint32_t *of = calloc(2 * ((size_t)trace->processes.count + 1), sizeof(*of));
    if (!of)
        return -1;
    uint32_t *seen = of + trace->processes.count + 1;
    for (uint32_t i = from; i < to; i++)
        of[units->items[i].process]++;
    for (uint32_t i = from; i < to; i++) {
        const uint32_t process = units->items[i].process;
        units->items[i].is_early = of[process] > 1 && seen[process] < (of[process] + 9) / 10;
        seen[process]++;
    }
    free(of);
    return 0;
}

/* Their mean, and whether it is far from their median. */
static int compare_mean(struct nvt_overview_units *units)
{
    const double far = 1.1;
    struct nvt_summary summary;
    double *lengths = malloc(((size_t)units->count + 1) * sizeof(*lengths));
    if (!lengths)
        return -1;
    for (uint32_t i = 0; i < units->count; i++)
        if (!units->items[i].is_early)
            lengths[units->late++] = nvt_overview_unit_ns(&units->items[i]);
    if (units->late) {
        nvt_sample_summary(lengths, units->late, &summary);
        units->mean = summary.mean;
        units->are_means = units->are_iterations && (summary.mean > far * summary.median ||
                                                     summary.mean * far < summary.median);
    }
    free(lengths);
    return 0;
}

int nvt_overview_units_make(struct nvt_overview_units *units, const struct nvt_input *input,
                            struct nvt_error *err)
{
    int status = 0;
    units->iterations = calloc(input->trace_count + 1, sizeof(*units->iterations));
    units->first = calloc(input->trace_count + 2, sizeof(*units->first));
    if (!units->iterations || !units->first)
        return nvt_fail(err, "out of memory");
    units->traces = (uint32_t)input->trace_count;
    for (uint32_t i = 0; i < units->traces; i++) {
        if (nvt_named_iterations_of(&units->iterations[i], input->traces[i].trace))
            return nvt_fail_at(err, input->traces[i].trace->path, -1, "out of memory");
        units->are_iterations |= units->iterations[i].count > 0;
    }
    for (uint32_t i = 0; i < units->traces && !status; i++)
        status = add_trace(units, input, i, err);
    units->first[units->traces] = units->count;
    if (status)
        return -1;
    for (uint32_t i = 0; i < units->traces && units->are_iterations && !status; i++)
        status = mark_early(units, input->traces[i].trace, units->first[i], units->first[i + 1]);
    return status || compare_mean(units) ? nvt_fail(err, "out of memory") : 0;
}

void nvt_overview_units_free(struct nvt_overview_units *units)
{
    for (uint32_t i = 0; units->iterations && i < units->traces; i++)
        nvt_named_iterations_free(&units->iterations[i]);
    free(units->iterations);
    free(units->first);
    free(units->items);
    *units = (struct nvt_overview_units){0};
}
