/*
 * The levels of record --budget: what is left out, the dearest first, before iterations that are recorded become rare.
 */
#ifndef NVT_BUDGET_LEVELS_H
#define NVT_BUDGET_LEVELS_H

#include <stdint.h>

#include "ring.h"

/* What each level leaves out of `trace` (enum nvt_trace_what bits): the first one nothing, each later one more than the one before, and
 * the last one not all. How many there are, at least 1. */
uint32_t nvt_budget_levels(uint64_t trace, uint64_t leaves_out[NVT_BUDGET_LEVELS]);

#endif
