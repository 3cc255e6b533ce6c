/*
 * MPI wait states: time in a call in which a rank can only wait until another rank has reached its own call.
 *
 * Their names and definitions follow the patterns that Scalasca publishes ("Performance properties",
 * scalasca_patterns-2.4.html). Each is a part of the time of the waiting rank's call:
 *
 *   late sender       from the start of a receive (or of the wait for it) to that of its send
 *   wrong order       a late sender, while there was a message that was sent before and that the rank receives later
 *   late receiver     from the start of a blocking send (or of the wait for it) to that of its receive, where the send goes on
 *                     until then: one that MPI buffers does not
 *   wait at barrier   from the start of MPI_Barrier to that of the last rank's
 *   wait at N x N     as at a barrier, in calls in which each rank needs data of each
 *   early reduce      at the root of MPI_Reduce, MPI_Gather(v): until the last of the others has reached the call
 *                     (Scalasca's ends with the first of them, but the root cannot continue before the last)
 *   late broadcast    of MPI_Bcast, MPI_Scatter(v): until the root has reached the call
 *
 * A message that is waited for later counts in the call that waits (MPI_Wait, MPI_Waitall, …) on the thread that asked
 * for it while the other side begins. Requests are not recorded. MPI_Waitall waits for the last one; where another
 * call may wait for either of several, it is counted as unclear. A send counts there only where no receive does. Whom
 * persistent requests (MPI_Start) send to or receive from was not recorded either: they are counted.
 */
#ifndef NVT_MPI_WAITS_H
#define NVT_MPI_WAITS_H

#include "mpi_match.h"

enum nvt_mpi_wait_state {
    NVT_MPI_LATE_SENDER,
    NVT_MPI_WRONG_ORDER,
    NVT_MPI_LATE_RECEIVER,
    NVT_MPI_WAIT_BARRIER,
    NVT_MPI_WAIT_NXN,
    NVT_MPI_EARLY_REDUCE,
    NVT_MPI_LATE_BROADCAST,
    NVT_MPI_WAIT_STATES
};

/* "Late sender"; static text. */
const char *nvt_mpi_wait_state_name(enum nvt_mpi_wait_state state);

/* One wait. */
struct nvt_mpi_wait {
    uint32_t rank, late;      /* of the job: who waits, for whom */
    uint32_t call, late_call; /* rows of mpi_calls of each one's trace */
    int64_t start, end;       /* ns, on the axis of the waiting rank's trace; start < end */
    uint8_t state;            /* enum nvt_mpi_wait_state */
};

/* Zero-initialise; release with nvt_mpi_waits_free, also after a failure. */
struct nvt_mpi_waits {
    struct nvt_mpi_job job;
    struct nvt_mpi_wait *items; /* in no order */
    size_t count;
    struct nvt_mpi_unmatched unmatched; /* of messages */
    uint64_t unclear;                   /* waits that may be for either of several messages */
    uint64_t others;                    /* collective calls on other communicators */
    uint64_t later; /* collective calls that are waited for later (MPI_Iallreduce): not looked at */
    /* calls that start persistent requests, of which nothing else was recorded */
    uint64_t persistent;
    uint64_t apart; /* collective calls that do not belong together */
};

/* The wait states of the job that the traces of this number (nvt_input_run_numbers) are of; none where it is not comparable.
 * Time grows as n·log n with the calls. 0, or -1 with err filled (out of memory). */
int nvt_mpi_waits_make(struct nvt_mpi_waits *waits, const struct nvt_input *input,
                       const size_t *numbers, size_t number, struct nvt_error *err);
void nvt_mpi_waits_free(struct nvt_mpi_waits *waits);

/* Append a wait from a moment until another one, both of the waiting rank's axis, as far as it lies in the call; nothing where
 * it does not, or where the end of the call was not seen. 0, or -1 when out of memory. Of mpi_collective.c. */
int nvt_mpi_wait_add(struct nvt_mpi_waits *waits, struct nvt_mpi_wait wait);

/* Add those of collective calls. 0, or -1 when out of memory. Of nvt_mpi_waits_make. */
int nvt_mpi_waits_collective(struct nvt_mpi_waits *waits);

#endif
