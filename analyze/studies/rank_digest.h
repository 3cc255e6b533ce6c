/*
 * The ranks of a job, each reduced to its digest: what comparing it with the others needs. A digest grows with the collectives
 * of its rank and not with its events, and refers to its trace by name alone: texts are strings of the job.
 *
 * A rank is a device of a process. Where no device communicates, it is a process that makes MPI calls or those of torch.distributed, whose
 * calls that wait for all ranks are its collectives, and what it does outside of them its work.
 *
 * A group is a communicator: the ranks that take part in a collective. It is known by its name and members as frameworks have
 * them, or by NCCL's own id of the communicator (its NVTX ranges, nvtx_payload_schemas.h: "NCCL communicator ID", the hash that
 * all its ranks have). A message between two ranks that are known has a group of these two. Otherwise all of a job's ranks
 * are taken for one group, which has yet to be shown (rank_pairs.h).
 */
#ifndef NVT_RANK_DIGEST_H
#define NVT_RANK_DIGEST_H

#include "../../lib/map.h"
#include "../input/input.h"

enum nvt_rank_group_flags {
    NVT_GROUP_ASSUMED = 1, /* that these ranks are it was not recorded */
    NVT_GROUP_PAIR = 2,    /* messages from one rank to another */
    NVT_GROUP_CALLS = 4,   /* MPI calls on the communicator of all */
};

struct nvt_rank_group {
    uint32_t name, members; /* strings of the job; 0 unknown */
    uint32_t size;          /* ranks in it, 0 unknown */
    uint8_t flags;          /* enum nvt_rank_group_flags */
    uint32_t present;       /* ranks of the job that take part */
};

/* What a rank had done until a moment, since its first operation: ns, except for kernels. */
struct nvt_rank_done {
    int64_t work, idle; /* a kernel computed; no operation ran */
    int64_t loading;    /* a thread waited for a batch */
    uint32_t kernels;   /* that computed, begun */
};

/* A collective on a rank, by the rank's own clock. */
struct nvt_rank_part {
    uint32_t name, group; /* a string of the job; of its groups */
    uint64_t sequence;    /* which of its group's, UINT64_MAX: not recorded */
    double bus_bytes;     /* of it, that cross the slowest link (messages.h); NaN unknown */
    int64_t start, end;   /* ns */
    struct nvt_rank_done before, after; /* at its start, at its end; zeros for processes of MPI */
};

struct nvt_rank {
    const struct nvt_input_trace *from;
    uint32_t process, device;    /* NVT_NONE: it is no device's, but a process of MPI */
    int64_t number;              /* of the job, -1 unknown */
    int64_t first;               /* ns: its first operation */
    int64_t span;                /* from there to the end of the last */
    int64_t compute;             /* a kernel computed */
    int64_t idle;                /* no operation ran */
    uint32_t kernels;            /* that computed */
    int64_t communication;       /* a kernel or copy communicated, and none computed */
    struct nvt_rank_part *parts; /* in the order of their starts; owned */
    uint32_t part_count;
};

/* Zero-initialise; release with nvt_ranks_free, also after a failure. */
struct nvt_ranks {
    struct nvt_rank *items;
    uint32_t count;
    struct nvt_strings *names;
    struct nvt_rank_group *groups;
    uint32_t group_count;
    struct nvt_map group_of; /* by the string of what it is known by */
    uint64_t left_out; /* collective MPI calls on another communicator than that of all ranks */
};

/* Those of all traces of a run (nvt_input_run_numbers; numbers NULL: of all traces). 0, or -1 with err. */
int nvt_ranks_find(struct nvt_ranks *ranks, const struct nvt_input *input, const size_t *numbers,
                   size_t number, struct nvt_error *err);
void nvt_ranks_free(struct nvt_ranks *ranks);

/* A rank's number, or its place where the job's is not known. */
static inline int64_t nvt_rank_shown(const struct nvt_ranks *ranks, uint32_t rank)
{
    return ranks->items[rank].number >= 0 ? ranks->items[rank].number : rank;
}

/* A group as people read it: its name and members, "all ranks" or "0 to 4"; in out, which is returned. */
const char *nvt_rank_group_text(const struct nvt_ranks *ranks, uint32_t group, char *out,
                                size_t size);

/* --- of rank_digest.c and rank_digest_mpi.c --- */

/* The group of that key; *group says what is known of it, its name and members as texts of the job. NVT_NONE when out of memory. */
uint32_t nvt_ranks_group(struct nvt_ranks *ranks, const char *key,
                         const struct nvt_rank_group *group);

/* A rank without parts; NULL when out of memory. */
struct nvt_rank *nvt_ranks_add(struct nvt_ranks *ranks, const struct nvt_input_trace *from,
                               uint32_t process, uint32_t device);
int nvt_rank_add_part(struct nvt_rank *rank, const struct nvt_rank_part *part);

/* The processes of traces that call MPI. 0, or -1 with err. */
int nvt_ranks_of_mpi(struct nvt_ranks *ranks, const struct nvt_input *input, const size_t *numbers,
                     size_t number, struct nvt_error *err);

#endif
