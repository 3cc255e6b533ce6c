/*
 * scaling: what is done once for each unit of a parameter, and what grows with it, over runs that
 * differ in that parameter alone. What an iteration costs, for each range, call and kernel, as a line
 * or a power of the parameter (growth.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../studies/discoveries.h"
#include "../diagnosis/diagnose.h"
#include "../sweeps/sweeps.h"

/* Room for a law in words. */
#define LAW_MAX 320
/* The part of the findings about slopes that may be noise. */
#define FALSE_ONES 0.05
/* Of the iteration at the largest number: what grows by less is no reason to change a program. */
#define LEAST_PART 0.1

/* What the costs of all sweeps together say of one of them. */
struct family {
    size_t fitted; /* costs that could have been found to grow */
    /* of noise: what is found with this or less is more than noise; below 0: nothing is */
    double chance;
};

static void point_at(struct nvt_finding *finding, const struct nvt_sweep_point *point)
{
    finding->trace = point->trace;
    for (uint32_t i = 0; i < point->example_count; i++)
        nvt_finding_point(finding, point->examples[i]);
}

/*
 * "cost = 12.3 µs + 456 ns·batch per iteration (slope ± 78 ns at 95 %)", or the power as
 * "cost = 4.56 ms·(batch/1024)^1.9 per iteration (exponent 1.8 to 2.1 at 95 %)"; and where that is
 * not to be relied on.
 */
static void tell_law(const struct nvt_growth *growth, const char *axis, const char *each, char *out,
                     size_t size)
{
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    char text[NVT_GROWTH_TEXT], more[160] = "";
    if (!growth->is_described)
        snprintf(more, sizeof(more),
                 "; no rising law fits the runs well: this one is off by %.0f %%", 100 * law->off);
    else if (growth->by == NVT_GROWTH_LINE && nvt_growth_fixed(growth) < 0)
        snprintf(more, sizeof(more),
                 "; a fixed cost below 0 is impossible: the cost grows faster than the line, or "
                 "this is noise");
    nvt_growth_text(growth, axis, text);
    if (growth->by == NVT_GROWTH_POWER)
        snprintf(out, size, "cost = %s%s (exponent %.3g to %.3g at 95 %%)%s", text, each, law->low,
                 law->high, more);
    else
        snprintf(out, size, "cost = %s%s (slope ± %s at 95 %%)%s", text, each,
                 NVT_TIME((law->high - law->low) / 2), more);
}

/* What an item costs more at the largest number than at the least, as it was measured. */
static double entries_grown(const struct nvt_sweep_item *item)
{
    return nvt_sweep_largest(item)->ns - nvt_sweep_least(item)->ns;
}

/* 0, or -1 when out of memory. */
static int tell_entries(struct nvt_finding *finding, const struct nvt_sweep_item *item,
                        const struct nvt_growth *growth, double per_unit, const char *axis,
                        double share)
{
    static const char *const remedies[] = {
        "batch the work into one launch",
        "call it once for all of them: keep the decision on the device",
        "launch one grouped or batched operation"};
    const struct nvt_sweep_value *largest = nvt_sweep_largest(item);
    char law[LAW_MAX] = "";
    double entry_ns;
    if (nvt_sweep_entry(item, largest->point, &entry_ns))
        return -1;
    if (nvt_growth_law(growth)->low > 0)
        tell_law(growth, axis, "", law, sizeof(law));
    finding->cost_ns = entries_grown(item);
    finding->confidence = NVT_SEEN;
    snprintf(finding->what, sizeof(finding->what), "%s %.100s runs %g time%s per %s",
             nvt_sweep_kind_name(item->kind), item->name, per_unit, per_unit == 1 ? "" : "s", axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%g entries per iteration at %s=%g, %s each (median), %s in all (%.0f %% of the "
             "iteration), compared with %s at %s=%g%s%s",
             largest->count, axis, growth->most, NVT_TIME(entry_ns), NVT_TIME(largest->ns),
             100 * share, NVT_TIME(nvt_sweep_least(item)->ns), axis, growth->least,
             *law ? "; " : "", law);
    point_at(finding, largest->point);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedies[item->kind]);
    return 0;
}

