/*
 * The device's own form of the attention's softmax; kernels/ops/attention.c calls it. A warp keeps whole rows in its
 * registers: they are read once and written once, and nobody waits for a block.
 */
#ifndef NVT_CUDA_SOFTMAX_H
#define NVT_CUDA_SOFTMAX_H

#include "../ops/attention.h"

/* nvt_attention_softmax and its backward. 0, or -1 when the shape is not one of its own: length is at most 1024. */
int nvt_cuda_attention_softmax(const struct nvt_attention *attention, real *p, const real *s);
int nvt_cuda_attention_softmax_backward(const struct nvt_attention *attention, real *ds,
                                        const real *p, const real *dp);

#endif
