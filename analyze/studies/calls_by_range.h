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

/* What such groups carry. Their keys are (range, call), where the range is a text of its own, empty for calls that none holds. */
struct nvt_held_sums {
    double bytes[2];
    double ranges_ns; /* of the time of all ranges of a name, which has a group of its own for it */
};

/* Add the calls of a trace to groups that carry these. 0, or -1 with err filled. */
int nvt_calls_by_range_add(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_held_calls *calls, struct nvt_error *err);

/* The call of a group; "" of that of a range's time. */
const char *nvt_calls_by_range_call(const struct nvt_groups *groups, uint32_t group);

/* The columns of how many there were, and how long. */
#define NVT_CALLS_COLUMNS                                                                          \
    {"Num Calls", NVT_COUNTS}, {"Total Time (ns)", NVT_NS}, NVT_SUMMARY_COLUMNS("")

/* The row of a group, if it is one of calls: range and call; `kind`, if it is not NULL; those columns, the share of the range's
 * time, and both bytes in megabytes (10^6 bytes). The table's order has the heading of the call. */
void nvt_calls_by_range_put(struct nvt_table *table, struct nvt_groups *groups, uint32_t group,
                            const char *kind);
#define NVT_CALLS_BY_RANGE_ORDER(call)                                                             \
    {                                                                                              \
        "-Total Time (ns)", "NVTX Range", call                                                     \
    }

#endif
