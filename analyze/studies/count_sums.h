/*
 * CPU counts of push/pop ranges by name, over all traces: with the ranges within them, where those of one name within each other count
 * once, and without; by iteration; counters that the user named (record --trace counters=NAME,…); and what a top-down analysis is
 * made of (record --trace counters=topdown, lib/topdown.h).
 */
#ifndef NVT_COUNT_SUMS_H
#define NVT_COUNT_SUMS_H

#include "../../lib/topdown.h"
#include "../model/buckets.h"
#include "../model/groups.h"
#include "range_counts.h"

/* With what lies within them, and without. */
enum { NVT_COUNTS_ALL, NVT_COUNTS_OWN, NVT_COUNTS_KINDS };

/* What ranges of a name have. */
struct nvt_count_sums {
    struct nvt_count_sum {
        uint64_t instances;
        int64_t wall_ns;
        struct nvt_count_values counts; /* -1: unknown of one */
    } of[NVT_COUNTS_KINDS];
};

/* What they have of a counter. */
struct nvt_chosen_sum {
    uint64_t instances;
    int64_t total, instructions; /* -1: unknown of one */
};

/* What they have of one set of counters. */
struct nvt_topdown_sum {
    const struct nvt_topdown_set *set;
    uint64_t instances;
    struct nvt_count_values counts; /* -1: unknown of one */
};

/* What they have in an iteration that the program names (named_iterations.h). */
struct nvt_iteration_counts {
    uint32_t group, iteration;      /* of those of all traces */
    struct nvt_count_values counts; /* -1: unknown of one */
};

/* Begin with nvt_counted_init; release with nvt_counted_free, also after a failure. */
struct nvt_counted {
    struct nvt_groups ranges;  /* by name, which carry a struct nvt_count_sums */
    struct nvt_groups chosen;  /* by name and counter, which carry a struct nvt_chosen_sum */
    struct nvt_groups topdown; /* by name and set, which carry a struct nvt_topdown_sum */
    struct nvt_groups names;   /* of those that are in iterations */
    struct nvt_map known;      /* of names << 32 | iteration -> item */
    struct nvt_iteration_counts *items;
    uint32_t count, iterations;
    struct nvt_buckets by_name; /* items of each of the names; after nvt_counted_finish */
    uint64_t without;           /* ranges whose counts were not recorded */
};

struct nvt_counted nvt_counted_init(void);

/* Add a trace; nothing where it has no counts. 0, or -1 with err filled, or with err left alone: out of memory. */
int nvt_counted_add(struct nvt_counted *counted, const struct nvt_trace *trace,
                    struct nvt_error *err);

/* Once all are added. 0, or -1 when out of memory. */
int nvt_counted_finish(struct nvt_counted *counted);
void nvt_counted_free(struct nvt_counted *counted);

#endif
