/*
 * Processes that hang at the end of a recording: nothing more begins or ends in them, for much longer than ever before,
 * and they are still in a range or call. What the rule `hang` judges.
 */
#ifndef NVT_STANDSTILL_H
#define NVT_STANDSTILL_H

#include "open_items.h"
#include "../input/input.h"

/* When a process began to hang. */
#define NVT_STILL_NS     INT64_C(5000000000) /* for so long, */
#define NVT_STILL_PAUSES 5 /* and for so many times as long as its longest pause before; */
#define NVT_STILL_EVENTS                                                                           \
    10 /* known from so many events; in an MPI call of fewer, than it had lived before it */

/* Events are beginnings of ranges and of MPI calls, and marks. Times are those of the trace, ns. */
struct nvt_process_end {
    const struct nvt_input_trace *from;
    const struct nvt_open_items *open; /* those of its trace */
    uint32_t process, rank;            /* rank: NVT_NONE unknown */
    uint32_t first, end;               /* its items */
    /* those of one thread: of the first in MPI, else in a range, else of the first at all */
    uint32_t front_first, front_end;
    uint32_t mpi; /* the MPI call before, a row, NVT_NONE */
    /* events before the front of the trace was cut off, which `events` has, too */
    uint64_t earlier;
    uint64_t events, mpi_calls, collectives; /* collectives: of NCCL, by its ranges, */
    uint64_t communicator;                   /* of its last one; 0: not recorded */
    int several_communicators;
    int64_t last; /* when something of it began or ended last, operations of devices included */
    /* the longest time between two events; of fewer than NVT_STILL_EVENTS and in MPI, until `last` */
    int64_t pause;
    int64_t ended; /* until when it was recorded; 0 unknown */
    int stands;    /* it hangs, and neither sleeps nor waits for input from outside */
    int goes_on;   /* behind what is recorded of it: what hangs then is live_front.h's to judge, */
    int is_late;   /* and whether it is in something that takes unusually long, */
    int is_sure; /* what it waits for cannot come from a thread that goes on, nor by itself at a time */
    int is_over; /* it has ended long before others of the run */
};

/* Zero-initialise; release with nvt_process_ends_free. */
struct nvt_process_ends {
    struct nvt_process_end *items;
    struct nvt_open_items *open; /* of each trace */
    size_t count, open_count;
};

/* Those of the traces that are of run `run` (numbers[i], nvt_input_run_numbers): processes with events or open items.
 * Where the recording ended by itself and without an error, none hangs. 0, or -1 when out of memory. */
int nvt_process_ends_make(struct nvt_process_ends *ends, const struct nvt_input *input,
                          const size_t *numbers, size_t run);
void nvt_process_ends_free(struct nvt_process_ends *ends);

/* Whether another thread of the process is about: it waits for something from outside, or has done anything since `last`. */
int nvt_others_go_on(const struct nvt_process_end *end, uint32_t thread);

/* For how long nothing more happened in a process. */
static inline int64_t nvt_still_ns(const struct nvt_process_end *end)
{
    return end->ended - end->last;
}

#endif
