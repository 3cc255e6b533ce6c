/*
 * What threads had not come out of when they, or the recording, ended: push/pop ranges, MPI calls, and the OS call that
 * they were in.
 */
#ifndef NVT_OPEN_ITEMS_H
#define NVT_OPEN_ITEMS_H

#include "../../lib/buffer.h"
#include "../../lib/os_calls.h"
#include "../model/trace.h"

/* Whether a range was never ended. One that a recording on request left open as it stopped is none: its thread may have gone on. */
int nvt_is_left_open(const struct nvt_trace *trace, uint32_t range);

enum nvt_open_what { NVT_OPEN_RANGE, NVT_OPEN_MPI, NVT_OPEN_OS };

struct nvt_open_item {
    uint32_t thread, name;
    uint32_t row; /* of ranges, mpi_calls or os_calls */
    enum nvt_open_what what;
    int64_t begun; /* ns; before what the trace has, it may be */
};

/* What a thread's OS calls say of it. */
struct nvt_open_thread {
    uint32_t call;    /* the last one that it began and never ended, a row; NVT_NONE */
    int has_item;     /* a range or an MPI call of it is open, too */
    int64_t returned; /* when it last came out of one, ns; INT64_MIN: it never did */
};

/* By process, thread (the main one first) and begin: each item of a thread lies in the one before it. */
struct nvt_open_items {
    const struct nvt_trace *trace;
    int at_stop; /* what was open when a recording on request was stopped counts, too */
    struct nvt_open_item *items;
    uint32_t count;
    struct nvt_open_thread *threads; /* by row of `threads` */
};

/*
 * Those of a trace. An OS call is among them where its thread has something else open; in a process that has, on the
 * main thread, and on those that wait for a lock; and in one whose main thread is in such a call, on that and on those
 * that wait for locks and files: so hangs look. 0, or -1 when out of memory. Release with nvt_open_items_free in any
 * case. nvt_open_items_find_known: of a thread that went on when the recording was stopped, those of then.
 */
int nvt_open_items_find(struct nvt_open_items *open, const struct nvt_trace *trace);
int nvt_open_items_find_known(struct nvt_open_items *open, const struct nvt_trace *trace);
void nvt_open_items_free(struct nvt_open_items *open);

static inline uint32_t nvt_open_process(const struct nvt_open_items *open, uint32_t item)
{
    return open->trace->threads.process[open->items[item].thread];
}

/* What is known of the OS call that a thread had not come out of; NULL: it was in none, or in one that is not in the table. */
const struct nvt_os_call_info *nvt_open_call(const struct nvt_open_items *open, uint32_t thread);

/* Behind the last item of the thread of item `from`. */
uint32_t nvt_open_thread_end(const struct nvt_open_items *open, uint32_t from);

/* "step (6.0 s) > backward (5.2 s) > sem_wait 0x7f10 (5.2 s) by save (model.py:12) < main (train.py:80)", with how long each had
 * been open then and who called the last one, where that is known: the items [from, to) of a thread, of many the outermost and
 * the innermost. 0, or -1 when out of memory. */
int nvt_open_put_stack(const struct nvt_open_items *open, uint32_t from, uint32_t to,
                       struct nvt_buffer *text);

#endif
