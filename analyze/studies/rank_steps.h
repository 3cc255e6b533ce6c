/* The steps of a pipeline on the device of a rank, with what it waited for each. */
#ifndef NVT_RANK_STEPS_H
#define NVT_RANK_STEPS_H

#include "../device/devices.h"
#include "rank_digest.h"
#include "stage_steps.h"

/* Of the steps of a trace those of this device. 0, or -1 when out of memory. */
int nvt_rank_add_steps(struct nvt_rank *rank, const struct nvt_used_device *device,
                       const struct nvt_stage_step *steps, uint32_t count);

#endif
