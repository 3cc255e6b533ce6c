/*
 * Time that threads spend in OS calls, within push/pop ranges that they enter over and over: by thread and by what the
 * calls wait for. What the rule `blocked` reads.
 */
#ifndef NVT_BLOCKING_H
#define NVT_BLOCKING_H

#include "../../lib/os_calls.h"
#include "../studies/lock_holders.h"
#include "diagnose.h"
#include "places.h"

/* From how many entries of a thread on, in the steady part, a range is one of a loop. */
#define NVT_BLOCKING_LEAST 3

/* A thread in calls of one kind. */
struct nvt_blocked {
    uint32_t thread;
    enum nvt_os_kind kind;
    double ns, count;
    struct nvt_longest longest;
};

/* A call that counts. */
struct nvt_blocking_call {
    uint32_t row, blocked; /* of os_calls; whose it is */
    struct nvt_span span;  /* of it in the steady part, what lies in no call around it */
};

/* Zero-initialise; release with nvt_blocking_free. */
struct nvt_blocking {
    const struct nvt_view *view;
    struct nvt_thread_ranges ranges;
    struct nvt_waits waits;
    struct nvt_lock_holders holders;
    struct nvt_map entries; /* thread and name -> how often it enters them in the steady part */
    struct nvt_map kinds;   /* name of a call -> enum nvt_os_kind */
    struct nvt_map places;  /* thread and kind -> place in items */
    unsigned char *threads; /* what is known of each */
    int64_t *until;         /* of each: how far its calls so far reach */
    unsigned char *turns;   /* of each row of call_frames: it is in a turn of an event loop */
    struct nvt_blocked *items;
    uint32_t count;
    struct nvt_blocking_call *calls; /* by their starts */
    uint32_t call_count;
};

/*
 * Look at the steady part of a view. What counts are calls of a thread that enters its iterations; where there are none,
 * of the main thread of a process (that uses a device, if any does), or where that has no such ranges, of each that has;
 * calls for locks on all threads, in a trace without ranges wherever they are; of a thread that runs an event loop (event_loops.h) those
 * in its turns, but for its own waits for events. What does not count: calls within others of MPI or of CUDA, calls that never returned,
 * and where a training loop waits for its next batch, waits for threads and events. 0, or -1 when out of memory.
 */
int nvt_blocking_make(struct nvt_blocking *blocking, const struct nvt_view *view);
void nvt_blocking_free(struct nvt_blocking *blocking);

/* Whether a thread is of the loop: one whose calls of all kinds count. */
int nvt_blocking_is_loop(const struct nvt_blocking *blocking, uint32_t thread);

/* Whether it runs an event loop. */
int nvt_blocking_is_event_loop(const struct nvt_blocking *blocking, uint32_t thread);

/* The names of ranges that an item's calls lie in, of those that its thread enters over and over. 0, or -1 when out of
 * memory. */
int nvt_blocking_places(const struct nvt_blocking *blocking, uint32_t item,
                        struct nvt_places *places);

/* For how much of an item's time a device works for its process, ns; -1 when out of memory. */
double nvt_blocking_busy(const struct nvt_blocking *blocking, uint32_t item);

/* When a device works for a process (NVT_NONE: for any) from a view's steady part on, overlaps joined: spans, the caller's, and how many there are.
 * 0, or -1 when out of memory. */
int nvt_device_work(const struct nvt_view *view, uint32_t process, struct nvt_span **spans,
                    size_t *count);

/* What a call waits for. Calls for files that are sockets are those of a network, those for pipes wait for what comes. */
enum nvt_os_kind nvt_blocking_kind(const char *call, const char *file);

#endif
