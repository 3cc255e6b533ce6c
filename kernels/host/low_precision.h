/* The host's product of 8-bit integers: what it is computed with, and the plain loop. */
#ifndef NVT_LOW_PRECISION_H
#define NVT_LOW_PRECISION_H

#include <stdint.h>

/* Whether oneDNN is built in and computes exactly on this processor. */
int nvt_host_int8_by_library(void);

/* c[m][n] = a[m][k]·b[n][k]ᵀ, 32-bit sums, by a plain loop. */
void nvt_host_int8_loop(int64_t m, int64_t n, int64_t k, const int8_t *a, const int8_t *b,
                        int32_t *c);

#endif
