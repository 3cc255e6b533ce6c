/*
 * Sums over kernels by their names and those of their ranges, of a trace that was read as far as launches alone
 * (input->only_launches, model/launches.h): in half the time, as the reports on kernels are.
 */
#ifndef NVT_SQL_LAUNCHED_H
#define NVT_SQL_LAUNCHED_H

#include "partial.h"

/* Whether these sums can be made of launches: kernels, keys of name, range_name and file, sums of durations. */
int nvt_launched_can(const struct nvt_partial *what);

/*
 * Append the groups of a part, whose trace has launches; there is room for NVT_PARTIAL_GROUPS_MOST of all parts. 0; 1: there are
 * more of them, a sum is too large to be exact, or kernels may belong to ranges of other threads: then rows are needed.
 */
int nvt_launched_add(const struct nvt_model *model, const struct nvt_partial *what, size_t part,
                     struct nvt_partial_groups *groups);

#endif
