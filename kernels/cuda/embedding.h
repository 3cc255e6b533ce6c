/*
 * The device's own form of the gradient of an embedding's table; kernels/ops/embedding.c calls it.
 */
#ifndef NVT_CUDA_EMBEDDING_H
#define NVT_CUDA_EMBEDDING_H

#include "../backend.h"

/* dtable[token[k]] += dout[k][n] for all k below count, of each token in their order. */
void nvt_cuda_add_to_table(real *dtable, const real *dout, const int32_t *token, int64_t count,
                           int64_t n);

#endif
