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

enum { DEVICE, PID, SPAN, BUSY, IDLE, IDLE_SHARE, NOT_LAUNCHED, GAPS, AVG_GAP, MED_GAP, MAX_GAP };

static const struct nvt_column_spec columns[] = {
    [DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [SPAN] = {"Span (ns)", "ns", NVT_INT, 0, 0},
    [BUSY] = {"Busy (ns)", "ns", NVT_INT, 0, 0},
    [IDLE] = {"Idle (ns)", "ns", NVT_INT, 0, 0},
    [IDLE_SHARE] = {"Idle (%)", "%", NVT_REAL, 1, 0},
    [NOT_LAUNCHED] = {"Not Launched (ns)", "ns", NVT_INT, 0, 0},
    [GAPS] = {"Gaps", "", NVT_INT, 0, 0},
    [AVG_GAP] = {"Avg Gap (ns)", "ns", NVT_REAL, 1, 0},
    [MED_GAP] = {"Med Gap (ns)", "ns", NVT_REAL, 1, 0},
    [MAX_GAP] = {"Max Gap (ns)", "ns", NVT_INT, 0, 0},
};

enum { G_START, G_DURATION, G_NOT_LAUNCHED, G_DEVICE, G_PID, G_BEFORE, G_AFTER };

static const struct nvt_column_spec gap_columns[] = {
    [G_START] = {"Start (ns)", "ns", NVT_INT, 0, 0},
    [G_DURATION] = {"Duration (ns)", "ns", NVT_INT, 0, 0},
    [G_NOT_LAUNCHED] = {"Not Launched (ns)", "ns", NVT_INT, 0, 0},
    [G_DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [G_PID] = {"PID", "", NVT_INT, 0, NVT_PLAIN},
    [G_BEFORE] = {"Operation Before", "", NVT_TEXT, 0, 0},
    [G_AFTER] = {"Operation After", "", NVT_TEXT, 0, 0},
};

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

static int measure(struct idle *idle, const struct nvt_used_device *device)
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

static void put_device(struct nvt_table *table, const struct idle *idle,
                       const struct nvt_used_device *device)
{
    struct nvt_summary gaps;
    size_t row = nvt_table_add_row(table);
    nvt_sample_summary(idle->gaps, idle->count, &gaps);
    nvt_put_device(table, row, DEVICE, idle->trace, device->process, device->device);
    if (device->users == 1)
        nvt_table_set_int(table, row, PID, idle->trace->processes.pid[device->process]);
    nvt_table_set_int(table, row, SPAN, idle->span);
    nvt_table_set_int(table, row, BUSY, idle->busy);
    nvt_table_set_int(table, row, IDLE, idle->span - idle->busy);
    if (idle->span)
        nvt_table_set_real(table, row, IDLE_SHARE,
                           100 * (double)(idle->span - idle->busy) / (double)idle->span);
    nvt_table_set_int(table, row, NOT_LAUNCHED, idle->not_launched);
    nvt_table_set_int(table, row, GAPS, (int64_t)idle->count);
    nvt_table_set_real(table, row, AVG_GAP, gaps.mean);
    nvt_table_set_real(table, row, MED_GAP, gaps.median);
    if (idle->count)
        nvt_table_set_int(table, row, MAX_GAP, (int64_t)gaps.max);
}

/* What goes through all traces. */
struct idles {
    struct nvt_table *table;
    struct gap longest[LONGEST];
    size_t longest_count;
    uint32_t doubtful; /* rows that may be of the same device as another one */
};

static int add_trace(struct idles *idles, const struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_gpus_make(&devices, trace, 0, err);
    idles->doubtful += devices.doubtful;
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        struct idle idle = {
            .trace = trace, .longest = idles->longest, .longest_count = &idles->longest_count};
        status = measure(&idle, &devices.items[i])
                     ? nvt_fail_at(err, trace->path, -1, "out of memory")
                     : 0;
        if (!status)
            put_device(idles->table, &idle, &devices.items[i]);
        free(idle.gaps);
    }
    nvt_used_devices_free(&devices);
    return status;
}

static struct nvt_table *gap_table(const struct nvt_table *like, const struct gap *gaps,
                                   size_t count)
{
    struct nvt_table *table = nvt_table_new("gpu_idle", "Longest gaps on the devices", gap_columns,
                                            sizeof(gap_columns) / sizeof(gap_columns[0]));
    if (!table)
        return NULL;
    nvt_table_set_provenance(table, nvt_table_provenance(like));
    for (size_t i = 0; i < count; i++) {
        const struct nvt_trace *trace = gaps[i].trace;
        size_t row = nvt_table_add_row(table);
        uint32_t process = trace->ops.process[gaps[i].after];
        nvt_table_set_int(table, row, G_START, gaps[i].start);
        nvt_table_set_int(table, row, G_DURATION, gaps[i].duration);
        nvt_table_set_int(table, row, G_NOT_LAUNCHED, gaps[i].not_launched);
        nvt_put_device(table, row, G_DEVICE, trace, process, trace->ops.device[gaps[i].after]);
        nvt_table_set_int(table, row, G_PID, trace->processes.pid[process]);
        nvt_table_set_text(table, row, G_BEFORE,
                           nvt_name(trace, trace->ops.short_name[gaps[i].before]));
        nvt_table_set_text(table, row, G_AFTER,
                           nvt_name(trace, trace->ops.short_name[gaps[i].after]));
    }
    return table;
}

static void tell(struct nvt_input *input, const struct idles *idles,
                 const struct nvt_shared *shared)
{
    if (!nvt_table_rows(idles->table))
        nvt_note(input, "note: no device operations in the input");
    if (idles->doubtful)
        nvt_note(input, "note: processes have devices with the same number, which may be the same "
                        "device: it is then not idle while any of them has work on it");
    if (shared->certain[0])
        nvt_shared_note(input, shared->certain);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct idles idles = {0};
    struct nvt_shared shared;
    int status = 0;
    idles.table = nvt_report_table(&nvt_report_gpu_idle, input, "Idle time of the devices", err);
    if (!idles.table)
        return -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = add_trace(&idles, input->traces[i].trace, err);
    if (!status)
        status = nvt_shared_find(&shared, input, err);
    if (status) {
        nvt_table_free(idles.table);
        return -1;
    }
    tell(input, &idles, &shared);
    struct nvt_table *gaps =
        idles.longest_count ? gap_table(idles.table, idles.longest, idles.longest_count) : NULL;
    if (nvt_report_add(tables, idles.table, err)) {
        nvt_table_free(gaps);
        return -1;
    }
    if (!idles.longest_count)
        return 0;
    return gaps ? nvt_report_add(tables, gaps, err) : nvt_fail(err, "out of memory");
}

const struct nvt_report nvt_report_gpu_idle = {
    .name = "gpu_idle",
    .about =
        "idle time of each device, how much of it was spent waiting for the host, the longest gaps",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
