/*
 * Samples of what threads run (--trace cpu), as the library in front of libc (collectors/cpu/samples.c) tells of threads.
 *
 * Each thread has a timer of its own processor time (timer_create, CLOCK_THREAD_CPUTIME_ID), which sends it a signal. Who
 * waits takes no time and is not disturbed; but who waits for other threads for long, without a limit, is asked once where it
 * is, by the same signal (ring.h, struct nvt_ring_calling), if such calls are recorded. The signal's handler notes where the thread is, who called that (by the tables
 * for exceptions), and Python's stack where there is one: one record in the thread's ring.
 *
 * Rules of the handler: it takes no lock of anybody else's, allocates nothing but memory of its own, never waits for the
 * recorder, and leaves errno as it was. A sample that comes while an event is written is left out. Other signals wait for its
 * end, and so does who cancels the thread. It runs where the program wants handlers to run (SA_ONSTACK), and then on a stack of
 * its own.
 *
 * How exact: the system looks at these timers when its clock ticks (every 4 ms, say), so there are no more samples than
 * ticks. Each carries the processor time that it stands for.
 */
#ifndef NVT_INJECT_CPU_H
#define NVT_INJECT_CPU_H

#include <signal.h>
#include <stddef.h>

#include "thread.h"

/* Python writes its stack to this descriptor, which cannot be one. */
#define NVT_CPU_STACK_DESCRIPTOR 0x7ffffff0

/* Who writes this there is about to set the handler of NVT_CPU_PYTHON. Not taken where Python has one already: its
 * sub-interpreters ask again. */
#define NVT_CPU_WISH "nvtally: a handler that writes the stack"
/* The same, who cannot. */
#define NVT_CPU_NO_WISH "nvtally: no handler"

/* The number under which Python registers the handler that writes its stack. No signal of this number ever comes: the sampler
 * calls the handler. libc keeps the number for itself and refuses it to everybody, so whatever the program does with the
 * signals it can have, ours included, leaves the handler alone. */
#define NVT_CPU_PYTHON 32

/* Tells Python that number, where there are samples. */
#define NVT_CPU_SIGNAL_ENV "NVTALLY_SAMPLE_SIGNAL"

/* What libc's functions are behind the library in front of it. */
struct nvt_cpu_system {
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *before);
};

/* Join the session, and find a signal that nobody uses. Its number, or 0: nothing is to be sampled. */
NVT_EXPORT int nvt_cpu_watch(const struct nvt_cpu_system *system);

/* The calling thread is sampled from now on, and no more. */
NVT_EXPORT void nvt_cpu_begin_thread(void);
NVT_EXPORT void nvt_cpu_end_thread(void);

/* The signal that asks the calling thread for a sample while it waits, when it is queued with *value; 0: none does. */
int nvt_cpu_asked_by(uint64_t *value);

/* The calling thread has just been in a call of the operating system's libraries that took so long and ended then (ticks): its
 * stack is taken now, where its turn has come (struct nvt_control, where_every). It stands for no processor time. */
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
