#include "transformer_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ops/attention.h"
#include "../ops/copy.h"
#include "../ops/cross_entropy.h"
#include "../ops/embedding.h"
#include "../ops/gelu.h"
#include "../ops/norm.h"

#define EPSILON ((real)1e-5)
/* Elements: tensors begin at multiples of this, as fast products of matrices want. */
#define ALIGNMENT 64

static int64_t rows_of(const struct nvt_transformer_shape *shape)
{
    return shape->batch * shape->context;
}

uint64_t nvt_transformer_parameters(const struct nvt_transformer_shape *shape)
{
    uint64_t d = (uint64_t)shape->d_model, ff = (uint64_t)shape->d_ff;
    uint64_t layer = 2 * d + 4 * d * d + 2 * d * ff;
    return (2 * (uint64_t)shape->vocabulary + (uint64_t)shape->context + 1) * d +
           (uint64_t)shape->layers * layer;
}

double nvt_transformer_loss_scale(enum nvt_precision precision)
{
    return precision == NVT_FP16 ? 65536 : 1;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *take_bytes(struct nvt_transformer *model, int64_t count, size_t size, int *failed)
{
    void *memory = *failed ? NULL : nvt_allocator_take(model->allocator, (size_t)count * size);
    if (memory)
        model->taken[model->taken_count++] = memory;
    *failed |= !memory;
    return memory;
}

static real *take(struct nvt_transformer *model, int64_t count, int *failed)
{
    return (real *)take_bytes(model, count, sizeof(real), failed);
}

/* Give a tensor its place behind the others. */
static void place(struct nvt_transformer *model, struct nvt_tensor *tensor, int64_t count)
{
    tensor->count = count;
    if (model->values)
        tensor->value = model->values + model->places;
    if (model->gradients)
        tensor->gradient = model->gradients + model->places;
    model->places += (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* What gradients are added to comes first, to be zeroed at once; products write theirs. */
static void place_all(struct nvt_transformer *model)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t d = shape->d_model;
    model->places = 0;
    for (int64_t i = 0; i < shape->layers; i++) {
        place(model, &model->layers[i].norm1, d);
        place(model, &model->layers[i].norm2, d);
    }
    place(model, &model->norm, d);
    place(model, &model->table, shape->vocabulary * d);
    place(model, &model->position, shape->context * d);
    model->summed = model->places;
    place(model, &model->head, shape->vocabulary * d);
    for (int64_t i = 0; i < shape->layers; i++) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        place(model, &layer->qkv, 3 * d * d);
        place(model, &layer->projection, d * d);
        place(model, &layer->up, shape->d_ff * d);
        place(model, &layer->down, d * shape->d_ff);
    }
}

static void take_parameters(struct nvt_transformer *model, int *failed)
{
    place_all(model);
    model->values = take(model, model->places, failed);
    if (model->shape.pass >= NVT_PASS_BACKWARD)
        model->gradients = take(model, model->places, failed);
    if (model->shape.pass >= NVT_PASS_TRAIN) {
        model->m = take(model, model->places, failed);
        model->v = take(model, model->places, failed);
        model->clock = take(model, NVT_ADAMW_CLOCK, failed);
    }
    place_all(model);
    size_t rounded =
        nvt_backend_rounded_bytes(model->shape.precision, model->places - model->summed);
    if (rounded)
        model->rounded = take_bytes(model, (int64_t)rounded, 1, failed);
}

static void take_layer(struct nvt_transformer *model, struct nvt_transformer_layer *layer,
                       int *failed)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape), wide = rows * shape->d_model;
    layer->r1 = take(model, rows, failed);
    layer->n1 = take(model, wide, failed);
    layer->heads = take(model, 3 * wide, failed);
    layer->p = take(model, rows * shape->heads * shape->context, failed);
    layer->merged = take(model, wide, failed);
    layer->r2 = take(model, rows, failed);
    layer->n2 = take(model, wide, failed);
    layer->u = take(model, rows * shape->d_ff, failed);
    layer->h = take(model, rows * shape->d_ff, failed);
}

/* Without a backward pass all layers share one set of activations, and the residual stream is one
 * array. */
