/*
 * What the traced process and `record` share: a control page for the session and a ring for every
 * thread, all files in a private folder (mode 0700) whose path travels in $NVTALLY_SESSION.
 *
 * A ring has one producer (its thread) and one consumer (`record`), and no shared head: a record is
 * published by its first slot's `word`, which is zero before. The producer stores it last, with release
 * order; the consumer loads it with acquire order, and sees the whole record where it is not zero. The
 * consumer stores `taken`, sets the words of the slots it has copied back to zero, then stores `tail` with release
 * order; the producer loads `tail` with acquire order before it writes there again. Who finds a word of zero where
 * it may have published one sees from `taken` whether it has. The memory outlives
 * the producer: whatever was published before a SIGKILL is drained.
 *
 * A ring begins small. Before its producer comes around for the first time it may grow: it has memory for more slots, stores
 * `slots`, and goes on where it was, so that every record stays where it is. Once it has come around its size is what it is. The
 * file and the mappings are as large as the ring may get, but only `slots` of it have memory.
 *
 * A standing session has no recorder before somebody wants one (standing.h).
 *
 * Paths have names and no descriptors are kept, so a target may close every descriptor it has.
 *
 * The recorder sleeps for as long as the rings can do without it, and says so in `asleep`. A producer
 * whose ring has half filled meanwhile sets that back to zero and wakes it (a futex, which needs no
 * rights and which no sandbox forbids; see wake.h).
 */
#ifndef NVT_RING_H
#define NVT_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/costs.h"
#include "../lib/counter_names.h"
#include "../lib/counts.h"
#include "../lib/trace_file.h"
#include "budget.h"
#include "metrics_wish.h"

#define NVT_SESSION_ENV    "NVTALLY_SESSION"
#define NVT_SESSION_PREFIX "nvtally-" /* of the folder's name; six characters of mkdtemp follow */
#define NVT_CONTROL_NAME   "control"
#define NVT_RING_PREFIX    "ring."
#define NVT_FRESH_PREFIX   "new." /* of a ring that is not ready: then it gets its name */
#define NVT_PID_SPACE      "/proc/self/ns/pid" /* its inode is that of the pid namespace */
#define NVT_RING_MAGIC     0x4e565452u         /* "RTVN" */
#define NVT_CONTROL_MAGIC  0x4e565443u
#define NVT_SHARED_VERSION 31u
#define NVT_SILENCE_NS     1000000000 /* a recorder silent for so long is taken for dead, */
#define NVT_STEPPERS       256
#define NVT_RUNNING        64 /* iterations that go on at once, of those that --on-slow looks at */
#define NVT_OTHERS         8  /* names of ranges that are no iterations, */
#define NVT_OTHER_NAME     64 /* bytes of each, with a NUL */
#define NVT_PARTS          64 /* places, more than there are parts between two looks of the recorder */
#define NVT_WRITING_NS     INT64_C(30000000000) /* and one that writes, for so long */

enum nvt_on_full { NVT_ON_FULL_WAIT, NVT_ON_FULL_DROP };

/* --delay, --duration: what is outside of the window is not recorded. */
enum nvt_window_state { NVT_WINDOW_OPEN, NVT_WINDOW_BEFORE, NVT_WINDOW_OVER };

/* A place for an iteration that goes on; other values are when it is too long. */
enum nvt_running { NVT_RUNNING_FREE, NVT_RUNNING_TAKEN, NVT_RUNNING_FOUND };

/* The session's page: written by `record`, read by every traced process. The recorder holds a lock
 * (flock) on it as long as it lives. */
