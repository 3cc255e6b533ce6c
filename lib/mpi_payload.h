/*
 * The payload of an MPI call's range, which the preloaded MPI library (collectors/mpi/calls.c) writes and the reader of
 * traces reads. These ranges are in the domain NVT_MPI_DOMAIN and have the name of the function, such as MPI_Send.
 */
#ifndef NVT_MPI_PAYLOAD_H
#define NVT_MPI_PAYLOAD_H

#include <stdint.h>

#define NVT_MPI_DOMAIN "MPI"
#define NVT_MPI_SCHEMA "nvtally: MPI call"

/* A mark of that domain with the names of functions of MPI that were called past the library behind this. */
#define NVT_MPI_PASSED "not recorded: "

/*
 * A mark of that domain about a communicator that the process has made, or is about to free: "HANDLE SIZE NUMBER RANKS" follows in
 * decimal, its handle there, how many ranks it has, a number that is the same on all of them, and these ranks of MPI_COMM_WORLD
 * ("0-3,8"). Without its ranks, SIZE is 0 and the last.
 */
#define NVT_MPI_COMMUNICATOR "communicator "

/* Peers that are no ranks, whatever numbers an MPI has for them. */
#define NVT_MPI_ANYBODY (-1) /* MPI_ANY_SOURCE */
#define NVT_MPI_NOBODY  (-2) /* MPI_PROC_NULL */

/* A call's begin has all but the bytes, its end has those, where they are known. The kinds are those of enum nvt_mpi_kind of the model. What a call does not say: UINT64_MAX of bytes, INT32_MIN of
 * the others. */
struct nvt_mpi_said {
    uint64_t communicator;   /* its handle */
    uint64_t sent, received; /* bytes that the rank gives, and gets at most */
    int32_t peer;            /* the other rank, or the root */
    int32_t tag;
    int32_t rank; /* its own, in MPI_COMM_WORLD, as its launcher says */
    uint32_t kind;
};

#endif
