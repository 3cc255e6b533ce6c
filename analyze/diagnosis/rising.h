/*
 * What a process does while its memory grows, as far as samples of its level, ranges and samples of what threads run tell:
 * the end of the evidence of a finding.
 *
 * Samples of the level are 100 ms apart. The stretches between two of them in which it rises fastest, and which hold 60 % of all
 * rises, tell where it grows if they are a third of the time at most. Where they are more, as in a loop of short iterations
 * of which each allocates, any stretch has a part of everything: then samples in allocators and in what fills memory tell who
 * called them, and else nothing is known.
 */
#ifndef NVT_RISING_H
#define NVT_RISING_H

#include "../studies/process_memory.h"
#include "diagnose.h"

/* A process between two times; `thread` is the one whose ranges name what it does. ns. */
struct nvt_rising {
    const struct nvt_trace *trace;
    const struct nvt_counter_course *course;
    uint32_t process, thread;
    int64_t from, to;
};

/* "; 60 % of it comes in 12 % of the time, 95 % of that in range evaluation; meanwhile, in 31 samples: …" behind the
 * evidence, and moments at the largest rises. 0, or -1 when out of memory. */
int nvt_rising_tell(const struct nvt_rising *rising, struct nvt_finding *finding);

#endif
