/* pageable copies: transfers from or to memory that is not pinned. */
#include <stdio.h>

#include "cuda_names.h"
#include "diagnose.h"

#define LEAST_SHARE 0.05
#define LEAST_COUNT 5
#define LEAST_BYTES 65536

struct transfer {
    double count, bytes, ns;
};

static void add(struct transfer *transfer, const struct nvt_ops *ops, uint32_t op)
{
    transfer->count++;
    transfer->bytes += (double)ops->bytes[op];
    transfer->ns += (double)(ops->end[op] - ops->start[op]);
}

static int look(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_ops *ops = &view->trace->ops;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct transfer pageable = {0, 0, 0}, pinned = {0, 0, 0};
    char rate[64] = "";
    for (uint32_t i = 0; i < ops->count; i++) {
        if (ops->kind[i] != NVT_OP_MEMCPY || ops->bytes[i] < LEAST_BYTES ||
            (ops->copy_kind[i] != NVT_COPY_HTOD && ops->copy_kind[i] != NVT_COPY_DTOH))
            continue;
        unsigned kind =
            ops->copy_kind[i] == NVT_COPY_HTOD ? ops->source_kind[i] : ops->target_kind[i];
        if (kind == NVT_KIND_PINNED)
            add(&pinned, ops, i);
        if (kind != NVT_KIND_PAGEABLE || !nvt_is_steady(view, ops->start[i]))
            continue;
        add(&pageable, ops, i);
        nvt_finding_point(&finding, ops->start[i]);
    }
    if (pageable.count < LEAST_COUNT || pageable.ns < LEAST_SHARE * view->span_ns)
        return 0;
    if (pinned.ns > 0)
        snprintf(rate, sizeof(rate), "; pinned ones reach %.3g GB/s here",
                 pinned.bytes / pinned.ns);
    finding.cost_ns = pageable.ns / view->units;
    snprintf(finding.what, sizeof(finding.what), "%.3g MB are copied from or to pageable memory %s",
             pageable.bytes / view->units / 1e6, view->per);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%.4g copies %s, %s each, %.0f %% of the time, %.3g GB/s%s",
             pageable.count / view->units, view->per, NVT_TIME(pageable.ns / pageable.count),
             100 * pageable.ns / view->span_ns, pageable.bytes / pageable.ns, rate);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_pageable = {
    .cause = "pageable copies",
    .about = "copies from or to host memory that is not pinned: slower, and no work overlaps them",
    .threshold = "5 copies of at least 64 KiB, 5 % of the time: smaller ones go through the "
                 "driver's own buffer and return at once, and an upload at the start is no loop",
    .remedy = "use pinned memory (cudaMallocHost, pin_memory=True) and asynchronous copies "
              "(non_blocking=True) on a stream of their own",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS,
    .look = look,
};
