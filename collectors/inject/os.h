/*
 * OS calls (--trace osrt), as the preloaded library (collectors/os/calls.c) reports them. A call that took as long as
 * the session asks for is a record in its thread's ring, written when it has ended. The one that a thread is in stands
 * in the ring's header, for the recorder to find when there is no end.
 *
 * Nothing here changes errno. What the collector itself calls is not recorded.
 */
#ifndef NVT_INJECT_OS_H
#define NVT_INJECT_OS_H

#include <stdint.h>

#include "thread.h"

/* What a call works with. */
struct nvt_os_subject {
    int descriptor;   /* below 0: none */
    const char *path; /* NULL: none; it is read when the call begins, and again when it has ended */
    uint64_t address; /* 0: none */
};

/* A call that has begun. */
struct nvt_os_open {
    uint64_t start;   /* ticks */
    const void *from; /* a return address, of who calls */
    uint32_t file;    /* id, 0: none */
    uint32_t caller;
    uint32_t holder; /* thread that holds the lock, as the system numbers it; 0: unknown */
    struct nvt_os_subject subject;
    unsigned number; /* enum nvt_os_call_number */
};

/* Join the session. 1: calls are to be recorded, 0: they are not. */
NVT_EXPORT int nvt_os_watch(void);

/* Whether an address is one of the collector's own code, or CUPTI's. */
NVT_EXPORT int nvt_os_is_own(const void *address);

/* The calling thread's next OS call comes from a preloaded library of nvtally, which passes on a call of `caller`. */
NVT_EXPORT void nvt_os_hand_on(const void *caller);

/* Whether a call is the collector's own; of one that was handed on, *caller becomes who it is from. */
NVT_EXPORT int nvt_os_is_own_call(const void **caller);

/* A call begins. */
NVT_EXPORT void nvt_os_begin(struct nvt_os_open *open);

/* It has ended; bytes are those that it read or wrote. The subject may be another one than at the beginning. */
NVT_EXPORT void nvt_os_end(const struct nvt_os_open *open, int64_t result, uint64_t bytes);

/* The calling thread is in no call: it has jumped out of the one that it was in. */
NVT_EXPORT void nvt_os_leave(void);

/* The thread, as the system numbers it, that holds what a call (enum nvt_os_call_number) waits for: the owner of a
 * mutex, the writer of a rwlock, who took a semaphore last. 0: unknown, or no thread holds it. The lock must be
 * alive. */
uint32_t nvt_os_holder(unsigned number, uint64_t address);

/* Who took a semaphore last: a note for each address, which one store replaces (os_holders.c). One that is made with the value 0
 * is a signal, and not a lock: who takes it holds nothing. So do threads wait for a PyMutex of Python 3.13 and later. */
#define NVT_OS_TAKERS            8192u
#define NVT_OS_TAKER_THREAD      ((UINT64_C(1) << 22) - 1) /* the system has no greater numbers */
#define NVT_OS_TAKER_SIGNAL      NVT_OS_TAKER_THREAD       /* in the place of a thread */
#define NVT_OS_TAKER_AT(address) (&nvt_os_takers[((uint64_t)(address) >> 4) & (NVT_OS_TAKERS - 1)])
#define NVT_OS_TAKER_NOTE(address, thread)                                                         \
    (((uint64_t)(address) >> 17) << 22 | ((thread)&NVT_OS_TAKER_THREAD))
extern NVT_EXPORT _Atomic uint64_t nvt_os_takers[NVT_OS_TAKERS];

static inline void nvt_os_took(const void *semaphore, uint32_t thread)
{
    atomic_store_explicit(NVT_OS_TAKER_AT((uintptr_t)semaphore),
                          NVT_OS_TAKER_NOTE((uintptr_t)semaphore, thread), memory_order_relaxed);
}

/* A thread has waited for a semaphore: what it is must be known by then, from nvt_os_took or nvt_os_made. */
NVT_EXPORT void nvt_os_took_after_wait(const void *semaphore, uint32_t thread);

/* A semaphore has been made, with this value. */
NVT_EXPORT void nvt_os_made(const void *semaphore, unsigned value);

/* 0: unknown. */
uint32_t nvt_os_taker(uint64_t address);

/* In a child of fork, whose thread has another number now: what its parent's held, it holds. */
NVT_EXPORT void nvt_os_takers_forked(uint32_t before, uint32_t now);

/* The calling thread, which waits in a call, looks again who holds the lock, for the recorder to find. */
void nvt_os_look_again(void);

/* A descriptor stands, or will stand, for something else. */
NVT_EXPORT void nvt_os_forget(int descriptor);
#define NVT_OS_DESCRIPTORS 8192 /* greater ones have no names */

/* The calling thread, which may have a ring, is called so from now on. */
NVT_EXPORT void nvt_os_name_thread(const char *name);

/* The calling thread is the collector's, which calls it so (NULL: it keeps its name). */
void nvt_os_own_thread(const char *name);

/* The library that has this address is the collector's. */
void nvt_os_own_library(const void *address);

/* Whether the caller is a child of vfork, which runs on the memory of its parent, whose thread this is. */
int nvt_os_is_borrowed(const struct nvt_thread *thread);

/* The id of what a descriptor stands for, defined in the thread's ring on first use; 0: unknown. nvt_os_path: the id of
 * a path; nvt_os_library: the id of the library that has an address. */
uint32_t nvt_os_file(struct nvt_thread *thread, int descriptor);
uint32_t nvt_os_path(struct nvt_thread *thread, const char *path);
uint32_t nvt_os_library(struct nvt_thread *thread, const void *address);

#endif
