/*
 * The operations and layers of the fragment study.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/ops/ops.h"
#include "../../kernels/workloads/layer.h"
#include "check_arrays.h"

/* --- rows, n --- */

OP(softmax_forward)
{
    const real *x = check_in(c, "x", s[0] * s[1]);
    nvt_softmax_forward(check_out(c, "p", s[0] * s[1]), x, s[0], s[1]);
}

OP(softmax_backward)
{
    const real *p = check_shares(c, "p", s[0], s[1]), *dp = check_in(c, "dp", s[0] * s[1]);
    nvt_softmax_backward(check_out(c, "dx", s[0] * s[1]), p, dp, s[0], s[1]);
}

OP(bias_forward)
{
    const real *b = check_in(c, "b", s[1]);
    nvt_bias_forward(check_both(c, "y", s[0] * s[1]), b, s[0], s[1]);
}

/* rows, n, k. */
OP(linear_forward)
{
    const real *x = check_in(c, "x", s[0] * s[2]), *w = check_in(c, "w", s[1] * s[2]);
    const real *b = check_in(c, "b", s[1]);
    nvt_linear_forward(check_out(c, "y", s[0] * s[1]), x, w, b, s[0], s[1], s[2]);
}

/* Weights and bias one behind the other, as a model has them: the bias begins anywhere. */
OP(linear_packed)
{
    int64_t weights = s[1] * s[2];
    const real *x = check_in(c, "x", s[0] * s[2]), *w = check_in(c, "w", weights + 1 + s[1]);
    for (int64_t after = 0; after < 2; after++)
        nvt_linear_forward(check_out(c, after ? "later" : "y", s[0] * s[1]), x, w,
                           w + weights + after, s[0], s[1], s[2]);
}

OP(bias_backward)
{
    const real *dy = check_in(c, "dy", s[0] * s[1]);
    nvt_bias_backward(check_both(c, "db", s[1]), dy, s[0], s[1]);
}

/* --- losses and optimizers: n --- */

OP(mse_backward)
{
    const real *y = check_in(c, "y", s[0]), *t = check_in(c, "t", s[0]);
    nvt_mse_backward(check_out(c, "dy", s[0]), y, t, s[0]);
}

OP(mse_loss)
{
    const real *y = check_in(c, "y", s[0]), *t = check_in(c, "t", s[0]);
    check_number(c, "loss", nvt_mse_loss(y, t, s[0]));
}

OP(adam_step)
{
    static const struct nvt_adam adam = {(real)1e-3, (real)0.9, (real)0.999, (real)1e-8};
    const real *g = check_in(c, "g", s[0]);
    real *w = check_both(c, "w", s[0]), *m = check_both(c, "m", s[0]);
    nvt_adam_step(w, g, m, check_both_positive(c, "v", s[0]), s[0], 7, &adam);
}

/* --- fragments: batch, fragments, width, columns --- */

#define FEATURES (s[0] * s[1] * s[2])
#define SCORES   (s[0] * s[1])

OP(score_forward)
{
    const real *x = check_in(c, "x", FEATURES), *selector = check_in(c, "s", s[1] * s[2]);
    nvt_score_forward(check_out(c, "score", SCORES), x, selector, s[0], s[1], s[2]);
}

OP(score_backward)
{
    const real *dscore = check_in(c, "dscore", SCORES), *x = check_in(c, "x", FEATURES);
    nvt_score_backward(check_both(c, "ds", s[1] * s[2]), dscore, x, s[0], s[1], s[2]);
}

OP(blend_forward)
{
    const real *p = check_positive(c, "p", SCORES), *x = check_in(c, "x", FEATURES);
    real *xs = check_out(c, "xs", FEATURES), *xm = check_out(c, "xm", FEATURES);
    nvt_blend_forward(xs, xm, p, x, s[0], s[1], s[2]);
}

OP(blend_backward)
{
    const real *dxs = check_in(c, "dxs", FEATURES), *dxm = check_in(c, "dxm", FEATURES);
    const real *x = check_in(c, "x", FEATURES);
    nvt_blend_backward(check_out(c, "dp", SCORES), dxs, dxm, x, s[0], s[1], s[2]);
}

OP(choose)
{
    const real *score = check_in(c, "score", SCORES);
    nvt_choose(check_out_indices(c, "chosen", s[0]), score, s[0], s[1]);
}

OP(mask_chosen)
{
    const real *x = check_in(c, "x", FEATURES);
    const int32_t *chosen = check_indices(c, "chosen", s[0], s[1]);
    nvt_mask_chosen(check_out(c, "xm", FEATURES), x, chosen, s[0], s[1], s[2]);
}

/* What lies behind the rows that were found stays poison on both sides, so it is not compared as
 * one. */
OP(find_rows)
{
    const int32_t *chosen = check_indices(c, "chosen", s[0], s[1]);
    for (int64_t f = 0; f < s[1] && f < 4; f++) {
        int32_t *rows = check_out_indices(c, "rows", s[0]);
        nvt_find_rows(rows, check_out_indices(c, "count", 1), chosen, s[0], f);
    }
}

OP(gather_fragment)
{
    const real *x = check_in(c, "x", FEATURES);
    const int32_t *rows = check_permutation(c, "rows", s[0]);
    nvt_gather_fragment(check_out(c, "packed", s[0] * s[2]), x, rows, s[0], s[1] - 1, s[1], s[2]);
}

OP(scatter_rows)
{
    const real *packed = check_in(c, "packed", s[0] * s[2]);
    const int32_t *rows = check_permutation(c, "rows", s[0]);
    nvt_scatter_rows(check_out(c, "out", s[0] * s[2]), packed, rows, s[0], s[2]);
}

