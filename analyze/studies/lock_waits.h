/*
 * Waits for locks, queues, events and the like, put together by what is waited for, over traces.
 *
 * Waits are put together by the function of the program that waits, where stacks say which (waits.h): what threads of a server
 * wait for is new with every request, and the line is the same. Without a stack, what is waited for is known by its address in
 * its process; what Python waits for so is one, as its locks are many and short-lived.
 *
 * A range has the time of the calls that it is the innermost one to hold (calls_by_range.h).
 */
#ifndef NVT_LOCK_WAITS_H
#define NVT_LOCK_WAITS_H

#include "../model/groups.h"
#include "pairs.h"

/* Parts of a group's key: trace, process, kind (enum nvt_os_kind), what is waited for (enum nvt_wait), the name of the call site (of none,
 * that of ""), and the address, 0 where that says nothing. */
enum {
    NVT_LOCK_TRACE,
    NVT_LOCK_PROCESS,
    NVT_LOCK_KIND,
    NVT_LOCK_WHAT,
    NVT_LOCK_SITE,
    NVT_LOCK_HIGH,
    NVT_LOCK_LOW,
    NVT_LOCK_PARTS
};

/* Time of each group's waits by one more thing. */
enum nvt_lock_by {
    NVT_LOCK_BY_CALL,
    NVT_LOCK_BY_RANGE,
    NVT_LOCK_BY_THREAD,
    NVT_LOCK_BY_CALLER,
    NVT_LOCK_BY_OBJECT,
    NVT_LOCK_BY_HOLDER,  /* its number, as the system counts */
    NVT_LOCK_BY_HELD_IN, /* where the holder was */
    NVT_LOCK_BYS
};

/* What groups carry. */
struct nvt_lock_first {
    uint64_t address; /* of the first wait */
};

/* Begin with nvt_lock_waits_init; release with nvt_lock_waits_free, also after a failure. */
struct nvt_lock_waits {
    struct nvt_groups groups;          /* which carry a struct nvt_lock_first */
    struct nvt_pairs by[NVT_LOCK_BYS]; /* parts: names of the groups, rows of threads, or numbers */
    struct nvt_map objects;            /* process and address -> number */
    uint32_t object_count;
};

struct nvt_lock_waits nvt_lock_waits_init(void);

/* Add the waits of a trace, which is number `number`. 0, or -1 with err filled, or with err left alone: out of memory. */
int nvt_lock_waits_add(struct nvt_lock_waits *locks, const struct nvt_trace *trace, uint32_t number,
                       struct nvt_error *err);

/* Once all are added: summaries and sorted pairs. 0, or -1 as nvt_lock_waits_add. */
int nvt_lock_waits_finish(struct nvt_lock_waits *locks, struct nvt_error *err);
void nvt_lock_waits_free(struct nvt_lock_waits *locks);

#endif
