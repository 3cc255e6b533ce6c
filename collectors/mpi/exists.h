/*
 * Which functions the process's MPI has. Programs ask that of the loader, by weak symbols: mpi4py calls MPI_Send_c where there is one,
 * and MPI_Send elsewhere. So that our functions are there only where MPI has them, each is resolved when somebody looks for it
 * (STT_GNU_IFUNC), by this.
 */
#ifndef NVT_MPI_EXISTS_H
#define NVT_MPI_EXISTS_H

#include <stddef.h>

/* Whether an object of this process defines a function of either name, other than the one that holds `own`. To be called while objects
 * are being loaded: it calls nothing of the loader but dl_iterate_phdr, and needs none of our own data. */
int nvt_mpi_exists(const char *name, const char *other, const void *own);

/*
 * Functions of MPI that the program and its libraries have called and that are not those of the object that holds `own`: its
 * profiling interface (PMPI_Send), and what an MPI has of its own (MPIX_…). Left out is what neither communicates nor waits.
 * Names into out, with ", " between them. Known only of objects whose functions are bound when they are first called, not before.
 */
void nvt_mpi_passed(const void *own, char *out, size_t size);

#endif
