/*
 * Who holds a lock. A mutex of glibc says it itself. A semaphore does not, so the library in front of libc notes the thread
 * that took it last: one store for each semaphore taken, without a lock. Locks of Python are semaphores.
 *
 * A note is one word, so that it is never torn: the upper bits of the address and the thread. Semaphores that share a place
 * write over each other, and the holder of the earlier one is then unknown.
 */
#include <pthread.h>
#include <threads.h>

#include "../../lib/os_calls.h"
#include "os.h"

_Atomic uint64_t nvt_os_takers[NVT_OS_TAKERS];

static int is_known(uint64_t address, uint64_t note)
{
    return NVT_OS_TAKER_NOTE(address, 0) == (note & ~NVT_OS_TAKER_THREAD);
}

uint32_t nvt_os_taker(uint64_t address)
{
    uint64_t note = atomic_load_explicit(NVT_OS_TAKER_AT(address), memory_order_relaxed);
    uint32_t thread = (uint32_t)(note & NVT_OS_TAKER_THREAD);
    return is_known(address, note) && thread != NVT_OS_TAKER_SIGNAL ? thread : 0;
}

void nvt_os_took_after_wait(const void *semaphore, uint32_t thread)
{
    const uint64_t address = (uintptr_t)semaphore;
    uint64_t note = atomic_load_explicit(NVT_OS_TAKER_AT(address), memory_order_relaxed);
    if (is_known(address, note) && (note & NVT_OS_TAKER_THREAD) != NVT_OS_TAKER_SIGNAL)
        nvt_os_took(semaphore, thread);
}

void nvt_os_made(const void *semaphore, unsigned value)
{
    nvt_os_took(semaphore, value ? 0 : NVT_OS_TAKER_SIGNAL);
}

/* Reads what other threads write meanwhile. */
static uint32_t read_now(const int *place)
{
    return (uint32_t)__atomic_load_n(place, __ATOMIC_RELAXED);
}

uint32_t nvt_os_holder(unsigned number, uint64_t address)
{
    if (!address)
        return 0;
    switch (number) {
    case NVT_OS_CALL_sem_wait:
    case NVT_OS_CALL_sem_timedwait:
    case NVT_OS_CALL_sem_clockwait:
        return nvt_os_taker(address);
#ifdef __GLIBC__
    case NVT_OS_CALL_pthread_mutex_lock:
    case NVT_OS_CALL_pthread_mutex_timedlock:
    case NVT_OS_CALL_pthread_mutex_clocklock:
    case NVT_OS_CALL_mtx_lock: /* a pthread_mutex_t by another name */
    case NVT_OS_CALL_mtx_timedlock:
        return read_now(&((const pthread_mutex_t *)(uintptr_t)address)->__data.__owner);
    case NVT_OS_CALL_pthread_rwlock_rdlock:
    case NVT_OS_CALL_pthread_rwlock_wrlock:
    case NVT_OS_CALL_pthread_rwlock_timedrdlock:
    case NVT_OS_CALL_pthread_rwlock_timedwrlock:
    case NVT_OS_CALL_pthread_rwlock_clockrdlock:
    case NVT_OS_CALL_pthread_rwlock_clockwrlock: /* of readers nothing is known */
        return read_now(&((const pthread_rwlock_t *)(uintptr_t)address)->__data.__cur_writer);
#endif
    default:
        return 0;
    }
}

void nvt_os_takers_forked(uint32_t before, uint32_t now)
{
    for (uint32_t i = 0; before && i < NVT_OS_TAKERS; i++) {
        uint64_t note = atomic_load_explicit(&nvt_os_takers[i], memory_order_relaxed);
        if ((note & NVT_OS_TAKER_THREAD) == before)
            atomic_store_explicit(&nvt_os_takers[i], (note & ~NVT_OS_TAKER_THREAD) | now,
                                  memory_order_relaxed);
    }
}
