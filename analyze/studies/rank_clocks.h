/*
 * Clocks of ranks against that of the first, by the ends of collectives, which all ranks of a group leave together (clock_fit.h).
 *
 * Ranks that are never in one group are compared by those between them: in a job of tensor and data parallelism each rank meets
 * the first through others. Of all ways the shortest is taken. Ranks of one trace have one clock. Ranks that meet the first on no
 * way are compared with the first of those that they do meet (`root`).
 */
#ifndef NVT_RANK_CLOCKS_H
#define NVT_RANK_CLOCKS_H

#include "../model/clock_fit.h"
#include "rank_pairs.h"

struct nvt_rank_clock_fit {
    /* rank that it is compared with; itself: it is the first of those that meet */
    uint32_t through;
    uint32_t root;  /* that first one */
    uint32_t steps; /* to it */
    /* from its clock to that of `through`; a count of 0: they have one clock */
    struct nvt_clock_fit fit;
    double residual_ns; /* of all steps */
};

/* Of each rank, malloc'ed; NULL when out of memory. */
struct nvt_rank_clock_fit *nvt_rank_clocks(const struct nvt_rank_pairs *pairs);

/* A moment of a rank on the clock of its root. */
int64_t nvt_rank_clock_time(const struct nvt_rank_clock_fit *clocks, uint32_t rank, int64_t moment);

#endif
