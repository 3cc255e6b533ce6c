/*
 * Halves, 8-bit integers, and sums that are rounded each time.
 */
#include "../../kernels/ops/accumulate.h"
#include "../../kernels/ops/quantize.h"
#include "check_bounds.h"

/* --- products: m, n, k --- */

typedef const nvt_half *halves_fn(struct check *, const char *, int64_t);

static void half_product(struct check *c, const int64_t *s, int transpose_a, int transpose_b,
                         halves_fn *halves)
{
    size_t bytes = nvt_backend_half_scratch(transpose_a, s[0], s[1], s[2]);
    const nvt_half *a = halves(c, "a", s[0] * s[2]), *b = halves(c, "b", s[2] * s[1]);
    nvt_half *out = check_out_halves(c, "c", s[0] * s[1]);
    real *scratch = check_scratch(c, "scratch", (int64_t)(bytes / sizeof(real)) + 1);
    nvt_backend_matmul_half(transpose_a, transpose_b, s[0], s[1], s[2], a, b, out, scratch);
    if (halves == check_halves)
        check_half_product(c, out, transpose_a, transpose_b, a, b, s[0], s[1], s[2]);
}

OP(half_nn)
{
    half_product(c, s, 0, 0, check_halves);
}

OP(half_nt)
{
    half_product(c, s, 0, 1, check_halves);
}

OP(half_tn)
{
    half_product(c, s, 1, 0, check_halves);
}

/* Sums that need no rounding in float: the one half that is nearest, unless they were rounded to halves on the way. */
OP(half_sums_nn)
{
    half_product(c, s, 0, 0, check_exact_halves);
}

OP(half_sums_nt)
{
    half_product(c, s, 0, 1, check_exact_halves);
}

OP(half_sums_tn)
{
    half_product(c, s, 1, 0, check_exact_halves);
}

OP(int8_product)
{
    const int8_t *a = check_bytes(c, "a", s[0] * s[2]), *b = check_bytes(c, "b", s[2] * s[1]);
    nvt_backend_matmul_int8(s[0], s[1], s[2], a, b, check_out_indices(c, "c", s[0] * s[1]));
}

static void int8_linear(struct check *c, const int64_t *s, int shared)
{
    const int8_t *a = check_bytes(c, "a", s[0] * s[2]), *b = check_bytes(c, "b", s[2] * s[1]);
    const float *sa = check_floats(c, "sa", s[0]), *sb = check_floats(c, "sb", shared ? 1 : s[1]);
    nvt_half *out = check_out_halves(c, "out", s[0] * s[1]);
    int32_t *scratch = (void *)check_scratch(c, "scratch", nvt_int8_scratch(s[0], s[1]));
    nvt_int8_linear(out, a, sa, b, sb, shared, s[0], s[1], s[2], scratch);
    check_scaled_product(c, out, a, sa, b, sb, shared, s[0], s[1], s[2]);
}

OP(int8_linear_rows)
{
    int8_linear(c, s, 0);
}

OP(int8_linear_shared)
{
    int8_linear(c, s, 1);
}

/* --- the layer in int8, and in fp16: m, n, k --- */

/* q[n][k] and scales of w[n][k], or of w[k][n] where `turned`. */
static void quantize_weights(struct check *c, int8_t *q, float *scale, const nvt_half *w,
                             int turned, int shared, int64_t n, int64_t k)
{
    uint16_t *scratch = (void *)check_scratch(
        c, "quantize", nvt_quantize_scratch(n, k) + nvt_quantize_scratch(k, n));
    if (turned && shared)
        nvt_quantize_all_transposed(q, scale, w, k, n, scratch);
    else if (turned)
        nvt_quantize_columns_transposed(q, scale, w, k, n, scratch);
    else if (shared)
        nvt_quantize_all(q, scale, w, n, k, scratch);
    else
        nvt_quantize_rows(q, scale, w, n, k);
}

/* Everything from the halves on: quantise, multiply, scale; and the product of the halves. Each lies within its bound
 * around the exact product, and they differ by both together at most. */
