/*
 * GELU by the error function: y = x · Φ(x), Φ(x) = (1 + erf(x / √2)) / 2 (Hendrycks and Gimpel,
 * 2016), not its tanh approximation. dy/dx = Φ(x) + x · φ(x) with φ the normal density.
 */
#ifndef NVT_GELU_H
#define NVT_GELU_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] from x[n]; and dx[n] from dy[n] and the x of the forward pass. dx may be dy. All are stored numbers of the precision. */
void nvt_gelu_forward(enum nvt_precision precision, void *y, const void *x, int64_t n);
void nvt_gelu_backward(enum nvt_precision precision, void *dx, const void *dy, const void *x,
                       int64_t n);

#ifdef __cplusplus
}
#endif
#endif
