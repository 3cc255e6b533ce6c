#include "metric_sums.h"

#include <stdlib.h>

#include "devices.h"
#include "gpu_metrics.h"

static struct nvt_metric_sum *sum_of(struct nvt_groups *groups, const struct nvt_trace *trace,
                                     int of, uint32_t name, uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    const uint32_t parts[] = {
        (uint32_t)of, name,
        nvt_groups_text(groups, nvt_domain_name(trace, counters->domain[counter])),
        nvt_groups_string(groups, counters->name[counter]),
        nvt_groups_string(groups, counters->unit[counter])};
    return nvt_groups_item(groups, nvt_groups_key(groups, parts, NVT_METRIC_PARTS));
}

/* A span of what has that name, in a table: all metrics of its GPU. 0 or -1. */
static int add_span(struct nvt_groups *groups, const struct nvt_trace *trace,
                    const struct nvt_gpu_metrics *metrics, int of, uint32_t name,
                    const struct nvt_gpu_span *span)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        if (!metrics->items[i].course || trace->counters.gpu[i] != span->gpu)
            continue;
        struct nvt_metric_sum *sum = sum_of(groups, trace, of, name, i);
        if (!sum)
            return -1;
        nvt_gpu_metric_add(&metrics->items[i], span->start, span->end, sum);
    }
    return 0;
}

static int add_ranges(struct nvt_groups *groups, const struct nvt_trace *trace,
                      const struct nvt_gpu_metrics *metrics, unsigned flags, struct nvt_error *err)
{
    uint32_t count = 0;
    struct nvt_gpu_span *spans = nvt_gpu_spans(trace, flags, &count, err);
    int status = spans ? 0 : -1;
    for (uint32_t i = 0; i < count && !status; i++) {
        if (!(trace->ranges.flags[spans[i].range] & NVT_RANGE_PARTIAL))
            status = add_span(groups, trace, metrics, NVT_METRIC_OF_RANGES,
                              nvt_groups_range(groups, spans[i].range), &spans[i]);
    }
    free(spans);
    return status;
}

static int add_kernels(struct nvt_groups *groups, const struct nvt_trace *trace,
                       const struct nvt_gpu_metrics *metrics)
{
    const struct nvt_ops *ops = &trace->ops;
    int status = 0;
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        const struct nvt_gpu_span span = {
            .gpu = nvt_device_gpu(trace, ops->process[i], ops->device[i]),
            .start = ops->start[i],
            .end = ops->end[i]};
        if (ops->kind[i] == NVT_OP_KERNEL)
            status = add_span(groups, trace, metrics, NVT_METRIC_OF_KERNELS,
                              nvt_groups_string(groups, ops->name[i]), &span);
    }
    return status;
}

int nvt_metric_sums_add(struct nvt_groups *groups, const struct nvt_trace *trace, unsigned flags,
                        struct nvt_error *err)
{
    struct nvt_gpu_metrics metrics = {.items = NULL};
    nvt_groups_trace(groups, trace);
    const int failed = nvt_gpu_metrics_make(&metrics, trace) ||
                       add_ranges(groups, trace, &metrics, flags, err) ||
                       add_kernels(groups, trace, &metrics);
    nvt_gpu_metrics_free(&metrics);
    return failed ? -1 : 0;
}

/* Whether a metric is of that GPU. */
static int has_metric(const struct nvt_trace *trace, uint32_t gpu)
{
    for (uint32_t i = 0; i < trace->counters.count; i++)
        if (nvt_is_gpu_metric(trace, i) && trace->counters.gpu[i] == gpu)
            return 1;
    return 0;
}

const char *nvt_no_metric_sums_text(const struct nvt_input *input)
{
    uint64_t count = 0, unknown = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const struct nvt_ops *ops = &trace->ops;
        const int has = nvt_has_gpu_metrics(trace);
        count += has ? ops->count : 0;
        for (uint32_t k = 0; has && k < ops->count; k++) {
            if (k && ops->process[k] == ops->process[k - 1] && ops->device[k] == ops->device[k - 1])
                continue;
            const uint32_t gpu = nvt_device_gpu(trace, ops->process[k], ops->device[k]);
            if (has_metric(trace, gpu))
                return "no range lasts three sample intervals on the device";
            unknown += !gpu;
        }
    }
    return !count ? "there are GPU metrics, but no device operations in the input"
           : unknown
               ? "the GPU that the operations ran on is not known, so that no metric is theirs "
                 "(an nsys export says it in TARGET_INFO_CUDA_DEVICE)"
               : "the GPU metrics are of other GPUs than the operations";
}
