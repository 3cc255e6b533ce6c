/*
 * Normalisation of rows x[rows][n], dense and on the device, with a weight (and a bias) of n.
 *
 *   RMSNorm:   y = g · x · r,            r = 1 / √(mean(x²) + eps)   (Zhang and Sennrich, 2019)
 *   LayerNorm: y = g · (x − m) · r + b,  r = 1 / √(var(x) + eps)     (Ba, Kiros and Hinton, 2016)
 *
 * var divides by n. Gradients, with h = (x − m) · r (m = 0 for RMSNorm) and u = g · dy:
 *
 *   dx = r · (u − h · mean(u·h))           RMSNorm
 *   dx = r · (u − mean(u) − h · mean(u·h)) LayerNorm
 *   dg += Σ over rows of dy · h,  db += Σ over rows of dy
 *
 * Sums over rows are taken in a fixed order: the same numbers in every run of a backend.
 */
#ifndef NVT_NORM_H
#define NVT_NORM_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of scratch that a backward pass needs. */
int64_t nvt_norm_scratch(int64_t n);

/* y[rows][n], stored numbers of the precision, and r[rows] from x[rows][n] and g[n]. */
void nvt_rmsnorm_forward(enum nvt_precision precision, void *y, real *r, const real *x,
                         const real *g, int64_t rows, int64_t n, real eps);

/* dx[rows][n] is written, or added to where `add` is set (a residual); dg[n] is added to. r is the
 * forward pass's, scratch of nvt_norm_scratch(n). dy[rows][n] are stored numbers of the precision, and so is
 * copy[rows][n], what dx has become, or NULL. dx may be dy where both are real. */
void nvt_rmsnorm_backward(enum nvt_precision precision, real *dx, void *copy, int add, real *dg,
                          const void *dy, const real *x, const real *g, const real *r, int64_t rows,
                          int64_t n, real *scratch);

/* y[rows][n], m[rows] and r[rows] from x[rows][n], g[n] and b[n]. */
void nvt_layernorm_forward(real *y, real *m, real *r, const real *x, const real *g, const real *b,
                           int64_t rows, int64_t n, real eps);

/* As nvt_rmsnorm_backward, with dy as real, and db[n] is added to. */
void nvt_layernorm_backward(real *dx, int add, real *dg, real *db, const real *dy, const real *x,
                            const real *g, const real *m, const real *r, int64_t rows, int64_t n,
                            real *scratch);

#ifdef __cplusplus
}
#endif
#endif
