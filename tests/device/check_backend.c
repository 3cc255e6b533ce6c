/*
 * The backend itself: products, memory, streams, random numbers.
 */
#include "../../kernels/ops/copy.h"
#include "../../kernels/ops/ops.h"
#include "../../kernels/ops/vector.h"
#include "check_arrays.h"

/* --- the backend itself: m, n, k, and the number of products --- */

static void matmul(struct check *c, const int64_t *s, int transpose_a, int transpose_b, real beta)
{
    const real *a = check_in(c, "a", s[0] * s[2]), *b = check_in(c, "b", s[2] * s[1]);
    real *out = beta != 0 ? check_both(c, "c", s[0] * s[1]) : check_out(c, "c", s[0] * s[1]);
    nvt_backend_matmul(transpose_a, transpose_b, s[0], s[1], s[2], (real)0.5, a, b, beta, out);
}

OP(matmul_nn)
{
    matmul(c, s, 0, 0, 0);
}

OP(matmul_nt)
{
    matmul(c, s, 0, 1, 0);
}

OP(matmul_tn)
{
    matmul(c, s, 1, 0, 1);
}

OP(matmul_tt)
{
    matmul(c, s, 1, 1, (real)0.25);
}

static void batched(struct check *c, const int64_t *s, enum nvt_precision precision)
{
    struct nvt_matmul shape = {0, 1,    s[0],        s[1],        s[2],        (real)0.5,
                               1, s[3], s[0] * s[2], s[2] * s[1], s[0] * s[1], precision,
                               0, 0};
    const real *a = check_in(c, "a", s[3] * s[0] * s[2]), *b = check_in(c, "b", s[3] * s[2] * s[1]);
    real *out = check_both(c, "c", s[3] * s[0] * s[1]);
    nvt_backend_matmul_batched(&shape, a, b, out);
}

OP(batched_fp32)
{
    batched(c, s, NVT_FP32);
}

OP(batched_tf32)
{
    batched(c, s, NVT_TF32);
}

OP(batched_bf16)
{
    batched(c, s, NVT_BF16);
}

OP(batched_fp16)
{
    batched(c, s, NVT_FP16);
}

/* Two products of the same left matrices, the second of their transposes, and one whose left matrices lie there too,
 * but are others by then. */
OP(batched_same)
{
    int64_t m = s[0], n = s[1], k = s[2], count = s[3];
    struct nvt_matmul shape = {0, 1, m, n, k, 1, 0, count, m * k, n * k, m * n, NVT_BF16, 0, 0};
    real *a = check_both(c, "a", count * m * k);
    const real *b = check_in(c, "b", count * n * k), *b2 = check_in(c, "b2", count * m * n);
    const real *others = check_in(c, "others", count * m * k);
    nvt_backend_matmul_batched(&shape, a, b, check_out(c, "c", count * m * n));
    struct nvt_matmul turned = {1, 0, k, n, m, 1, 0, count, m * k, m * n, k * n, NVT_BF16, 1, 0};
    nvt_backend_matmul_batched(&turned, a, b2, check_out(c, "turned", count * k * n));
    nvt_copy(a, others, count * m * k);
    nvt_backend_matmul_batched(&shape, a, b, check_out(c, "later", count * m * n));
}

/* A right matrix that was rounded before; where a backend makes no copies the product does it. */
static void rounded(struct check *c, const int64_t *s, enum nvt_precision precision)
{
    struct nvt_matmul shape = {0, 1, s[0], s[1], s[2], 1, 0, 1, 0, 0, 0, precision, 0, 0};
    const real *a = check_in(c, "a", s[0] * s[2]), *b = check_in(c, "b", s[2] * s[1]);
    size_t bytes = nvt_backend_rounded_bytes(precision, s[2] * s[1]);
    real *copy = check_scratch(c, "copy", (int64_t)(bytes / sizeof(real)) + 1);
    if (bytes)
        nvt_backend_round(precision, copy, b, s[2] * s[1]);
    shape.b_is_rounded = bytes > 0;
    nvt_backend_matmul_batched(&shape, a, bytes ? copy : b, check_out(c, "c", s[0] * s[1]));
}

