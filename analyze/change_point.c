#include "change_point.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sample.h"

#define ROTATIONS  1999
#define RESAMPLES  999
#define SCORE_MOST 8.0

struct work {
    double *scores; /* of series s, time i: scores[s * length + i] */
    double *mean;   /* R_i */
    size_t count, length;
    uint64_t random;
};

/* Scores of a series; `scratch` has room for as many. */
static void score_series(const double *values, size_t length, double *scores, double *scratch)
{
    struct nvt_summary summary;
    memcpy(scratch, values, length * sizeof(*scratch));
    nvt_sample_summary(scratch, length, &summary);
    const double middle = summary.median;
    for (size_t i = 0; i < length; i++)
        scratch[i] = fabs(values[i] - middle);
    nvt_sample_summary(scratch, length, &summary);
    const double unit = 1.4826 * summary.median;
    for (size_t i = 0; i < length; i++) {
        const double above = values[i] - middle;
        /* Where most times are equal there is no unit, and what differs is as far off as can be. */
        double score = unit > 0    ? above / unit
                       : above > 0 ? SCORE_MOST
                       : above < 0 ? -SCORE_MOST
                                   : 0;
        scores[i] = fmax(-SCORE_MOST, fmin(SCORE_MOST, score));
    }
}

/* T of the mean scores, and the k where it is. */
static double statistic(const struct work *work, size_t *at)
{
    double sum = 0, most = -INFINITY;
    const double n = (double)work->length;
    for (size_t k = 1; k <= work->length / 2; k++) {
        sum += work->mean[k - 1];
        double t = sum / sqrt((double)k * (n - (double)k) / n);
        /* By more than rounding: of equals the first. */
        if (t > most + 1e-9) {
            most = t;
            *at = k;
        }
    }
    return most;
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016. */
static size_t random_below(struct work *work, size_t limit)
{
    work->random ^= work->random >> 12;
    work->random ^= work->random << 25;
    work->random ^= work->random >> 27;
    return (size_t)((work->random * UINT64_C(0x2545F4914F6CDD1D) >> 32) * limit >> 32);
}

static void add_rotated(struct work *work, const double *scores, size_t by)
{
    for (size_t i = 0; i < work->length; i++)
        work->mean[i] += scores[i + by < work->length ? i + by : i + by - work->length];
}

static double probability(struct work *work, double observed)
{
    const size_t rotations = work->count == 1 ? work->length : ROTATIONS;
    size_t beyond = 0, at;
    for (size_t r = 0; r < rotations; r++) {
        memset(work->mean, 0, work->length * sizeof(*work->mean));
        for (size_t s = 0; s < work->count; s++)
            add_rotated(work, work->scores + s * work->length,
                        work->count == 1 ? r : random_below(work, work->length));
        beyond += statistic(work, &at) >= observed - 1e-9;
    }
    return work->count == 1 ? (double)beyond / (double)rotations
                            : (double)(beyond + 1) / (ROTATIONS + 1);
}

static void resample(struct work *work, size_t split)
{
    memset(work->mean, 0, work->length * sizeof(*work->mean));
    for (size_t s = 0; s < work->count; s++) {
        const double *scores = work->scores + s * work->length;
        for (size_t i = 0; i < work->length; i++)
            work->mean[i] += i < split ? scores[random_below(work, split)]
                                       : scores[split + random_below(work, work->length - split)];
    }
}

static int interval(struct work *work, struct nvt_change_point *found)
{
    double *places = malloc(RESAMPLES * sizeof(*places));
    if (!places)
        return -1;
    for (size_t r = 0; r < RESAMPLES; r++) {
        size_t at = 1;
        resample(work, found->at);
        statistic(work, &at);
        places[r] = (double)at;
    }
    nvt_sample_sort(places, RESAMPLES);
    found->low = (size_t)floor(nvt_sample_quantile(places, RESAMPLES, 0.025));
    found->high = (size_t)ceil(nvt_sample_quantile(places, RESAMPLES, 0.975));
    free(places);
    return 0;
}

static int measure_sides(const double *const *series, size_t count, size_t length,
                         struct nvt_change_point *found)
{
    double *values = malloc(count * length * sizeof(*values));
    struct nvt_summary summary;
    if (!values)
        return -1;
    for (int side = 0; side < 2; side++) {
        size_t n = 0;
        for (size_t s = 0; s < count; s++)
            for (size_t i = side ? found->at : 0; i < (side ? length : found->at); i++)
                values[n++] = series[s][i];
        nvt_sample_summary(values, n, &summary);
        *(side ? &found->after : &found->before) = summary.median;
    }
    free(values);
    return 0;
}

int nvt_change_point_find(const double *const *series, size_t count, size_t length,
                          struct nvt_change_point *found)
{
    *found = (struct nvt_change_point){.p = NAN, .before = NAN, .after = NAN};
    if (length > NVT_CHANGE_POINT_MOST)
        length = NVT_CHANGE_POINT_MOST;
    if (!count || length < NVT_CHANGE_POINT_LEAST)
        return 0;
    struct work work = {.count = count, .length = length, .random = 0x9E3779B97F4A7C15u};
    work.scores = calloc(count, length * sizeof(double));
    work.mean = calloc(length, sizeof(double));
    int status = work.scores && work.mean ? 0 : -1;
    for (size_t s = 0; s < count && !status; s++)
        score_series(series[s], length, work.scores + s * length, work.mean);
    if (!status) {
        memset(work.mean, 0, length * sizeof(*work.mean));
        for (size_t s = 0; s < count; s++)
            add_rotated(&work, work.scores + s * length, 0);
        double observed = statistic(&work, &found->at);
        found->p = probability(&work, observed);
        status = interval(&work, found) || measure_sides(series, count, length, found);
    }
    free(work.scores);
    free(work.mean);
    return status ? -1 : 0;
}
