/*
 * Ranks that others wait for in MPI, by what they do meanwhile. The rule `late` reports them, and other rules leave
 * them to it.
 *
 * Waits (studies/mpi_waits.h) count that begin in the steady part of the waiting rank: the second half of its
 * iterations, or of its time between MPI_Init and MPI_Finalize without any. Those in which the late rank is in MPI for
 * most of the time do not: it waits for another rank, which is reported instead, or for the network.
 * What a late rank only passes on, as it waited itself before, is put down to the first of the chain (studies/mpi_chain.h).
 * Of calls in which each waits for all, what the late rank itself waits for others in such a range is subtracted, and over the
 * whole trace must be a quarter at most: ranks that are late by turns are not reported, nor is one that had less of a busy machine
 * for some iterations.
 */
#ifndef NVT_LATE_RANKS_H
#define NVT_LATE_RANKS_H

#include "../model/mpi.h"
#include "../studies/mpi_places.h"
#include "diagnose.h"

/* What is known of a rank that may wait. */
struct nvt_late_waiting {
    int64_t from, to; /* its steady part, ns of its trace; from > to: it has none */
    double span_ns;   /* of it, without what lies between parts of the recording */
    double units;     /* iterations in it, 1 without any */
    uint8_t has_iterations;
    double told_ns; /* waits in it that are reported */
};

/* A late rank in a range, that others wait for in one wait state. */
struct nvt_late_rank {
    enum nvt_mpi_wait_state state;
    uint32_t late;       /* rank of the job */
    uint32_t late_range; /* string of its trace, 0: it is in no range */
    uint32_t ranks;      /* that wait for long enough to be reported */
    /* Of the rank that itself waits longest for it: */
    uint32_t rank;
    uint32_t range, call; /* strings of its trace: where it waits longest */
    double ns, count;
    double through_ns; /* of it what ranks pass on that waited for the late one themselves */
    struct nvt_longest longest;
};

struct nvt_late_ranks {
    struct nvt_mpi_waits waits;
    struct nvt_late_waiting *waiting; /* of each rank of the job */
    struct nvt_late_rank *items;      /* reported ones, longest first */
    uint32_t count;
};

/* All jobs of the input. Zero-initialise; release with nvt_late_jobs_free, also after a failure. */
struct nvt_late_jobs {
    struct nvt_late_ranks *items;
    size_t count;
    size_t *numbers; /* of each trace: its job */
};

/* 0, or -1 with err filled (out of memory). Nothing is done where no trace has MPI calls. */
int nvt_late_jobs_make(struct nvt_late_jobs *jobs, const struct nvt_input *input,
                       struct nvt_error *err);
void nvt_late_jobs_free(struct nvt_late_jobs *jobs);

/* Whether a process is reported as one that others wait for. */
int nvt_late_jobs_tell(const struct nvt_late_jobs *jobs, const struct nvt_trace *trace,
                       uint32_t process);

/* Time in MPI, in the steady part of processes of a trace (NVT_NONE: of all), that is reported: ns. */
double nvt_late_jobs_told(const struct nvt_late_jobs *jobs, const struct nvt_trace *trace,
                          uint32_t process);

/* When the steady part of a process without iterations begins: it ends with its last call. */
static inline int64_t nvt_late_from(const struct nvt_mpi_process *process)
{
    return process->first + (process->last - process->first) / 2;
}

/* That part as costs name it ("per" of a finding). */
const char *nvt_late_per(const struct nvt_trace *trace);

/* Waits are reported from this share of a rank's time and this number of waits on. */
#define NVT_LATE_SHARE 0.1
#define NVT_LATE_LEAST 3
/* And where others wait for the late rank at least so many times as long as it does for them by turns, in the whole trace. */
#define NVT_LATE_TIMES 4

#endif
