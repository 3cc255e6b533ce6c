/*
 * GPU metrics by what they say. They are found by their names, which are nsys's ("DRAM Read Bandwidth", by the chip "… Throughput")
 * or CUPTI's ("dram__read_throughput…").
 */
#ifndef NVT_METRIC_KINDS_H
#define NVT_METRIC_KINDS_H

#include "gpu_metrics.h"

enum nvt_metric_kind {
    NVT_METRIC_DRAM_READ,
    NVT_METRIC_DRAM_WRITE,
    NVT_METRIC_TENSOR,
    NVT_METRIC_PCIE_READ,
    NVT_METRIC_PCIE_WRITE,
    NVT_METRIC_SM_ACTIVE,
    NVT_METRIC_KINDS
};

/* Those of a device's GPU, in percent; NULL: it has none, or no samples. */
struct nvt_device_metrics {
    const struct nvt_gpu_metric *of[NVT_METRIC_KINDS];
};
struct nvt_device_metrics nvt_device_metrics_of(const struct nvt_gpu_metrics *metrics,
                                                const struct nvt_trace *trace, uint32_t process,
                                                uint32_t device);

/* The sample whose interval a moment lies in, in percent; NaN: there is none. */
double nvt_metric_at(const struct nvt_gpu_metric *metric, int64_t moment);

#endif
