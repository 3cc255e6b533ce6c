/*
 * What of each rank can be compared with the others: all of it, or, where files of a job cover different times (one is cut, or
 * begins late), what lies in the time that they have in common.
 *
 * That time is between the first and the last end of a collective that all are in, on the clock of the first of those that meet
 * (rank_clocks.h). A rank whose clock is not known against that of most others, or whose file has less than a quarter of their
 * time, cannot be compared.
 */
#ifndef NVT_RANK_SHARES_H
#define NVT_RANK_SHARES_H

#include "rank_pairs.h"

/* As in struct nvt_rank: ns, but for kernels. NaN: it cannot be compared. */
struct nvt_rank_share {
    double span, compute, idle, communication, kernels;
    /* of the rank's collectives those that are paired, where the times differ; else 1 */
    double part;
    int is_part; /* the times differ */
};

/* Of each rank, malloc'ed; NULL when out of memory. */
struct nvt_rank_share *nvt_rank_shares(const struct nvt_rank_pairs *pairs);

/* Notes, behind "note: ", what is compared, where that is not all; in out, which is returned; NULL: it is all. */
const char *nvt_rank_shares_note(const struct nvt_ranks *ranks, const struct nvt_rank_share *shares,
                                 char *out, size_t size);

#endif
