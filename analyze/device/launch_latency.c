#include "launch_latency.h"

#include <stdlib.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"

static struct nvt_stream_launches *stream_of(struct nvt_launch_latencies *streams, uint32_t context,
                                             uint32_t stream)
{
    for (uint32_t i = streams->count; i-- > 0;)
        if (streams->items[i].context == context && streams->items[i].stream == stream)
            return &streams->items[i];
    if (nvt_grow(&streams->items, streams->count, sizeof(*streams->items)))
        return NULL;
    streams->items[streams->count] =
        (struct nvt_stream_launches){.context = context, .stream = stream};
    return &streams->items[streams->count++];
}

static int make_room(struct nvt_stream_launches *stream)
{
    return nvt_grow(&stream->ends, stream->count, sizeof(*stream->ends)) ||
           nvt_grow(&stream->launches, stream->count, sizeof(*stream->launches)) ||
           nvt_grow(&stream->queues, stream->count, sizeof(*stream->queues));
}

/* How many of the stream's operations so far end after a time. */
static uint32_t ahead(const struct nvt_stream_launches *stream, int64_t time)
{
    uint32_t low = 0;
    NVT_BISECT(low, stream->count, stream->ends[low] <= time);
    return stream->count - low;
}

/* Operations come in the order of their starts. */
static int add_op(struct nvt_stream_launches *stream, const struct nvt_trace *trace, uint32_t op)
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

int nvt_launch_latencies_make(struct nvt_launch_latencies *made, const struct nvt_trace *trace,
                              const struct nvt_used_device *device)
{
    for (uint32_t i = 0; i < device->count; i++) {
        const uint32_t op = device->ops[i];
        struct nvt_stream_launches *stream =
            stream_of(made, trace->ops.context[op], trace->ops.stream[op]);
        if (!stream || add_op(stream, trace, op))
            return -1;
    }
    return 0;
}

void nvt_launch_latencies_free(struct nvt_launch_latencies *latencies)
{
    for (uint32_t i = 0; i < latencies->count; i++) {
        free(latencies->items[i].ends);
        free(latencies->items[i].launches);
        free(latencies->items[i].queues);
    }
    free(latencies->items);
}
