#include "typical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"

#define BATCHES          8
#define BATCHES_FROM     40
#define CORRELATION_MOST 0.97
#define UPPER            1.645 /* standard errors: it is less with 95 % */
#define DEGREES_LEAST    3
#define RANGE_MOST       0.5 /* of the Winsorised times' range */
#define SHORT            20  /* times: below, their correlation can hardly be had */
#define SHORT_MOST       0.5

/* Winsorised times, their mean at 0. */
struct winsorised {
    const double *values;
    size_t count, kept; /* kept: those between the bounds */
    double low, high, mean;
};

static double at(const struct winsorised *from, size_t i)
{
    return fmin(fmax(from->values[i], from->low), from->high) - from->mean;
}

/* The mean of the times that are kept, `sorted` as far as the bounds need. */
static double trim(struct winsorised *out, const double *values, size_t count, double *scratch)
{
    const size_t cut = nvt_typical_cut(count);
    double sum = 0, all = 0;
    memcpy(scratch, values, count * sizeof(*scratch));
    nvt_sample_select(scratch, count, cut);
    nvt_sample_select(scratch + cut, count - cut, count - 2 * cut - 1);
    *out = (struct winsorised){
        values, count, count - 2 * cut, scratch[cut], scratch[count - cut - 1], 0};
    for (size_t i = cut; i < count - cut; i++)
        sum += scratch[i];
    for (size_t i = 0; i < count; i++)
        all += at(out, i);
    out->mean = all / (double)count;
    return sum / (double)out->kept;
}

/* Of each time with the next. */
static double correlation(const struct winsorised *from, double squares)
{
    const double n = (double)from->count;
    double products = 0;
    for (size_t i = 1; i < from->count; i++)
        products += at(from, i) * at(from, i - 1);
    const double r = fmax(0, (products / squares * n + 1) / (n - 3));
    if (from->count < SHORT)
        return fmin(r, SHORT_MOST);
    return fmin(r + UPPER * sqrt(fmax(0, 1 - r * r) / n), CORRELATION_MOST);
}

/* Squared error of the mean by those of batches. */
static double error_of_batches(const struct winsorised *from)
{
    double squares = 0;
    for (size_t b = 0; b < BATCHES; b++) {
        size_t first = from->count * b / BATCHES, end = from->count * (b + 1) / BATCHES;
        double sum = 0;
        for (size_t i = first; i < end; i++)
            sum += at(from, i);
        squares += sum * sum / (double)(end - first) / (double)(end - first);
    }
    return squares / (BATCHES - 1) / BATCHES;
}

/* Squared error of the mean of Winsorised times, and what degrees of freedom it has. */
static double error_of(const struct winsorised *from, double *degrees)
{
    const double n = (double)from->count;
    double squares = 0;
    for (size_t i = 0; i < from->count; i++)
        squares += at(from, i) * at(from, i);
    *degrees = (double)from->kept - 1;
    if (squares <= 0)
        return 0;
    const double r = correlation(from, squares), growth = (1 + r) / (1 - r);
    double error = squares / (n - 1) / n * growth / fmax(0.1, 1 - growth / n);
    *degrees = fmax(DEGREES_LEAST, *degrees * (1 - r * r) / (1 + r * r));
    if (from->count >= BATCHES_FROM) {
        const double of_batches = error_of_batches(from);
        if (of_batches > error)
            *degrees = fmin(*degrees, BATCHES - 1);
        error = fmax(error, of_batches);
    }
    const double range = RANGE_MOST * (from->high - from->low);
    return fmin(error, range * range);
}

int nvt_typical_of_times(const double *values, size_t count, uint32_t rank,
                         struct nvt_typical *typical)
{
    struct winsorised all;
    double *scratch = malloc(count * sizeof(*scratch)), degrees;
    if (!scratch)
        return -1;
    double mean = trim(&all, values, count, scratch);
    free(scratch);
    *typical = (struct nvt_typical){NAN, NAN, NAN, 0, count, rank, 0};
    for (size_t i = 0; i < count; i++)
        typical->total += values[i];
    if (!(mean > 0))
        return 0;
    typical->log = log(mean);
    if (count < NVT_TYPICAL_LEAST)
        return 0;
    typical->error = sqrt(error_of(&all, &degrees)) * (double)count / (double)all.kept / mean;
    typical->degrees = degrees;
    return 0;
}

struct nvt_typical nvt_typical_of_summary(double mean, double std, size_t count)
{
    const double n = (double)count;
    struct nvt_typical typical = {NAN, NAN, n - 1, mean * n, count, NVT_NO_RANK, 0};
    if (mean > 0)
        typical.log = log(mean);
    if (mean > 0 && count >= NVT_TYPICAL_LEAST && std >= 0)
        typical.error = std / sqrt(n) / mean;
    return typical;
}
