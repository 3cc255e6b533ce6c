/* out of memory: an allocator found no room, although it held as much that was not in use, or because all was; or CUDA's own did. */
#include <stdio.h>
#include <string.h>

#include "../../lib/one_of.h"
#include "../../lib/people.h"
#include "../diagnosis/diagnose.h"
#include "../memory/levels.h"
#include "../model/refusals.h"
#include "../model/cuda_names.h"

/* All that was refused of a device to a process. */
struct refused {
    struct nvt_refusal first, largest;
    uint32_t count;
    int64_t moments[NVT_MOMENTS];
    int64_t in_use, held; /* at the largest */
};

static void note(struct refused *refused, const struct nvt_level_series *series,
                 const struct nvt_trace *trace, const struct nvt_refusal *refusal)
{
    if (refused->count < NVT_MOMENTS)
        refused->moments[refused->count] = refusal->time;
    if (!refused->count++)
        refused->first = *refusal;
    if (refusal->bytes <= refused->largest.bytes && refused->count > 1)
        return;
    uint32_t until = nvt_level_until(series, trace, refusal->time, 0);
    refused->largest = *refusal;
    refused->in_use = until ? nvt_level_allocated(series, until - 1) : series->base;
    refused->held = until ? nvt_level_reserved(series, until - 1) : series->base;
}

static int tell_refused(const struct nvt_rule *rule, const struct nvt_view *view,
                        const struct refused *refused, struct nvt_findings *findings,
                        struct nvt_error *err)
{
    const struct nvt_refusal *largest = &refused->largest;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    char device[32], unoccupied[64] = "";
    int64_t spare = refused->held - refused->in_use;
    snprintf(device, sizeof(device), "device %u's memory", largest->device);
    nvt_finding_about(&finding, device);
    finding.cost_bytes = (double)largest->bytes;
    finding.per = "at once";
    char times[32] = "once";
    if (refused->count > 1)
        snprintf(times, sizeof(times), "%u times", refused->count);
    snprintf(finding.what, sizeof(finding.what), "failed to allocate %s%s of %s, %s",
             refused->count > 1 ? "up to " : "",
             nvt_binary_text((double)largest->bytes, (char[NVT_TIME_MAX]){0}), device, times);
    if (largest->free != UINT64_MAX)
        snprintf(unoccupied, sizeof(unoccupied), ", %s free",
                 nvt_binary_text((double)largest->free, (char[NVT_TIME_MAX]){0}));
    snprintf(finding.evidence, sizeof(finding.evidence), "%s in use then, %s reserved%s",
             nvt_binary_text((double)refused->in_use, (char[NVT_TIME_MAX]){0}),
             nvt_binary_text((double)refused->held, (char[NVT_TIME_MAX]){0}), unoccupied);
    if (spare >= 0 && (uint64_t)spare >= largest->bytes)
        snprintf(
            finding.remedy, sizeof(finding.remedy),
            "enough was reserved and not in use, but in pieces that are too small (fragmentation): "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and the largest shapes first");
    for (uint32_t i = 0; i < refused->count && i < NVT_MOMENTS; i++)
        nvt_finding_point(&finding, refused->moments[i]);
    return nvt_findings_add(findings, &finding, err);
}

static int look_at(const struct nvt_rule *rule, const struct nvt_view *view,
                   const struct nvt_level_series *series, struct nvt_findings *findings,
                   struct nvt_error *err)
{
    struct refused refused = {.count = 0};
    struct nvt_refusal refusal;
    for (uint32_t i = 0; i < view->trace->marks.count; i++)
        if (nvt_refusal_of(view->trace, i, &refusal) && refusal.process == series->process &&
            refusal.device == series->device)
            note(&refused, series, view->trace, &refusal);
    return refused.count ? tell_refused(rule, view, &refused, findings, err) : 0;
}

/* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY and hipErrorOutOfMemory are the same number. */
#define OUT_OF_MEMORY 2

static int is_allocation(const char *name)
{
    static const char *const names[] = {"cudaMalloc", "cuMemAlloc", "cuMemCreate", "hipMalloc"};
    return NVT_BEGINS_WITH_ONE_OF(name, names);
}

/* What CUDA had no room for; how much that was, calls do not tell. */
static int look_at_calls(const struct nvt_rule *rule, const struct nvt_view *view,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_apis *apis = &view->trace->apis;
    struct nvt_finding finding = nvt_finding_of(rule, view);
    uint32_t count = 0, last = 0;
    for (uint32_t i = 0; i < apis->count; i++) {
        if (apis->result[i] != OUT_OF_MEMORY ||
            !nvt_is_viewed(view, view->trace->threads.process[apis->thread[i]]) ||
            !is_allocation(nvt_name(view->trace, apis->name[i])))
            continue;
        finding.cost_ns += (double)(apis->end[i] - apis->start[i]);
        nvt_finding_point(&finding, apis->start[i]);
        last = i;
        count++;
    }
    if (!count)
        return 0;
    const char *name = nvt_name(view->trace, apis->name[last]);
    char call[80];
    snprintf(call, sizeof(call), "%.*s", (int)nvt_call_name_length(name, strnlen(name, 60)), name);
    nvt_finding_about(&finding, call);
    finding.per = "in these calls";
    finding.whole_ns = 0;
    snprintf(finding.what, sizeof(finding.what), "%s failed, %u time%s", call, count,
             count == 1 ? "" : "s");
    snprintf(finding.evidence, sizeof(finding.evidence),
             "return code %d, out of memory; the size was not recorded", OUT_OF_MEMORY);
    return nvt_findings_add(findings, &finding, err);
}

static int find_refused(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_levels levels = {0};
    int status = 0;
    if (nvt_levels_make(&levels, view->trace))
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < levels.count && !status; i++)
        if (nvt_is_viewed(view, levels.series[i].process))
            status = look_at(rule, view, &levels.series[i], findings, err);
    nvt_levels_free(&levels);
    return status ? status : look_at_calls(rule, view, findings, err);
}

const struct nvt_rule nvt_rule_refused = {
    .cause = "out of memory",
    .about = "an allocation that found no room",
    .means = "The device had no room for an allocation. PyTorch frees its cache and tries again, "
             "which is slow; if that fails, the program ends with an error.",
    .found = "PyTorch's memory snapshots report it (oom), with how often, for how much, and what "
             "was in use, reserved and free then. If enough was reserved and not in use, memory "
             "was fragmented. Also if a call such as cudaMalloc returned 2, out of memory.",
    .threshold = "once; known from PyTorch's memory snapshots, and from calls that return it",
    .remedy = "reduce what memory_at_peak shows most of: smaller batches, torch.utils.checkpoint "
              "for activations, an optimizer with less state",
    .helped = "Smaller micro-batches with gradient accumulation, activation checkpointing, bf16, "
              "8-bit or sharded optimizers (ZeRO, FSDP), CPU offload; against fragmentation, "
              "expandable_segments:True.",
    .confused = "Memory growth: it fits at first and later does not. Held memory: it would fit, "
                "but is fragmented. Other processes on the same GPU need memory that no trace of "
                "this program shows.",
    .show = "stats -r memory_at_peak",
    .confidence = NVT_SEEN,
    .look = find_refused,
};
