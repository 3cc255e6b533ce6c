#include "change.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/sample.h"
#include "discoveries.h"
#include "../../lib/student.h"

#define PAIRS_LEAST   4     /* or chance cannot be told from runs that go together */
#define PAIRS_CHANCE  0.001 /* that runs which have nothing in common are paired */
#define TRIM_ONE_IN   7
#define LEVEL_DEFAULT 0.95

/* The series of each rank that both sides have, in the order of runs. */
struct strata {
    const struct nvt_typical **series[2]; /* of rank r, run k: [r * runs + k] */
    size_t ranks, runs[2];
    int by_rank; /* else there is one, of all series */
};

/* The mean of runs, and its error. */
struct estimate {
    double value, squared; /* squared: standard error */
    double degrees;
};

static size_t count_rank(const struct nvt_side *side, uint32_t rank)
{
    size_t count = 0;
    for (size_t i = 0; i < side->count; i++)
        count += side->series[i].rank == rank;
    return count;
}

/* Whether this is the first series of a rank that the other side has too. */
static int begins_rank(const struct nvt_side *side, const struct nvt_side *other, size_t i)
{
    const uint32_t rank = side->series[i].rank;
    if (rank == NVT_NO_RANK)
        return 0;
    for (size_t before = 0; before < i; before++)
        if (side->series[before].rank == rank)
            return 0;
    return count_rank(other, rank) > 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The ranks that both sides have, and how many runs each of them has at least. */
static void count_ranks(struct strata *strata, const struct nvt_side *sides[2])
{
    *strata = (struct strata){.runs = {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sides[0]->count; i++) {
        if (!begins_rank(sides[0], sides[1], i))
            continue;
        strata->ranks++;
        for (int side = 0; side < 2; side++)
            strata->runs[side] =
                smaller(strata->runs[side], count_rank(sides[side], sides[0]->series[i].rank));
    }
    strata->by_rank = strata->ranks > 0;
    if (strata->by_rank)
        return;
    strata->ranks = 1;
    for (int side = 0; side < 2; side++)
        strata->runs[side] = sides[side]->count;
}

static void put_rank(struct strata *strata, int which, const struct nvt_side *side, uint32_t rank,
                     size_t row)
{
    const size_t runs = strata->runs[which];
    for (size_t i = 0, found = 0; i < side->count && found < runs; i++)
        if (!strata->by_rank || side->series[i].rank == rank)
            strata->series[which][row * runs + found++] = &side->series[i];
}

static int stratify(struct strata *strata, const struct nvt_side *sides[2])
{
    size_t row = 0;
    count_ranks(strata, sides);
    for (int side = 0; side < 2; side++) {
        strata->series[side] = calloc(strata->ranks * strata->runs[side] + 1, sizeof(void *));
        if (!strata->series[side])
            return -1;
    }
    for (int side = 0; side < 2 && !strata->by_rank; side++)
        put_rank(strata, side, sides[side], NVT_NO_RANK, 0);
    for (size_t i = 0; i < sides[0]->count && strata->by_rank; i++) {
        if (!begins_rank(sides[0], sides[1], i))
            continue;
        for (int side = 0; side < 2; side++)
            put_rank(strata, side, sides[side], sides[0]->series[i].rank, row);
        row++;
    }
    return 0;
}

/* Of each run the mean of its ranks' logarithms. NULL when out of memory. */
static double *values_of(const struct strata *strata, int side)
{
    const size_t runs = strata->runs[side];
    double *values = calloc(runs + 1, sizeof(*values));
    for (size_t i = 0; values && i < strata->ranks * runs; i++)
        values[i % runs] += strata->series[side][i]->log / (double)strata->ranks;
    return values;
}

/* What the times of the runs tell of their mean. */
static struct estimate within(const struct strata *strata, int side)
{
    const size_t count = strata->ranks * strata->runs[side];
    struct estimate out = {0, 0, 0};
    double weights = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nvt_typical *typical = strata->series[side][i];
        const double squared = typical->error * typical->error / (double)count / (double)count;
        out.value += typical->log / (double)count;
        out.squared += squared;
        weights += squared * squared / typical->degrees;
    }
    out.degrees = weights > 0 ? out.squared * out.squared / weights : 1;
    return out;
}

/* What their spread tells: the trimmed mean, its error from the Winsorised variance. Sorts. */
static struct estimate between(double *values, size_t count)
{
    const size_t cut = count / TRIM_ONE_IN, kept = count - 2 * cut;
    struct estimate out = {0, 0, (double)kept - 1};
    double mean = 0, squares = 0;
    nvt_sample_sort(values, count);
    for (size_t i = 0; i < cut; i++) {
        values[i] = values[cut];
        values[count - 1 - i] = values[count - 1 - cut];
    }
    for (size_t i = 0; i < count; i++) {
        mean += values[i] / (double)count;
        out.value += i >= cut && i < count - cut ? values[i] / (double)kept : 0;
    }
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    out.squared = squares / (double)kept / ((double)kept - 1);
    return out;
}

/* The squared error that the mean of a side's runs has at least. */
static double least_error(const struct strata *strata, int side)
{
    const size_t count = strata->ranks * strata->runs[side];
    double squared = 0;
    for (size_t i = 0; i < count; i++) {
        const double least = strata->series[side][i]->least;
        squared += least * least / (double)count / (double)count;
    }
    return squared;
}

static void set_error(struct nvt_change *change, const struct estimate *a, const struct estimate *b)
{
    change->error = sqrt(a->squared + b->squared);
    change->degrees = nvt_welch_degrees(a->squared, a->degrees, b->squared, b->degrees);
}

/* Whether the k-th values of both sides go together: their correlation, tested by its t. */
static int go_together(const double *a, const double *b, size_t count)
{
    double mean[2] = {0, 0}, squares[2] = {0, 0}, products = 0;
    if (count < PAIRS_LEAST)
        return 0;
    for (size_t i = 0; i < count; i++) {
        mean[0] += a[i] / (double)count;
        mean[1] += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        const double left = a[i] - mean[0], right = b[i] - mean[1];
        squares[0] += left * left;
        squares[1] += right * right;
        products += left * right;
    }
    if (!(products > 0))
        return 0;
    const double r2 = fmin(products / squares[0] * products / squares[1], 1 - 1e-15);
    const double degrees = (double)count - 2;
    return nvt_student_tail(sqrt(degrees * r2 / (1 - r2)), degrees) / 2 < PAIRS_CHANCE;
}

static void measure_runs(struct nvt_change *change, const struct strata *strata, double *values[2])
{
    const size_t *runs = strata->runs;
    struct estimate a, b;
    change->is_paired =
        !strata->by_rank && runs[0] == runs[1] && go_together(values[0], values[1], runs[0]);
    if (change->is_paired) {
        for (size_t k = 0; k < runs[0]; k++)
            values[1][k] -= values[0][k];
        const struct estimate none = {0, 0, 1};
        a = within(strata, 0);
        b = between(values[1], runs[1]);
        b.value += a.value;
        b.squared = fmax(b.squared, least_error(strata, 0) + least_error(strata, 1));
        set_error(change, &none, &b);
    } else {
        a = between(values[0], runs[0]);
        b = between(values[1], runs[1]);
        a.squared = fmax(a.squared, least_error(strata, 0));
        b.squared = fmax(b.squared, least_error(strata, 1));
        set_error(change, &a, &b);
    }
    change->typical[0] = exp(a.value);
    change->typical[1] = exp(b.value);
}

static void measure_times(struct nvt_change *change, const struct strata *strata)
{
    const struct estimate a = within(strata, 0), b = within(strata, 1);
    change->typical[0] = exp(a.value);
    change->typical[1] = exp(b.value);
    set_error(change, &a, &b);
}

static void count_times(struct nvt_change *change, const struct strata *strata, size_t all)
{
    change->left_out = all;
    change->ranks = strata->by_rank ? strata->ranks : 0;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < strata->ranks * strata->runs[side]; i++) {
            change->n[side] += strata->series[side][i]->n;
            change->total[side] += strata->series[side][i]->total / (double)strata->runs[side];
        }
        change->runs[side] = strata->runs[side];
        change->left_out -= strata->ranks * strata->runs[side];
    }
}

