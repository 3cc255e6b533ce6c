/*
 * Push/pop ranges by thread, whatever their domains, and how they lie in each other.
 */
#ifndef NVT_THREAD_RANGES_H
#define NVT_THREAD_RANGES_H

#include "buckets.h"
#include "nesting.h"

/* Zero-initialise; release with nvt_thread_ranges_free, also after a failure. */
struct nvt_thread_ranges {
    const struct nvt_trace *trace;
    struct nvt_buckets threads; /* rows of each, by their starts */
    uint32_t *parent;           /* of each range */
};

/* 0, or -1 with err filled (out of memory). */
int nvt_thread_ranges_make(struct nvt_thread_ranges *ranges, const struct nvt_trace *trace,
                           struct nvt_error *err);
void nvt_thread_ranges_free(struct nvt_thread_ranges *ranges);

/* Whether no range of the same name and domain is around one, looking at NVT_NESTING_DEPTH ranges at most. */
int nvt_thread_ranges_is_outermost(const struct nvt_thread_ranges *ranges, uint32_t row);

/* The last range that a thread has begun by a moment, from which its parents lead on; NVT_NONE: there is none. */
uint32_t nvt_thread_ranges_last(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                int64_t moment);

/* The ranges that a thread is in at a moment, the innermost first; returns how many. Those that begin at it are
 * among them. */
uint32_t nvt_thread_ranges_open(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                int64_t moment, uint32_t open[NVT_NESTING_DEPTH]);

/* The innermost of them, NVT_NONE: there is none; *until gets when the thread enters or leaves a range next, behind that moment
 * (INT64_MAX: never). */
uint32_t nvt_thread_ranges_innermost(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                     int64_t moment, int64_t *until);

#endif
