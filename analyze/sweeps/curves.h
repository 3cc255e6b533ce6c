/*
 * Curves: what a phase costs over a number that was varied, from the records of run directories; a
 * straight line through each, and where two of them cross. What the rule `crossing` of the
 * diagnosis and the chart `scaling` read.
 */
#ifndef NVT_CURVES_H
#define NVT_CURVES_H

#include "../input/input.h"

struct nvt_curve_point {
    double n;
    double ns;     /* median over the iterations, the mean where a record has no median */
    double std_ns; /* NaN: unknown */
    const struct nvt_runs *runs;
    size_t record; /* in runs */
};

/*
 * cost = a + b·n by least squares with weights 1/cost², because noise grows with the time that is
 * measured. The variance of a + b·x is s²·(var_a + 2·x·cov + x²·var_b), s² = rest / (points - 2).
 */
struct nvt_line {
    double a, b;
    double var_a, cov, var_b;
    double rest; /* sum of squared residuals, each divided by its cost */
};

struct nvt_curve {
    const struct nvt_record *record; /* of its first point: its other axes */
    const char *axis;                /* what was varied; belongs to the record */
    const char *phase;               /* "forward", "backward", "optimizer" */
    char rest[256];                  /* nvt_record_rest without the axis */
    struct nvt_curve_point *points;  /* n ascending */
    size_t count;
    struct nvt_line line;
};

/* Zero-initialise; release with nvt_curves_free, also after a failure. */
struct nvt_curves {
    struct nvt_curve *items;
    size_t count;
};

/* All curves with at least three different n, along one axis or (NULL) each. 0, or -1 with err. */
int nvt_curves_of(const struct nvt_input *input, const char *by, struct nvt_curves *curves,
                  struct nvt_error *err);
void nvt_curves_free(struct nvt_curves *curves);

/* The workload and its axes but one, or (`other` not NULL) but two, as "fragmented size=64 …", cut to out[size].
 * Returns its length, whole. */
size_t nvt_record_rest(const struct nvt_record *record, const char *axis, const char *other,
                       char *out, size_t size);

/* The one axis with words (variant, mode …) in which two curves of the same phase and number
 * differ, or NULL: what they cost can then be compared. */
const char *nvt_curves_differ(const struct nvt_curve *left, const struct nvt_curve *right);

struct nvt_crossing {
    const struct nvt_curve *low, *high; /* cheaper below, and cheaper above */
    double n;                           /* where the lines meet */
    double from, to;                    /* its 95 % interval */
    double last_below, first_above; /* measured: `low` is cheaper up to here, `high` from here on;
                                       NaN where the measurements go back and forth */
    double from_ns, to_ns; /* by how much at the least and the largest n that both were run with */
};

/*
 * Whether two curves cross within what was measured: their lines differ, at 95 %, one way at the
 * least n and the other way at the largest. The interval is Fieller's (1954): all x at which the
 * difference of the lines could be 0 by Student's t, with the points of both less 4 degrees of
 * freedom. 1 with *crossing filled, or 0.
 */
int nvt_curves_cross(const struct nvt_curve *left, const struct nvt_curve *right,
                     struct nvt_crossing *crossing);

#endif
