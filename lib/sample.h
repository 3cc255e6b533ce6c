/*
 * Statistics of a sample of measurements. No dependencies but libm: the host library carries it
 * too.
 *
 * Times in ns are given as doubles; they stay exact below 2^53 ns (104 days).
 */
#ifndef NVT_SAMPLE_H
#define NVT_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* What is not defined for the sample is NaN: everything for n = 0, std and ci95 for n = 1. */
struct nvt_summary {
    size_t n;
    double sum;
    double mean;
    double std; /* sample standard deviation, divisor n - 1 */
    double min;
    double median; /* mean of the middle two when n is even */
    double max;
    double ci95; /* half width of the 95 % confidence interval of the mean, Student's t */
};

/*
 * Summarise n finite values. The order of `values` is changed (the median is found by selection).
 * Two passes, the second one corrected for rounding: Chan, Golub, LeVeque (1983), eq. 1.7.
 */
void nvt_sample_summary(double *values, size_t n, struct nvt_summary *summary);

/*
 * Put another sample's summary to one, as if all values had been summarised together; `more` has at
 * least one. Where both have values, the median of all is not known and NaN. Chan, Golub, LeVeque (1983), eq. 2.1.
 */
void nvt_summary_add(struct nvt_summary *summary, const struct nvt_summary *more);

/* What values below 2^32 add up to, exactly. Those of several samples can be added. */
struct nvt_sums {
    uint64_t n, sum;
    uint64_t lower, upper; /* their squares: lower + upper * 2^32 */
    uint32_t low, high;    /* the least and the greatest */
};

struct nvt_sums nvt_sums_of(const uint32_t *values, size_t n);
struct nvt_sums nvt_sums_add(struct nvt_sums a, struct nvt_sums b);

/* Values in one place. */
struct nvt_piece {
    const uint32_t *values;
    size_t count;
    struct nvt_sums sums; /* of them */
    int ascends;          /* they are in order: then their median is found without looking at all */
};

/* nvt_sample_summary of whole numbers in pieces, quicker and with an exact sum. Their order stays;
 * `scratch` has room for all of them and one more. */
void nvt_sample_summary_pieces(const struct nvt_piece *pieces, size_t count, double *scratch,
                               struct nvt_summary *summary);

/* Put the k-th smallest at values[k], k < n, nothing greater before it and nothing less behind it. */
void nvt_sample_select(double *values, size_t n, size_t k);

/* Sort ascending, as nvt_sample_quantile wants it. */
void nvt_sample_sort(double *values, size_t n);

/*
 * The q-quantile, 0 <= q <= 1, of n ascending values, interpolated linearly between the ranks
 * q (n - 1): type 7 of Hyndman and Fan (1996), what NumPy and R do. NaN for n = 0.
 */
double nvt_sample_quantile(const double *sorted, size_t n, double q);

/* The median of n values, whose order is changed: the mean of the middle two when n is even, NaN for n = 0. */
double nvt_sample_median(double *values, size_t n);

/*
 * 1.4826 times the median distance of n values from their median, which `median` gets: of a normal distribution its standard
 * deviation, and outliers do not move it. The values become these distances. NaN for n = 0.
 */
double nvt_sample_deviation(double *values, size_t n, double *median);

/*
 * The number t with P(|T| <= t) = 0.95 for Student's t with that many degrees of freedom (>= 1).
 * Abramowitz and Stegun 26.7.3, 26.7.4, solved by bisection; 26.7.5 above 200 degrees. NaN for 0.
 */
double nvt_student_t95(size_t degrees);

/*
 * Degrees of freedom of the difference of two estimates, by their squared standard errors and the degrees that each of these has: Welch,
 * "The generalization of 'Student's' problem when several different population variances are involved" (1947), and Satterthwaite. 1
 * where neither has an error.
 */
double nvt_welch_degrees(double squared_a, double degrees_a, double squared_b, double degrees_b);

/*
 * Between what shares a share lies with 95 % confidence of which `of` of n draws, at most all, were seen: the score interval of
 * Wilson, "Probable inference, the law of succession, and statistical inference" (1927), which holds for few of them and for
 * shares near 0 and 1, too. 0 and 1 for no draw.
 */
void nvt_share_interval(uint64_t of, uint64_t n, double *low, double *high);

#endif
