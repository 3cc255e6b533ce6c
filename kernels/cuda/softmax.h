/*
 * The device's own form of the attention's softmax; kernels/ops/attention.c calls it. A warp keeps whole rows in its
 * registers: they are read once and written once, and nobody waits for a block. Rows of more than 1024 have a block each.
 */
#ifndef NVT_CUDA_SOFTMAX_H
#define NVT_CUDA_SOFTMAX_H

#include "../ops/attention.h"

/* nvt_attention_softmax and its backward. There are fewer rows than a launch takes. */
void nvt_cuda_attention_softmax(const struct nvt_attention *attention, void *p, const void *s);
void nvt_cuda_attention_softmax_backward(const struct nvt_attention *attention, void *ds,
                                         const void *p, const void *dp);

#endif
