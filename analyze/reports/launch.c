/*
 * launch_latency: what happens between the call that launches an operation and its start, a row a
 * device, process and stream (device/launch_latency.h).
 */
#include "../../lib/sample.h"
#include "../device/launch_latency.h"
#include "report.h"

static void put_stream(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct nvt_stream_launches *stream)
{
    struct nvt_summary launches, queues;
    size_t count = stream->starved + stream->queued;
    if (!count)
        return;
    nvt_sample_summary(stream->launches, stream->starved, &launches);
    nvt_sample_summary(stream->queues, stream->queued, &queues);
    nvt_table_put(table, NVT_DEVICE(trace, device->process, device->device),
                  trace->processes.pid[device->process], stream->stream, count, stream->starved,
                  nvt_percent(stream->starved, count), &launches, stream->queued, &queues,
                  (double)stream->depth / (double)count, stream->deepest);
}

static int put_launches(struct nvt_table *table, const struct nvt_trace *trace,
                        const struct nvt_used_device *device, const struct nvt_making *making)
{
    struct nvt_launch_latencies streams = {.count = 0};
    const int status = nvt_launch_latencies_make(&streams, trace, device);
    (void)making;
    for (uint32_t i = 0; i < streams.count && !status; i++)
        put_stream(table, trace, device, &streams.items[i]);
    nvt_launch_latencies_free(&streams);
    return status;
}

const struct nvt_report nvt_report_launch_latency = {
    .name = "launch_latency",
    .about = "time from launch to start by stream: of operations that the stream waited for, and "
             "of queued ones",
    .title = "Launch latency",
    .columns = {{"Device", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Stream", NVT_SPARE_IDS},
                {"Operations", NVT_COUNTS},
                {"Starved", NVT_COUNTS},
                {"Starved (%)", NVT_PERCENT},
                NVT_SUMMARY_COLUMNS("Launch "),
                {"Queued", NVT_COUNTS},
                NVT_SUMMARY_COLUMNS("Queue "),
                {"Avg Depth", NVT_REALS("", 1)},
                {"Max Depth", NVT_COUNTS}},
    .nothing = "no device operations with their launching calls in the input",
    .each_device = put_launches,
};
