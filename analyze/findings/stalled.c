/* stalled device: work had been launched, and yet the device had nothing to do. */
#include <stdio.h>

#include "../diagnosis/diagnose.h"
#include "../device/gaps.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

static int find_stalled(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.stalls = 1};
    if (nvt_view_gaps(view, &sum, err))
        return -1;
    if (sum.count < LEAST_COUNT || sum.usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    nvt_finding_about_kernel(&finding,
                             nvt_name(view->trace, view->trace->ops.name[sum.longest[0].after]));
    snprintf(finding.what, sizeof(finding.what), "GPU is idle although %s had been launched",
             finding.subject);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s %s, %s each, %.0f %% of the GPU's time; the longest %s",
             NVT_COUNTED((double)sum.count / view->units, "gap", "gaps"), view->per,
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * sum.share,
             NVT_TIME((double)sum.longest_ns[0]));
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_stalled = {
    .cause = "stalled device",
    .about = "gaps of a device whose next operation had already been launched: something held it, "
             "or what ran was not recorded",
    .means =
        "Work was in the queue, and the device did not begin it. It waited for something that the "
        "launching thread does not show: an event of another stream, another process or rank, a "
        "host function in the stream, memory. Or something did run that was not recorded.",
    .found = "A gap of 100 µs or more counts if the next operation had been launched before it "
             "began. The finding names the operation after the longest gap.",
    .threshold = "10 % of the device's time, in at least 3 gaps of 100 µs or more, even with the "
                 "two longest cut to the mean of the rest, each before an operation that was "
                 "launched before the gap: an operation begins 2 to 10 µs after its launch",
    .remedy = "look at what it waited for: an event of another stream, process or rank, a function "
              "on the host, memory; or record what is missing (CUDA graphs by nodes, every device)",
    .helped = "Recording all processes and devices, and graphs by their nodes (--trace without "
              "graph). Removing cudaStreamWaitEvent on streams that need not be ordered. "
              "cudaLaunchHostFunc callbacks that return at once.",
    .confused =
        "GPU idle: the next operation had not been launched. Straggler and exposed communication: "
        "the wait is a collective, which is itself a kernel and no gap. Other processes on the "
        "same GPU: their work is recorded only if their traces are given, too.",
    .show = "stats -r gpu_idle",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_stalled,
};
