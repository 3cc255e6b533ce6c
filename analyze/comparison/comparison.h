/*
 * A comparison: all that `compare` prints, and that pictures and documents of it show. Reads the sides, and judges.
 */
#ifndef NVT_COMPARISON_H
#define NVT_COMPARISON_H

#include "compare_counts.h"
#include "compare_functions.h"
#include "compare_machine.h"
#include "compare_memory.h"
#include "outcomes.h"

/* Changes within this fraction are the same, unless the user says otherwise. */
#define NVT_COMPARISON_TOLERANCE 0.01

struct nvt_comparison_request {
    const char *command; /* named in the error where there are not two sides */
    const struct nvt_window *window;
    const char *iteration; /* which ranges are iterations, NULL: as usual */
    double tolerance;      /* a fraction, within which times are the same */
    int is_one_list;       /* the largest changes first, of whatever configuration */
    /* Called for each input with its traces read, before it is released; NULL: it is not. 0, or -1 with err. */
    int (*also)(void *context, size_t side, struct nvt_input *input, struct nvt_error *err);
    void *context;
};

/* Zero-initialise; release with nvt_comparison_free, also after a failure. */
struct nvt_comparison {
    struct nvt_sides groups;
    struct nvt_compared_memory memory;
    struct nvt_compared_machine machine;
    struct nvt_compared_counts counts;
    struct nvt_outcomes outcomes;
    size_t sides;
    /* lines for stderr without "nvtally: ", each with its '\n'; also after a failure */
    struct nvt_buffer notes;
};

/*
 * Read the sides that arguments name, "A B C" or "A1 A2 vs B1 B2 vs C", and judge them. 0, or -1 with err: an input cannot be
 * read, or there are not two sides. That they have nothing in common is no failure (nvt_comparison_check).
 */
int nvt_comparison_make(struct nvt_comparison *comparison,
                        const struct nvt_comparison_request *request, int count, char **arguments,
                        struct nvt_error *err);
void nvt_comparison_free(struct nvt_comparison *comparison);

/* Whether arguments have a "vs". */
int nvt_comparison_is_asked(int count, char **arguments);

/* Whether side A and another one have anything of the same name and configuration, or, with `memory`, a peak. 0, or -1 with err. */
int nvt_comparison_check(const struct nvt_comparison *comparison, int memory,
                         struct nvt_error *err);

/* Append lines about what the verdicts rest on, and what only one side has, to the notes. 0, or -1 with err (out of memory). */
int nvt_comparison_note_outcomes(struct nvt_comparison *comparison, struct nvt_error *err);

#endif
