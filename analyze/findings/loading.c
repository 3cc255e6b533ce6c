/* code loading: a launch that takes as long as hundreds of others, on a device that waits for it. */
#include <stdio.h>

#include "../diagnosis/called_from.h"
#include "../device/gaps.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

static int find_loading(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_LOAD};
    double share = 0, usual = 0;
    if (nvt_view_gaps(view, &sum, &share, &usual, err))
        return -1;
    if (sum.count < LEAST_COUNT || usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    snprintf(finding.what, sizeof(finding.what),
             "the device waits for a launch that takes 1 ms or more, %s times %s",
             NVT_COUNT((double)sum.count / view->units), view->per);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s each, %.0f %% of the device's time; the longest, %s, is before %.200s",
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * share,
             NVT_TIME((double)sum.longest_ns[0]),
             nvt_name(view->trace, nvt_op_name(view->trace, sum.longest[0].after)));
    if (nvt_called_from_tell_gaps(view, NVT_GAP_LOAD, &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_loading = {
    .cause = "code loading",
    .about = "launches that take 1 ms or more while the device has nothing to do",
    .threshold = "10 % of the device's time, in at least 3 gaps, even if the two longest were like "
                 "the others: a launch takes 2 to 10 us, one that loads or compiles code takes "
                 "some ms; launches of CUDA graphs do not count, nor those while the device works, "
                 "which may wait for room",
    .remedy = "launch every kernel once, in the shapes that will come, before measuring or "
              "serving; CUDA_MODULE_LOADING=EAGER; keep compiled code in a cache",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_loading,
};
