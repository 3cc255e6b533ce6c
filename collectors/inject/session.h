/*
 * The traced process's side of the session: its control page, and new rings.
 */
#ifndef NVT_INJECT_SESSION_H
#define NVT_INJECT_SESSION_H

#include <stddef.h>

#include "../ring.h"

struct nvt_inject_session {
    struct nvt_control *control; /* NULL: not under `record` */
    char folder[512];
    uint64_t image;          /* ticks when this process image joined */
    struct nvt_costs costs;  /* of an event in this process */
    _Atomic uint32_t serial; /* of the next ring */
};

extern struct nvt_inject_session nvt_session;

/* What is recorded now, enum nvt_trace_what bits: what was asked for, without what record --budget leaves out. */
static inline uint64_t nvt_session_trace(void)
{
    const struct nvt_control *control = nvt_session.control;
    return control->trace & ~atomic_load_explicit(&control->left_out, memory_order_relaxed);
}

/* Join the session named in the environment, once a process image. 1 when joined, else 0. */
int nvt_session_join(void);

/* Whether it has been: then the calling thread sees all of it. */
int nvt_session_is_joined(void);

/* Whether there is no recorder: nobody holds its lock. Then nobody takes rings away, and none is made; the session has ended, or, if it is
 * a standing one, sleeps. */
int nvt_session_is_abandoned(void);

/* A new ring for the calling thread, mapped and announced; NULL when it cannot be had (no room, no
 * descriptors, a file-size limit). Its serial number goes to *serial, the slots that are mapped to *most; it has memory for those
 * in its header. Where there is no room the recorder is asked to take away what has ended; `waits`: and may be waited for. */
struct nvt_ring *nvt_session_ring(uint32_t *serial, uint64_t *most, int waits);

/* A number that no other thread of this process has. */
uint32_t nvt_session_serial(void);

/* Have memory for that many slots, a power of two of at most those that are mapped, and say so in the ring's header. 0, or -1. */
int nvt_session_grow(struct nvt_ring *ring, uint32_t serial, uint32_t slots);

/* Memory that is never freed, for registered strings and domains; zeroed. NULL when out of memory. Takes no lock. */
void *nvt_session_memory(size_t size);

#endif