OP(rounded_bf16)
{
    rounded(c, s, NVT_BF16);
}

OP(rounded_fp16)
{
    rounded(c, s, NVT_FP16);
}

/* Each one larger than the one before, none waited for: what a backend keeps for rounded copies is given
 * back and taken anew while the products before may not have begun. */
OP(scratch_growing)
{
    static const char *const names[] = {"first", "second", "third"};
    const real *a[3], *b[3];
    real *out[3];
    for (int64_t i = 0; i < 3; i++) {
        int64_t times = i + 1;
        a[i] = check_in(c, "a", times * s[0] * s[2]);
        b[i] = check_in(c, "b", times * s[2] * s[1]);
        out[i] = check_out(c, names[i], times * s[0] * s[1]);
    }
    for (int64_t i = 0; i < 3; i++) {
        int64_t times = i + 1, each = s[0] * s[1];
        struct nvt_matmul shape = {0,     0,           s[0],        s[1], s[2],     1, 0,
                                   times, s[0] * s[2], s[2] * s[1], each, NVT_BF16, 0, 0};
        nvt_backend_matmul_batched(&shape, a[i], b[i], out[i]);
    }
}

OP(zero)
{
    nvt_backend_zero(check_out(c, "memory", s[0]), (size_t)s[0] * sizeof(real));
}

OP(copy)
{
    const real *x = check_in(c, "x", s[0]);
    nvt_copy(check_out(c, "out", s[0]), x, s[0]);
}

OP(fill)
{
    nvt_fill(check_out(c, "out", s[0]), s[0], (real)0.1f);
}

/* A second stream, which waits for the first by an event, and the first for it: additions here and
 * cuts at zero there, which cannot change places. */
OP(streams)
{
    real *x = check_both(c, "x", s[0] * s[1]);
    const real *b = check_in(c, "b", s[1]);
    for (int i = 0; i < 4; i++) {
        if (i % 2)
            nvt_relu_forward(x, x, s[0] * s[1]);
        else
            nvt_bias_forward(x, b, s[0], s[1]);
        void *event = nvt_backend_event();
        nvt_backend_use_stream(i % 2 ? 0 : 1);
        nvt_backend_wait_event(event);
        nvt_backend_free_event(event);
    }
    nvt_bias_forward(x, b, s[0], s[1]);
}

/* --- random numbers: n --- */

OP(random_normal)
{
    nvt_random_normal(check_out(c, "out", s[0]), s[0], c->random, 5, (real)0.02);
}

/* clang-format off */
const struct check_line check_backend[] = {
    LINE(scratch_growing, SUMS, {5, 7, 3}, {32, 96, 130}, {90, 120, 300}), /* the first: there is none yet */
    LINE(matmul_nn, SUMS, MATRICES),
    LINE(matmul_nt, SUMS, MATRICES),
    LINE(matmul_tn, SUMS, MATRICES),
    LINE(matmul_tt, SUMS, MATRICES),
    LINE(batched_fp32, SUMS, MATRICES),
    LINE(batched_tf32, TEN_BIT_PRODUCTS, MATRICES),
    LINE(batched_bf16, SUMS, MATRICES),
    LINE(batched_fp16, SUMS, MATRICES),
    LINE(batched_same, SUMS, MATRICES),
    LINE(rounded_bf16, SUMS, MATRICES),
    LINE(rounded_fp16, SUMS, MATRICES),
    LINE(zero, EXACT, LENGTHS),
    LINE(copy, EXACT, LENGTHS),
    LINE(fill, EXACT, LENGTHS),
    LINE(streams, CLOSE, ROWS),
    LINE(random_normal, CLOSE, LENGTHS),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
