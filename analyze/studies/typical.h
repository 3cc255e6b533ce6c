/*
 * What times of one run typically are, and how sure that is: stray times, such as preemptions and
 * page faults, do not move it.
 *
 * Typical is the mean without the fifth of the times at either end. Its error is that of a trimmed
 * mean (Yuen, "The two-sample trimmed t for unequal population variances", 1974), with the variance
 * of the Winsorised times. Times that follow each other resemble each other: the variance grows by
 * (1 + r) / (1 - r), where r is what the correlation of each Winsorised time with the next is at most,
 * with 95 %, without the bias of short series (Kendall, "Note on bias in the estimation of
 * autocorrelation", 1954); 0.97 at most. From forty times on the means of eight batches, which know
 * of slower changes, give an error too, and the larger one is taken. It is at most half of the Winsorised
 * times' range, which is the most that the deviation of anything within it can be (Popoviciu, "Sur les
 * équations algébriques ayant toutes leurs racines réelles", 1935), and has three degrees of freedom at least:
 * where a machine's clock has changed once within a run, times say nothing of how often it does, but they do say by how
 * much.
 *
 * Fewer than twenty times can hardly say how they resemble each other: r is then what they say
 * and no more, 0.5 at most, and only the seventh at either end is left out.
 */
#ifndef NVT_TYPICAL_H
#define NVT_TYPICAL_H

#include <stddef.h>
#include <stdint.h>

#define NVT_TYPICAL_LEAST 5 /* times, or there is no error */

struct nvt_typical {
    double log;   /* the natural logarithm of the typical time in ns; NaN where it is not above 0 */
    double error; /* standard error of that, NaN when not known */
    double degrees; /* of freedom that the error has */
    double total;   /* ns, of all times */
    size_t n;       /* times */
    uint32_t rank;  /* that they are of, NVT_NO_RANK: not known */
    /* standard error of the logarithm that further runs do not reduce; 0: they reduce all of it */
    double least;
};

#define NVT_NO_RANK UINT32_MAX

/* How many of so many times are left out at either end. */
static inline size_t nvt_typical_cut(size_t count)
{
    return count / (count < 20 ? 7 : 5);
}

/* Of times in the order of measurement, ns, one at least. 0, or -1 when out of memory. */
int nvt_typical_of_times(const double *values, size_t count, uint32_t rank,
                         struct nvt_typical *typical);

/* Of a mean and a standard deviation, where times are taken for independent. */
struct nvt_typical nvt_typical_of_summary(double mean, double std, size_t count);

#endif
