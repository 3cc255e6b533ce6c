/*
 * One ring on the recorder's side: its slots become columns of an events chunk.
 */
#ifndef NVT_DRAIN_H
#define NVT_DRAIN_H

#include "../lib/python_stacks.h"
#include "output.h"
#include "owners.h"
#include "ring.h"

struct nvt_drain;

/* Attach to a ring file. *drain is NULL (and 0 returned) when it is not ready yet or there was no memory for it: try
 * again. -1 with err when it is not a ring of nvtally. `path` is removed when the drain is freed. */
int nvt_drain_open(const char *path, struct nvt_output *output, struct nvt_drain **drain,
                   struct nvt_error *err);

/* Take what is in the ring. Returns the slots taken (0: it was empty). */
uint64_t nvt_drain_take(struct nvt_drain *drain);

/* Write what was taken as a chunk, when there is enough of it or `force`. A failed write is counted
 * and kept as the first error. */
void nvt_drain_flush(struct nvt_drain *drain, int force);

/* If the ring's thread has been in an OS call for `least` ticks at `now`, that call is written with the next chunk, and
 * again after `most` ticks (drain_os.h). */
void nvt_drain_take_long_call(struct nvt_drain *drain, uint64_t now, uint64_t least, uint64_t most);

/* The front of the file has been cut off. */
void nvt_drain_was_cut(struct nvt_drain *drain);

/* The ring's file. */
const char *nvt_drain_path(const struct nvt_drain *drain);

/* Bytes of memory that the ring has. */
uint64_t nvt_drain_bytes(const struct nvt_drain *drain);

/* How full the ring was at the last look: 0 … 1. */
double nvt_drain_fill(const struct nvt_drain *drain);

/* Events of this thread lost until now: dropped, of signal handlers, or not written. */
uint64_t nvt_drain_lost(const struct nvt_drain *drain);

/* Whether the ring's thread has ended (so that after one more take nothing can come), or it cannot be
 * read any more. */
int nvt_drain_is_over(const struct nvt_drain *drain);

/* The number that the output gave the ring's process; *owner gets what the ring knows of it. */
uint32_t nvt_drain_owner(const struct nvt_drain *drain, struct nvt_owner *owner);

/* The sums of one ring, added to *totals. */
struct nvt_drain_totals {
    uint64_t events, dropped, nested, unwritten, waited_ns;
    int too_deep;                    /* some of the dropped, as open ranges had filled the ring */
    uint64_t device_records;         /* what devices and the CUDA API did */
    uint64_t os_calls;               /* of the operating system's libraries */
    uint64_t cpu_samples;            /* of what threads run */
    uint64_t sampled_ns;             /* CPU time that these stand for */
    struct nvt_python_stacks python; /* of these */
    uint64_t batches;                /* in which rows about devices came */
    uint32_t device_threads;         /* that sent nothing else: the collector's own */
    struct nvt_error error;          /* first failed write */
};

/* Whether the ring's thread has left it to the next for `patience_ns` and none has come: then none can have it any more, and it is
 * to be closed. That a thread has left, at `now` in ticks, is written as soon as it is seen. */
int nvt_drain_is_left(struct nvt_drain *drain, uint64_t now, int64_t patience_ns);

/* Flush, write the thread's totals with the time `now` in ticks and whether it lives on, unmap, remove the file, free. A thread
 * that lives after all sees that its ring is gone. */
void nvt_drain_close(struct nvt_drain *drain, uint64_t now, int lives,
                     struct nvt_drain_totals *totals);

#endif
