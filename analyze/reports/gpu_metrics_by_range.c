/*
 * gpu_metrics_by_range: what samples of GPU metrics say of ranges, from their first to their last operation on the device, and in
 * the second table of kernels, by name, over all traces. The mean lies between "Low" and "High" (gpu_metrics.h); spans of less
 * than three sample intervals are left out, and counted.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "../device/gpu_metrics.h"
#include "../device/devices.h"
#include "../model/groups.h"
#include "report.h"

enum { BY_RANGE, BY_KERNEL };

static struct nvt_metric_sum *sum_of(struct nvt_groups *groups, const struct nvt_trace *trace,
                                     int table, uint32_t name, uint32_t counter)
{
    const struct nvt_counters *counters = &trace->counters;
    const uint32_t parts[] = {
        (uint32_t)table, name,
        nvt_groups_text(groups, nvt_domain_name(trace, counters->domain[counter])),
        nvt_groups_string(groups, counters->name[counter]),
        nvt_groups_string(groups, counters->unit[counter])};
    return nvt_groups_item(groups, nvt_groups_key(groups, parts, 5));
}

/* A span of what has that name, in a table: all metrics of its GPU. 0 or -1. */
static int add_span(struct nvt_groups *groups, const struct nvt_trace *trace,
                    const struct nvt_gpu_metrics *metrics, int table, uint32_t name,
                    const struct nvt_gpu_span *span)
{
    for (uint32_t i = 0; i < metrics->count; i++) {
        if (!metrics->items[i].course || trace->counters.gpu[i] != span->gpu)
            continue;
        struct nvt_metric_sum *sum = sum_of(groups, trace, table, name, i);
        if (!sum)
            return -1;
        nvt_gpu_metric_add(&metrics->items[i], span->start, span->end, sum);
    }
    return 0;
}

static int add_ranges(struct nvt_groups *groups, const struct nvt_trace *trace,
                      const struct nvt_gpu_metrics *metrics, const struct nvt_making *making)
{
    uint32_t count = 0;
    struct nvt_gpu_span *spans =
        nvt_gpu_spans(trace, nvt_input_projection(making->input), &count, making->err);
    int status = spans ? 0 : -1;
    for (uint32_t i = 0; i < count && !status; i++) {
        if (!(trace->ranges.flags[spans[i].range] & NVT_RANGE_PARTIAL))
            status = add_span(groups, trace, metrics, BY_RANGE,
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
            status = add_span(groups, trace, metrics, BY_KERNEL,
                              nvt_groups_string(groups, ops->name[i]), &span);
    }
    return status;
}

/* Metrics are of the whole device, whoever uses it. */
static int note_shared(const struct nvt_making *making, const struct nvt_trace *trace)
{
    struct nvt_used_devices devices = {0};
    const int status = nvt_used_gpus_make(&devices, trace, 0, making->err);
    for (uint32_t i = 0; i < devices.count && !status; i++)
        if (devices.items[i].users > 1)
            nvt_note(making->input,
                     "note: %u processes use one device (%.120s): its metrics are those of all",
                     devices.items[i].users,
                     nvt_device_name(trace, devices.items[i].process, devices.items[i].device));
    nvt_used_devices_free(&devices);
    return status;
}

static void put_gpu_metrics_row(struct nvt_table *table, const struct nvt_groups *groups,
                                uint32_t group, uint64_t *left_out)
{
    const struct nvt_metric_sum *sum = nvt_groups_item(groups, group);
    left_out[0] += sum->short_;
    left_out[1] += sum->unknown;
    if (!sum->spans)
        return;
    nvt_table_put(
        table, nvt_groups_part(groups, group, 1), nvt_groups_part(groups, group, 2),
        nvt_groups_part(groups, group, 3), nvt_text_if_any(nvt_groups_part(groups, group, 4)),
        sum->spans, sum->short_ + sum->unknown, (int64_t)sum->ns, sum->samples,
        sum->integral / sum->ns, sum->low / sum->ns, isinf(sum->high) ? NAN : sum->high / sum->ns);
}

static void note_left_out(const struct nvt_making *making, const uint64_t left_out[2])
{
    if (left_out[0])
        nvt_note(
            making->input,
            "note: left out: spans of less than %d sample intervals, %" PRIu64
            " times a metric and range or kernel; sample faster, or look at ranges around them",
            NVT_METRIC_LEAST, left_out[0]);
    if (left_out[1])
        nvt_note(making->input,
                 "note: left out: spans in which samples are missing, %" PRIu64
                 " times a metric and range or kernel",
                 left_out[1]);
}

/* 0, or -1 with err, or when out of memory. */
static int add_gpu_metrics(struct nvt_groups *groups, const struct nvt_trace *trace,
                           const struct nvt_making *making)
{
    struct nvt_gpu_metrics metrics = {.items = NULL};
    nvt_groups_trace(groups, trace);
    const int status = nvt_gpu_metrics_make(&metrics, trace) ||
                               add_ranges(groups, trace, &metrics, making) ||
                               add_kernels(groups, trace, &metrics) || note_shared(making, trace)
                           ? -1
                           : 0;
    nvt_gpu_metrics_free(&metrics);
    return status;
}

static int is_in(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_has_gpu_metrics(input->traces[i].trace))
            return 1;
    return 0;
}

