/*
 * When the threads of a process work, and when they wait, for the rule `serial`.
 *
 * What is known of a thread differs. In this order:
 *
 *   calls     3 or more OS calls in which it waits (for threads, events, locks, the network, other processes, or asleep): it
 *             works in between, from the first recorded event of it to the last. If a thread of the process is known by
 *             calls, so are those that enter iterations
 *   samples   it works while it takes CPU time: a sample stands for some of it, up to the sample
 *   ranges    it works within its push/pop ranges
 *
 * A wait in a call that is not recorded (barriers of libgomp) counts as work. MPI calls are waits, too.
 */
#ifndef NVT_THREAD_WORK_H
#define NVT_THREAD_WORK_H

#include "../model/thread_ranges.h"
#include "diagnose.h"
#include "places.h"

enum nvt_work_known {
    NVT_KNOWN_BY_NOTHING,
    NVT_KNOWN_BY_CALLS,
    NVT_KNOWN_BY_SAMPLES,
    NVT_KNOWN_BY_RANGES
};

/* A stretch in which a thread works. */
struct nvt_thread_stretch {
    int64_t start, end; /* ns, start < end; those of a thread do not overlap */
    uint32_t thread;
};

/* Zero-initialise; release with nvt_thread_work_free, also after a failure. */
struct nvt_thread_work {
    struct nvt_thread_stretch *items; /* thread by thread, by their starts */
    size_t count;
    uint8_t *known; /* of each thread of the trace: enum nvt_work_known */
    /* whether it enters iterations of the steady part, or without any is the main one */
    uint8_t *is_loop;
    /* A start or an end may be off by so much: the longest time that a sample stands for. */
    int64_t slack_ns;
    /* what samples of the steady part stand for together; how many they are */
    double sampled_ns, samples;
};

/* The stretches of a process in the steady part of a view. 0, or -1 when out of memory. */
int nvt_thread_work_make(struct nvt_thread_work *work, const struct nvt_view *view,
                         uint32_t process, const struct nvt_thread_ranges *ranges);
void nvt_thread_work_free(struct nvt_thread_work *work);

/* Whether an OS call is one in which its thread waits. Names and files are looked up once each, in `kinds`. -1 when out
 * of memory. */
int nvt_is_waiting_call(struct nvt_map *kinds, const struct nvt_trace *trace, uint32_t call);

#endif
