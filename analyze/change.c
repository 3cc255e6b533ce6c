#include "change.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sample.h"

#define RESAMPLES    1999
#define BATCH        20
#define MOST_BATCHES 20

struct observations {
    double *values;
    size_t count;
};

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Squared standard error of the mean. */
static double error_of(const double *values, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum / (double)(count - 1) / (double)count;
}

static size_t batches_of(size_t count)
{
    size_t batches = count / BATCH;
    batches = batches < NVT_CHANGE_LEAST ? NVT_CHANGE_LEAST : batches;
    batches = batches > MOST_BATCHES ? MOST_BATCHES : batches;
    return batches < count ? batches : count;
}

static int observe(const struct nvt_side *side, int by_repetition, struct observations *out)
{
    size_t most = 0;
    for (size_t s = 0; s < side->count; s++)
        most += by_repetition ? 1 : batches_of(side->series[s].count);
    out->count = 0;
    out->values = malloc((most ? most : 1) * sizeof(*out->values));
    if (!out->values)
        return -1;
    for (size_t s = 0; s < side->count; s++) {
        const struct nvt_series *series = &side->series[s];
        size_t batches = by_repetition ? 1 : batches_of(series->count);
        for (size_t b = 0; series->count && b < batches; b++) {
            size_t from = series->count * b / batches, to = series->count * (b + 1) / batches;
            out->values[out->count++] = mean_of(series->values + from, to - from);
        }
    }
    return 0;
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* A resample of values that were moved to mean zero: its mean and its squared standard error. */
static double resample(const double *centred, size_t count, uint64_t *random, double *error)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        /* The top 32 bits scaled to the range: no division in the loop. */
        double value = centred[(next_random(random) >> 32) * count >> 32];
        sum += value;
        squares += value * value;
    }
    double mean = sum / (double)count;
    *error = (squares / (double)count - mean * mean) / (double)(count - 1);
    return mean;
}

static double *centre(const struct observations *from)
{
    double *values = malloc(from->count * sizeof(*values));
    double mean = mean_of(from->values, from->count);
    for (size_t i = 0; values && i < from->count; i++)
        values[i] = from->values[i] - mean;
    return values;
}

/* t of resamples in which both sides have mean zero, ascending. 0 or -1. */
static int bootstrap(const struct observations *a, const struct observations *b, double *t)
{
    uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
    double *left = centre(a), *right = centre(b);
    for (int i = 0; left && right && i < RESAMPLES; i++) {
        double difference, error, other;
        do {
            difference = resample(right, b->count, &random, &error);
            difference -= resample(left, a->count, &random, &other);
        } while (error + other <= 0);
        t[i] = difference / sqrt(error + other);
    }
    int status = left && right ? 0 : -1;
    free(left);
    free(right);
    if (!status)
        nvt_sample_sort(t, RESAMPLES);
    return status;
}

/*
 * P(|T| >= t) of Student's t: with x = sqrt(df)·tan(θ) its density is proportional to cos(θ)^(df - 1) dθ;
 * both integrals by Simpson's rule.
 */
static double student_tail(double t, size_t degrees)
{
    enum { STEPS = 2000 };
    double first = atan(fabs(t) / sqrt((double)degrees)), half = acos(0), sums[2] = {0, 0};
    const double from[2] = {first, 0};
    for (int which = 0; which < 2; which++) {
        double step = (half - from[which]) / STEPS;
        for (int i = 0; i <= STEPS; i++) {
            double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
            double angle = from[which] + step * i;
            sums[which] += weight * step * pow(fmax(cos(angle), 0), (double)degrees - 1);
        }
    }
    return sums[0] / sums[1];
}

static int infer(const struct observations *a, const struct observations *b,
                 struct nvt_change *change)
{
    double mean_a = mean_of(a->values, a->count), mean_b = mean_of(b->values, b->count);
    double error = error_of(a->values, a->count, mean_a) + error_of(b->values, b->count, mean_b);
    if (error <= 0) {
        /* No noise at all: the means are what they are. */
        change->low = change->high = change->ratio;
        change->p = mean_a == mean_b;
        return 0;
    }
    double *t = malloc(RESAMPLES * sizeof(*t));
    if (!t || bootstrap(a, b, t)) {
        free(t);
        return -1;
    }
    double observed = (mean_b - mean_a) / sqrt(error);
    size_t beyond = 0, fewer = a->count < b->count ? a->count : b->count;
    for (int i = 0; i < RESAMPLES; i++)
        beyond += fabs(t[i]) >= fabs(observed);
    change->p = (double)(beyond + 1) / (RESAMPLES + 1);
    /* Beyond all resamples these cannot say how far: Student's tail with the fewer degrees can. */
    if (!beyond)
        change->p = fmin(change->p, student_tail(observed, fewer - 1));
    double low_t = nvt_sample_quantile(t, RESAMPLES, 0.025);
    double high_t = nvt_sample_quantile(t, RESAMPLES, 0.975);
    change->low = fmax(0, 1 + (mean_b - mean_a - high_t * sqrt(error)) / mean_a);
    change->high = 1 + (mean_b - mean_a - low_t * sqrt(error)) / mean_a;
    free(t);
    return 0;
}

