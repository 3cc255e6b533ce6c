/*
 * Which clocks put the traces of a job on one axis, that of the first that has a rank. In this order: the ends of collectives
 * that its ranks are in (rank_clocks.h), the clock of a host that it shares with one that is placed, the mark "clock offset"
 * (clocks.h). Where none is there, nothing is known of it, and no time of day of another host stands in for that: it stands
 * behind all that are placed.
 *
 * Traces whose ranks meet in collectives are one set, on one axis. A set that does not meet that of the first is moved as a whole.
 */
#ifndef NVT_ONE_AXIS_H
#define NVT_ONE_AXIS_H

#include "../input/input.h"
#include "../model/clock_fit.h"

enum nvt_axis_by {
    NVT_AXIS_UNKNOWN,
    NVT_AXIS_FIRST,
    NVT_AXIS_COLLECTIVES,
    NVT_AXIS_HOST,
    NVT_AXIS_MARK,
    NVT_AXIS_KINDS
};

struct nvt_axis_place {
    enum nvt_axis_by by; /* NVT_AXIS_UNKNOWN: its set stands behind the others */
    size_t set;          /* the first trace of its set, itself where it meets nobody */
    /* onto the axis; without a drift that makes less than ten residuals, or 10 us, in all of the trace: noise does as much */
    struct nvt_clock_fit clock;
};

/* Of each trace of the input; whose axis it is has NVT_AXIS_FIRST. 0, or -1 with err. */
int nvt_one_axis(const struct nvt_input *input, struct nvt_axis_place *places,
                 struct nvt_error *err);

#endif
