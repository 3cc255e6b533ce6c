#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sample.h"
#include "diagnose.h"
#include "map.h"

#define MOST_POINTS 32

enum item_kind { ITEM_RANGE, ITEM_CALL, ITEM_KERNEL };

/* What one name costs in one run. */
struct point {
    double n;     /* the axis */
    double ns;    /* an iteration */
    double count; /* an iteration */
    int64_t examples[3];
};

struct item {
    enum item_kind kind;
    char name[200];
    struct point points[MOST_POINTS];
    size_t count;
};

struct family {
    struct item *items;
    size_t count, capacity;
    double iteration_ns; /* at the largest n */
    double largest;
};

static struct item *find_item(struct family *family, enum item_kind kind, const char *name)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->items[i].kind == kind && !strcmp(family->items[i].name, name))
            return &family->items[i];
    if (family->count == family->capacity) {
        size_t capacity = family->capacity ? family->capacity * 2 : 32;
        struct item *items = realloc(family->items, capacity * sizeof(*items));
        if (!items)
            return NULL;
        family->items = items;
        family->capacity = capacity;
    }
    struct item *item = &family->items[family->count++];
    memset(item, 0, sizeof(*item));
    item->kind = kind;
    snprintf(item->name, sizeof(item->name), "%s", name);
    return item;
}

/* The iterations of a trace as intervals, and which of them holds a moment. */
struct window {
    const struct nvt_trace *trace;
    uint32_t *rows;
    uint32_t count;
};

static int holds(const struct window *window, int64_t moment)
{
    const struct nvt_ranges *ranges = &window->trace->ranges;
    uint32_t low = 0, high = window->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->start[window->rows[middle]] <= moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low && moment <= ranges->end[window->rows[low - 1]];
}

static int add_time(struct family *family, enum item_kind kind, const char *name, double n,
                    int64_t start, int64_t end)
{
    struct item *item = find_item(family, kind, name);
    if (!item)
        return -1;
    if (!item->count || item->points[item->count - 1].n != n) {
        if (item->count == MOST_POINTS)
            return 0;
        item->points[item->count++] = (struct point){.n = n};
    }
    struct point *point = &item->points[item->count - 1];
    if (point->count < 3)
        point->examples[(int)point->count] = start;
    point->count++;
    point->ns += (double)(end - start);
    return 0;
}

/* Add up what lies in the iterations of a run; `n` must not repeat the last one. */
static int add_run(struct family *family, const struct nvt_trace *trace, double n)
{
    struct window window = {trace, NULL, 0};
    const struct nvt_ranges *ranges = &trace->ranges;
    window.rows = nvt_iterations(trace, &window.count);
    int status = window.rows ? 0 : -1;
    for (uint32_t i = 0; i < ranges->count && !status; i++)
        if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED) && holds(&window, ranges->start[i]))
            status = add_time(family, ITEM_RANGE, nvt_name(trace, ranges->name[i]), n,
                              ranges->start[i], ranges->end[i]);
    for (uint32_t i = 0; i < trace->apis.count && !status; i++)
        if (holds(&window, trace->apis.start[i]))
            status = add_time(family, ITEM_CALL, nvt_name(trace, trace->apis.name[i]), n,
                              trace->apis.start[i], trace->apis.end[i]);
    for (uint32_t i = 0; i < trace->ops.count && !status; i++)
        if (trace->ops.launch[i] != INT64_MIN && holds(&window, trace->ops.launch[i]))
            status = add_time(family, ITEM_KERNEL, nvt_name(trace, trace->ops.name[i]), n,
                              trace->ops.start[i], trace->ops.end[i]);
    for (size_t i = 0; i < family->count && window.count; i++) {
        struct item *item = &family->items[i];
        if (!item->count || item->points[item->count - 1].n != n)
            continue;
        struct point *point = &item->points[item->count - 1];
        point->ns /= window.count;
        point->count /= window.count;
        if (item->kind == ITEM_RANGE && !strcmp(item->name, "iteration") && n >= family->largest) {
            family->largest = n;
            family->iteration_ns = point->ns;
        }
    }
    free(window.rows);
    return status;
}

