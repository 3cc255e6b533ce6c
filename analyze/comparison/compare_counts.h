/*
 * CPU counts of ranges (record --trace counters) on the sides of a comparison: what explains that a range takes another time. Page
 * faults and context switches are compared, by the median of a call, which the first calls do not change; and rates of hardware
 * counters (compare_rates.h).
 */
#ifndef NVT_COMPARE_COUNTS_H
#define NVT_COMPARE_COUNTS_H

#include "../../lib/buffer.h"
#include "../model/groups.h"
#include "compare_rates.h"
#include "compare_sides.h"

/* Zero-initialise; release with nvt_compared_counts_free, also after a failure. */
struct nvt_compared_counts {
    struct nvt_groups groups; /* of range, count and side, the numbers of calls */
    struct nvt_compared_rates rates;
    uint8_t has[NVT_SIDES]; /* whether a side has any counts */
};

/* Add an input (its traces read) to a side. 0, or -1 with err. */
int nvt_compared_counts_add(struct nvt_compared_counts *counts, size_t side,
                            const struct nvt_input *input, struct nvt_error *err);

/*
 * When all sides are there: append a sentence for each of the ranges that differ most between the first and another side, three at
 * most: "work has 12 minor faults a call on side A, 812 on side B". They differ where the greater median is half as much again, and
 * greater by 10 faults or 2 switches, over 5 calls on each side at least. Counts are a range's own (range_counts.h), so that what
 * differs is named where it differs, and not again in the ranges around it; where those are unknown, all. Then those of rates. 0, or -1 with err.
 */
int nvt_compared_counts_text(struct nvt_compared_counts *counts, size_t sides,
                             struct nvt_buffer *out, struct nvt_error *err);
/* A line for each side that has no counts where others have: "note: …". 0, or -1 when out of memory. */
int nvt_compared_counts_note(const struct nvt_compared_counts *counts, size_t sides,
                             struct nvt_buffer *out);
void nvt_compared_counts_free(struct nvt_compared_counts *counts);

#endif
