#include "function_value.h"

#include <math.h>

#define PARTS_LEAST 5 /* or their spread says nothing */
#define DEGREES_KNOWN                                                                              \
    1e5 /* of an error that follows from the counts: t is the normal distribution (student.c) */

/* The squared error of the logarithm, by what chance does to counts. `share`: the number of all samples is no chance. */
static double error_of_counts(const struct nvt_function_samples *from, double mean, int share)
{
    const double spread = fmax(1, from->spread);
    const double k = from->time / mean / spread, n = (double)from->all_samples / spread;
    return (1 - (share ? fmin(k / (n + 1), 1) : 0)) / (k + 0.5);
}

/* The squared error of the logarithm, by the spread between the parts of the iterations. */
static double error_of_parts(const struct nvt_function_samples *from, double value)
{
    const double iterations = from->iterations;
    const double squares = from->squares - from->time * from->time / iterations;
    return fmax(0, squares) / (from->parts - 1) / iterations / (value * value);
}

struct nvt_typical nvt_function_value(const struct nvt_function_samples *samples)
{
    const double mean = samples->all_time / (double)samples->all_samples;
    const double value = (samples->time + mean / 2) / samples->iterations;
    struct nvt_typical out = {.log = log(value),
                              .degrees = DEGREES_KNOWN,
                              .total = samples->time,
                              .n = (size_t)samples->samples,
                              .rank = NVT_NO_RANK};
    const int has_parts = samples->parts >= PARTS_LEAST;
    double squared = error_of_counts(samples, mean, has_parts);
    if (samples->samples < NVT_FUNCTION_FEW)
        out.least = sqrt(squared);
    if (has_parts) {
        const double of_parts = error_of_parts(samples, value);
        if (of_parts > squared)
            out.degrees = samples->parts - 1;
        squared = fmax(squared, of_parts);
    }
    out.error = sqrt(squared);
    return out;
}
