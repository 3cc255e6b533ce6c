/*
 * The memory of recorded processes, from /proc/PID (proc(5)), for the sampler of machine_sampler.h: nothing happens in the process
 * itself.
 *
 * What is in main memory comes from statm, where the kernel has the numbers ready. It counts pages in batches per thread or
 * processor, so a number may be off by some hundred KiB. What the kernel has to walk over all pages for, proportional memory
 * (smaps_rollup), is read seldom: a second after a process joins, then every 10 s, and so that it takes 0.2 % of a processor
 * at most. The process cannot map memory meanwhile.
 */
#ifndef NVT_MACHINE_PROCESSES_H
#define NVT_MACHINE_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

#include "../lib/machine_quantities.h"

/* A process that is followed. The members in front belong to whoever samples, the others to whoever has the lock. */
struct nvt_followed {
    int folder;       /* descriptor of /proc/PID, -1: it has ended */
    int64_t walk_due; /* CLOCK_MONOTONIC ns: when smaps_rollup is to be read */
    uint32_t process; /* as the output numbers it */
    pid_t pid;
    int is_over;    /* another image of the process has taken its place */
    size_t moments; /* that wait to be written; later ones are dropped */
    uint64_t ticks[64];
    double values[64][NVT_MACHINE_PROCESS_COUNT]; /* NaN where there is none */
};

/* Begin to follow a process. 0, or -1: it has ended, or there is no descriptor to be had. */
int nvt_followed_open(struct nvt_followed *followed, uint32_t process, pid_t pid);

/* Read what the process has now. 1; 0: it has ended, or is about to, and `folder` is closed. *walk_ns gets how long the
 * kernel's walk took, 0 without one. */
int nvt_followed_read(struct nvt_followed *followed, double *values, int64_t *walk_ns);

void nvt_followed_close(struct nvt_followed *followed);

#endif
