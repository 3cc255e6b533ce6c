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
                            const struct nvt_input *input, struct nvt_error *err);
/* Put those together whose configurations have become the same (compare_join.h). 0, or -1 when out of memory. */
int nvt_compared_memory_join(struct nvt_compared_memory *memory);
/* Whether side A and another one have a peak of the same name. */
int nvt_compared_memory_is_shared(const struct nvt_compared_memory *memory, size_t sides);
void nvt_compared_memory_free(struct nvt_compared_memory *memory);

/*
 * A table of the peaks that are not those of side A, a row a side. They are the same within the tolerance (a fraction)
 * of A's median; more or less where also every value of the one side is above every one of the other; else the verdict
 * is unknown. *same gets how many are the same, *above how many are more by more than `fraction` (NaN: none). 0, or -1
 * with err (out of memory).
 */
int nvt_compared_memory_table(const struct nvt_compared_memory *memory, size_t sides,
                              double tolerance, double fraction, struct nvt_table **table,
                              size_t *same, size_t *above, struct nvt_error *err);

#endif
