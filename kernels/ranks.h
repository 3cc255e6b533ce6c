/*
 * Ranks: the processes of one parallel run, as a launcher of MPI started them.
 */
#ifndef NVT_RANKS_H
#define NVT_RANKS_H

#include <stddef.h>

struct nvt_ranks {
    int rank, size;
};

/* From the launcher's environment (Open MPI, MPICH and PMIx, Slurm); {0, 1} without one. */
struct nvt_ranks nvt_ranks_here(void);

/* The path of a rank's trace, where that of rank 0 has "-rank0." in its name; 0, or -1: it has not, or is too long. */
int nvt_rank_trace(const char *rank0, int rank, char *path, size_t size);

#endif
