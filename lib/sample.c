#include "sample.h"

#include <math.h>
#include <stdlib.h>

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

static double median_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Three-way partition, because times have many ties. */
void nvt_sample_select(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = median_of_three(values[low], values[low + (high - low) / 2], values[high]);
        size_t below = low, at = low, above = high;
        while (at <= above) {
            if (values[at] < pivot)
                swap(&values[at++], &values[below++]);
            else if (values[at] > pivot) {
                swap(&values[at], &values[above]);
                if (above == 0)
                    break;
                above--;
            } else
                at++;
        }
        if (k < below)
            high = below - 1;
        else if (k > above)
            low = above + 1;
        else
            return;
    }
}

double nvt_sample_median(double *values, size_t n)
{
    size_t middle = n / 2;
    if (!n)
        return NAN;
    nvt_sample_select(values, n, middle);
    if (n % 2)
        return values[middle];
    double lower = values[0];
    for (size_t i = 1; i < middle; i++)
        if (values[i] > lower)
            lower = values[i];
    return lower + (values[middle] - lower) / 2;
}

void nvt_sample_summary(double *values, size_t n, struct nvt_summary *summary)
{
    *summary = (struct nvt_summary){n, 0, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!n)
        return;
    double min = values[0], max = values[0], sum = 0;
    int is_exact = 1; /* whole numbers, whose sum has no rounding: nor has the mean more than one */
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        is_exact &= trunc(values[i]) == values[i] && fabs(sum) <= 0x1p53;
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    double mean = sum / (double)n, squares = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = values[i] - mean;
        squares += difference * difference;
        rest += difference;
    }
    summary->sum = sum;
    summary->mean = is_exact ? mean : mean + rest / (double)n;
    summary->min = min;
    summary->max = max;
    summary->median = nvt_sample_median(values, n);
    if (n < 2)
        return;
    double variance = (squares - rest * rest / (double)n) / (double)(n - 1);
    summary->std = sqrt(variance > 0 ? variance : 0);
    summary->ci95 = nvt_student_t95(n - 1) * summary->std / sqrt((double)n);
}

/* The sum of squared differences from the mean. */
static double squares_of(const struct nvt_summary *summary)
{
    return summary->n > 1 ? summary->std * summary->std * (double)(summary->n - 1) : 0;
}

void nvt_summary_add(struct nvt_summary *summary, const struct nvt_summary *more)
{
    const struct nvt_summary before = *summary;
    if (!before.n) {
        *summary = *more;
        return;
    }
    double n = (double)before.n, m = (double)more->n, apart = more->mean - before.mean;
    double squares = squares_of(&before) + squares_of(more) + apart * apart * n * m / (n + m);
    summary->n += more->n;
    summary->sum += more->sum;
    summary->mean += apart * m / (n + m);
    summary->std = sqrt(squares / (n + m - 1));
    summary->min = more->min < before.min || isnan(more->min) ? more->min : before.min;
    summary->max = more->max > before.max || isnan(more->max) ? more->max : before.max;
    summary->median = NAN;
    summary->ci95 = nvt_student_t95(summary->n - 1) * summary->std / sqrt(n + m);
}

/* Values fall into so many equal parts of their span, of which only one or two are looked into. */
#define PARTS 1024

/* The part that holds the k-th smallest; *before: how many values lie below it. */
static uint32_t part_of_rank(const size_t *counts, size_t k, size_t *before)
{
    uint32_t part = 0;
    for (*before = 0; *before + counts[part] <= k; part++)
        *before += counts[part];
    return part;
}

/* Values in pieces, and how they are divided into parts. */
struct parts {
    const struct nvt_piece *pieces;
    size_t count;
    uint32_t low, shift;
    double *scratch;
};

/* The values of a part, into scratch. Returns how many. */
static size_t gather_part(const struct parts *parts, uint32_t part)
{
    size_t count = 0;
    for (size_t p = 0; p < parts->count; p++) {
        const struct nvt_piece *piece = &parts->pieces[p];
        for (size_t i = 0; i < piece->count; i++) {
            parts->scratch[count] = piece->values[i];
            count += (piece->values[i] - parts->low) >> parts->shift == part;
        }
    }
    return count;
}

static double median_of_pieces(struct parts *parts, const struct nvt_sums *sums)
{
    size_t counts[PARTS] = {0}, before, n = sums->n;
    parts->low = sums->low;
    while ((sums->high - sums->low) >> parts->shift >= PARTS)
        parts->shift++;
    for (size_t p = 0; p < parts->count; p++) {
        const struct nvt_piece *piece = &parts->pieces[p];
        for (size_t i = 0; i < piece->count; i++)
            counts[(piece->values[i] - parts->low) >> parts->shift]++;
    }
    uint32_t part = part_of_rank(counts, n / 2, &before);
    size_t rank = n / 2 - before, count = gather_part(parts, part);
    double *scratch = parts->scratch;
    nvt_sample_select(scratch, count, rank);
    double upper = scratch[rank], lower = scratch[0];
    if (n % 2)
        return upper;
    /* The greatest below it: of those that selecting put before it, or of the part before. */
    for (size_t i = 1; i < rank; i++)
        lower = scratch[i] > lower ? scratch[i] : lower;
    if (!rank) {
        part = part_of_rank(counts, n / 2 - 1, &before);
        count = gather_part(parts, part);
        lower = scratch[0];
        for (size_t i = 1; i < count; i++)
            lower = scratch[i] > lower ? scratch[i] : lower;
    }
    return lower + (upper - lower) / 2;
}