/* That so many were looked at that one of them is bound to look like this. */
static void tell_doubt(struct nvt_finding *finding, double chance, const struct family *family,
                       const char *axis)
{
    size_t length = strlen(finding->evidence);
    finding->confidence = NVT_POSSIBLE;
    snprintf(finding->evidence + length, sizeof(finding->evidence) - length,
             "; not certain: noise alone shows this in %.2g %% of costs, and %zu were fitted",
             100 * chance, family->fitted);
    snprintf(finding->remedy, sizeof(finding->remedy),
             "measure each %.60s several times to see whether it is noise, then look at what it "
             "does once for each of them",
             axis);
}

static void tell_growth(struct nvt_finding *finding, const struct nvt_sweep_item *item,
                        const struct nvt_growth *growth, const struct family *family,
                        const char *axis)
{
    const struct nvt_sweep_value *largest = nvt_sweep_largest(item);
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    char text[LAW_MAX];
    tell_law(growth, axis, " per iteration", text, sizeof(text));
    finding->cost_ns = law->last - law->first;
    finding->confidence = NVT_TESTED;
    char interval[64] = "";
    /* Of a law without any noise it is too narrow to be told. */
    if (law->high - law->low >= 0.005 * fabs(growth->p))
        snprintf(interval, sizeof(interval), " (%.3g–%.3g)", law->low, law->high);
    if (nvt_growth_has_exponent(growth))
        snprintf(finding->what, sizeof(finding->what), "%.100s grows as %.60s^%.3g%s", item->name,
                 axis, growth->p, interval);
    else
        snprintf(finding->what, sizeof(finding->what), "%.100s grows with %s", item->name, axis);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s, from %.60s=%g to %g; at the largest, %s in %g entr%s", text, axis, growth->least,
             growth->most, NVT_TIME(largest->ns), largest->count,
             largest->count == 1 ? "y" : "ies");
    point_at(finding, largest->point);
    snprintf(finding->remedy, sizeof(finding->remedy),
             "look at what it does once for each of the %s", axis);
    if (growth->chance > family->chance)
        tell_doubt(finding, growth->chance, family, axis);
}

/* What an item's points come to. */
struct verdict {
    enum { SAYS_NOTHING, ENTERED_FOR_EACH, GROWS } is;
    struct nvt_growth growth;
    double per_unit, share; /* share: of the iteration, at the largest */
    int is_fitted;          /* it costs enough to be found to grow */
};

/*
 * Whether what is entered for each unit costs more the more there are. Of work that was only divided, as a batch into
 * micro-batches, each entry takes the less the more there are: at once it would take as long. How often it is entered was
 * counted, so the cost needs no slope that is certain: on a busy machine few are.
 */
static int costs_more(const struct nvt_sweep_item *item, double iteration_ns)
{
    const double more = entries_grown(item);
    return more >= 0.05 * iteration_ns && more >= 0.25 * nvt_sweep_least(item)->ns;
}

static double dearest(const struct nvt_sweep_item *item)
{
    double most = 0;
    for (size_t i = 0; i < item->value_count; i++)
        most = fmax(most, item->values[i].ns);
    return most;
}

