/*
 * gpu_idle: how long each device had nothing to do, and where. The first table has a row a device
 * and process: from its first operation to its last, the time with at least one operation (Busy)
 * and without (Idle). "Not Launched" is the part of Idle before the call that launched the next
 * operation had returned: the device waited for the host. The rest is launch latency and waiting
 * for other streams. What is no gap (nvt_gap_least) is busy. The second table lists the longest gaps.
 * A device that several processes use has one row, without a PID; where nobody knows whether devices of
 * one number are one, each process has its row, and a note says so. Another note tells of traces of the
 * same time that share a device.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../device/gaps.h"
#include "../device/shared.h"
#include "report.h"

/* Gaps that are listed. */
#define LONGEST 20

struct gap {
    int64_t start, duration, not_launched;
    uint32_t before, after; /* operations */
    const struct nvt_trace *trace;
};

struct idle {
    const struct nvt_trace *trace;
    int64_t span, busy, not_launched;
    double *gaps;
    size_t count;
    struct gap *longest; /* descending, of all devices */
    size_t *longest_count;
};

static void keep_longest(struct idle *idle, const struct gap *gap)
{
    size_t at = *idle->longest_count;
    if (at == LONGEST && idle->longest[at - 1].duration >= gap->duration)
        return;
    if (at < LONGEST)
        ++*idle->longest_count;
    else
        at--;
    for (; at > 0 && idle->longest[at - 1].duration < gap->duration; at--)
        idle->longest[at] = idle->longest[at - 1];
    idle->longest[at] = *gap;
}

/* The time from `from` to the return of the call that launched an operation, 0 when unknown. */
static int64_t launch_after(const struct nvt_trace *trace, uint32_t op, int64_t from, int64_t to)
{
    uint32_t api = trace->ops.api[op];
    if (api == NVT_NONE)
        return 0;
    int64_t launched = trace->apis.end[api] < to ? trace->apis.end[api] : to;
    return launched > from ? launched - from : 0;
}

static int measure_gpu_idle(struct idle *idle, const struct nvt_used_device *device)
{
    const struct nvt_ops *ops = &idle->trace->ops;
    int64_t first = ops->start[device->ops[0]], until = first, least = nvt_gap_least(idle->trace);
    uint32_t before = device->ops[0];
    idle->gaps = malloc((size_t)device->count * sizeof(*idle->gaps));
    if (!idle->gaps)
        return -1;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        if (nvt_is_gap(until, ops->start[op], least)) {
            struct gap gap = {until,
                              ops->start[op] - until,
                              launch_after(idle->trace, op, until, ops->start[op]),
                              before,
                              op,
                              idle->trace};
            idle->gaps[idle->count++] = (double)gap.duration;
            idle->not_launched += gap.not_launched;
            keep_longest(idle, &gap);
            until = ops->start[op];
        }
        if (ops->end[op] > until) {
            idle->busy += ops->end[op] - until;
            until = ops->end[op];
            before = op;
        }
    }
    idle->span = until - first;
    return 0;
}

static void put_gpu_idle_device(struct nvt_table *table, const struct idle *idle,
                                const struct nvt_used_device *device)
{
    const struct nvt_trace *trace = idle->trace;
    struct nvt_summary gaps;
    nvt_sample_summary(idle->gaps, idle->count, &gaps);
    nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                  NVT_IF(device->users == 1, trace->processes.pid[device->process]), idle->span,
                  idle->busy, idle->span - idle->busy,
                  nvt_percent(idle->span - idle->busy, idle->span), idle->not_launched, idle->count,
                  gaps.mean, gaps.median, NVT_IF(idle->count, (int64_t)gaps.max));
}

/* What goes through all traces. */
struct idles {
    struct nvt_table *table;
    struct gap longest[LONGEST];
    size_t longest_count;
    uint32_t doubtful; /* rows that may be of the same device as another one */
};

static int add_gpu_idle_trace(struct idles *idles, const struct nvt_trace *trace,
                              struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, err);
    idles->doubtful += devices.doubtful;
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct idle idle = {
            .trace = trace, .longest = idles->longest, .longest_count = &idles->longest_count};
        status = measure_gpu_idle(&idle, &devices.items[i]);
        if (!status)
            put_gpu_idle_device(idles->table, &idle, &devices.items[i]);
        free(idle.gaps);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static void put_gaps(struct nvt_table *table, const struct gap *gaps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct nvt_trace *trace = gaps[i].trace;
        const struct nvt_ops *ops = &trace->ops;
        uint32_t before = gaps[i].before, after = gaps[i].after;
        nvt_table_put(table, gaps[i].start, gaps[i].duration, gaps[i].not_launched,
                      NVT_DEVICE(trace, ops->process[after], ops->device[after]),
                      trace->processes.pid[ops->process[after]], nvt_name(trace, ops->name[before]),
                      nvt_name(trace, ops->name[after]));
    }
}

static void tell_gpu_idle(struct nvt_input *input, const struct idles *idles,
                          const struct nvt_shared *shared)
{
    if (idles->doubtful)
        nvt_note(input, "note: several processes use devices of the same number, which may be one "
                        "device: it is idle only while none of them has work on it");
    if (shared->certain[0])
        nvt_shared_note(input, shared->certain);
}

static int put_gpu_idle(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_input *input = making->input;
    struct idles idles = {.table = table};
    struct nvt_shared shared;
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_gpu_idle_trace(&idles, input->traces[i].trace, making->err);
    if (!status)
        status = nvt_shared_find(&shared, input, making->err);
    if (status)
        return -1;
    tell_gpu_idle(input, &idles, &shared);
    put_gaps(making->tables[1], idles.longest, idles.longest_count);
    return 0;
}

static const struct nvt_table_kind more[] = {
    {.title = "Longest idle gaps",
     .columns = {{"Start (ns)", NVT_MOMENTS_NS},
                 {"Duration (ns)", NVT_NS},
                 {"Not Launched (ns)", NVT_NS},
                 {"Device", NVT_NAMES},
                 {"PID", NVT_SPARE_IDS},
                 {"Operation Before", NVT_KERNELS},
                 {"Operation After", NVT_KERNELS}},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_gpu_idle = {
    .name = "gpu_idle",
    .about = "idle time of each device, the part spent waiting for the host, the longest idle gaps",
    .columns = {{"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Span (ns)", NVT_NS},
                {"Busy (ns)", NVT_NS},
                {"Idle (ns)", NVT_NS},
                {"Idle (%)", NVT_PERCENT},
                {"Not Launched (ns)", NVT_NS},
                {"Gaps", NVT_COUNTS},
                {"Avg Gap (ns)", NVT_NS_AVERAGE},
                {"Med Gap (ns)", NVT_NS_AVERAGE},
                {"Max Gap (ns)", NVT_NS}},
    .title = "Idle time by device",
    .nothing = "no device operations in the input",
    .of_input = put_gpu_idle,
    .more = more,
};
