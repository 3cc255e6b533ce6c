/*
 * The highest level of memory during the ranges of each name, on whatever thread of the process: a
 * range without an event of its own has the level that it found. Growth is what a range leaves
 * behind, its level at the end less that at the start.
 */
#ifndef NVT_RANGE_PEAKS_H
#define NVT_RANGE_PEAKS_H

#include "levels.h"

struct nvt_range_peak {
    uint32_t range;              /* one of the name */
    uint32_t instances;          /* ranges of it */
    int64_t allocated, reserved; /* bytes, at most */
    int64_t growth;              /* bytes, of all of them together */
};

/* The peak of a series over the whole trace, as one instance. */
struct nvt_range_peak nvt_whole_peak(const struct nvt_level_series *series);

/* Those of the domains and names of a process's ranges, the highest first; malloc'ed, *count of them. NULL when out of memory. */
struct nvt_range_peak *nvt_range_peaks(const struct nvt_level_series *series,
                                       const struct nvt_trace *trace, uint32_t *count);

#endif
