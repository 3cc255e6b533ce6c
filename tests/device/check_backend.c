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

/* Whose inputs are stored numbers and whose result is real. */
static void batched(struct check *c, const int64_t *s, enum nvt_precision precision)
{
    struct nvt_matmul shape = {0,    1,           s[0],        s[1],        s[2],      (real)0.5, 1,
                               s[3], s[0] * s[2], s[2] * s[1], s[0] * s[1], precision, 0};
    const void *a = check_stored(c, "a", precision, s[3] * s[0] * s[2]);
    const void *b = check_stored(c, "b", precision, s[3] * s[2] * s[1]);
    nvt_backend_matmul_batched(&shape, a, b, check_both(c, "c", s[3] * s[0] * s[1]));
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

/* Each piece is larger than the one before, and freed while what uses it may not have begun. */
OP(freed_in_order)
{
    static const char *const names[] = {"first", "second", "third"};
    const real *x = check_in(c, "x", 3 * s[0]);
    real *out[3];
    for (int i = 0; i < 3; i++)
        out[i] = check_out(c, names[i], (i + 1) * s[0]);
    for (int i = 0; i < 3; i++) {
        int64_t count = (i + 1) * s[0];
        real *between = (real *)nvt_backend_alloc(0, (size_t)count * sizeof(real));
        if (between) {
            nvt_copy(between, x, count);
            nvt_copy(out[i], between, count);
            nvt_backend_free(0, between);
        }
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
    LINE(freed_in_order, EXACT, LENGTHS),
    LINE(matmul_nn, SUMS, MATRICES),
    LINE(matmul_nt, SUMS, MATRICES),
    LINE(matmul_tn, SUMS, MATRICES),
    LINE(matmul_tt, SUMS, MATRICES),
    LINE(batched_fp32, SUMS, MATRICES),
    LINE(batched_tf32, TEN_BIT_PRODUCTS, MATRICES),
    LINE(batched_bf16, SUMS, MATRICES),
    LINE(batched_fp16, SUMS, MATRICES),
    LINE(zero, EXACT, LENGTHS),
    LINE(copy, EXACT, LENGTHS),
    LINE(fill, EXACT, LENGTHS),
    LINE(streams, CLOSE, ROWS),
    LINE(random_normal, CLOSE, LENGTHS),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
