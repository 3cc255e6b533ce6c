/* Sums over the collectives that are paired (rank_pairs.h): of each rank, of each group, by cause, and the longest waits. */
#ifndef NVT_RANK_SUMS_H
#define NVT_RANK_SUMS_H

#include "rank_blame.h"
#include "rank_pairs.h"

/* What a rank did in the collectives that are paired. */
struct nvt_rank_standing {
    uint64_t collectives, last; /* last: those that it came last to */
    int64_t waited;             /* ns */
};

struct nvt_rank_standing nvt_rank_standing_of(const struct nvt_rank_pairs *pairs, uint32_t rank);

/* Why a rank is late, over all that wait for it. */
struct nvt_rank_late_sum {
    uint32_t waiting; /* ranks that wait for it so, 0: it is no reason */
    double ns, most;  /* all waits, and the longest of a rank */
    double share;     /* the longest of a rank, % of its time */
};

/* NVT_LATE_CAUSES of each rank; malloc'ed, NULL when out of memory. */
struct nvt_rank_late_sum *nvt_rank_late_sums(const struct nvt_rank_blame *blame);

/* What is known of a group. */
struct nvt_rank_group_sum {
    uint64_t collectives;     /* of two ranks and more */
    int64_t waited, transfer; /* ns; the transfer is that of the shortest kernel of each */
    double bus;               /* median of the bus bandwidths, GB/s; NaN: unknown */
};

/* Of each group; malloc'ed, NULL when out of memory. */
struct nvt_rank_group_sum *nvt_rank_group_sums(const struct nvt_rank_pairs *pairs);

/* The collectives that a rank waits in, the longest wait first; malloc'ed, *count of them. NULL when out of memory. */
const struct nvt_rank_collective **nvt_rank_longest_waits(const struct nvt_rank_pairs *pairs,
                                                          uint32_t *count);

#endif