struct nvt_control {
    uint32_t magic;
    uint32_t version;
    int32_t recorder;  /* pid */
    uint32_t clock;    /* enum nvt_clock: what ticks are */
    uint32_t on_full;  /* enum nvt_on_full */
    uint32_t slots;    /* that a ring may grow to; a power of two */
    uint64_t trace;    /* enum nvt_trace_what bits */
    char capture[256]; /* --capture: RANGE, RANGE@DOMAIN, RANGE@*, cudaProfilerApi, or "" */
    uint64_t capture_from, capture_to; /* which of the ranges of that name, counted from 0 */
    _Atomic uint64_t heartbeat;        /* grows as `record` drains, and before `writing` ends */
    /* `record` has finished, or was found dead: nothing is drained any more */
    _Atomic uint32_t ended;
    /* errno of a process where the system refuses CPU counts; 0: none (any writer sets it) */
    _Atomic uint32_t uncounted;
    _Atomic uint64_t homeless; /* events lost since a thread could get no ring (any writer adds) */
    uint64_t recorder_start;   /* of the process `recorder`, see nvt_process_start */
    uint64_t pid_space;        /* inode of the recorder's pid namespace; 0: unknown */
    _Atomic uint32_t writing;  /* `record` is in a write(), which may take its time */
    _Atomic uint32_t asked;    /* no room for a thread's ring: what has ended is to go at once */
    _Atomic uint32_t cleared;  /* how often `record` has taken away what had ended */
    _Atomic uint32_t asleep;   /* the recorder sleeps: who sets this to zero wakes it; a futex */
    _Atomic uint32_t turns; /* how many have wanted a turn at making a ring where room is scarce, */
    _Atomic uint32_t turn;  /* and whose it is; 0: no thread's */
    _Atomic uint64_t taken; /* bytes of all rings that have memory */
    /* there was no memory for more within this limit of a control group, bytes; 0: there was */
    _Atomic uint64_t scarce;
    _Atomic uint32_t joined;   /* processes that have joined so far (any of them adds) */
    _Atomic uint32_t captured; /* with --capture: what is captured has begun (any writer sets it) */
    uint64_t os_threshold;     /* ticks: shorter OS calls are left out */
    uint64_t cpu_period_ns;    /* CPU time of a thread between two of its samples */
    /* Ticks: a call that took `where_least` has its stack taken, once for `where_every` that the thread has spent in such calls.
     * UINT64_MAX: none has. */
    uint64_t where_least, where_every;
    uint32_t has_window;     /* it opens, or closes, while programs run, by the clock */
    uint32_t is_dormant;     /* it does so whenever somebody asks: BEFORE and OPEN in turn */
    _Atomic uint32_t window; /* enum nvt_window_state; a futex where is_dormant is set */
    _Atomic uint32_t epoch;  /* of a standing session: recorders so far. A ring is of one of them */
    /* it is there without a recorder, and outlives those that come (standing.h) */
    uint32_t is_standing;
    int32_t holder;        /* a process that keeps it, 0: none */
    uint64_t holder_start; /* of that, see nvt_process_start */
    char iteration[256];   /* the ranges that are iterations, as `capture` has it; "": unknown */
    /* Of a dormant session whose iterations are known: the window is of some of them alone, numbers from 0, UINT64_MAX:
     * not known yet. Processes write the others: the most that one has had, how many have had some, and how many all that are wanted, and
     * of these, have ended since (in the low halves; in the high ones is the request, so that none that comes late counts for the next one);
     * when the first of the iterations began and the last one ended, ticks, 0: none has. */
    _Atomic uint32_t stepping;
    _Atomic uint64_t steps_from, steps_last;
    _Atomic uint64_t steps_seen;
    _Atomic uint64_t steps_done, steps_left;
    _Atomic uint64_t steps_began, steps_ended;
    _Atomic uint32_t steppers;
    /* processes that have had a first iteration so far, also those that have ended */
    _Atomic uint32_t entered;
    /* Those of them that the recorder can see, as far as there is room, so that one that was killed is not waited for: the process, 0: none,
     * the latest request of which it has had all, and the one that it has come too late for to be waited for. */
    _Atomic int32_t stepper[NVT_STEPPERS];
    _Atomic uint32_t stepper_done[NVT_STEPPERS], stepper_late[NVT_STEPPERS];
    /* Names of ranges that have begun while iterations were asked for and none has ever begun (inject/other_ranges.h): so many places
     * are taken, and each is ready when it says so. */
    _Atomic uint32_t others;
    struct {
        _Atomic uint32_t is_ready;
        char name[NVT_OTHER_NAME];
    } other[NVT_OTHERS];
    /* --on-slow: an iteration that takes more than so much of the median of those before it, or so many ticks, is counted, and what it
     * took, and the median then (0: not asked for), stand here. */
    uint32_t slow_percent;
    uint64_t slow_ticks;
    _Atomic uint32_t slow;
    _Atomic uint64_t slow_took, slow_usual;
    /* Those that go on, as far as there is room, so that one that hangs is found: from when on it is too long (enum nvt_running, or ticks),
     * when it began and the median then, ticks, and its process. */
    struct {
        _Atomic uint64_t due, began, usual;
        _Atomic int32_t process;
    } running[NVT_RUNNING];
    /* --budget (budget.h): the share that recording may cost, 0: any; ticks between the beginnings of two blocks, at least. The process that
     * decides, 0: none yet, opens and closes the window; its parts are here, one after the other in so many places, and what it has
     * come to: iterations, ticks. */
    double budget;
    uint64_t budget_cycle;
    _Atomic int32_t decider;
    _Atomic uint32_t parts; /* that are over */
    _Atomic uint64_t part_from[NVT_PARTS], part_to[NVT_PARTS];
    _Atomic uint64_t budget_iterations, budget_recorded, budget_elapsed, budget_spent,
        budget_watched, budget_error;
    _Atomic int64_t budget_compared; /* the same by bare iterations alone */
    _Atomic uint64_t budget_compared_error;
    /* Its levels (budget_levels.h): what each leaves out of `trace`, the level of each part (in places, as above), that there is now, since
     * which part, how often it has changed, and what is left out of the window that is open, or opens next. */
    uint32_t budget_levels;
    uint64_t budget_leaves_out[NVT_BUDGET_LEVELS];
    _Atomic uint32_t part_level[NVT_PARTS];
    _Atomic uint32_t budget_level, budget_level_part, budget_level_changes;
    _Atomic uint64_t left_out;
    /* --trace metrics: what to sample, and why it was not, or not all: the first process that finds out sets `unsampled` to 1, and
     * to 2 when the text is there. */
    char metrics[NVT_METRICS_NAMES];
    uint32_t metrics_hz;
    /* --counters-of: metrics are counted over what is captured, and not sampled */
    uint32_t counts_ranges;
    _Atomic uint32_t unsampled;
    char unsampled_why[192];
    /* Of --trace counters: which of the usual hardware counters are wanted, bit 0 the first of them (lib/counts.h); and others,
     * of struct perf_event_attr, with their names, and that of the top-down set that they are ("": of none). */
    uint32_t usual_counters, chosen_counters;
    struct {
        uint32_t type;
        uint64_t config;
        char name[NVT_COUNTER_NAME_MAX];
    } chosen[NVT_CHOSEN_MOST];
    char topdown[32];
    _Atomic uint64_t opened; /* ticks; 0: it was open from the beginning */
    /* processes that use a device and have not handed over all of the window's records */
    _Atomic uint32_t owing;
};