/* Whether a metric is of that GPU. */
static int has_metric(const struct nvt_trace *trace, uint32_t gpu)
{
    for (uint32_t i = 0; i < trace->counters.count; i++)
        if (nvt_is_gpu_metric(trace, i) && trace->counters.gpu[i] == gpu)
            return 1;
    return 0;
}

/* Why there is nothing of ranges. */
static const char *why_nothing(const struct nvt_input *input)
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

static int put_gpu_metrics_by_range(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_groups groups = {.item_size = sizeof(struct nvt_metric_sum)};
    uint64_t left_out[2] = {0, 0};
    int status = 0;
    (void)table;
    for (size_t i = 0; i < making->input->trace_count && !status; i++)
        if (nvt_has_gpu_metrics(making->input->traces[i].trace))
            status = add_gpu_metrics(&groups, making->input->traces[i].trace, making);
    for (uint32_t i = 0; i < groups.count && !status; i++)
        put_gpu_metrics_row(making->tables[groups.groups[i].key[0]], &groups, i, left_out);
    if (!status)
        note_left_out(making, left_out);
    if (!status && is_in(making->input) && !nvt_table_rows(making->tables[BY_RANGE]) &&
        !nvt_table_rows(making->tables[BY_KERNEL]))
        nvt_note(making->input, "note: %s", why_nothing(making->input));
    nvt_groups_free(&groups);
    return status;
}

#define COLUMNS(kind, instances)                                                                   \
    {                                                                                              \
        kind, {"GPU", NVT_NAMES}, {"Metric", NVT_NAMES}, {"Unit", NVT_SPARE_NAMES},                \
            {instances, NVT_COUNTS}, {"Left Out", NVT_SPARE_COUNTS}, {"Device Time (ns)", NVT_NS}, \
            {"Samples", NVT_COUNTS}, {"Mean", NVT_REALS("", NVT_SIX_DIGITS)},                      \
            {"Low", NVT_REALS("", NVT_SIX_DIGITS)},                                                \
        {                                                                                          \
            "High", NVT_REALS("", NVT_SIX_DIGITS)                                                  \
        }                                                                                          \
    }

#define RANGE                                                                                      \
    {                                                                                              \
        "Range", NVT_RANGES                                                                        \
    }
#define KERNEL                                                                                     \
    {                                                                                              \
        "Name", NVT_KERNELS                                                                        \
    }

static const struct nvt_table_kind more[] = {
    {.name = "gpu_metrics_by_kernel",
     .title = "GPU metrics of kernels",
     .columns = COLUMNS(KERNEL, "Instances"),
     .order = {"-Device Time (ns)", "Name", "Metric"},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_gpu_metrics_by_range = {
    .name = "gpu_metrics_by_range",
    .about = "GPU metrics (DRAM, tensor cores, PCIe …) of ranges and kernels",
    .needs = NVT_PROJECTS,
    .title = "GPU metrics of ranges",
    .columns = COLUMNS(RANGE, "Instances"),
    .order = {"-Device Time (ns)", "Range", "Metric"},
    .missing =
        "no GPU metrics in the input (record --trace metrics, or nsys --gpu-metrics-devices=all)",
    .is_in = is_in,
    .of_input = put_gpu_metrics_by_range,
    .more = more,
};
