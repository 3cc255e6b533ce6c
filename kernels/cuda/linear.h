/*
 * A linear layer's product with its bias in one, by cuBLASLt; kernels/ops/linear.c calls it.
 */
#ifndef NVT_CUDA_LINEAR_H
#define NVT_CUDA_LINEAR_H

#include "../backend.h"

/* nvt_linear_forward. 0, or -1 when cuBLASLt has nothing for the shape, w has a single row or column, there are no
 * rows of x, or b is no multiple of 16 bytes. */
int nvt_cuda_linear(real *y, const real *x, const real *w, const real *b, int64_t rows, int64_t n,
                    int64_t k);

#endif
