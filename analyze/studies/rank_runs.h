/*
 * Traces of one run, of which no rank is known: those that name the same group of ranks and were recorded at the same time are one job's,
 * whose ranks have the order of the files.
 */
#ifndef NVT_RANK_RUNS_H
#define NVT_RANK_RUNS_H

#include <stddef.h>

#include "../input/input.h"

/* Which run each trace is of, as nvt_input_run_numbers has it of those whose rank is known; runs may be empty. malloc'ed, NULL when
 * out of memory. */
size_t *nvt_rank_run_numbers(const struct nvt_input *input, size_t *count);

#endif