enum nvt_trace_what {
    NVT_TRACE_NVTX = 1,
    NVT_TRACE_KERNEL = 2, /* kernels, copies and memsets */
    NVT_TRACE_API = 4,
    NVT_TRACE_MEMORY = 8,
    NVT_TRACE_SYNC = 16,
    NVT_TRACE_OVERHEAD = 32, /* the tools' own time */
    NVT_TRACE_EXTERNAL = 64, /* the ids that programs push on calls */
    NVT_TRACE_GRAPH = 128,   /* whole graphs instead of what is in them */
    NVT_TRACE_UM = 256,      /* pages of managed memory: faults, migrations */
    NVT_TRACE_MPI = 1024,    /* MPI calls, as ranges of a preloaded library */
    NVT_TRACE_MACHINE = 512, /* the state of the machine, which the recorder samples */
    NVT_TRACE_OSRT = 2048,   /* OS calls, by a preloaded library */
    NVT_TRACE_CPU = 4096,    /* CPU samples */
    /* the memory of processes, which the recorder samples; part of MACHINE */
    NVT_TRACE_PROCESS = 8192,
    NVT_TRACE_NCCL = 16384,     /* what NCCL says of itself, as ranges of its profiler plugin */
    NVT_TRACE_COUNTERS = 32768, /* CPU counts of threads at each push and pop */
    NVT_TRACE_METRICS = 65536,  /* counters of devices, sampled */
};
/* All but the coarser view of graphs, and what slows managed memory down. */
#define NVT_TRACE_FULL 127u
/* What needs CUPTI. */
#define NVT_TRACE_DEVICE                                                                           \
    (~(uint64_t)(NVT_TRACE_NVTX | NVT_TRACE_MACHINE | NVT_TRACE_MPI | NVT_TRACE_OSRT |             \
                 NVT_TRACE_CPU | NVT_TRACE_PROCESS | NVT_TRACE_NCCL | NVT_TRACE_COUNTERS))

enum nvt_ring_state {
    NVT_RING_OPEN = 0,
    NVT_RING_CLOSED = 1, /* its thread has ended: drain it and forget it */
    NVT_RING_GONE = 2, /* the recorder has forgotten it: a thread that still lives needs another */
    /* its thread has ended, and another of its process may have it: OPEN again, or in time GONE */
    NVT_RING_IDLE = 3,
};

