/*
 * Cross-entropy of logits x[rows][n] against one target each: −log softmax(x)[target], computed as
 * log Σ exp(x − max) + max − x[target], so that no large logit overflows. Its gradient is
 * softmax(x) − onehot(target).
 */
#ifndef NVT_CROSS_ENTROPY_H
#define NVT_CROSS_ENTROPY_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* loss[rows] and lse[rows], the logarithm of the row's sum of exponentials, which the backward pass
 * takes. Targets are in [0, n): that is the caller's to see to. */
void nvt_cross_entropy_forward(real *loss, real *lse, const real *x, const int32_t *target,
                               int64_t rows, int64_t n);

/* dx[rows][n] = scale · (softmax(x) − onehot), stored numbers of the precision. The gradient of the mean has scale = 1 /
 * rows. dx may be x where both are real. */
void nvt_cross_entropy_backward(enum nvt_precision precision, void *dx, const real *x,
                                const real *lse, const int32_t *target, int64_t rows, int64_t n,
                                real scale);

/* *mean (on the device) = Σ x[n] / n, in a fixed order. */
void nvt_mean(real *mean, const real *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