static double whole_mean(const struct nvt_side *side, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t s = 0; s < side->count; s++) {
        for (size_t i = 0; i < side->series[s].count; i++)
            sum += side->series[s].values[i];
        *count += side->series[s].count;
    }
    return sum / (double)*count;
}

int nvt_change_measure(const struct nvt_side *a, const struct nvt_side *b,
                       struct nvt_change *change)
{
    struct observations left = {0}, right = {0};
    int by_repetition = a->count >= NVT_CHANGE_LEAST && b->count >= NVT_CHANGE_LEAST;
    *change = (struct nvt_change){.low = NAN, .high = NAN, .p = NAN};
    change->mean[0] = whole_mean(a, &change->n[0]);
    change->mean[1] = whole_mean(b, &change->n[1]);
    change->ratio = change->mean[1] / change->mean[0];
    int status = observe(a, by_repetition, &left) || observe(b, by_repetition, &right);
    change->observations[0] = left.count;
    change->observations[1] = right.count;
    if (!status && left.count >= NVT_CHANGE_LEAST && right.count >= NVT_CHANGE_LEAST &&
        change->mean[0] > 0)
        status = infer(&left, &right, change);
    free(left.values);
    free(right.values);
    return status ? -1 : 0;
}

void nvt_change_from_summaries(const double mean[2], const double std[2], const size_t n[2],
                               struct nvt_change *change)
{
    *change = (struct nvt_change){.low = NAN, .high = NAN, .p = NAN};
    for (int side = 0; side < 2; side++) {
        change->mean[side] = mean[side];
        change->n[side] = change->observations[side] = n[side];
    }
    change->ratio = mean[1] / mean[0];
    double error = sqrt(std[0] * std[0] / (double)n[0] + std[1] * std[1] / (double)n[1]);
    if (n[0] < NVT_CHANGE_LEAST || n[1] < NVT_CHANGE_LEAST || !(error > 0) || !(mean[0] > 0))
        return;
    change->p = erfc(fabs(mean[1] - mean[0]) / error / sqrt(2));
    change->low = fmax(0, change->ratio - 1.96 * error / mean[0]);
    change->high = change->ratio + 1.96 * error / mean[0];
}

struct ranked {
    double p;
    size_t index;
};

static int by_p(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->p, y = ((const struct ranked *)b)->p;
    return (x > y) - (x < y);
}

static enum nvt_verdict verdict_of(const struct nvt_change *change, int is_significant,
                                   double tolerance)
{
    if (isnan(change->low))
        return NVT_CANNOT_TELL;
    if (change->low > 1 - tolerance && change->high < 1 + tolerance)
        return NVT_SAME;
    if (!is_significant)
        return NVT_CANNOT_TELL;
    return change->ratio < 1 ? NVT_FASTER : NVT_SLOWER;
}

int nvt_change_verdicts(struct nvt_change *changes, size_t count, double alpha, double tolerance)
{
    struct ranked *ranked = malloc((count ? count : 1) * sizeof(*ranked));
    size_t tested = 0;
    int passes = 1;
    if (!ranked)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!isnan(changes[i].p))
            ranked[tested++] = (struct ranked){changes[i].p, i};
        else
            changes[i].verdict = NVT_CANNOT_TELL;
    qsort(ranked, tested, sizeof(*ranked), by_p);
    /* Holm: the k-th smallest p against alpha / (tests left), stopping at the first that fails. */
    for (size_t k = 0; k < tested; k++) {
        passes = passes && ranked[k].p <= alpha / (double)(tested - k);
        struct nvt_change *change = &changes[ranked[k].index];
        change->verdict = verdict_of(change, passes, tolerance);
    }
    free(ranked);
    return 0;
}

const char *nvt_verdict_name(enum nvt_verdict verdict)
{
    static const char *const names[] = {"cannot tell", "same", "faster", "slower"};
    return names[verdict];
}
