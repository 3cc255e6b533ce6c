/*
 * How long a device had nothing to do: from its first operation to its last, the time with at least one operation
 * and without. What is no gap (gaps.h) is busy; what lies between two parts of a recording is neither.
 */
#ifndef NVT_IDLE_GAPS_H
#define NVT_IDLE_GAPS_H

#include "gaps.h"

/* The longest of several devices. Zero-initialise. */
#define NVT_LONGEST_GAPS 20
struct nvt_longest_gaps {
    struct nvt_gap items[NVT_LONGEST_GAPS]; /* descending */
    const struct nvt_trace *traces[NVT_LONGEST_GAPS];
    size_t count;
};

struct nvt_idle_gaps {
    int64_t span, busy;   /* ns */
    int64_t not_launched; /* ns: the host_ns of all gaps */
    double *gaps;         /* how long each is; to be freed */
    size_t count;
};

/* 0, or -1 when out of memory. */
int nvt_idle_gaps_find(struct nvt_idle_gaps *idle, const struct nvt_trace *trace,
                       const struct nvt_used_device *device, struct nvt_longest_gaps *longest);

#endif
