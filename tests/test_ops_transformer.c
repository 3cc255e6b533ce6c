/*
 * Operations of the language models in double precision, from the sources that the backends run:
 * each against its definition, its gradient against finite differences, and known values.
 */
#define NVT_REAL_DOUBLE 1
#undef HAVE_CBLAS

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kernels/host/backend.c"
#include "../kernels/host/matmul.c"
#include "../kernels/ops/attention.c"
#include "../kernels/ops/copy.c"
#include "../kernels/ops/cross_entropy.c"
#include "../kernels/ops/dropout.c"
#include "../kernels/ops/embedding.c"
#include "../kernels/ops/gelu.c"
#include "../kernels/ops/norm.c"
#include "../kernels/ops/optimizer.c"
#include "../kernels/ops/random.c"
#include "../lib/count_of.h"

#define MOST 4096

/* --- finite differences ----------------------------------------------------------------------- */

/*
 * An operation under test: it reads in[0 … inputs) and writes out. The loss is Σ weight · out with
 * random weights, so that out's gradient is `weight`.
 */
struct operation {
    int inputs;
    int64_t sizes[4], out_size;
    real in[4][MOST], gradient[4][MOST];
    real out[MOST], weight[MOST];
    void (*forward)(struct operation *operation);
    int64_t rows, n;
    int64_t heads[2]; /* of attention: length and width */
    int causal;
    int32_t tokens[64];
    real scratch[2 * GROUPS * 64];
};

static struct operation op;

static void prepare(int inputs, void (*forward)(struct operation *))
{
    op.inputs = inputs;
    op.forward = forward;
    for (int i = 0; i < inputs; i++) {
        assert_true(op.sizes[i] <= MOST);
        nvt_random_normal(op.in[i], op.sizes[i], 5, (uint64_t)i, 1);
        /* Gradients that are added to shall not start from zero only. */
        memset(op.gradient[i], 0, sizeof(op.gradient[i]));
    }
    nvt_random_normal(op.weight, op.out_size, 5, 100, 1);
}

static double loss_of_operation(void)
{
    double sum = 0;
    op.forward(&op);
    for (int64_t i = 0; i < op.out_size; i++)
        sum += op.weight[i] * op.out[i];
    return sum;
}

/* Central differences of all inputs: their own error is about step² and 1e-16 / step. */
static void check_gradients(void)
{
    const double step = 1e-5;
    int nonzero = 0;
    for (int k = 0; k < op.inputs; k++)
        for (int64_t i = 0; i < op.sizes[k]; i++) {
            double kept = op.in[k][i];
            op.in[k][i] = kept + step;
            double above = loss_of_operation();
            op.in[k][i] = kept - step;
            double below = loss_of_operation();
            op.in[k][i] = kept;
            double expected = (above - below) / (2 * step);
            double error = fabs(op.gradient[k][i] - expected);
            if (error > 1e-7 + 1e-6 * fabs(expected))
                fail_msg("input %d, element %d: %g, by differences %g", k, (int)i,
                         op.gradient[k][i], expected);
            nonzero += fabs(expected) > 1e-6;
        }
    assert_true(nonzero > 10);
    loss_of_operation();
}

/* --- norms ------------------------------------------------------------------------------------ */

static real norm_m[64], norm_r[64];

static void rmsnorm(struct operation *o)
{
    nvt_rmsnorm_forward(NVT_FP32, o->out, norm_r, o->in[0], o->in[1], o->rows, o->n, 1e-5);
}

static void layernorm(struct operation *o)
{
    nvt_layernorm_forward(o->out, norm_m, norm_r, o->in[0], o->in[1], o->in[2], o->rows, o->n,
                          1e-5);
}

static void size_norm(int64_t rows, int64_t n)
{
    op.rows = rows;
    op.n = n;
    op.sizes[0] = op.out_size = rows * n;
    op.sizes[1] = op.sizes[2] = n;
}

