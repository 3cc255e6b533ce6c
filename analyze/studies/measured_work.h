/*
 * Bytes that ranges moved and FLOPs that they executed, as something counted or sampled them: for the roofline, next to those that the
 * program declares.
 *
 * Counted: by a device, over the range, exactly (device_counts.h). Sampled: by samples of GPU metrics (gpu_metrics.h), percent of the
 * peak times what the maker's data sheet states of the device, its bandwidth for bytes, its FLOP/s for tensor pipes. The bounds are those
 * of the samples. That a pipe is active says nothing of what it does: at the data sheet's clock, FLOPs are what it does at most.
 *
 * On the host there are misses of the last cache, by the processor's counters (record --trace counters), times a cache line: of user code,
 * of the range's own thread, without what a prefetcher brings or a core writes back. They are the least that was moved.
 */
#ifndef NVT_MEASURED_WORK_H
#define NVT_MEASURED_WORK_H

#include "../device/metric_kinds.h"
#include "../device/project.h"
#include "../input/peaks.h"
#include "device_counts.h"
#include "range_counts.h"

/* Why bytes, or FLOPs, of a range were not measured. */
enum nvt_unmeasured {
    NVT_UNMEASURED_NO_TRACE, /* nothing was added */
    NVT_UNMEASURED_HOST,     /* no hardware counters of the host */
    NVT_UNMEASURED_HOST_FLOPS,
    NVT_UNMEASURED_NO_SAMPLES,
    NVT_UNMEASURED_SEVERAL, /* of which device a range was is not known */
    NVT_UNMEASURED_NO_SHEET,
    NVT_UNMEASURED_NO_METRIC,
    NVT_UNMEASURED_FP32,
    NVT_UNMEASURED_NO_PEAK, /* in the data sheet, of the precision */
    NVT_UNMEASURED_SHORT,
    NVT_UNMEASURED_LOST,
    NVT_UNMEASURED_COUNT
};

/* As half a sentence. */
const char *nvt_unmeasured_text(enum nvt_unmeasured why);

/* Sums over ranges; each has the time in which it was measured, ns, 0: it was not. */
struct nvt_measured_amount {
    double counted, counted_ns;
    double sampled, low, high, sampled_ns; /* low, high: the bounds of `sampled` */
    enum nvt_unmeasured why;               /* of the last range that has neither */
};

/* Zero-initialise. */
struct nvt_measured_sum {
    struct nvt_measured_amount bytes, flops;
    double missed, missed_ns; /* bytes of cache lines, at least */
    double active, active_ns; /* of tensor pipes, percent times ns */
};

/* Whether anything was measured: bytes; any of it. */
int nvt_measured_has_bytes(const struct nvt_measured_sum *sum);
int nvt_measured_has_any(const struct nvt_measured_sum *sum);

/* What of a trace measures. Zero-initialise; release with nvt_measured_work_free, also after a failure. */
struct nvt_measured_work {
    const struct nvt_trace *trace;
    struct nvt_gpu_metrics metrics;
    struct nvt_device_metrics device;
    struct nvt_peaks sheet; /* of the only device; zeros: it is not known */
    /* where there are no samples, or no sheet; NO_TRACE: there are */
    enum nvt_unmeasured why_unknown;
    struct nvt_device_counts on_device;
    struct nvt_counted_ranges counted;
    int is_counted;
};

/* 0, or -1 with err filled (out of memory). */
int nvt_measured_work_make(struct nvt_measured_work *measured, const struct nvt_trace *trace,
                           struct nvt_error *err);
void nvt_measured_work_free(struct nvt_measured_work *measured);

/* Add what is known of a range; `projected`: what it did on the device, NULL: nothing; `roof`: what it multiplies. */
void nvt_measured_work_add(const struct nvt_measured_work *measured, uint32_t range,
                           const struct nvt_projected *projected, enum nvt_roof roof,
                           struct nvt_measured_sum *sum);

#endif
