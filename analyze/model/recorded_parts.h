/*
 * When a recording was under way: `record --dormant` and `--budget` record in parts, and `--capture` what lies in a range. Whoever
 * takes the time between two rows for time of the program asks here first. A trace without rows of `parts` was recorded all the time. A
 * part under way when the recording ended lasts until that end.
 */
#ifndef NVT_RECORDED_PARTS_H
#define NVT_RECORDED_PARTS_H

#include "trace.h"

/* The parts in the order of time, those that overlap as one: part of nvt_trace_finish. 0, or -1 when out of memory. */
int nvt_parts_settle(struct nvt_trace *trace);

/* The last part that begins at or before a moment, from 1; 0: none does. */
uint32_t nvt_part_at(const struct nvt_trace *trace, int64_t moment);

/* Whether some time between two moments, the later one second, was not recorded: what is known of either says nothing of it. */
static inline int nvt_is_across_parts(const struct nvt_trace *trace, int64_t from, int64_t to)
{
    return trace->parts.count > 1 && nvt_part_at(trace, from) != nvt_part_at(trace, to);
}

/* How much of [from, to] lies between parts, ns: not what is before the first or behind the last. */
int64_t nvt_between_parts_ns(const struct nvt_trace *trace, int64_t from, int64_t to);

/* [from, to] without that, ns. */
static inline double nvt_recorded_ns(const struct nvt_trace *trace, int64_t from, int64_t to)
{
    return (double)to - (double)from - (double)nvt_between_parts_ns(trace, from, to);
}

/* Until when all is known of a thread: its end, or that of the recording, or, where that had been stopped by then, when it was. 0: that is
 * not known. */
int64_t nvt_known_until(const struct nvt_trace *trace, uint32_t thread);

/* Whether the recording was under way at a moment. */
int nvt_is_recorded_at(const struct nvt_trace *trace, int64_t moment);

#endif
