/* GPU idle: the device has nothing to do while the host works outside of CUDA. */
#include <stdio.h>

#include "../diagnose.h"
#include "../gaps.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

/* The shortest range in which the launching thread was for at least half of what the host spent of
 * a gap, or NVT_NONE. A small operator that happens to lie there explains nothing. */
static uint32_t range_around(const struct nvt_trace *trace, const struct nvt_gap *gap)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    int64_t from = gap->start, to = gap->start + gap->host_ns;
    uint32_t best = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count && ranges->start[i] < to; i++) {
        int64_t start = ranges->start[i] > from ? ranges->start[i] : from;
        int64_t end = ranges->end[i] < to ? ranges->end[i] : to;
        if (ranges->thread[i] == gap->thread && end - start >= gap->host_ns - (end - start) &&
            (best == NVT_NONE ||
             ranges->end[i] - ranges->start[i] < ranges->end[best] - ranges->start[best]))
            best = i;
    }
    return best;
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_HOST};
    double share = 0, usual = 0;
    if (nvt_view_gaps(view, &sum, &share, &usual, err))
        return -1;
    if (sum.count < LEAST_COUNT || usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    const struct nvt_gap *gap = &sum.longest[0];
    uint32_t range = range_around(view->trace, gap);
    if (range != NVT_NONE)
        nvt_finding_about(&finding, nvt_name(view->trace, view->trace->ranges.name[range]));
    snprintf(finding.what, sizeof(finding.what),
             "the device has nothing to do while the host works%s%s",
             range == NVT_NONE ? "" : " in range ", finding.subject);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s gaps %s, %s each, %.0f %% of the device's time, in which the "
             "launching thread was outside of CUDA; the longest %s",
             NVT_COUNT((double)sum.count / view->units), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * share,
             NVT_TIME((double)gap->host_ns));
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_idle = {
    .cause = "GPU idle",
    .about = "gaps in which the launching thread does its own work: data, logging, checks",
    .threshold =
        "10 % of the device's time in at least 3 gaps of 100 us and more, also were the two "
        "longest as the others: one gap is no loop, and shorter ones are the launching itself",
    .remedy = "do that work on another thread, or one iteration ahead, or behind the launches of "
              "the iteration instead of in front of them",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = look,
};
