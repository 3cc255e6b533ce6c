/*
 * What two or more sides measured of the same thing: times of phases, ranges, kernels and functions, by name
 * and configuration, side by side.
 */
#ifndef NVT_COMPARE_SIDES_H
#define NVT_COMPARE_SIDES_H

#include "../studies/change.h"
#include "../input/input.h"

#define NVT_SIDES 8

/* The last two are of samples (compare_functions.h): a function by itself, and with all that it calls. */
enum nvt_compared_kind {
    NVT_GROUP_PHASE,
    NVT_GROUP_RANGE,
    NVT_GROUP_KERNEL,
    NVT_GROUP_FUNCTION,
    NVT_GROUP_TREE,
    NVT_GROUP_KINDS
};

/* The times of a trace, or of one of its ranks, in the order of their starts. */
struct nvt_compared_times {
    double *values;
    size_t count;
    uint32_t rank;
};

struct nvt_compared_side {
    struct nvt_typical *series; /* of traces, their ranks, and records without a trace */
    size_t count;
    struct nvt_compared_times *times; /* by rank, of the trace that is being added */
    size_t time_count;
    /* of functions: the sum over the series of the time that is shown, ns an iteration or in all */
    double shown;
};

struct nvt_compared {
    enum nvt_compared_kind kind;
    const char *configuration; /* "" where there is none */
    const char *name;
    struct nvt_compared_side sides[NVT_SIDES];
};

/* Where a side's times come from; "" where that is not known, "several" where it differs. */
struct nvt_origin {
    char backend[64], device[160], date[64], condition[256];
    int given;
    int has_ranges, has_records; /* where phases are from: traces, or records without one */
};

/* How functions are compared; where none are, all is 0. */
struct nvt_compared_samples {
    int by_iteration; /* else in all */
    int are_counts;   /* of samples: what time they stand for is not known */
};

struct nvt_sides {
    struct nvt_strings *strings;
    struct nvt_compared *items;
    size_t count;
    struct nvt_map *by_key;
    struct nvt_origin origins[NVT_SIDES];
    /* String: the name that iterations have in the first trace, and get in all; 0: none has any. */
    uint32_t iteration;
    int has_directories; /* some side has one that a run wrote */
    struct nvt_compared_samples functions;
};

int nvt_sides_init(struct nvt_sides *groups);
void nvt_sides_free(struct nvt_sides *groups);

/* Say where an input comes from that is to be added to a side; before its traces have rows (rows.h). */
void nvt_sides_add_origin(struct nvt_sides *groups, size_t side, const struct nvt_input *input);

/*
 * Add the times of an input (its traces read) to a side. The rank of a trace's times is that of their
 * process, the trace's own, its record's, or that in the name of its file (ranks.h). 0, or -1
 * with err.
 */
int nvt_sides_add(struct nvt_sides *groups, size_t side, const struct nvt_input *input,
                  struct nvt_error *err);

/* Add the value of a function in one run, estimated from samples, and the time that is shown for it. 0, or -1 when out
 * of memory. */
int nvt_sides_add_samples(struct nvt_sides *groups, enum nvt_compared_kind kind,
                          const char *configuration, const char *name, size_t side,
                          const struct nvt_typical *value, double shown);

/* Whether it is of samples. */
static inline int nvt_is_sampled(const struct nvt_compared *group)
{
    return group->kind == NVT_GROUP_FUNCTION || group->kind == NVT_GROUP_TREE;
}

/* Add what a group of others has to the one of its kind and name in this configuration. 0, or -1 when out of memory. */
int nvt_sides_move(struct nvt_sides *groups, const struct nvt_compared *from,
                   const char *configuration);

/* What a trace's times stand under: its row's axes, behind the workload where a program names its own. Without a row its fact
 * "configuration" (phases.h), or "".
 * malloc'ed, NULL when out of memory. */
char *nvt_compared_configuration(const struct nvt_input_trace *from);

const char *nvt_compared_kind_name(enum nvt_compared_kind kind);

#endif
