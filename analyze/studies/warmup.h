/*
 * Warming up: how long iterations take from the start of a process on. What the report `warmup` and
 * its chart read.
 *
 * A series is one process: its ranges `warmup` and `iteration` (push/pop; where a trace has none, start/end, as of
 * `record --pytorch`), in the order of time, by the range of the configuration around them (phases.h). As in
 * named_iterations.h they are those of the domain nvtally, where there is none those of any domain, and one that lies
 * within another is none. Processes of the same configuration and collect level, with whatever number of warm-ups, are
 * a study: their i-th iterations since the start are compared. Iterations that the user says are those, of whatever
 * domain.
 */
#ifndef NVT_WARMUP_H
#define NVT_WARMUP_H

#include "../../lib/sample.h"
#include "change_point.h"
#include "../input/input.h"

/* A study's change point counts when p is below this … */
#define NVT_WARMUP_ALPHA 0.05
/* … and the iterations before it are slower by this factor at least. */
#define NVT_WARMUP_EFFECT 1.01

struct nvt_warmup_series {
    const struct nvt_trace *trace;
    uint32_t process; /* of the trace */
    uint32_t *rows;   /* ranges of the trace */
    double *ns;
    size_t count;
    size_t warmups; /* leading ones that were not timed */
};

struct nvt_warmup_study {
    char *name;        /* configuration, or the file's */
    const char *level; /* of collection, NULL: unknown; belongs to the input */
    struct nvt_warmup_series *series;
    size_t count;
    size_t length; /* iterations that all of its processes have */
    struct nvt_change_point change;
    size_t slow;   /* iterations to leave out: the change point, or 0 where there is none */
    double steady; /* median of all behind it, ns */
};

struct nvt_warmups {
    struct nvt_warmup_study *studies;
    size_t count;
    size_t late; /* traces with iterations that were left out, as the first ones are not in them */
};

/* The warm-ups of all traces of the input. NULL with err filled when out of memory. */
struct nvt_warmups *nvt_warmups_of(const struct nvt_input *input, struct nvt_error *err);
void nvt_warmups_free(struct nvt_warmups *warmups);

/* Whose thread it is, NVT_NONE when unknown. */
uint32_t nvt_warmup_process(const struct nvt_trace *trace, uint32_t thread);

/* The i-th iteration since the start, over the processes of a study that have it. */
void nvt_warmup_at(const struct nvt_warmup_study *study, size_t i, double *scratch,
                   struct nvt_summary *summary);

/* All iterations from the i-th since the start on, of the processes that had so many warm-ups. 0, or -1 when out of
 * memory. */
#define NVT_ANY_WARMUPS SIZE_MAX
int nvt_warmup_summary(const struct nvt_warmup_study *study, size_t from, size_t warmups,
                       struct nvt_summary *summary);

#endif
