/* held memory: an allocator holds much more than was ever in use: pieces that nothing fits into, or what it took before. */
#include <stdio.h>

#include "../../lib/people.h"
#include "../diagnosis/diagnose.h"
#include "../memory/levels.h"

#define LEAST_SHARE 0.25
#define LEAST_BYTES (INT64_C(1) << 30)

static int tell_held(const struct nvt_rule *rule, const struct nvt_view *view,
                     const struct nvt_level_series *series, struct nvt_findings *findings,
                     struct nvt_error *err)
{
    uint32_t at;
    int64_t held = nvt_level_most_reserved(series, &at);
    int64_t used = nvt_level_most(series, NULL);
    if (used < 0 || held - used < LEAST_BYTES || (double)(held - used) < LEAST_SHARE * (double)held)
        return 0;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    char device[32];
    snprintf(device, sizeof(device), "device %u's memory", series->device);
    nvt_finding_about(&finding, device);
    finding.cost_bytes = (double)(held - used);
    finding.whole_bytes = (double)held;
    finding.per = "at the peak";
    snprintf(finding.what, sizeof(finding.what),
             "%s of %s is reserved and never used (fragmentation)",
             nvt_binary_text((double)(held - used), (char[NVT_TIME_MAX]){0}), device);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "peak reserved %s, with %s in use then; peak in use %s",
             nvt_binary_text((double)held, (char[NVT_TIME_MAX]){0}),
             nvt_binary_text((double)nvt_level_allocated(series, at), (char[NVT_TIME_MAX]){0}),
             nvt_binary_text((double)used, (char[NVT_TIME_MAX]){0}));
    nvt_finding_point(&finding, view->trace->memory.time[series->events[at]]);
    return nvt_findings_add(findings, &finding, err);
}

static int find_held(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_levels levels = {0};
    int status = 0;
    if (nvt_levels_make(&levels, view->trace))
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < levels.count && !status; i++)
        if (levels.series[i].device != NVT_NONE && nvt_is_viewed(view, levels.series[i].process))
            status = tell_held(rule, view, &levels.series[i], findings, err);
    nvt_levels_free(&levels);
    return status;
}

const struct nvt_rule nvt_rule_held = {
    .cause = "held memory",
    .about = "reserved memory that is never used (fragmentation)",
    .means = "The allocator has taken memory from the device that it never gives to the program at "
             "the same time: free pieces are too small for what is asked, or it was needed once at "
             "the start. Other processes, and larger batches, cannot have it.",
    .found = "The peak of reserved memory is compared with the peak of memory in use. Needs memory "
             "events that report reserved memory, as PyTorch's do.",
    .threshold =
        "a quarter of the reserved peak, and 1 GiB: allocators that cut large pieces always keep a "
        "few percent; needs memory events that report reserved memory, as PyTorch's do",
    .remedy =
        "in PyTorch, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and the largest shapes "
        "first; torch.cuda.empty_cache() once, after what needed more than anything later",
    .helped = "expandable_segments:True where shapes vary; running the largest shape first, so "
              "that later ones fit into its blocks; max_split_size_mb: for a few large tensors "
              "among many small ones; padding to few shapes.",
    .confused = "Memory growth: memory in use rises. Memory that was in use before the recording "
                "began looks the same as fragmentation: record from the start.",
    .show = "stats -r memory_segments",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_MEMORY,
    .look = find_held,
};
