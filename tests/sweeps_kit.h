/* Looking into sweeps (analyze/sweeps/). */
#ifndef NVT_TESTS_SWEEPS_KIT_H
#define NVT_TESTS_SWEEPS_KIT_H

#include "../analyze/sweeps/sweeps.h"

/* What a sweep has of a name, without which the test fails. */
const struct nvt_sweep_item *sweeps_find(const struct nvt_sweep *sweep, enum nvt_sweep_kind kind,
                                         const char *name);

#endif
