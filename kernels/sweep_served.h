/*
 * Runs of a sweep in one process: a worker that stays and measures one configuration after the other (worker.c). What
 * a process costs to start, a second and more where it brings up a device, is paid once. Only kernels/sweep*.c use this.
 */
#ifndef NVT_SWEEP_SERVED_H
#define NVT_SWEEP_SERVED_H

#include <sys/types.h>

#include "../lib/error.h"

struct nvt_served {
    pid_t process; /* 0: there is none */
    int socket;
};

/* What a worker is asked for at most, in bytes: its words, each with its terminator. */
#define NVT_SERVED_MOST ((size_t)64 << 10)

/*
 * Have the worker of `library` do what the words say (worker.c: those behind LIBRARY, NULL behind the last), and wait
 * for the end of that; where there is no worker, one is started from `self`. *wait_status: how it ended, as of a process
 * of its own; where the worker itself ended, how it did. 0, or -1 with err.
 */
int nvt_served_run(struct nvt_served *served, const char *self, const char *library,
                   char *const words[], int *wait_status, struct nvt_error *err);

/* The worker, if any, shall end; wait for that. */
void nvt_served_end(struct nvt_served *served);

#endif
