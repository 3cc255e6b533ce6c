/*
 * gpu_metrics_by_range: what samples of GPU metrics say of ranges, from their first to their last operation on the device, and in
 * the second table of kernels, by name, over all traces. The mean lies between "Low" and "High" (gpu_metrics.h); spans of less
 * than three sample intervals are left out, and counted.
 */
#include <inttypes.h>
#include <math.h>

#include "../device/devices.h"
#include "../device/gpu_metrics.h"
#include "../device/metric_sums.h"
#include "report.h"

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
    nvt_table_put(table, nvt_groups_part(groups, group, NVT_METRIC_OF_NAME),
                  nvt_groups_part(groups, group, NVT_METRIC_GPU),
                  nvt_groups_part(groups, group, NVT_METRIC_NAME),
                  nvt_text_if_any(nvt_groups_part(groups, group, NVT_METRIC_UNIT)), sum->spans,
                  sum->short_ + sum->unknown, (int64_t)sum->ns, sum->samples,
                  sum->integral / sum->ns, sum->low / sum->ns,
                  isinf(sum->high) ? NAN : sum->high / sum->ns);
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

static int add_trace(struct nvt_groups *groups, const struct nvt_trace *trace,
                     const struct nvt_making *making)
{
    const unsigned flags = nvt_input_projection(making->input);
    return nvt_metric_sums_add(groups, trace, flags, making->err) || note_shared(making, trace) ? -1
                                                                                                : 0;
}

static int is_in(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_has_gpu_metrics(input->traces[i].trace))
            return 1;
    return 0;
}

static int put_gpu_metrics_by_range(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_groups groups = {.item_size = sizeof(struct nvt_metric_sum)};
    uint64_t left_out[2] = {0, 0};
    int status = 0;
    (void)table;
    for (size_t i = 0; i < making->input->trace_count && !status; i++)
        if (nvt_has_gpu_metrics(making->input->traces[i].trace))
            status = add_trace(&groups, making->input->traces[i].trace, making);
    for (uint32_t i = 0; i < groups.count && !status; i++)
        put_gpu_metrics_row(making->tables[groups.groups[i].key[NVT_METRIC_OF]], &groups, i,
                            left_out);
    if (!status)
        note_left_out(making, left_out);
    if (!status && is_in(making->input) && !nvt_table_rows(making->tables[NVT_METRIC_OF_RANGES]) &&
        !nvt_table_rows(making->tables[NVT_METRIC_OF_KERNELS]))
        nvt_note(making->input, "note: %s", nvt_no_metric_sums_text(making->input));
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