static void take_layers(struct nvt_transformer *model, int *failed)
{
    int keeps = model->shape.pass >= NVT_PASS_BACKWARD;
    int64_t wide = rows_of(&model->shape) * model->shape.d_model;
    real *stream = keeps ? NULL : take(model, wide, failed);
    for (int64_t i = 0; i < model->shape.layers; i++) {
        struct nvt_transformer_layer *layer = &model->layers[i], *first = &model->layers[0];
        if (keeps || !i) {
            take_layer(model, layer, failed);
        } else {
            real *kept[] = {first->r1, first->n1, first->heads, first->p, first->merged,
                            first->r2, first->n2, first->u,     first->h};
            real **shared[] = {&layer->r1, &layer->n1, &layer->heads, &layer->p, &layer->merged,
                               &layer->r2, &layer->n2, &layer->u,     &layer->h};
            for (int k = 0; k < 9; k++)
                *shared[k] = kept[k];
        }
        layer->x1 = keeps ? take(model, wide, failed) : stream;
        layer->x2 = keeps ? take(model, wide, failed) : stream;
    }
    model->x = keeps ? take(model, wide, failed) : stream;
}

static void take_rest(struct nvt_transformer *model, int *failed)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape), wide = rows * shape->d_model;
    model->token = (int32_t *)take_bytes(model, rows, sizeof(int32_t), failed);
    model->target = (int32_t *)take_bytes(model, rows, sizeof(int32_t), failed);
    model->r = take(model, rows, failed);
    model->n = take(model, wide, failed);
    model->logits = take(model, rows * shape->vocabulary, failed);
    model->lse = take(model, rows, failed);
    model->losses = take(model, rows, failed);
    model->loss = take(model, 1, failed);
    model->rows = take(model, 3 * wide, failed);
    model->groups = take(model, wide, failed);
    if (shape->pass < NVT_PASS_BACKWARD)
        return;
    model->dx = take(model, wide, failed);
    model->dn = take(model, wide, failed);
    model->dh = take(model, rows * shape->d_ff, failed);
    model->dheads = take(model, 3 * wide, failed);
    model->dp = take(model, rows * shape->heads * shape->context, failed);
    model->scratch = take(model, nvt_norm_scratch(shape->d_model), failed);
}

static void fill(struct nvt_tensor *tensor, int is_norm, uint64_t seed, uint64_t *stream)
{
    ++*stream;
    if (is_norm)
        nvt_fill(tensor->value, tensor->count, 1);
    else
        nvt_random_normal(tensor->value, tensor->count, seed, *stream, (real)0.02);
}

static void fill_parameters(struct nvt_transformer *model, uint64_t seed)
{
    uint64_t stream = 0;
    size_t bytes = (size_t)model->places * sizeof(real);
    real *all[] = {model->values, model->gradients, model->m, model->v};
    for (int i = 0; i < 4; i++)
        if (all[i])
            nvt_backend_zero(all[i], bytes);
    if (model->shape.pass >= NVT_PASS_TRAIN)
        nvt_backend_zero(model->clock, NVT_ADAMW_CLOCK * sizeof(real));
    fill(&model->table, 0, seed, &stream);
    fill(&model->position, 0, seed, &stream);
    fill(&model->norm, 1, seed, &stream);
    fill(&model->head, 0, seed, &stream);
    for (int64_t i = 0; i < model->shape.layers; i++) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        fill(&layer->norm1, 1, seed, &stream);
        fill(&layer->qkv, 0, seed, &stream);
        fill(&layer->projection, 0, seed, &stream);
        fill(&layer->norm2, 1, seed, &stream);
        fill(&layer->up, 0, seed, &stream);
        fill(&layer->down, 0, seed, &stream);
    }
    /* Streams that no tensor has. */
    nvt_random_tokens(model->token, rows_of(&model->shape), (int32_t)model->shape.vocabulary, seed,
                      100001);
    nvt_random_tokens(model->target, rows_of(&model->shape), (int32_t)model->shape.vocabulary, seed,
                      100002);
}

