/*
 * Quantisation of fp16 to int8 and what computes with it, after SwitchBack (Wortsman et al.,
 * "Stable and low-precision training for large-scale vision-language models", 2023).
 *
 * A group of numbers v (a row, a column, the whole matrix) has the scale s = max|v|, and
 * q = round-half-to-even(127·v / s). The quotient is taken in float: for halves it is never rounded
 * onto or over a tie, so q is what exact arithmetic gives. (With v = V·2^a, s = S·2^b and integers
 * V, S below 2^11, a quotient of about 2^j lies at least 2^(j−20) from a tie that it does not hit;
 * float errs by 2^(j−24).) A group of zeros has s = 0 and q = 0. A group with a NaN or an infinity
 * has s = that (NaN before infinity) and q = 0: whatever is computed from it is NaN.
 *
 * Arrays are dense, row-major and on the device.
 */
#ifndef NVT_QUANTIZE_H
#define NVT_QUANTIZE_H

#include "half.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q[rows][n] and s[rows] of x[rows][n]: a scale for each row. */
void nvt_quantize_rows(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n);

/* q[n][rows], which is the transposed, and s[n] of x[rows][n]: a scale for each column. */
void nvt_quantize_columns_transposed(int8_t *q, float *s, const nvt_half *x, int64_t rows,
                                     int64_t n, uint16_t *scratch);

/* q[rows][n], or q[n][rows] of the second, and s[1] of x[rows][n]: one scale for all. */
void nvt_quantize_all(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n,
                      uint16_t *scratch);
void nvt_quantize_all_transposed(int8_t *q, float *s, const nvt_half *x, int64_t rows, int64_t n,
                                 uint16_t *scratch);

/* Elements of the scratch memory that the three above want for x[rows][n]. */
int64_t nvt_quantize_scratch(int64_t rows, int64_t n);

/* q[n] = x[n] cut to a whole number; beyond ±127 it is ±127, NaN is 0. What the above must cost at
 * least. */
void nvt_quantize_cast(int8_t *q, const nvt_half *x, int64_t n);

/* out[rows][n] = acc · sa[row] · sb[column] / 127²; sb has one element where `shared`. */
void nvt_dequantize(nvt_half *out, const int32_t *acc, const float *sa, const float *sb, int shared,
                    int64_t rows, int64_t n);

/*
 * out[m][n] = a·bᵀ from a[m][k] with sa[m] and b[n][k] with sb[n] (or sb[1] where `shared`): an
 * exact product of integers, then nvt_dequantize, in chunks of rows that fit the scratch memory. k
 * <= 133152.
 */
void nvt_int8_linear(nvt_half *out, const int8_t *a, const float *sa, const int8_t *b,
                     const float *sb, int shared, int64_t m, int64_t n, int64_t k,
                     int32_t *scratch);
int64_t nvt_int8_scratch(int64_t m, int64_t n); /* elements */

/* Conversions of n numbers. */
void nvt_half_from_float(nvt_half *out, const float *x, int64_t n);
void nvt_half_to_float(float *out, const nvt_half *x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
