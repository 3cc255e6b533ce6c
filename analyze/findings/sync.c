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
                 ops->bytes[i] && ops->bytes[i] <= QUESTION_BYTES && nvt_is_steady_op(view, i);
    return count;
}

static int find_sync(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_WAIT};
    if (nvt_view_gaps(view, &sum, err))
        return -1;
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : 0;
    if (sum.count < LEAST_COUNT || (double)sum.count <= least || sum.usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    const struct nvt_trace *trace = view->trace;
    nvt_finding_about(&finding, nvt_name(trace, trace->apis.name[sum.longest[0].call]));
    snprintf(finding.what, sizeof(finding.what),
             "GPU is idle after %.100s: the host blocks until it returns", finding.subject);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s %s, %s each, %.0f %% of the GPU's time",
             NVT_COUNTED((double)sum.count / view->units, "gap", "gaps"), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * sum.share);
    if (nvt_called_from_tell_gaps(view, NVT_GAP_WAIT, &finding, err))
        return -1;
    nvt_finding_append(&finding, "; %s of at most %d bytes to the host %s",
                       NVT_COUNTED((double)count_questions(view) / view->units, "copy", "copies"),
                       QUESTION_BYTES, view->per);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_sync = {
    .cause = "sync-bound",
    .about = "waits for the device in a loop, after which the device has no work left",
    .means = "The program waits for the GPU, looks at a result, and only then launches more work. "
             "In between the queue is empty and the GPU idle, once for each wait. Nothing that is "
             "launched can run ahead.",
    .found = "A gap of a device counts if the thread that launches the next operation came out of "
             "a wait for the device (cudaDeviceSynchronize, cudaStreamSynchronize, "
             "cudaEventSynchronize, a copy to the host that returns when it is done) just before. "
             "The finding names the call with the longest gap, and counts copies of at most 64 "
             "bytes to the host: such a copy is usually a question, as .item() in PyTorch.",
    .threshold = "10 % of the device's time, 10 gaps, and more than 4 per iteration: three phases "
                 "that are timed one by one wait four times, and that is no problem",
    .remedy = "keep the decision on the device, or ask for the answer later (pinned memory, an "
              "event) and wait once at the end",
    .in_pytorch =
        "no .item(), .cpu(), print or if of a tensor at every step: every n-th, or at the "
        "end; copies with non_blocking=True from pinned memory; torch.where instead of "
        "an if",
    .helped = "In PyTorch: no .item(), .cpu(), print(loss), nonzero() or masks with if in the "
              "loop; log the loss every n-th iteration; torch.where instead of an if. "
              "torch.cuda.set_sync_debug_mode(\"warn\") prints where the program waits. In CUDA: a "
              "kernel that decides on the device (conditional nodes, dynamic parallelism), or a "
              "copy to pinned memory and an event that is looked at one iteration later.",
    .confused = "Waits at the end of an iteration, or around timed phases, are few and stay below "
                "the threshold. A wait in which the GPU works until its end costs nothing: only "
                "what comes after it counts. Launch-bound: no wait, and yet short gaps.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_sync,
};
