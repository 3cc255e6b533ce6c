/* unclosed ranges: those of a name that are pushed again and again and never popped. */
#include <stdio.h>

#include "../diagnosis/diagnose.h"
#include "../model/leaked_pushes.h"
#include "../model/recorded_parts.h"

/* The first ones of the name on that thread. */
static void point_at(const struct nvt_trace *trace, const struct nvt_leaked_pushes *leaked,
                     struct nvt_finding *finding)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count && finding->moment_count < NVT_MOMENTS; i++)
        if (ranges->name[i] == leaked->name && ranges->thread[i] == leaked->thread &&
            ranges->flags[i] & NVT_RANGE_UNCLOSED)
            nvt_finding_point(finding, ranges->start[i]);
}

static int find_unclosed(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    struct nvt_leaked_pushes leaked;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    const int found = nvt_leaked_pushes_find(trace, &leaked);
    if (found < 0)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    if (!found)
        return 0;
    nvt_finding_about(&finding, nvt_name(trace, leaked.name));
    snprintf(finding.what, sizeof(finding.what), "range %s is pushed and never popped: %u open",
             finding.subject, leaked.pushed);
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "on thread %lld; everything that comes behind the first one counts as within it, and its "
        "time is unknown",
        (long long)trace->threads.tid[leaked.thread]);
    point_at(trace, &leaked, &finding);
    finding.per = "in the trace";
    finding.cost_ns = nvt_recorded_ns(trace, finding.moments[0], trace->last_ns);
    finding.whole_ns = nvt_recorded_ns(trace, trace->first_ns, trace->last_ns);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_unclosed = {
    .cause = "unclosed ranges",
    .about = "ranges that are pushed again and again and never popped",
    .means =
        "Each push without a pop leaves the thread one level deeper. Ranges behind it are shown "
        "as its children, at a depth that grows for ever, so their place in the tree is wrong.",
    .found =
        "Push/pop ranges that were still open when their thread ended are counted by name. The "
        "moments are the first ones.",
    .threshold =
        "20 of a name on one thread, of which at most one in ten was popped: a program that "
        "ends leaves as many open as it is deep",
    .remedy = "pop on every way out: a return, continue or exception skips it; in Python use with "
              "nvtx.annotate(...), in C++ nvtx3::scoped_range",
    .helped = "Scopes that end by themselves (with, RAII, defer) instead of pairs of calls.",
    .confused =
        "Tasks that interleave on one thread (asyncio without --pytorch or --python) pop each "
        "other's ranges: the names are mixed up, but the counts of pushes and pops agree. "
        "Deep recursion ends with its pops.",
    .show = "stats -r range_tree",
    .error = "misplaced",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_RANGES,
    .is_whole = 1,
    .look = find_unclosed,
};
