#include "measured_work.h"

#include <math.h>

#include "../device/devices.h"
#include "../input/data_sheet.h"

#define LINE 64 /* bytes of a cache line, of x86-64 */

const char *nvt_unmeasured_text(enum nvt_unmeasured why)
{
    static const char *const texts[] = {
        [NVT_UNMEASURED_NO_TRACE] = "no trace has the range",
        [NVT_UNMEASURED_HOST] = "no hardware counters of the host",
        [NVT_UNMEASURED_HOST_FLOPS] = "no counter of the host's FLOPs",
        [NVT_UNMEASURED_NO_SAMPLES] = "no GPU metrics",
        [NVT_UNMEASURED_SEVERAL] = "GPU metrics, but operations on several devices",
        [NVT_UNMEASURED_NO_SHEET] = "GPU metrics, but of a GPU whose data sheet is not known",
        [NVT_UNMEASURED_NO_METRIC] = "no such GPU metric",
        [NVT_UNMEASURED_FP32] = "fp32 is not multiplied by tensor cores",
        [NVT_UNMEASURED_NO_PEAK] = "no peak of this precision in the data sheet",
        [NVT_UNMEASURED_SHORT] = "shorter than 3 samples",
        [NVT_UNMEASURED_LOST] = "samples are missing"};
    return texts[why];
}

int nvt_measured_has_bytes(const struct nvt_measured_sum *sum)
{
    return sum->bytes.counted_ns > 0 || sum->bytes.sampled_ns > 0 || sum->missed_ns > 0;
}

int nvt_measured_has_any(const struct nvt_measured_sum *sum)
{
    return nvt_measured_has_bytes(sum) || sum->flops.counted_ns > 0 || sum->active_ns > 0;
}

/* --- what there is ------------------------------------------------------------------------------ */

/* The data sheet of the only device that a trace has operations of. */
static enum nvt_unmeasured find_sheet(const struct nvt_trace *trace, struct nvt_peaks *sheet)
{
    const struct nvt_ops *ops = &trace->ops;
    for (uint32_t i = 1; i < ops->count; i++)
        if (ops->device[i] != ops->device[0] || ops->process[i] != ops->process[0])
            return NVT_UNMEASURED_SEVERAL;
    return nvt_data_sheet(nvt_device_name(trace, ops->process[0], ops->device[0]), sheet)
               ? NVT_UNMEASURED_NO_TRACE
               : NVT_UNMEASURED_NO_SHEET;
}

int nvt_measured_work_make(struct nvt_measured_work *measured, const struct nvt_trace *trace,
                           struct nvt_error *err)
{
    measured->trace = trace;
    measured->why_unknown = NVT_UNMEASURED_NO_SAMPLES;
    if (nvt_device_counts_make(&measured->on_device, trace, err))
        return -1;
    if (trace->ops.count && nvt_has_gpu_metrics(trace)) {
        if (nvt_gpu_metrics_make(&measured->metrics, trace))
            return nvt_fail_at(err, trace->path, -1, "out of memory");
        measured->device = nvt_device_metrics_of(&measured->metrics, trace, trace->ops.process[0],
                                                 trace->ops.device[0]);
        measured->why_unknown = find_sheet(trace, &measured->sheet);
    }
    measured->is_counted = trace->range_counts.count > 0;
    return measured->is_counted ? nvt_counted_ranges_make(&measured->counted, trace, err) : 0;
}

void nvt_measured_work_free(struct nvt_measured_work *measured)
{
    nvt_gpu_metrics_free(&measured->metrics);
    nvt_counted_ranges_free(&measured->counted);
    nvt_device_counts_free(&measured->on_device);
}

/* --- samples ------------------------------------------------------------------------------------ */

/* Samples of metrics whose percentages add up to one. Why there is nothing of them, or NO_TRACE: `of` has it. */
static enum nvt_unmeasured sample(const struct nvt_measured_work *measured,
                                  const struct nvt_projected *projected,
                                  const enum nvt_metric_kind *kinds, int count,
                                  struct nvt_metric_sum *of)
{
    for (int i = 0; i < count; i++) {
        const struct nvt_gpu_metric *metric = measured->device.of[kinds[i]];
        struct nvt_metric_sum one = {.ns = 0};
        if (!metric)
            return NVT_UNMEASURED_NO_METRIC;
        nvt_gpu_metric_add(metric, projected->start, projected->end, &one);
        if (!one.spans)
            return one.short_ ? NVT_UNMEASURED_SHORT : NVT_UNMEASURED_LOST;
        of->integral += one.integral;
        of->low += one.low;
        of->high += one.high;
        of->ns = one.ns;
    }
    of->high = fmin(of->high, 100 * of->ns);
    return NVT_UNMEASURED_NO_TRACE;
}

