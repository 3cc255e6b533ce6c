/*
 * The ranks of a job, each reduced to its digest: what comparing it with the others needs. A digest grows with the collectives
 * of its rank and not with its events, and refers to its trace by name alone: texts are strings of the job.
 *
 * A rank is a device of a process. Where no device was recorded, it is a process whose collectives NCCL reported (record --trace
 * nccl). Where no device communicates, it is a process that makes MPI calls or those of torch.distributed, whose
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
#include "rank_places.h"
#include "stage_names.h"

enum nvt_rank_group_flags {
    NVT_GROUP_ASSUMED = 1, /* that these ranks are it was not recorded */
    NVT_GROUP_PAIR = 2,    /* messages from one rank to another */
    NVT_GROUP_CALLS = 4,   /* MPI calls on the communicator of all */
};

struct nvt_rank_group {
    uint32_t key;           /* string of the job: what it is known by */
    uint32_t name, members; /* strings of the job; 0 unknown */
    uint32_t size;          /* ranks in it, 0 unknown */
    uint8_t flags;          /* enum nvt_rank_group_flags */
    uint32_t present;       /* ranks of the job that take part */
};

/* What a rank had done until a moment, since its first operation: ns, except for kernels. */
struct nvt_rank_done {
    int64_t work, idle; /* a kernel computed; no operation ran */
    int64_t loading;    /* a thread waited for a batch */
    int64_t collecting; /* garbage was collected, by CPU samples */
    uint32_t kernels;   /* that computed, begun */
};

/* A collective on a rank, by the rank's own clock. */
struct nvt_rank_part {
    /* of its trace: nvt_rank_part_name and nvt_rank_part_group have the job's */
    uint32_t name, group;
    uint64_t sequence;  /* which of its group's, UINT64_MAX: not recorded */
    double bus_bytes;   /* of it, that cross the slowest link (messages.h); NaN unknown */
    int64_t start, end; /* ns */
    struct nvt_rank_done before, after; /* at its start, at its end; zeros for processes of MPI */
};

/* An iteration of a rank's process: what its device did meanwhile. */
struct nvt_rank_turn {
    int64_t length; /* ns */
    int64_t own;    /* of it a kernel computed or no operation ran: ns */
};

/* A step of a pipeline that a range names (stage_names.h), on a rank's device. */
struct nvt_rank_step {
    struct nvt_stage_name name;
    int64_t start, end; /* ns: of its kernels, first and last */
    int64_t compute;    /* ns: a kernel computed meanwhile */
    /* ns in which its device ran nothing but messages: since the step before, where it computes, 0 of the first; else in it */
    int64_t waited;
};

struct nvt_rank {
    const struct nvt_input_trace *from;
    uint32_t process, device; /* NVT_NONE: it is no device's, but a process of MPI, or */
    int is_of_nccl;           /* one whose collectives NCCL itself reported (rank_digest_nccl.c) */
    int64_t number;           /* of the job, -1 unknown */
    int64_t first;            /* ns: its first operation */
    int64_t span;             /* from there to the end of the last */
    int64_t compute;          /* a kernel computed */
    int64_t idle;             /* no operation ran */
    uint32_t kernels;         /* that computed */
    int64_t communication;    /* a kernel or copy communicated, and none computed */
    uint32_t iterations;      /* of its process, in the whole trace */
    struct nvt_rank_turn *turns; /* each of them; NULL for processes of MPI; owned as parts are */
    double clock; /* MHz, the mean of its multiprocessors' while it worked; NaN unknown */
    int64_t peak; /* most memory that was allocated on its device, bytes; -1 unknown */
    uint32_t places[NVT_RANK_AXES]; /* NVT_NONE: unknown */
    struct nvt_rank_part *parts;    /* in the order of their starts */
    uint32_t part_count;
    /* in the order of their starts; those that receive only where none computes; owned as parts are */
    struct nvt_rank_step *steps;
    uint32_t step_count;
    /* Of what parts call names and groups, the job's; NULL: they are the job's, and the parts this rank's own. */
    const uint32_t *names, *groups;
};

/* A string of the job; one of its groups. */
static inline uint32_t nvt_rank_part_name(const struct nvt_rank *rank, uint32_t part)
{
    const uint32_t name = rank->parts[part].name;
    return rank->names ? rank->names[name] : name;
}

static inline uint32_t nvt_rank_part_group(const struct nvt_rank *rank, uint32_t part)
{
    const uint32_t group = rank->parts[part].group;
    return rank->groups ? rank->groups[group] : group;
}

/* Whether a group has ranks that are not in the input. */
static inline int nvt_rank_group_is_part(const struct nvt_rank_group *group)
{
    return group->present < group->size;
}

struct nvt_rank_file;

/* Zero-initialise; release with nvt_ranks_free, also after a failure. */
struct nvt_ranks {
    struct nvt_rank *items;
    uint32_t count;
    struct nvt_strings *names;
    struct nvt_rank_group *groups;
    uint32_t group_count;
    struct nvt_map group_of; /* by the string of what it is known by */
    uint64_t left_out; /* collective MPI calls on another communicator than that of all ranks */
    struct nvt_rank_file *files; /* that they were put together from */
    size_t file_count;
};

/*
 * Those of all traces of a run (nvt_input_run_numbers; numbers NULL: of all traces). What an input_trace has as its digest is
 * used and has to last as long; of other traces one is made, several at a time. 0, or -1 with err.
 */
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

/* For an input of whose traces nothing else is needed. */
extern const struct nvt_input_digester nvt_rank_digester;

/* --- of rank_digest.c, rank_merge.c and rank_digest_mpi.c --- */

/* The devices of one trace, with names and groups of their own. Zero-initialise; release with nvt_ranks_free, also after a failure. 0, or
 * -1 with err. */
int nvt_ranks_of_trace(struct nvt_ranks *digest, const struct nvt_input_trace *from,
                       struct nvt_error *err);

/* The group of that key; *group says what is known of it, its name and members as texts of the job. NVT_NONE when out of memory. */
uint32_t nvt_ranks_group(struct nvt_ranks *ranks, const char *key,
                         const struct nvt_rank_group *group);

/* A rank without parts; NULL when out of memory. */
struct nvt_rank *nvt_ranks_add(struct nvt_ranks *ranks, const struct nvt_input_trace *from,
                               uint32_t process, uint32_t device);
int nvt_rank_add_part(struct nvt_rank *rank, const struct nvt_rank_part *part);

/* The processes of a trace without operations whose collectives NCCL reported. 0, or -1 when out of memory. */
int nvt_ranks_of_nccl(struct nvt_ranks *ranks, const struct nvt_input_trace *from);

/* Whether parts of a rank have what it did until them, so that it can be found out why it is late. */
static inline int nvt_rank_has_done(const struct nvt_rank *rank)
{
    return rank->device != NVT_NONE || rank->is_of_nccl;
}

/* The digest of a trace as bytes for another process (image.h), and back: 0 or -1. */
void nvt_ranks_put(const struct nvt_input_trace *item, struct nvt_buffer *out);
int nvt_ranks_take(struct nvt_input_trace *item, struct nvt_cursor *in);

/* The processes of traces that call MPI. 0, or -1 with err. */
int nvt_ranks_of_mpi(struct nvt_ranks *ranks, const struct nvt_input *input, const size_t *numbers,
                     size_t number, struct nvt_error *err);

#endif
