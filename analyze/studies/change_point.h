/*
 * Where several series of times stop being slow: one change point that they share.
 *
 * Each time becomes a score: what it is above the median of its series, in units of 1.4826 times
 * the median absolute deviation (which is a normal distribution's standard deviation), or of 1 % of the
 * median if that is more (or in a quiet series times that fall slowly were cut like the first), cut at
 * ± 8, so that one stray time counts no more than a slow one.
 * With R_i the mean over the series of the i-th score and R that of all, the statistic is
 *
 *   T = max over k <= length / 2 of T_k,   T_k = (R_1 + … + R_k - k R) / sqrt(k (length - k) / length),
 *
 * the weighted CUSUM (Csörgő and Horváth, "Limit Theorems in Change-Point Analysis", 1997, section 2.1, of ranks as in
 * section 2.5), one-sided, as warming up means getting faster; the change point is the k of the maximum among those
 * before which times are slower by more than the noise, and then T is its T_k. The p-value is the share of rotations of
 * the series, each by its own random number of places, whose T is at least the observed one: rotating keeps how times
 * resemble those that follow them, which shuffling would not. With one series all its rotations are taken, so that p is
 * 1 / length at best.
 *
 * The interval of the change point is the percentile bootstrap's: both sides of it are resampled, and it is sought
 * again. The random numbers are seeded: the same data give the same answer.
 */
#ifndef NVT_CHANGE_POINT_H
#define NVT_CHANGE_POINT_H

#include <stddef.h>

#define NVT_CHANGE_POINT_LEAST 4    /* times of a series, or nothing can be said */
#define NVT_CHANGE_POINT_MOST  2000 /* those behind are not looked at */

/* By so many deviations of times at the end those before the change point are slower, one series by more, or it is
 * noise: without this, times that resemble those before them (AR(1), 0.7) had one in 6 to 10 % of studies. */
#define NVT_CHANGE_POINT_NOISE 2
#define NVT_CHANGE_POINT_ALONE 3

struct nvt_change_point {
    size_t at;            /* times before it, 1 at least; 0: nothing can be said */
    size_t low, high;     /* 95 % interval of it */
    size_t limit;         /* no k above it was looked at */
    int is_slower;        /* before it, by the effect and the noise */
    double p;             /* that there is none */
    double before, after; /* medians of the times on its sides, over all series */
};

/* `count` series of `length` times each; before it times are slower by the factor `effect` at least. 0, or
 * -1 when out of memory. */
int nvt_change_point_find(const double *const *series, size_t count, size_t length, double effect,
                          struct nvt_change_point *found);

#endif
