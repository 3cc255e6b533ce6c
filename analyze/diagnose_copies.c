/* tiny copies: many copies between host and device of a few bytes each. */
#include <stdio.h>

#include "cuda_names.h"
#include "diagnose.h"

#define TINY_BYTES    4096
#define LEAST_SHARE   0.05
#define LEAST_AN_UNIT 10
#define LEAST_COUNT   100

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ops *ops = &trace->ops;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    double count = 0, bytes = 0, ns = 0, to_host = 0;
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_MEMCPY || ops->bytes[i] >= TINY_BYTES ||
            !nvt_is_steady(view, ops->start[i]) ||
            (ops->copy_kind[i] != NVT_COPY_HTOD && ops->copy_kind[i] != NVT_COPY_DTOH))
            continue;
        uint32_t call = ops->api[i];
        count++;
        bytes += (double)ops->bytes[i];
        to_host += ops->copy_kind[i] == NVT_COPY_DTOH;
        ns += (double)(ops->end[i] - ops->start[i]);
        if (call != NVT_NONE)
            ns += (double)(trace->apis.end[call] - trace->apis.start[call]);
        nvt_finding_point(&finding, ops->start[i]);
    }
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    if (count < least || ns < LEAST_SHARE * view->span_ns)
        return 0;
    finding.cost_ns = ns / view->units;
    snprintf(finding.what, sizeof(finding.what),
             "%.4g copies of %.0f bytes between host and device %s", count / view->units,
             bytes / count, view->per);
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "%.0f ns each with its call, %.0f %% of the time, %.3g MB/s; %.0f of 100 go to the host",
        ns / count, 100 * ns / view->span_ns, bytes / ns * 1e3, 100 * to_host / count);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_copies = {
    .cause = "tiny copies",
    .about = "copies between host and device that are all overhead",
    .threshold = "10 an iteration (100 without iterations) below 4 KiB, 5 % of the time with their "
                 "calls: at 25 GB/s 4 KiB take 0.2 us, setting up a copy some 1 to 10",
    .remedy = "collect them into one buffer and copy it once, or leave the values on the device",
    .confidence = NVT_SEEN,
    .look = look,
};
