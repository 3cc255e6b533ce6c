/*
 * The operations of language models.
 */
#include "../../kernels/ops/attention.h"
#include "../../kernels/ops/cross_entropy.h"
#include "../../kernels/ops/dropout.h"
#include "../../kernels/ops/embedding.h"
#include "../../kernels/ops/gelu.h"
#include "../../kernels/ops/norm.h"
#include "../../kernels/ops/optimizer.h"
#include "check_arrays.h"

/* --- rows, n --- */

OP(gelu_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    nvt_gelu_forward(NVT_FP32, check_out(c, "y", s[0] * s[1]), x, s[0] * s[1]);
}

OP(gelu_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]), *x = check_in(c, "x", s[0] * s[1]);
    nvt_gelu_backward(NVT_FP32, check_out(c, "dx", s[0] * s[1]), dy, x, s[0] * s[1]);
}

OP(rmsnorm_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]), *g = check_in(c, "g", s[1]);
    real *y = check_out(c, "y", s[0] * s[1]), *r = check_out(c, "r", s[0]);
    nvt_rmsnorm_forward(NVT_FP32, y, r, x, g, s[0], s[1], (real)1e-5);
}

OP(rmsnorm_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]), *x = check_in(c, "x", s[0] * s[1]);
    const real *g = check_in(c, "g", s[1]), *r = check_positive(c, "r", s[0]);
    real *dx = check_both(c, "dx", s[0] * s[1]), *dg = check_both(c, "dg", s[1]);
    real *scratch = check_scratch(c, "scratch", nvt_norm_scratch(s[1]));
    nvt_rmsnorm_backward(NVT_FP32, dx, NULL, 1, dg, dy, x, g, r, s[0], s[1], scratch);
}

OP(layernorm_forward)
{
    const real *x = check_around_one(c, "x", s[0] * s[1]), *g = check_in(c, "g", s[1]);
    const real *b = check_in(c, "b", s[1]);
    real *y = check_out(c, "y", s[0] * s[1]), *m = check_out(c, "m", s[0]);
    nvt_layernorm_forward(y, m, check_out(c, "r", s[0]), x, g, b, s[0], s[1], (real)1e-5);
}

OP(layernorm_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]), *x = check_in(c, "x", s[0] * s[1]);
    const real *g = check_in(c, "g", s[1]), *m = check_in(c, "m", s[0]);
    const real *r = check_positive(c, "r", s[0]);
    real *dx = check_out(c, "dx", s[0] * s[1]), *dg = check_both(c, "dg", s[1]);
    real *db = check_both(c, "db", s[1]);
    real *scratch = check_scratch(c, "scratch", nvt_norm_scratch(s[1]));
    nvt_layernorm_backward(dx, 0, dg, db, dy, x, g, m, r, s[0], s[1], scratch);
}

OP(cross_entropy_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    const int32_t *target = check_indices(c, "target", s[0], s[1]);
    real *loss = check_out(c, "loss", s[0]), *lse = check_out(c, "lse", s[0]);
    nvt_cross_entropy_forward(loss, lse, x, target, s[0], s[1]);
}

OP(cross_entropy_backward)
{
    const real *x = check_in(c, "x", s[0] * s[1]), *lse = check_positive(c, "lse", s[0]);
    const int32_t *target = check_indices(c, "target", s[0], s[1]);
    real *dx = check_out(c, "dx", s[0] * s[1]);
    nvt_cross_entropy_backward(NVT_FP32, dx, x, lse, target, s[0], s[1], (real)0.125);
}

OP(mean)
{
    const real *x = check_positive(c, "x", s[0] * s[1]);
    nvt_mean(check_out(c, "mean", 1), x, s[0] * s[1]);
}

/* Of rows: the table's rows are twice as many, so that some tokens come twice and some never. */
OP(embedding_forward)
{
    const real *table = check_in(c, "table", 2 * s[0] * s[1]);
    const real *position = check_in(c, "position", s[0] * s[1]);
    const int32_t *token = check_indices(c, "token", 3 * s[0], 2 * s[0]);
    real *out = check_out(c, "out", 3 * s[0] * s[1]);
    nvt_embedding_forward(out, table, position, token, 3 * s[0], s[0], s[1]);
}

