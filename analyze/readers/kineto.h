/*
 * Inside the reader of Chrome trace events: what the read_kineto*.c share.
 *
 * Sources: "Trace Event Format" (Google, the Catapult project) for the phases and the two forms of
 * a file; what PyTorch's Kineto writes (libkineto/src/output_json.cpp) for categories and
 * arguments. Times are microseconds there, with up to three decimals that are kept.
 *
 * Ranges: category user_annotation, nvtx or none is the default domain; any other category is a
 * domain of that name (cpu_op, python_function …). gpu_user_annotation is left out: it is Kineto's
 * own projection of what is read already; so is the span of category Trace, the profiler's. Kineto's instants
 * "Iteration Start: …" (process "Traces") and "Record Window End" (""), from and to which it recorded, are marks of
 * the file's process, as these are none.
 */
#ifndef NVT_READ_KINETO_H
#define NVT_READ_KINETO_H

#include "../../lib/map.h"
#include "../model/trace.h"
#include "kineto_rocprof.h"

/* Numbers of an event and of its arguments that are used. */
enum nvt_kineto_number {
    NVT_KN_CORRELATION,
    NVT_KN_DEVICE,
    NVT_KN_CONTEXT,
    NVT_KN_STREAM,
    NVT_KN_REGISTERS,
    NVT_KN_SHARED, /* static and dynamic, where the file adds them up, else static */
    NVT_KN_DYNAMIC_SHARED,
    NVT_KN_BYTES,
    NVT_KN_ADDRESS,
    NVT_KN_ALLOCATED,
    NVT_KN_RESERVED,
    NVT_KN_DEVICE_TYPE,
    NVT_KN_DEVICE_ID,
    NVT_KN_GRAPH,
    NVT_KN_GRAPH_NODE,
    NVT_KN_RECORDED, /* correlation id of the call that recorded the event */
    NVT_KN_RECORDED_STREAM,
    NVT_KN_UNCLOSED, /* 1: of our export, an event that never ended */
    NVT_KN_PROCESS,  /* of our export, whose the operation or wait is */
    NVT_KN_PUSH_POP, /* of an asynchronous event that our export made of one */
    NVT_KN_RANKS,    /* of a collective: in its group, elements given and taken */
    NVT_KN_GIVEN,
    NVT_KN_TAKEN,
    NVT_KN_RESULT,   /* of an OS call, in our export */
    NVT_KN_SEQUENCE, /* of a collective: which of its group's */
    NVT_KN_SOURCE,   /* of a message: ranks of the job */
    NVT_KN_TARGET,
    NVT_KN_STEP,     /* of a range: the iteration that it is, by JAX's step_num */
    NVT_KN_COPY,     /* 1: XLA says that it is a copy */
    NVT_KN_BEGIN_NS, /* of rocprof's events, whose times are whole microseconds, */
    NVT_KN_END_NS,
    NVT_KN_PID, /* and whose pid is that of a lane */
    NVT_KN_COUNT
};

/* One trace event, as far as it was read. */
struct nvt_kineto_event {
    char phase;
    /* mistyped: of the two, what was there is no time; 2: it is a number, out of range */
    int has_time, has_duration, mistyped;
    int has_tid;
    int64_t time, duration; /* ns */
    uint32_t name, category, id;
    uint32_t label;                   /* args.name, or args.labels: of a process or thread */
    uint32_t collective, type, group; /* of a kernel that communicates, */
    uint32_t members, purpose;        /* and of its group, as the file has them */
    uint32_t file;                    /* of an OS call, in our export, */
    uint32_t caller;                  /* and who makes it */
    uint32_t work;                    /* of an operator: what its shapes say (operator_work.h) */
    uint64_t address;                 /* of a lock and other things that it works with */
    int64_t pid, tid;
    int is_device_pid; /* pid is a number, so it may be a device's */
    uint32_t grid[3], block[3];
    unsigned grid_size, block_size;
    uint32_t have; /* bit i: number[i] was there */
    int64_t number[NVT_KN_COUNT];
};

/* A process, a thread or an asynchronous id of the file; what was only named has no row of the
 * model. */
struct nvt_kineto_owner {
    uint32_t row, name;
    uint32_t rank_and_1; /* of a process, as its label says; 0 unknown */
    uint32_t open;       /* the row of its innermost open range */
    uint32_t ended; /* name of an end that came before its beginning, at the same time; 0: none */
    int64_t ended_at;
    int64_t last;     /* time of its last event that begins or ends; INT64_MIN: none yet */
    int is_unordered; /* one of them was before the one before it */
    uint8_t lane;     /* what a thread's events are (kineto_dialects.c), and of which */
    uint32_t device, stream;
};

/* A beginning or end of a range, of an owner. `row`: NVT_NONE: it is an end, which is of that thread (an owner). */
struct nvt_kineto_pair {
    int64_t time;
    uint32_t owner, row, name, thread;
};

/* What launched an operation of a device's lane. */
struct nvt_kineto_launch {
    uint32_t thread;
    int64_t time;
};

