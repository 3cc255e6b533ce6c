/*
 * CPU counts of push/pop ranges (record --trace counters): what each has with those within it, and without them.
 *
 * Own counts are those of a range less those of the ranges that lie directly within it, of whatever domain on its thread. They are
 * unknown where such a one has none, and where two of them overlap (pushed and popped crosswise in two domains).
 *
 * The collector counts itself: reading the counts twice is about a microsecond of CPU time in each pair, of which about a half
 * lies within the pair and the rest in the range around it.
 */
#ifndef NVT_RANGE_COUNTS_H
#define NVT_RANGE_COUNTS_H

#include "../../lib/counts.h"
#include "../model/thread_ranges.h"

/* By enum nvt_count; CPU time in ns; -1: unknown. */
struct nvt_count_values {
    int64_t of[NVT_COUNT_COUNT];
};

/* Zero-initialise; release with nvt_counted_ranges_free, also after a failure. */
struct nvt_counted_ranges {
    struct nvt_thread_ranges ranges;
    struct nvt_count_values *all, *own; /* of each range; all unknown where it has none */
    int64_t *children_ns;               /* of each, time in at least one range directly within it */
    uint64_t without;                   /* push/pop ranges that have both ends and no counts */
};

/* 0, or -1 with err filled (out of memory). */
int nvt_counted_ranges_make(struct nvt_counted_ranges *counted, const struct nvt_trace *trace,
                            struct nvt_error *err);
void nvt_counted_ranges_free(struct nvt_counted_ranges *counted);

/* Add to a sum; what is unknown of either is, of the sum. */
void nvt_count_values_add(struct nvt_count_values *sum, const struct nvt_count_values *values);

/* Whether anything is known. */
int nvt_is_counted(const struct nvt_count_values *values);

#endif
