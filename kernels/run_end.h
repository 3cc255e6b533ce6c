/* What `nvtally run` tells when its sweep has ended. Only kernels/run.c uses this. */
#ifndef NVT_RUN_END_H
#define NVT_RUN_END_H

#include "sweep.h"

/*
 * Show the study's table, and say what was not ok and where the results are, or, `is_temporary`, that they are kept
 * nowhere. `err`: why the last run that was not ok was not. The exit status of the command.
 */
int nvt_run_end(const struct nvt_sweep *sweep, int is_temporary, const struct nvt_sweep_end *end,
                const struct nvt_error *err);

#endif
