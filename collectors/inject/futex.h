/*
 * A word that threads of this process wait on.
 */
#ifndef NVT_INJECT_FUTEX_H
#define NVT_INJECT_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* While it has that value, for so long at most. */
static inline void nvt_futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec limit = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
}

/* It has another value from here on. */
static inline void nvt_futex_wake(_Atomic uint32_t *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

#endif
