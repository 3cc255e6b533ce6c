/*
 * Which collectives of the ranks of a job belong together.
 *
 * The n-th of a kind (a name, in a group) on each rank of the group are one collective: by their sequence numbers where they have
 * some, else by counting. Where a rank has more than another, they are paired by the gaps between them (align.h), or the kind is
 * left out. So is one of a group that more ranks name than it has, as it is not known which of them are in it together; and
 * one whose group is assumed, where the ranks do not leave its collectives together.
 *
 * No clocks are compared: in a collective the ranks that come early wait inside of their kernel, and all leave together. So the
 * shortest of the kernels that belong together is that of the rank that came last, and what the others took longer they waited
 * for it. The shortest one is what the transfer takes.
 */
#ifndef NVT_RANK_PAIRS_H
#define NVT_RANK_PAIRS_H

#include "rank_digest.h"

enum nvt_rank_kind_state {
    NVT_KIND_PAIRED,
    NVT_KIND_BY_GAPS,
    NVT_KIND_NOT_ALL, /* not every rank of the group has it */
    NVT_KIND_UNEVEN,  /* ranks have different numbers, and gaps do not show which belong together */
    NVT_KIND_CROWDED, /* more ranks name the group than it has */
    NVT_KIND_SCATTERED /* the ranks do not leave together: their groups are others */
};

/* The collectives of a name in a group. */
struct nvt_rank_kind {
    uint32_t name, group;
    uint32_t ranks, fewest, most; /* ranks that have some, and how many of it each */
    uint8_t state;                /* enum nvt_rank_kind_state */
    uint8_t by_sequence;
};

/* A part of a rank. */
struct nvt_rank_member {
    uint32_t rank, part;
};

struct nvt_rank_collective {
    uint32_t kind, number;      /* which of its kind: from 1 on, or its sequence number */
    uint32_t ranks, member;     /* so many members, the first one of these */
    uint32_t shortest, longest; /* ranks: who came last and who came first */
    int64_t least, most, sum;   /* ns */
};

/* Zero-initialise; release with nvt_rank_pairs_free, also after a failure. */
struct nvt_rank_pairs {
    const struct nvt_ranks *ranks;
    struct nvt_rank_kind *kinds;
    uint32_t kind_count;
    struct nvt_rank_collective *items; /* in no order */
    uint32_t count;
    struct nvt_rank_member *members; /* by collective */
    uint32_t *firsts;                /* of each rank, of `of` */
    uint32_t *of;                    /* of each part: the collective, NVT_NONE: it is left out */
    uint32_t parties;                /* ranks that take part in any */
};

/* Pair the collectives of ranks, which must outlive the pairs. Linear in them but for sorting. 0, or -1 with err (out of memory). */
int nvt_rank_pairs_make(struct nvt_rank_pairs *pairs, struct nvt_ranks *ranks,
                        struct nvt_error *err);
void nvt_rank_pairs_free(struct nvt_rank_pairs *pairs);

/* The collective of a part of a rank, NULL: it is left out. */
static inline const struct nvt_rank_collective *
nvt_rank_collective_of(const struct nvt_rank_pairs *pairs, uint32_t rank, uint32_t part)
{
    const uint32_t of = pairs->of[pairs->firsts[rank] + part];
    return of == NVT_NONE ? NULL : &pairs->items[of];
}

/* What all of its ranks wait in a collective: ns. Of a broken file it means nothing. */
static inline int64_t nvt_rank_all_waits(const struct nvt_rank_collective *item)
{
    return (int64_t)((uint64_t)item->sum - (uint64_t)item->least * item->ranks);
}

static inline const struct nvt_rank_part *nvt_rank_part_of(const struct nvt_rank_pairs *pairs,
                                                           struct nvt_rank_member member)
{
    return &pairs->ranks->items[member.rank].parts[member.part];
}

/* What a note says of a kind that is not simply paired, behind "note: ", in out, which is returned; NULL where it is. */
const char *nvt_rank_kind_note(const struct nvt_rank_pairs *pairs, uint32_t kind, char *out,
                               size_t size);

#endif
