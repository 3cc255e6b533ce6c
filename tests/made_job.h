/*
 * Training jobs with tensor, pipeline and data parallelism, simulated: each rank's operations in order on its device, collectives that
 * begin when a rank comes to them and end for all together, with a straggler or none. Everything follows from a seed.
 *
 * A rank is (stage * dp + replica) * tp + part. An iteration is GPipe's: forward of every micro-batch through all stages, with an
 * all-reduce of the tensor group in every layer and a message to the next stage, the same backward, an all-reduce of the data group,
 * and a kernel of the optimizer. Clocks of GPUs are sampled where one is lower; garbage that a straggler collects is in CPU samples. In every other job that all-reduce is one bucket for each layer, launched while the last backward
 * pass still computes, as DistributedDataParallel does. Work varies by a few percent at random, hosts stumble now and then, and clocks of hosts (of 8
 * ranks) are apart by up to 3 s and drift by up to 50 ppm.
 */
#ifndef NVT_MADE_JOB_H
#define NVT_MADE_JOB_H

#include "../analyze/input/input.h"

/* MADE_LINK: the link of the tensor group that the straggler is in is slow. */
enum made_cause {
    MADE_HEALTHY,
    MADE_KERNELS,
    MADE_WORK,
    MADE_HOST,
    MADE_LOADING,
    MADE_GARBAGE,
    MADE_CLOCK,
    MADE_CAUSES,
    MADE_LINK
};

struct made_job {
    uint32_t tp, pp, dp;
    uint32_t ranks;
    enum made_cause cause;
    uint32_t straggler; /* rank, where there is a cause */
    double lateness;    /* of its own work */
    int overlaps;       /* the data group's all-reduces overlap with the backward pass */
    int untold;         /* groups and messages are not recorded */
    int64_t *starts;    /* of each rank: what its clock shows at one moment, early in the job, */
    int64_t *ends;      /* and at one late in it */
    struct nvt_input_trace *traces;
    struct nvt_input input;
};

/* A job of 2 to `most` ranks; without its groups (`untold`). Owned: made_job_free. */
struct made_job made_job(uint64_t seed, enum made_cause cause, uint32_t most, int untold);
void made_job_free(struct made_job *job);

#endif
