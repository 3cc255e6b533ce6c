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

static void *take_stored(struct nvt_transformer *model, int64_t count, int *failed)
{
    return take_bytes(model, count, model->stored, failed);
}

/* What products read of this: memory of its own, unless they read real numbers. */
static void *take_copy(struct nvt_transformer *model, real *of, int64_t count, int *failed)
{
    return model->stored == sizeof(real) ? of : take_stored(model, count, failed);
}

/* The i-th of stored numbers. */
static void *stored_at(const struct nvt_transformer *model, void *numbers, int64_t i)
{
    return (char *)numbers + i * (int64_t)model->stored;
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
    if (model->stored != sizeof(real))
        model->weights = take_stored(model, model->places - model->summed, failed);
}

static void take_layer(struct nvt_transformer *model, struct nvt_transformer_layer *layer,
                       int *failed)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape), wide = rows * shape->d_model;
    layer->r1 = take(model, rows, failed);
    layer->n1 = take_stored(model, wide, failed);
    layer->heads = take_stored(model, 3 * wide, failed);
    layer->p = take_stored(model, rows * shape->heads * shape->context, failed);
    layer->merged = take_stored(model, wide, failed);
    layer->r2 = take(model, rows, failed);
    layer->n2 = take_stored(model, wide, failed);
    layer->u = take_stored(model, rows * shape->d_ff, failed);
    layer->h = take_stored(model, rows * shape->d_ff, failed);
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
            layer->r1 = first->r1;
            layer->r2 = first->r2;
            void *kept[] = {first->n1, first->heads, first->p, first->merged,
                            first->n2, first->u,     first->h};
            void **shared[] = {&layer->n1, &layer->heads, &layer->p, &layer->merged,
                               &layer->n2, &layer->u,     &layer->h};
            for (int k = 0; k < 7; k++)
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
    model->n = take_stored(model, wide, failed);
    model->logits = take(model, rows * shape->vocabulary, failed);
    model->lse = take(model, rows, failed);
    model->losses = take(model, rows, failed);
    model->loss = take(model, 1, failed);
    model->rows = take_stored(model, 3 * wide, failed);
    model->groups = take_stored(model, wide, failed);
    if (shape->pass < NVT_PASS_BACKWARD)
        return;
    model->dx = take(model, wide, failed);
    model->dstream = take_copy(model, model->dx, wide, failed);
    model->dlogits = take_copy(model, model->logits, rows * shape->vocabulary, failed);
    model->dn = take_stored(model, wide, failed);
    model->dh = take_stored(model, rows * shape->d_ff, failed);
    model->dheads = take_stored(model, 3 * wide, failed);
    model->dp = take_stored(model, rows * shape->heads * shape->context, failed);
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
    if (model->weights)
        nvt_store(model->shape.precision, model->weights, model->values + model->summed,
                  model->places - model->summed);
    /* Streams that no tensor has. */
    nvt_random_tokens(model->token, rows_of(&model->shape), (int32_t)model->shape.vocabulary, seed,
                      100001);
    nvt_random_tokens(model->target, rows_of(&model->shape), (int32_t)model->shape.vocabulary, seed,
                      100002);
}

int nvt_transformer_setup(struct nvt_transformer *model, uint64_t seed)
{
    model->values = model->gradients = model->m = model->v = NULL;
    model->weights = NULL;
    model->stored = nvt_backend_stored_bytes(model->shape.precision);
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
                                    int transpose_b, int64_t m, int64_t n, int64_t k, int is_stored)
{
    struct nvt_matmul shape = {
        transpose_a, transpose_b, m, n, k, 1, 0, 1, 0, 0, 0, model->shape.precision, is_stored};
    return shape;
}

/* Weights as a product reads them. */
static const void *weights_of(const struct nvt_transformer *model, const struct nvt_tensor *w)
{
    return model->weights
               ? stored_at(model, model->weights, w->value - (model->values + model->summed))
               : (const void *)w->value;
}

/* y[N][out] = x[N][in] · wᵀ, w[out][in], stored. */
static void project(const struct nvt_transformer *model, void *y, const void *x,
                    const struct nvt_tensor *w, int64_t in, int64_t out)
{
    struct nvt_matmul shape = product_of(model, 0, 1, rows_of(&model->shape), out, in, 1);
    nvt_backend_matmul_batched(&shape, x, weights_of(model, w), y);
}

/* The same as real: written, or added to y where beta is 1. */
static void project_real(const struct nvt_transformer *model, real *y, const void *x,
                         const struct nvt_tensor *w, int64_t in, int64_t out, real beta)
{
    struct nvt_matmul shape = product_of(model, 0, 1, rows_of(&model->shape), out, in, 0);
    shape.beta = beta;
    nvt_backend_matmul_batched(&shape, x, weights_of(model, w), y);
}

/* dx[N][in] = dy · w, stored, and w's gradient dyᵀ · x. */
static void project_backward(const struct nvt_transformer *model, void *dx, const void *dy,
                             const void *x, const struct nvt_tensor *w, int64_t in, int64_t out)
{
    int64_t rows = rows_of(&model->shape);
    struct nvt_matmul of_x = product_of(model, 0, 0, rows, in, out, 1);
    struct nvt_matmul of_w = product_of(model, 1, 0, out, in, rows, 0);
    nvt_backend_matmul_batched(&of_x, dy, weights_of(model, w), dx);
    nvt_backend_matmul_batched(&of_w, dy, x, w->gradient);
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
                              1,
                              shape->precision};
    return heads;
}

/* The residual stream goes on in another array, unless it is kept in one. */
static void carry_on(const struct nvt_transformer *model, real *next, const real *x)
{
    if (next != x)
        nvt_copy(next, x, rows_of(&model->shape) * model->shape.d_model);
}