OP(embedding_backward)
{
    const real *dout = check_in(c, "dout", 3 * s[0] * s[1]);
    const int32_t *token = check_indices(c, "token", 3 * s[0], 2 * s[0]);
    real *dtable = check_both(c, "dtable", 2 * s[0] * s[1]);
    real *dposition = check_both(c, "dposition", s[0] * s[1]);
    nvt_embedding_backward(dtable, dposition, dout, token, 3 * s[0], s[0], s[1]);
}

/* --- n --- */

OP(random_tokens)
{
    nvt_random_tokens(check_out_indices(c, "token", s[0]), s[0], 10000, c->random, 5);
}

OP(dropout)
{
    const real *x = check_in(c, "x", s[0]);
    nvt_dropout(check_out(c, "y", s[0]), x, s[0], 0.1, c->random, 5);
}

OP(gelu_dropout_forward)
{
    const real *x = check_in(c, "x", s[0]);
    nvt_gelu_dropout_forward(check_out(c, "y", s[0]), x, s[0], 0.1, c->random, 5);
}

OP(gelu_dropout_backward)
{
    const real *dy = check_in(c, "dy", s[0]), *x = check_in(c, "x", s[0]);
    nvt_gelu_dropout_backward(check_out(c, "dx", s[0]), dy, x, s[0], 0.1, c->random, 5);
}

/* rows, n; and without dropout. */
OP(bias_dropout_add)
{
    const real *b = check_in(c, "b", s[1]), *x = check_in(c, "x", s[0] * s[1]);
    real *y = check_both(c, "y", s[0] * s[1]), *all = check_both(c, "all", s[0] * s[1]);
    nvt_bias_dropout_add(y, b, x, s[0], s[1], 0.1, c->random, 5);
    nvt_bias_dropout_add(all, b, x, s[0], s[1], 0, c->random, 5);
}

static const struct nvt_adamw adamw = {(real)1e-3, (real)0.9,  (real)0.95,
                                       (real)1e-8, (real)0.01, (real)0.5};

OP(adamw_advance)
{
    (void)s;
    nvt_adamw_advance(check_both_positive(c, "clock", NVT_ADAMW_CLOCK), &adamw);
}

OP(adamw_step)
{
    /* The seventh step's, as adamw_advance would have it. */
    static const real clock[NVT_ADAMW_CLOCK] = {7, (real)1.9168e-3, (real)1.8207};
    const real *g = check_in(c, "g", s[0]);
    real *w = check_both(c, "w", s[0]), *m = check_both(c, "m", s[0]);
    nvt_adamw_step(NVT_FP32, w, NULL, g, m, check_both_positive(c, "v", s[0]), s[0],
                   check_given(c, "clock", clock, NVT_ADAMW_CLOCK), &adamw);
}

OP(sgd_step)
{
    static const struct nvt_sgd sgd = {(real)0.01, (real)0.9, (real)1e-4, (real)0.5};
    const real *g = check_in(c, "g", s[0]);
    real *w = check_both(c, "w", s[0]);
    nvt_sgd_step(w, g, check_both(c, "b", s[0]), s[0], &sgd);
}

/* --- attention: groups, length, width, causal --- */

static struct nvt_attention attention_of(const int64_t *s)
{
    struct nvt_attention attention = {s[0], s[1], s[2], (int)s[3] - 1, NVT_FP32};
    return attention;
}

#define FLAT   (s[0] * s[1] * s[2])
#define SQUARE (s[0] * s[1] * s[1])

OP(attention_scores)
{
    struct nvt_attention attention = attention_of(s);
    const real *q = check_in(c, "q", FLAT), *k = check_in(c, "k", FLAT);
    nvt_attention_scores(&attention, check_out(c, "s", SQUARE), q, k);
}

OP(attention_softmax)
{
    struct nvt_attention attention = attention_of(s);
    const real *scores = check_in(c, "s", SQUARE);
    real *same = check_both(c, "in place", SQUARE);
    nvt_attention_softmax(&attention, check_out(c, "p", SQUARE), scores);
    nvt_attention_softmax(&attention, same, same);
}

