/* many small kernels: most kernels are shorter than it takes to launch one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/sample.h"
#include "../device/devices.h"
#include "../diagnosis/diagnose.h"
#include "../device/gaps.h"

#define LEAST_SHARE    0.2
#define LEAST_AN_UNIT  20
#define LEAST_COUNT    100
#define USUAL_LAUNCH   5000  /* ns, where no call is on record */
#define LONGEST_LAUNCH 10000 /* a launch that takes longer waits for room in the queue */

struct small {
    double limit; /* ns */
    uint64_t count, kernels;
    double ns, gaps_ns;
    uint64_t *names;  /* how many by name */
    uint32_t busiest; /* the name with the most of them */
};

/* The median time of a launch in the steady part. -1 when out of memory. */
static double launch_time(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    double *values = malloc(((size_t)trace->apis.count + 1) * sizeof(*values));
    size_t count = 0;
    if (!values)
        return -1;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        if (nvt_is_steady_call(view, i) && nvt_call_launches(nvt_name(trace, trace->apis.name[i])))
            values[count++] = (double)(trace->apis.end[i] - trace->apis.start[i]);
    const double median = nvt_sample_median(values, count);
    free(values);
    return count ? fmin(median, LONGEST_LAUNCH) : USUAL_LAUNCH;
}

/* Kernels of graphs are left out: their launches have been joined already. */
static void add_kernels_device(const struct nvt_view *view, const struct nvt_used_device *device,
                               struct small *small, struct nvt_finding *finding)
{
    const struct nvt_trace *trace = view->trace;
    const struct nvt_ops *ops = &trace->ops;
    int64_t until = ops->start[device->ops[0]];
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t op = device->ops[i];
        double ns = (double)(ops->end[op] - ops->start[op]);
        double gap = ops->start[op] > until ? (double)(ops->start[op] - until) : 0;
        until = ops->end[op] > until ? ops->end[op] : until;
        if (ops->kind[op] != NVT_OP_KERNEL || !nvt_is_steady(view, ops->start[op]) ||
            (ops->detail[op] != NVT_NONE && trace->kernels.graph[ops->detail[op]]))
            continue;
        small->kernels++;
        if (ns >= small->limit)
            continue;
        small->count++;
        small->ns += ns;
        small->gaps_ns += fmin(gap, small->limit);
        nvt_finding_point(finding, ops->start[op]);
        if (++small->names[ops->name[op]] > small->names[small->busiest])
            small->busiest = ops->name[op];
    }
}

static int add_up_kernels(const struct nvt_view *view, struct small *small,
                          struct nvt_finding *finding, struct nvt_error *err)
{
    int status = 0;
    small->limit = launch_time(view);
    small->names = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, sizeof(uint64_t));
    if (!small->names || small->limit < 0)
        status = nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->device_count && !status; i++)
        add_kernels_device(view, &view->devices[i], small, finding);
    free(small->names);
    small->names = NULL;
    return status;
}

static int find_kernels(const struct nvt_rule *rule, const struct nvt_view *view,
                        struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct small small = {0};
    if (!view->device_count)
        return 0;
    if (add_up_kernels(view, &small, &finding, err))
        return -1;
    double least = view->iteration_count ? LEAST_AN_UNIT * view->units : LEAST_COUNT;
    double share = (small.ns + small.gaps_ns) / view->span_ns / view->device_count;
    if ((double)small.count < least || small.count * 2 < small.kernels || share < LEAST_SHARE)
        return 0;
    finding.cost_ns = (small.ns + small.gaps_ns) / view->units / view->device_count;
    nvt_finding_about_kernel(&finding, nvt_name(view->trace, small.busiest));
    snprintf(finding.what, sizeof(finding.what),
             "%.0f %% of kernels are shorter than a launch, most of them %s",
             100 * (double)small.count / (double)small.kernels, finding.subject);
    snprintf(
        finding.evidence, sizeof(finding.evidence),
        "%s of %s kernels %s are shorter than a launch (%s), %s on average; with the gaps before "
        "them %.0f %% of the time",
        NVT_COUNT((double)small.count / view->units),
        NVT_COUNT((double)small.kernels / view->units), view->per, NVT_TIME(small.limit),
        NVT_TIME(small.ns / (double)small.count), 100 * share);
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_kernels = {
    .cause = "many small kernels",
    .about = "many kernels that are shorter than their launches",
    .means = "Most kernels do so little that launching them takes longer than running them. The "
             "GPU spends its time on the fixed cost of each kernel, and on gaps between them. "
             "Fewer, larger kernels would do the same work sooner.",
    .found = "A kernel is small if it is shorter than the trace's own median launch. The cost is "
             "the time of small kernels with the gaps before them, each gap up to the length of a "
             "launch. Kernels of CUDA graphs do not count.",
    .threshold =
        "half of all kernels, 20 per iteration (100 without iterations), and 20 % of the time with "
        "the gaps before them; small means shorter than the trace's own median launch (at most 10 "
        "µs: longer ones wait for room; 5 µs if none was recorded), because launching then takes "
        "longer than the work; kernels of CUDA graphs do not count",
    .remedy = "fuse elementwise kernels, do one grouped or batched operation instead of many, or "
              "capture the iteration into a CUDA graph",
    .in_pytorch = "torch.compile, which fuses elementwise kernels (mode=\"reduce-overhead\" "
                  "captures CUDA graphs), a larger batch, fused=True in the optimizer, operations "
                  "on a whole batch instead of loops",
    .helped = "torch.compile and similar compilers fuse chains of elementwise kernels. fused=True "
              "optimizers update all parameters in a few kernels. cublasGemmStridedBatched and "
              "grouped GEMMs replace loops over small matrices. A CUDA graph keeps the kernels but "
              "removes their launches.",
    .confused = "Launch-bound: the GPU waits for launches; kernels may be long enough. The two "
                "often come together, and a CUDA graph helps against both. Small grid: kernels "
                "that last long but use few SMs.",
    .show = "stats -r cuda_gpu_kern_sum",
    .confidence = NVT_LIKELY,
    .needs = NVT_RULE_OPS,
    .look = find_kernels,
};