/* --- forward ---------------------------------------------------------------------------------- */

static void normalize(const struct nvt_transformer *model, void *y, real *r, const real *x,
                      const struct nvt_tensor *g)
{
    begin(model, NVT_PART_NORM, 0);
    nvt_rmsnorm_forward(model->shape.precision, y, r, x, g->value, rows_of(&model->shape),
                        model->shape.d_model, EPSILON);
    end(model);
}

/* layer->x2 = layer->x1 + attention(layer->n1). */
static void attend(const struct nvt_transformer *model, const struct nvt_transformer_layer *layer)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    struct nvt_attention attention = attention_of(shape);
    struct nvt_heads split = heads_of(shape, 3), merge = heads_of(shape, 1);
    int64_t d = shape->d_model, wide = rows_of(shape) * d;
    const void *q = layer->heads, *k = stored_at(model, layer->heads, wide),
               *v = stored_at(model, layer->heads, 2 * wide);
    begin(model, NVT_PART_ATTENTION, 0);
    project(model, model->rows, layer->n1, &layer->qkv, d, 3 * d);
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
    project_real(model, layer->x2, layer->merged, &layer->projection, d, d, 1);
    end(model);
}

/* next = layer->x2 + feed-forward(layer->n2). */
static void feed_forward(const struct nvt_transformer *model,
                         const struct nvt_transformer_layer *layer, real *next)
{
    int64_t d = model->shape.d_model, ff = model->shape.d_ff;
    begin(model, NVT_PART_MLP, 0);
    project(model, layer->u, layer->n2, &layer->up, d, ff);
    nvt_gelu_forward(model->shape.precision, layer->h, layer->u, rows_of(&model->shape) * ff);
    carry_on(model, next, layer->x2);
    project_real(model, next, layer->h, &layer->down, ff, d, 1);
    end(model);
}

void nvt_transformer_forward(struct nvt_transformer *model)
{
    const struct nvt_transformer_shape *shape = &model->shape;
    int64_t rows = rows_of(shape), d = shape->d_model;
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
    project_real(model, model->logits, model->n, &model->head, d, shape->vocabulary, 0);
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

/* The gradient of the norm's input is added to dx, or becomes it; products read it, but not that of the first layer. */
static void normalize_backward(const struct nvt_transformer *model, int add, int is_first,
                               const struct nvt_tensor *g, const real *x, const real *r)
{
    void *copy = is_first || model->dstream == model->dx ? NULL : model->dstream;
    begin(model, NVT_PART_NORM, 1);
    nvt_rmsnorm_backward(model->shape.precision, model->dx, copy, add, g->gradient, model->dn, x,
                         g->value, r, rows_of(&model->shape), model->shape.d_model, model->scratch);
    end(model);
}

/* From dx, the gradient of the stream behind the feed-forward, to dn. */
static void feed_forward_backward(const struct nvt_transformer *model,
                                  const struct nvt_transformer_layer *layer)
{
    int64_t d = model->shape.d_model, ff = model->shape.d_ff;
    begin(model, NVT_PART_MLP, 1);
    project_backward(model, model->dh, model->dstream, layer->h, &layer->down, ff, d);
    nvt_gelu_backward(model->shape.precision, model->dh, model->dh, layer->u,
                      rows_of(&model->shape) * ff);
    project_backward(model, model->dn, model->dh, layer->n2, &layer->up, d, ff);
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
    const void *q = layer->heads, *k = stored_at(model, layer->heads, wide),
               *v = stored_at(model, layer->heads, 2 * wide);
    void *dq = model->dheads, *dk = stored_at(model, dq, wide), *dv = stored_at(model, dk, wide);
    begin(model, NVT_PART_ATTENTION, 1);
    project_backward(model, model->dn, model->dstream, layer->merged, &layer->projection, d, d);
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
    project_backward(model, model->dn, model->rows, layer->n1, &layer->qkv, d, 3 * d);
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
    nvt_cross_entropy_backward(shape->precision, model->dlogits, model->logits, model->lse,
                               model->target, rows, shape->vocabulary, (real)scale);
    end(model);
    begin(model, NVT_PART_LM_HEAD, 1);
    project_backward(model, model->dn, model->dlogits, model->n, &model->head, shape->d_model,
                     shape->vocabulary);
    end(model);
    normalize_backward(model, 0, 0, &model->norm, model->x, model->r);
    for (int64_t i = shape->layers; i-- > 0;) {
        struct nvt_transformer_layer *layer = &model->layers[i];
        feed_forward_backward(model, layer);
        normalize_backward(model, 1, 0, &layer->norm2, layer->x2, layer->r2);
        attend_backward(model, layer);
        normalize_backward(model, 1, !i, &layer->norm1, layer->x1, layer->r1);
    }
    embedding_backward(model);
}

void nvt_transformer_step(struct nvt_transformer *model)
{
    const struct nvt_adamw adamw = {
        (real)1e-3, (real)0.9,  (real)0.999,
        (real)1e-8, (real)0.01, (real)(1 / nvt_transformer_loss_scale(model->shape.precision))};
    const enum nvt_precision precision = model->shape.precision;
    /* What products read has a copy of its own. */
    int64_t first = model->weights ? model->summed : model->places;
    nvt_adamw_advance(model->clock, &adamw);
    nvt_adamw_step(precision, model->values, NULL, model->gradients, model->m, model->v, first,
                   model->clock, &adamw);
    if (model->weights)
        nvt_adamw_step(precision, model->values + first, model->weights, model->gradients + first,
                       model->m + first, model->v + first, model->places - first, model->clock,
                       &adamw);
}
