#include "clock_fit.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/sample.h"

#define LEAST_FOR_DRIFT 8
#define MOST_DRIFT      5e-4

/* How far two moments are apart, from what is typical; of broken files they may be anything. */
static double apart(int64_t to, int64_t from, int64_t base)
{
    return (double)nvt_clock_since(nvt_clock_since(to, from), base);
}

int nvt_clock_fit(const int64_t *from, const int64_t *to, uint32_t count, struct nvt_clock_fit *fit)
{
    const uint32_t half = count / 2;
    double *values = malloc(((size_t)count + 1) * sizeof(*values));
    uint32_t slopes = 0;
    if (!values)
        return -1;
    *fit = (struct nvt_clock_fit){.at = from[half], .count = count};
    /* Differences from one that is typical: those of clocks may be years, and doubles are exact for days. */
    const int64_t base = nvt_clock_since(to[half], from[half]);
    for (uint32_t i = 0; count >= LEAST_FOR_DRIFT && i + half < count; i++)
        if (from[i + half] > from[i])
            values[slopes++] =
                apart(to[i + half], from[i + half], nvt_clock_since(to[i], from[i])) /
                (double)nvt_clock_since(from[i + half], from[i]);
    fit->drift = slopes ? nvt_sample_median(values, slopes) : 0;
    fit->drift = fmax(fmin(fit->drift, MOST_DRIFT), -MOST_DRIFT);
    for (uint32_t i = 0; i < count; i++)
        values[i] =
            apart(to[i], from[i], base) - fit->drift * (double)nvt_clock_since(from[i], fit->at);
    fit->offset = base + llround(nvt_sample_median(values, count));
    for (uint32_t i = 0; i < count; i++)
        values[i] = fabs((double)nvt_clock_since(to[i], nvt_clock_fit_apply(fit, from[i])));
    fit->residual_ns = nvt_sample_median(values, count);
    free(values);
    return 0;
}

static int64_t drifted(const struct nvt_clock_fit *fit, int64_t moment)
{
    return llround(fit->drift * (double)nvt_clock_since(moment, fit->at));
}

int64_t nvt_clock_fit_apply(const struct nvt_clock_fit *fit, int64_t moment)
{
    return nvt_clock_sum(nvt_clock_sum(moment, fit->offset), drifted(fit, moment));
}

int64_t nvt_clock_fit_revert(const struct nvt_clock_fit *fit, int64_t moment)
{
    const int64_t near = nvt_clock_since(moment, fit->offset);
    int64_t from = near;
    /* A drift of 500 ppm: each step leaves a two-thousandth of the error before. */
    for (int i = 0; i < 4; i++)
        from = nvt_clock_since(near, drifted(fit, from));
    return from;
}
