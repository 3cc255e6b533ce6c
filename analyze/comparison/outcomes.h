/*
 * What a comparison comes to: each time of a side against that of side A, with its verdict.
 */
#ifndef NVT_OUTCOMES_H
#define NVT_OUTCOMES_H

#include "compare_sides.h"

/* A side against A. */
struct nvt_outcome {
    const struct nvt_compared *group;
    size_t side, place; /* place: rows with a lower one come first */
    struct nvt_change *change;
};

/* Zero-initialise; release with nvt_outcomes_free, also after a failure. The rows point into the sides. */
struct nvt_outcomes {
    /* those of a configuration together, the largest changes of total time first */
    struct nvt_outcome *rows;
    struct nvt_change *changes; /* of the rows, before they were sorted */
    size_t count, compared;     /* compared: the first of the changes, that both sides have */
    double level;               /* of their intervals, a fraction */
};

/*
 * Measure, judge (nvt_change_verdicts with NVT_CHANGE_ALPHA) and sort. `tolerance`: a fraction, within which times are the
 * same. `is_one_list`: the largest changes first, of whatever configuration. 0, or -1 when out of memory.
 */
int nvt_outcomes_make(struct nvt_outcomes *outcomes, const struct nvt_sides *groups, size_t sides,
                      double tolerance, int is_one_list);
void nvt_outcomes_free(struct nvt_outcomes *outcomes);

/* How many are slower by more than `fraction`, and how many may be: NaN, none. Functions do not count: work that goes from one to
 * another is no loss. */
void nvt_outcomes_above(const struct nvt_outcomes *outcomes, double fraction, size_t *slower,
                        size_t *unknown);

/* Whether side A and the row's have it. */
int nvt_outcome_has_both(const struct nvt_outcome *row);
/* ns of a run that the row's side takes more than A. */
double nvt_outcome_change_of_total(const struct nvt_outcome *row);

#endif