static void both_layers(struct check *c, const int64_t *s, int turned, int shared)
{
    int64_t m = s[0], n = s[1], k = s[2];
    const nvt_half *x = check_halves(c, "x", m * k), *w = check_halves(c, "w", n * k);
    int8_t *x8 = (void *)check_scratch(c, "x8", m * k), *w8 = (void *)check_scratch(c, "w8", n * k);
    float *sx = check_out_floats(c, "sx", m), *sw = check_out_floats(c, "sw", shared ? 1 : n);
    nvt_half *by_int8 = check_out_halves(c, "int8", m * n),
             *by_halves = check_out_halves(c, "fp16", m * n);
    int32_t *sums = (void *)check_scratch(c, "sums", nvt_int8_scratch(m, n));
    size_t bytes = nvt_backend_half_scratch(0, m, n, k);
    real *scratch = check_scratch(c, "scratch", (int64_t)(bytes / sizeof(real)) + 1);
    nvt_quantize_rows(x8, sx, x, m, k);
    quantize_weights(c, w8, sw, w, turned, shared, n, k);
    nvt_int8_linear(by_int8, x8, sx, w8, sw, shared, m, n, k, sums);
    nvt_backend_matmul_half(0, !turned, m, n, k, x, w, by_halves, scratch);
    check_int8_product(c, by_int8, x, w, turned, shared, m, n, k);
    check_half_product(c, by_halves, 0, !turned, x, w, m, n, k);
    check_difference(c, "int8 - fp16", by_int8, by_halves);
}

OP(switchback_rowwise_fwd)
{
    both_layers(c, s, 0, 0);
}

OP(switchback_rowwise_bwd)
{
    both_layers(c, s, 1, 0);
}

OP(switchback_global_fwd)
{
    both_layers(c, s, 0, 1);
}

OP(switchback_global_bwd)
{
    both_layers(c, s, 1, 1);
}

/* --- rows, n --- */

OP(quantize_rows)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    float *scale = check_out_floats(c, "s", s[0]);
    nvt_quantize_rows(check_out_bytes(c, "q", s[0] * s[1]), scale, x, s[0], s[1]);
}

/* Elements of scratch are of 16 bits: as many numbers are enough. */
static uint16_t *quantize_scratch(struct check *c, const int64_t *s)
{
    return (void *)check_scratch(c, "scratch", nvt_quantize_scratch(s[0], s[1]));
}

OP(quantize_columns_transposed)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    int8_t *q = check_out_bytes(c, "q", s[0] * s[1]);
    float *scale = check_out_floats(c, "s", s[1]);
    nvt_quantize_columns_transposed(q, scale, x, s[0], s[1], quantize_scratch(c, s));
}

OP(quantize_rows_odd)
{
    const nvt_half *x = check_odd_halves(c, "x", s[0], s[1], 0);
    float *scale = check_out_floats(c, "s", s[0]);
    nvt_quantize_rows(check_out_bytes(c, "q", s[0] * s[1]), scale, x, s[0], s[1]);
}

OP(quantize_columns_odd)
{
    const nvt_half *x = check_odd_halves(c, "x", s[0], s[1], 1);
    int8_t *q = check_out_bytes(c, "q", s[0] * s[1]);
    float *scale = check_out_floats(c, "s", s[1]);
    nvt_quantize_columns_transposed(q, scale, x, s[0], s[1], quantize_scratch(c, s));
}

OP(quantize_all)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    int8_t *q = check_out_bytes(c, "q", s[0] * s[1]);
    nvt_quantize_all(q, check_out_floats(c, "s", 1), x, s[0], s[1], quantize_scratch(c, s));
}

OP(quantize_all_transposed)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    int8_t *q = check_out_bytes(c, "q", s[0] * s[1]);
    float *scale = check_out_floats(c, "s", 1);
    nvt_quantize_all_transposed(q, scale, x, s[0], s[1], quantize_scratch(c, s));
}

