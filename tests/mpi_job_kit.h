/*
 * Jobs of MPI that are made up: all ranks in one trace or each in one of its own, with the calls that a test gives
 * them. Times are ms of the first rank's clock.
 */
#ifndef NVT_TESTS_MPI_JOB_KIT_H
#define NVT_TESTS_MPI_JOB_KIT_H

#include <stdint.h>

#include "../analyze/diagnosis/late_ranks.h"

#define MS INT64_C(1000000)

enum { MOST = 4 };

/* A job: all ranks in one trace, or each in a trace of its own, whose clock is `ahead` of that of the one before. */
struct mpi_job {
    struct nvt_trace *traces[MOST];
    struct nvt_input_trace inputs[MOST];
    uint32_t thread[MOST]; /* of each rank, in its trace */
    int files, ranks;
    int64_t ahead;
    struct nvt_input input;
};

/* Of so many ranks, in one file or one each. mpi_job_end frees it. */
struct mpi_job mpi_job_make(int ranks, int files, int64_t ahead);

/* The trace that a rank is in. */
struct nvt_trace *mpi_job_trace(const struct mpi_job *job, int rank);

/* A time in ms of the first one's clock, on that of a rank. */
int64_t mpi_job_at(const struct mpi_job *job, int rank, double ms);

/*
 * The row of a call: of 8 bytes each way, of the kind that its name says, on a communicator where that has one. Times
 * in ms.
 */
struct nvt_mpi_call mpi_job_call_of(const struct mpi_job *job, int rank, const char *name,
                                    double start, double end, int32_t peer, int32_t tag);

/* That row, in the trace. */
void mpi_job_call(const struct mpi_job *job, int rank, const char *name, double start, double end,
                  int32_t peer, int32_t tag);

/* MPI_Init of every rank, in the first ms. */
void mpi_job_init(const struct mpi_job *job);

/* The job as input for an analysis, when its rows are all there. */
void mpi_job_finish(struct mpi_job *job);

/* Frees it. */
void mpi_job_end(struct mpi_job *job);

/* Rank i comes i ms behind `start`, rank `late` 5 ms; all go on 6 ms behind `start`. */
void mpi_job_collective(const struct mpi_job *job, const char *name, double start, int late,
                        int32_t root);

/* A call of torch.distributed on a group, which is known by its name and has so many ranks. */
void mpi_job_group_call(const struct mpi_job *job, int rank, const char *name, uint64_t group,
                        uint32_t ranks, double start, double end);

#endif
