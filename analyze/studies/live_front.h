/*
 * Of a process that goes on behind the end of a recording (a copy by ctl dump, a recording that was stopped): which of its threads hangs,
 * as far as what is normal waiting can be told from it. That a process is silent is no hang by itself: services, workers and loaders
 * wait for hours.
 */
#ifndef NVT_LIVE_FRONT_H
#define NVT_LIVE_FRONT_H

#include "standstill.h"

/* What is innermost is usual if the trace knows fewer of its name, */
#define NVT_LIVE_ALIKE 5
/* or if it has not taken so many times as long as the longest of them. */
#define NVT_LIVE_TIMES 5

/* Whether a process goes on behind what is recorded of it. Where a recorder was killed, that is not known: 0. */
int nvt_goes_on(const struct nvt_process_end *end);

/*
 * Sets front_first, front_end, mpi, is_late and is_sure of a process that goes on, and returns whether a thread of it hangs: its
 * innermost range or MPI call takes unusually long, and it waits for nothing that comes from outside, not until a time, nor for another
 * thread that runs, does something meanwhile or waits for something from outside. Where all threads wait for each other, a range around
 * that counts, too. is_late: such a range is there, whatever its thread waits for; is_sure: it is in MPI, or no thread of the
 * process can go on. All else may end by itself: it is possible only.
 */
int nvt_live_front(struct nvt_process_end *end);

/* When those of all processes of a run are found: none hangs that waits for one that gets on. */
void nvt_live_compare(struct nvt_process_ends *ends);

#endif
