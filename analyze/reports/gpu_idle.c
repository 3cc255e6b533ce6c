/*
 * gpu_idle: how long each device had nothing to do, and where. The first table has a row a device
 * and process (device/idle_gaps.h). The second table lists the longest gaps.
 * A device that several processes use has one row, without a PID; where nobody knows whether devices of
 * one number are one, each process has its row, and a note says so. Another note tells of traces of the
 * same time that share a device.
 */
#include <stdlib.h>

#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../device/idle_gaps.h"
#include "../device/shared.h"
#include "report.h"

static void put_gpu_idle_device(struct nvt_table *table, const struct nvt_trace *trace,
                                const struct nvt_idle_gaps *idle,
                                const struct nvt_used_device *device)
{
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
    struct nvt_longest_gaps longest;
    uint32_t doubtful; /* rows that may be of the same device as another one */
};

static int add_gpu_idle_trace(struct idles *idles, const struct nvt_trace *trace,
                              struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, err);
    idles->doubtful += devices.doubtful;
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct nvt_idle_gaps idle = {.gaps = NULL};
        status = nvt_idle_gaps_find(&idle, trace, &devices.items[i], &idles->longest);
        if (!status)
            put_gpu_idle_device(idles->table, trace, &idle, &devices.items[i]);
        free(idle.gaps);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static void put_gaps(struct nvt_table *table, const struct nvt_longest_gaps *longest)
{
    for (size_t i = 0; i < longest->count; i++) {
        const struct nvt_trace *trace = longest->traces[i];
        const struct nvt_gap *gap = &longest->items[i];
        nvt_table_put(table, gap->start, gap->end - gap->start, gap->host_ns,
                      NVT_DEVICE(trace, gap->process, gap->device),
                      trace->processes.pid[gap->process],
                      nvt_name(trace, trace->ops.name[gap->before]),
                      nvt_name(trace, trace->ops.name[gap->after]));
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
    put_gaps(making->tables[1], &idles.longest);
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