static void rmsnorm_and_its_gradient(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 7, 63};
    for (int i = 0; i < 3; i++) {
        size_norm(rows[i], 24);
        prepare(2, rmsnorm);
        loss_of_operation();
        assert_true(nvt_norm_scratch(op.n) <= (int64_t)(NVT_COUNT_OF(op.scratch)));
        nvt_rmsnorm_backward(NVT_FP32, op.gradient[0], NULL, 0, op.gradient[1], op.weight, op.in[0],
                             op.in[1], norm_r, op.rows, op.n, op.scratch);
        check_gradients();
    }
    double squares = 0;
    for (int i = 0; i < 24; i++)
        squares += op.in[0][i] * op.in[0][i];
    for (int i = 0; i < 24; i++)
        assert_true(fabs(op.out[i] - op.in[0][i] * op.in[1][i] / sqrt(squares / 24 + 1e-5)) <
                    1e-13);
}

static void layernorm_and_its_gradient(void **state)
{
    (void)state;
    size_norm(9, 20);
    prepare(3, layernorm);
    loss_of_operation();
    nvt_layernorm_backward(op.gradient[0], 0, op.gradient[1], op.gradient[2], op.weight, op.in[0],
                           op.in[1], norm_m, norm_r, op.rows, op.n, op.scratch);
    check_gradients();
    double mean = 0, variance = 0;
    for (int i = 0; i < 20; i++)
        mean += op.in[0][i] / 20;
    for (int i = 0; i < 20; i++)
        variance += (op.in[0][i] - mean) * (op.in[0][i] - mean) / 20;
    for (int i = 0; i < 20; i++)
        assert_true(fabs(op.out[i] - ((op.in[0][i] - mean) / sqrt(variance + 1e-5) * op.in[1][i] +
                                      op.in[2][i])) < 1e-13);
}

/* `add` adds to what is there, and dx may be dy; more rows than groups. */
static void norm_gradients_are_added(void **state)
{
    (void)state;
    enum { ROWS = 150, N = 8 };
    static real x[ROWS * N], dy[ROWS * N], plain[ROWS * N], sum[ROWS * N], y[ROWS * N], r[ROWS];
    static real g[N], dg[N], twice[N], scratch[2 * GROUPS * N], copy[ROWS * N];
    nvt_random_normal(x, ROWS * N, 1, 1, 1);
    nvt_random_normal(dy, ROWS * N, 1, 2, 1);
    nvt_random_normal(g, N, 1, 3, 1);
    nvt_rmsnorm_forward(NVT_FP32, y, r, x, g, ROWS, N, 1e-5);
    nvt_rmsnorm_backward(NVT_FP32, plain, NULL, 0, dg, dy, x, g, r, ROWS, N, scratch);
    for (int i = 0; i < ROWS * N; i++)
        sum[i] = 3;
    nvt_rmsnorm_backward(NVT_FP32, sum, copy, 1, twice, dy, x, g, r, ROWS, N, scratch);
    nvt_rmsnorm_backward(NVT_FP32, dy, NULL, 0, twice, dy, x, g, r, ROWS, N, scratch);
    for (int i = 0; i < ROWS * N; i++) {
        assert_true(fabs(sum[i] - 3 - plain[i]) < 1e-12);
        assert_true(copy[i] == sum[i]);
        assert_true(dy[i] == plain[i]);
    }
    nvt_random_normal(dy, ROWS * N, 1, 2, 1);
    for (int j = 0; j < N; j++) {
        double expected = 0;
        for (int k = 0; k < ROWS; k++)
            expected += dy[k * N + j] * x[k * N + j] * r[k];
        assert_true(fabs(dg[j] - expected) < 1e-11);
        assert_true(fabs(twice[j] - 2 * expected) < 1e-11);
    }
}

/* --- GELU ------------------------------------------------------------------------------------- */

static void gelu(struct operation *o)
{
    nvt_gelu_forward(NVT_FP32, o->out, o->in[0], o->out_size);
}

