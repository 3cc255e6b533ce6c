/*
 * A sweep: the configurations that `nvtally run` was asked for, and where their results go.
 */
#ifndef NVT_SWEEP_H
#define NVT_SWEEP_H

#include <stdint.h>

#include "../lib/date.h"
#include "axes.h"
#include "ranks.h"
#include "workload.h"

/* Levels of collection: "off", "nvtx", "kernel", "full", "nsys", where nsys profiles the run and our
 * collector stays away, and "control", which is "off" once more: what is measured between these two is what the
 * measuring itself makes of no difference. NULL-terminated. */
enum nvt_collect_level {
    NVT_COLLECT_OFF,
    NVT_COLLECT_NVTX,
    NVT_COLLECT_KERNEL,
    NVT_COLLECT_FULL,
    NVT_COLLECT_NSYS,
    NVT_COLLECT_CONTROL
};
extern const char *const nvt_collect_levels[];

/* What of two levels lies next to each other, "runs", "iterations", "within", "halves": runs; iterations of runs that are
 * side by side and take turns (sweep_group.h); the twins of each run's own iterations, with NVTX and
 * without; or the halves of each run, the first of which nothing records (workload.h). With the last two each run is its own
 * bare one. NULL-terminated. */
enum nvt_interleave {
    NVT_INTERLEAVE_RUNS,
    NVT_INTERLEAVE_ITERATIONS,
    NVT_INTERLEAVE_WITHIN,
    NVT_INTERLEAVE_HALVES
};
extern const char *const nvt_interleave_words[];

struct nvt_sweep {
    const struct nvt_workload_axes *axes;
    struct nvt_configuration *configurations;
    size_t count;
    struct nvt_axis warmup, collect; /* collect: positions in nvt_collect_levels */
    int64_t iterations, repeat;      /* repeat: runs of each at each level, interleaved */
    int interleave;                  /* enum nvt_interleave */
    int overwrite;                   /* what is in the directory is not kept */
    int resume;      /* rows of the directory that are ok or oom stay, and are not run again */
    int machine;     /* the machine is sampled beside runs that our collector records */
    int one_process; /* the runs come one after the other in one, which bare ones can */
    uint64_t seed, memory_limit;
    int64_t time_limit; /* seconds that a run may take, 0: as long as it wants */
    char library[4096]; /* path of the backend's */
    char nsys[4096];    /* the program of the level "nsys", "" when it is not asked for */
    struct nvt_backend_facts backend;
    struct nvt_peak peak;          /* all 0: not known */
    char peak_date[NVT_DATE_SIZE]; /* when it was measured, where that was before: peak_cache.h */
    const char *directory;
    /* Of a run over several processes: each has a trace of its own, rank 0 writes the row. Else {0, 1}. */
    struct nvt_ranks ranks;
    const char *launcher; /* what starts the ranks of a run, NULL: nothing; see sweep_launched.h */
    /* of each configuration how many it starts, 0: the run is one process; NULL: of all */
    int *launched;
    char **argv; /* the command line from "run" on, for env.json */
};

/* Runs of a sweep: every configuration with every warm-up, `repeat` times, at every level, the level changing
 * first, so that what drifts while the sweep goes on touches all levels alike. */
size_t nvt_sweep_runs(const struct nvt_sweep *sweep);

/* Whether what is asked for goes together: 0, or -1 with err. */
int nvt_sweep_check(const struct nvt_sweep *sweep, struct nvt_error *err);

struct nvt_sweep_end {
    int not_ok; /* runs that are rows of another status than ok */
    int status; /* exit status of the last that is a row of status error, 128 + its signal; 0: none */
    int interrupted; /* the signal that ended the sweep early, SIGINT, SIGTERM or SIGHUP; 0 */
};

/* Run the sweep: results.jsonl, env.json and traces into the directory, which is made. 0 with *end, err
 * telling why the last that is not ok left no result; or -1 with err when something cannot be written. */
int nvt_sweep_run(const struct nvt_sweep *sweep, struct nvt_sweep_end *end, struct nvt_error *err);

/* The nsys that was given, or that of PATH, when the level asks for it. 0, or -1 with err. */
int nvt_sweep_find_nsys(struct nvt_sweep *sweep, const char *given, struct nvt_error *err);

/* Write env.json. 0 or -1 with err. */
int nvt_environment_write(const struct nvt_sweep *sweep, struct nvt_error *err);

/* Idle threads of the children must not spin for long beside those that compute. They do spin for some 10 us, in
 * which the next operation mostly comes: to be woken for each takes as long as many of them. */
void nvt_quiet_threads(void);

/* What a backend's library finds here, asked in a process of its own, as drivers may crash or leave
 * threads behind. 0, or -1 with err: no such library, no device. */
int nvt_ask_backend(const char *library, struct nvt_backend_facts *facts, struct nvt_error *err);

/* What it reaches, measured in a process of its own. 0, or -1 with err. */
int nvt_ask_peak(const char *library, struct nvt_peak *peak, struct nvt_error *err);

/* In the child: run one configuration, or tell what the backend is; see worker.c. The exit status. */
int nvt_worker_main(int argc, char **argv);

#endif
