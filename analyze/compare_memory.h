/*
 * Peaks of memory side by side: of the rows of runs what the workload's allocator counted, of other traces what the memory
 * events of each device say (levels.h). The part of `compare` that is no time: a peak is what it is, and what varies from
 * run to run shows in the repetitions of a side.
 */
#ifndef NVT_COMPARE_MEMORY_H
#define NVT_COMPARE_MEMORY_H

#include "compare_sides.h"

/* Bytes of one thing, of each repetition (and each process of a trace) a value. */
struct nvt_peaks {
    char *configuration; /* "" where there is none */
    char *name;          /* "allocated", "device 0, rank 1, reserved" … */
    struct {
        double *values;
        size_t count;
    } sides[NVT_SIDES];
};

/* In the order of reading. Zero-initialise; release with nvt_compared_memory_free, also after a failure. */
struct nvt_compared_memory {
    struct nvt_peaks *items;
    size_t count;
};

/* Add the peaks of an input, its traces read, to a side. 0, or -1 with err (out of memory). */
int nvt_compared_memory_add(struct nvt_compared_memory *memory, size_t side,
                            const struct nvt_report_input *input, struct nvt_error *err);
void nvt_compared_memory_free(struct nvt_compared_memory *memory);

enum nvt_peak_verdict {
    NVT_PEAK_SAME,
    NVT_PEAK_LESS,
    NVT_PEAK_MORE,
    NVT_PEAK_UNKNOWN,
    NVT_PEAK_VERDICTS
};

/*
 * A side's peaks against those of side A. `ratio` is that of the medians, infinite where A has 0. Same: within the
 * tolerance (a fraction); less and more: also every value of the one is below every one of the other; else unknown.
 * Both sides have some.
 */
struct nvt_peak_change {
    double a, b; /* medians */
    double ratio;
    enum nvt_peak_verdict verdict;
};
struct nvt_peak_change nvt_peak_change(const struct nvt_peaks *peaks, size_t side,
                                       double tolerance);

/* A table of what is not the same, a row a side; none where all is. counts[verdict] gets how many there are, and
 * *above how many are more by more than a fraction (NaN: none). 0, or -1 with err (out of memory). */
int nvt_compared_memory_table(const struct nvt_compared_memory *memory, size_t sides,
                              double tolerance, double fraction, struct nvt_table **table,
                              size_t counts[NVT_PEAK_VERDICTS], size_t *above,
                              struct nvt_error *err);

#endif
