/*
 * launch_latency: what happens between the call that launches an operation and its start, a row a
 * device, process and stream. An operation whose stream had nothing left to do when its call
 * returned finds the device waiting: Launch is the time from the start of the call to the start of
 * the operation, all of which the stream stands still for. Any other is queued: Queue is the time
 * from the return of its call to the end of what was before it in the stream, so the host is ahead
 * by that much. Depth is how many operations of the stream were before it, running or waiting, when
 * its call returned. Operations without a call on record are left out.
 */
#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../model/groups.h"
#include "report.h"

/* The operations of a stream that are still to end, as far as can matter. */
struct stream {
    uint32_t context, stream;
    int64_t *ends; /* ascending: the latest end of all operations up to each */
    uint32_t count;
    double *launches, *queues; /* ns */
    size_t starved, queued;
    uint64_t depth;
    uint32_t deepest;
};

struct streams {
    struct stream *items;
    uint32_t count;
};

static void free_streams(struct streams *streams)
{
    for (uint32_t i = 0; i < streams->count; i++) {
        free(streams->items[i].ends);
        free(streams->items[i].launches);
        free(streams->items[i].queues);
    }
    free(streams->items);
}

static struct stream *stream_of(struct streams *streams, uint32_t context, uint32_t stream)
{
    for (uint32_t i = streams->count; i-- > 0;)
        if (streams->items[i].context == context && streams->items[i].stream == stream)
            return &streams->items[i];
    if (nvt_grow(&streams->items, streams->count, sizeof(*streams->items)))
        return NULL;
    streams->items[streams->count] = (struct stream){.context = context, .stream = stream};
    return &streams->items[streams->count++];
}

static int make_room(struct stream *stream)
{
    return nvt_grow(&stream->ends, stream->count, sizeof(*stream->ends)) ||
           nvt_grow(&stream->launches, stream->count, sizeof(*stream->launches)) ||
           nvt_grow(&stream->queues, stream->count, sizeof(*stream->queues));
}

/* How many of the stream's operations so far end after a time. */
static uint32_t ahead(const struct stream *stream, int64_t time)
{
    uint32_t low = 0;
    NVT_BISECT(low, stream->count, stream->ends[low] <= time);
    return stream->count - low;
}

/* Operations come in the order of their starts. */
static int add_op(struct stream *stream, const struct nvt_trace *trace, uint32_t op)
{
    const struct nvt_ops *ops = &trace->ops;
    uint32_t api = ops->api[op];
    if (make_room(stream))
        return -1;
    int64_t last = stream->count ? stream->ends[stream->count - 1] : INT64_MIN;
    if (api != NVT_NONE) {
        uint32_t depth = ahead(stream, trace->apis.end[api]);
        if (depth)
            stream->queues[stream->queued++] = (double)(last - trace->apis.end[api]);
        else
            stream->launches[stream->starved++] = (double)(ops->start[op] - trace->apis.start[api]);
        stream->depth += depth;
        stream->deepest = depth > stream->deepest ? depth : stream->deepest;
    }
    stream->ends[stream->count++] = ops->end[op] > last ? ops->end[op] : last;
    return 0;
}

static void put_stream(struct nvt_table *table, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct stream *stream)
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
    struct streams streams = {0};
    int status = 0;
    (void)making;
    for (uint32_t i = 0; i < device->count && !status; i++) {
        uint32_t op = device->ops[i];
        struct stream *stream = stream_of(&streams, trace->ops.context[op], trace->ops.stream[op]);
        status = !stream || add_op(stream, trace, op) ? -1 : 0;
    }
    for (uint32_t i = 0; i < streams.count && !status; i++)
        put_stream(table, trace, device, &streams.items[i]);
    free_streams(&streams);
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
