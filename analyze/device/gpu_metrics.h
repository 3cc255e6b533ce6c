/*
 * Samples of GPU metrics (nsys profile --gpu-metrics-devices) in spans of time: the mean over them, between bounds.
 *
 * A sample is what the GPU counted since the sample before it, divided by that time: the mean over an interval that ends with the
 * sample. (That nsys's timestamps are ends of intervals is our reading of how such counters work; nsys does not say it.) The samples
 * that lie wholly in a span are known. Of the first and the last one only a part lies in it, and what that part had is not
 * known: everything, or nothing, as far as the metric's greatest value allows. So the truth lies between two bounds, which are not
 * a matter of chance. A span of less than three sample intervals would have bounds that say nothing, and is told of no metric.
 *
 * Where samples were dropped, the one behind the gap is of one interval; in the gap a percentage is anything from 0 to 100, and a
 * span with a gap has no mean of another metric, nor of any where half of it is missing.
 *
 * A metric belongs to the operations of the GPU with its identity. Where that is unknown, it is used if all metrics are of one GPU.
 */
#ifndef NVT_GPU_METRICS_H
#define NVT_GPU_METRICS_H

#include "../model/counters.h"

#define NVT_METRIC_LEAST 3 /* sample intervals in a span */

struct nvt_gpu_metric {
    /* NULL: the counter is no metric of a GPU, or has too few samples */
    const struct nvt_counter_course *course;
    double interval_ns; /* the median */
    double most;        /* 100 of a percentage, else INFINITY */
    /* half of the last digit: 0.5 where all samples are whole, as in nsys's files */
    double rounding;
};

/* Zero-initialise; release with nvt_gpu_metrics_free, also after a failure. */
struct nvt_gpu_metrics {
    struct nvt_counter_courses courses;
    struct nvt_gpu_metric *items; /* one a counter of the trace */
    uint32_t count;
};

/* Whether a counter is one: of the machine, of a GPU, and none of those that the recorder reads of NVML. */
int nvt_is_gpu_metric(const struct nvt_trace *trace, uint32_t counter);
int nvt_has_gpu_metrics(const struct nvt_trace *trace);

/* 0, or -1 when out of memory. */
int nvt_gpu_metrics_make(struct nvt_gpu_metrics *metrics, const struct nvt_trace *trace);
void nvt_gpu_metrics_free(struct nvt_gpu_metrics *metrics);

/* What spans add up to; means are integrals over ns. Zero-initialise. */
struct nvt_metric_sum {
    double integral, low, high; /* the metric's unit times ns: by time, at least, at most */
    double ns;
    uint64_t spans, samples;  /* samples: with any part in a span */
    uint64_t short_, unknown; /* spans that are left out: too short; with samples missing */
};

void nvt_gpu_metric_add(const struct nvt_gpu_metric *metric, int64_t from, int64_t to,
                        struct nvt_metric_sum *sum);

/* When a device was at work for a range: from the first to the last of its operations there. */
struct nvt_gpu_span {
    uint32_t range, gpu; /* a string: the device's identity (nvt_device_gpu), 0 unknown */
    int64_t start, end;
};

/* A span for each range and device that it has operations on, of all ranges; malloc'ed with *count, NULL with err filled (out of
 * memory). `flags`: of the projection (project.h). */
struct nvt_gpu_span *nvt_gpu_spans(const struct nvt_trace *trace, unsigned flags, uint32_t *count,
                                   struct nvt_error *err);

#endif
