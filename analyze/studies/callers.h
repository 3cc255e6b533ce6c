/*
 * Calls by the function of the program that makes them: what the reports of callers have in common. A call whose stack
 * was not recorded has no function; one whose stack has no function of the program's own (call_sites.h) that of the
 * library that called, "[libcuda.so.1]".
 */
#ifndef NVT_CALLERS_H
#define NVT_CALLERS_H

#include "../model/groups.h"
#include "call_sites.h"
#include "calls_by_range.h"

/* The columns of the table. */
#define NVT_CALLERS_COLUMNS                                                                        \
    {"Function", NVT_NAMES}, {"Module", NVT_NAMES}, {"Call", NVT_NAMES}, NVT_CALLS_COLUMNS

/* Those with the most time come first. */
#define NVT_CALLERS_ORDER                                                                          \
    {                                                                                              \
        "-Total Time (ns)", "Function", "Call"                                                     \
    }

/* The groups are those of a function, its module and a call. */
struct nvt_callers {
    struct nvt_groups *groups;
    struct nvt_call_sites sites; /* of the trace that is being added */
};

/* A call by its name (a string of the trace), its stack (as calls have it) and its time. */
void nvt_callers_add(struct nvt_callers *callers, uint32_t name, uint32_t frame, int64_t ns);

/* Add the calls of a trace by `add`. 0, or -1 when out of memory. */
int nvt_callers_group(struct nvt_groups *groups, const struct nvt_trace *trace,
                      void (*add)(struct nvt_callers *callers, const struct nvt_trace *trace));

/* The row of a group: put_group of a report with these columns. */
void nvt_callers_put(struct nvt_table *table, struct nvt_groups *groups, uint32_t group);

#endif
