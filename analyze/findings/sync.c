/* sync-bound: the device runs dry because the host waits for it before it launches on. */
#include <stdio.h>

#include "../model/cuda_names.h"
#include "../diagnosis/called_from.h"
#include "../device/gaps.h"

#define LEAST_SHARE    0.1
#define LEAST_COUNT    10
#define LEAST_AN_UNIT  4
#define QUESTION_BYTES 64

/* Copies of a few bytes to the host: the program asks the device something and decides by it. */
static uint64_t count_questions(const struct nvt_view *view)
{
    const struct nvt_ops *ops = &view->trace->ops;
    uint64_t count = 0;
    for (uint32_t i = 0; i < ops->count; i++)
        count += ops->kind[i] == NVT_OP_MEMCPY && ops->copy_kind[i] == NVT_COPY_DTOH &&
                 ops->bytes[i] <= QUESTION_BYTES && nvt_is_steady_op(view, i);
    return count;
}

static int find_sync(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_WAIT};
    double share = 0, usual = 0;
    if (nvt_view_gaps(view, &sum, &share, &usual, err))
        return -1;
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : 0;
    if (sum.count < LEAST_COUNT || (double)sum.count <= least || usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    const struct nvt_trace *trace = view->trace;
    nvt_finding_about(&finding, nvt_name(trace, trace->apis.name[sum.longest[0].call]));
    snprintf(
        finding.what, sizeof(finding.what),
        "the device has nothing to do after %.100s: launching continues only when it has returned",
        finding.subject);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s such gaps %s, %s each, %.0f %% of the device's time",
             NVT_COUNT((double)sum.count / view->units), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * share);
    if (nvt_called_from_tell_gaps(view, NVT_GAP_WAIT, &finding, err))
        return -1;
    nvt_finding_append(&finding, "; %s copies of at most %d bytes to the host %s",
                       NVT_COUNT((double)count_questions(view) / view->units), QUESTION_BYTES,
                       view->per);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_sync = {
    .cause = "sync-bound",
    .about = "waits for the device in a loop, after which it has nothing to do",
    .threshold = "10 % of the device's time, 10 gaps, and more than 4 per iteration: three phases "
                 "that are timed one by one wait four times, and that is no problem",
    .remedy = "keep the decision on the device, or ask for the answer later (pinned memory, an "
              "event) and wait once at the end",
    .in_pytorch =
        "no .item(), .cpu(), print or if of a tensor at every step: every n-th, or at the "
        "end; copies with non_blocking=True from pinned memory; torch.where instead of "
        "an if",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_sync,
};
