/*
 * Bytes that ranges moved, as something counted them: for the roofline, next to those that the program declares.
 *
 * On a device they are reads and writes of its memory, from samples of GPU metrics (gpu_metrics.h): percent of the peak, times
 * the bandwidth on its maker's data sheet. On the host they are misses of the last cache, by the processor's counters (record --trace
 * counters), times a cache line: of user code, of the range's own thread, without what a prefetcher brings or a core writes back, so
 * less than all.
 */
#ifndef NVT_MEASURED_BYTES_H
#define NVT_MEASURED_BYTES_H

#include "../device/metric_kinds.h"
#include "../device/project.h"
#include "device_counts.h"
#include "range_counts.h"

enum nvt_bytes_source {
    NVT_BYTES_OF_NONE,
    NVT_BYTES_OF_DRAM,
    NVT_BYTES_OF_MISSES,
    NVT_BYTES_OF_COUNTERS /* of the device, over the range, exactly (device_counts.h) */
};

/* Sums over ranges. Zero-initialise. */
struct nvt_measured_sum {
    double bytes, low, high; /* of misses: `high` is INFINITY */
    double ns;               /* in which they were measured */
    double flops, flops_ns;  /* that the device counted, and in which */
    enum nvt_bytes_source source;
};

/* What of a trace measures bytes. Zero-initialise; release with nvt_measured_bytes_free, also after a failure. */
struct nvt_measured_bytes {
    const struct nvt_trace *trace;
    struct nvt_gpu_metrics metrics;
    struct nvt_device_metrics device;
    double bandwidth; /* bytes/s; 0: no metrics, or an unknown device, or several */
    struct nvt_device_counts on_device;
    struct nvt_counted_ranges counted;
    int is_counted;
};

/* 0, or -1 with err filled (out of memory). */
int nvt_measured_bytes_make(struct nvt_measured_bytes *measured, const struct nvt_trace *trace,
                            struct nvt_error *err);
void nvt_measured_bytes_free(struct nvt_measured_bytes *measured);

/* Add what a range moved, if that is known; `projected`: what it did on the device, NULL: nothing. */
void nvt_measured_bytes_add(const struct nvt_measured_bytes *measured, uint32_t range,
                            const struct nvt_projected *projected, struct nvt_measured_sum *sum);

#endif
