/*
 * A traced thread's side of its ring, and the event path.
 *
 * Rules of everything that runs here, inside somebody else's program:
 * - The event path takes no lock, allocates nothing and makes no system call. The slow path (first
 *   event of a thread, ring full) may call mmap, open, nanosleep; it leaves errno as it was.
 * - Async signals: `busy` is set while an event is written. A signal handler that calls NVTX in that
 *   moment finds it set, and its event is counted as nested and left out.
 * - fork, vfork, clone: struct nvt_thread lies in memory that a child sees as zeros (MADV_WIPEONFORK),
 *   and zeros mean "no ring yet", so a child's first event makes a ring of its own. No lock is ever
 *   held, so there is nothing to be stuck.
 * - A name's bytes are read at the call; the caller may reuse its buffer afterwards.
 */
#ifndef NVT_INJECT_THREAD_H
#define NVT_INJECT_THREAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/clock.h"
#include "../ring.h"

#define NVT_EXPORT      __attribute__((visibility("default")))
#define NVT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define NVT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Nesting is kept for so many domains a thread; further ones share. */
#define NVT_NESTS 64u

struct nvt_nest {
    int32_t depth;   /* open push/pop ranges */
    int32_t skipped; /* the innermost so many of them were dropped */
};

/* The content of a string slot: up to 31 bytes and zeros, or for a longer text its 128-bit hash, its
 * length and a last byte that no short text has. All zeros is the empty text. */
union nvt_key {
    uint8_t bytes[32];
    uint64_t words[4];
};

struct nvt_thread {
    uint64_t head;  /* next slot to write; equals ring->head */
    uint64_t limit; /* slots below this number are free to write; 0: no ring yet */
    struct nvt_slot *slots;
    uint64_t mask;
    struct nvt_ring *ring;
    uint32_t busy;
    uint32_t clock;   /* enum nvt_clock */
    uint32_t open;    /* recorded push/pop ranges that are open: room is kept for their pops */
    uint32_t skips;   /* sum of nests[].skipped */
    uint32_t victim;  /* which way of a string set is replaced next */
    uint32_t serial;  /* distinguishes the range ids of this thread */
    uint64_t ranges;  /* start/end ranges so far */
    uint64_t silent_heartbeat; /* the heartbeat at which the recorder was found dead */
    uint32_t deaf;             /* the recorder is taken for dead */
    struct nvt_nest nests[NVT_NESTS];
    uint8_t domains_seen[65536 / 8];    /* bit a domain: defined in this ring */
    union nvt_key names[NVT_STRING_SLOTS] __attribute__((aligned(64)));
    char scratch[NVT_STRING_MAX + 16]; /* for wide strings and schemas */
};

/* Initial-exec: one instruction to reach it. */
extern __thread struct nvt_thread *nvt_self __attribute__((tls_model("initial-exec")));

/* The calling thread's state, made on first use. NULL when it could not be had (counted). */
struct nvt_thread *nvt_thread_new(void);

/*
 * Make room for `slots` slots beside the reserve. Creates the ring when there is none, waits for the
 * recorder or gives up, as the session says. 0, or -1: the event must be dropped (it is counted).
 */
int nvt_thread_room(struct nvt_thread *thread, uint64_t slots);

/* A piece of a record's data. */
struct nvt_piece {
    const void *data;
    size_t size; /* bytes; pieces follow each other without gaps */
};

/*
 * Append a record of one slot and the pieces behind it (padded with zeros to whole slots; at most
 * 65535 slots). `word` comes without its extra count. The time is taken here. 0, or -1: dropped.
 */
int nvt_thread_record(struct nvt_thread *thread, uint64_t word, const struct nvt_piece *pieces,
                      int count);

/* Count an event that could not be recorded. */
void nvt_thread_drop(struct nvt_thread *thread);

/* Count an event from a signal handler that interrupted another event. Returns -2, NVTX's "no
 * push/pop tracking". */
int nvt_thread_nested(struct nvt_thread *thread);

/* The calling thread's state, or NULL. */
static inline struct nvt_thread *nvt_thread_get(void)
{
    struct nvt_thread *thread = nvt_self;
    return NVT_LIKELY(thread != NULL) ? thread : nvt_thread_new();
}

/* Enter and leave the event path; nothing moves across these. */
static inline void nvt_thread_enter(struct nvt_thread *thread)
{
    thread->busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void nvt_thread_leave(struct nvt_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = 0;
}

/*
 * Publish a record of one slot. The release store orders the slot before `head`: a consumer that
 * sees the new head sees the slot, even when the producer is killed right behind it. With `keep`,
 * room for the pops of all open ranges is left free.
 */
static inline int nvt_thread_slot(struct nvt_thread *thread, uint64_t word, uint64_t keep)
{
    uint64_t head = thread->head;
    if (NVT_UNLIKELY(head + keep >= thread->limit)) {
        if (nvt_thread_room(thread, 1))
            return -1;
        head = thread->head;
    }
    struct nvt_slot *slot = &thread->slots[head & thread->mask];
    slot->word = word;
    slot->ticks = nvt_ticks(thread->clock);
    thread->head = head + 1;
    atomic_store_explicit(&thread->ring->head, head + 1, memory_order_release);
    return 0;
}

#endif