/* The OS call that a thread is in. The other fields are valid only while `number` is not 0. */
struct nvt_ring_calling {
    _Atomic uint32_t number;  /* enum nvt_os_call_number and 1; 0: it is in none */
    _Atomic uint32_t file;    /* as in nvt_ring_os_call */
    _Atomic uint32_t caller;  /* as in nvt_ring_os_call */
    _Atomic uint64_t since;   /* ticks */
    _Atomic uint64_t address; /* of what it waits for */
    _Atomic uint32_t holder;  /* as in nvt_ring_os_call */
    /* Whether it can be asked for a sample of where it is (record --trace cpu): by this signal, queued with this value.
     * 0: it cannot. */
    _Atomic uint32_t signal;
    _Atomic uint64_t value;
    char path[104]; /* the beginning of the path that it was given, "": none */
};

/* First NVT_RING_HEADER bytes of a ring file; its slots follow. */
#define NVT_RING_HEADER 8192
struct nvt_ring {
    _Atomic uint32_t magic; /* stored last when the rest is ready */
    uint32_t version;
    _Atomic uint32_t slots; /* a power of two; grows, see above */
    int32_t pid, parent;
    int32_t tid;      /* the first thread's; of the next one NVT_DEFINE_OWNER says it */
    uint32_t foreign; /* these are of another pid namespace than the recorder's */
    uint64_t image;   /* start of the process image in ticks: differs after exec */
    char thread_name[16];
    char command[4096];     /* the process's arguments, joined by blanks */
    struct nvt_costs costs; /* of an event, zeros where NVTX is not recorded */
    /* The producer's line. */
    _Alignas(64) _Atomic uint64_t dropped; /* events dropped as the ring was full */
    _Atomic uint64_t nested;               /* events dropped as they came from a signal handler that
                                           interrupted an event */
    _Atomic uint64_t waited_ns;            /* time spent waiting for room */
    _Atomic uint32_t too_deep; /* some were dropped as open ranges, each of which keeps a slot for
                                           its end, had filled it */
    _Atomic uint32_t state;    /* enum nvt_ring_state; GONE is the consumer's */
    struct nvt_ring_calling calling;
    /* The consumer's line. */
    _Alignas(64) _Atomic uint64_t tail; /* slots drained */
    _Atomic uint64_t taken;             /* slots copied, of which some may not be drained yet */
};
_Static_assert(sizeof(struct nvt_ring) <= NVT_RING_HEADER, "the ring's header must fit");

/*
 * A record is a slot, followed by `extra` more slots of data:
 *   word: kind in bits 0-7, flags in bits 8-15, extra in bits 16-31, domain in bits 32-47, value
 *   in bits 48-63 (the string slot of the name, where the record has one).
 */
struct nvt_slot {
    uint64_t ticks;
    _Atomic uint64_t word; /* zero: nothing here yet */
};

/* Slots of a ring of so many bytes at most: a power of two, 1024 at least. */
static inline uint32_t nvt_ring_slots_of(uint64_t bytes)
{
    uint32_t slots = 1024;
    while (slots < (1u << 26) && (uint64_t)slots * 2 * sizeof(struct nvt_slot) <= bytes)
        slots *= 2;
    return slots;
}

#define NVT_WORD(kind, flags, extra, domain, value)                                                \
    ((uint64_t)(kind) | (uint64_t)(flags) << 8 | (uint64_t)(extra) << 16 |                         \
     (uint64_t)(domain) << 32 | (uint64_t)(value) << 48)
#define NVT_WORD_KIND(word)   ((unsigned)((word)&0xff))
#define NVT_WORD_FLAGS(word)  ((unsigned)((word) >> 8 & 0xff))
#define NVT_WORD_EXTRA(word)  ((unsigned)((word) >> 16 & 0xffff))
#define NVT_WORD_DOMAIN(word) ((unsigned)((word) >> 32 & 0xffff))
#define NVT_WORD_VALUE(word)  ((unsigned)((word) >> 48 & 0xffff))

/*
 * Kinds. Ranges and marks: the name is string slot `value`. START and END have an extra slot whose
 * first word is the range id. With NVT_EVENT_ATTRIBUTES an nvt_attributes follows (behind the range
 * id), and behind it `payload_bytes` bytes of extended payload, padded to whole slots. A mark with
 * NVT_EVENT_SAMPLE is a sample of a counter: an nvt_ring_sample stands first.
 * Definitions: a 64-bit id, a 64-bit length, then that many bytes.
 */
