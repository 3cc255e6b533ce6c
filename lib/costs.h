/*
 * What an event costs the traced process, as its collector measured it when it started
 * (collectors/inject/calibrate.c). Kept with each process of a trace; `stats --compensate` takes it
 * off. Picoseconds; 0: not known.
 *
 * A pair is the begin and the end of one range. `inside` is the part of it that lies between the
 * range's own two moments: what an empty range seems to last.
 */
#ifndef NVT_COSTS_H
#define NVT_COSTS_H

#include <stdint.h>

enum nvt_cost {
    NVT_COST_PUSH_POP, /* a pair of the default domain with nothing but a name */
    NVT_COST_PUSH_POP_INSIDE,
    NVT_COST_ATTRIBUTES, /* a pair of another domain, or with a colour, category or payload */
    NVT_COST_ATTRIBUTES_INSIDE,
    NVT_COST_START_END, /* a pair */
    NVT_COST_START_END_INSIDE,
    NVT_COST_MARK,
    NVT_COST_FAULT, /* no event: a minor fault on a new page of 4 KiB, where counters are recorded */
    NVT_COSTS
};

struct nvt_costs {
    uint32_t ps[NVT_COSTS];
};

/* More is no measurement: 1 ms an event. */
#define NVT_COST_MOST 1000000000u

#endif
