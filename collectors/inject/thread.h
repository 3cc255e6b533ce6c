/*
 * A traced thread's side of its ring, and the event path.
 *
 * Rules of everything that runs here, inside somebody else's program:
 * - The event path takes no lock, allocates nothing and makes no system call. The slow path (first
 *   event of a thread, ring full) may call mmap, open, nanosleep; it leaves errno as it was.
 * - Async signals: `busy` is set while an event is written. A signal handler that calls NVTX in that
 *   moment finds it set, and its event is counted as nested and left out. A handler that jumps out of the
 *   event leaves it set: it holds where the stack ended then, so that the next event sees that this is past.
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
#include <string.h>

#include "../../lib/clock.h"
#include "../ring.h"
#include "hardware.h"

#define NVT_EXPORT      __attribute__((visibility("default")))
#define NVT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define NVT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Nesting is kept for so many domains a thread; further ones share. */
#define NVT_NESTS 64u

struct nvt_nest {
    uint32_t depth;   /* open push/pop ranges */
    uint32_t skipped; /* the innermost so many of them were dropped, */
    uint32_t quiet;   /* the outermost so many of no interest, as nothing was captured then */
};

/* A push that began a capture: as NVT_NESTS share, whether a pop ends it is counted here. */
#define NVT_CAPTURE_PUSHES 8
struct nvt_captured {
    uint32_t domain;
    uint32_t task;   /* that pushed it, 0 none */
    uint32_t within; /* ranges of this domain and task that are open in it */
};

/* The content of a string slot: up to 31 bytes and zeros, or for a longer text its 128-bit hash, its
 * length and a last byte that no short text has. All zeros is the empty text. */
union nvt_key {
    uint8_t bytes[32];
    uint64_t words[4];
} __attribute__((aligned(16)));

/* Where a text was last seen, so that a literal is recognised by one compare of its bytes. */
struct nvt_pointer {
    const char *text;   /* 16 bytes from here can be read; no address of a text while unused */
    uint64_t word;      /* of a push with this name */
    uint8_t key[16];    /* the text, its NUL, and anything */
    uint8_t ignore[16]; /* ones where the key has anything */
} __attribute__((aligned(64)));

/* Which task of Python the thread runs (tasks.h). */
struct nvt_tasks;
struct nvt_thread_task {
    const void *context, *reference; /* it was found by these */
    const void *key;                 /* of the task */
    uint32_t number, recorded;       /* of the task, 0 none; and the number that the ring has */
    uint32_t open;                   /* ranges of it, */
    uint32_t quiet;                  /* so many of which were of no interest at their beginning */
    uint32_t is_known;               /* all of the above */
    long modules;                    /* so many had been imported */
    uint32_t has_greenlets; /* where there is no context, there may be another task nevertheless */
    uint32_t interleaves;   /* a range was begun with one of another task open */
    uint32_t has_names;     /* the ring has the name of a task */
    /* events until Python is asked for the thread's name again, and how many that were */
    uint32_t left, looks;
    uint64_t name; /* a hash of that name, 0 none */
};

#define NVT_POINTERS 256u
#define NVT_NO_TEXT  ((const char *)1) /* where no text stands */

/* Which library has called from there last: a file id of OS calls. */
struct nvt_caller {
    const void *address;
    uint32_t file; /* id, 0: unknown */
};
#define NVT_CALLERS 64u

/*
 * The short path looks at `busy` and `limit`. `busy` is set before anything else is read, so that what
 * a signal handler does in between is seen; the handler finds it set, and stays away.
 */
