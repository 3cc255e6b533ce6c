/*
 * Chains of MPI waits: a rank that others wait for may only have been held up itself, by a rank that it waited for before.
 *
 * A wait is compared over the time since its two ranks last left a call together (one of them waited for the other, or all
 * met in a collective). What the late rank waited in that time, less what the waiting one did, is the part of the wait that it only
 * passes on: it goes to the rank of the longest of these waits, and so on. What remains is the late rank's own.
 */
#ifndef NVT_MPI_CHAIN_H
#define NVT_MPI_CHAIN_H

#include "mpi_waits.h"

/* Of one wait. */
struct nvt_mpi_link {
    double passed; /* part of it that the late rank passes on, 0 to 1 */
    size_t via;    /* the late rank's own wait that it comes from; SIZE_MAX: none, passed is 0 */
};

/* Of each wait, malloc'ed. Time grows as n·log n. NULL when out of memory. */
struct nvt_mpi_link *nvt_mpi_links(const struct nvt_mpi_waits *waits);

#endif
