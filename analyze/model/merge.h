/*
 * Several traces as one: all rows of all of them on one axis. Processes stay apart, and with them threads, correlation ids, devices and
 * collectives, which are a process's: one whose number another trace has, too, gets a number above those of real ones.
 */
#ifndef NVT_MERGE_H
#define NVT_MERGE_H

#include "clock_fit.h"
#include "trace.h"

/*
 * `count` > 0 finished traces of one format; clocks[i] puts moments of traces[i] on the axis of traces[axis] (a drift of 0 keeps
 * all durations as they are). What holds for any process of a trace holds for each of its own then. Facts are those that all
 * traces agree on, but for the rank, which is in `processes`; warnings and notes name their file. `path` names the whole. Finished;
 * the caller's. NULL with err: out of memory, or more rows than a trace can have.
 */
struct nvt_trace *nvt_merge(const struct nvt_trace *const *traces,
                            const struct nvt_clock_fit *clocks, size_t count, size_t axis,
                            const char *path, struct nvt_error *err);

#endif
