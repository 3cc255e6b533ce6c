/*
 * Peak memory of runs, by phase, as their rows have it: what the report memory_peak prints in addition to the memory
 * events of traces. The workloads' own allocator counts it, the same on a host as on a device.
 */
#ifndef NVT_MEMORY_RUNS_H
#define NVT_MEMORY_RUNS_H

#include "../input/input.h"

/* Append a table, of that name, of a row for each run and phase, the whole run first; none where no row has a peak. 0, or -1 with
 * err. */
#define NVT_MEMORY_OF_RUNS "memory_runs"
int nvt_memory_of_runs(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err);

#endif
