/*
 * What threads wait for in OS calls, and from where in the program. A mutex says so by its call. Python waits for
 * everything in the same call (sem_wait, futex): its stack shows whether that is a lock, or work that has not arrived.
 */
#ifndef NVT_WAITS_H
#define NVT_WAITS_H

#include "../../lib/os_calls.h"
#include "../model/trace.h"

enum nvt_wait {
    NVT_WAIT_NONE,         /* not known to be one of these */
    NVT_WAIT_PYTHON,       /* Python's, and no stack says which */
    NVT_WAIT_LOCK,         /* that another thread holds */
    NVT_WAIT_PROCESS_LOCK, /* of multiprocessing: that a thread of any process holds */
    NVT_WAIT_GIL,          /* of Python: that another thread of the process runs with */
    NVT_WAIT_SEMAPHORE,
    NVT_WAIT_WORK, /* from a queue, which is empty */
    NVT_WAIT_ROOM, /* in a queue, which is full */
    NVT_WAIT_EVENT,
    NVT_WAIT_CONDITION,
    NVT_WAIT_BARRIER,
    NVT_WAIT_THREAD, /* its end, or its start */
    NVT_WAITS
};

/* Zero-initialise; release with nvt_waits_free. */
struct nvt_waits {
    const struct nvt_trace *trace;
    uint8_t *what; /* of each row of os_calls: enum nvt_wait */
    /* of each: its stack, as os_calls.frame; where it was too short to have one, that of another wait for the same
     * address in the same process */
    uint32_t *frame;
};

/* Linear in the trace's calls and frames. 0, or -1 when out of memory. */
int nvt_waits_make(struct nvt_waits *waits, const struct nvt_trace *trace);
void nvt_waits_free(struct nvt_waits *waits);

/* "a lock", "work from a queue": behind "waits for"; "" where it is not known. */
const char *nvt_wait_text(enum nvt_wait what);

/* Whose kind a call is of, as a row of os_calls: that of its name, but of a lock of Python, or its GIL, that of locks. */
struct nvt_os_names;
enum nvt_os_kind nvt_wait_kind(const struct nvt_waits *waits, struct nvt_os_names *names,
                               uint32_t call);

/* Whether it is contention: somebody has what is waited for. */
static inline int nvt_is_lock_wait(enum nvt_wait what)
{
    return what == NVT_WAIT_LOCK || what == NVT_WAIT_PROCESS_LOCK || what == NVT_WAIT_GIL;
}

/* Whether what is waited for is made by others: nothing is wrong with a thread that waits so while there is nothing to do. */
static inline int nvt_is_idle_wait(enum nvt_wait what)
{
    return what >= NVT_WAIT_WORK;
}

/* The number of the thread that held the lock that a call waits for, as the system counts; 0: unknown. Of a lock of
 * multiprocessing, each process knows only its own threads. */
static inline uint32_t nvt_holder_tid(const struct nvt_waits *waits, uint32_t call)
{
    return waits->what[call] == NVT_WAIT_LOCK ? waits->trace->os_calls.holder[call] : 0;
}

/* The function of the program that a stack (as os_calls.frame) waits in, without those of wait_frames.def, as os_calls.frame; where
 * there is no other, the outermost one of those. 0: none is known. */
uint32_t nvt_wait_site(const struct nvt_trace *trace, uint32_t frame);

#endif
