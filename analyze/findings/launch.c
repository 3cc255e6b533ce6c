/* launch-bound: launches follow each other, but more slowly than the device works. */
#include <stdio.h>

#include "../diagnosis/called_from.h"
#include "../diagnosis/running.h"
#include "../device/gaps.h"

#define LEAST_SHARE 0.2
#define LEAST_COUNT 50

static void tell_launch(struct nvt_finding *finding, const struct nvt_view *view,
                        const struct nvt_gap_sum *sum, double share)
{
    const struct nvt_trace *trace = view->trace;
    double calls = 0, calls_ns = 0, kernels = 0, kernels_ns = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        if (nvt_is_steady_call(view, i) &&
            nvt_call_launches(nvt_name(trace, trace->apis.name[i]))) {
            calls++;
            calls_ns += (double)(trace->apis.end[i] - trace->apis.start[i]);
        }
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.kind[i] == NVT_OP_KERNEL && nvt_is_steady_op(view, i)) {
            kernels++;
            kernels_ns += (double)(trace->ops.end[i] - trace->ops.start[i]);
        }
    snprintf(finding->what, sizeof(finding->what),
             "the device waits for the next launch for %.0f %% of its time", 100 * share);
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s such gaps %s, %s each; a launch takes the host %s, a kernel the device %s on "
             "average (%s launches, %s kernels %s)",
             NVT_COUNT((double)sum->count / view->units), view->per,
             NVT_TIME((double)sum->ns / (double)sum->count),
             NVT_TIME(calls > 0 ? calls_ns / calls : 0),
             NVT_TIME(kernels > 0 ? kernels_ns / kernels : 0), NVT_COUNT(calls / view->units),
             NVT_COUNT(kernels / view->units), view->per);
}

static int find_launch(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_LAUNCH};
    double share = 0, usual = 0;
    if (nvt_view_gaps(view, &sum, &share, &usual, err))
        return -1;
    if (sum.count < LEAST_COUNT || usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    tell_launch(&finding, view, &sum, share);
    if (nvt_called_from_tell_calls(view, nvt_call_launches, "the launches' time", &finding, err) ||
        nvt_running_tell_gaps(view, NVT_GAP_LAUNCH, &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_launch = {
    .cause = "launch-bound",
    .about = "a device that waits for launches although the host does nothing else",
    .threshold = "20 % of the device's time and 50 gaps: a queue that runs ahead has such gaps "
                 "only at its beginning; gaps of 100 us or more outside of CUDA are the program's "
                 "own work, not a launch (2 to 10 us, some tens with a framework's operator)",
    .remedy = "fuse kernels, batch them, or capture them into a CUDA graph",
    .in_pytorch = "torch.compile (mode=\"reduce-overhead\" captures CUDA graphs), a larger batch, "
                  "CUDA graphs by hand (torch.cuda.graph), fused=True in the optimizer",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_launch,
};
