/* warm-up inside: the first iterations of a trace are slower than the rest, and were measured too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../lib/sample.h"
#include "diagnose.h"

/* Leading iterations that are looked at, and how many must follow. */
#define MOST_WARMUP  8
#define LEAST_REST   8
#define LEAST_SLOWER 1.5
#define LEAST_SHARE  0.05

static double length_of(const struct nvt_view *view, uint32_t iteration)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    return (double)(ranges->end[view->iterations[iteration]] -
                    ranges->start[view->iterations[iteration]]);
}

/* Median and 99 % quantile of the iterations behind the first ones. 0, or -1. */
static int rest_of(const struct nvt_view *view, double *usual, double *high)
{
    uint32_t count = view->iteration_count - MOST_WARMUP;
    double *values = malloc(count * sizeof(*values));
    if (!values)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        values[i] = length_of(view, MOST_WARMUP + i);
    nvt_sample_sort(values, count);
    *usual = nvt_sample_quantile(values, count, 0.5);
    *high = nvt_sample_quantile(values, count, 0.99);
    free(values);
    return 0;
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    double usual, high, excess = 0;
    uint32_t slow = 0, count = view->iteration_count;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    if (count < MOST_WARMUP + LEAST_REST)
        return 0;
    if (rest_of(view, &usual, &high))
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    while (slow < MOST_WARMUP && length_of(view, slow) > LEAST_SLOWER * usual &&
           length_of(view, slow) > high) {
        nvt_finding_point(&finding, view->trace->ranges.start[view->iterations[slow]]);
        excess += length_of(view, slow++) - usual;
    }
    if (!slow || excess <= LEAST_SHARE * usual * count)
        return 0;
    finding.cost_ns = excess / count;
    snprintf(finding.what, sizeof(finding.what),
             "the first %u of %u iterations are part of the measurement and slower", slow, count);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "the first took %.0f ns, the median from the ninth on %.0f ns, of which 99 of 100 "
             "stay below %.0f ns; the mean over all is %.0f ns too high",
             length_of(view, 0), usual, high, excess / count);
    snprintf(finding.remedy, sizeof(finding.remedy), "leave out the first %u: --warmup %u", slow,
             slow);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_warmup = {
    .cause = "warm-up inside",
    .about = "first iterations that are slower than the rest, and in the measurement",
    .threshold = "at most 8 leading iterations, each 1.5 times the median of those from the ninth "
                 "on and above 99 % of them, which together lift the mean by 5 %: less than that "
                 "is within what runs differ by anyway",
    .remedy = "leave them out: --warmup",
    .confidence = NVT_SEEN,
    .look = look,
};
