/*
 * The two ends of `asleep` in the control page, see ring.h.
 */
#ifndef NVT_WAKE_H
#define NVT_WAKE_H

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

/* Wake the recorder if it sleeps: one system call then, none otherwise. Sets errno, maybe. Safe in
 * a signal handler. */
static inline void nvt_control_wake(struct nvt_control *control)
{
    if (atomic_load_explicit(&control->asleep, memory_order_relaxed) &&
        atomic_exchange(&control->asleep, 0))
        syscall(SYS_futex, &control->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Sleep until somebody wakes the recorder, a signal is handled or the time is over; `asleep` must have
 * been set to 1 before, and whatever cleared it since ends the sleep at once. */
static inline void nvt_control_sleep(struct nvt_control *control, const struct timespec *limit)
{
    syscall(SYS_futex, &control->asleep, FUTEX_WAIT, 1, limit, NULL, 0);
    atomic_store(&control->asleep, 0);
}

#endif
