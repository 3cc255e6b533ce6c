/*
 * Who sends how much to whom by MPI: messages of each rank by the rank that they go to or come from.
 *
 * Ranks are those of the call's communicator: its number is that of its
 * first message in the process. The one of number 1 is MPI_COMM_WORLD in most programs, and ranks are then those of the job.
 * What a call with two other ranks (MPI_Sendrecv) gets is left out: the other one is not recorded. Receives count where they
 * were asked for, with room for as much; those of any rank have no peer.
 */
#ifndef NVT_MPI_PEERS_H
#define NVT_MPI_PEERS_H

#include "../model/trace.h"

struct nvt_mpi_peer {
    uint32_t process, communicator; /* communicator: its number in the process, from 1 on */
    int32_t peer;                   /* below 0: none that is known */
    uint64_t sends, receives;
    double sent, received; /* bytes */
    int64_t ns;
};

/* Those of a trace; malloc'ed, *count of them. NULL when out of memory. */
struct nvt_mpi_peer *nvt_mpi_peers(const struct nvt_trace *trace, uint32_t *count);

#endif
