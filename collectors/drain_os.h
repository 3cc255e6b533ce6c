/*
 * Turns a ring's records of OS calls into rows of a chunk OS_CALLS (docs/trace-format.md).
 */
#ifndef NVT_DRAIN_OS_H
#define NVT_DRAIN_OS_H

#include "drain.h"

struct nvt_drain_os {
    struct nvt_output *output;
    uint32_t process, thread;
    /* As the ring had them when it was made: a program that becomes another user may write there later, and may not have
     * signals sent for it. pid 0: not known here. */
    pid_t pid, tid;
    struct nvt_buffer rows;
    uint32_t count, ended;   /* rows, and how many of them are not to come again */
    uint64_t first, last;    /* ticks: where the first row begins, and the latest end of one */
    uint64_t start, address; /* of the row before */
    int failed;              /* a row is missing: no memory */
    uint64_t told;    /* ticks: when a call began that has a row though it goes on, 0: none has; */
    uint64_t told_at; /* and when it got that */
};

void nvt_drain_os_free(struct nvt_drain_os *os);

/* A record of a ring: the call of this number that has ended. */
void nvt_drain_os_take(struct nvt_drain_os *os, unsigned number, const uint8_t *data, size_t size);

/* What the thread is in when it ends, at `now`; nothing if it is in none. */
void nvt_drain_os_take_open(struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                            uint64_t now);

/*
 * If the thread, which is alive, has been in a call for `least` ticks at `now`, write a row of the call as of one that
 * never ends, so that a trace has it that is read meanwhile or whose recorder is killed. Another row follows whenever
 * the call is twice as old as at the row before, after `most` ticks at the latest, and the final row when it has ended.
 * All begin at the same time, and the last one counts. With the first row, a sampled thread that waits for others is
 * asked where it is.
 */
void nvt_drain_os_take_long(struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                            uint64_t now, uint64_t least, uint64_t most);

/* The front of the file has been cut off, maybe with such a row. */
void nvt_drain_os_was_cut(struct nvt_drain_os *os);

/* Write what there is as a chunk, when there is enough of it or `force`. It is counted, and what could not be written, too. */
void nvt_drain_os_flush(struct nvt_drain_os *os, int force, struct nvt_drain_totals *totals);

#endif
