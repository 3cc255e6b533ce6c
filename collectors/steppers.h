/*
 * The processes that have iterations, on the control page (ring.h): what both the traced processes and the recorder do with them.
 */
#ifndef NVT_STEPPERS_H
#define NVT_STEPPERS_H

#include "ring.h"

/* One process more, of that request, unless another one has been made since. */
static inline void nvt_steppers_add(_Atomic uint64_t *processes, uint32_t request)
{
    uint64_t there = atomic_load(processes);
    while (there >> 32 == request && !atomic_compare_exchange_weak(processes, &there, there + 1)) {
    }
}

/* The process `pid`, which has that place, has ended: it is not waited for, and what it has had counts. Only one of those who find that
 * out does so. */
static inline void nvt_steppers_leave(struct nvt_control *control, int place, int32_t pid)
{
    const uint32_t done = atomic_load(&control->stepper_done[place]);
    if (!atomic_compare_exchange_strong(&control->stepper[place], &pid, 0))
        return;
    /* In this order: else it would stand for one that is still to come. */
    if (done)
        nvt_steppers_add(&control->steps_left, done);
    atomic_fetch_sub(&control->steppers, 1);
}

#endif
