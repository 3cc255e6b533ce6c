/*
 * How much a time has changed between two sides, with the noise taken into account.
 *
 * A side is one or more runs, each with what its times typically are (typical.h). A change is a
 * ratio, so it is reckoned in logarithms. Where ranks are known, times of a rank are compared with
 * those of the same rank, and the run's value is the mean over its ranks; a rank's k-th series is of
 * the k-th run. What only one side has of ranks is left out; without a rank on both sides all series are runs.
 *
 * With NVT_CHANGE_RUNS runs on both sides the error is that between runs: Welch's t of the runs' values, from seven
 * runs a side on without one in seven at either end (Yuen, "The two-sample trimmed t for unequal population variances",
 * 1974). Runs are paired, the k-th with the k-th, where their values are correlated beyond chance, as those of unnamed
 * ranks are. The error is never less than what a series says that it is at least (typical.h). With fewer runs the error
 * is that of the times within runs, and the noise between runs is unknown.
 */
#ifndef NVT_CHANGE_H
#define NVT_CHANGE_H

#include <stddef.h>

#include "typical.h"

#define NVT_CHANGE_RUNS 3 /* a side, or the noise between runs is not known */

/* What commands use: where nothing but the noise that is known differs, at most one comparison in
 * twenty gives any verdict (tests/test_change.c measures it). */
#define NVT_CHANGE_ALPHA 0.05

enum nvt_verdict { NVT_CANNOT_TELL, NVT_SAME, NVT_FASTER, NVT_SLOWER };

struct nvt_side {
    const struct nvt_typical *series;
    size_t count;
};

struct nvt_change {
    double typical[2]; /* ns: the geometric mean of runs and ranks; NaN where there is none */
    double total[2];   /* ns of a run, all ranks */
    size_t n[2];       /* times */
    size_t runs[2];
    size_t ranks;             /* that both sides have, 0: none is known */
    size_t left_out;          /* series of ranks, or of runs of a rank, that only one side has */
    int is_paired;            /* run with run, though they are not known to be ranks */
    double ratio;             /* typical[1] / typical[0] */
    double error, degrees;    /* of its logarithm; NaN when nothing can be said */
    double p;                 /* that there is no change; NaN when nothing can be said */
    double low, high;         /* interval of the ratio, or NaN; set by nvt_change_verdicts */
    enum nvt_verdict verdict; /* set by nvt_change_verdicts */
};

/* Compare side b with side a. 0, or -1 when out of memory. */
int nvt_change_measure(const struct nvt_side *a, const struct nvt_side *b,
                       struct nvt_change *change);

/* Compare two sides by summaries alone (mean, standard deviation, count of each side), where times are taken
 * for independent, with the interval of 95 %. */
void nvt_change_from_summaries(const double mean[2], const double std[2], const size_t n[2],
                               struct nvt_change *change);

/*
 * Intervals and verdicts over all changes of one comparison, at one level for all of them: faster or slower where
 * the interval does not hold 1, same where it lies within ± tolerance (a fraction) of 1, else cannot
 * tell. The level is 1 - alpha R / count, where R p-values (one at least) pass the procedure of Benjamini and
 * Hochberg ("Controlling the false discovery rate", 1995) at `alpha`: where nothing has
 * changed, the chance of any verdict is alpha, and else the share of false ones among the verdicts is; the
 * intervals are those of Benjamini and Yekutieli ("False discovery rate-adjusted multiple confidence
 * intervals", 2005). *level gets it. 0, or -1 when out of memory.
 */
int nvt_change_verdicts(struct nvt_change *changes, size_t count, double alpha, double tolerance,
                        double *level);

/* "faster", "slower", "same", "cannot tell". */
const char *nvt_verdict_name(enum nvt_verdict verdict);

#endif
