/*
 * scaling: what is done once for each unit of a parameter, and what grows with it, over runs that
 * differ in that parameter alone. What an iteration costs, for each range, call and kernel, as a line
 * or a power of the parameter (growth.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../curves.h"
#include "../diagnose.h"
#include "../growth.h"

#define MOST_POINTS 32

/* Room for a law in words. */
#define LAW_MAX 320

enum item_kind { ITEM_RANGE, ITEM_CALL, ITEM_KERNEL, ITEM_KINDS };

/* What one name costs in one run. */
struct point {
    double n;     /* the axis */
    double ns;    /* an iteration: the median, which a busy machine moves least */
    double count; /* an iteration, on average */
    const struct nvt_trace *trace;
    int64_t examples[3];
    uint32_t example_count;
};

struct item {
    enum item_kind kind;
    char name[200];
    struct point points[MOST_POINTS];
    size_t count;
    size_t run;   /* that its last point is of */
    double *sums; /* ns in each iteration of that run */
    uint32_t room;
};

struct family {
    struct item *items;
    size_t count, capacity;
    size_t run;          /* that is being added, from 1 on */
    double iteration_ns; /* at the largest n */
    double largest;
};

/* Names are kept as far as there is room for them. */
static int is_named(const struct item *item, const char *name)
{
    return !strncmp(item->name, name, sizeof(item->name) - 1);
}

static int is_iteration(const struct item *item)
{
    return !strcmp(item->name, "iteration");
}

static struct item *find_item(struct family *family, enum item_kind kind, const char *name)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->items[i].kind == kind && is_named(&family->items[i], name))
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

/* The iteration that holds a moment, or NVT_NONE. */
static uint32_t holds(const struct window *window, int64_t moment)
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
    return low && moment <= ranges->end[window->rows[low - 1]] ? low - 1 : NVT_NONE;
}

/* Begin the item's point of this run. 0, 1 when it has no room for more points, or -1. */
static int begin_point(struct family *family, struct item *item, double n,
                       const struct window *window)
{
    uint32_t iterations = window->count;
    if (item->count == MOST_POINTS)
        return 1;
    if (item->room < iterations) {
        double *sums = realloc(item->sums, iterations * sizeof(*sums));
        if (!sums)
            return -1;
        item->sums = sums;
        item->room = iterations;
    }
    memset(item->sums, 0, iterations * sizeof(*item->sums));
    item->points[item->count++] = (struct point){.n = n, .trace = window->trace};
    item->run = family->run;
    return 0;
}

/* Something of that name, launched or entered at `moment`, took from start to end. */
static int add_time(struct family *family, const struct window *window, enum item_kind kind,
                    uint32_t name, double n, int64_t moment, const int64_t span[2])
{
    uint32_t iteration = holds(window, moment);
    if (iteration == NVT_NONE)
        return 0;
    struct item *item = find_item(family, kind, nvt_name(window->trace, name));
    int status = !item ? -1 : item->run == family->run ? 0 : begin_point(family, item, n, window);
    if (status)
        return status < 0 ? -1 : 0;
    struct point *point = &item->points[item->count - 1];
    if (point->example_count < 3)
        point->examples[point->example_count++] = span[0];
    point->count++;
    item->sums[iteration] += (double)(span[1] - span[0]);
    return 0;
}

/* Sums of this run become what an iteration costs. */
static void end_run(struct family *family, uint32_t iterations, double n)
{
    struct nvt_summary summary;
    for (size_t i = 0; i < family->count && iterations; i++) {
        struct item *item = &family->items[i];
        if (item->run != family->run)
            continue;
        struct point *point = &item->points[item->count - 1];
        nvt_sample_summary(item->sums, iterations, &summary);
        point->ns = summary.median > 0 ? summary.median : summary.mean;
        point->count /= iterations;
        if (item->kind == ITEM_RANGE && is_iteration(item) && n >= family->largest) {
            family->largest = n;
            family->iteration_ns = point->ns;
        }
    }
}

/* Something that took time: what it is called, when it was launched or entered, and its own time. */
struct entry {
    uint32_t name;
    int64_t moment, span[2];
};

/* How many rows of that kind a trace has, and one of them. 1, or 0 for one that does not count. */
static uint32_t count_entries(const struct nvt_trace *trace, enum item_kind kind)
{
    return kind == ITEM_RANGE  ? trace->ranges.count
           : kind == ITEM_CALL ? trace->apis.count
                               : trace->ops.count;
}

