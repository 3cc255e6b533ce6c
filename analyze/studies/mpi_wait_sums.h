/* Waits of a job in MPI, by their places (mpi_places.h). */
#ifndef NVT_MPI_WAIT_SUMS_H
#define NVT_MPI_WAIT_SUMS_H

#include "../model/groups.h"
#include "mpi_waits.h"

/* Parts of a group's key: the rank that waits and its state, range and call; the late rank and its range and call. */
enum {
    NVT_MPI_WAIT_RANK,
    NVT_MPI_WAIT_STATE,
    NVT_MPI_WAIT_RANGE,
    NVT_MPI_WAIT_CALL,
    NVT_MPI_WAIT_LATE,
    NVT_MPI_WAIT_LATE_RANGE,
    NVT_MPI_WAIT_LATE_CALL,
    NVT_MPI_WAIT_PARTS
};

/* Add all waits, and finish the groups. 0, or -1 with err. */
int nvt_mpi_wait_sums(struct nvt_groups *groups, const struct nvt_mpi_waits *waits,
                      struct nvt_error *err);

/* How long each rank runs between MPI_Init and MPI_Finalize, ns; malloc'ed, NULL when out of memory. */
int64_t *nvt_mpi_rank_spans(const struct nvt_mpi_job *job);

#endif
