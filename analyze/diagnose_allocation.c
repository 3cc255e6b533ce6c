/* allocation in the loop: device memory is taken and given back again and again. */
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

#define LEAST_SHARE 0.05
#define LEAST_COUNT 10

/* Calls that go to the driver for memory. Those of pools (cudaMallocAsync …) are the remedy. */
static int allocates(const char *name)
{
    static const char *const calls[] = {"cudaMalloc", "cudaFree",  "cudaHostAlloc",
                                        "cuMemAlloc", "cuMemFree", "cuMemHostAlloc"};
    if (strstr(name, "Async"))
        return 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (!strncmp(name, calls[i], strlen(calls[i])))
            return 1;
    return 0;
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_apis *apis = &view->trace->apis;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    double count = 0, ns = 0;
    uint32_t longest = NVT_NONE;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (!nvt_is_steady(view, apis->start[i]) ||
            !allocates(nvt_name(view->trace, apis->name[i])))
            continue;
        int64_t length = apis->end[i] - apis->start[i];
        count++;
        ns += (double)length;
        if (longest == NVT_NONE || length > apis->end[longest] - apis->start[longest])
            longest = i;
        nvt_finding_point(&finding, apis->start[i]);
    }
    if (count < LEAST_COUNT || count < view->units || ns < LEAST_SHARE * view->span_ns)
        return 0;
    finding.cost_ns = ns / view->units;
    snprintf(finding.what, sizeof(finding.what), "memory is allocated and freed %.4g times %s",
             count / view->units, view->per);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%.0f calls, %s each, %.0f %% of the time; the longest, %.100s, takes %s", count,
             NVT_TIME(ns / count), 100 * ns / view->span_ns,
             nvt_name(view->trace, apis->name[longest]),
             NVT_TIME((double)(apis->end[longest] - apis->start[longest])));
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_allocation = {
    .cause = "allocation in the loop",
    .about = "cudaMalloc, cudaFree and their kin in every iteration",
    .threshold = "10 calls, one an iteration, 5 % of the time, in the second half of the "
                 "iterations: by then caches are filled; calls of pools do not count",
    .remedy = "allocate before the loop, or use a pool (cudaMallocAsync, a caching allocator)",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_CALLS,
    .look = look,
};
