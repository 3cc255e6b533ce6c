/*
 * What products of low precision are exactly, and how far off they may be (tests/bounds.h), for results of check_arrays.h.
 * Only the reference works it out, from inputs that it has on the host; elsewhere these do nothing.
 */
#ifndef NVT_CHECK_BOUNDS_H
#define NVT_CHECK_BOUNDS_H

#include "check_arrays.h"

/* out[m][n] = op(a)·op(b) of halves, as nvt_backend_matmul_half computes it. */
void check_half_product(struct check *check, const nvt_half *out, int transpose_a, int transpose_b,
                        const nvt_half *a, const nvt_half *b, int64_t m, int64_t n, int64_t k);

/* out[m][n] = x·wᵀ of x[m][k] and w[n][k], or w[k][n] where `turned`, by int8: a scale for each row of x, and for each
 * row of wᵀ or, where `shared`, one for all of w. */
void check_int8_product(struct check *check, const nvt_half *out, const nvt_half *x,
                        const nvt_half *w, int turned, int shared, int64_t m, int64_t n, int64_t k);

/* out[rows][n] = acc·sa·sb/127², as of nvt_dequantize, and where acc is a[rows][k]·b[n][k]ᵀ. */
void check_scaled(struct check *check, const nvt_half *out, const int32_t *acc, const float *sa,
                  const float *sb, int shared, int64_t rows, int64_t n);
void check_scaled_product(struct check *check, const nvt_half *out, const int8_t *a,
                          const float *sa, const int8_t *b, const float *sb, int shared,
                          int64_t rows, int64_t n, int64_t k);

#endif
