/*
 * Where ranks are while one waits for the other (mpi_waits.h).
 */
#ifndef NVT_MPI_PLACES_H
#define NVT_MPI_PLACES_H

#include "../model/thread_ranges.h"
#include "mpi_waits.h"

/* The innermost push/pop range of a thread, and the MPI call that it is in: strings of the trace, 0 (empty): none. */
struct nvt_mpi_place {
    uint32_t range, call;
};

/* Zero-initialise; release with nvt_mpi_places_free, also after a failure. */
struct nvt_mpi_places {
    const struct nvt_mpi_job *job;
    struct nvt_thread_ranges *ranges; /* of each file */
    struct nvt_buckets *calls;        /* of MPI, of each file by thread */
};

/* The job outlives them. 0, or -1 with err filled (out of memory). */
int nvt_mpi_places_make(struct nvt_mpi_places *places, const struct nvt_mpi_job *job,
                        struct nvt_error *err);
void nvt_mpi_places_free(struct nvt_mpi_places *places);

/* The range in which the waiting rank's call begins, and the call. */
struct nvt_mpi_place nvt_mpi_waiting_place(const struct nvt_mpi_places *places,
                                           const struct nvt_mpi_wait *wait);

/* Where the thread of the late rank's call is for most of the wait. Of a wait in which it goes to another place more than 64
 * times: where it is at most of 64 moments of it. */
struct nvt_mpi_place nvt_mpi_late_place(const struct nvt_mpi_places *places,
                                        const struct nvt_mpi_wait *wait);

#endif
