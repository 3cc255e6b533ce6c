/*
 * CPU samples (--trace cpu). The preloaded library (collectors/cpu/samples.c) reports threads to these functions.
 *
 * Each thread has a timer on its CPU time (timer_create, CLOCK_THREAD_CPUTIME_ID), which sends it a signal. A thread
 * that waits uses no CPU time and is not interrupted; but one that has waited long for other threads, without a time
 * limit, is asked once where it is, by the same signal (ring.h, struct nvt_ring_calling), if such calls are recorded.
 * The signal's handler records where the thread is, its callers (by the unwind tables), and Python's stack where there
 * is one: one record in the thread's ring.
 *
 * Rules of the handler: it takes only the collector's locks, uses only memory of its own, never waits for the recorder,
 * and preserves errno. A sample that comes while an event is being written is left out. Other signals, and the
 * cancellation of the thread, wait for the handler to end. It starts on the stack that the program chose for handlers
 * (SA_ONSTACK) and continues on its own.
 *
 * Resolution: the kernel checks these timers at its clock ticks (typically every 4 ms), so there are no more samples
 * than ticks. Each sample carries the CPU time that it stands for.
 */
#ifndef NVT_INJECT_CPU_H
#define NVT_INJECT_CPU_H

#include <signal.h>
#include <stddef.h>

#include "thread.h"

/* Python writes its stack to this descriptor, which cannot be one. */
#define NVT_CPU_STACK_DESCRIPTOR 0x7ffffff0

/* Written to NVT_CPU_STACK_DESCRIPTOR before the handler of NVT_CPU_PYTHON is set. Ignored where Python has the handler
 * already: its sub-interpreters ask again. */
#define NVT_CPU_WISH "nvtally: a handler that writes the stack"
/* Written to NVT_CPU_STACK_DESCRIPTOR where the handler cannot be set. */
#define NVT_CPU_NO_WISH "nvtally: no handler"

/* Written to NVT_CPU_STACK_DESCRIPTOR with the number of a thread, a blank and its name. */
#define NVT_CPU_NAME "nvtally: thread "

/* The number under which Python registers the handler that writes its stack. No signal of this number ever comes: the sampler
 * calls the handler. libc keeps the number for itself and refuses it to everybody, so whatever the program does with the
 * signals it can have, ours included, leaves the handler alone. */
#define NVT_CPU_PYTHON 32

/* Environment variable with that number for Python, set where samples are taken. */
#define NVT_CPU_SIGNAL_ENV "NVTALLY_SAMPLE_SIGNAL"

/* libc's functions, which the preloaded library replaces. */
struct nvt_cpu_system {
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *before);
};

/* Join the session, and find an unused signal. Its number, or 0: nothing is to be sampled. */
NVT_EXPORT int nvt_cpu_watch(const struct nvt_cpu_system *system);

/* The calling thread is sampled from now on, and no more. */
NVT_EXPORT void nvt_cpu_begin_thread(void);
NVT_EXPORT void nvt_cpu_end_thread(void);

/* The signal that asks the calling thread for a sample while it waits, when it is queued with *value; 0: none does. */
int nvt_cpu_asked_by(uint64_t *value);

/* The calling thread has just left an OS call that took `took` ticks and ended at `ended`: records its stack, if its
 * turn has come (struct nvt_control, where_every), as a sample without CPU time. */
void nvt_cpu_tell_where(uint64_t took, uint64_t ended);

/* The calling thread is that of a forked process. */
NVT_EXPORT void nvt_cpu_forked(void);

/* Somebody wants to handle the signal that is ours. The action is kept, and not the system's: it gets the signals that are not
 * from our timers. As sigaction's. What a child of vfork sets is not kept: it runs on its parent's memory. */
NVT_EXPORT int nvt_cpu_action(const struct sigaction *action, struct sigaction *before);

/* Somebody wants to handle NVT_CPU_PYTHON. 1: it is Python, and done. 0: it is not. */
NVT_EXPORT int nvt_cpu_python_action(const struct sigaction *action, struct sigaction *before);

/* While Python writes its stack, faults are handled here. Who sets a handler for them waits until that is over, a few us, or
 * it would be undone. 1: it is to be released. */
NVT_EXPORT int nvt_cpu_hold_faults(void);
NVT_EXPORT void nvt_cpu_release_faults(void);

/* Before a fork, and in the parent behind it: no thread is within Python's handler meanwhile. In the child it would stay there,
 * and Python would not write a stack again. */
NVT_EXPORT void nvt_cpu_before_fork(void);
NVT_EXPORT void nvt_cpu_after_fork(void);

/* Whether bytes written to NVT_CPU_STACK_DESCRIPTOR were taken: who writes is Python, within the handler, or with a wish. */
NVT_EXPORT int nvt_cpu_take_stack(const void *bytes, size_t size);

#endif