/* `peak`: a second's worth at 100 %. */
static void add_sampled(const struct nvt_metric_sum *of, double peak,
                        struct nvt_measured_amount *amount)
{
    const double each = peak / 100 / 1e9; /* of 1 % in a ns */
    amount->sampled += of->integral * each;
    amount->low += of->low * each;
    amount->high += of->high * each;
    amount->sampled_ns += of->ns;
}

static enum nvt_unmeasured add_dram(const struct nvt_measured_work *measured,
                                    const struct nvt_projected *projected,
                                    struct nvt_measured_amount *bytes)
{
    static const enum nvt_metric_kind kinds[] = {NVT_METRIC_DRAM_READ, NVT_METRIC_DRAM_WRITE};
    struct nvt_metric_sum of = {.ns = 0};
    if (!(measured->sheet.bytes > 0))
        return measured->why_unknown;
    const enum nvt_unmeasured why = sample(measured, projected, kinds, 2, &of);
    if (why == NVT_UNMEASURED_NO_TRACE)
        add_sampled(&of, measured->sheet.bytes, bytes);
    return why;
}

/* Products of fp32 are those of other units. */
static enum nvt_unmeasured add_tensor(const struct nvt_measured_work *measured,
                                      const struct nvt_projected *projected, enum nvt_roof roof,
                                      struct nvt_measured_sum *sum)
{
    static const enum nvt_metric_kind kind = NVT_METRIC_TENSOR;
    struct nvt_metric_sum of = {.ns = 0};
    if (measured->why_unknown == NVT_UNMEASURED_NO_SAMPLES)
        return NVT_UNMEASURED_NO_SAMPLES;
    const enum nvt_unmeasured why = sample(measured, projected, &kind, 1, &of);
    if (why != NVT_UNMEASURED_NO_TRACE)
        return why;
    sum->active += of.integral;
    sum->active_ns += of.ns;
    if (measured->why_unknown != NVT_UNMEASURED_NO_TRACE)
        return measured->why_unknown;
    if (roof == NVT_ROOF_FP32)
        return NVT_UNMEASURED_FP32;
    if (roof >= NVT_ROOFS || !(measured->sheet.flops[roof] > 0))
        return NVT_UNMEASURED_NO_PEAK;
    add_sampled(&of, measured->sheet.flops[roof], &sum->flops);
    return NVT_UNMEASURED_NO_TRACE;
}

/* --- a range ------------------------------------------------------------------------------------ */

static void add_counted(double amount, double ns, struct nvt_measured_amount *to)
{
    if (isnan(amount))
        return;
    to->counted += amount;
    to->counted_ns += ns;
}

static enum nvt_unmeasured add_misses(const struct nvt_measured_work *measured, uint32_t range,
                                      double ns, struct nvt_measured_sum *sum)
{
    const int64_t misses =
        measured->is_counted ? measured->counted.all[range].of[NVT_COUNT_CACHE_MISSES] : -1;
    if (misses < 0)
        return NVT_UNMEASURED_HOST;
    sum->missed += (double)misses * LINE;
    sum->missed_ns += ns;
    return NVT_UNMEASURED_NO_TRACE;
}

void nvt_measured_work_add(const struct nvt_measured_work *measured, uint32_t range,
                           const struct nvt_projected *projected, enum nvt_roof roof,
                           struct nvt_measured_sum *sum)
{
    const struct nvt_ranges *ranges = &measured->trace->ranges;
    const struct nvt_device_count *count = nvt_device_count_of(&measured->on_device, range);
    const double ns = projected ? (double)(projected->end - projected->start)
                                : (double)(ranges->end[range] - ranges->start[range]);
    add_counted(count ? count->bytes : NAN, ns, &sum->bytes);
    add_counted(count ? count->flops : NAN, ns, &sum->flops);
    const enum nvt_unmeasured bytes = projected ? add_dram(measured, projected, &sum->bytes)
                                                : add_misses(measured, range, ns, sum);
    const enum nvt_unmeasured flops =
        projected ? add_tensor(measured, projected, roof, sum) : NVT_UNMEASURED_HOST_FLOPS;
    if (bytes != NVT_UNMEASURED_NO_TRACE)
        sum->bytes.why = bytes;
    if (flops != NVT_UNMEASURED_NO_TRACE)
        sum->flops.why = flops;
}
