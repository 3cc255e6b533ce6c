/* Element-wise operations on n numbers. */
#ifndef NVT_VECTOR_H
#define NVT_VECTOR_H

#include "copy.h"

#ifdef __cplusplus
extern "C" {
#endif

void nvt_add(real *y, const real *x, int64_t n); /* y += x */
/* y = max(x, 0); and dx = dy where y > 0, else 0. y may be x, dx may be dy. */
void nvt_relu_forward(real *y, const real *x, int64_t n);
void nvt_relu_backward(real *dx, const real *dy, const real *y, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
