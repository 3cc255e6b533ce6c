/*
 * Mathematics of `real`, on the host and in device code alike: of float where real is float, so
 * that no kernel computes in double by accident.
 */
#ifndef NVT_REAL_MATH_H
#define NVT_REAL_MATH_H

#include <math.h>

#include "../backend.h"

#ifdef NVT_REAL_DOUBLE
#define real_exp(x)  exp(x)
#define real_log(x)  log(x)
#define real_sqrt(x) sqrt(x)
#define real_erf(x)  erf(x)
#else
#define real_exp(x)  expf(x)
#define real_log(x)  logf(x)
#define real_sqrt(x) sqrtf(x)
#define real_erf(x)  erff(x)
#endif

/* The element of an element-wise kernel: chunk `row`, place j in it; at or beyond n there is none.
 */
#define NVT_ELEMENT(row, j) ((row)*NVT_CHUNK_ELEMENTS + (j))

#endif
