/*
 * Messages of MPI: which receive gets which send.
 *
 * Messages do not overtake each other (MPI 4.1, 3.5): of those from one rank to another with one tag on one communicator the
 * n-th receive gets the n-th send. Such messages are a stream here. Sends and receives are in the order of their calls,
 * blocking or not.
 *
 * What is not known is left out and counted, never guessed:
 * - A receive of any rank or any tag is matched only where a single stream leads to its rank that it may be of. Else all such
 *   streams are left out. What MPI_Sendrecv receives is such a receive, as its source was not recorded.
 * - Where calls may be missing (lost, cut off, of persistent requests), and on other communicators than the first, a
 *   stream that has not as many sends as receives is left out: it is unknown which of them are the first. So is one
 *   whose sends or receives come from several threads, in no order.
 * - A stream in which a message would be received more than 1 ms before it is sent is left out: its calls do not belong
 *   together, or the clocks of its ranks are apart.
 */
#ifndef NVT_MPI_MATCH_H
#define NVT_MPI_MATCH_H

#include "mpi_ranks.h"

/* By how much clocks may be apart. */
#define NVT_MPI_APART_NS 1000000

/* A send and the receive that gets it: rows of mpi_calls of the traces of two ranks. */
struct nvt_mpi_message {
    uint32_t source, target; /* ranks of the job */
    uint32_t send, receive;
};

/* Calls that are not matched, by why. */
struct nvt_mpi_unmatched {
    uint64_t others; /* on other communicators */
    uint64_t any;    /* of any rank or tag, and those of streams that they may be of */
    /* of streams with more of one kind than of the other, where calls may be missing */
    uint64_t uneven;
    uint64_t threads;    /* of streams of several threads */
    uint64_t impossible; /* of streams that receive before they send */
    uint64_t alone;      /* whose other half is not there */
};

struct nvt_mpi_messages {
    /* by target and the start of the receive; those that look for one, too */
    struct nvt_mpi_message *items;
    size_t count;
    struct nvt_mpi_unmatched unmatched;
};

/* Match the messages of a job that is comparable. Zero-initialise; release with nvt_mpi_messages_free, also after a failure.
 * Time grows as n·log n with the calls. 0, or -1 with err filled (out of memory). */
int nvt_mpi_match(struct nvt_mpi_messages *messages, const struct nvt_mpi_job *job,
                  struct nvt_error *err);
void nvt_mpi_messages_free(struct nvt_mpi_messages *messages);

#endif
