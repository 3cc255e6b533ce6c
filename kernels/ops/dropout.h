/*
 * Dropout (Srivastava et al., 2014), inverted as in PyTorch: an element stays with probability 1 −
 * rate and is then divided by 1 − rate, else it is zero. Whether element i stays is a function of
 * (seed, stream, i) alone, by Philox4x32-10: the backward pass, and a recomputation, find the same
 * mask without storing it.
 */
#ifndef NVT_DROPOUT_H
#define NVT_DROPOUT_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] from x[n], or dx from dy: the same function. y may be x. rate in [0, 1); word i of the
 * stream stays when it is at least rate · 2³². */
void nvt_dropout(real *y, const real *x, int64_t n, double rate, uint64_t seed, uint64_t stream);

/* Dropout of GELU (gelu.h), in one pass over memory: y = dropout(gelu(x)), and dx = gelu'(x) · dropout(dy) with the
 * x of the forward pass. y may be x, dx may be dy. */
void nvt_gelu_dropout_forward(real *y, const real *x, int64_t n, double rate, uint64_t seed,
                              uint64_t stream);
void nvt_gelu_dropout_backward(real *dx, const real *dy, const real *x, int64_t n, double rate,
                               uint64_t seed, uint64_t stream);

/* And at the end of a residual's branch: y[rows][n] = x + dropout(y + b), b[n]. */
void nvt_bias_dropout_add(real *y, const real *b, const real *x, int64_t rows, int64_t n,
                          double rate, uint64_t seed, uint64_t stream);

#ifdef __cplusplus
}
#endif
#endif