OP(expert_forward)
{
    const real *x = check_in(c, "x", FEATURES), *e = check_in(c, "e", s[1] * s[2] * s[3]);
    const int32_t *chosen = check_indices(c, "chosen", s[0], s[1]);
    real *out = check_out(c, "out", s[0] * s[3]);
    nvt_expert_forward(out, x, e, chosen, s[0], s[1], s[2], s[3]);
}

OP(expert_forward_rows)
{
    const real *x = check_in(c, "x", FEATURES), *e = check_in(c, "e", s[1] * s[2] * s[3]);
    const int32_t *chosen = check_indices(c, "chosen", s[0], s[1]);
    real *out = check_out(c, "out", s[0] * s[3]);
    nvt_expert_forward_rows(out, x, e, chosen, s[0], s[1], s[2], s[3]);
}

OP(expert_backward)
{
    const real *x = check_in(c, "x", FEATURES), *dout = check_in(c, "dout", s[0] * s[3]);
    const int32_t *chosen = check_indices(c, "chosen", s[0], s[1]);
    real *de = check_both(c, "de", s[1] * s[2] * s[3]);
    nvt_expert_backward(de, x, dout, chosen, s[0], s[1], s[2], s[3]);
}

/* --- the layers of the fragment study: batch, size, fragments --- */

static real *copy_of(const real *device, int64_t count)
{
    real *host = malloc((size_t)count * sizeof(*host));
    if (!host)
        abort();
    nvt_backend_to_host(host, device, (size_t)count * sizeof(*host));
    return host;
}

/* The selector's gradient is a sum over the batch of x · p · (dp − Σ p · dp): where fragments are equally good, nothing
 * but rounding is left of it. So it is measured by batch · max |p · dp| · rms(x). */
static double selector_scale(const struct nvt_layer *layer)
{
    int64_t scores = layer->batch * layer->fragments, inputs = layer->batch * layer->in;
    real *p = copy_of(layer->p, scores), *dp = copy_of(layer->dp, scores);
    real *x = copy_of(layer->x, inputs);
    double largest = 0, square = 0;
    for (int64_t i = 0; i < scores; i++)
        largest = fmax(largest, fabs((double)p[i] * (double)dp[i]));
    for (int64_t i = 0; i < inputs; i++)
        square += (double)x[i] * (double)x[i] / (double)inputs;
    free(p);
    free(dp);
    free(x);
    return (double)layer->batch * largest * sqrt(square);
}

/* Outputs and gradients of one pass. A step of Adam is left out: its first is of size lr whatever
 * the gradient's, so that rounding decides the sign where that is nothing. */
static void layer(struct check *c, const int64_t *s, enum nvt_layer_mode mode, int grouped)
{
    static const char *const names[] = {"gradient 0", "gradient 1", "gradient 2", "gradient 3"};
    struct nvt_layer layer;
    memset(&layer, 0, sizeof(layer));
    layer.mode = mode;
    layer.grouped = grouped;
    layer.batch = s[0];
    layer.in = layer.out = s[1];
    layer.fragments = s[2];
    layer.allocator = nvt_allocator_new(0);
    if (nvt_layer_setup(&layer, c->random) || nvt_layer_forward(&layer)) {
        nvt_allocator_free(layer.allocator);
        return;
    }
    nvt_layer_backward(&layer);
    check_result(c, "y", layer.y, s[0] * s[1]);
    for (int i = 0; i < layer.parameter_count; i++) {
        check_result(c, names[i], layer.parameters[i].gradient, layer.parameters[i].count);
        if (mode == NVT_TRAIN && i == NVT_SELECTOR)
            check_scale(c, selector_scale(&layer));
    }
    nvt_layer_teardown(&layer);
    nvt_allocator_free(layer.allocator);
}

OP(layer_linear)
{
    layer(c, s, NVT_LINEAR, 0);
}

OP(layer_train)
{
    layer(c, s, NVT_TRAIN, 0);
}

OP(layer_looped)
{
    layer(c, s, NVT_INFERENCE, 0);
}

OP(layer_grouped)
{
    layer(c, s, NVT_INFERENCE, 1);
}

/* clang-format off */
const struct check_line check_fragments[] = {
    LINE(softmax_forward, SUMS, ROWS),
    LINE(softmax_backward, SUMS, ROWS),
    LINE(bias_forward, CLOSE, ROWS),
    LINE(linear_forward, SUMS, MATRICES),
    LINE(linear_packed, SUMS, MATRICES),
    LINE(bias_backward, SUMS, ROWS, {150, 2100}),
    LINE(mse_backward, CLOSE, LENGTHS),
    LINE(mse_loss, SUMS, LENGTHS),
    LINE(adam_step, SUMS, LENGTHS),
    LINE(score_forward, SUMS, FRAGMENTS),
    LINE(score_backward, SUMS, FRAGMENTS),
    LINE(blend_forward, CLOSE, FRAGMENTS),
    LINE(blend_backward, SUMS, FRAGMENTS),
    LINE(choose, EXACT, FRAGMENTS),
    LINE(mask_chosen, EXACT, FRAGMENTS),
    LINE(find_rows, EXACT, FRAGMENTS),
    LINE(gather_fragment, EXACT, FRAGMENTS),
    LINE(scatter_rows, EXACT, FRAGMENTS),
    LINE(expert_forward, SUMS, FRAGMENTS),
    LINE(expert_forward_rows, SUMS, FRAGMENTS),
    LINE(expert_backward, SUMS, FRAGMENTS),
    LINE(layer_linear, SUMS, LAYERS),
    LINE(layer_train, SUMS, LAYERS),
    LINE(layer_looped, SUMS, LAYERS),
    LINE(layer_grouped, SUMS, LAYERS),
    {{NULL, 0, {{0}}}, NULL},
};
/* clang-format on */
