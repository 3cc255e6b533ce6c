/*
 * CPU time by function of the sides of a comparison, from CPU samples (hot_functions.h).
 *
 * A function is compared twice: by its own time, and, where it is the program's own and calls others, by that of all samples whose
 * stack it is on ("call tree"). The time is that within the iterations that all traces name, over their number
 * (named_iterations.h); where a trace names none, all time of a run. Of each rank of a trace there is one value.
 *
 * These values (function_value.h) are series like those of times (typical.h). With NVT_CHANGE_RUNS runs a side their error is that
 * between runs (change.h).
 */
#ifndef NVT_COMPARE_FUNCTIONS_H
#define NVT_COMPARE_FUNCTIONS_H

#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "compare_sides.h"

/* Most ranks of a trace that are kept apart; in a trace with more, all samples count as those of one rank. */
#define NVT_FUNCTION_RANKS 64

/* Of samples: what they stand for, and how many they are. */
struct nvt_function_sum {
    int64_t time; /* ns; samples, of a trace whose samples do not say it */
    uint64_t samples;
};

/* A function, or its call tree, in a rank of a trace. */
struct nvt_function_count {
    struct nvt_function_sum within, outside; /* of iterations */
    /* over the parts of the iterations, of the square of time in it over its iterations */
    double squares;
};

/* A rank of a trace. */
struct nvt_function_run {
    size_t side;
    uint32_t configuration; /* text */
    uint32_t rank, iterations, parts;
    struct nvt_function_sum within, outside;
    double squares; /* of the times of its samples, ns² */
};

struct nvt_function_row {
    uint32_t name, run; /* text, index of runs */
    int is_own;         /* the program's own */
    struct nvt_function_count self, tree;
};

/* Zero-initialise; release with nvt_compared_functions_free, also after a failure. */
struct nvt_compared_functions {
    struct nvt_strings *texts;
    struct nvt_function_run *runs;
    struct nvt_function_row *rows;
    uint32_t run_count, row_count;
    struct nvt_map by_name; /* run << 32 | name -> row */
    uint64_t samples[NVT_SIDES];
    uint64_t alone[NVT_SIDES]; /* those without callers */
    size_t timed, untimed;     /* traces whose samples say their time, and those whose do not */
    size_t without;            /* of them, those that name no iterations */
};

/* Add the samples of an input (its traces read) to a side, in time linear in samples, frames and functions, for each
 * rank. 0, or -1 with err. */
int nvt_compared_functions_add(struct nvt_compared_functions *functions, size_t side,
                               const struct nvt_input *input, struct nvt_error *err);

/*
 * All sides are complete: put the functions that have NVT_FEW_SAMPLES samples on all sides together into the groups, which they
 * may be chosen by, as the sum does not say which side has more. Appends lines for stderr, each with its end, to `notes` where
 * something is left out. 0, or -1 when out of memory.
 */
int nvt_compared_functions_finish(const struct nvt_compared_functions *functions, size_t sides,
                                  struct nvt_sides *groups, struct nvt_buffer *notes);
void nvt_compared_functions_free(struct nvt_compared_functions *functions);

#endif
