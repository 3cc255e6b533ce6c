#include "measured_bytes.h"

#include <math.h>

#include "../device/devices.h"
#include "../input/data_sheet.h"

#define LINE 64 /* bytes of a cache line, of x86-64 */

/* The bandwidth of the only device that a trace has operations of; 0: there are several, or it is in no data sheet. */
static double bandwidth_of(const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    struct nvt_peaks peaks;
    for (uint32_t i = 1; i < ops->count; i++)
        if (ops->device[i] != ops->device[0] || ops->process[i] != ops->process[0])
            return 0;
    return ops->count &&
                   nvt_data_sheet(nvt_device_name(trace, ops->process[0], ops->device[0]), &peaks)
               ? peaks.bytes
               : 0;
}

int nvt_measured_bytes_make(struct nvt_measured_bytes *measured, const struct nvt_trace *trace,
                            struct nvt_error *err)
{
    measured->trace = trace;
    if (nvt_device_counts_make(&measured->on_device, trace, err))
        return -1;
    if (trace->ops.count && nvt_has_gpu_metrics(trace)) {
        if (nvt_gpu_metrics_make(&measured->metrics, trace))
            return nvt_fail_at(err, trace->path, -1, "out of memory");
        measured->device = nvt_device_metrics_of(&measured->metrics, trace, trace->ops.process[0],
                                                 trace->ops.device[0]);
        measured->bandwidth = bandwidth_of(trace);
    }
    measured->is_counted = trace->range_counts.count > 0;
    return measured->is_counted ? nvt_counted_ranges_make(&measured->counted, trace, err) : 0;
}

void nvt_measured_bytes_free(struct nvt_measured_bytes *measured)
{
    nvt_gpu_metrics_free(&measured->metrics);
    nvt_counted_ranges_free(&measured->counted);
    nvt_device_counts_free(&measured->on_device);
}

static void add_dram(const struct nvt_measured_bytes *measured,
                     const struct nvt_projected *projected, struct nvt_measured_sum *sum)
{
    static const enum nvt_metric_kind kinds[] = {NVT_METRIC_DRAM_READ, NVT_METRIC_DRAM_WRITE};
    struct nvt_metric_sum of[2] = {{.ns = 0}, {.ns = 0}};
    for (int i = 0; i < 2; i++)
        if (measured->device.of[kinds[i]])
            nvt_gpu_metric_add(measured->device.of[kinds[i]], projected->start, projected->end,
                               &of[i]);
    if (!of[0].spans || !of[1].spans)
        return;
    const double each = measured->bandwidth / 100 / 1e9; /* bytes of 1 % in a ns */
    sum->bytes += (of[0].integral + of[1].integral) * each;
    sum->low += (of[0].low + of[1].low) * each;
    sum->high += fmin(of[0].high + of[1].high, 100 * of[0].ns) * each;
    sum->ns += of[0].ns;
    sum->source = NVT_BYTES_OF_DRAM;
}

/* Whether the device counted bytes over the range. */
static int add_counted(const struct nvt_measured_bytes *measured, uint32_t range,
                       const struct nvt_projected *projected, struct nvt_measured_sum *sum)
{
    const struct nvt_ranges *ranges = &measured->trace->ranges;
    const struct nvt_device_count *count = nvt_device_count_of(&measured->on_device, range);
    const int64_t start = projected ? projected->start : ranges->start[range],
                  end = projected ? projected->end : ranges->end[range];
    if (count && !isnan(count->flops)) {
        sum->flops += count->flops;
        sum->flops_ns += (double)(end - start);
    }
    if (!count || isnan(count->bytes))
        return 0;
    sum->bytes += count->bytes;
    sum->low += count->bytes;
    sum->high += count->bytes;
    sum->ns += (double)(end - start);
    sum->source = NVT_BYTES_OF_COUNTERS;
    return 1;
}

void nvt_measured_bytes_add(const struct nvt_measured_bytes *measured, uint32_t range,
                            const struct nvt_projected *projected, struct nvt_measured_sum *sum)
{
    const struct nvt_ranges *ranges = &measured->trace->ranges;
    if (add_counted(measured, range, projected, sum))
        return;
    if (projected) {
        if (measured->bandwidth > 0)
            add_dram(measured, projected, sum);
        return;
    }
    const int64_t misses =
        measured->is_counted ? measured->counted.all[range].of[NVT_COUNT_CACHE_MISSES] : -1;
    if (misses < 0)
        return;
    sum->bytes += (double)misses * LINE;
    sum->low += (double)misses * LINE;
    sum->high = INFINITY;
    sum->ns += (double)(ranges->end[range] - ranges->start[range]);
    sum->source = NVT_BYTES_OF_MISSES;
}
