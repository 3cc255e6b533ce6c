/*
 * Where the first iteration's time goes: each range by what it takes itself, without those in it,
 * and each call of the API, in the first iteration of a process and in those behind the
 * change-point.
 */
#ifndef NVT_WARMUP_FIRST_H
#define NVT_WARMUP_FIRST_H

#include "warmup.h"

/* A range by its path below the iteration ("forward/attention"; "" is the iteration itself), of
 * processes whose first iteration is timed, as warm-ups have no ranges in them; or a call. */
struct nvt_first_part {
    const char *name;
    int is_call;
    double first, later; /* ns an iteration */
    double
        share; /* first - later, as a part of the first iteration's excess; NaN when it has none */
};

struct nvt_first {
    struct nvt_strings *names;
    struct nvt_first_part *parts; /* by excess, the largest first */
    size_t count, capacity;
};

/* Zero-initialise; release with nvt_first_free, also after a failure. 0, or -1 with err (out of
 * memory). */
int nvt_first_make(struct nvt_first *first, const struct nvt_warmup_study *study,
                   struct nvt_error *err);
void nvt_first_free(struct nvt_first *first);

#endif