/* How many values of ascending ones are below `bound`. */
static size_t below(const struct nvt_piece *piece, uint64_t bound)
{
    size_t low = 0, high = piece->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (piece->values[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t all_below(const struct parts *parts, uint64_t bound)
{
    size_t count = 0;
    for (size_t p = 0; p < parts->count; p++)
        count += below(&parts->pieces[p], bound);
    return count;
}

/* The median of pieces that ascend: bisection by value. */
static double median_of_ascending(const struct parts *parts, const struct nvt_sums *sums)
{
    uint64_t low = sums->low, high = sums->high, lower = 0;
    size_t n = sums->n;
    /* The least value with more than n / 2 values up to it. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (all_below(parts, middle + 1) > n / 2)
            high = middle;
        else
            low = middle + 1;
    }
    if (n % 2 || all_below(parts, low) < n / 2)
        return (double)low;
    for (size_t p = 0; p < parts->count; p++) {
        size_t count = below(&parts->pieces[p], low);
        if (count && parts->pieces[p].values[count - 1] > lower)
            lower = parts->pieces[p].values[count - 1];
    }
    return (double)lower + (double)(low - lower) / 2;
}

struct nvt_sums nvt_sums_of(const uint32_t *values, size_t n)
{
    uint32_t low = UINT32_MAX, high = 0;
    uint64_t sum = 0, lower = 0, upper = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t square = (uint64_t)values[i] * values[i];
        sum += values[i];
        lower += (uint32_t)square;
        upper += square >> 32;
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    return (struct nvt_sums){n, sum, lower, upper, low, high};
}

struct nvt_sums nvt_sums_add(struct nvt_sums a, struct nvt_sums b)
{
    return (struct nvt_sums){a.n + b.n,
                             a.sum + b.sum,
                             a.lower + b.lower,
                             a.upper + b.upper,
                             a.low < b.low ? a.low : b.low,
                             a.high > b.high ? a.high : b.high};
}

/* What sums of whole numbers and of their squares take, without rounding: n, and values, below
 * 2^32. */
__extension__ typedef unsigned __int128 wide;

void nvt_sample_summary_pieces(const struct nvt_piece *pieces, size_t count, double *scratch,
                               struct nvt_summary *summary)
{
    struct parts parts = {.pieces = pieces, .count = count, .scratch = scratch};
    struct nvt_sums sums = {.low = UINT32_MAX};
    int ascend = 1;
    for (size_t i = 0; i < count; i++) {
        sums = nvt_sums_add(sums, pieces[i].sums);
        ascend &= pieces[i].ascends;
    }
    uint64_t n = sums.n;
    *summary = (struct nvt_summary){n, 0, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!n)
        return;
    summary->sum = (double)sums.sum;
    summary->mean = (double)sums.sum / (double)n;
    summary->min = sums.low;
    summary->max = sums.high;
    summary->median = ascend ? median_of_ascending(&parts, &sums) : median_of_pieces(&parts, &sums);
    if (n < 2)
        return;
    /* n times the sum of the squared differences from the mean. */
    wide squares = ((wide)sums.upper << 32) + sums.lower;
    wide spread = n * squares - (wide)sums.sum * sums.sum;
    double variance = (double)spread / ((double)n * (double)(n - 1));
    summary->std = sqrt(variance);
    summary->ci95 = nvt_student_t95(n - 1) * summary->std / sqrt((double)n);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void nvt_sample_sort(double *values, size_t n)
{
    if (n)
        qsort(values, n, sizeof(*values), ascending);
}

double nvt_sample_quantile(const double *sorted, size_t n, double q)
{
    if (!n)
        return NAN;
    double rank = q * (double)(n - 1);
    size_t below = (size_t)rank;
    if (below >= n - 1)
        return sorted[n - 1];
    return sorted[below] + (rank - (double)below) * (sorted[below + 1] - sorted[below]);
}

double nvt_sample_deviation(double *values, size_t n, double *median)
{
    *median = nvt_sample_median(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - *median);
    return 1.4826 * nvt_sample_median(values, n);
}

/* P(|T| <= t), the finite series for a whole number of degrees. */
static double within(double t, size_t degrees)
{
    double theta = atan(t / sqrt((double)degrees)), sine = sin(theta), cosine = cos(theta);
    double squared = cosine * cosine, sum = 0;
    double term = degrees % 2 ? cosine : 1;
    for (size_t k = degrees % 2 ? 3 : 2; k <= degrees; k += 2) {
        sum += term;
        term *= squared * (double)(k - 1) / (double)k;
    }
    return degrees % 2 ? 2 / M_PI * (theta + sine * sum) : sine * sum;
}

double nvt_welch_degrees(double squared_a, double degrees_a, double squared_b, double degrees_b)
{
    const double squared = squared_a + squared_b;
    return squared > 0 ? squared * squared /
                             (squared_a * squared_a / degrees_a + squared_b * squared_b / degrees_b)
                       : 1;
}

double nvt_student_t95(size_t degrees)
{
    if (!degrees)
        return NAN;
    if (degrees > 200) {
        const double z = 1.959963984540054, v = (double)degrees;
        double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
        return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
               (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
    }
    double low = 1, high = 16;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (within(middle, degrees) < 0.95)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

void nvt_share_interval(uint64_t of, uint64_t n, double *low, double *high)
{
    const double z2 = 1.959963984540054 * 1.959963984540054, draws = (double)n;
    *low = 0;
    *high = 1;
    if (!n)
        return;
    double share = (double)of / draws, centre = share + z2 / (2 * draws);
    double half = sqrt(z2 * (share * (1 - share) / draws + z2 / (4 * draws * draws)));
    *low = of ? (centre - half) / (1 + z2 / draws) : 0;
    *high = of < n ? (centre + half) / (1 + z2 / draws) : 1;
}
