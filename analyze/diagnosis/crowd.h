/*
 * Whether more threads want to run than there are processors, and whose they are. Samples of the machine (record
 * --trace machine) have the number of runnable threads, samples of threads (--trace cpu) show whose CPU time it is.
 */
#ifndef NVT_CROWD_H
#define NVT_CROWD_H

#include "diagnose.h"

/* From how many threads ready to run for each processor on, while processors are at work for so much of their time, in %. */
#define NVT_CROWD_READY   1.25
#define NVT_CROWD_AT_WORK 90
/* A team of so many threads for each processor waits at its barriers for those that have no processor: it need not be at work as much. */
#define NVT_CROWD_TEAM         2
#define NVT_CROWD_TEAM_AT_WORK 50
/* Of the CPU time that all threads could have had, what a thread takes that counts as one that computes. */
#define NVT_CROWD_THREAD 0.02

/* Averages over the steady part of a view. */
struct nvt_crowd {
    int is_crowded;
    double processors, ready, at_work; /* ready: threads; at work: % */
    double own; /* cores that the threads of the trace kept busy, by their samples; NaN: unknown */
    uint32_t threads;   /* of these, that compute, in the process with most of that time; */
    uint32_t process;   /* which that is, NVT_NONE: unknown */
    uint32_t processes; /* others that compute */
    int64_t moments[NVT_MOMENTS]; /* the first at which so many were ready */
    uint32_t moment_count;
};

/* 0, or -1 with err filled (out of memory). Without samples of the machine it is not known, and not crowded. */
int nvt_crowd_make(struct nvt_crowd *crowd, const struct nvt_view *view, struct nvt_error *err);

/* Point a finding at these moments. */
void nvt_crowd_point(const struct nvt_crowd *crowd, struct nvt_finding *finding);

/* Whether most of what runs is the program's own. */
int nvt_is_own_crowd(const struct nvt_crowd *crowd);

#endif
