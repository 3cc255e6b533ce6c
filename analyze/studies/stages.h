/*
 * The stages of a pipeline, by the messages between ranks or the ranges of their steps: how long each waits for the stages
 * before and behind it, in all and by micro-batch.
 *
 * By messages: one is known by its two ends (rank_digest.h), and waits are those of rank_pairs.h: what its operation takes longer than
 * the shorter one of its two ends, which is the transfer, as far as no kernel computes meanwhile. Between two ranks, messages in the
 * direction of the first one are forward, the others backward; those between places of another axis (a ring of context
 * parallelism) do not count. A rank's stage is its place in the pipeline where groups say it, else how
 * many ranks are before it; unknown where messages go round, as with interleaved stages. The number of a micro-batch counts the
 * messages of a direction in an iteration, where each iteration has as many.
 *
 * By ranges that name the steps (stage_names.h), where messages do not say the stage of every rank that has any: a rank waits before a
 * step while its device runs nothing but messages. A forward step waits for the previous stage, and a backward one for the next; the
 * first stage has no previous one, and the last no next.
 */
#ifndef NVT_STAGES_H
#define NVT_STAGES_H

#include "rank_digest.h"

/* A stage on a rank. */
struct nvt_stage {
    uint32_t rank;                 /* of the ranks */
    uint32_t number;               /* of the stage, NVT_NONE: unknown */
    uint32_t batches;              /* micro-batches in an iteration, 0: unknown */
    int64_t compute;               /* ns */
    double for_previous, for_next; /* waits, ns */
};

/* A stage in a micro-batch: what its messages, or the steps of its ranks, wait: of the forward pass, and of the backward pass. */
struct nvt_stage_batch {
    uint32_t stage, batch;
    double waited[2]; /* ns, of all together */
    uint32_t counts[2];
};

/* Zero-initialise; release with nvt_stages_free, also after a failure. */
struct nvt_stages {
    struct nvt_ranks ranks;
    struct nvt_stage *items;
    struct nvt_stage_batch *batches;
    uint32_t count, batch_count;
    int by_ranges;
    uint64_t left_out; /* messages whose other end is not there */
};

/* 0, or -1 with err filled: out of memory, or that of nvt_ranks_find. */
int nvt_stages_make(struct nvt_stages *stages, const struct nvt_input *input,
                    struct nvt_error *err);
void nvt_stages_free(struct nvt_stages *stages);

/* --- of stages_by_range.c --- */

/* Whether any rank has ranges of steps. */
int nvt_has_stage_ranges(const struct nvt_ranks *ranks);

/* The stages of `ranks` by them. 0, or -1 when out of memory. */
int nvt_stages_by_range(struct nvt_stages *stages);

#endif