struct fit {
    double a, b, half; /* cost = a + b·n; b ± half at 95 % */
    double least, most; /* n */
    double per_unit;    /* entries a unit of n, 0 when they are not in proportion */
};

static struct fit fit_item(const struct item *item)
{
    struct fit fit = {.least = INFINITY, .most = -INFINITY};
    double k = (double)item->count, n = 0, y = 0, nn = 0, ny = 0, rest = 0;
    int proportional = 1;
    for (size_t i = 0; i < item->count; i++) {
        n += item->points[i].n / k;
        y += item->points[i].ns / k;
        fit.least = fmin(fit.least, item->points[i].n);
        fit.most = fmax(fit.most, item->points[i].n);
    }
    for (size_t i = 0; i < item->count; i++) {
        nn += (item->points[i].n - n) * (item->points[i].n - n);
        ny += (item->points[i].n - n) * (item->points[i].ns - y);
    }
    fit.b = ny / nn;
    fit.a = y - fit.b * n;
    double per_unit = item->points[0].count / item->points[0].n;
    for (size_t i = 0; i < item->count; i++) {
        double residue = item->points[i].ns - fit.a - fit.b * item->points[i].n;
        rest += residue * residue;
        proportional &= fabs(item->points[i].count / item->points[i].n / per_unit - 1) < 0.01;
    }
    fit.half = nvt_student_t95(item->count - 2) * sqrt(rest / (k - 2) / nn);
    fit.per_unit = proportional ? per_unit : 0;
    return fit;
}

static const struct point *at_most(const struct item *item, double n)
{
    for (size_t i = 0; i < item->count; i++)
        if (item->points[i].n == n)
            return &item->points[i];
    return &item->points[0];
}

static void tell_entries(struct nvt_finding *finding, const struct item *item, const struct fit *fit,
                         const char *axis, double share)
{
    static const char *const kinds[] = {"range", "call", "device operation"};
    static const char *const remedies[] = {
        "do the work of this range for all of them at once, in one launch",
        "call it once for all of them: keep the decision on the device instead of asking it",
        "launch one operation for all of them (grouped or batched)"};
    const struct point *point = at_most(item, fit->most);
    finding->cost_ns = point->ns;
    finding->confidence = 95;
    snprintf(finding->what, sizeof(finding->what),
             "%s %.100s is entered %g time%s for each of the %s", kinds[item->kind], item->name,
             fit->per_unit, fit->per_unit == 1 ? "" : "s", axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%g entries an iteration at %s=%g, %.0f ns of it (%.0f %% of the iteration); cost = %.0f + "
             "%.1f·%s ns (slope ± %.1f); for example at %lld, %lld, %lld ns",
             point->count, axis, fit->most, point->ns, 100 * share, fit->a, fit->b, axis, fit->half,
             (long long)point->examples[0], (long long)point->examples[1],
             (long long)point->examples[2]);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedies[item->kind]);
}

static void tell_growth(struct nvt_finding *finding, const struct item *item, const struct fit *fit,
                        const char *axis)
{
    const struct point *point = at_most(item, fit->most);
    finding->cost_ns = fit->b * (fit->most - fit->least);
    finding->confidence = 90;
    snprintf(finding->what, sizeof(finding->what), "%.100s grows with %s", item->name, axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "cost = %.0f + %.1f·%s ns an iteration (slope ± %.1f at 95 %%), from %s=%g to %g; at the "
             "largest %.0f ns in %g entries; for example at %lld, %lld, %lld ns",
             fit->a, fit->b, axis, fit->half, axis, fit->least, fit->most, point->ns, point->count,
             (long long)point->examples[0], (long long)point->examples[1],
             (long long)point->examples[2]);
    snprintf(finding->remedy, sizeof(finding->remedy),
             "look at what is done in it once for each of the %s", axis);
}