struct nvt_thread {
    struct nvt_slot *next;  /* where the next record goes */
    struct nvt_slot *limit; /* open_limit, or NULL while ranges are being dropped */
    /* an event is being written: the stack pointer of who does, else 0; atomic as
     * nvt_nobody is many threads' */
    _Atomic uintptr_t busy;
    uint32_t skips;              /* sum of nests[].skipped */
    struct nvt_slot *open_limit; /* how far events may be written without a look at the recorder */
    struct nvt_slot *slots;      /* of the ring, whose header lies before them; NULL: no ring yet */
    uint64_t size;               /* of the ring, in slots; a power of two */
    uint64_t most;               /* that are mapped: it may grow to that before it comes around, */
    uint32_t is_fixed;           /* unless there was no memory for more */
    uint32_t ring_serial;        /* of the ring's name */
    uint32_t epoch;            /* the control page's, at which it got that ring, or asked for one */
    uint64_t lap;              /* times that `next` has come around */
    uint64_t new_lap;          /* and what that is to be: the same but while it comes around */
    uint64_t record;           /* slots of the latest record of more than one, written or not */
    uint32_t clock;            /* enum nvt_clock */
    uint32_t victim;           /* which way of a string set is replaced next */
    uint32_t serial;           /* distinguishes the range ids of this thread */
    uint32_t deaf;             /* the recorder is taken for dead */
    uint64_t silent_heartbeat; /* the heartbeat at which it was found dead */
    uint64_t ranges;           /* start/end ranges so far */
    uint32_t rounds;           /* of destructors, since its thread has begun to end */
    uint32_t captures;         /* --capture: so many of its pushes have begun one, */
    struct nvt_captured capture[NVT_CAPTURE_PUSHES]; /* the outermost of their domains */
    struct nvt_thread_task task;
    struct nvt_tasks *tasks; /* NULL: it has had none */
    uint32_t calibrates;     /* it finds out what events cost: captured or not */
    struct nvt_nest nests[NVT_NESTS];
    uint8_t domains_seen[65536 / 8]; /* a bit for each domain: defined in this ring */
    uint8_t files_seen[65536 / 8];   /* a bit for each file id of OS calls: defined in this ring */
    struct nvt_caller callers[NVT_CALLERS];
    struct nvt_pointer pointers[NVT_POINTERS];
    struct nvt_hardware hardware; /* its counters, with --trace counters */
    union nvt_key names[NVT_STRING_SLOTS] __attribute__((aligned(64)));
    char scratch[NVT_STRING_MAX + 16]; /* for wide strings and payloads */
};

/* Initial-exec: one instruction to reach it. Never NULL: a thread without a state of its own has
 * nvt_nobody, whose limit is NULL. */
extern struct nvt_thread nvt_nobody;
extern __thread struct nvt_thread *nvt_self __attribute__((tls_model("initial-exec")));

/* The calling thread's state, made on first use. NULL when it could not be had (counted). */
struct nvt_thread *nvt_thread_new(void);

/* The calling thread's state, made on first use; a failure is not counted. */
struct nvt_thread *nvt_thread_try(void);

/* Push/pop ranges that are open and recorded. */
uint64_t nvt_thread_open_ranges(const struct nvt_thread *thread);

/*
 * Make room for `slots` slots, keeping as many more as there are open push/pop ranges, so that a range
 * whose push is recorded has room for its pop. Creates the ring when there is none, waits for the
 * recorder or gives up, as the session says. 0, or -1: the event must be dropped.
 *
 * With F free slots and O ranges open, the next (F - O) / 2 events may be anything: even if all were
 * pushes, their pops would fit behind them. That is `open_limit` (or the ring's end, or where it is half
 * full and the recorder to be woken, whichever is nearest); there, this function looks again.
 */
int nvt_thread_room(struct nvt_thread *thread, uint64_t slots);

/* Whether there is room for `slots` slots without waiting. Creates the ring when there is none. */
int nvt_thread_offers(struct nvt_thread *thread, uint64_t slots);

/* Have a new ring, which knows no names, in place of one that no recorder takes from any more; where there is none, none. */
void nvt_thread_renew(struct nvt_thread *thread);

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

/* Count events, or device records, that could not be recorded; NULL: of a thread without a state. They
 * are counted in shared memory, so that the recorder knows of them whatever comes of this process. */
void nvt_thread_drop(struct nvt_thread *thread, uint64_t events);

