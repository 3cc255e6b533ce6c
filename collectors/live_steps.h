/*
 * `nvtally ctl steps N`: the recorder's side of collectors/inject/steps.h. The window opens first, so that CUPTI can come up; then the
 * numbers of the iterations are fixed, by the one who asks, as several recorders may have to agree; or, where he has gone, without him.
 * The next one of the process that is farthest is too early, as it may be beginning just now. When every process has had them, the
 * window is to be closed.
 */
#ifndef NVT_LIVE_STEPS_H
#define NVT_LIVE_STEPS_H

#include <stddef.h>

#include "ring.h"

#define NVT_LIVE_STEPS_MOST 1000000

struct nvt_live_steps {
    uint64_t wanted;   /* iterations; 0: nobody has asked yet */
    uint32_t requests; /* so far */
    int64_t fix_at;    /* nobody else has fixed them by then, CLOCK_MONOTONIC; 0: they are fixed */
    int is_held;       /* nobody else may fix them */
    int is_over;       /* they are recorded; or, with `is_broken_off`, never will be */
    int is_broken_off;
    uint32_t processes; /* that have had them, */
    uint32_t of;        /* of so many, as it was over */
    uint64_t from, last;
    int64_t next_look; /* at whether they all live, CLOCK_MONOTONIC */
};

/* Before the window is opened. `words`: how many; and, where several recorders have to agree on the numbers whatever becomes of the one who
 * asks, ns: if they are not fixed so long after *settle_ns, it is broken off (nvt_live_steps_are_given_up). 0 with *settle_ns, the time until CUPTI is up; or -1 with the text of why not. */
int nvt_live_steps_ask(struct nvt_live_steps *steps, struct nvt_control *control, const char *words,
                       int64_t *settle_ns, char *text, size_t size);

/* From which number on; another one may follow as long as none of it has begun. Whether it is not too late for that. */
int nvt_live_steps_fix(struct nvt_live_steps *steps, struct nvt_control *control, uint64_t from);

/* See what is due. Whether they have all been recorded by now, and the window is to be closed. */
int nvt_live_steps_look(struct nvt_live_steps *steps, struct nvt_control *control);

/* Whether nobody has fixed the numbers in time, where that was asked for: the window is to be closed. */
int nvt_live_steps_are_given_up(const struct nvt_live_steps *steps);

/* The window has been closed, for whatever reason. */
void nvt_live_steps_close(struct nvt_live_steps *steps, struct nvt_control *control);

/* From when to when they are recorded, ticks: to `now` where they still are; all of it `now` where none has begun. */
void nvt_live_steps_span(const struct nvt_live_steps *steps, const struct nvt_control *control,
                         uint64_t now, uint64_t *from, uint64_t *to);

/* Whether some are asked for and not recorded yet. */
int nvt_live_steps_are_due(const struct nvt_live_steps *steps);

/* Lines of a name, a tab and a value: steps (none, waiting, done, stopped), wanted, from, last (numbers, from 0), seen (iterations that
 * have begun), processes (that have had them), of (all that have iterations). */
void nvt_live_steps_put(const struct nvt_live_steps *steps, const struct nvt_control *control,
                        char *text, size_t size);

#endif
