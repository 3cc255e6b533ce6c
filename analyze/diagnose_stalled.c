/* stalled device: work had been launched, and yet the device had nothing to do. */
#include <stdio.h>

#include "diagnose.h"
#include "gaps.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3
#define LEAST_NS    100000

struct stalls {
    const struct nvt_view *view;
    double count, ns;
    struct nvt_gap longest[3]; /* from the launch on */
};

static void add(void *context, const struct nvt_gap *gap)
{
    struct stalls *stalls = context;
    struct nvt_gap next = *gap;
    next.start += gap->host_ns; /* when the call that launched what follows returned */
    if (next.end - next.start < LEAST_NS || stalls->view->trace->ops.api[gap->after] == NVT_NONE ||
        !nvt_is_steady(stalls->view, next.start))
        return;
    stalls->count++;
    stalls->ns += (double)(next.end - next.start);
    for (size_t i = 0; i < 3; i++) {
        struct nvt_gap other = stalls->longest[i];
        if (other.end - other.start >= next.end - next.start)
            continue;
        stalls->longest[i] = next;
        next = other;
    }
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    struct stalls stalls = {.view = view};
    uint32_t devices = 0;
    if (!trace->apis.count)
        return 0;
    if (nvt_gaps(trace, add, &stalls, &devices, err))
        return -1;
    double share = stalls.ns / (view->span_ns * devices);
    if (stalls.count < LEAST_COUNT || share < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    const struct nvt_gap *gap = &stalls.longest[0];
    finding.cost_ns = stalls.ns / view->units / devices;
    snprintf(finding.what, sizeof(finding.what),
             "the device has nothing to do although %.100s had been launched",
             nvt_name(trace, trace->ops.short_name[gap->after] ? trace->ops.short_name[gap->after]
                                                               : trace->ops.name[gap->after]));
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%.4g such gaps %s, %.0f ns each, %.0f %% of the device's time; the longest %lld ns",
             stalls.count / view->units, view->per, stalls.ns / stalls.count, 100 * share,
             (long long)(gap->end - gap->start));
    for (size_t i = 0; i < 3; i++)
        nvt_finding_point(&finding, stalls.longest[i].start);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_stalled = {
    .cause = "stalled device",
    .about = "gaps of a device whose next operation had been launched before: something held it, "
             "or what ran is not on record",
    .threshold = "10 % of the device's time in at least 3 gaps of 100 us and more, behind which "
                 "comes what was launched before them: an operation begins 2 to 10 us behind its "
                 "launch",
    .remedy = "look at what it waited for: an event of another stream, process or rank, a function "
              "on the host, memory; or record what is missing (CUDA graphs by nodes, every device)",
    .confidence = NVT_LIKELY,
    .look = look,
};
