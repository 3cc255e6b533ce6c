/*
 * Sums of columns, in the device's own form; kernels/ops/linear.c calls it.
 */
#ifndef NVT_CUDA_COLUMNS_H
#define NVT_CUDA_COLUMNS_H

#include "../backend.h"

/* out[n] += Σ rows of x[rows][n], in the same order in every run. */
void nvt_cuda_sum_columns(real *out, const real *x, int64_t rows, int64_t n);

#endif
