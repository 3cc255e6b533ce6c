/* GPU metrics of ranges, from their first to their last operation on a device, and of kernels, by name, over traces. */
#ifndef NVT_METRIC_SUMS_H
#define NVT_METRIC_SUMS_H

#include "../input/input.h"
#include "../model/groups.h"

/* Parts of a group's key: of what, its name, and the GPU, name and unit of the metric. */
enum {
    NVT_METRIC_OF,
    NVT_METRIC_OF_NAME,
    NVT_METRIC_GPU,
    NVT_METRIC_NAME,
    NVT_METRIC_UNIT,
    NVT_METRIC_PARTS
};
enum { NVT_METRIC_OF_RANGES, NVT_METRIC_OF_KERNELS };

/* Add a trace to groups that carry a struct nvt_metric_sum (gpu_metrics.h); `flags`: of the projection (project.h). 0, or -1 with err
 * filled, or with err left alone: out of memory. */
int nvt_metric_sums_add(struct nvt_groups *groups, const struct nvt_trace *trace, unsigned flags,
                        struct nvt_error *err);

/* Why an input that has GPU metrics has none of ranges. */
const char *nvt_no_metric_sums_text(const struct nvt_input *input);

#endif