static void gelu_and_its_gradient(void **state)
{
    (void)state;
    op.sizes[0] = op.out_size = 61;
    prepare(1, gelu);
    nvt_gelu_backward(NVT_FP32, op.gradient[0], op.weight, op.in[0], op.out_size);
    check_gradients();
    /* x · Φ(x) with Φ(1) = 0.841344746068543, Φ(−2) = 0.022750131948179 (tables of the normal law).
     */
    static const real x[] = {0, 1, -2, 40, -40};
    static const double expected[] = {0, 0.841344746068543, -0.045500263896358, 40, 0};
    real y[5];
    nvt_gelu_forward(NVT_FP32, y, x, 5);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(y[i] - expected[i]) < 1e-14);
}

/* --- embedding -------------------------------------------------------------------------------- */

static void embedding(struct operation *o)
{
    nvt_embedding_forward(o->out, o->in[0], o->in[1], o->tokens, o->rows, 5, o->n);
}

static void embedding_and_its_gradient(void **state)
{
    (void)state;
    op.rows = 15;
    op.n = 6;
    op.sizes[0] = 9 * op.n;
    op.sizes[1] = 5 * op.n;
    op.out_size = op.rows * op.n;
    prepare(2, embedding);
    /* Tokens that come once, often, and never. */
    static const int32_t tokens[15] = {3, 8, 3, 3, 0, 1, 1, 8, 3, 2, 7, 7, 7, 3, 1};
    memcpy(op.tokens, tokens, sizeof(tokens));
    nvt_embedding_backward(op.gradient[0], op.gradient[1], op.weight, op.tokens, op.rows, 5, op.n);
    check_gradients();
    for (int64_t i = 0; i < op.out_size; i++)
        assert_true(op.out[i] ==
                    op.in[0][tokens[i / 6] * 6 + i % 6] + op.in[1][i / 6 % 5 * 6 + i % 6]);
    /* Without positions; a second pass adds. */
    nvt_embedding_forward(op.out, op.in[0], NULL, op.tokens, op.rows, 5, op.n);
    assert_true(op.out[6 * 14 + 2] == op.in[0][6 + 2]);
    real once = op.gradient[0][3 * 6];
    nvt_embedding_backward(op.gradient[0], NULL, op.weight, op.tokens, op.rows, 5, op.n);
    assert_true(fabs(op.gradient[0][3 * 6] - 2 * once) < 1e-12);
}

static void random_tokens_are_in_range(void **state)
{
    (void)state;
    enum { COUNT = 10000, BOUND = 7 };
    static int32_t tokens[COUNT];
    int seen[BOUND] = {0};
    nvt_random_tokens(tokens, COUNT, BOUND, 1, 2);
    for (int i = 0; i < COUNT; i++) {
        assert_in_range(tokens[i], 0, BOUND - 1);
        seen[tokens[i]]++;
    }
    /* Five deviations of a binomial count. */
    for (int i = 0; i < BOUND; i++)
        assert_true(fabs(seen[i] - COUNT / 7.0) < 5 * sqrt(COUNT * 6 / 49.0));
}

/* --- cross-entropy ---------------------------------------------------------------------------- */

static real lse[64];

static void cross_entropy(struct operation *o)
{
    nvt_cross_entropy_forward(o->out, lse, o->in[0], o->tokens, o->rows, o->n);
}

static void cross_entropy_and_its_gradient(void **state)
{
    (void)state;
    op.rows = 6;
    op.n = 11;
    op.sizes[0] = op.rows * op.n;
    op.out_size = op.rows;
    prepare(1, cross_entropy);
    nvt_random_tokens(op.tokens, op.rows, (int32_t)op.n, 1, 1);
    for (int64_t i = 0; i < op.rows; i++)
        op.weight[i] = 0.25;
    loss_of_operation();
    nvt_cross_entropy_backward(NVT_FP32, op.gradient[0], op.in[0], lse, op.tokens, op.rows, op.n,
                               0.25);
    check_gradients();
    /* Equal logits: log n, whatever their size; and the mean. */
    static real equal[22], losses[2], sums[2], mean;
    static const int32_t target[2] = {4, 10};
    for (int i = 0; i < 22; i++)
        equal[i] = i < 11 ? 1e4 : -1e4;
    nvt_cross_entropy_forward(losses, sums, equal, target, 2, 11);
    assert_true(fabs(losses[0] - log(11)) < 1e-11 && fabs(losses[1] - log(11)) < 1e-11);
    losses[1] = 3;
    nvt_mean(&mean, losses, 2);
    assert_true(fabs(mean - (log(11) + 3) / 2) < 1e-11);
}

