/*
 * How much a time has changed between two sides, with the noise taken into account.
 *
 * A side is one or more repetitions (series of times in the order in which they were measured). Times
 * that follow each other resemble each other, so they are not independent observations; means of
 * batches are, nearly. An observation is the mean of a repetition where both sides have at least
 * NVT_CHANGE_LEAST of them, else the mean of a batch of twenty times or more of a repetition (no more
 * than 20 batches of each; a series of less than 100 times is cut into NVT_CHANGE_LEAST).
 *
 * The interval is the studentised bootstrap's (Efron and Tibshirani, "An Introduction to the Bootstrap",
 * 1993, chapter 12.5) of the difference of means, shown as a ratio to side A's mean; the p-value is the
 * share of resamples, drawn with both sides moved to the same mean, whose |t| is at least the observed
 * one (beyond all resamples: Student's tail, if that is less). Resampling is seeded: the same data give the same answer.
 */
#ifndef NVT_CHANGE_H
#define NVT_CHANGE_H

#include <stddef.h>

#define NVT_CHANGE_LEAST 5 /* observations a side, or nothing can be said */

/* What commands use: at most one comparison in fifty of equal runs should give a verdict. It is one in
 * twenty at worst, as batches of times are not quite independent (tests/test_change.c measures it). */
#define NVT_CHANGE_ALPHA 0.02

enum nvt_verdict { NVT_CANNOT_TELL, NVT_SAME, NVT_FASTER, NVT_SLOWER };

struct nvt_series {
    const double *values; /* ns, in the order of measurement */
    size_t count;
};

struct nvt_side {
    const struct nvt_series *series;
    size_t count;
};

struct nvt_change {
    double mean[2]; /* of all times of a side */
    size_t n[2];    /* times */
    size_t observations[2];
    double ratio;     /* mean[1] / mean[0] */
    double low, high; /* 95 % interval of the ratio, cut at 0, as times are not negative; NaN when
                        nothing can be said */
    double p;         /* NaN likewise */
    enum nvt_verdict verdict; /* set by nvt_change_verdicts */
};

/* Compare side b with side a. 0, or -1 when out of memory. */
int nvt_change_measure(const struct nvt_side *a, const struct nvt_side *b,
                       struct nvt_change *change);

/* The same from summaries alone (mean, standard deviation, count of each side), where times are taken
 * for independent: Welch's t by the normal approximation. */
void nvt_change_from_summaries(const double mean[2], const double std[2], const size_t n[2],
                               struct nvt_change *change);

/*
 * Verdicts over all changes of one comparison: faster or slower where p passes Holm's step-down
 * procedure at `alpha` over all of them (so that the chance of any false one is at most alpha), same
 * where the interval lies within ± tolerance (a fraction) of 1, else cannot tell.
 */
int nvt_change_verdicts(struct nvt_change *changes, size_t count, double alpha, double tolerance);

/* "faster", "slower", "same", "cannot tell". */
const char *nvt_verdict_name(enum nvt_verdict verdict);

#endif
