/*
 * How the rows of a study were measured, as far as they differ in it: this distinguishes rows of one configuration that
 * differ in nothing else.
 */
#ifndef NVT_CONDITIONS_H
#define NVT_CONDITIONS_H

#include "runs.h"

enum nvt_condition {
    NVT_OF_COLLECT = 1,
    NVT_OF_WARMUP = 2,
    NVT_OF_INTERLEAVE = 4,
    NVT_OF_REPEAT = 8,
    NVT_OF_ALL = 15,
};
#define NVT_CONDITION_SIZE 200

/* In which of these (a set of enum nvt_condition) the records of directories differ. */
unsigned nvt_conditions_of(struct nvt_runs *const *runs, size_t run_count, unsigned of);

/* "collect=nvtx warmup=2" of a record, of these conditions and as far as they are no axes of it, in out, which is returned;
 * NULL (and "") where there is none. */
const char *nvt_condition_text(const struct nvt_record *record, unsigned of,
                               char out[NVT_CONDITION_SIZE]);

#endif
