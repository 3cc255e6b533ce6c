/*
 * The MPI of a launcher, called by its binary interface: nothing of it is needed to build this program, and the one that is asked is
 * the one that the launcher belongs to. There are two such interfaces:
 *
 * - Open MPI 4 and 5, libmpi.so.40: handles are addresses of the library's objects (ompi_mpi_comm_world; its mpi.h)
 * - MPICH, Intel MPI, MVAPICH and Cray MPICH, libmpi.so.12: handles are numbers (https://www.mpich.org/abi/; its mpi.h)
 */
#ifndef NVT_JOB_MPI_H
#define NVT_JOB_MPI_H

#include <stddef.h>

#include "error.h"

enum nvt_job_abi { NVT_JOB_OPEN_MPI, NVT_JOB_MPICH };

/*
 * Load the library (in `folder`/../lib and the like, "" for none, then where the loader looks) and begin it. 0, or -1 with err: there is
 * none. Once. Afterwards MPI may end the process if it cannot reach the others.
 */
int nvt_job_mpi_begin(enum nvt_job_abi abi, const char *folder, int *rank, int *size,
                      struct nvt_error *err);

/* Messages are of bytes, in order. 0, or an error of MPI. */
int nvt_job_mpi_send(int to, const void *data, size_t size);
int nvt_job_mpi_expect(int from, size_t *size); /* of the next one, which is then received whole */
int nvt_job_mpi_receive(int from, void *data, size_t size);
void nvt_job_mpi_end(void);

#endif