int nvt_transformer_setup(struct nvt_transformer *model, uint64_t seed)
{
    model->values = model->gradients = model->m = model->v = NULL;
    model->rounded = NULL;
    model->taken_count = 0;
    model->layers =
        (struct nvt_transformer_layer *)calloc((size_t)model->shape.layers, sizeof(*model->layers));
    int failed = !model->layers;
    if (!failed) {
        take_parameters(model, &failed);
        take_layers(model, &failed);
        take_rest(model, &failed);
    }
    if (failed) {
        nvt_transformer_teardown(model);
        return -1;
    }
    fill_parameters(model, seed);
    return 0;
}

void nvt_transformer_teardown(struct nvt_transformer *model)
{
    while (model->taken_count)
        nvt_allocator_give(model->allocator, model->taken[--model->taken_count]);
    free(model->layers);
    model->layers = NULL;
}

/* --- pieces of both passes -------------------------------------------------------------------- */

static void begin(const struct nvt_transformer *model, enum nvt_transformer_part part,
                  int is_backward)
{
    if (model->part_begin)
        model->part_begin(model->user, part, is_backward);
}

static void end(const struct nvt_transformer *model)
{
    if (model->part_end)
        model->part_end(model->user);
}

static struct nvt_matmul product_of(const struct nvt_transformer *model, int transpose_a,
                                    int transpose_b, int64_t m, int64_t n, int64_t k, real beta)
{
    struct nvt_matmul shape = {
        transpose_a, transpose_b, m, n, k, 1, beta, 1, 0, 0, 0, model->shape.precision, 0, 0};
    return shape;
}

/* The weights as a product takes them: rounded, where they are. */
static const real *weights_for(const struct nvt_transformer *model, struct nvt_matmul *product,
                               const real *w)
{
    int64_t at = w - (model->values + model->summed);
    product->b_is_rounded = model->rounded != NULL;
    return model->rounded ? (const void *)((const char *)model->rounded +
                                           nvt_backend_rounded_bytes(model->shape.precision, at))
                          : w;
}

/* y[N][out] = x[N][in] · wᵀ, w[out][in]; added to y where beta is 1. */
static void project(const struct nvt_transformer *model, real *y, const real *x, const real *w,
                    int64_t in, int64_t out, real beta)
{
    struct nvt_matmul shape = product_of(model, 0, 1, rows_of(&model->shape), out, in, beta);
    const real *weights = weights_for(model, &shape, w);
    nvt_backend_matmul_batched(&shape, x, weights, y);
}

/* dx[N][in] = dy · w and dw[out][in] = dyᵀ · x. */
static void project_backward(const struct nvt_transformer *model, real *dx, real *dw,
                             const real *dy, const real *x, const real *w, int64_t in, int64_t out)
{
    int64_t rows = rows_of(&model->shape);
    struct nvt_matmul of_x = product_of(model, 0, 0, rows, in, out, 0);
    struct nvt_matmul of_w = product_of(model, 1, 0, out, in, rows, 0);
    of_w.same_a = 1;
    const real *weights = weights_for(model, &of_x, w);
    nvt_backend_matmul_batched(&of_x, dy, weights, dx);
    nvt_backend_matmul_batched(&of_w, dy, x, dw);
}

static struct nvt_attention attention_of(const struct nvt_transformer_shape *shape)
{
    struct nvt_attention attention = {shape->batch * shape->heads, shape->context,
                                      shape->d_model / shape->heads, 1, shape->precision};
    return attention;
}

static struct nvt_heads heads_of(const struct nvt_transformer_shape *shape, int64_t parts)
{
    struct nvt_heads heads = {shape->batch,
                              shape->context,
                              shape->heads,
                              shape->d_model / shape->heads,
                              parts,
                              shape->context,
                              1};
    return heads;
}

/* The residual stream goes on in another array, unless it is kept in one. */
static void carry_on(const struct nvt_transformer *model, real *next, const real *x)
{
    if (next != x)
        nvt_copy(next, x, rows_of(&model->shape) * model->shape.d_model);
}

/* --- forward ---------------------------------------------------------------------------------- */

