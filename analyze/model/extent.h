/*
 * From when to when a trace has something: what widens that, and what does not.
 */
#ifndef NVT_EXTENT_H
#define NVT_EXTENT_H

#include "trace.h"

/* From the first to the last time of something; ns. */
struct nvt_extent {
    int64_t first, last;
};

/* No end before its start; and both into the extent. */
void nvt_extent_cut_to_start(const int64_t *start, int64_t *end, uint32_t count,
                             struct nvt_extent *extent);

void nvt_extent_widen(const int64_t *times, uint32_t count, struct nvt_extent *extent);

/* By samples of counters. What is sampled of the machine goes on before a program begins and behind its end. */
void nvt_extent_widen_by_samples(const struct nvt_trace *trace, struct nvt_extent *extent);

/* By calls of MPI. A program works between MPI_Init and MPI_Finalize, which take long. */
void nvt_extent_widen_by_calls(const struct nvt_trace *trace, struct nvt_extent *extent);

/* By samples of what threads run, where nothing else says when the program was busy. */
void nvt_extent_widen_by_cpu_samples(const struct nvt_trace *trace, struct nvt_extent *extent);

#endif