static struct verdict judge_item(const struct nvt_sweep *sweep, const struct nvt_sweep_item *item)
{
    struct verdict verdict = {.is = SAYS_NOTHING, .growth = item->growth};
    const double iteration_ns = sweep->iteration ? nvt_sweep_largest(sweep->iteration)->ns : 0;
    if (item->count < 3 || item->value_count < 2 || !(iteration_ns > 0))
        return verdict;
    verdict.is_fitted = dearest(item) > LEAST_PART * iteration_ns;
    const struct nvt_growth_law *law = nvt_growth_law(&verdict.growth);
    verdict.share = nvt_sweep_share(sweep, item);
    verdict.per_unit = nvt_sweep_per_unit(item);
    if (verdict.per_unit >= 0.99 && costs_more(item, iteration_ns))
        verdict.is = ENTERED_FOR_EACH;
    else if (law->rises && law->last - law->first > LEAST_PART * iteration_ns)
        verdict.is = GROWS;
    return verdict;
}

static double grown(const struct verdict *verdict)
{
    const struct nvt_growth_law *law = nvt_growth_law(&verdict->growth);
    return law->last - law->first;
}

/* Ranges that grow only as one within them does say nothing that this one does not say. */
static void leave_out_outer(const struct nvt_sweep *sweep, struct verdict *verdicts)
{
    for (size_t o = 0; o < sweep->count; o++)
        for (size_t i = 0; i < sweep->count && verdicts[o].is == GROWS; i++)
            if (i != o && sweep->items[i].kind == NVT_SWEEP_RANGE &&
                sweep->items[o].kind == NVT_SWEEP_RANGE && verdicts[i].is == GROWS &&
                grown(&verdicts[i]) >= 0.9 * grown(&verdicts[o]) &&
                nvt_sweep_lies_within(&sweep->items[i], &sweep->items[o]))
                verdicts[o].is = SAYS_NOTHING;
}

/* Names may be long, and a range may be called as a kernel is. 0, or -1 when out of memory. */
static int tell_subject(struct nvt_finding *finding, const struct nvt_sweep_item *item,
                        const struct verdict *verdict, const char *axis)
{
    const char *does = verdict->is == GROWS ? "grows with" : "for each of the";
    struct nvt_buffer all = {0};
    if (nvt_buffer_printf(&all, "%d %s %s %s", (int)item->kind, item->key, does, axis) ||
        nvt_buffer_append(&all, "", 1)) {
        nvt_buffer_free(&all);
        return -1;
    }
    nvt_finding_about(finding, (const char *)all.data);
    nvt_buffer_free(&all);
    snprintf(finding->subject, sizeof(finding->subject), "%.56s %s %.30s", item->name, does, axis);
    return 0;
}

/* 0, or -1 when out of memory. */
static int tell_scaling(struct nvt_finding *finding, const struct nvt_sweep_item *item,
                        const struct verdict *verdict, const struct family *family,
                        const char *axis)
{
    if (tell_subject(finding, item, verdict, axis))
        return -1;
    if (verdict->is == ENTERED_FOR_EACH)
        return tell_entries(finding, item, &verdict->growth, verdict->per_unit, axis,
                            verdict->share);
    tell_growth(finding, item, &verdict->growth, family, axis);
    return 0;
}

static void judge_scaling(const struct nvt_sweep *sweep, struct verdict *verdicts)
{
    for (size_t i = 0; i < sweep->count; i++)
        verdicts[i] = judge_item(sweep, &sweep->items[i]);
    leave_out_outer(sweep, verdicts);
}

/* 0, or -1 when out of memory. */
static int judge_together(const struct verdict *verdicts, size_t count, struct family *family)
{
    double *chances = calloc(count + 1, sizeof(*chances));
    *family = (struct family){0, -1};
    if (!chances)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (verdicts[i].is_fitted)
            chances[family->fitted++] = verdicts[i].growth.chance;
    size_t found = nvt_discoveries(chances, family->fitted, FALSE_ONES);
    if (found)
        family->chance = chances[found - 1];
    free(chances);
    return 0;
}

