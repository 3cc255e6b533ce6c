/* crossing: at which value of a parameter one variant overtakes another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sweeps/curves.h"
#include "../diagnosis/diagnose.h"

/* The trace of a point, or NULL. */
static const struct nvt_trace *trace_of(const struct nvt_case *facts,
                                        const struct nvt_curve_point *point)
{
    for (size_t i = 0; i < facts->input->trace_count; i++) {
        const struct nvt_input_trace *from = &facts->input->traces[i];
        if (from->runs == point->runs && from->record == point->record)
            return from->trace;
    }
    return NULL;
}

/* Moments: the phase in the run whose cost the crossing is about, at the largest n. */
static void point_at_phase(const struct nvt_case *facts, const struct nvt_curve *curve,
                           struct nvt_finding *finding)
{
    const struct nvt_trace *trace = trace_of(facts, &curve->points[curve->count - 1]);
    uint32_t name =
        trace ? nvt_strings_find(trace->strings, curve->phase, strlen(curve->phase)) : 0;
    finding->trace = trace;
    for (uint32_t i = 0; trace && i < trace->ranges.count; i++)
        if (trace->ranges.name[i] == name)
            nvt_finding_point(finding, trace->ranges.start[i]);
}

static void tell_measured(const struct nvt_crossing *crossing, char *out, size_t size)
{
    const char *axis = crossing->low->axis;
    if (!isfinite(crossing->last_below))
        snprintf(out, size, "as measured, the order changes more than once");
    else
        snprintf(out, size, "as measured, the first is cheaper up to %s=%g, the second from %g on",
                 axis, crossing->last_below, crossing->first_above);
    if (crossing->last_below > crossing->to || crossing->first_above < crossing->from)
        snprintf(out + strlen(out), size - strlen(out),
                 ": straight lines fit badly here, so trust the measurements");
}

static int tell_crossing(const struct nvt_rule *rule, const struct nvt_case *facts,
                         const struct nvt_crossing *crossing, const char *by,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    const struct nvt_curve *low = crossing->low, *high = crossing->high;
    const char *first = nvt_record_text(low->record, by);
    const char *second = nvt_record_text(high->record, by);
    char seen[200], lines[2][NVT_LINE_MAX];
    tell_measured(crossing, seen, sizeof(seen));
    finding.cost_ns = fmax(fmax(crossing->from_ns, crossing->to_ns), 0);
    nvt_record_rest(low->record, low->axis, by, finding.where, sizeof(finding.where));
    snprintf(finding.what, sizeof(finding.what),
             "%s: %.60s=%.40s is cheaper up to %.60s=%.4g, %.40s from there on", low->phase, by,
             first, low->axis, crossing->n, second);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%.40s costs %s, %.40s %s; they meet at %.4g (%.4g to "
             "%.4g at 95 %%); %s; the moments are in the run of %.40s with %s=%g",
             first, nvt_line_text(low->line.a, low->line.b, low->axis, lines[0]), second,
             nvt_line_text(high->line.a, high->line.b, low->axis, lines[1]), crossing->n,
             crossing->from, crossing->to, seen, first, low->axis, low->points[low->count - 1].n);
    snprintf(finding.remedy, sizeof(finding.remedy),
             "choose by %s: %.60s below %.4g, %.60s above %.4g", low->axis, first, crossing->from,
             second, crossing->to);
    point_at_phase(facts, low, &finding);
    return nvt_findings_add(findings, &finding, err);
}

static int compare_crossing(const struct nvt_rule *rule, const struct nvt_case *facts,
                            struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_curves curves = {0};
    struct nvt_crossing crossing;
    int status = nvt_curves_of(facts->input, facts->by, &curves, err);
    for (size_t i = 0; i < curves.count && !status; i++)
        for (size_t j = i + 1; j < curves.count && !status; j++) {
            const char *by = nvt_curves_differ(&curves.items[i], &curves.items[j]);
            if (by && nvt_curves_cross(&curves.items[i], &curves.items[j], &crossing))
                status = tell_crossing(rule, facts, &crossing, by, findings, err);
        }
    nvt_curves_free(&curves);
    return status;
}

const struct nvt_rule nvt_rule_crossing = {
    .cause = "crossing",
    .about = "the value of a number at which one variant overtakes another",
    .means = "Neither variant is better everywhere: one is cheaper below the value, the other "
             "above it. A choice measured at one size is wrong at others.",
    .found = "The median times of a phase of both variants are fitted by lines, weighted by "
             "1/cost^2. The interval of the crossing is Fieller's at 95 %. If straight lines fit "
             "badly, the finding says so.",
    .threshold = "two variants with three values each, whose lines differ (at 95 %) one way at the "
                 "smallest common value and the other way at the largest: nothing is said about "
                 "values that were not run",
    .remedy = "switch variants at the crossing value",
    .helped = "A switch by size in the program, at the measured crossing. More values near the "
              "crossing, if the interval is wide.",
    .confused = "Two variants that are equal up to noise do not cross: their lines must differ at "
                "both ends. Another machine has another crossing.",
    .show = "plot",
    .confidence = NVT_TESTED,
    .is_along = 1,
    .compare = compare_crossing,
};
