/*
 * The device's own form of an operation that is hot there; kernels/ops/fragment.c calls it.
 */
#ifndef NVT_CUDA_EXPERT_H
#define NVT_CUDA_EXPERT_H

#include "../backend.h"

/* nvt_expert_forward. 0, or -1 when the shape is not one of its own: columns must be even, and
 * the smaller of batch and fragments, times columns / 64, a number of blocks that fits a launch. */
int nvt_cuda_expert_forward(real *out, const real *x, const real *e, const int32_t *chosen,
                            int64_t batch, int64_t fragments, int64_t width, int64_t columns);

#endif
