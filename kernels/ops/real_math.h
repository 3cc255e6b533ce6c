/*
 * Mathematics of `real`, on the host and in device code alike: of float where real is float, so
 * that no kernel computes in double by accident.
 */
#ifndef NVT_REAL_MATH_H
#define NVT_REAL_MATH_H

#include <math.h>
#include <string.h>

#include "../backend.h"

#ifdef NVT_REAL_DOUBLE
#define real_exp(x)  exp(x)
#define real_log(x)  log(x)
#define real_sqrt(x) sqrt(x)
#define real_erf(x)  erf(x)
#else
#ifdef __CUDACC__
#define real_exp(x) expf(x)
#else
#define real_exp(x) nvt_expf(x)
#endif
#define real_log(x)  logf(x)
#define real_sqrt(x) sqrtf(x)
#define real_erf(x)  erff(x)
#endif
/* The larger of two numbers. A device has an instruction for it; a branch is what the loads behind it would wait for. */
#ifdef __CUDACC__
#define real_max(a, b) fmaxf(a, b)
#else
#define real_max(a, b) ((b) > (a) ? (b) : (a))
#endif

/* Before a FOR_THREADS whose turns are independent, but for additions to `sum`: the host takes
 * several at once, and adds in another order than one by one. */
#if defined(_OPENMP) && !defined(__CUDACC__)
#define NVT_PRAGMA(text)  _Pragma(#text)
#define NVT_SIMD          NVT_PRAGMA(omp simd)
#define NVT_SIMD_SUM(sum) NVT_PRAGMA(omp simd reduction(+ : sum))
#else
#define NVT_SIMD
#define NVT_SIMD_SUM(sum)
#endif

#ifndef __CUDACC__
/*
 * exp of a float, to two units of the last place, without branches or calls, so that a loop of it
 * becomes vector instructions: x = n·ln 2 + r, the Taylor polynomial of degree 7 in r (its rest is
 * below 5.2e-9 for |r| ≤ ln 2 / 2), times 2ⁿ. What would be subnormal is 0, and beyond x = 88 it is
 * infinite.
 */
static inline float nvt_expf(float x)
{
    float bounded = x < -87 ? -87 : x > 88 ? 88 : x;
    float n = rintf(bounded * 1.44269504f);
    /* ln 2 in two pieces, of which the first has few enough bits for n times it to be exact. */
    float r = bounded - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1;
    p = p * r + 1;
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof(power));
    p *= power;
    p = x < -87 ? 0 : p;
    return x > 88 ? p * INFINITY : p;
}
#endif

/* The element of an element-wise kernel: chunk `row`, place j in it; at or beyond n there is none.
 */
#define NVT_ELEMENT(row, j) ((row)*NVT_CHUNK_ELEMENTS + (j))

#endif
