/*
 * Which functions the process's MPI has. Programs ask that of the loader, by weak symbols: mpi4py calls MPI_Send_c where there is one,
 * and MPI_Send elsewhere. So that our functions are there only where MPI has them, each is resolved when somebody looks for it
 * (STT_GNU_IFUNC), by this.
 */
#ifndef NVT_MPI_EXISTS_H
#define NVT_MPI_EXISTS_H

/* Whether an object of this process defines a function of either name, other than the one that holds `own`. To be called while objects
 * are being loaded: it calls nothing of the loader but dl_iterate_phdr, and needs none of our own data. */
int nvt_mpi_exists(const char *name, const char *other, const void *own);

#endif
