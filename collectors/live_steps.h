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
    uint64_t ours;     /* a number by which who has asked knows that these are his; 0: none */
    int asker;         /* the process that has asked; 0: it is elsewhere */
    int64_t asked;     /* CLOCK_MONOTONIC */
    int64_t fix_at;    /* nobody else has fixed them by then, CLOCK_MONOTONIC; 0: they are fixed */
    int is_held;       /* nobody else may fix them */
    int is_over;       /* they are recorded; or, with `is_broken_off`, never will be */
    int is_broken_off;
    uint32_t processes; /* that have had them, */
    uint32_t of;        /* of so many, as it was over */
    uint64_t from, last;
    int64_t next_look; /* at whether they all live, CLOCK_MONOTONIC */
};

/* Before the window is opened. `asker`: the process that asks. `words`: how many; and, where several recorders have to agree on the numbers whatever becomes of the one who
 * asks, ns, else 0: if they are not fixed so long after *settle_ns, it is broken off (nvt_live_steps_are_given_up); and a number that is
 * his alone. 0 with *settle_ns, the time until CUPTI is up; or -1 with the text of why not. */
int nvt_live_steps_ask(struct nvt_live_steps *steps, struct nvt_control *control, int asker,
                       const char *words, int64_t *settle_ns, char *text, size_t size);

/* From which number on; another one may follow as long as none of it has begun. Whether it is not too late for that. */
int nvt_live_steps_fix(struct nvt_live_steps *steps, struct nvt_control *control, uint64_t from);

/* See what is due. Whether they have all been recorded by now, and the window is to be closed. */
int nvt_live_steps_look(struct nvt_live_steps *steps, struct nvt_control *control);

/* Whether nobody has fixed the numbers in time, where that was asked for: the window is to be closed. */
int nvt_live_steps_are_given_up(const struct nvt_live_steps *steps);

/* The window has been closed, for whatever reason. */
void nvt_live_steps_close(struct nvt_live_steps *steps, struct nvt_control *control);

/* Processes that have iterations and live, as far as that can be seen. */
uint32_t nvt_live_steps_iterating(struct nvt_control *control);

/* From when to when they are recorded, ticks: to `now` where they still are; all of it `now` where none has begun. */
void nvt_live_steps_span(const struct nvt_live_steps *steps, const struct nvt_control *control,
                         uint64_t now, uint64_t *from, uint64_t *to);

/* Whether some are asked for and not recorded yet. */
int nvt_live_steps_are_due(const struct nvt_live_steps *steps);

/* That they are due, for whom, and how that can be ended. */
void nvt_live_steps_say_due(const struct nvt_live_steps *steps, char *text, size_t size);

/* A line for a status: a name, a tab and how many, with their numbers if these are fixed. "" where none are due. */
void nvt_live_steps_put_due(const struct nvt_live_steps *steps, char *text, size_t size);

/* Lines of a name, a tab and a value: ours, steps (none, waiting, done, stopped), wanted, from, last (numbers, from 0), seen (iterations that
 * have begun), processes (that have had them), of (all that have iterations), entered (that have had any so far, also those that have ended),
 * others (names of ranges that are no iterations, where none has begun). */
void nvt_live_steps_put(const struct nvt_live_steps *steps, const struct nvt_control *control,
                        char *text, size_t size);

#endif