static int judge(const struct family *family, const char *where, const char *axis,
                 struct nvt_findings *findings, struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < family->count && !status; i++) {
        const struct item *item = &family->items[i];
        if (item->count < 3 || !(family->iteration_ns > 0))
            continue;
        struct fit fit = fit_item(item);
        double share = at_most(item, fit.most)->ns / family->iteration_ns;
        double growth = fit.b * (fit.most - fit.least);
        struct nvt_finding finding = {.cause = "scaling"};
        if (fit.per_unit >= 0.99 && share >= 0.05)
            tell_entries(&finding, item, &fit, axis, share);
        else if (fit.b - fit.half > 0 && growth > 0.25 * (fit.a + fit.b * fit.least) &&
                 growth > 0.1 * family->iteration_ns)
            tell_growth(&finding, item, &fit, axis);
        else
            continue;
        snprintf(finding.where, sizeof(finding.where), "%s", where);
        status = nvt_findings_add(findings, &finding, err);
    }
    return status;
}

/* --- which runs belong together ---------------------------------------------------------------------- */

/* Members between `workload` and `backend` are the axes. */
static int is_axis(const struct nvt_record *record, size_t member)
{
    int inside = 0;
    for (size_t i = 0; i <= member; i++) {
        if (!strcmp(record->members[i].key, "backend"))
            return 0;
        inside |= !strcmp(record->members[i].key, "workload");
    }
    return inside && strcmp(record->members[member].key, "workload");
}

/* The configuration without this axis. */
static void rest_of(const struct nvt_record *record, const char *axis, char *out, size_t size)
{
    size_t used = 0;
    const char *workload = nvt_record_text(record, "workload");
    used += (size_t)snprintf(out, size, "%s", workload ? workload : "");
    for (size_t i = 0; i < record->count && used < size; i++)
        if (is_axis(record, i) && strcmp(record->members[i].key, axis) &&
            record->members[i].type != NVT_VALUE_NULL)
            used += (size_t)snprintf(out + used, size - used, " %s=%s", record->members[i].key,
                                     record->members[i].text);
}

static const struct nvt_record *record_of(const struct nvt_input_trace *from)
{
    return from->runs ? &from->runs->records[from->record] : NULL;
}

/* All runs that differ from run `first` in this axis alone, unless an earlier one began them. */
static int diagnose_family(const struct nvt_case *facts, size_t first, const char *axis,
                           struct nvt_findings *findings, struct nvt_error *err)
{
    char where[256], other[256];
    struct family family = {.largest = -INFINITY};
    int status = 0;
    size_t runs = 0;
    rest_of(record_of(&facts->input->traces[first]), axis, where, sizeof(where));
    for (size_t i = 0; i < facts->input->trace_count && !status; i++) {
        const struct nvt_record *record = record_of(&facts->input->traces[i]);
        double n = record ? nvt_record_number(record, axis) : NAN;
        if (!(n > 0))
            continue;
        rest_of(record, axis, other, sizeof(other));
        if (strcmp(where, other))
            continue;
        if (i < first)
            break;
        runs++;
        if (add_run(&family, facts->input->traces[i].trace, n))
            status = nvt_fail(err, "out of memory");
    }
    if (!status && runs >= 3)
        status = judge(&family, where, axis, findings, err);
    free(family.items);
    return status;
}

static int begins_family(const struct nvt_case *facts, size_t run, const char *axis)
{
    char where[256], other[256];
    rest_of(record_of(&facts->input->traces[run]), axis, where, sizeof(where));
    for (size_t i = 0; i < run; i++) {
        const struct nvt_record *record = record_of(&facts->input->traces[i]);
        if (!record || !(nvt_record_number(record, axis) > 0))
            continue;
        rest_of(record, axis, other, sizeof(other));
        if (!strcmp(where, other))
            return 0;
    }
    return 1;
}

int nvt_diagnose_scaling(const struct nvt_case *facts, struct nvt_findings *findings,
                         struct nvt_error *err)
{
    int status = 0;
    for (size_t run = 0; run < facts->input->trace_count && !status; run++) {
        const struct nvt_record *record = record_of(&facts->input->traces[run]);
        for (size_t m = 0; record && m < record->count && !status; m++) {
            const struct nvt_member *member = &record->members[m];
            if (!is_axis(record, m) || member->type != NVT_VALUE_NUMBER || !(member->number > 0) ||
                (facts->by && strcmp(facts->by, member->key)))
                continue;
            if (begins_family(facts, run, member->key))
                status = diagnose_family(facts, run, member->key, findings, err);
        }
    }
    return status;
}