/*
 * To be asked where the thread is busy. 1: we are in a signal handler that interrupted an event, and this one is
 * counted and to be left out. 0: somebody jumped out of that event; the thread is no longer busy, and its ring is
 * in order.
 */
int nvt_thread_nested(struct nvt_thread *thread);

/* Somebody jumped out of the event that the thread is busy with: it is no more, and its ring is in order. */
void nvt_thread_recover(struct nvt_thread *thread);

/* The calling thread's state, or NULL. */
static inline struct nvt_thread *nvt_thread_get(void)
{
    struct nvt_thread *thread = nvt_self;
    return NVT_LIKELY(thread != &nvt_nobody) ? thread : nvt_thread_new();
}

/* Whether an event is being written. */
static inline uintptr_t nvt_thread_busy(struct nvt_thread *thread)
{
    return atomic_load_explicit(&thread->busy, memory_order_relaxed);
}

/* Enter and leave the event path; nothing moves across these. */
static inline __attribute__((always_inline)) void nvt_thread_enter(struct nvt_thread *thread)
{
#if defined(__x86_64__)
    /* One instruction; asked for its frame, the short path would have to build one. */
    __asm__ volatile("movq %%rsp, %0" : "=m"(thread->busy));
#else
    atomic_store_explicit(&thread->busy, (uintptr_t)__builtin_frame_address(0),
                          memory_order_relaxed);
#endif
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void nvt_thread_leave_fast(struct nvt_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&thread->busy, 0, memory_order_relaxed);
}

/* The same behind anything that may have changed what limits the short path. */
static inline void nvt_thread_leave(struct nvt_thread *thread)
{
    thread->limit = thread->skips ? NULL : thread->open_limit;
    nvt_thread_leave_fast(thread);
}

/* Slots that it has written to its ring. */
static inline uint64_t nvt_thread_written(const struct nvt_thread *thread)
{
    return thread->lap * thread->size + (uint64_t)(thread->next - thread->slots);
}

static inline struct nvt_ring *nvt_thread_ring(const struct nvt_thread *thread)
{
    return (struct nvt_ring *)((char *)thread->slots - NVT_RING_HEADER);
}

/*
 * Fill and publish a slot. The release store orders the time, and whatever was written before, before
 * the word: a consumer that sees the word sees the record, even when the producer is killed right
 * behind it.
 */
static inline __attribute__((always_inline)) void
nvt_slot_publish(struct nvt_slot *slot, uint64_t word, enum nvt_clock clock)
{
#if defined(__x86_64__)
    if (clock == NVT_CLOCK_TSC) {
        /* Two halves stored apart: on the short path every instruction is seen. */
        uint32_t low, high;
        __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
        memcpy(&slot->ticks, &low, 4);
        memcpy((char *)&slot->ticks + 4, &high, 4);
    } else
#endif
        slot->ticks = nvt_ticks(clock);
    atomic_store_explicit(&slot->word, word, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst); /* nothing moves behind it before */
}

/* Move behind `slots` slots that were written. A jump may come between any two of these steps: `next` and `lap`
 * change one after the other, and who has come around and not yet counted it is seen by the two laps. */
static inline void nvt_thread_advance(struct nvt_thread *thread, uint64_t slots)
{
    thread->next += slots;
    if (NVT_UNLIKELY(thread->next >= thread->slots + thread->size)) {
        atomic_signal_fence(memory_order_seq_cst);
        thread->new_lap = thread->lap + 1;
        atomic_signal_fence(memory_order_seq_cst);
        thread->next -= thread->size;
        atomic_signal_fence(memory_order_seq_cst);
        thread->lap = thread->new_lap;
        thread->open_limit = NULL;
    }
}

/* A record of one slot, the thoughtful way; `is_pop`: it may use the room that is kept for pops. 0, or
 * -1: dropped. */
int nvt_thread_slot(struct nvt_thread *thread, uint64_t word, int is_pop);

#endif