/* --- attention -------------------------------------------------------------------------------- */

static real probabilities[MOST], dprobabilities[MOST];

static struct nvt_attention shape_of(const struct operation *o)
{
    return (struct nvt_attention){o->rows, o->heads[0], o->heads[1], o->causal, NVT_FP32};
}

static void attend(struct operation *o)
{
    struct nvt_attention shape = shape_of(o);
    nvt_attention_scores(&shape, probabilities, o->in[0], o->in[1]);
    nvt_attention_softmax(&shape, probabilities, probabilities);
    nvt_attention_values(&shape, o->out, probabilities, o->in[2]);
}

/* Position by position: softmax over what is seen, of q · k / √width. */
static double defined_attention(int64_t group, int64_t position, int64_t feature)
{
    int64_t length = op.heads[0], width = op.heads[1], base = group * length * width;
    int64_t seen = op.causal ? position + 1 : length;
    double sum = 0, out = 0;
    for (int64_t j = 0; j < seen; j++) {
        double score = 0;
        for (int64_t i = 0; i < width; i++)
            score += op.in[0][base + position * width + i] * op.in[1][base + j * width + i];
        double weight = exp(score / sqrt((double)width));
        sum += weight;
        out += weight * op.in[2][base + j * width + feature];
    }
    return out / sum;
}

static void check_attention(int causal)
{
    op.rows = 3;
    op.heads[0] = 7;
    op.heads[1] = 4;
    op.causal = causal;
    for (int i = 0; i < 3; i++)
        op.sizes[i] = 3 * 7 * 4;
    op.out_size = 3 * 7 * 4;
    prepare(3, attend);
    struct nvt_attention shape = shape_of(&op);
    loss_of_operation();
    nvt_attention_values_backward(&shape, dprobabilities, op.gradient[2], op.weight, probabilities,
                                  op.in[2]);
    nvt_attention_softmax_backward(&shape, dprobabilities, probabilities, dprobabilities);
    nvt_attention_scores_backward(&shape, op.gradient[0], op.gradient[1], dprobabilities, op.in[0],
                                  op.in[1]);
    check_gradients();
    for (int64_t i = 0; i < op.out_size; i++)
        assert_true(fabs(op.out[i] - defined_attention(i / 28, i / 4 % 7, i % 4)) < 1e-13);
}

static void attention_and_its_gradient(void **state)
{
    (void)state;
    check_attention(1);
    check_attention(0);
}

/* A later position changes nothing before it, not even when it is infinite. */
static void causal_attention_sees_nothing_later(void **state)
{
    (void)state;
    check_attention(1);
    real before[84];
    memcpy(before, op.out, sizeof(before));
    for (int i = 0; i < 3; i++)
        op.in[i][6 * 4] = 1e30;
    attend(&op);
    assert_memory_equal(before, op.out, 6 * 4 * sizeof(real));
    assert_true(before[6 * 4] != op.out[6 * 4]);
}

