/*
 * One run of a sweep: what each name costs in an iteration of it.
 */
#ifndef NVT_SWEEP_RUN_H
#define NVT_SWEEP_RUN_H

#include "sweeps.h"

/*
 * Add a run of `count` traces, those of its ranks, with this value of the axis: a point to each item that occurs in its
 * iterations, which are those of all its traces together. 0, or -1 when out of memory.
 */
int nvt_sweep_add_run(struct nvt_sweep *sweep, double n, const struct nvt_trace *const *traces,
                      size_t count);

#endif
