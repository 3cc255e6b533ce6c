/*
 * How long a device had nothing to do: from its first operation to its last, the time with at least one operation
 * and without. What is no gap (nvt_gap_least) is busy.
 */
#ifndef NVT_IDLE_GAPS_H
#define NVT_IDLE_GAPS_H

#include "devices.h"

/* The part of a gap before the call that launched the next operation had returned: the device waited for the host. The rest
 * is launch latency and waiting for other streams. */
struct nvt_idle_gap {
    int64_t start, duration, not_launched; /* ns */
    uint32_t before, after;                /* operations */
    const struct nvt_trace *trace;
};

/* The longest of several devices. Zero-initialise. */
#define NVT_LONGEST_GAPS 20
struct nvt_longest_gaps {
    struct nvt_idle_gap items[NVT_LONGEST_GAPS]; /* descending */
    size_t count;
};

struct nvt_idle_gaps {
    int64_t span, busy, not_launched; /* ns */
    double *gaps;                     /* how long each is; to be freed */
    size_t count;
};

/* 0, or -1 when out of memory. */
int nvt_idle_gaps_find(struct nvt_idle_gaps *idle, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct nvt_longest_gaps *longest);

#endif