/* What the typical times are, and the error of their ratio. */
static int estimate(struct nvt_change *change, const struct strata *strata)
{
    double *values[2] = {values_of(strata, 0), values_of(strata, 1)};
    const int by_run = strata->runs[0] >= NVT_CHANGE_RUNS && strata->runs[1] >= NVT_CHANGE_RUNS;
    int status = values[0] && values[1] ? 0 : -1;
    if (!status && by_run)
        measure_runs(change, strata, values);
    /* Runs that agree to the last digit do not say how well the digit is known; the same files twice are the
     * same. */
    if (!status && (!by_run || (change->error <= 0 && !change->is_paired)))
        measure_times(change, strata);
    free(values[0]);
    free(values[1]);
    return status;
}

static void test(struct nvt_change *change)
{
    const double difference = log(change->typical[1] / change->typical[0]);
    change->ratio = change->typical[1] / change->typical[0];
    if (isnan(change->error) || isnan(difference))
        change->p = NAN;
    else if (change->error > 0)
        change->p = nvt_student_tail(difference / change->error, change->degrees);
    else /* no noise at all: they are what they are */
        change->p = change->typical[0] == change->typical[1];
}

static void set_interval(struct nvt_change *change, double level)
{
    if (isnan(change->p))
        return;
    double reach =
        change->error > 0 ? change->error * nvt_student_at(1 - level, change->degrees) : 0;
    change->low = change->ratio * exp(-reach);
    change->high = change->ratio * exp(reach);
}

