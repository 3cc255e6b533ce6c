/*
 * MPI calls, and those of torch.distributed, by process: how long it was in them, and what it gave and got.
 */
#ifndef NVT_MODEL_MPI_H
#define NVT_MODEL_MPI_H

#include "trace.h"

/* From the end of MPI_Init to the start of MPI_Finalize, as far as calls say: those two are not counted. */
struct nvt_mpi_process {
    uint64_t calls;
    int64_t first, last;      /* first > last: the process calls no MPI */
    int64_t in_mpi;           /* ns in which at least one of its threads is in a call */
    double ns[NVT_MPI_KINDS]; /* of all threads, one after another */
    double sent, received;    /* bytes, of calls that say */
};

/* One for each process of a trace, malloc'ed; NULL when out of memory. */
struct nvt_mpi_process *nvt_mpi_processes(const struct nvt_trace *trace);

/* Whether a call is one of MPI's, by its name, or one of torch.distributed. */
int nvt_is_mpi_call(const struct nvt_trace *trace, uint32_t call);

/* Whether a trace has calls, and none of MPI. */
int nvt_is_torch_alone(const struct nvt_trace *trace);

/* The library that a trace's calls are of, as a text names it: "MPI", "torch.distributed", of both "MPI and torch.distributed". */
const char *nvt_mpi_library(const struct nvt_trace *trace);

/* Whether a call is MPI_Init, MPI_Init_thread or MPI_Finalize. */
int nvt_mpi_is_edge(const struct nvt_trace *trace, uint32_t call);

/* Whether no rank leaves such a call before every one has come to it: it returns when it is done (MPI_Iallreduce does not), and
 * each rank needs something of each. */
int nvt_mpi_waits_for_all(const struct nvt_trace *trace, uint32_t call);

#endif
