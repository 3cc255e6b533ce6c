/*
 * A ring that is drained: what drain.c and drain_threads.c share.
 */
#ifndef NVT_DRAIN_STATE_H
#define NVT_DRAIN_STATE_H

#include "drain.h"
#include "drain_cpu.h"
#include "drain_os.h"

struct nvt_drain {
    struct nvt_ring *ring;
    size_t size;
    char *path;
    struct nvt_output *output;
    uint32_t process, thread;
    uint32_t owners;    /* threads that have had it */
    int has_ended;      /* the latest of them has, and its end is written */
    int64_t idle_since; /* CLOCK_MONOTONIC, 0: no thread has been seen to leave it to the next */
    uint64_t tail, mask;
    /* records up to this one lie where `mask` says, however the ring has grown; UINT64_MAX: all */
    uint64_t sure;
    double fill;
    int broken;
    int starved;                      /* what is in the ring could not be taken: no memory */
    int partial;                      /* the columns lack something: no memory */
    uint32_t names[NVT_STRING_SLOTS]; /* string slot to the file's string id */
    /* The chunk in the making. */
    struct nvt_buffer tokens, times, domains, attributes, range_ids, samples, tasks, payload;
    uint32_t count;
    uint64_t first, last;    /* ticks */
    uint64_t last_range;     /* for the delta of range ids */
    uint32_t domain;         /* of the current run */
    uint32_t domain_run;     /* events in it */
    uint32_t last_attribute; /* event that last had attributes */
    uint32_t last_sample;    /* event that last was a sample */
    uint32_t task;           /* of Python, of the events that come now, 0 none; */
    uint32_t last_task;      /* event from which on it is that */
    struct nvt_drain_os os;
    struct nvt_drain_cpu cpu;
    struct nvt_drain_totals totals, past; /* of the thread that has it, and of those before */
    struct {
        uint64_t dropped, nested, waited_ns; /* that the ring counted for those */
    } before;
};

/* The first error is the one that is reported. */
void nvt_drain_note_no_memory(struct nvt_drain *drain);

/* From here on what is taken is this thread's. 0, or -1 when out of memory. */
int nvt_drain_begin_thread(struct nvt_drain *drain, int tid, const char *thread_name);

/* The thread that has the ring ends, at `now` in ticks, or its recording, where it lives on. Once. */
void nvt_drain_end_thread(struct nvt_drain *drain, uint64_t now, int lives);

/* A record of the ring: another thread has taken it over. */
void nvt_drain_take_owner(struct nvt_drain *drain, uint64_t ticks, const uint8_t *data,
                          size_t size);

void nvt_drain_add_totals(struct nvt_drain_totals *sum, const struct nvt_drain_totals *more);

#endif
