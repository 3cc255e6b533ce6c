/*
 * Measured figures compared with published ones: each record of run directories with the published figure of the same
 * configuration. The machines differ, so there is a ratio and no verdict.
 */
#ifndef NVT_REFERENCE_PAIRS_H
#define NVT_REFERENCE_PAIRS_H

#include "../../lib/table.h"
#include "../input/input.h"

/* One quantity of one configuration. Texts belong to the input or are static. */
struct nvt_reference_pair {
    const struct nvt_record *ours, *theirs;
    const struct nvt_runs *runs; /* that ours is of */
    char quantity[80];           /* "forward", "peak_allocated" */
    const char *unit;            /* "ms", "MiB", "samples/s" */
    double our_value, our_std;   /* in that unit; the deviations divide by n - 1; NaN: unknown */
    double their_value, their_std;
    const char *remark; /* what must be known to read the ratio, "" */
};

struct nvt_reference_pairs {
    struct nvt_reference_pair *rows;
    size_t count;
    struct nvt_runs *references[8]; /* that theirs belong to, by position of the reference */
};

/*
 * All pairs, in the order of our records. 0, or -1 with err filled: no workload of it is published,
 * or no configuration is the same. Release with nvt_reference_pairs_free in both cases.
 */
int nvt_reference_pairs_find(const struct nvt_input *input, struct nvt_reference_pairs *pairs,
                             struct nvt_error *err);
void nvt_reference_pairs_free(struct nvt_reference_pairs *pairs);

/* As one table "reference", whose caption and columns name both machines. 0 or -1. */
int nvt_reference_pairs_table(const struct nvt_input *input,
                              const struct nvt_reference_pairs *pairs, struct nvt_tables *tables,
                              struct nvt_error *err);

#endif
