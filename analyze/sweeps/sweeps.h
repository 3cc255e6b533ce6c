/*
 * Sweeps: runs that differ in one number alone, and what each range, call and device operation costs in an iteration of
 * each of them. What the rule `scaling` of the diagnosis, the report `growth` and its chart read.
 *
 * A run is a trace with a row (rows.h, or a run directory); its iterations are those that it names
 * (named_iterations.h). Ranges and calls count in the iteration in which they begin, device operations in that in which
 * they were launched, if that was recorded. A range within another of its thread and name counts as an entry, but takes
 * no time of its own.
 */
#ifndef NVT_SWEEPS_H
#define NVT_SWEEPS_H

#include "growth.h"
#include "../input/input.h"

enum { NVT_SWEEP_EXAMPLES = 3 };

enum nvt_sweep_kind { NVT_SWEEP_RANGE, NVT_SWEEP_CALL, NVT_SWEEP_OPERATION, NVT_SWEEP_KINDS };

/* What one name costs in one run. */
struct nvt_sweep_point {
    double n;                  /* the axis */
    double ns, mean_ns, count; /* as in nvt_sweep_value; count: on average */
    const struct nvt_trace *trace;
    size_t run;                           /* of the sweep, in the order of the input */
    int64_t examples[NVT_SWEEP_EXAMPLES]; /* where the first ones begin */
    uint32_t example_count;
};

/* What one name costs with one n, over all runs of that: the medians of its points. */
struct nvt_sweep_value {
    double n;
    /* an iteration: the median, which a busy machine moves least, unless the item says mean */
    double ns;
    double mean_ns;                      /* an iteration */
    double count;                        /* entries an iteration */
    const struct nvt_sweep_point *point; /* the one nearest to it */
};

struct nvt_sweep_item {
    enum nvt_sweep_kind kind;
    /* As tables have it: "domain:name", without the domain where that is the default one or nvtally and no other range is
     * called so, nor "iteration" without being one. */
    const char *name;
    const char *key; /* "domain:name"; belongs to the sweep, as the name does */
    size_t domain_length;
    int is_iteration;               /* it is the iteration itself, of whatever name */
    struct nvt_sweep_point *points; /* of each run that it occurs in, n ascending */
    size_t count;
    struct nvt_sweep_value *values; /* of each n that it occurs with, ascending */
    size_t value_count;
    int is_mean; /* ns are means: in some run it is in half of the iterations at most, where the median says nothing */
    struct nvt_growth growth; /* where it has three points or more */
};

struct nvt_sweep {
    char *where;      /* the workload and its other axes */
    const char *axis; /* what was varied; belongs to a record */
    struct nvt_sweep_item *items;
    size_t count;
    struct nvt_strings *names; /* of the items, in their order from 1 on */
    struct nvt_strings *shown; /* those that tables have */
    size_t runs;
    size_t without;                         /* runs besides whose n is not above 0 */
    const struct nvt_sweep_item *iteration; /* NULL: no run has any */
    const struct nvt_input_trace *first;    /* of its runs */
};

/* Zero-initialise; release with nvt_sweeps_free, also after a failure. */
struct nvt_sweeps {
    struct nvt_sweep *items;
    size_t count;
};

/* All sweeps of at least three runs and two values, along one axis or (NULL) each number that a row has, in the order of
 * their first runs. 0, or -1 with err filled: out of memory. */
int nvt_sweeps_of(const struct nvt_input *input, const char *by, struct nvt_sweeps *sweeps,
                  struct nvt_error *err);
void nvt_sweeps_free(struct nvt_sweeps *sweeps);

/* "range", "call", "device operation". */
const char *nvt_sweep_kind_name(enum nvt_sweep_kind kind);

/* What it costs at the least of its n, and at the largest. */
static inline const struct nvt_sweep_value *nvt_sweep_least(const struct nvt_sweep_item *item)
{
    return &item->values[0];
}
static inline const struct nvt_sweep_value *nvt_sweep_largest(const struct nvt_sweep_item *item)
{
    return &item->values[item->value_count - 1];
}

/* The item's part of the iteration at the largest of its n, by means where its median is 0; NaN where that is not known. */
double nvt_sweep_share(const struct nvt_sweep *sweep, const struct nvt_sweep_item *item);

/* Entries a unit of n, 0 when they are not in proportion to it (within 1 %). */
double nvt_sweep_per_unit(const struct nvt_sweep_item *item);

/* The median time of an entry in the iterations of a point's run, ns. 0, or -1 when out of memory. */
int nvt_sweep_entry(const struct nvt_sweep_item *item, const struct nvt_sweep_point *point,
                    double *median);

/* Whether ranges of the one name lie in ranges of the other, as the first one of its largest run does. All lie in
 * iterations. */
int nvt_sweep_lies_within(const struct nvt_sweep_item *inner, const struct nvt_sweep_item *outer);

#endif
