/*
 * Ranks of a job that differ from those like them, and what the others wait for each.
 *
 * A rank's work is known as in stragglers (rank_digest.h), whom others wait for as in rank_blame.h. It differs where one of its
 * numbers is apart from the median of the ranks of its stage of the pipeline (of all, where none is known) by 5 % of its time, of memory
 * by 5 % of the median, and by five of their standard deviations (1.4826 times the median absolute deviation): with fewer than four
 * of them nobody does. A straggler is one of the finding straggler (stragglers.h).
 */
#ifndef NVT_RANK_OUTLIERS_H
#define NVT_RANK_OUTLIERS_H

#include "stragglers.h"

/* What ranks are compared by. */
enum nvt_rank_value {
    NVT_RANK_COMPUTE,
    NVT_RANK_IDLE,
    NVT_RANK_COMMUNICATION,
    NVT_RANK_PEAK,
    NVT_RANK_VALUES
};

/* The ranks that one is compared with: NaN where they are too few, or it is not known of them. */
struct nvt_usual_rank {
    double median[NVT_RANK_VALUES], deviation[NVT_RANK_VALUES];
};

/* Zero-initialise; release with nvt_rank_outliers_free, also after a failure. */
struct nvt_rank_outliers {
    struct nvt_stragglers all;
    struct nvt_usual_rank *usual; /* of each rank */
    double *caused;    /* of each rank: what those that wait for it do so, ns in the mean */
    uint32_t *waiting; /* how many these are */
};

/* 0, or -1 with err. */
int nvt_rank_outliers_make(struct nvt_rank_outliers *job, const struct nvt_input *input,
                           struct nvt_error *err);
void nvt_rank_outliers_free(struct nvt_rank_outliers *job);

/* In what a rank differs, in out, which is returned: "computes longer (+21.9 %), straggler (…)"; NULL: in nothing. */
const char *nvt_rank_outlier_text(const struct nvt_rank_outliers *job, uint32_t rank, char *out,
                                  size_t size);

#endif
