/*
 * The time of a training loop between the optimizer's step and the beginning of the next iteration: logs, checkpoints,
 * evaluation.
 */
#ifndef NVT_BETWEEN_STEPS_H
#define NVT_BETWEEN_STEPS_H

#include "beats.h"
#include "blocking.h"
#include "loop_interruptions.h"

/* Zero-initialise; release with nvt_between_steps_free, also after a failure. */
struct nvt_between_steps {
    const struct nvt_view *view;
    struct nvt_beats beats;
    /* those of usual length; longer ones are periodic work, or chance */
    struct nvt_loop_spans spans;
    double median_ns, longest_ns;
    double busy_ns; /* of the spans, in which a device works */
    double share;   /* of the view's time, by the median */
    uint32_t count; /* of all, usual or not */
    int is_large;   /* the finding *between steps* is given */
    struct nvt_longest longest;
};

/* Of the steady part of a view. Without steps of an optimizer there are none. 0, or -1 when out of memory. */
int nvt_between_steps_make(struct nvt_between_steps *steps, const struct nvt_view *view);
void nvt_between_steps_free(struct nvt_between_steps *steps);

/* The part of a group of blocking calls that lies between steps, from 0 to 1. */
double nvt_between_steps_part(const struct nvt_between_steps *steps,
                              const struct nvt_blocking *blocking, uint32_t item);

#endif
