/* code loading: a launch that takes as long as hundreds of others, on a device that waits for it. */
#include <stdio.h>

#include "../../lib/kernel_names.h"
#include "../diagnosis/called_from.h"
#include "../device/gaps.h"

#define LEAST_SHARE 0.1
#define LEAST_COUNT 3

static int find_loading(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_gap_sum sum = {.cause = NVT_GAP_LOAD};
    char after[NVT_TELLING_NAME_MAX];
    if (nvt_view_gaps(view, &sum, err))
        return -1;
    if (sum.count < LEAST_COUNT || sum.usual < LEAST_SHARE)
        return 0;
    struct nvt_finding finding = nvt_finding_of_gaps(rule, view, &sum);
    snprintf(finding.what, sizeof(finding.what),
             "GPU waits for launches that take 1 ms or more, %s %s",
             NVT_COUNTED((double)sum.count / view->units, "time", "times"), view->per);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s each, %.0f %% of the GPU's time; the longest, %s, is before %.200s",
             NVT_TIME((double)sum.ns / (double)sum.count), 100 * sum.share,
             NVT_TIME((double)sum.longest_ns[0]),
             nvt_kernel_label(nvt_name(view->trace, view->trace->ops.name[sum.longest[0].after]),
                              after));
    if (nvt_called_from_tell_gaps(view, NVT_GAP_LOAD, &finding, err))
        return -1;
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_loading = {
    .cause = "code loading",
    .about = "launches that take 1 ms or more while the GPU is idle: code is loaded or compiled",
    .means = "A launch that takes milliseconds does more than launch: the driver loads the module "
             "of a kernel that runs for the first time, or a compiler (torch.compile, Triton, "
             "NVRTC, JAX) makes it. In a loop that goes on, this happens again and again, for "
             "instance because shapes keep changing.",
    .found = "A gap counts if the launching call of the next operation took 1 ms or more and the "
             "device was idle meanwhile. Launches of CUDA graphs do not count.",
    .threshold =
        "10 % of the device's time, in at least 3 gaps, even with the two longest cut to the mean "
        "of the rest: a launch takes 2 to 10 µs, one that loads or compiles code some ms. Launches "
        "of CUDA graphs do not count, nor those while the device works, which may wait for room",
    .remedy = "launch every kernel once, in the shapes that will come, before measuring or "
              "serving; CUDA_MODULE_LOADING=EAGER; keep compiled code in a cache",
    .helped = "Warm-up requests for each batch size and sequence length before a server takes "
              "traffic. Padding to a few shapes, or dynamic=True in torch.compile, where shapes "
              "vary. Persistent caches: TORCHINDUCTOR_FX_GRAPH_CACHE=1, TRITON_CACHE_DIR, "
              "CUDA_CACHE_PATH. CUDA_MODULE_LOADING=EAGER moves loading to the start.",
    .confused =
        "Cold start: the same once, before the loop is steady. A launch that waits for room in a "
        "full queue is as long, but the GPU works meanwhile, and it is not counted.",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS | NVT_RULE_CALLS,
    .has_gaps = 1,
    .look = find_loading,
};
