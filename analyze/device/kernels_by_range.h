/*
 * Kernels by the ranges that hold their launch, with nsys's definitions (Nsight Systems Analysis Guide; project.h), over traces.
 *
 * A kernel counts for every range that holds its launch, so nested ranges hold it several times. Kernels of no range are
 * groups of their own.
 */
#ifndef NVT_KERNELS_BY_RANGE_H
#define NVT_KERNELS_BY_RANGE_H

#include "../input/input.h"
#include "../model/groups.h"

/* Parts of a group's key: names of the groups, and numbers. */
enum {
    NVT_BY_RANGE_NAME,
    NVT_BY_RANGE_STYLE, /* NVT_BY_NO_RANGE: of no range */
    NVT_BY_RANGE_PID,   /* NVT_BY_NO_ID: of no thread, as */
    NVT_BY_RANGE_TID,
    NVT_BY_RANGE_KERNEL,
    NVT_BY_RANGE_PARTS
};

#define NVT_BY_NO_RANGE 2u
#define NVT_BY_NO_ID    UINT32_MAX

/* What groups carry; their values are the kernels' times. */
struct nvt_launching_ranges {
    uint32_t instances; /* ranges with such kernels */
    uint32_t last;      /* the number of the last of them and 1, while a trace is added */
};

/* Add the kernels of a trace of the input, named as it says. 0, or -1 with err filled, or with err left alone: out of memory. */
int nvt_kernels_by_range_add(struct nvt_groups *groups, struct nvt_input *input,
                             const struct nvt_input_trace *from, struct nvt_error *err);

#endif
