/*
 * Where the whole run of a process went: from its start to its end, each moment of the thread that runs the loop counts once.
 */
#ifndef NVT_RUN_TIME_H
#define NVT_RUN_TIME_H

#include "../model/trace.h"

/* In the order of the table. Where two of them hold at a moment, the first one of NVT_RUN_TIME_FIRST on that does counts. */
enum nvt_run_part {
    NVT_RUN_START, /* start and imports: up to the first iteration; without iterations, the first range */
    NVT_RUN_TRAINING, /* in iterations, also in one that never ended; in a program that infers, in its forward passes */
    NVT_RUN_EVALUATION,
    NVT_RUN_CHECKPOINT,
    NVT_RUN_DATA,    /* waits for batches */
    NVT_RUN_LOCKS,   /* waits for locks, as far as OS calls were recorded */
    NVT_RUN_BETWEEN, /* from an optimizer's step to the next iteration */
    NVT_RUN_RANGES,  /* in ranges of a thread that has no iterations */
    NVT_RUN_END,     /* after the last iteration; without iterations, the last range */
    NVT_RUN_REST,    /* between iterations without a step, or between ranges */
    NVT_RUN_PARTS
};

/* A process, and the thread in it that runs the loop: that with most iterations or, where it has none, most time in ranges; without
 * ranges, its first one. */
struct nvt_run_time {
    uint32_t process, thread;
    int64_t from, to; /* ns; all parts together are that */
    int64_t ns[NVT_RUN_PARTS];
    uint32_t count[NVT_RUN_PARTS]; /* iterations, evaluations, …; 0 where that has no meaning */
    uint32_t iterations;
    int infers; /* the program does not train (loop_names.h) */
};

/* "start and imports", "waiting for data". */
const char *nvt_run_part_name(const struct nvt_run_time *time, enum nvt_run_part part);

/* Zero-initialise; release with nvt_run_times_free, also after a failure. */
struct nvt_run_times {
    struct nvt_run_time *items;
    uint32_t count;
};

/*
 * Of the processes that have iterations or, where none has, those with ranges, and behind them the processes that started these and of
 * which there are CPU samples (a pool of workers has ranges, and the program that waits for it none); none that infers on threads of which none has half
 * of its forward passes, as a server does. A process starts with the recording, or when the
 * last one that was over before had ended; where a trace does not know that (a profile, a part of a trace), with the first event.
 * It ends when its last thread was seen to end, or with the last event. 0, or -1 when out of memory.
 */
int nvt_run_times_make(struct nvt_run_times *times, const struct nvt_trace *trace);
void nvt_run_times_free(struct nvt_run_times *times);

/* Whether the trace has the process from its start to its end: not where the recorder was killed, or ended before it. */
int nvt_run_time_is_whole(const struct nvt_run_time *time, const struct nvt_trace *trace);

/* "31.2 s: 55 % training, 28 % evaluation, 12 % start and imports, …" of the parts from 1 % on, the largest first; at most
 * `size` bytes. */
void nvt_run_time_text(const struct nvt_run_time *time, char *out, size_t size);

#endif