static int tell_all(const struct nvt_sweep *sweep, const struct verdict *verdicts,
                    const struct family *family, struct nvt_findings *findings,
                    struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < sweep->count && !status; i++) {
        struct nvt_finding finding = nvt_finding_of(&nvt_rule_scaling, NULL);
        if (verdicts[i].is == SAYS_NOTHING)
            continue;
        if (tell_scaling(&finding, &sweep->items[i], &verdicts[i], family, sweep->axis))
            return nvt_fail(err, "out of memory");
        finding.whole_ns = nvt_sweep_largest(sweep->iteration)->ns;
        snprintf(finding.where, sizeof(finding.where), "%s", sweep->where);
        status = nvt_findings_add(findings, &finding, err);
    }
    return status;
}

static int compare_scaling(const struct nvt_rule *rule, const struct nvt_case *facts,
                           struct nvt_findings *findings, struct nvt_error *err)
{
    (void)rule;
    struct nvt_sweeps sweeps = {0};
    struct family family;
    struct verdict *verdicts = NULL;
    size_t count = 0, at = 0;
    int status = nvt_sweeps_of(facts->input, facts->by, &sweeps, err);
    if (status)
        goto out;
    for (size_t i = 0; i < sweeps.count; i++)
        count += sweeps.items[i].count;
    verdicts = calloc(count + 1, sizeof(*verdicts));
    for (size_t i = 0; i < sweeps.count && verdicts; at += sweeps.items[i++].count)
        judge_scaling(&sweeps.items[i], verdicts + at);
    if (!verdicts || judge_together(verdicts, count, &family)) {
        status = nvt_fail(err, "out of memory");
        goto out;
    }
    at = 0;
    for (size_t i = 0; i < sweeps.count && !status; at += sweeps.items[i++].count)
        status = tell_all(&sweeps.items[i], verdicts + at, &family, findings, err);
out:
    free(verdicts);
    nvt_sweeps_free(&sweeps);
    return status;
}

const struct nvt_rule nvt_rule_scaling = {
    .cause = "scaling",
    .about =
        "what grows with a number, over at least three runs that differ in that number alone: what "
        "runs once (or more) per unit of it, and what grows with it, cost = a + b·n or c·n^p",
    .means = "Part of the program is done once for each unit of the number (a fragment, a layer, a "
             "sequence), or grows faster than it should. At larger numbers it decides how long an "
             "iteration takes.",
    .found = "Entries of each range, call and operation per iteration are counted and compared "
             "with the number. Costs are fitted by a + b·n (least squares) or, over three values "
             "and more, by c·n^p over the logarithms; the closer law is reported, with the "
             "exponent if its interval excludes 1. If the law misses rising costs by more than 20 "
             "%, the finding says so. A constant cost with 5 % of noise is taken to grow in less "
             "than 1 of 100 cases. Where many costs are looked at, some rise by noise alone: a "
             "finding is tested only if its fit passes the procedure of Benjamini and Hochberg "
             "(1995) at 5 % among all fits of costs that make up 10 % of an iteration; otherwise "
             "it is likely, with how often noise alone would show it.",
    .threshold = "entries in proportion to it (within 1 %) that add a quarter to their own cost "
                 "and 5 % to the iteration from the smallest number to the largest (work that is "
                 "only divided by it adds nothing); or a slope or an exponent above 0 at 95 % that "
                 "adds a quarter to its own cost and 10 % to the iteration: less is no reason to "
                 "change a program. It is likely, not tested, where so many costs were fitted that "
                 "noise may be behind it (Benjamini and Hochberg, 5 %). A range is left out if one "
                 "within it has 90 % of its growth, because that one says more",
    .remedy = "hoist or batch it: one call instead of one per item",
    .helped = "One batched or grouped launch instead of a loop over units; padding or nested "
              "tensors for units of different size; keeping decisions on the device; algorithms of "
              "lower order, such as attention with a window.",
    .confused = "Work that is only divided, as a batch into micro-batches, is not reported. On a "
                "noisy machine a slope may be chance: nvtally run --repeat 3 settles it.",
    .show = "stats -r growth",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES | NVT_RULE_ITERATIONS,
    .is_along = 1,
    .compare = compare_scaling,
};
