/*
 * Ranks: the processes of one parallel run, as a launcher of MPI started them.
 */
#ifndef NVT_RANKS_H
#define NVT_RANKS_H

struct nvt_ranks {
    int rank, size;
};

/* From the launcher's environment (Open MPI, MPICH and PMIx, Slurm); {0, 1} without one. */
struct nvt_ranks nvt_ranks_here(void);

#endif