OP(attention_softmax_backward)
{
    struct nvt_attention attention = attention_of(s);
    const real *p = check_positive(c, "p", SQUARE), *dp = check_in(c, "dp", SQUARE);
    nvt_attention_softmax_backward(&attention, check_out(c, "ds", SQUARE), p, dp);
}

OP(attention_values)
{
    struct nvt_attention attention = attention_of(s);
    const real *p = check_in(c, "p", SQUARE), *v = check_in(c, "v", FLAT);
    nvt_attention_values(&attention, check_out(c, "out", FLAT), p, v);
}

OP(attention_values_backward)
{
    struct nvt_attention attention = attention_of(s);
    const real *dout = check_in(c, "dout", FLAT), *p = check_in(c, "p", SQUARE);
    const real *v = check_in(c, "v", FLAT);
    real *dp = check_out(c, "dp", SQUARE), *dv = check_out(c, "dv", FLAT);
    nvt_attention_values_backward(&attention, dp, dv, dout, p, v);
}

OP(attention_scores_backward)
{
    struct nvt_attention attention = attention_of(s);
    const real *ds = check_in(c, "ds", SQUARE), *q = check_in(c, "q", FLAT);
    const real *k = check_in(c, "k", FLAT);
    real *dq = check_out(c, "dq", FLAT), *dk = check_out(c, "dk", FLAT);
    nvt_attention_scores_backward(&attention, dq, dk, ds, q, k);
}

/* Two heads of q, k and v; positions behind each other for causal shapes, samples for the others.
 */
static struct nvt_heads heads_of(const int64_t *s)
{
    struct nvt_heads heads = {s[0],    s[1], 2, s[2], 3, s[3] == 2 ? s[1] : 1, s[3] == 2 ? 1 : s[0],
                              NVT_FP32};
    return heads;
}

OP(heads_split)
{
    struct nvt_heads heads = heads_of(s);
    const real *rows = check_in(c, "rows", 6 * FLAT);
    nvt_heads_split(&heads, check_out(c, "split", 6 * FLAT), rows, NULL);
    const real *bias = check_in(c, "bias", 6 * s[2]);
    nvt_heads_split(&heads, check_out(c, "with bias", 6 * FLAT), rows, bias);
}

OP(heads_merge)
{
    struct nvt_heads heads = heads_of(s);
    const real *split = check_in(c, "split", 6 * FLAT);
    nvt_heads_merge(&heads, check_out(c, "rows", 6 * FLAT), split);
}

/* clang-format off */
const struct check_line check_language[] = {
    LINE(random_tokens, EXACT, LENGTHS),
    LINE(dropout, CLOSE, LENGTHS),
    LINE(gelu_dropout_forward, SUMS, LENGTHS),
    LINE(gelu_dropout_backward, SUMS, LENGTHS),
    LINE(bias_dropout_add, CLOSE, ROWS),
    LINE(gelu_forward, SUMS, ROWS),
    LINE(gelu_backward, SUMS, ROWS),
    LINE(rmsnorm_forward, SUMS, ROWS),
    LINE(rmsnorm_backward, SUMS, ROWS),
    LINE(layernorm_forward, SUMS, ROWS),
    LINE(layernorm_backward, SUMS, ROWS),
    LINE(cross_entropy_forward, SUMS, ROWS),
    LINE(cross_entropy_backward, SUMS, ROWS),
    LINE(mean, SUMS, ROWS),
    LINE(embedding_forward, CLOSE, ROWS),
    LINE(embedding_backward, SUMS, ROWS),
    LINE(adamw_advance, SUMS, {1}),
    LINE(adamw_step, SUMS, LENGTHS),
    LINE(sgd_step, CLOSE, LENGTHS),
    LINE(attention_scores, SUMS, ATTENTION),
    LINE(attention_softmax, SUMS, SOFTMAX),
    LINE(attention_softmax_backward, SUMS, SOFTMAX),
    LINE(attention_values, SUMS, ATTENTION),
    LINE(attention_values_backward, SUMS, ATTENTION),
    LINE(attention_scores_backward, SUMS, ATTENTION),
    LINE(heads_split, CLOSE, ATTENTION),
    LINE(heads_merge, EXACT, ATTENTION),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
