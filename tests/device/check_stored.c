/*
 * Operations over stored numbers, in the 16-bit formats: each within half a unit of the last place of the reference, and
 * what the same backend computes over real, rounded, to the bit.
 */
#include "../../kernels/ops/attention.h"
#include "../../kernels/ops/copy.h"
#include "../../kernels/ops/cross_entropy.h"
#include "../../kernels/ops/gelu.h"
#include "../../kernels/ops/norm.h"
#include "../../kernels/ops/optimizer.h"
#include "check_arrays.h"

/* The operation `what` in both formats. */
#define BOTH(what)                                                                                 \
    OP(what##_bf16)                                                                                \
    {                                                                                              \
        what(c, s, NVT_BF16);                                                                      \
    }                                                                                              \
    OP(what##_fp16)                                                                                \
    {                                                                                              \
        what(c, s, NVT_FP16);                                                                      \
    }

/* --- rows, n --- */

static void stored(struct check *c, const int64_t *s, enum nvt_precision p)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    void *out = check_out_stored(c, "out", p, s[0] * s[1]);
    nvt_store(p, out, x, s[0] * s[1]);
    check_rounded(c, "others", out, x);
}
BOTH(stored)

static void stored_gelu(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = s[0] * s[1];
    const void *x = check_stored(c, "x", p, n), *dy = check_stored(c, "dy", p, n);
    void *y = check_out_stored(c, "y", p, n), *dx = check_out_stored(c, "dx", p, n);
    real *whole = check_scratch(c, "whole", n);
    const real *x_real = check_as_real(c, "x as real", x);
    nvt_gelu_forward(p, y, x, n);
    nvt_gelu_forward(NVT_FP32, whole, x_real, n);
    check_rounded(c, "others of y", y, whole);
    nvt_gelu_backward(p, dx, dy, x, n);
    nvt_gelu_backward(NVT_FP32, whole, check_as_real(c, "dy as real", dy), x_real, n);
    check_rounded(c, "others of dx", dx, whole);
}
BOTH(stored_gelu)

static void stored_rmsnorm(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = s[0] * s[1];
    const real *x = check_in(c, "x", n), *g = check_in(c, "g", s[1]);
    void *y = check_out_stored(c, "y", p, n);
    real *r = check_scratch(c, "r", s[0]), *whole = check_scratch(c, "whole", n);
    nvt_rmsnorm_forward(p, y, r, x, g, s[0], s[1], (real)1e-5);
    nvt_rmsnorm_forward(NVT_FP32, whole, r, x, g, s[0], s[1], (real)1e-5);
    check_rounded(c, "others", y, whole);
}
BOTH(stored_rmsnorm)

/* The residual's gradient and what products read of it. */
static void stored_rmsnorm_backward(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = s[0] * s[1];
    const real *x = check_in(c, "x", n), *g = check_in(c, "g", s[1]);
    const real *r = check_positive(c, "r", s[0]);
    const void *dy = check_stored(c, "dy", p, n);
    real *dx = check_both(c, "dx", n), *dg = check_both(c, "dg", s[1]);
    void *copy = check_out_stored(c, "copy", p, n);
    real *scratch = check_scratch(c, "scratch", nvt_norm_scratch(s[1]));
    nvt_rmsnorm_backward(p, dx, copy, 1, dg, dy, x, g, r, s[0], s[1], scratch);
    check_rounded(c, "others", copy, dx);
}
BOTH(stored_rmsnorm_backward)

static void stored_cross_entropy(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = s[0] * s[1];
    const real *x = check_in(c, "x", n), *lse = check_positive(c, "lse", s[0]);
    const int32_t *target = check_indices(c, "target", s[0], s[1]);
    void *dx = check_out_stored(c, "dx", p, n);
    real *whole = check_scratch(c, "whole", n);
    nvt_cross_entropy_backward(p, dx, x, lse, target, s[0], s[1], (real)0.125);
    nvt_cross_entropy_backward(NVT_FP32, whole, x, lse, target, s[0], s[1], (real)0.125);
    check_rounded(c, "others", dx, whole);
}
BOTH(stored_cross_entropy)

/* --- n --- */

/* At an address that eight bytes go to, and at one that they do not. */
static void stored_adamw(struct check *c, const int64_t *s, enum nvt_precision p)
{
    static const struct nvt_adamw adamw = {(real)1e-3, (real)0.9,  (real)0.95,
                                           (real)1e-8, (real)0.01, (real)0.5};
    static const real values[NVT_ADAMW_CLOCK] = {7, (real)1.9168e-3, (real)1.8207};
    const real *g = check_in(c, "g", s[0]);
    real *w = check_both(c, "w", s[0]), *m = check_both(c, "m", s[0]);
    real *v = check_both_positive(c, "v", s[0]);
    const real *clock = check_given(c, "clock", values, NVT_ADAMW_CLOCK);
    void *copy = check_out_stored(c, "copy", p, s[0]);
    char *odd = (char *)check_out_stored(c, "odd", p, s[0] + 1);
    nvt_adamw_step(p, w, odd + nvt_backend_stored_bytes(p), g, m, v, s[0], clock, &adamw);
    nvt_adamw_step(p, w, copy, g, m, v, s[0], clock, &adamw);
    check_rounded(c, "others", copy, w);
}
BOTH(stored_adamw)

/* --- groups, length, width, causal --- */

static void stored_softmax(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = s[0] * s[1] * s[1];
    struct nvt_attention low = {s[0], s[1], s[2], (int)s[3] - 1, p}, real_ones = low;
    const void *x = check_stored(c, "s", p, n), *dp = check_stored(c, "dp", p, n);
    void *out = check_out_stored(c, "p", p, n), *ds = check_out_stored(c, "ds", p, n);
    real *whole = check_scratch(c, "whole", n);
    real_ones.precision = NVT_FP32;
    nvt_attention_softmax(&low, out, x);
    nvt_attention_softmax(&real_ones, whole, check_as_real(c, "s as real", x));
    check_rounded(c, "others of p", out, whole);
    nvt_attention_softmax_backward(&low, ds, x, dp);
    nvt_attention_softmax_backward(&real_ones, whole, check_as_real(c, "x as real", x),
                                   check_as_real(c, "dp as real", dp));
    check_rounded(c, "others of ds", ds, whole);
}
BOTH(stored_softmax)

/* Moved, and nothing else. */
static void stored_heads(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = 6 * s[0] * s[1] * s[2];
    struct nvt_heads heads = {s[0], s[1], 2, s[2], 3, s[1], 1, p};
    const void *rows = check_stored(c, "rows", p, n);
    void *split = check_out_stored(c, "split", p, n), *merged = check_out_stored(c, "merged", p, n);
    nvt_heads_split(&heads, split, rows, NULL);
    nvt_heads_merge(&heads, merged, split);
}
BOTH(stored_heads)

static void stored_heads_bias(struct check *c, const int64_t *s, enum nvt_precision p)
{
    int64_t n = 6 * s[0] * s[1] * s[2];
    struct nvt_heads heads = {s[0], s[1], 2, s[2], 3, s[1], 1, p};
    const void *rows = check_stored(c, "rows", p, n);
    nvt_heads_split(&heads, check_out_stored(c, "split", p, n), rows, check_in(c, "b", 6 * s[2]));
}
BOTH(stored_heads_bias)

/* --- m, n, k, products --- */

/* A sum is rounded once, as it is stored. */
static void stored_product(struct check *c, const int64_t *s, enum nvt_precision p)
{
    struct nvt_matmul shape = {0,    1,           s[0],        s[1],        s[2], (real)0.5, 0,
                               s[3], s[0] * s[2], s[2] * s[1], s[0] * s[1], p,    1};
    const void *a = check_stored(c, "a", p, s[3] * s[0] * s[2]);
    const void *b = check_stored(c, "b", p, s[3] * s[2] * s[1]);
    nvt_backend_matmul_batched(&shape, a, b, check_out_stored(c, "c", p, s[3] * s[0] * s[1]));
}
BOTH(stored_product)

/* clang-format off */
/* Half a unit of the last place, of 8 and of 11 bits, and what float adds to that. */
#define HALF_BF16 (0x1p-8 + SUMS)
#define HALF_FP16 (0x1p-11 + SUMS)
#define LINES(what, ...) LINE(what##_bf16, HALF_BF16, __VA_ARGS__), LINE(what##_fp16, HALF_FP16, __VA_ARGS__)
#define EXACT_LINES(what, ...) LINE(what##_bf16, EXACT, __VA_ARGS__), LINE(what##_fp16, EXACT, __VA_ARGS__)
/* Short ones, of chunks that are whole and that are not. */
#define FEW_ROWS {3, 5}, {7, 300}, {9, 1024}

const struct check_line check_stored_numbers[] = {
    LINES(stored, FEW_ROWS),
    LINES(stored_gelu, FEW_ROWS),
    LINES(stored_rmsnorm, FEW_ROWS),
    LINES(stored_rmsnorm_backward, FEW_ROWS),
    LINES(stored_cross_entropy, FEW_ROWS),
    LINES(stored_adamw, {5}, {4097}),
    LINES(stored_softmax, {2, 5, 4, 1}, {3, 97, 1, 2}, {1, 257, 1, 1}, {1, 1030, 1, 2}),
    EXACT_LINES(stored_heads, {2, 5, 4, 1}, {3, 17, 3, 1}),
    LINES(stored_heads_bias, {2, 5, 4, 1}, {3, 17, 3, 1}),
    LINES(stored_product, {5, 7, 3, 2}, {1, 512, 300, 3}, {64, 96, 130, 5}),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
