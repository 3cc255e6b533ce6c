#include "curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../studies/phases.h"

size_t nvt_record_rest(const struct nvt_record *record, const char *axis, const char *other,
                       char *out, size_t size)
{
    const char *workload = nvt_record_text(record, "workload");
    size_t used = (size_t)snprintf(out, size, "%s", workload ? workload : "");
    for (size_t i = 0; i < record->axis_count; i++) {
        const struct nvt_member *member = &record->members[record->axis_first + i];
        const size_t room = used < size ? size - used : 0;
        if (strcmp(member->key, axis) != 0 && (!other || strcmp(member->key, other) != 0) &&
            member->type != NVT_VALUE_NULL)
            used += (size_t)snprintf(room ? out + used : out, room, " %s=%s", member->key,
                                     member->text);
    }
    return used;
}

/* --- gathering -------------------------------------------------------------------------------- */

static struct nvt_curve *find_curve(struct nvt_curves *curves, const struct nvt_record *record,
                                    const char *axis, const char *phase)
{
    char rest[256];
    nvt_record_rest(record, axis, NULL, rest, sizeof(rest));
    for (size_t i = 0; i < curves->count; i++)
        if (!strcmp(curves->items[i].phase, phase) && !strcmp(curves->items[i].axis, axis) &&
            !strcmp(curves->items[i].rest, rest))
            return &curves->items[i];
    if (nvt_grow(&curves->items, curves->count, sizeof(*curves->items)))
        return NULL;
    struct nvt_curve *curve = &curves->items[curves->count++];
    *curve = (struct nvt_curve){.record = record, .axis = axis, .phase = phase};
    memcpy(curve->rest, rest, sizeof(rest));
    return curve;
}

static int add_point(struct nvt_curve *curve, const struct nvt_curve_point *point)
{
    if (nvt_grow(&curve->points, curve->count, sizeof(*curve->points)))
        return -1;
    curve->points[curve->count++] = *point;
    return 0;
}

static double phase_number(const struct nvt_record *record, const char *phase, const char *what)
{
    char key[64];
    snprintf(key, sizeof(key), "%s_ns_%s", phase, what);
    return nvt_record_number(record, key);
}

static int add_record(struct nvt_curves *curves, const struct nvt_runs *runs, size_t index,
                      const char *by)
{
    const struct nvt_record *record = &runs->records[index];
    const char *status = nvt_record_text(record, "status");
    if (status && strcmp(status, "ok"))
        return 0;
    for (size_t m = 0; m < record->count; m++) {
        const struct nvt_member *axis = &record->members[m];
        if (axis->type != NVT_VALUE_NUMBER || !(axis->number > 0) ||
            !nvt_record_is_axis(record, m) || (by && strcmp(by, axis->key)))
            continue;
        for (int p = 0; p < NVT_PHASES_COUNT; p++) {
            const char *phase = nvt_phase_name((enum nvt_phase)p);
            struct nvt_curve_point point = {axis->number, phase_number(record, phase, "median"),
                                            phase_number(record, phase, "std"), runs, index};
            if (!(point.ns > 0))
                point.ns = phase_number(record, phase, "mean");
            if (!(point.ns > 0))
                continue;
            struct nvt_curve *curve = find_curve(curves, record, axis->key, phase);
            if (!curve || add_point(curve, &point))
                return -1;
        }
    }
    return 0;
}

static int by_n(const void *left, const void *right)
{
    const struct nvt_curve_point *a = left, *b = right;
    return (a->n > b->n) - (a->n < b->n);
}

static size_t count_different(const struct nvt_curve *curve)
{
    size_t count = curve->count > 0;
    for (size_t i = 1; i < curve->count; i++)
        count += curve->points[i].n != curve->points[i - 1].n;
    return count;
}

static void fit(struct nvt_curve *curve)
{
    double w = 0, wn = 0, wnn = 0, wy = 0, wny = 0;
    struct nvt_line *line = &curve->line;
    for (size_t i = 0; i < curve->count; i++) {
        double n = curve->points[i].n, y = curve->points[i].ns, weight = 1 / (y * y);
        w += weight;
        wn += weight * n;
        wnn += weight * n * n;
        wy += weight * y;
        wny += weight * n * y;
    }
    double determinant = w * wnn - wn * wn;
    line->b = (w * wny - wn * wy) / determinant;
    line->a = (wy - line->b * wn) / w;
    line->var_a = wnn / determinant;
    line->cov = -wn / determinant;
    line->var_b = w / determinant;
    for (size_t i = 0; i < curve->count; i++) {
        double y = curve->points[i].ns, off = (y - line->a - line->b * curve->points[i].n) / y;
        line->rest += off * off;
    }
}

