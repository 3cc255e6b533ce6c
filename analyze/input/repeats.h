/*
 * Repetitions of a run put together, as `nvtally run --repeat` makes them: records of a directory
 * that have a member `repeat` and say the same but for that, the date, the seed and what was
 * measured.
 */
#ifndef NVT_REPEATS_H
#define NVT_REPEATS_H

#include "input.h"

/*
 * The input with repetitions as one record, where the first of them stood; without traces. It is as
 * if all iterations had been of one run: `iterations` is their number, X_ns_mean, _std, _min and
 * _max are those of all of them, and X_ns_median is null, as that is not known. Of peaks and reserved
 * memory it has the greatest, of other numbers the mean; texts, and numbers as they were written, are the first's.
 *
 * Records belong to `input`, which outlives it; so do its notes, which are lent to it: those that
 * are made of it are `input`'s after nvt_repeats_free, which releases it also after a failure. 0, or
 * -1 with err (out of memory).
 */
int nvt_repeats_together(struct nvt_input *input, struct nvt_input *together,
                         struct nvt_error *err);
void nvt_repeats_free(struct nvt_input *together, struct nvt_input *input);

#endif
