#include "change_point.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"

#define ROTATIONS  1999
#define RESAMPLES  999
#define DEVIATION  1.4826
#define SCORE_MOST 8.0
#define UNIT_LEAST 0.01 /* of the median: quieter series have no larger scores */

struct work {
    double *scores; /* of series s, time i: scores[s * length + i] */
    double *mean;   /* R_i */
    double *t;      /* T_k */
    double *values; /* room for all times */
    double noise;   /* times that are slower by less than this are not */
    size_t count, length;
    uint64_t random;
};

/* Scores of a series; `scratch` has room for as many. */
static void score_series(const double *values, size_t length, double *scores, double *scratch)
{
    double middle;
    memcpy(scratch, values, length * sizeof(*scratch));
    const double deviation = nvt_sample_deviation(scratch, length, &middle);
    const double unit = fmax(deviation, UNIT_LEAST * middle);
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

/* T_k of all k: t[k - 1]. */
static void statistics(const struct work *work, double *t)
{
    double sum = 0, mean = 0;
    const double n = (double)work->length;
    for (size_t i = 0; i < work->length; i++)
        mean += work->mean[i] / n;
    for (size_t k = 1; k <= work->length / 2; k++) {
        sum += work->mean[k - 1] - mean;
        t[k - 1] = sum / sqrt((double)k * (n - (double)k) / n);
    }
}

/* T of the mean scores, and the k where it is: of equals, but for rounding, the first. */
static double greatest(const double *t, size_t count, size_t *at)
{
    double most = -INFINITY;
    for (size_t i = 0; i < count; i++)
        if (t[i] > most + 1e-9) {
            most = t[i];
            *at = i + 1;
        }
    return most;
}

static double statistic(const struct work *work, size_t *at)
{
    statistics(work, work->t);
    return greatest(work->t, work->length / 2, at);
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

/* The times of all series from `first` to `end` become values; of which the median. */
static double median_of(const struct work *work, const double *const *series, size_t first,
                        size_t end)
{
    size_t n = 0;
    for (size_t s = 0; s < work->count; s++)
        for (size_t i = first; i < end; i++)
            work->values[n++] = series[s][i];
    return nvt_sample_median(work->values, n);
}

/* How far times at the end of their series are from their median, in deviations: the last third, which
 * is level even where warming up takes more than half of it. */
static double noise_of(const struct work *work, const double *const *series)
{
    double median;
    const size_t last = (work->length + 2) / 3, first = work->length - last;
    size_t n = 0;
    for (size_t s = 0; s < work->count; s++, n += last) {
        memcpy(work->values + n, series[s] + first, last * sizeof(*work->values));
        (void)nvt_sample_deviation(work->values + n, last, &median);
    }
    return DEVIATION * nvt_sample_median(work->values, n);
}

static void measure_sides(const struct work *work, const double *const *series, size_t at,
                          double effect, struct nvt_change_point *found)
{
    found->at = at;
    found->before = median_of(work, series, 0, at);
    found->after = median_of(work, series, at, work->length);
    found->is_slower =
        found->before >= effect * found->after && found->before - found->after >= work->noise;
}

/* The k of the greatest T_k among those before which times are slower; of all where there is none. Its T. */
static double choose(struct work *work, const double *const *series, double effect,
                     struct nvt_change_point *found)
{
    const size_t count = work->length / 2;
    size_t first = 1, at = 1;
    statistics(work, work->t);
    const double most = greatest(work->t, count, &first);
    for (size_t tried = 0; tried < count; tried++) {
        const double t = greatest(work->t, count, &at);
        if (!(t > 0))
            break;
        measure_sides(work, series, at, effect, found);
        if (found->is_slower)
            return t;
        work->t[at - 1] = -INFINITY;
    }
    measure_sides(work, series, first, effect, found);
    return most;
}

static int work_begin(struct work *work)
{
    work->scores = calloc(work->count, work->length * sizeof(double));
    work->values = calloc(work->count, work->length * sizeof(double));
    work->mean = calloc(work->length, sizeof(double));
    work->t = calloc(work->length, sizeof(double));
    return work->scores && work->values && work->mean && work->t ? 0 : -1;
}

static void work_end(struct work *work)
{
    free(work->scores);
    free(work->values);
    free(work->mean);
    free(work->t);
}

int nvt_change_point_find(const double *const *series, size_t count, size_t length, double effect,
                          struct nvt_change_point *found)
{
    *found = (struct nvt_change_point){.p = NAN, .before = NAN, .after = NAN};
    if (length > NVT_CHANGE_POINT_MOST)
        length = NVT_CHANGE_POINT_MOST;
    if (!count || length < NVT_CHANGE_POINT_LEAST)
        return 0;
    struct work work = {.count = count, .length = length, .random = 0x9E3779B97F4A7C15u};
    int status = work_begin(&work);
    for (size_t s = 0; s < count && !status; s++)
        score_series(series[s], length, work.scores + s * length, work.mean);
    if (!status) {
        memset(work.mean, 0, length * sizeof(*work.mean));
        for (size_t s = 0; s < count; s++)
            add_rotated(&work, work.scores + s * length, 0);
        work.noise =
            noise_of(&work, series) * (count > 1 ? NVT_CHANGE_POINT_NOISE : NVT_CHANGE_POINT_ALONE);
        found->p = probability(&work, choose(&work, series, effect, found));
        found->limit = length / 2;
        status = interval(&work, found);
    }
    work_end(&work);
    return status;
}
