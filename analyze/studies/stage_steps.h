/*
 * Steps of a pipeline by the ranges around them (stage_names.h), as they ran on devices: from the first kernel that a range launched to the
 * end of the last. Of a range that computes, kernels that compute count; of one that receives, those that communicate.
 */
#ifndef NVT_STAGE_STEPS_H
#define NVT_STAGE_STEPS_H

#include "../model/trace.h"
#include "stage_names.h"

struct nvt_stage_step {
    struct nvt_stage_name name;
    uint32_t range, process, device;
    int64_t start, end; /* ns */
};

/* Of all devices of a trace, in the order of their starts; malloc'ed, NULL where there are none. 0, or -1 when out of memory. */
int nvt_stage_steps_find(struct nvt_stage_step **steps, uint32_t *count,
                         const struct nvt_trace *trace);

#endif
