/*
 * What happens between the call that launches an operation and its start, by stream.
 *
 * An operation whose stream had nothing left to do when its call
 * returned finds the device waiting: its launch is the time from the start of the call to the start of
 * the operation, in which the stream has nothing to do. Any other is queued: its queue is the time
 * from the return of its call to the end of what was before it in the stream, so the host is ahead
 * by that much. Its depth is how many operations of the stream were before it, running or waiting, when
 * its call returned. Operations whose call was not recorded are left out.
 */
#ifndef NVT_LAUNCH_LATENCY_H
#define NVT_LAUNCH_LATENCY_H

#include "devices.h"

struct nvt_stream_launches {
    uint32_t context, stream;
    double *launches, *queues; /* ns, in no order */
    size_t starved, queued;    /* how many of each */
    uint64_t depth;            /* of all together */
    uint32_t deepest;
    int64_t *ends; /* of all operations of the stream, ascending: the latest end up to each */
    uint32_t count;
};

/* Zero-initialise; release with nvt_launch_latencies_free, also after a failure. */
struct nvt_launch_latencies {
    struct nvt_stream_launches *items;
    uint32_t count;
};

/* The streams of a device, in the order of their first operations. 0, or -1 when out of memory. */
int nvt_launch_latencies_make(struct nvt_launch_latencies *made, const struct nvt_trace *trace,
                              const struct nvt_used_device *device);
void nvt_launch_latencies_free(struct nvt_launch_latencies *latencies);

#endif
