/*
 * Where a rank of a job stands in its parallelism: which stage of the pipeline it is, which of its data group, and so on.
 *
 * It is known where a framework says what a group is for, or calls it so, with all its members: Megatron's
 * "TENSOR_MODEL_PARALLEL_GROUP", a device mesh's "mesh_dp", "tp0". The place is that of the rank among the members. Names of two axes
 * ("DATA_PARALLEL_GROUP_WITH_CP") are of none, and where groups of one axis disagree, the place is unknown.
 */
#ifndef NVT_RANK_PLACES_H
#define NVT_RANK_PLACES_H

#include <stdint.h>

#include "../model/trace.h"

enum nvt_rank_axis {
    NVT_AXIS_PIPELINE,
    NVT_AXIS_DATA,
    NVT_AXIS_TENSOR,
    NVT_AXIS_EXPERT,
    NVT_AXIS_CONTEXT,
    NVT_RANK_AXES
};

/* "pipeline", "data" …; static text. */
const char *nvt_rank_axis_name(enum nvt_rank_axis axis);

/* Of the rank of that number, of each axis, from what its trace says of groups; NVT_NONE: unknown. */
void nvt_rank_places(const struct nvt_trace *trace, int64_t number, uint32_t places[NVT_RANK_AXES]);

#endif
