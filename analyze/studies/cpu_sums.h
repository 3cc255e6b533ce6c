/*
 * Sampled CPU time of all traces of an input: by function or module, and by the push/pop ranges that are open on the sample's
 * thread. A sample counts in all ranges around it, but once in those of one name within each other.
 */
#ifndef NVT_CPU_SUMS_H
#define NVT_CPU_SUMS_H

#include "cpu_input.h"

/* By function or module. Zero-initialise; release with nvt_cpu_rows_free, also after a failure. */
struct nvt_cpu_rows {
    enum nvt_sampled_functions_by by;
    struct nvt_groups rows;  /* functions, or modules, which carry a struct nvt_hot_function */
    struct nvt_groups parts; /* functions: that call those of a row, or that are of a module */
    struct nvt_pairs pairs;  /* of rows and parts, sorted */
};

/* A function comes with the functions of the program's own code that called it, a module with its functions. `all` is that of
 * nvt_cpu_count. 0, or -1 with err filled, or with err left alone: out of memory. */
int nvt_cpu_rows_make(struct nvt_cpu_rows *made, enum nvt_sampled_functions_by by,
                      const struct nvt_input *input, const struct nvt_cpu_input *all,
                      struct nvt_error *err);
void nvt_cpu_rows_free(struct nvt_cpu_rows *rows);

/* What stands for no range at all. */
#define NVT_IN_NO_RANGE "[in no range]"

/* Ranges of one name. */
struct nvt_cpu_range {
    uint64_t instances, samples;
    int64_t wall_ns, weight;
};

/* Zero-initialise; release with nvt_cpu_by_range_free, also after a failure. */
struct nvt_cpu_by_range {
    struct nvt_groups ranges; /* which carry a struct nvt_cpu_range */
    struct nvt_groups functions;
    struct nvt_pairs pairs; /* of ranges and functions, sorted */
};

/* `all` is that of nvt_cpu_count. 0, or -1 with err filled, or with err left alone: out of memory. */
int nvt_cpu_by_range_make(struct nvt_cpu_by_range *made, const struct nvt_input *input,
                          const struct nvt_cpu_input *all, struct nvt_error *err);
void nvt_cpu_by_range_free(struct nvt_cpu_by_range *made);

#endif