static int read_entry(const struct nvt_trace *trace, enum item_kind kind, uint32_t i,
                      struct entry *entry)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_apis *apis = &trace->apis;
    const struct nvt_ops *ops = &trace->ops;
    if (kind == ITEM_RANGE) {
        *entry =
            (struct entry){ranges->name[i], ranges->start[i], {ranges->start[i], ranges->end[i]}};
        return !(ranges->flags[i] & NVT_RANGE_UNCLOSED);
    }
    if (kind == ITEM_CALL) {
        *entry = (struct entry){apis->name[i], apis->start[i], {apis->start[i], apis->end[i]}};
        return 1;
    }
    *entry = (struct entry){ops->name[i], ops->launch[i], {ops->start[i], ops->end[i]}};
    return ops->launch[i] != INT64_MIN;
}

/* Add up what lies in the iterations of a run. */
static int add_run(struct family *family, const struct nvt_trace *trace, double n)
{
    struct window window = {trace, NULL, 0};
    struct entry entry;
    window.rows = nvt_iterations(trace, &window.count);
    int status = window.rows ? 0 : -1;
    family->run++;
    for (enum item_kind kind = 0; kind < ITEM_KINDS; kind++)
        for (uint32_t i = 0; i < count_entries(trace, kind) && !status; i++)
            if (read_entry(trace, kind, i, &entry))
                status = add_time(family, &window, kind, entry.name, n, entry.moment, entry.span);
    end_run(family, window.count, n);
    free(window.rows);
    return status;
}

/* The median time of an entry in the iterations of a point's run. 0 or -1. */
static int median_entry(const struct item *item, const struct point *point, double *median)
{
    struct window window = {point->trace, NULL, 0};
    const uint32_t rows = count_entries(point->trace, item->kind);
    double *values = malloc(((size_t)rows + 1) * sizeof(*values));
    struct nvt_summary summary;
    struct entry entry;
    size_t count = 0;
    window.rows = nvt_iterations(point->trace, &window.count);
    int status = window.rows && values ? 0 : -1;
    for (uint32_t i = 0; i < rows && !status; i++)
        if (read_entry(point->trace, item->kind, i, &entry) &&
            is_named(item, nvt_name(point->trace, entry.name)) &&
            holds(&window, entry.moment) != NVT_NONE)
            values[count++] = (double)(entry.span[1] - entry.span[0]);
    if (!status)
        nvt_sample_summary(values, count, &summary);
    *median = status ? 0 : summary.median;
    free(values);
    free(window.rows);
    return status;
}

static struct nvt_growth grow(const struct item *item)
{
    double n[MOST_POINTS], cost[MOST_POINTS];
    for (size_t i = 0; i < item->count; i++) {
        n[i] = item->points[i].n;
        cost[i] = item->points[i].ns;
    }
    return nvt_growth_of(n, cost, item->count);
}

/* Entries a unit of n, 0 when they are not in proportion to it. */
static double entries_per_unit(const struct item *item)
{
    double per_unit = item->points[0].count / item->points[0].n;
    for (size_t i = 0; i < item->count; i++)
        if (!(fabs(item->points[i].count / item->points[i].n / per_unit - 1) < 0.01))
            return 0;
    return per_unit;
}

static const struct point *at_largest(const struct item *item, double n)
{
    for (size_t i = 0; i < item->count; i++)
        if (item->points[i].n == n)
            return &item->points[i];
    return &item->points[0];
}

static void point_at(struct nvt_finding *finding, const struct point *point)
{
    finding->trace = point->trace;
    for (uint32_t i = 0; i < point->example_count; i++)
        nvt_finding_point(finding, point->examples[i]);
}

/*
 * "cost = 12.3 µs + 456 ns·batch an iteration (slope ± 78 ns at 95 %)", or the power as
 * "cost = 4.56 ms·(batch/1024)^1.9 an iteration (exponent 1.8 to 2.1 at 95 %)"; and where that is
 * not to be relied on.
 */
static void tell_law(const struct nvt_growth *growth, const char *axis, const char *each, char *out,
                     size_t size)
{
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    char line[NVT_LINE_MAX], more[160] = "";
    /* What rounding leaves is no cost. */
    double a = fabs(growth->a) < 1e-9 * fabs(law->last) ? 0 : growth->a;
    if (!growth->is_described)
        snprintf(more, sizeof(more),
                 "; neither a line nor a power is near the runs: this one is off by %.0f %%",
                 100 * law->off);
    else if (growth->by == NVT_GROWTH_LINE && a < 0)
        snprintf(more, sizeof(more),
                 "; a fixed cost below 0 is none: it grows faster than the line, or by noise");
    if (growth->by == NVT_GROWTH_POWER)
        snprintf(out, size, "cost = %s·(%.60s/%g)^%.3g%s (exponent %.3g to %.3g at 95 %%)%s",
                 NVT_TIME(law->last), axis, growth->most, growth->p, each, law->low, law->high,
                 more);
    else
        snprintf(out, size, "cost = %s%s (slope ± %s at 95 %%)%s",
                 nvt_line_text(a, growth->b, axis, line), each,
                 NVT_TIME((law->high - law->low) / 2), more);
}

