/* PCIe-bound: the bus is near its peak while the device does nothing else, by samples of GPU metrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../diagnosis/metric_spells.h"

#define LEAST_PEAK  75 /* % of the bus's peak, one way */
#define MOST_ACTIVE 10 /* % of the multiprocessors */
#define LEAST_SHARE 0.1

struct bus {
    double ns, to_device; /* ns of samples; in which more comes to the device than leaves it */
};

/* The samples of a device at which the bus is that busy, and the device is not. 0, or -1 when out of memory. */
static int add_device(struct bus *bus, const struct nvt_view *view,
                      const struct nvt_gpu_metrics *metrics, const struct nvt_used_device *device,
                      struct nvt_finding *finding)
{
    const struct nvt_device_metrics found =
        nvt_device_metrics_of(metrics, view->trace, device->process, device->device);
    const struct nvt_gpu_metric *in = found.of[NVT_METRIC_PCIE_READ],
                                *out = found.of[NVT_METRIC_PCIE_WRITE],
                                *active = found.of[NVT_METRIC_SM_ACTIVE];
    struct nvt_spells spells = {.ns = 0};
    int status = 0;
    for (uint32_t i = 0; in && out && active && i < in->course->count && !status; i++) {
        const int64_t time = in->course->time[i];
        const double came = in->course->value[i], left = nvt_metric_at(out, time),
                     most = fmax(came, left);
        const double before = spells.ns;
        if (!nvt_is_steady(view, time) || !(most >= LEAST_PEAK) ||
            !(nvt_metric_at(active, time) < MOST_ACTIVE))
            continue;
        status = nvt_spells_add(&spells, in, i, most);
        bus->to_device += came >= left || isnan(left) ? spells.ns - before : 0;
    }
    bus->ns += spells.ns;
    nvt_spells_point(&spells, finding);
    free(spells.items);
    return status;
}

static int find_pcie(const struct nvt_rule *rule, const struct nvt_view *view,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    struct nvt_gpu_metrics metrics = {.items = NULL};
    struct bus bus = {0, 0};
    int failed = nvt_gpu_metrics_make(&metrics, view->trace);
    for (uint32_t i = 0; i < view->device_count && !failed; i++)
        failed = add_device(&bus, view, &metrics, &view->devices[i], &finding);
    nvt_gpu_metrics_free(&metrics);
    if (failed)
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    if (!(bus.ns > 0) || bus.ns < LEAST_SHARE * view->span_ns * view->device_count)
        return 0;
    finding.cost_ns = bus.ns / view->device_count / view->units;
    snprintf(finding.what, sizeof(finding.what),
             "the PCIe bus is near its peak and the GPU idle for %.0f %% of the time",
             100 * bus.ns / view->span_ns / view->device_count);
    snprintf(finding.evidence, sizeof(finding.evidence),
             "%s %s in samples with %d %% of the bus's peak and less than %d %% active "
             "multiprocessors; in %.0f %% of it most bytes come to the device",
             NVT_TIME(finding.cost_ns), view->per, LEAST_PEAK, MOST_ACTIVE,
             100 * bus.to_device / bus.ns);
    nvt_finding_about(&finding, "PCIe");
    return nvt_findings_add(findings, &finding, err);
}

const struct nvt_rule nvt_rule_pcie = {
    .cause = "PCIe-bound",
    .about = "a loop in which the GPU waits for bytes from the bus",
    .means = "The bus between host and device moves as many bytes as it can, and no kernel runs "
             "meanwhile. Faster kernels change nothing.",
    .found =
        "Samples of the GPU's counters have both directions of the bus and the share of active "
        "multiprocessors. Needs record --trace metrics, or nsys's GPU metrics.",
    .threshold =
        "75 % of the bus's peak one way, with less than 10 % of the multiprocessors active, "
        "in 10 % of the time: copies that kernels overlap cost nothing",
    .remedy =
        "copy on another stream while kernels run; copy fewer bytes: smaller types, data that "
        "stays on the device, preprocessing there",
    .helped = "Pinned memory with non_blocking=True and a batch that is copied ahead; uint8 images "
              "made float on the device; caching the data set in device memory.",
    .confused =
        "Exposed copies names the copies, and needs no metrics; pages of managed memory and "
        "reads by kernels over the bus are seen only here.",
    .show = "stats -r gpu_metrics_by_range",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_OPS | NVT_RULE_METRICS,
    .look = find_pcie,
};