int nvt_curves_of(const struct nvt_input *input, const char *by, struct nvt_curves *curves,
                  struct nvt_error *err)
{
    size_t kept = 0;
    for (size_t r = 0; r < input->run_count; r++)
        for (size_t i = 0; i < input->runs[r]->count; i++)
            if (add_record(curves, input->runs[r], i, by))
                return nvt_fail_at(err, input->runs[r]->path, -1, "out of memory");
    for (size_t i = 0; i < curves->count; i++) {
        struct nvt_curve *curve = &curves->items[i];
        qsort(curve->points, curve->count, sizeof(*curve->points), by_n);
        if (count_different(curve) < 3) {
            free(curve->points);
            continue;
        }
        fit(curve);
        curves->items[kept++] = *curve;
    }
    curves->count = kept;
    return 0;
}

void nvt_curves_free(struct nvt_curves *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        free(curves->items[i].points);
    free(curves->items);
    *curves = (struct nvt_curves){0};
}

/* --- crossing --------------------------------------------------------------------------------- */

const char *nvt_curves_differ(const struct nvt_curve *left, const struct nvt_curve *right)
{
    char mine[256], its[256];
    if (strcmp(left->phase, right->phase) || strcmp(left->axis, right->axis) ||
        !strcmp(left->rest, right->rest))
        return NULL;
    for (size_t m = 0; m < left->record->count; m++) {
        const struct nvt_member *member = &left->record->members[m];
        const char *other = nvt_record_text(right->record, member->key);
        if (member->type != NVT_VALUE_TEXT || !nvt_record_is_axis(left->record, m) || !other ||
            !strcmp(other, member->text))
            continue;
        nvt_record_rest(left->record, left->axis, member->key, mine, sizeof(mine));
        nvt_record_rest(right->record, right->axis, member->key, its, sizeof(its));
        return strcmp(mine, its) ? NULL : member->key;
    }
    return NULL;
}

/* The difference of two lines, first less second. */
struct difference {
    double a, b, var_a, cov, var_b; /* variances times s² */
    double t;                       /* Student's t at 95 % */
};

static struct difference subtract(const struct nvt_curve *first, const struct nvt_curve *second)
{
    const struct nvt_line *left = &first->line, *right = &second->line;
    size_t degrees = first->count + second->count - 4;
    double s2 = (left->rest + right->rest) / (double)degrees;
    return (struct difference){left->a - right->a,
                               left->b - right->b,
                               s2 * (left->var_a + right->var_a),
                               s2 * (left->cov + right->cov),
                               s2 * (left->var_b + right->var_b),
                               nvt_student_t95(degrees)};
}

/* The difference at x, moved by `sign` times the half width of its interval. */
static double bound(const struct difference *d, double x, int sign)
{
    double variance = d->var_a + 2 * x * d->cov + x * x * d->var_b;
    return d->a + d->b * x + sign * d->t * sqrt(fmax(variance, 0));
}

/* Where a bound, below 0 at `low` and above at `high`, is 0. */
static double root(const struct difference *d, double low, double high, int sign)
{
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (bound(d, middle, sign) < 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* What a curve measured at n, the mean of several; NaN where it was not run. */
static double measured(const struct nvt_curve *curve, double n)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].n == n) {
            sum += curve->points[i].ns;
            count++;
        }
    return count > 0 ? sum / count : NAN;
}

static void fill_measured(struct nvt_crossing *crossing, double from, double to)
{
    const struct nvt_curve *low = crossing->low, *high = crossing->high;
    crossing->last_below = crossing->first_above = NAN;
    for (size_t i = 0; i < low->count; i++) {
        double n = low->points[i].n, less = measured(high, n) - measured(low, n);
        if (n == from)
            crossing->from_ns = less;
        if (n == to)
            crossing->to_ns = -less;
        if (!(less > 0) && !(less < 0))
            continue;
        if (less > 0 && !isfinite(crossing->first_above))
            crossing->last_below = n;
        else if (less < 0 && !isfinite(crossing->first_above))
            crossing->first_above = n;
        else if (less > 0) {
            crossing->last_below = crossing->first_above = NAN;
            break;
        }
    }
    if (!isfinite(crossing->last_below))
        crossing->first_above = NAN;
}

/* The least and the largest n that both were run with. */
static int common_range(const struct nvt_curve *left, const struct nvt_curve *right, double *from,
                        double *to)
{
    *from = *to = NAN;
    for (size_t i = 0; i < left->count; i++)
        if (isfinite(measured(right, left->points[i].n))) {
            *from = isfinite(*from) ? *from : left->points[i].n;
            *to = left->points[i].n;
        }
    return *from < *to;
}

int nvt_curves_cross(const struct nvt_curve *left, const struct nvt_curve *right,
                     struct nvt_crossing *crossing)
{
    double from, to;
    if (!common_range(left, right, &from, &to))
        return 0;
    struct difference d = subtract(left, right);
    const int swapped = d.a + d.b * from > 0;
    if (swapped)
        d = subtract(right, left);
    if (!(bound(&d, from, 1) < 0) || !(bound(&d, to, -1) > 0))
        return 0;
    *crossing = (struct nvt_crossing){
        .low = swapped ? right : left, .high = swapped ? left : right, .n = -d.a / d.b};
    crossing->from = root(&d, from, crossing->n, 1);
    crossing->to = root(&d, crossing->n, to, -1);
    fill_measured(crossing, from, to);
    return 1;
}