static const struct nvt_change nothing = {.typical = {NAN, NAN},
                                          .ratio = NAN,
                                          .error = NAN,
                                          .degrees = NAN,
                                          .p = NAN,
                                          .low = NAN,
                                          .high = NAN};

int nvt_change_measure(const struct nvt_side *a, const struct nvt_side *b,
                       struct nvt_change *change)
{
    const struct nvt_side *sides[2] = {a, b};
    struct strata strata;
    *change = nothing;
    int status = stratify(&strata, sides);
    if (!status)
        count_times(change, &strata, a->count + b->count);
    for (int side = 0; side < 2 && !status; side++)
        if (sides[side]->count && !sides[!side]->count)
            change->typical[side] = exp(within(&strata, side).value);
    if (!status && a->count && b->count) {
        status = estimate(change, &strata);
        test(change);
    }
    free(strata.series[0]);
    free(strata.series[1]);
    return status;
}

void nvt_change_from_summaries(const double mean[2], const double std[2], const size_t n[2],
                               struct nvt_change *change)
{
    struct estimate sides[2];
    *change = nothing;
    for (int side = 0; side < 2; side++) {
        const struct nvt_typical typical = nvt_typical_of_summary(mean[side], std[side], n[side]);
        change->typical[side] = mean[side];
        change->total[side] = typical.total;
        change->n[side] = n[side];
        change->runs[side] = 1;
        sides[side] =
            (struct estimate){typical.log, typical.error * typical.error, typical.degrees};
    }
    set_error(change, &sides[0], &sides[1]);
    test(change);
    set_interval(change, LEVEL_DEFAULT);
}

static enum nvt_verdict verdict_of(const struct nvt_change *change, double tolerance)
{
    if (isnan(change->low))
        return NVT_CANNOT_TELL;
    if (change->low > 1 - tolerance && change->high < 1 + tolerance)
        return NVT_SAME;
    if (change->low > 1)
        return NVT_SLOWER;
    return change->high < 1 ? NVT_FASTER : NVT_CANNOT_TELL;
}

int nvt_change_verdicts(struct nvt_change *changes, size_t count, double alpha, double tolerance,
                        double *level)
{
    double *p = malloc((count ? count : 1) * sizeof(*p));
    size_t tested = 0, found;
    if (!p)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!isnan(changes[i].p))
            p[tested++] = changes[i].p;
    found = nvt_discoveries(p, tested, alpha);
    free(p);
    found += found == 0;
    *level = 1 - alpha * (double)found / (double)(tested ? tested : 1);
    for (size_t i = 0; i < count; i++) {
        set_interval(&changes[i], *level);
        changes[i].verdict = verdict_of(&changes[i], tolerance);
    }
    return 0;
}

const char *nvt_verdict_name(enum nvt_verdict verdict)
{
    static const char *const names[] = {"cannot tell", "same", "faster", "slower"};
    return names[verdict];
}
