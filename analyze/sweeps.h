/*
 * Sweeps: runs that differ in one number alone, and what each range, call and device operation costs in an iteration of
 * each of them. What the rule `scaling` of the diagnosis, the report `growth` and its chart read.
 *
 * A run is a trace with a row (rows.h, or a run directory); its iterations are the ranges `iteration` of the domain
 * nvtally (diagnose.h). Ranges and calls count in the iteration in which they begin, device operations in that in which
 * they were launched, if that is on record.
 */
#ifndef NVT_SWEEPS_H
#define NVT_SWEEPS_H

#include "growth.h"
#include "reports/report.h"

enum { NVT_SWEEP_POINTS = 32, NVT_SWEEP_EXAMPLES = 3 };

enum nvt_sweep_kind { NVT_SWEEP_RANGE, NVT_SWEEP_CALL, NVT_SWEEP_OPERATION, NVT_SWEEP_KINDS };

/* What one name costs in one run. */
struct nvt_sweep_point {
    double n; /* the axis */
    double
        ns; /* an iteration: the median, which a busy machine moves least; the mean where that is 0 */
    double count; /* entries an iteration, on average */
    const struct nvt_trace *trace;
    int64_t examples[NVT_SWEEP_EXAMPLES]; /* where the first ones begin */
    uint32_t example_count;
};

/* A name. It has a point of each run that it occurs in, the first NVT_SWEEP_POINTS of them, in the order of the
 * input. */
struct nvt_sweep_item {
    enum nvt_sweep_kind kind;
    const char *name; /* the sweep's */
    struct nvt_sweep_point *points;
    size_t count, capacity;
};

struct nvt_sweep {
    char where[256];  /* the workload and its other axes */
    const char *axis; /* what was varied; belongs to a record */
    struct nvt_sweep_item *items;
    size_t count, capacity;
    struct nvt_strings
        *names; /* of the items, in their order from 1 on, each behind a character for its kind */
    size_t runs;
    double iteration_ns;                 /* at the largest n, 0: there is none */
    double largest;                      /* n */
    const struct nvt_input_trace *first; /* of its runs */
};

/* Zero-initialise; release with nvt_sweeps_free, also after a failure. */
struct nvt_sweeps {
    struct nvt_sweep *items;
    size_t count, capacity;
};

/* All sweeps of at least three runs, along one axis or (NULL) each number that a row has, in the order of their first
 * runs. 0, or -1 with err filled: out of memory. */
int nvt_sweeps_of(const struct nvt_report_input *input, const char *by, struct nvt_sweeps *sweeps,
                  struct nvt_error *err);
void nvt_sweeps_free(struct nvt_sweeps *sweeps);

/* "range", "call", "device operation". */
const char *nvt_sweep_kind_name(enum nvt_sweep_kind kind);

/* Whether it is the iteration itself. */
int nvt_sweep_is_iteration(const struct nvt_sweep_item *item);

/* How its cost grows; of an item with at least three points. */
struct nvt_growth nvt_sweep_growth(const struct nvt_sweep_item *item);

/* Entries a unit of n, 0 when they are not in proportion to it (within 1 %). */
double nvt_sweep_per_unit(const struct nvt_sweep_item *item);

/* Its point at the largest of its n, or at the least. */
const struct nvt_sweep_point *nvt_sweep_largest(const struct nvt_sweep_item *item);
const struct nvt_sweep_point *nvt_sweep_least(const struct nvt_sweep_item *item);

/* The median time of an entry in the iterations of a point's run, ns. 0, or -1 when out of memory. */
int nvt_sweep_entry(const struct nvt_sweep_item *item, const struct nvt_sweep_point *point,
                    double *median);

/* Whether ranges of the one name lie in ranges of the other, as the first one of its largest run does. All lie in
 * iterations. */
int nvt_sweep_lies_within(const struct nvt_sweep_item *inner, const struct nvt_sweep_item *outer);

#endif
