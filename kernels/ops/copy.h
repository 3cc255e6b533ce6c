/*
 * Copies on the device, as kernels, so that they stand in a trace beside the rest.
 */
#ifndef NVT_COPY_H
#define NVT_COPY_H

#include "../backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[n] = x[n]; and every element of out[n] becomes `value`. */
void nvt_copy(real *out, const real *x, int64_t n);
void nvt_fill(real *out, int64_t n, real value);
/* out[n], stored numbers of the precision, from x[n]. */
void nvt_store(enum nvt_precision precision, void *out, const real *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