/* 0, or -1 when out of memory. */
static int tell_entries(struct nvt_finding *finding, const struct item *item,
                        const struct nvt_growth *growth, double per_unit, const char *axis,
                        double share)
{
    static const char *const kinds[] = {"range", "call", "device operation"};
    static const char *const remedies[] = {
        "do the work of this range for all of them at once, in one launch",
        "call it once for all of them: keep the decision on the device instead of asking it",
        "launch one operation for all of them (grouped or batched)"};
    const struct point *point = at_largest(item, growth->most);
    char law[LAW_MAX] = "";
    double entry_ns;
    if (median_entry(item, point, &entry_ns))
        return -1;
    if (nvt_growth_law(growth)->low > 0)
        tell_law(growth, axis, "", law, sizeof(law));
    finding->cost_ns = point->ns;
    finding->confidence = NVT_SEEN;
    snprintf(finding->what, sizeof(finding->what),
             "%s %.100s is entered %g time%s for each of the %s", kinds[item->kind], item->name,
             per_unit, per_unit == 1 ? "" : "s", axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%g entries an iteration at %s=%g, %s an entry (median), %s of it (%.0f %% of the "
             "iteration)%s%s",
             point->count, axis, growth->most, NVT_TIME(entry_ns), NVT_TIME(point->ns), 100 * share,
             *law ? "; " : "", law);
    point_at(finding, point);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedies[item->kind]);
    return 0;
}

static void tell_growth(struct nvt_finding *finding, const struct item *item,
                        const struct nvt_growth *growth, const char *axis)
{
    const struct point *point = at_largest(item, growth->most);
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    char text[LAW_MAX];
    tell_law(growth, axis, " an iteration", text, sizeof(text));
    finding->cost_ns = law->last - law->first;
    finding->confidence = NVT_TESTED;
    if (nvt_growth_has_exponent(growth))
        snprintf(finding->what, sizeof(finding->what), "%.100s grows as %.60s^%.3g (%.3g–%.3g)",
                 item->name, axis, growth->p, law->low, law->high);
    else
        snprintf(finding->what, sizeof(finding->what), "%.100s grows with %s", item->name, axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s, from %.60s=%g to %g; at the largest %s in %g entr%s", text, axis, growth->least,
             growth->most, NVT_TIME(point->ns), point->count, point->count == 1 ? "y" : "ies");
    point_at(finding, point);
    snprintf(finding->remedy, sizeof(finding->remedy),
             "look at what is done in it once for each of the %s", axis);
}

/* What an item's points come to. */
struct verdict {
    enum { SAYS_NOTHING, ENTERED_FOR_EACH, GROWS } is;
    struct nvt_growth growth;
    double per_unit, share; /* share: of the iteration, at the largest */
};

static struct verdict judge_item(const struct item *item, double iteration_ns)
{
    struct verdict verdict = {.is = SAYS_NOTHING};
    if (item->count < 3 || !(iteration_ns > 0))
        return verdict;
    verdict.growth = grow(item);
    /* Runs of one value, as with several warm-ups, say nothing of growth. */
    if (verdict.growth.values < 2)
        return verdict;
    const struct nvt_growth_law *law = nvt_growth_law(&verdict.growth);
    verdict.share = at_largest(item, verdict.growth.most)->ns / iteration_ns;
    verdict.per_unit = entries_per_unit(item);
    if (verdict.per_unit >= 0.99 && verdict.share >= 0.05)
        verdict.is = ENTERED_FOR_EACH;
    else if (law->rises && law->last - law->first > 0.1 * iteration_ns)
        verdict.is = GROWS;
    return verdict;
}

/* Whether ranges of the one name lie in ranges of the other, as the first one of its largest run does. All lie in
 * iterations. */
static int lies_within(const struct item *inner, const struct item *outer, double largest)
{
    const struct point *point = at_largest(inner, largest);
    const struct nvt_ranges *ranges = &point->trace->ranges;
    uint32_t row = 0;
    if (!point->example_count || is_iteration(inner))
        return 0;
    if (is_iteration(outer))
        return 1;
    while (row < ranges->count && (ranges->start[row] != point->examples[0] ||
                                   !is_named(inner, nvt_name(point->trace, ranges->name[row]))))
        row++;
    while (row < ranges->count && (row = ranges->parent[row]) < ranges->count)
        if (is_named(outer, nvt_name(point->trace, ranges->name[row])))
            return 1;
    return 0;
}

static double grown(const struct verdict *verdict)
{
    const struct nvt_growth_law *law = nvt_growth_law(&verdict->growth);
    return law->last - law->first;
}

