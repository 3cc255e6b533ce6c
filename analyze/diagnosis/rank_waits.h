/*
 * What of the communication of ranks is waiting for another rank, and no transfer that could be overlapped: for a straggler, for
 * ranks that are late by turns, for another stage of a pipeline, or maybe for a rank that is not in the input.
 *
 * Waits are added up over the same time as the finding that they explain.
 */
#ifndef NVT_RANK_WAITS_H
#define NVT_RANK_WAITS_H

#include "stragglers.h"

/* Of a rank, in a time of its own trace: ns in which no kernel computes. */
struct nvt_rank_waits {
    double exposed; /* in collectives and messages, */
    double unknown; /* of it in those that are not paired, of which no wait is known, */
    /* and in those of groups of which ranks are not in the input, or for ranks that may wait in such */
    double missing;
    double stragglers; /* waits for these, */
    double others;     /* for other ranks, */
    /* of these in messages between two ranks, or for one that waits in such by design */
    double messages;
    uint32_t group; /* with most of `missing`, NVT_NONE: none */
};

/* Of what begins in [from, to). */
struct nvt_rank_waits nvt_rank_waits_of(const struct nvt_stragglers *all, uint32_t rank,
                                        int64_t from, int64_t to);

/*
 * Say in findings of exposed communication (`cause`) what of it is waiting. Those that are little else than waits for stragglers,
 * of whom another finding says more, are taken out; `name` is the first of them, NULL: there is none.
 */
void nvt_rank_waits_explain(const struct nvt_stragglers *all, const char *cause, const char *name,
                            struct nvt_findings *findings);

#endif