enum nvt_record_kind {
    NVT_EVENT_PUSH = 1,
    NVT_EVENT_POP,
    NVT_EVENT_MARK,
    NVT_EVENT_START,
    NVT_EVENT_END,
    NVT_DEFINE_STRING = 16, /* from here on string slot `value` stands for this text */
    NVT_DEFINE_DOMAIN,      /* id: the domain's number in its process */
    NVT_DEFINE_CATEGORY,    /* id: the category, of `domain` */
    NVT_DEFINE_THREAD,      /* id: tid */
    NVT_DEFINE_RESOURCE,    /* id: handle; value: enum nvt_resource_type */
    NVT_DEFINE_SCHEMA,      /* id: of the schema; bytes: see nvtx_payload.c */
    NVT_DEFINE_ENUM,        /* id: of the enumeration; bytes: see nvtx_payload.c */
    NVT_DEFINE_COUNTER,     /* id: of the counter; bytes: see nvtx_counters.c */
    NVT_DEVICE_RECORDS,     /* rows about devices. id: their count, those with times << 32; bytes:
                               count of names (8 bytes), size of names (8), the names, the rows,
                               see lib/device_rows.h */
    NVT_DEFINE_FILE,        /* id: of what an OS call operates on */
    NVT_OS_CALL,            /* one that has ended, enum nvt_os_call_number is the value: an
                               nvt_ring_os_call */
    NVT_DEFINE_OWNER, /* id: tid of the thread whose ring this is from here on; bytes: its name */
    NVT_TASK, /* events from here on are of this task of Python: its number's low bits are the domain, its high ones the
                         value; 0: of none */
    NVT_DEFINE_TASK, /* id: of a task; bytes: its name. Tasks of the thread interleave */
    NVT_CPU_SAMPLE,  /* of what the thread runs: an nvt_ring_cpu_sample */
};

/* Flags of ranges and marks. */
#define NVT_EVENT_ATTRIBUTES 1
#define NVT_EVENT_SAMPLE     2
#define NVT_EVENT_CLOCK      2 /* bits from here: of a sample, enum nvt_sample_clock */

/* Of which counter, and the time that the program gives. */
struct nvt_ring_sample {
    uint64_t counter;
    int64_t time;
};

/* What stands before the frames of a sample, 8 bytes each and the innermost first, and the text of Python's stack, as its
 * faulthandler writes it. */
struct nvt_ring_cpu_sample {
    /* CPU time that it stands for; 0: none, it is where the thread waits, or has waited */
    uint64_t cpu_ns;
    uint64_t ticks; /* when it waited; 0: when the record was written */
    uint32_t frames;
    uint32_t text;   /* bytes */
    uint32_t python; /* enum nvt_python_state: why there is no text */
    uint32_t unused;
};

/* A frame: the id of a file (NVT_DEFINE_FILE) and the place in it, as its symbols have it; of none, the address. */
#define NVT_CPU_FRAME(file, place) ((uint64_t)(file) << 48 | ((uint64_t)(place)&0xffffffffffffu))
#define NVT_CPU_FRAME_FILE(frame)  ((uint32_t)((frame) >> 48))
#define NVT_CPU_FRAME_PLACE(frame) ((frame)&0xffffffffffffu)

struct nvt_ring_os_call {
    uint64_t start, end; /* ticks */
    int64_t result;
    uint32_t file;   /* id, 0: none, or unknown */
    uint32_t caller; /* id of the library or program that called, 0: none, or unknown */
    /* thread that held the lock as the wait began, as the system numbers it; 0: unknown */
    uint32_t holder;
    uint32_t unused;
    uint64_t address; /* of a lock or another synchronisation object, 0: none */
    uint64_t bytes;   /* that were read or written */
};

struct nvt_attributes {
    uint32_t flags; /* enum nvt_attribute_flags */
    uint32_t category;
    uint32_t color;         /* ARGB */
    uint32_t payload_type;  /* nvtxPayloadType_t */
    uint64_t payload;       /* its bits */
    uint64_t payload_bytes; /* of the extended payload */
};

/* String slots of a ring: the name cache of its thread. */
#define NVT_STRING_SLOTS 4096u
#define NVT_STRING_MAX   65000u /* longer names are cut to so many bytes */

/* Of a ring with that many slots. */
static inline size_t nvt_ring_bytes(uint64_t slots)
{
    return NVT_RING_HEADER + (size_t)slots * sizeof(struct nvt_slot);
}

static inline struct nvt_slot *nvt_ring_slots(struct nvt_ring *ring)
{
    return (struct nvt_slot *)((char *)ring + NVT_RING_HEADER);
}

#endif
