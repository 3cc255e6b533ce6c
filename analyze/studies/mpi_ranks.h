/*
 * The ranks of a job that calls MPI, of one trace or of a file for each, and what their calls do: what messages and collectives
 * are matched by.
 *
 * A rank is a process that calls MPI and whose number is known. Times of several files are compared on the axis of the first
 * (nvt_shifts_to_first). Clocks of other hosts are set by the ends of collectives that all ranks leave together, where those show
 * them to a millisecond; otherwise they are as good as those hosts' clocks.
 *
 * Communicators are handles of a process, which say nothing to another one. The one that a process uses first is taken for
 * MPI_COMM_WORLD, as programs begin with it: there the numbers of ranks are those of the job. Where no rank makes others than by
 * MPI_Comm_dup, all have the same ranks: the n-th that a process uses is taken for the n-th of any other. Calls on others are
 * counted, and no more. Groups of torch.distributed are known by their names, and how many ranks they have.
 */
#ifndef NVT_MPI_RANKS_H
#define NVT_MPI_RANKS_H

#include "../input/input.h"
#include "../model/clock_fit.h"

/* A job of more ranks is not looked at. */
#define NVT_MPI_RANKS_MOST (1u << 20)

/* What a call does (mpi_calls.def). */
enum nvt_mpi_role {
    NVT_MPI_DOES_NOTHING,
    NVT_MPI_DOES_SENDS,
    NVT_MPI_DOES_RECEIVES,
    NVT_MPI_DOES_BOTH,
    NVT_MPI_DOES_STARTS, /* persistent requests */
    NVT_MPI_DOES_WAITS,  /* for one of its requests */
    NVT_MPI_DOES_WAITS_ALL,
    NVT_MPI_DOES_BEGINS, /* MPI_Init */
    NVT_MPI_DOES_PARTS,  /* makes a communicator of some of the ranks, or in another order */
    /* Collectives. */
    NVT_MPI_DOES_BARRIER,
    NVT_MPI_DOES_ALL_TO_ALL, /* each rank needs something of each */
    NVT_MPI_DOES_TO_ROOT,
    NVT_MPI_DOES_FROM_ROOT,
    NVT_MPI_DOES_TOGETHER, /* another collective, or one that returns at once */
};

enum nvt_mpi_message_flags {
    NVT_MPI_LOOKS = 1,  /* it only looks for the message (MPI_Probe) */
    NVT_MPI_LATER = 2,  /* it returns at once and is waited for later */
    NVT_MPI_BLOCKS = 4, /* a send that may wait for its receive: MPI_Send, MPI_Ssend */
    NVT_MPI_BOTH = 8,   /* one half of a call that sends and receives */
};

/* Communicators of a job that are kept apart, and any other one. */
#define NVT_MPI_COMMUNICATORS 16
#define NVT_MPI_OTHER_ONE     NVT_MPI_COMMUNICATORS

struct nvt_mpi_does {
    uint8_t role, flags; /* enum nvt_mpi_role, enum nvt_mpi_message_flags */
    /* of a message or collective: 0 the first; NVT_MPI_OTHER_ONE: not known */
    uint8_t communicator;
};

/* A trace of the job. */
struct nvt_mpi_file {
    const struct nvt_input_trace *from;
    struct nvt_mpi_does *does; /* of each row of mpi_calls */
    uint32_t *rank_of;         /* of each process: place in ranks, NVT_NONE: none */
};

struct nvt_mpi_rank {
    uint32_t file, process;
    uint32_t number;
    int64_t shift;                           /* ns, added to its times: those of the first file, */
    struct nvt_clock_fit clock;              /* and then by this, if its count is not 0 */
    uint64_t handles[NVT_MPI_COMMUNICATORS]; /* of its communicators, by their first use */
    uint8_t handle_count;
    /* its calls are there from MPI_Init on, none is known to be lost or cut off */
    uint8_t is_whole;
};

/* Zero-initialise; release with nvt_mpi_job_free, also after a failure. */
struct nvt_mpi_job {
    struct nvt_mpi_rank *ranks; /* by number */
    uint32_t count;
    struct nvt_mpi_file *files;
    size_t file_count;
    uint32_t unnumbered; /* processes that call MPI, of which no rank is known */
    /* groups that are the same on all ranks, the last communicators: */
    uint64_t named[NVT_MPI_COMMUNICATORS];
    /* the k-th is number NVT_MPI_COMMUNICATORS - 1 - k */
    uint32_t named_ranks[NVT_MPI_COMMUNICATORS];
    uint8_t named_count;
    uint8_t has_parts;     /* a rank makes a communicator otherwise than by MPI_Comm_dup */
    uint8_t is_ambiguous;  /* two processes have the same number */
    uint8_t is_complete;   /* the numbers are 0 … count − 1: rank k is ranks[k] */
    size_t set_clocks;     /* files whose clocks were set by collectives, */
    int64_t apart_ns;      /* by so much at most: ns, */
    double clock_error_ns; /* known to that: the largest residual */
    size_t unknown_clocks; /* files whose times cannot be compared to those of the first */
};

/* The job that the traces of this number (nvt_input_run_numbers) are of. 0, or -1 with err filled (out of memory). */
int nvt_mpi_job_make(struct nvt_mpi_job *job, const struct nvt_input *input, const size_t *numbers,
                     size_t number, struct nvt_error *err);
void nvt_mpi_job_free(struct nvt_mpi_job *job);

/* Whether the ranks of a job can be compared: two or more, all of them, each with a number of its own, on one clock. */
static inline int nvt_mpi_is_comparable(const struct nvt_mpi_job *job)
{
    return job->count > 1 && job->count <= NVT_MPI_RANKS_MOST && job->is_complete &&
           !job->unknown_clocks;
}

/* The trace of a rank; what is known of its file. */
static inline const struct nvt_mpi_file *nvt_mpi_file_of(const struct nvt_mpi_job *job,
                                                         uint32_t rank)
{
    return &job->files[job->ranks[rank].file];
}

static inline const struct nvt_trace *nvt_mpi_trace(const struct nvt_mpi_job *job, uint32_t rank)
{
    return nvt_mpi_file_of(job, rank)->from->trace;
}

/* Whether a call is on a communicator, known (a handle) or not (0). */
int nvt_mpi_has_communicator(const struct nvt_mpi_file *file, uint32_t call);

/* A time of a rank on the axis of another. ns. */
int64_t nvt_mpi_time(const struct nvt_mpi_job *job, uint32_t from, uint32_t to, int64_t time);

/*
 * Set the clocks of files of other hosts than the first (their fact "host"; where it is missing, those by which ranks leave
 * collectives before others have come) by the barriers and all-to-all collectives of the first communicator (mpi_clocks.c). Files
 * that do not know the time of day are known by it, if all are. Of nvt_mpi_job_make. 0, or -1 when out of memory.
 */
int nvt_mpi_set_clocks(struct nvt_mpi_job *job);

#endif
