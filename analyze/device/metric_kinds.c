#include "metric_kinds.h"

#include <math.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "devices.h"

/* Words that all have to be in a name, whatever their case, and those of which one has to be. */
static const struct {
    enum nvt_metric_kind kind;
    const char *word, *either[2];
} names[] = {
    {NVT_METRIC_DRAM_READ, "dram", {"read", "read"}},
    {NVT_METRIC_DRAM_WRITE, "dram", {"write", "write"}},
    {NVT_METRIC_TENSOR, "tensor", {"active", "tensor"}},
    {NVT_METRIC_PCIE_READ, "pcie", {"rx", "read"}},
    {NVT_METRIC_PCIE_WRITE, "pcie", {"tx", "write"}},
    {NVT_METRIC_SM_ACTIVE, "sm", {"sms active", "sm__cycles_active"}},
};

static int is_kind(const char *name, size_t i)
{
    return strcasestr(name, names[i].word) &&
           (strcasestr(name, names[i].either[0]) || strcasestr(name, names[i].either[1]));
}

struct nvt_device_metrics nvt_device_metrics_of(const struct nvt_gpu_metrics *metrics,
                                                const struct nvt_trace *trace, uint32_t process,
                                                uint32_t device)
{
    const uint32_t gpu = nvt_device_gpu(trace, process, device);
    struct nvt_device_metrics found = {{NULL}};
    for (uint32_t i = 0; i < metrics->count; i++) {
        const struct nvt_gpu_metric *metric = &metrics->items[i];
        if (!metric->course || isinf(metric->most) || trace->counters.gpu[i] != gpu)
            continue;
        for (size_t k = 0; k < NVT_COUNT_OF(names); k++)
            if (!found.of[names[k].kind] && is_kind(nvt_name(trace, trace->counters.name[i]), k))
                found.of[names[k].kind] = metric;
    }
    return found;
}

double nvt_metric_at(const struct nvt_gpu_metric *metric, int64_t moment)
{
    const struct nvt_counter_course *course = metric->course;
    const uint32_t at = nvt_course_until(course, moment - 1); /* the first at it, or later */
    return at < course->count && (double)(course->time[at] - moment) < metric->interval_ns
               ? course->value[at]
               : NAN;
}