static void normalize(const struct nvt_transformer *model, real *y, real *r, const real *x,
                      const struct nvt_tensor *g)
{
    begin(model, NVT_PART_NORM, 0);
    nvt_rmsnorm_forward(y, r, x, g->value, rows_of(&model->shape), model->shape.d_model, EPSILON);
    end(model);
}

/* layer->x2 = layer->x1 + attention(layer->n1). */
static void attend(const struct nvt_transformer *model, const struct nvt_transformer_layer *layer)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    struct nvt_attention attention = attention_of(shape);
    struct nvt_heads split = heads_of(shape, 3), merge = heads_of(shape, 1);
    int64_t d = shape->d_model, wide = rows_of(shape) * d;
    const real *q = layer->heads, *k = q + wide, *v = k + wide;
    begin(model, NVT_PART_ATTENTION, 0);
    project(model, model->rows, layer->n1, layer->qkv.value, d, 3 * d, 0);
    nvt_heads_split(&split, layer->heads, model->rows, NULL);
    begin(model, NVT_PART_SCORES, 0);
    nvt_attention_scores(&attention, layer->p, q, k);
    end(model);
    begin(model, NVT_PART_SOFTMAX, 0);
    nvt_attention_softmax(&attention, layer->p, layer->p);
    end(model);
    begin(model, NVT_PART_VALUES, 0);
    nvt_attention_values(&attention, model->groups, layer->p, v);
    end(model);
    nvt_heads_merge(&merge, layer->merged, model->groups);
    carry_on(model, layer->x2, layer->x1);
    project(model, layer->x2, layer->merged, layer->projection.value, d, d, 1);
    end(model);
}

/* next = layer->x2 + feed-forward(layer->n2). */
static void feed_forward(const struct nvt_transformer *model,
                         const struct nvt_transformer_layer *layer, real *next)
{
    int64_t d = model->shape.d_model, ff = model->shape.d_ff;
    begin(model, NVT_PART_MLP, 0);
    project(model, layer->u, layer->n2, layer->up.value, d, ff, 0);
    nvt_gelu_forward(layer->h, layer->u, rows_of(&model->shape) * ff);
    carry_on(model, next, layer->x2);
    project(model, next, layer->h, layer->down.value, ff, d, 1);
    end(model);
}

void nvt_transformer_forward(struct nvt_transformer *model)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape), d = shape->d_model;
    if (model->rounded)
        nvt_backend_round(shape->precision, model->rounded, model->values + model->summed,
                          model->places - model->summed);
    begin(model, NVT_PART_EMBEDDING, 0);
    nvt_embedding_forward(model->layers[0].x1, model->table.value, model->position.value,
                          model->token, rows, shape->context, d);
    end(model);
    for (int64_t i = 0; i < shape->layers; i++) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        normalize(model, layer->n1, layer->r1, layer->x1, &layer->norm1);
        attend(model, layer);
        normalize(model, layer->n2, layer->r2, layer->x2, &layer->norm2);
        feed_forward(model, layer, i + 1 < shape->layers ? model->layers[i + 1].x1 : model->x);
    }
    normalize(model, model->n, model->r, model->x, &model->norm);
    begin(model, NVT_PART_LM_HEAD, 0);
    project(model, model->logits, model->n, model->head.value, d, shape->vocabulary, 0);
    end(model);
    begin(model, NVT_PART_LOSS, 0);
    nvt_cross_entropy_forward(model->losses, model->lse, model->logits, model->target, rows,
                              shape->vocabulary);
    nvt_mean(model->loss, model->losses, rows);
    end(model);
}

double nvt_transformer_loss(const struct nvt_transformer *model)
{
    real loss;
    nvt_backend_to_host(&loss, model->loss, sizeof(loss));
    return (double)loss;
}

/* --- backward --------------------------------------------------------------------------------- */

/* The gradient of the norm's input is added to dx, or becomes it. */
static void normalize_backward(const struct nvt_transformer *model, int add,
                               const struct nvt_tensor *g, const real *x, const real *r)
{
    begin(model, NVT_PART_NORM, 1);
    nvt_rmsnorm_backward(model->dx, add, g->gradient, model->dn, x, g->value, r,
                         rows_of(&model->shape), model->shape.d_model, model->scratch);
    end(model);
}

