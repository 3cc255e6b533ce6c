/*
 * The device's own form of quantisation; kernels/ops/quantize.c calls it. The same numbers to the bit, with accesses
 * of 16 bytes: a device needs that many bytes under way to use its memory's bandwidth.
 *
 * Each returns 0, or -1 when the shape is not one of its own: lines of x a multiple of 8 numbers (for the transposed
 * ones, of 4 rows too), and arrays at addresses that are multiples of 16.
 */
#ifndef NVT_CUDA_QUANTIZE_H
#define NVT_CUDA_QUANTIZE_H

#include "../ops/half.h"

/* nvt_quantize_rows. */
int nvt_cuda_quantize_rows(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n);

/* top[stripe][n]: the largest magnitude of each column within each stripe of `stripe` rows. */
int nvt_cuda_top_of_columns(uint16_t *top, const nvt_half *x, int64_t rows, int64_t n,
                            int64_t stripe);

/* s[n] from the top[stripes][n] of the above. Of any shape. */
int nvt_cuda_scale_of_columns(float *s, const uint16_t *top, int64_t stripes, int64_t n);

/* top[share]: the largest magnitude of each `share` numbers of `count`; share is a multiple of 8. */
int nvt_cuda_top_of_shares(uint16_t *top, const nvt_half *x, int64_t count, int64_t share);

/* q[count] of x[count] with the scale s[1]. */
int nvt_cuda_quantize_all(int8_t *q, const float *s, const nvt_half *x, int64_t count);

/* nvt_quantize_cast; nvt_dequantize. */
int nvt_cuda_quantize_cast(int8_t *q, const nvt_half *x, int64_t n);
int nvt_cuda_dequantize(nvt_half *out, const int32_t *acc, const float *sa, const float *sb,
                        int shared, int64_t rows, int64_t n);

/* q[n][rows] of x[rows][n] with the scales s[n], or s[1] where `shared`. */
int nvt_cuda_quantize_transposed(int8_t *q, const float *s, const nvt_half *x, int64_t rows,
                                 int64_t n, int shared);

#endif