/* Of the lanes of other profilers. */
struct nvt_kineto_dialects {
    int has_ops;
    int has_host;               /* a lane was taken for the host's by what was known of its name */
    int is_late;                /* a name came behind events that it would have made others */
    int is_rocprof;             /* it has lanes of rocprof: 0 is not known yet, -1 no */
    uint64_t derived, barriers; /* events that were left out */
    struct nvt_map by_correlation; /* id -> of launches */
    struct nvt_map arrows, ends;   /* their id, and where they end -> of launches */
    struct nvt_kineto_launch *launches;
    uint32_t launch_count;
    struct nvt_rocprof rocprof;
};

/* The host memory that a process has in use: what its allocator reported last, and shared memory in addition. Bytes. */
struct nvt_kineto_level {
    uint64_t said, shared;
};

struct nvt_kineto_host {
    struct nvt_map shared;           /* address, by process: there while it is in use */
    struct nvt_kineto_level *levels; /* of each process, by its row */
    size_t capacity;
};

/* A number in the args of a counter's event: its key, a string. */
#define NVT_KINETO_SERIES 16
struct nvt_kineto_series {
    uint32_t key;
    double value;
};

/* What was found out about a string when it was last a category or the name of a kernel, by its number: zeros for the first. */
#define NVT_KINETO_SEEN 256
struct nvt_kineto_seen {
    uint32_t category;
    uint32_t class; /* of complete events of it (kineto_event.c) */
    /* what nvt_kineto_domain says of it in that process; 0: not asked */
    uint32_t process_and_1, domain;
    uint32_t kernel, short_name;
};

/* Who was looked up last, by what ids are: owners and 1, 0 for none. */
#define NVT_KINETO_RECENT 16
struct nvt_kineto_recent {
    int64_t pid, tid;
    uint32_t process_and_1, thread_and_1;
};

/* A group of ranks that the head of the file lists: strings, and how many ranks. */
struct nvt_kineto_group {
    uint32_t name, purpose, members, ranks;
};

struct nvt_kineto {
    struct nvt_trace *trace;
    const char *path;
    struct nvt_error *err;
    struct nvt_kineto_event event;
    uint64_t events;
    struct nvt_kineto_seen seen[NVT_KINETO_SEEN];
    struct nvt_map pids, tids, threads; /* -> owners; tids: -> small number */
    struct nvt_kineto_recent recent[NVT_KINETO_RECENT];
    struct nvt_kineto_owner *owners;
    uint32_t owner_count, tid_count;
    /* by operation: the owner that it stands under, and 1; 0, and beyond the capacity: a device's number */
    uint32_t *lanes;
    size_t lane_capacity;
    struct nvt_map async;          /* string of id << 32 | category -> owner of what is open */
    struct nvt_kineto_pair *pairs; /* beginnings and ends, as they came, where they are kept */
    uint32_t pair_count;
    int keeps_pairs, has_unordered; /* has_unordered: those of an owner are not in order */
    struct nvt_map domains;         /* process << 32 | category -> row */
    struct nvt_kineto_host host;
    struct nvt_kineto_group *groups;
    uint32_t group_count;
    struct nvt_map group_of; /* string of a name -> of groups */
    uint32_t rank;
    int is_own; /* our own export */
    struct nvt_kineto_dialects dialects;
    /* of the event, if it may be of a counter */
    struct nvt_kineto_series numbers[NVT_KINETO_SERIES];
    unsigned number_count;
    struct nvt_map series, counters; /* name << 32 | key -> number; domain << 32 | that -> row */
    uint32_t series_count;
    int64_t first;        /* earliest time */
    uint64_t untimed;     /* events that were left out: they end before they begin, */
    uint64_t mistimed;    /* or have a time that is none; */
    uint64_t unread[128]; /* others by phase: their kind is not read; */
    uint64_t managed;     /* page faults and the like, of our own export */
    const char *backend;  /* by the calls so far; NULL: there was no such call */
    int only_names;       /* events that name processes and threads are read alone */
};

/* Whether anything is known by an event's id, its strings being in that table: else it needs none (NVT_NO_STRING). */
int nvt_kineto_has_use_of_id(const struct nvt_kineto_event *event,
                             const struct nvt_strings *strings);

/* Add the event that was read to the model. 0, or -1 with err filled. */
int nvt_kineto_add(struct nvt_kineto *reader);

/* What can only be known at the end: processes of device operations, names, ends of open ranges,
 * facts, notes. is_of_others: neither PyTorch's profiler nor we wrote it. 0, or -1 with err filled. */
int nvt_kineto_finish(struct nvt_kineto *reader, int is_of_others);

/* What the reader owns. */
void nvt_kineto_free(struct nvt_kineto *reader);

/* Add the event that was read as an operation, a call (`class`: enum nvt_api_class), a synchronisation … 0, or -1 with err
 * filled. */
int nvt_kineto_add_op(struct nvt_kineto *reader, enum nvt_op_kind kind);
int nvt_kineto_add_api(struct nvt_kineto *reader, uint8_t class);
int nvt_kineto_add_sync(struct nvt_kineto *reader);
int nvt_kineto_add_os_call(struct nvt_kineto *reader);
int nvt_kineto_add_overhead(struct nvt_kineto *reader);
int nvt_kineto_add_counters(struct nvt_kineto *reader);

