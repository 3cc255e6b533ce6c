/* idle tensor cores: GEMMs that do not use them, by samples of GPU metrics. */
#include <stdio.h>
#include <stdlib.h>

#include "../device/kernel_class.h"
#include "../../lib/kernel_names.h"
#include "../diagnosis/metric_spells.h"

#define MOST_ACTIVE 5 /* % */
#define LEAST_SHARE 0.2

struct gemms {
    struct nvt_metric_sum sum; /* of those that are long enough */
    double *ns;                /* by string: of their names */
};

static void add_device(struct gemms *gemms, const struct nvt_view *view,
                       const struct nvt_gpu_metrics *metrics, const struct nvt_used_device *device,
                       struct nvt_finding *finding)
{
    const struct nvt_device_metrics found =
        nvt_device_metrics_of(metrics, view->trace, device->process, device->device);
    const struct nvt_gpu_metric *tensor = found.of[NVT_METRIC_TENSOR];
    const struct nvt_ops *ops = &view->trace->ops;
    for (uint32_t i = 0; tensor && i < device->count; i++) {
        const uint32_t op = device->ops[i];
        const uint64_t before = gemms->sum.spans;
        if (ops->kind[op] != NVT_OP_KERNEL || !nvt_is_steady_op(view, op) ||
            nvt_kernel_class_of(view->trace, op) != NVT_CLASS_GEMM)
            continue;
        nvt_gpu_metric_add(tensor, ops->start[op], ops->end[op], &gemms->sum);
        if (gemms->sum.spans == before)
            continue;
        gemms->ns[ops->name[op]] += (double)(ops->end[op] - ops->start[op]);
        nvt_finding_point(finding, ops->start[op]);
    }
}

static int tell_tensor(const struct gemms *gemms, const struct nvt_view *view,
                       struct nvt_finding *finding, struct nvt_findings *findings,
                       struct nvt_error *err)
{
    const struct nvt_metric_sum *sum = &gemms->sum;
    const uint32_t name = nvt_most_of_names(view->trace, gemms->ns);
    char kernel[NVT_TELLING_NAME_MAX];
    finding->cost_ns = sum->ns / view->device_count / view->units;
    nvt_finding_about_kernel(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what),
             "tensor cores are idle in GEMMs, which take %.0f %% of the time, most of it %.80s",
             100 * sum->ns / view->span_ns / view->device_count,
             nvt_kernel_label(nvt_name(view->trace, name), kernel));
    snprintf(finding->evidence, sizeof(finding->evidence),
             "tensor cores are active for %.1f %% of it (%.1f to %.1f %%), by %s of %s; %s are too "
             "short for the samples",
             sum->integral / sum->ns, sum->low / sum->ns, sum->high / sum->ns,
             NVT_COUNTED((double)sum->samples, "sample", "samples"),
             NVT_COUNTED((double)sum->spans, "GEMM", "GEMMs"),
             NVT_COUNTED((double)sum->short_, "other", "others"));
    return nvt_findings_add(findings, finding, err);
}

static int find_tensor(const struct nvt_rule *rule, const struct nvt_view *view,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_gpu_metrics metrics = {.items = NULL};
    struct gemms gemms = {
        .ns = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, sizeof(*gemms.ns))};
    const struct nvt_metric_sum *sum = &gemms.sum;
    int status = gemms.ns && !nvt_gpu_metrics_make(&metrics, view->trace)
                     ? 0
                     : nvt_fail_at(err, view->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < view->device_count && !status; i++)
        add_device(&gemms, view, &metrics, &view->devices[i], &finding);
    if (!status && sum->ns > 0 && sum->ns >= LEAST_SHARE * view->span_ns * view->device_count &&
        sum->high < MOST_ACTIVE * sum->ns)
        status = tell_tensor(&gemms, view, &finding, findings, err);
    nvt_gpu_metrics_free(&metrics);
    free(gemms.ns);
    return status;
}

const struct nvt_rule nvt_rule_tensor = {
    .cause = "idle tensor cores",
    .about = "GEMMs and convolutions that run without tensor cores",
    .means =
        "Products of matrices run on the ordinary cores of the multiprocessors, at a fraction "
        "of the FLOP/s that tensor cores reach: the type, its setting or the layout rules them "
        "out.",
    .found = "Samples of the GPU's counters have the time in which tensor cores are active; it is "
             "averaged over GEMMs of three sample intervals and more. Needs record --trace "
             "metrics, or nsys's GPU metrics.",
    .threshold =
        "less than 5 % active, as the upper bound, in GEMMs that take 20 % of the time. The "
        "cost is all of their time, which is more than any change can gain",
    .remedy =
        "tf32 for fp32 (torch.set_float32_matmul_precision('high')), bf16 or fp16 (autocast); "
        "sizes in multiples of 8 (16 bits) or 16 (8 bits); channels_last for convolutions",
    .helped =
        "One line that allows tf32; autocast to bf16; padding a vocabulary of 50257 to 50304.",
    .confused =
        "Small grid and launch-bound: there tensor cores are idle because the GPU is. Double "
        "precision has tensor cores on some GPUs alone.",
    .show = "stats -r gpu_metrics_by_range",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS | NVT_RULE_METRICS,
    .look = find_tensor,
};
