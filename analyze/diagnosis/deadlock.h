/*
 * Deadlocks at the end of a trace: threads that wait, without a time limit, for locks that no thread can release any
 * more. Who holds a lock is what the recording knows (os_calls.holder); where that is not known, nothing is said.
 */
#ifndef NVT_DEADLOCK_H
#define NVT_DEADLOCK_H

#include "../studies/lock_holders.h"

/* From when on a wait counts: a lock that is held for so long may still be released, a cycle of them may not. */
#define NVT_DEADLOCK_NS INT64_C(2000000000)
/* Threads of a cycle that are named. */
#define NVT_DEADLOCK_MOST 4

enum nvt_deadlock_kind {
    NVT_DEADLOCK_SELF,  /* a thread wants a lock that it holds */
    NVT_DEADLOCK_CYCLE, /* threads want locks that others of them hold */
    NVT_DEADLOCK_FORKED, /* a thread of the parent held it when the process was forked, and is not in the child */
    NVT_DEADLOCK_ENDED, /* its holder has ended */
};

struct nvt_deadlock {
    enum nvt_deadlock_kind kind;
    uint32_t process;
    /* rows of os_calls: each waits for what the thread of the next one holds */
    uint32_t calls[NVT_DEADLOCK_MOST];
    uint32_t named, count; /* of these; threads of the cycle */
    uint32_t behind;       /* threads that wait for locks of these */
    uint32_t holder;       /* forked, ended: row of threads */
    int64_t since;         /* when the last of them began to wait */
};

/* Zero-initialise; release with nvt_deadlocks_free. */
struct nvt_deadlocks {
    struct nvt_deadlock *items;
    uint32_t count;
    struct nvt_waits waits;
    struct nvt_lock_holders holders;
};

/*
 * Those of a trace. A lock of Python may be released by any thread: a thread that wants one that it holds itself counts only while
 * nothing else of Python runs in its process. Nothing where the recording ended because the program did. 0, or -1 when out of memory.
 */
int nvt_deadlocks_find(struct nvt_deadlocks *deadlocks, const struct nvt_trace *trace);
void nvt_deadlocks_free(struct nvt_deadlocks *deadlocks);

/* Whether a call waits for a lock of Python. */
int nvt_is_python_lock(const struct nvt_trace *trace, uint32_t call);

#endif