OP(quantize_cast)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    nvt_quantize_cast(check_out_bytes(c, "q", s[0] * s[1]), x, s[0] * s[1]);
}

OP(dequantize)
{
    const int32_t *acc = check_indices(c, "acc", s[0] * s[1], 1000000);
    const float *sa = check_floats(c, "sa", s[0]), *sb = check_floats(c, "sb", s[1]);
    nvt_half *out = check_out_halves(c, "out", s[0] * s[1]);
    nvt_dequantize(out, acc, sa, sb, 0, s[0], s[1]);
    check_scaled(c, out, acc, sa, sb, 0, s[0], s[1]);
}

OP(half_from_float)
{
    const float *x = check_floats(c, "x", s[0] * s[1]);
    nvt_half_from_float(check_out_halves(c, "out", s[0] * s[1]), x, s[0] * s[1]);
}

OP(half_to_float)
{
    const nvt_half *x = check_halves(c, "x", s[0] * s[1]);
    nvt_half_to_float(check_out_floats(c, "out", s[0] * s[1]), x, s[0] * s[1]);
}

/* --- additions: n --- */

OP(accumulate)
{
    for (int form = NVT_ACCUMULATE_FP32; form <= NVT_ACCUMULATE_PAIRWISE_BF16; form++)
        nvt_accumulate(check_out_floats(c, "sum", 1), (enum nvt_accumulate_form)form, 0.01f, s[0]);
}

/* clang-format off */
/* As other rows, and of the shapes that a device has forms of its own for. */
#define SQUARES ROWS, {2820, 72}, {4, 16400}
/* And rows of each length that has one. */
#define LONG_ROWS SQUARES, {9, 1280}, {11, 4096}, {3, 8192}, {2, 24600}

/* And one of so many columns that nvt_int8_linear takes 256 rows at a time, its last chunk is smaller, and that a block of the
 * device's own form computes several tiles of; and two of several tiles either way, and a sum of some and of many parts. Lines are
 * multiples of 16, which cuBLAS and the device's own form have products for. */
#define INT8_LAYERS MATRICES, {136, 272, 208, 1}, {272, 16912, 16, 1}, {260, 1288, 1040, 1}
/* And a sum that is long beside the matrix, which a library splits. */
#define LONG_SUMS MATRICES, {24, 40, 4096, 1}

const struct check_line check_low_precision[] = {
    LINE(half_nn, DERIVED, MATRICES),
    LINE(half_nt, DERIVED, MATRICES),
    LINE(half_tn, DERIVED, MATRICES),
    LINE(half_sums_nn, EXACT, LONG_SUMS),
    LINE(half_sums_nt, EXACT, LONG_SUMS),
    LINE(half_sums_tn, EXACT, LONG_SUMS),
    LINE(int8_product, EXACT, MATRICES),
    LINE(int8_linear_rows, DERIVED, INT8_LAYERS),
    LINE(int8_linear_shared, DERIVED, INT8_LAYERS),
    LINE(switchback_rowwise_fwd, DERIVED, INT8_LAYERS),
    LINE(switchback_rowwise_bwd, DERIVED, INT8_LAYERS),
    LINE(switchback_global_fwd, DERIVED, INT8_LAYERS),
    LINE(switchback_global_bwd, DERIVED, INT8_LAYERS),
    LINE(quantize_rows, EXACT, LONG_ROWS),
    LINE(quantize_columns_transposed, EXACT, SQUARES),
    LINE(quantize_rows_odd, EXACT, LONG_ROWS),
    LINE(quantize_columns_odd, EXACT, SQUARES),
    LINE(quantize_all, EXACT, SQUARES),
    LINE(quantize_all_transposed, EXACT, SQUARES),
    LINE(quantize_cast, EXACT, SQUARES),
    LINE(dequantize, DERIVED, SQUARES),
    LINE(half_from_float, EXACT, ROWS),
    LINE(half_to_float, EXACT, ROWS),
    LINE(accumulate, EXACT, {1000}, {7}),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
