/*
 * The table of OS calls (os_calls.def): which are recorded, and what a call waits for. nsys's recordings (nsys profile
 * --trace=osrt) use the same names.
 */
#ifndef NVT_OS_CALLS_H
#define NVT_OS_CALLS_H

#include <stdint.h>
#include <string.h>

/* What a call waits for, or works with. */
enum nvt_os_kind {
    NVT_OS_OTHER,
    NVT_OS_FILES,
    NVT_OS_NETWORK,
    NVT_OS_LOCKS,   /* what another thread holds */
    NVT_OS_THREADS, /* what another thread is to do, or its end */
    NVT_OS_POLL,    /* that anything comes */
    NVT_OS_SLEEPS,
    NVT_OS_PROCESSES,
    NVT_OS_MEMORY, /* pages of it */
    NVT_OS_DEVICES,
    NVT_OS_KINDS
};

/* What the object of a call is known by: one of its arguments. */
enum nvt_os_object {
    NVT_OS_NOTHING,
    NVT_OS_DESCRIPTOR,
    NVT_OS_STREAM,    /* FILE * */
    NVT_OS_DIRECTORY, /* DIR * */
    NVT_OS_STDOUT,    /* none of the arguments */
    NVT_OS_PATH,
    NVT_OS_ADDRESS, /* of a lock or another synchronisation object */
};

/* What the result says. */
enum nvt_os_result {
    NVT_OS_NUMBER,              /* an int */
    NVT_OS_POINTER,             /* NULL or not */
    NVT_OS_READS,               /* bytes that were read, */
    NVT_OS_WRITES,              /* or written */
    NVT_OS_READS_ITEMS,         /* items, whose size is the second argument, */
    NVT_OS_READS_ITEMS_CHECKED, /* or the third */
    NVT_OS_WRITES_ITEMS,
    NVT_OS_PRINTS, /* bytes, as an int */
    NVT_OS_OPENS,  /* a descriptor that stands for something else from now on */
    NVT_OS_OPENS_STREAM,
    NVT_OS_OPENS_PAIR, /* two, at the first argument */
    NVT_OS_CLOSES,     /* that of the object */
    NVT_OS_CONNECTS,   /* that of the object has another end now */
    NVT_OS_FCNTL,      /* a descriptor or not, by the second argument */
    NVT_OS_FORKS,      /* twice */
};

struct nvt_os_call_info {
    const char *name;
    enum nvt_os_kind kind;
    enum nvt_os_object object;
    uint8_t argument; /* that is the object, from 1 */
    enum nvt_os_result result;
};

#define OS_CALL(name, ...) NVT_OS_CALL_##name,
enum nvt_os_call_number {
#include "os_calls.def"
    NVT_OS_CALLS
};

/* An item of a table of them, whose number is that of the list. */
#define NVT_OS_CALL_INFO(name_, words, kind_, object_, argument_, result_)                         \
    {.name = #name_,                                                                               \
     .kind = NVT_OS_##kind_,                                                                       \
     .object = NVT_OS_##object_,                                                                   \
     .argument = argument_,                                                                        \
     .result = NVT_OS_##result_},

extern const struct nvt_os_call_info nvt_os_calls[NVT_OS_CALLS];

/* The call of this name; NULL: it is none of these. */
const struct nvt_os_call_info *nvt_os_call_find(const char *name);

/* Whether a thread waits on in this call whatever handlers of signals (SA_RESTART) run on it meanwhile: enum
 * nvt_os_call_number. Of those that wait for other threads or processes, without a limit; of signal(7) and what glibc does. */
int nvt_os_waits_on(unsigned call);

/* Whether a call waits for what comes from outside of the process, or for a time. */
static inline int nvt_os_waits_outside(const struct nvt_os_call_info *call)
{
    return call->kind == NVT_OS_SLEEPS || call->kind == NVT_OS_POLL ||
           call->kind == NVT_OS_PROCESSES || call->kind == NVT_OS_NETWORK;
}

/* Whether a thread in it is idle on purpose: it sleeps, or waits for a request or another process. */
static inline int nvt_os_is_idle(const struct nvt_os_call_info *call)
{
    return (nvt_os_waits_outside(call) && call->kind != NVT_OS_NETWORK) ||
           !strncmp(call->name, "accept", 6);
}

/* Whether a wait for other threads ends by itself at a time: sem_timedwait, pthread_cond_clockwait, "futex with a timeout". */
static inline int nvt_os_has_deadline(const char *name)
{
    return strstr(name, "timed") || strstr(name, "_clock") || strstr(name, "clockwait") ||
           strstr(name, "timeout");
}

/* A kind in one word: "files". */
const char *nvt_os_kind_name(enum nvt_os_kind kind);

/* Whether a call says how much it read. */
static inline int nvt_os_reads(const struct nvt_os_call_info *call)
{
    return call->result == NVT_OS_READS || call->result == NVT_OS_READS_ITEMS ||
           call->result == NVT_OS_READS_ITEMS_CHECKED;
}

/* Whether the bytes of a call go out of the program; else they come in. */
static inline int nvt_os_writes(const struct nvt_os_call_info *call)
{
    return call->result == NVT_OS_WRITES || call->result == NVT_OS_WRITES_ITEMS ||
           call->result == NVT_OS_PRINTS;
}

#endif
