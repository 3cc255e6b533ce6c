/*
 * The ranks of a job, each with the collectives that it takes part in and the time in which it computes: what the report
 * stragglers puts together.
 */
#ifndef NVT_STRAGGLER_RANKS_H
#define NVT_STRAGGLER_RANKS_H

#include "../input/input.h"

/* A collective on a rank: the string of its name, in its trace. */
struct nvt_rank_part {
    uint32_t name;
    int64_t start, end;
};

struct nvt_rank {
    const struct nvt_trace *trace;
    uint32_t process, device; /* NVT_NONE: it is no device's, but a process of MPI */
    struct nvt_rank_part *parts;
    uint32_t part_count;
    int64_t number;
    int64_t span, compute, waited;
    uint64_t collectives, last;
    int takes_part;
};

/* Zero-initialise; release with nvt_ranks_free, also after a failure. */
struct nvt_ranks {
    struct nvt_rank *items;
    uint32_t count;
    uint64_t left_out; /* collective MPI calls on another communicator than that of all ranks */
};

/* Those of all traces: devices with kernels that communicate; where there are no such kernels and MPI is called, its
 * processes. 0, or -1 with err. */
int nvt_ranks_find(struct nvt_ranks *ranks, const struct nvt_input *input, struct nvt_error *err);
void nvt_ranks_free(struct nvt_ranks *ranks);

#endif
