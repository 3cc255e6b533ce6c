/*
 * Whom the ranks of a job wait for, and why that one is late.
 *
 * In each collective the rank that came last (rank_pairs.h) is compared with those that waited for it, since the collective of the
 * group before it, which all left together (or since the first operation): what more it computed, had nothing to run, waited in
 * collectives of other groups, or was in their transfer, adds up to what it came later. Differences of times on one clock are
 * compared, so no clocks need agree. The largest difference is the cause; where that is a wait in another group, the rank that is
 * blamed for that wait is blamed for this one too: rank 3 waits for 2, which waited for 7.
 *
 * What counts of a wait is what no kernel that computes overlaps. Nobody leaves a collective together that kernels overlap: what a
 * rank does is compared since one before it.
 *
 * In a group of which ranks are not in the input, what is no wait for one that is may be a wait for one that is not, and no
 * transfer: nothing that follows from it is put down to a rank.
 */
#ifndef NVT_RANK_BLAME_H
#define NVT_RANK_BLAME_H

#include "rank_pairs.h"

enum nvt_late_cause {
    NVT_LATE_KERNELS,  /* its kernels take longer than those of the others */
    NVT_LATE_CLOCK,    /* the same, as its clock is lower */
    NVT_LATE_WORK,     /* it runs more kernels */
    NVT_LATE_HOST,     /* its device has nothing to run: its host launches late */
    NVT_LATE_LOADING,  /* the same, while a thread waits for a batch */
    NVT_LATE_GARBAGE,  /* the same, while garbage is collected */
    NVT_LATE_OUTSIDE,  /* it is outside of collectives for longer: its device was not recorded */
    NVT_LATE_TRANSFER, /* its collectives in another group take longer, without a wait */
    NVT_LATE_BUBBLE, /* it sends a message late, as its own work comes first, which takes no longer than that of others */
    NVT_LATE_MISSING, /* it may wait itself, for a rank that is not in the input */
    NVT_LATE_UNKNOWN,
    NVT_LATE_CAUSES
};

/* "its kernels take longer"; static text. */
const char *nvt_late_cause_text(enum nvt_late_cause cause);

/* Whether a lower clock (MHz; NaN or 0: unknown) explains half of what kernels took longer than those of the others: as if they took
 * as many cycles. */
int nvt_is_clocked_down(double clock, double others, double work, double longer);

/* The first of the chain that leads to the rank that came last. */
struct nvt_rank_reason {
    uint32_t rank;
    uint8_t cause;    /* enum nvt_late_cause */
    uint32_t through; /* ranks between it and those that wait */
    /* collective in which the one that came last waited for it, NVT_NONE: it is that itself */
    uint32_t via;
    uint32_t group; /* NVT_LATE_MISSING: of which a rank is not in the input */
};

/* What one rank waited for another: ns. */
struct nvt_rank_wait {
    uint32_t waiting, late;
    double ns[NVT_LATE_CAUSES];
};

/* In all, as far as it is for a rank that is in the input. */
static inline double nvt_rank_wait_ns(const struct nvt_rank_wait *wait)
{
    double ns = 0;
    for (int i = 0; i < NVT_LATE_CAUSES; i++)
        ns += i == NVT_LATE_MISSING ? 0 : wait->ns[i];
    return ns;
}

struct nvt_rank_blame {
    const struct nvt_rank_pairs *pairs;
    struct nvt_rank_reason *reasons; /* of each collective */
    struct nvt_rank_wait *waits;     /* in no order */
    uint32_t wait_count;
    double *waited;     /* of each rank, in all: ns */
    uint32_t *last;     /* of each rank: collectives in which it is the first of the chain */
    uint32_t *met;      /* of each rank: collectives that it takes part in */
    double *through_ns; /* of each rank: what was waited for it through others */
};

/* Zero-initialise *blame; release it with nvt_rank_blame_free, also after a failure. `pairs` are of devices and must outlive it. Linear in
 * the parts but for groups: a wait in another group is looked for since the collective before. 0, or -1 with err (out of memory). */
int nvt_rank_blame_make(struct nvt_rank_blame *blame, const struct nvt_rank_pairs *pairs,
                        struct nvt_error *err);
void nvt_rank_blame_free(struct nvt_rank_blame *blame);

/* What is waited of a part of a rank: ns, as far as no kernel computes meanwhile. */
double nvt_rank_exposed_wait(const struct nvt_rank_pairs *pairs, struct nvt_rank_member member);

#endif
