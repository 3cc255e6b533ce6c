/*
 * Times without the collector's own cost, from what it measured of itself (lib/costs.h). What TAU's
 * TAU_COMPENSATE does while it profiles (Malony and Shende, "Overhead Compensation in Performance
 * Profiling", 2004) is done here on reading, and only when asked for.
 *
 * The moments of a thread are moved towards its beginning by the cost of all that the thread had
 * recorded before them. So a range loses what its own begin and end take between its two moments,
 * and the whole cost of the ranges and marks in it; start, end and duration keep to each other, and
 * so do ranges and what lies in them. The order of a thread's moments stays, and two that were
 * apart stay 1 ns apart, so that no duration is negative and no range falls out of the one around
 * it. Threads move apart from each other and from devices: times of different threads are no longer
 * to be compared. A start/end range that ends on another thread keeps its duration.
 */
#ifndef NVT_COMPENSATE_H
#define NVT_COMPENSATE_H

#include "../model/trace.h"

/* Before nvt_trace_finish. 0, or -1 with err: the trace has no recorded costs, or out of memory. */
int nvt_compensate(struct nvt_trace *trace, struct nvt_error *err);

/* The recorded cost for a process, ps; 0: none. */
uint32_t nvt_event_cost_of(const struct nvt_trace *trace, uint32_t process, enum nvt_cost what);

#endif
