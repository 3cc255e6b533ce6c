/*
 * Which ranks a communicator has that a program has made: its handle says nothing to another process, and so its ranks have to be asked
 * for while MPI runs. By local questions alone, which need nobody else.
 */
#ifndef NVT_MPI_MEMBERS_H
#define NVT_MPI_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

/* How an MPI has its handles. */
enum nvt_mpi_handles { NVT_MPI_OPEN_MPI, NVT_MPI_MPICH, NVT_MPI_ABI };

/* Whether MPI can be asked, by its functions of these names. Otherwise nothing of a call is looked at. */
int nvt_mpi_has_members(void *(*find)(const char *name));

/* The handle that lies where a call of C was told to put it. */
uint64_t nvt_mpi_handle_at(enum nvt_mpi_handles handles, const void *at);

/*
 * Write what lib/mpi_payload.h has after NVT_MPI_COMMUNICATOR into out: without ranks where it is MPI_COMM_NULL, has all ranks of
 * MPI_COMM_WORLD, is between two groups, or its ranks are in another order than there. `find` is a function of MPI by its name.
 */
void nvt_mpi_write_members(enum nvt_mpi_handles handles, uint64_t communicator,
                           void *(*find)(const char *name), char *out, size_t size);

#endif
