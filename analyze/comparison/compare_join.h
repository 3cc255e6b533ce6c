/*
 * Sides that were given as traces, and differ in what they were run with: "solver impl=old n=2 … n=8" and "solver
 * impl=new n=2 … n=8". What has one value on each side, and not the same on all, is what is compared; the rest of the
 * configurations says which rows belong together.
 */
#ifndef NVT_COMPARE_JOIN_H
#define NVT_COMPARE_JOIN_H

#include "compare_memory.h"
#include "compare_sides.h"

/*
 * Take that out of all configurations, unless a directory that a run wrote is among the sides. 1, with a line without its
 * end about it appended to `note`; 0: there is nothing such; -1: out of memory.
 */
int nvt_compare_join(struct nvt_sides *groups, struct nvt_compared_memory *memory, size_t sides,
                     struct nvt_buffer *note);

#endif