/* Ranges that grow only as one within them does say nothing that this one does not say. */
static void leave_out_outer(const struct family *family, struct verdict *verdicts)
{
    for (size_t o = 0; o < family->count; o++)
        for (size_t i = 0; i < family->count && verdicts[o].is == GROWS; i++)
            if (i != o && family->items[i].kind == ITEM_RANGE &&
                family->items[o].kind == ITEM_RANGE && verdicts[i].is == GROWS &&
                grown(&verdicts[i]) >= 0.9 * grown(&verdicts[o]) &&
                lies_within(&family->items[i], &family->items[o], verdicts[i].growth.most))
                verdicts[o].is = SAYS_NOTHING;
}

/* 0, or -1 when out of memory. */
static int tell(struct nvt_finding *finding, const struct item *item, const struct verdict *verdict,
                const char *axis)
{
    char subject[sizeof(finding->subject)];
    snprintf(subject, sizeof(subject), "%.56s %s %.30s", item->name,
             verdict->is == GROWS ? "grows with" : "for each of the", axis);
    nvt_finding_about(finding, subject);
    if (verdict->is == ENTERED_FOR_EACH)
        return tell_entries(finding, item, &verdict->growth, verdict->per_unit, axis,
                            verdict->share);
    tell_growth(finding, item, &verdict->growth, axis);
    return 0;
}

static int judge(const struct family *family, const char *where, const char *axis,
                 struct nvt_findings *findings, struct nvt_error *err)
{
    struct verdict *verdicts = calloc(family->count + 1, sizeof(*verdicts));
    int status = verdicts ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < family->count && !status; i++)
        verdicts[i] = judge_item(&family->items[i], family->iteration_ns);
    if (!status)
        leave_out_outer(family, verdicts);
    for (size_t i = 0; i < family->count && !status; i++) {
        struct nvt_finding finding = nvt_finding_of(&nvt_rule_scaling, NULL);
        if (verdicts[i].is == SAYS_NOTHING)
            continue;
        if (tell(&finding, &family->items[i], &verdicts[i], axis)) {
            status = nvt_fail(err, "out of memory");
            break;
        }
        snprintf(finding.where, sizeof(finding.where), "%s", where);
        status = nvt_findings_add(findings, &finding, err);
    }
    free(verdicts);
    return status;
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
    nvt_record_rest(record_of(&facts->input->traces[first]), axis, NULL, where, sizeof(where));
    for (size_t i = 0; i < facts->input->trace_count && !status; i++) {
        const struct nvt_record *record = record_of(&facts->input->traces[i]);
        double n = record ? nvt_record_number(record, axis) : NAN;
        if (!(n > 0))
            continue;
        nvt_record_rest(record, axis, NULL, other, sizeof(other));
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
    for (size_t i = 0; i < family.count; i++)
        free(family.items[i].sums);
    free(family.items);
    return status;
}

static int begins_family(const struct nvt_case *facts, size_t run, const char *axis)
{
    char where[256], other[256];
    nvt_record_rest(record_of(&facts->input->traces[run]), axis, NULL, where, sizeof(where));
    for (size_t i = 0; i < run; i++) {
        const struct nvt_record *record = record_of(&facts->input->traces[i]);
        if (!record || !(nvt_record_number(record, axis) > 0))
            continue;
        nvt_record_rest(record, axis, NULL, other, sizeof(other));
        if (!strcmp(where, other))
            return 0;
    }
    return 1;
}

static int compare(const struct nvt_rule *rule, const struct nvt_case *facts,
                   struct nvt_findings *findings, struct nvt_error *err)
{
    (void)rule;
    int status = 0;
    for (size_t run = 0; run < facts->input->trace_count && !status; run++) {
        const struct nvt_record *record = record_of(&facts->input->traces[run]);
        for (size_t m = 0; record && m < record->count && !status; m++) {
            const struct nvt_member *member = &record->members[m];
            if (!nvt_record_is_axis(record, m) || member->type != NVT_VALUE_NUMBER ||
                !(member->number > 0) || (facts->by && strcmp(facts->by, member->key)))
                continue;
            if (begins_family(facts, run, member->key))
                status = diagnose_family(facts, run, member->key, findings, err);
        }
    }
    return status;
}

const struct nvt_rule nvt_rule_scaling = {
    .cause = "scaling",
    .about = "over at least three runs that differ in one number alone: what is entered once (or "
             "more) for each unit of it, and what grows with it, cost = a + b·n or "
             "c·n^p",
    .threshold =
        "entries in proportion to it (within 1 %) that take 5 % of an iteration; or a "
        "slope or an exponent above 0 at 95 % that adds a quarter to its own cost and 10 % to the "
        "iteration from the least to the largest: less is no reason to change a program. A range "
        "is left "
        "out where one within it has 90 % of its growth, which says more",
    .remedy = "do it once for all of them",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .is_along = 1,
    .compare = compare,
};