/* From dx, the gradient of the stream behind the feed-forward, to dn. */
static void feed_forward_backward(const struct nvt_transformer *model,
                                  const struct nvt_transformer_layer *layer)
{
    int64_t d = model->shape.d_model, ff = model->shape.d_ff;
    begin(model, NVT_PART_MLP, 1);
    project_backward(model, model->dh, layer->down.gradient, model->dx, layer->h, layer->down.value,
                     ff, d);
    nvt_gelu_backward(model->dh, model->dh, layer->u, rows_of(&model->shape) * ff);
    project_backward(model, model->dn, layer->up.gradient, model->dh, layer->n2, layer->up.value, d,
                     ff);
    end(model);
}

/* From dx, the gradient of the stream behind the attention, to dn. */
static void attend_backward(const struct nvt_transformer *model,
                            const struct nvt_transformer_layer *layer)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    struct nvt_attention attention = attention_of(shape);
    struct nvt_heads split = heads_of(shape, 3), merge = heads_of(shape, 1);
    int64_t d = shape->d_model, wide = rows_of(shape) * d;
    const real *q = layer->heads, *k = q + wide, *v = k + wide;
    real *dq = model->dheads, *dk = dq + wide, *dv = dk + wide;
    begin(model, NVT_PART_ATTENTION, 1);
    project_backward(model, model->dn, layer->projection.gradient, model->dx, layer->merged,
                     layer->projection.value, d, d);
    nvt_heads_split(&merge, model->groups, model->dn, NULL);
    begin(model, NVT_PART_VALUES, 1);
    nvt_attention_values_backward(&attention, model->dp, dv, model->groups, layer->p, v);
    end(model);
    begin(model, NVT_PART_SOFTMAX, 1);
    nvt_attention_softmax_backward(&attention, model->dp, layer->p, model->dp);
    end(model);
    begin(model, NVT_PART_SCORES, 1);
    nvt_attention_scores_backward(&attention, dq, dk, model->dp, q, k);
    end(model);
    nvt_heads_merge(&split, model->rows, model->dheads);
    project_backward(model, model->dn, layer->qkv.gradient, model->rows, layer->n1,
                     layer->qkv.value, d, 3 * d);
    end(model);
}

static void embedding_backward(const struct nvt_transformer *model)
{
    const struct nvt_tensor *table = &model->table, *position = &model->position;
    begin(model, NVT_PART_EMBEDDING, 1);
    nvt_embedding_backward(table->gradient, position->gradient, model->dx, model->token,
                           rows_of(&model->shape), model->shape.context, model->shape.d_model);
    end(model);
}

void nvt_transformer_backward(struct nvt_transformer *model)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape);
    double scale = nvt_transformer_loss_scale(shape->precision) / (double)rows;
    nvt_backend_zero(model->gradients, (size_t)model->summed * sizeof(real));
    begin(model, NVT_PART_LOSS, 1);
    nvt_cross_entropy_backward(model->logits, model->logits, model->lse, model->target, rows,
                               shape->vocabulary, (real)scale);
    end(model);
    begin(model, NVT_PART_LM_HEAD, 1);
    project_backward(model, model->dn, model->head.gradient, model->logits, model->n,
                     model->head.value, shape->d_model, shape->vocabulary);
    end(model);
    normalize_backward(model, 0, &model->norm, model->x, model->r);
    for (int64_t i = shape->layers; i-- > 0;) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        feed_forward_backward(model, layer);
        normalize_backward(model, 1, &layer->norm2, layer->x2, layer->r2);
        attend_backward(model, layer);
        normalize_backward(model, 1, &layer->norm1, layer->x1, layer->r1);
    }
    embedding_backward(model);
}

void nvt_transformer_step(struct nvt_transformer *model)
{
    const struct nvt_adamw adamw = {
        (real)1e-3, (real)0.9,  (real)0.999,
        (real)1e-8, (real)0.01, (real)(1 / nvt_transformer_loss_scale(model->shape.precision))};
    nvt_adamw_advance(model->clock, &adamw);
    nvt_adamw_step(model->values, model->gradients, model->m, model->v, model->places, model->clock,
                   &adamw);
}
