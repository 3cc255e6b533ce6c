/*
 * The units of an overview: iterations, or whole recordings, and how busy GPUs were in each.
 */
#ifndef NVT_OVERVIEW_UNITS_H
#define NVT_OVERVIEW_UNITS_H

#include "../input/input.h"
#include "../model/named_iterations.h"

struct nvt_overview_unit {
    int64_t start, end;
    int64_t between; /* of it not recorded: what lies between parts (recorded_parts.h) */
    /* what `busy` is a part of: its length, or without iterations from its GPUs' first operations to their last */
    int64_t span;
    int64_t busy;     /* of the GPUs that its process uses, on average; 0 without any */
    uint32_t gpus;    /* how many these are */
    uint32_t trace;   /* of the input */
    uint32_t process; /* NVT_NONE: all */
    int is_early; /* of the first tenth of its process's, if it has several: no mean counts it */
};

static inline double nvt_overview_unit_ns(const struct nvt_overview_unit *unit)
{
    return (double)(unit->end - unit->start - unit->between);
}

/* Zero-initialise; release with nvt_overview_units_free, also after a failure. */
struct nvt_overview_units {
    struct nvt_overview_unit *items; /* trace by trace, in the order of its iterations */
    uint32_t count;
    int are_iterations;
    int are_means; /* the mean of a unit is far from its median: what it consists of are means */
    double mean;   /* of its length, in ns */
    uint32_t late; /* units that means count */
    struct nvt_named_iterations *iterations; /* of each trace */
    uint32_t *first;                         /* unit of each trace, and behind the last */
    uint32_t traces;
};

/* 0, or -1 with err (out of memory). */
int nvt_overview_units_make(struct nvt_overview_units *units, const struct nvt_input *input,
                            struct nvt_error *err);
void nvt_overview_units_free(struct nvt_overview_units *units);

#endif
