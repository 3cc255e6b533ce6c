/*
 * Calls of a thread by the NVTX ranges that hold them: a push/pop range holds what its thread calls from the call's start to
 * its end. Rows of nested ranges hold a call several times, but those of one name, within each other, once.
 */
#ifndef NVT_CALLS_BY_RANGE_H
#define NVT_CALLS_BY_RANGE_H

#include "../model/thread_ranges.h"
#include "../model/groups.h"

/* --- which ranges hold a call --- */

/* The innermost range that holds what a thread did from one moment to another; NVT_NONE: none, or none of the
 * NVT_NESTING_DEPTH around it. */
uint32_t nvt_holder_of(const struct nvt_thread_ranges *holders, uint32_t thread, int64_t start,
                       int64_t end);

/* --- sums by range and call --- */

/* Calls of a trace, in its columns; `bytes` adds those of a call that went out and came in, as far as they are known. */
struct nvt_held_calls {
    uint32_t count;
    const int64_t *start, *end;
    const uint32_t *thread, *name;
    void (*bytes)(void *context, const struct nvt_trace *trace, uint32_t call, double sums[2]);
    void *context;
};

/* Sums over traces. Groups have the keys (range, call), where the range is a text of its own, empty for calls that none
 * holds. Zero-initialise; release with nvt_calls_by_range_free. */
struct nvt_calls_by_range {
    struct nvt_groups groups;
    double (*bytes)[2]; /* of each group: out, in */
    double *ranges_ns;  /* time of all ranges of each name, by the group's first part */
    uint32_t capacity, range_capacity;
};

/* Add the calls of a trace. 0, or -1 with err filled. */
int nvt_calls_by_range_add(struct nvt_calls_by_range *all, const struct nvt_trace *trace,
                           const struct nvt_held_calls *calls, struct nvt_error *err);
void nvt_calls_by_range_free(struct nvt_calls_by_range *all);

/* The columns of how many there were, and how long. */
#define NVT_CALLS_COLUMNS                                                                          \
    {"Num Calls", "", NVT_INT, 0, 0}, {"Total Time (ns)", "ns", NVT_INT, 0, 0},                    \
        {"Avg (ns)", "ns", NVT_REAL, 1, 0}, {"Med (ns)", "ns", NVT_REAL, 1, 0},                    \
        {"Min (ns)", "ns", NVT_INT, 0, 0}, {"Max (ns)", "ns", NVT_INT, 0, 0},                      \
    {                                                                                              \
        "StdDev (ns)", "ns", NVT_REAL, 1, 0                                                        \
    }

/*
 * Rows of a table, sorted by total time: range and call into the first two columns, and from `first` on how many there were,
 * total time, the five columns of nvt_put_summary, the share of the range's time, and megabytes (10^6 bytes) into the columns
 * `out` and `in`. 0, or -1 with err filled.
 */
int nvt_calls_by_range_put(struct nvt_table *table, struct nvt_calls_by_range *all, size_t first,
                           size_t out, size_t in, struct nvt_error *err);

#endif