static void heads_are_split_and_merged(void **state)
{
    (void)state;
    enum { SAMPLES = 2, LENGTH = 3, HEADS = 4, WIDTH = 5, PARTS = 3 };
    enum { ROW = PARTS * HEADS * WIDTH, ALL = SAMPLES * LENGTH * ROW };
    static real rows[ALL], split[ALL], merged[ALL];
    for (int by_position = 0; by_position < 2; by_position++) {
        struct nvt_heads shape = {SAMPLES,
                                  LENGTH,
                                  HEADS,
                                  WIDTH,
                                  PARTS,
                                  by_position ? 1 : LENGTH,
                                  by_position ? SAMPLES : 1,
                                  NVT_FP32};
        for (int i = 0; i < ALL; i++)
            rows[i] = i;
        nvt_heads_split(&shape, split, rows, NULL);
        /* Part 1, sample 1, head 2, position 2, feature 3. */
        int row = by_position ? 2 * SAMPLES + 1 : LENGTH + 2;
        assert_true(split[(((1 * SAMPLES + 1) * HEADS + 2) * LENGTH + 2) * WIDTH + 3] ==
                    row * ROW + (1 * HEADS + 2) * WIDTH + 3);
        nvt_heads_merge(&shape, merged, split);
        assert_memory_equal(merged, rows, sizeof(rows));
    }
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* The third line of the known answers for philox4x32 with 10 rounds in Random123's kat_vectors:
 * digits of pi; and that a block is counted as the header says. */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    static const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    static const uint32_t expected[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    uint32_t out[4];
    nvt_philox(counter, key, out);
    assert_memory_equal(out, expected, sizeof(out));
    philox_block(out, 0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822);
    assert_memory_equal(out, expected, sizeof(out));
}

static void dropout_follows_its_words(void **state)
{
    (void)state;
    enum { COUNT = 40003 };
    static real x[COUNT], y[COUNT], again[COUNT];
    int64_t dropped = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = 2 + i;
    nvt_dropout(y, x, COUNT, 0.1, 9, 4);
    for (int i = 0; i < COUNT; i++) {
        uint32_t words[4];
        philox_block(words, (uint64_t)i / 4, 4, 9);
        int stays = words[i % 4] >= 0.1 * 4294967296.0;
        assert_true(stays ? fabs(y[i] - x[i] / 0.9) < 1e-9 * x[i] : y[i] == 0);
        dropped += !stays;
    }
    assert_true(fabs((double)dropped - 0.1 * COUNT) < 5 * sqrt(0.09 * COUNT));
    /* In place, and as its own backward pass: the same mask. Another stream: another one. */
    memcpy(again, x, sizeof(x));
    nvt_dropout(again, again, COUNT, 0.1, 9, 4);
    assert_memory_equal(again, y, sizeof(y));
    nvt_dropout(again, x, COUNT, 0.1, 9, 5);
    assert_memory_not_equal(again, y, sizeof(y));
    nvt_dropout(again, x, COUNT, 0, 9, 4);
    assert_memory_equal(again, x, sizeof(x));
}

/* --- optimizers ------------------------------------------------------------------------------- */

static void adamw_follows_its_definition(void **state)
{
    (void)state;
    static const struct nvt_adamw adamw = {1e-3, 0.9, 0.999, 1e-8, 0.01, 0.5};
    real w = 0.5, m = 0, v = 0, clock[NVT_ADAMW_CLOCK] = {0};
    double expected = 0.5, first = 0, second = 0;
    for (int64_t step = 1; step <= 50; step++) {
        real g = sin((double)step);
        double half = 0.5 * g;
        first = 0.9 * first + 0.1 * half;
        second = 0.999 * second + 0.001 * half * half;
        expected = expected * (1 - 1e-3 * 0.01) -
                   1e-3 * (first / (1 - pow(0.9, (double)step))) /
                       (sqrt(second / (1 - pow(0.999, (double)step))) + 1e-8);
        nvt_adamw_advance(clock, &adamw);
        nvt_adamw_step(NVT_FP32, &w, NULL, &g, &m, &v, 1, clock, &adamw);
        assert_true(fabs(w - expected) < 1e-14);
    }
    /* The first step of a fresh weight moves it by lr, whatever the gradient. */
    w = m = v = 0;
    real g = 1234, copy = 0;
    memset(clock, 0, sizeof(clock));
    nvt_adamw_advance(clock, &adamw);
    nvt_adamw_step(NVT_FP32, &w, &copy, &g, &m, &v, 1, clock, &adamw);
    assert_true(fabs(w + 1e-3) < 1e-13);
    assert_true(copy == w);
}

/* Three steps by hand, gradient 1, momentum 0.5, rate 0.1, no decay: b = 1, 1.5, 1.75; moves of
 * 0.1 · (1 + b / 2) = 0.15, 0.175, 0.1875. Then one with decay. */
static void sgd_follows_its_definition(void **state)
{
    (void)state;
    struct nvt_sgd sgd = {0.1, 0.5, 0, 1};
    static const double expected[] = {0.85, 0.675, 0.4875};
    real w = 1, b = 0, g = 1;
    for (int step = 0; step < 3; step++) {
        nvt_sgd_step(&w, &g, &b, 1, &sgd);
        assert_true(fabs(w - expected[step]) < 1e-15);
    }
    /* g = 2 · 0.5 + 0.2 · 0.4875 = 1.0975; b = 0.875 + 1.0975 = 1.9725; w −= 0.1 · (1.0975 +
     * 0.98625) */
    g = 2;
    sgd.decay = 0.2;
    sgd.gradient_scale = 0.5;
    nvt_sgd_step(&w, &g, &b, 1, &sgd);
    assert_true(fabs(w - 0.279125) < 1e-15);
}

/* --- emulated precisions ---------------------------------------------------------------------- */

static void inputs_are_rounded_to_nearest_even(void **state)
{
    (void)state;
    /* bfloat16 has 8 bits of significand, TF32 and binary16 have 11. */
    assert_true(round_mantissa(1 + 1.0f / 256, 7) == 1);
    assert_true(round_mantissa(1 + 3.0f / 256, 7) == 1 + 4.0f / 256);
    assert_true(round_mantissa(1 + 1.01f / 256, 7) == 1 + 2.0f / 256);
    assert_true(round_mantissa(-3.3895314e38f, 7) == -3.3895314e38f);
    assert_true(isinf(round_mantissa(3.4e38f, 7)));
    assert_true(isnan(round_mantissa(nanf("1"), 7)));
    assert_true(round_mantissa(1 + 1.0f / 2048, 10) == 1);
    assert_true(round_half(1 + 1.0f / 2048) == 1 && round_half(1 + 3.0f / 2048) == 1 + 4.0f / 2048);
    assert_true(round_half(-65520) == -INFINITY && round_half(65519) == 65504);
    assert_true(isnan(round_half(NAN)) && round_half(1.5f * 0x1p-24f) == 0x1p-23f);
    assert_true(round_half(5.9604645e-8f) == 5.9604645e-8f && round_half(2e-8f) == 0);
    const real a = 1 + 1.0 / 256, b = 3;
    real c = 0;
    struct nvt_matmul shape = {0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, NVT_BF16, 0};
    nvt_backend_matmul_batched(&shape, &a, &b, &c);
    assert_true(c == 3);
    shape.precision = NVT_TF32;
    nvt_backend_matmul_batched(&shape, &a, &b, &c);
    assert_true(c == 3 + 3.0 / 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rmsnorm_and_its_gradient),
        cmocka_unit_test(layernorm_and_its_gradient),
        cmocka_unit_test(norm_gradients_are_added),
        cmocka_unit_test(gelu_and_its_gradient),
        cmocka_unit_test(embedding_and_its_gradient),
        cmocka_unit_test(random_tokens_are_in_range),
        cmocka_unit_test(cross_entropy_and_its_gradient),
        cmocka_unit_test(attention_and_its_gradient),
        cmocka_unit_test(causal_attention_sees_nothing_later),
        cmocka_unit_test(heads_are_split_and_merged),
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(dropout_follows_its_words),
        cmocka_unit_test(adamw_follows_its_definition),
        cmocka_unit_test(sgd_follows_its_definition),
        cmocka_unit_test(inputs_are_rounded_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
