/* DRAM-bound: the device's memory is near its peak, by samples of GPU metrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/kernel_names.h"
#include "../diagnosis/metric_spells.h"

#define LEAST_PEAK  75 /* % of the memory's peak, read and written */
#define LEAST_SHARE 0.2

/* The samples of a device at which its memory is that busy. 0, or -1 when out of memory. */
static int add_device(struct nvt_spells *spells, const struct nvt_view *view,
                      const struct nvt_gpu_metrics *metrics, const struct nvt_used_device *device)
{
    const struct nvt_device_metrics found =
        nvt_device_metrics_of(metrics, view->trace, device->process, device->device);
    const struct nvt_gpu_metric *read = found.of[NVT_METRIC_DRAM_READ],
                                *write = found.of[NVT_METRIC_DRAM_WRITE];
    for (uint32_t i = 0; read && i < read->course->count; i++) {
        const int64_t time = read->course->time[i];
        const double written = write ? nvt_metric_at(write, time) : 0;
        const double both = read->course->value[i] + (isnan(written) ? 0 : written);
        if (nvt_is_steady(view, time) && both >= LEAST_PEAK &&
            nvt_spells_add(spells, read, i, both))
            return -1;
    }
    return 0;
}

static int tell_dram(const struct nvt_spells *all, const struct nvt_view *view, const double *ns,
                     struct nvt_finding *finding, struct nvt_findings *findings,
                     struct nvt_error *err)
{
    const uint32_t name = nvt_most_of_names(view->trace, ns);
    char kernel[NVT_TELLING_NAME_MAX];
    finding->cost_ns = all->ns / view->device_count / view->units;
    nvt_finding_about_kernel(finding, nvt_name(view->trace, name));
    snprintf(finding->what, sizeof(finding->what),
             "device memory is at %.0f %% of its peak for %.0f %% of the time, most of it in %.80s",
             all->sum / all->ns, 100 * all->ns / view->span_ns / view->device_count,
             name ? nvt_kernel_label(nvt_name(view->trace, name), kernel) : "no kernel");
    snprintf(finding->evidence, sizeof(finding->evidence),
             "%s %s in samples of %d %% and more, read and written together; kernels run for %s of "
             "it in %.80s",
             NVT_TIME(all->ns / view->device_count / view->units), view->per, LEAST_PEAK,
             NVT_TIME(ns[name] / view->device_count / view->units),
             name ? nvt_kernel_label(nvt_name(view->trace, name), kernel) : "no kernel");
    return nvt_findings_add(findings, finding, err);
}

static int find_dram(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_gpu_metrics metrics = {.items = NULL};
    struct nvt_spells all = {.ns = 0};
    double *ns = calloc((size_t)nvt_strings_count(view->trace->strings) + 1, sizeof(*ns));
    int failed = !ns || nvt_gpu_metrics_make(&metrics, view->trace);
    for (uint32_t i = 0; i < view->device_count && !failed; i++) {
        struct nvt_spells spells = {.ns = 0};
        failed = add_device(&spells, view, &metrics, &view->devices[i]);
        if (!failed)
            nvt_spells_add_kernels(&spells, view, &view->devices[i], ns);
        all.ns += spells.ns;
        all.sum += spells.sum;
        nvt_spells_point(&spells, &finding);
        free(spells.items);
    }
    int status = failed ? nvt_fail_at(err, view->trace->path, -1, "out of memory") : 0;
    if (!status && all.ns >= LEAST_SHARE * view->span_ns * view->device_count && all.ns > 0)
        status = tell_dram(&all, view, ns, &finding, findings, err);
    nvt_gpu_metrics_free(&metrics);
    free(ns);
    return status;
}

const struct nvt_rule nvt_rule_dram = {
    .cause = "DRAM-bound",
    .about = "kernels that the bandwidth of the device's memory limits",
    .means = "The memory of the GPU moves nearly as many bytes as it can. Kernels wait for it, and "
             "the multiprocessors would have time for more FLOPs than they get data for.",
    .found =
        "Samples of the GPU's counters have reads and writes of the device's memory in percent "
        "of its peak; the kernels that run in these samples are named. Needs record --trace "
        "metrics, or nsys's GPU metrics; the metrics are those of the whole GPU.",
    .threshold =
        "75 % of the peak, read and written together, in samples that make up 20 % of the "
        "time: a plain copy reaches 80 to 95 %. The cost is all of that time, which is more "
        "than any change can gain",
    .remedy = "move fewer bytes: fused kernels (torch.compile), smaller types (bf16, fp8), larger "
              "batches where weights are read for each; ncu --set roofline shows one kernel",
    .helped =
        "Fusing elementwise operations into their neighbours; attention that keeps its scores "
        "on chip; optimizers over all parameters at once; activations in 16 bits.",
    .confused =
        "Exposed copies are on the bus, not in the device's memory. Small grid: a kernel of "
        "few blocks does not reach the bandwidth.",
    .show = "stats -r gpu_metrics_by_range",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS | NVT_RULE_METRICS,
    .look = find_dram,
};
