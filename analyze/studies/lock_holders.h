/*
 * Who held the locks that threads waited for, and where these were meanwhile: the recorded holder of each wait
 * (os_calls.holder), its samples, and its own calls that have a stack. Waits of which no holder is known say nothing.
 */
#ifndef NVT_LOCK_HOLDERS_H
#define NVT_LOCK_HOLDERS_H

#include "../model/buckets.h"
#include "pairs.h"
#include "waits.h"

/* Zero-initialise; release with nvt_lock_holders_free. */
struct nvt_lock_holders {
    const struct nvt_waits *waits;
    struct nvt_buckets calls, samples; /* of each thread */
    struct nvt_map threads;            /* process and tid -> row of threads */
};

/* Linear in the trace. 0, or -1 when out of memory. */
int nvt_lock_holders_make(struct nvt_lock_holders *holders, const struct nvt_waits *waits);
void nvt_lock_holders_free(struct nvt_lock_holders *holders);

/* The row of threads that holds what a call waits for, of the same process. NVT_NONE: unknown, or of none of its threads. */
uint32_t nvt_lock_holder(const struct nvt_lock_holders *holders, uint32_t call);

/* Add to a whole of `places` where that thread was during the call: rows of call_frames of its call sites
 * (nvt_wait_site), with the time of its calls and the CPU time of its samples. 0, or -1 when out of memory. */
int nvt_lock_held_in(const struct nvt_lock_holders *holders, uint32_t call, uint32_t whole,
                     struct nvt_pairs *places);

#endif