/* Of our own export: "GPU 0: SM clock" of the machine is a counter of the domain "GPU 0". 0, or -1 when out of memory. */
int nvt_kineto_split_name(struct nvt_kineto *reader, struct nvt_counter *counter);

/* Samples of counters that came without a thread are put on the first one of their process. 0, or -1 when out of memory. */
int nvt_kineto_own_counters(struct nvt_trace *trace);

/* The domain that the event's category stands for, in a process; NVT_NONE when out of memory. */
uint32_t nvt_kineto_domain(struct nvt_kineto *reader, uint32_t process);

/*
 * What the event says of its communication (kineto_groups.c): the row of collectives and 1, 0 where it says nothing, NVT_NONE
 * when out of memory. Its group is completed by what the head of the file lists. And which of its group's it is, of a process
 * or NVT_NONE: 0, or -1 when out of memory.
 */
uint32_t nvt_kineto_collective(struct nvt_kineto *reader);
int nvt_kineto_sequence(struct nvt_kineto *reader, uint32_t process);

/* A group of the head is known. 0, or -1 when out of memory. */
int nvt_kineto_add_group(struct nvt_kineto *reader, const struct nvt_kineto_group *group);
void nvt_kineto_groups_free(struct nvt_kineto *reader);

/* The string of a list of ranks as the model has it, "0,1", of one as files have it, "[0, 1]"; NVT_NO_STRING when out of memory. */
uint32_t nvt_kineto_members(struct nvt_strings *strings, const char *text, size_t size);

/* Makes the stacks of CUDA calls from ranges (kineto_stacks.c), after all rows have been read. Its cost is that of
 * sorting ranges and calls. 0, or -1 when out of memory. */
int nvt_kineto_stacks(struct nvt_trace *trace);

/* Fails: -1 with err filled. */
int nvt_kineto_no_memory(struct nvt_kineto *reader);

static inline void nvt_kineto_set(struct nvt_kineto_event *event, enum nvt_kineto_number which,
                                  int64_t value)
{
    event->number[which] = value;
    event->have |= 1u << which;
}

/* Numbers of the event's args; `missing` where it has none. What does not fit in the second and third is 0. */
static inline int64_t nvt_kineto_int(const struct nvt_kineto_event *event,
                                     enum nvt_kineto_number which, int64_t missing)
{
    return event->have >> which & 1 ? event->number[which] : missing;
}

static inline uint32_t nvt_kineto_u32(const struct nvt_kineto_event *event,
                                      enum nvt_kineto_number which, int64_t missing)
{
    int64_t value = nvt_kineto_int(event, which, missing);
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : 0;
}

static inline uint64_t nvt_kineto_size(const struct nvt_kineto_event *event,
                                       enum nvt_kineto_number which)
{
    int64_t value = nvt_kineto_int(event, which, 0);
    return value > 0 ? (uint64_t)value : 0;
}

/* A thread had an event. */
void nvt_kineto_seen(struct nvt_kineto *reader, uint32_t thread, int64_t time);

/*
 * The event begins a row of ranges of an owner, or ends one of its (kineto_pairs.c). And at the end: pair those anew whose events
 * were not in order of time. 0, or -1 when out of memory, or where pairs would have to be kept and are not (has_unordered).
 */
int nvt_kineto_begin(struct nvt_kineto *reader, uint32_t owner, uint32_t row);
int nvt_kineto_end(struct nvt_kineto *reader, uint32_t owner);
int nvt_kineto_pair_anew(struct nvt_kineto *reader);

/* Row of the process / thread of the current event; NVT_NONE when out of memory. */
uint32_t nvt_kineto_process(struct nvt_kineto *reader);
struct nvt_kineto_owner *nvt_kineto_thread(struct nvt_kineto *reader);

/* The event's owners, whether they have rows or not: 0, or -1 when out of memory; and what one is called, by its id in the file. */
int nvt_kineto_owners(struct nvt_kineto *reader, const struct nvt_kineto_owner **process,
                      struct nvt_kineto_owner **thread);
const char *nvt_kineto_owner_name(const struct nvt_kineto *reader,
                                  const struct nvt_kineto_owner *owner, int64_t id);

/*
 * What is in use on the host after an event whose allocator said it. PyTorch reports memory that processes share (what
 * a DataLoader's workers hand over: aten/src/ATen/MapAllocator.cpp) with 0 as the sum of allocated memory, while its
 * allocator of the host continues from its own sum: the two are added. A shared allocation is recognised by its size,
 * which is more than that sum, its end by the address. 0, or -1 when out of memory. Release with nvt_kineto_host_free.
 */
int nvt_kineto_host_follow(struct nvt_kineto_host *host, struct nvt_memory_event *memory);
void nvt_kineto_host_free(struct nvt_kineto_host *host);

/*
 * A decimal number of any form times 10^power, rounded to nearest, away from zero. 0, or -1: no
 * number, or not within ±2^62.
 */
int nvt_parse_scaled(const char *text, size_t size, int power, int64_t *out);

#endif
