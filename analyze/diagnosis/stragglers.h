/*
 * Ranks that the others of their groups wait for in collectives: what the rule `ranks` reports of devices.
 *
 * A rank is one when those that wait for it (rank_blame.h) do so for 5 % of its time, in the mean, and also wait in all for so much
 * more than it does itself: ranks that are late by turns, and the stages of a balanced pipeline, wait as long as each other.
 */
#ifndef NVT_STRAGGLERS_H
#define NVT_STRAGGLERS_H

#include <math.h>

#include "../studies/rank_blame.h"
#include "../studies/rank_shares.h"
#include "diagnose.h"

#define NVT_STRAGGLER_SHARE 0.05

struct nvt_straggler {
    uint32_t rank;
    uint8_t cause;     /* enum nvt_late_cause */
    uint32_t waiting;  /* ranks that wait for it */
    uint32_t compared; /* of these, ranks whose work can be compared (rank_shares.h) */
    uint32_t last;     /* collectives that it came last to */
    double caused_ns;  /* what each of them waits for it: mean */
    double excess_ns;  /* what they wait in all (median), less what it does */
    double through_ns; /* what was waited for it through others, as a share of all that was */
    double waited_ns;  /* medians of those that wait for it: in collectives, */
    double compute_ns; /* computing, */
    double idle_ns;    /* idle; */
    double kernels;    /* kernels that compute, */
    double clock;      /* of their multiprocessors, MHz (0: unknown), medians as well */
    /* Of NVT_LATE_TRANSFER: the collectives that take longer in its group than those of groups alike, NVT_NONE: not known. */
    uint32_t kind;
    uint32_t alike;                /* ranks of that group that are stragglers for the same reason */
    double transfer_ns, others_ns; /* what one takes, there and elsewhere: means */
    struct nvt_longest moments;    /* of its own trace: it is late to a collective */
};

struct nvt_stragglers {
    struct nvt_ranks ranks;
    struct nvt_rank_pairs pairs;
    struct nvt_rank_blame blame;
    struct nvt_rank_share *shares; /* of each rank; NULL where no device communicates */
    /* with most excess first; one for all that a slow group holds up */
    struct nvt_straggler *items;
    uint32_t count;
};

/* Those of the traces of a run (nvt_input_run_numbers). Zero-initialise; release with nvt_stragglers_free, also after a failure.
 * None where no device communicates: ranks.count is then that of processes that call MPI. 0, or -1 with err (out of memory). */
int nvt_stragglers_make(struct nvt_stragglers *stragglers, const struct nvt_input *input,
                        const size_t *numbers, size_t number, struct nvt_error *err);
void nvt_stragglers_free(struct nvt_stragglers *stragglers);

/* Whether ranks of devices take part in collectives. */
static inline int nvt_stragglers_has_devices(const struct nvt_stragglers *stragglers)
{
    return stragglers->pairs.parties > 0 && stragglers->blame.pairs != NULL;
}

/* What a rank's waits are a part of: ns. */
static inline double nvt_straggler_span(const struct nvt_stragglers *stragglers, uint32_t rank)
{
    const double span = stragglers->shares[rank].span;
    return isnan(span) ? (double)stragglers->ranks.items[rank].span : span;
}

#endif
