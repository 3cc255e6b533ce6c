/*
 * One run of a sweep: a process that measures one configuration once at one level of collection. It is started,
 * recorded where the level asks for it, and waited for. Only kernels/sweep*.c use this.
 */
#ifndef NVT_SWEEP_CHILD_H
#define NVT_SWEEP_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "../lib/buffer.h"
#include "sweep.h"
#include "sweep_served.h"

struct nvt_child {
    const struct nvt_sweep *sweep;
    const struct nvt_configuration *configuration;
    int64_t warmup, level, repeat; /* repeat: from 1 */
    int ranks;                     /* processes that it is over; 0 and 1: none but its own */
    int is_launched;               /* which a launcher of its own starts */
    const char *turns;             /* file of those that it takes turns with, NULL: none */
    int64_t place;                 /* its number among them */
    /* how it is run: its row's members up to what it measures, "{…}" and a line feed */
    struct nvt_buffer settings;
    char self[4096], result[4096], results[4096], trace[4096], trace_name[700];
    struct nvt_served *served; /* the process that runs it, NULL: one of its own */
    char *is_kept; /* of each run of the sweep whether its row is there already; NULL: of none */
    int lock;      /* on the directory; -1 */
    int failed;    /* exit status of the last run that is a row of status error, 0 */
    char why[600]; /* it is not ok, or what to know of it when it is; "" for nothing */
};

/* How it ended. */
struct nvt_child_end {
    int wait_status;
    int asked;           /* the signal that its recorder heard and that asked to end, 0: none */
    int64_t recorder_ns; /* processor time of its recorder while it lived, 0 when there was none */
    int wants_device_records;
    int64_t device_records; /* in its trace, where it wants them */
    char message[1200];     /* it could not be started or recorded, "" when it could */
};

/* Whether a run at this level goes without any collection. */
int nvt_child_is_bare(int64_t level);

/* Start argv, its standard output our error stream, and wait for its end. 0, or -1 with err. */
int nvt_child_start(char *const argv[], int *wait_status, struct nvt_error *err);

/* Start the run and wait for its end. Signals that are caught (see below) are passed on to it. */
void nvt_child_run(const struct nvt_child *child, struct nvt_child_end *end);

/* --- signals that end the sweep: SIGINT, SIGTERM, SIGHUP ------------------------------------------- */

/* Catch them until nvt_signals_leave; they are kept and passed on, as SIGTERM, to those in the list. */
void nvt_signals_catch(void);
void nvt_signals_leave(void);

/* The one that was caught, 0: none. nvt_signals_set: take this one for caught, and pass it on. */
int nvt_signals_caught(void);
void nvt_signals_set(int number);

/* Whether a process that ended so was ended by one of them; the signal, or 0. */
int nvt_signals_ended(int wait_status);

/* Fork, with the child in the list at `place` (from 0, below NVT_TURNS_MOST) before any of them can come; as
 * fork() returns. The child's list is empty, and they end it. nvt_signals_forget: it has ended. */
int nvt_signals_fork(size_t place);
void nvt_signals_forget(size_t place);

#endif
