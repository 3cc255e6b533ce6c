#include "layer.h"

#include <math.h>
#include <string.h>

#include "../../lib/count_of.h"

uint64_t nvt_layer_parameters(enum nvt_layer_mode mode, int64_t in, int64_t out)
{
    uint64_t dense = (uint64_t)(in * out);
    if (mode == NVT_LINEAR)
        return dense + (uint64_t)out;
    uint64_t compressed = (uint64_t)(in / 32);
    return (uint64_t)in + dense + compressed * (uint64_t)(in + out);
}

/* --- memory ----------------------------------------------------------------------------------------- */

static real *take(struct nvt_layer *layer, int64_t count, int *failed)
{
    real *memory = (real *)nvt_allocator_take(layer->allocator, (size_t)count * sizeof(real));
    *failed |= !memory;
    return memory;
}

static void take_parameter(struct nvt_layer *layer, int index, int64_t count, int *failed)
{
    struct nvt_parameter *parameter = &layer->parameters[index];
    parameter->count = count;
    parameter->value = take(layer, count, failed);
    parameter->gradient = take(layer, count, failed);
    parameter->m = take(layer, count, failed);
    parameter->v = take(layer, count, failed);
    layer->parameter_count = index + 1;
}

static int take_all(struct nvt_layer *layer)
{
    int failed = 0;
    int64_t in = layer->batch * layer->in, out = layer->batch * layer->out;
    if (layer->mode == NVT_LINEAR) {
        take_parameter(layer, NVT_WEIGHT, layer->out * layer->in, &failed);
        take_parameter(layer, NVT_BIAS, layer->out, &failed);
    } else {
        take_parameter(layer, NVT_SELECTOR, layer->in, &failed);
        take_parameter(layer, NVT_EXPERT, layer->in * layer->out, &failed);
        take_parameter(layer, NVT_COMPRESSOR, layer->compressed * layer->in, &failed);
        take_parameter(layer, NVT_EXPANSION, layer->out * layer->compressed, &failed);
        real **scores[] = {&layer->score, &layer->p, &layer->dp, &layer->dscore};
        real **features[] = {&layer->xs, &layer->xm, &layer->dxs, &layer->dxm};
        for (int i = 0; i < 4; i++) {
            *scores[i] = take(layer, layer->batch * layer->fragments, &failed);
            *features[i] = take(layer, in, &failed);
        }
        layer->h = take(layer, layer->batch * layer->compressed, &failed);
        layer->dh = take(layer, layer->batch * layer->compressed, &failed);
        layer->chosen = (void *)take(layer, layer->batch, &failed);
        layer->rows = (void *)take(layer, layer->batch, &failed);
        layer->found = (void *)take(layer, 1, &failed);
    }
    layer->x = take(layer, in, &failed);
    layer->target = take(layer, out, &failed);
    layer->y = take(layer, out, &failed);
    layer->dy = take(layer, out, &failed);
    return failed ? -1 : 0;
}

int nvt_layer_setup(struct nvt_layer *layer, uint64_t seed)
{
    if (layer->mode == NVT_LINEAR)
        layer->fragments = 1;
    layer->width = layer->in / layer->fragments;
    layer->compressed = layer->in / 32;
    if (take_all(layer)) {
        nvt_layer_teardown(layer);
        return -1;
    }
    for (int i = 0; i < layer->parameter_count; i++) {
        struct nvt_parameter *parameter = &layer->parameters[i];
        size_t bytes = (size_t)parameter->count * sizeof(real);
        nvt_random_normal(parameter->value, parameter->count, seed, (uint64_t)i + 1,
                          (real)(1 / sqrt((double)layer->in)));
        nvt_backend_zero(parameter->gradient, bytes);
        nvt_backend_zero(parameter->m, bytes);
        nvt_backend_zero(parameter->v, bytes);
    }
    nvt_random_normal(layer->x, layer->batch * layer->in, seed, 101, 1);
    nvt_random_normal(layer->target, layer->batch * layer->out, seed, 102, 1);
    return 0;
}

static void give(struct nvt_layer *layer, void *memory)
{
    if (memory)
        nvt_allocator_give(layer->allocator, memory);
}

void nvt_layer_teardown(struct nvt_layer *layer)
{
    for (int i = 0; i < layer->parameter_count; i++) {
        give(layer, layer->parameters[i].value);
        give(layer, layer->parameters[i].gradient);
        give(layer, layer->parameters[i].m);
        give(layer, layer->parameters[i].v);
    }
    void *rest[] = {layer->score,  layer->p,    layer->dp,    layer->dscore, layer->xs,
                    layer->xm,     layer->dxs,  layer->dxm,   layer->h,      layer->dh,
                    layer->chosen, layer->rows, layer->found, layer->x,      layer->target,
                    layer->y,      layer->dy};
    for (size_t i = 0; i < NVT_COUNT_OF(rest); i++)
        give(layer, rest[i]);
}

/* --- forward ---------------------------------------------------------------------------------------- */

/* y += (xm · Aᵀ) · Bᵀ: compression path of the fragmented layer. */
static void compress(struct nvt_layer *layer)
{
    nvt_backend_matmul(0, 1, layer->batch, layer->compressed, layer->in, 1, layer->xm,
                       layer->parameters[NVT_COMPRESSOR].value, 0, layer->h);
    nvt_backend_matmul(0, 1, layer->batch, layer->out, layer->compressed, 1, layer->h,
                       layer->parameters[NVT_EXPANSION].value, 1, layer->y);
}

/* The fragment's samples: how many is asked of the device, which is the study's point. */
static int loop_over_fragment(struct nvt_layer *layer, int64_t f)
{
    int32_t count;
    nvt_find_rows(layer->rows, layer->found, layer->chosen, layer->batch, f);
    nvt_backend_to_host(&count, layer->found, sizeof(count));
    if (!count)
        return 0;
    real *packed =
        (real *)nvt_allocator_take(layer->allocator, (size_t)(count * layer->width) * sizeof(real));
    real *product =
        (real *)nvt_allocator_take(layer->allocator, (size_t)(count * layer->out) * sizeof(real));
    if (packed && product) {
        nvt_gather_fragment(packed, layer->x, layer->rows, count, f, layer->fragments,
                            layer->width);
        nvt_backend_matmul(0, 0, count, layer->out, layer->width, 1, packed,
                           layer->parameters[NVT_EXPERT].value + f * layer->width * layer->out, 0,
                           product);
        nvt_scatter_rows(layer->y, product, layer->rows, count, layer->out);
    }
    give(layer, packed);
    give(layer, product);
    return packed && product ? 0 : -1;
}

static int forward_inference(struct nvt_layer *layer)
{
    int status = 0;
    nvt_choose(layer->chosen, layer->score, layer->batch, layer->fragments);
    nvt_mask_chosen(layer->xm, layer->x, layer->chosen, layer->batch, layer->fragments,
                    layer->width);
    if (layer->grouped)
        nvt_expert_forward(layer->y, layer->x, layer->parameters[NVT_EXPERT].value, layer->chosen,
                           layer->batch, layer->fragments, layer->width, layer->out);
    for (int64_t f = 0; f < layer->fragments && !layer->grouped && !status; f++) {
        if (layer->fragment_begin)
            layer->fragment_begin(layer->user, f);
        status = loop_over_fragment(layer, f);
        if (layer->fragment_end)
            layer->fragment_end(layer->user);
    }
    return status;
}

int nvt_layer_forward(struct nvt_layer *layer)
{
    int status = 0;
    if (layer->mode == NVT_LINEAR) {
        nvt_linear_forward(layer->y, layer->x, layer->parameters[NVT_WEIGHT].value,
                           layer->parameters[NVT_BIAS].value, layer->batch, layer->out, layer->in);
        return 0;
    }
    nvt_score_forward(layer->score, layer->x, layer->parameters[NVT_SELECTOR].value, layer->batch,
                      layer->fragments, layer->width);
    if (layer->mode == NVT_TRAIN) {
        nvt_softmax_forward(layer->p, layer->score, layer->batch, layer->fragments);
        nvt_blend_forward(layer->xs, layer->xm, layer->p, layer->x, layer->batch, layer->fragments,
                          layer->width);
        /* Σ_f p·(x[f]·E[f]) is one product, as E's fragments lie behind each other. */
        nvt_backend_matmul(0, 0, layer->batch, layer->out, layer->in, 1, layer->xs,
                           layer->parameters[NVT_EXPERT].value, 0, layer->y);
    } else {
        status = forward_inference(layer);
    }
    compress(layer);
    return status;
}

/* --- backward --------------------------------------------------------------------------------------- */

/* Whether one product writes the whole gradient; else it is added to, and has to be zero before. */
static int is_written_at_once(const struct nvt_layer *layer, int parameter)
{
    if (layer->mode == NVT_LINEAR)
        return parameter == NVT_WEIGHT;
    return parameter == NVT_COMPRESSOR || parameter == NVT_EXPANSION ||
           (parameter == NVT_EXPERT && layer->mode == NVT_TRAIN);
}

static void zero_gradients(struct nvt_layer *layer)
{
    for (int i = 0; i < layer->parameter_count; i++)
        if (!is_written_at_once(layer, i))
            nvt_backend_zero(layer->parameters[i].gradient,
                             (size_t)layer->parameters[i].count * sizeof(real));
}

static void backward_linear(struct nvt_layer *layer)
{
    nvt_backend_matmul(1, 0, layer->out, layer->in, layer->batch, 1, layer->dy, layer->x, 0,
                       layer->parameters[NVT_WEIGHT].gradient);
    nvt_bias_backward(layer->parameters[NVT_BIAS].gradient, layer->dy, layer->batch, layer->out);
}

/* y = … + h · Bᵀ with h = xm · Aᵀ: gradients of A and B, and dh. */
static void backward_compression(struct nvt_layer *layer)
{
    nvt_backend_matmul(1, 0, layer->out, layer->compressed, layer->batch, 1, layer->dy, layer->h, 0,
                       layer->parameters[NVT_EXPANSION].gradient);
    nvt_backend_matmul(0, 0, layer->batch, layer->compressed, layer->out, 1, layer->dy,
                       layer->parameters[NVT_EXPANSION].value, 0, layer->dh);
    nvt_backend_matmul(1, 0, layer->compressed, layer->in, layer->batch, 1, layer->dh, layer->xm, 0,
                       layer->parameters[NVT_COMPRESSOR].gradient);
}

/* The soft choice: through xs = p·x and xm = (1 − p)·x to the selector. */
static void backward_train(struct nvt_layer *layer)
{
    nvt_backend_matmul(1, 0, layer->in, layer->out, layer->batch, 1, layer->xs, layer->dy, 0,
                       layer->parameters[NVT_EXPERT].gradient);
    nvt_backend_matmul(0, 1, layer->batch, layer->in, layer->out, 1, layer->dy,
                       layer->parameters[NVT_EXPERT].value, 0, layer->dxs);
    nvt_backend_matmul(0, 0, layer->batch, layer->in, layer->compressed, 1, layer->dh,
                       layer->parameters[NVT_COMPRESSOR].value, 0, layer->dxm);
    nvt_blend_backward(layer->dp, layer->dxs, layer->dxm, layer->x, layer->batch, layer->fragments,
                       layer->width);
    nvt_softmax_backward(layer->dscore, layer->p, layer->dp, layer->batch, layer->fragments);
    nvt_score_backward(layer->parameters[NVT_SELECTOR].gradient, layer->dscore, layer->x,
                       layer->batch, layer->fragments, layer->width);
}

void nvt_layer_backward(struct nvt_layer *layer)
{
    zero_gradients(layer);
    nvt_mse_backward(layer->dy, layer->y, layer->target, layer->batch * layer->out);
    if (layer->mode == NVT_LINEAR) {
        backward_linear(layer);
        return;
    }
    backward_compression(layer);
    /* The hard choice is constant almost everywhere: no gradient reaches the selector. */
    if (layer->mode == NVT_TRAIN)
        backward_train(layer);
    else
        nvt_expert_backward(layer->parameters[NVT_EXPERT].gradient, layer->x, layer->dy,
                            layer->chosen, layer->batch, layer->fragments, layer->width,
                            layer->out);
}

void nvt_layer_step(struct nvt_layer *layer)
{
    static const struct nvt_adam adam = {(real)1e-3, (real)0.9, (real)0.999, (real)1e-8};
    layer->step++;
    for (int i = 0; i < layer->parameter_count; i++) {
        struct nvt_parameter *parameter = &layer->parameters[i];
        nvt_adam_step(parameter->value, parameter->gradient, parameter->m, parameter->v,
                      parameter->count, layer->step, &adam);
    }
}

/* --- work ------------------------------------------------------------------------------------------- */

/* Each parameter: read and written w, m, v; read g; 12 operations. */
static struct nvt_work_payload work_of_step(uint64_t parameters)
{
    struct nvt_work_payload work = {12 * parameters, 7 * parameters * sizeof(real)};
    return work;
}

static struct nvt_layer_work work_of_linear(uint64_t batch, uint64_t in, uint64_t out,
                                            uint64_t parameters)
{
    uint64_t product = 2 * batch * in * out, activations = batch * (in + out) * sizeof(real);
    struct nvt_layer_work work;
    work.forward.flops = product + batch * out;
    work.forward.bytes = parameters * sizeof(real) + activations;
    work.backward.flops = product + 3 * batch * out;
    work.backward.bytes = activations + parameters * sizeof(real);
    work.step = work_of_step(parameters);
    return work;
}

struct nvt_layer_work nvt_layer_count_work(const struct nvt_layer *layer)
{
    uint64_t batch = (uint64_t)layer->batch, in = (uint64_t)layer->in, out = (uint64_t)layer->out;
    uint64_t parameters = nvt_layer_parameters(layer->mode, layer->in, layer->out);
    if (layer->mode == NVT_LINEAR)
        return work_of_linear(batch, in, out, parameters);
    uint64_t compressed = (uint64_t)layer->compressed, width = (uint64_t)layer->width;
    uint64_t fragments = (uint64_t)layer->fragments;
    uint64_t activations = batch * (in + out) * sizeof(real);
    uint64_t compression = 2 * batch * compressed * (in + out);
    /* Hard: each sample meets one expert of in / fragments rows; soft: all of them, blended. */
    int soft = layer->mode == NVT_TRAIN;
    uint64_t expert = 2 * batch * out * (soft ? in : width);
    uint64_t met = soft ? fragments : batch < fragments ? batch : fragments;
    struct nvt_layer_work work;
    work.forward.flops = 2 * batch * in + expert + compression + (soft ? 3 * batch * in : 0);
    work.forward.bytes =
        (in + met * width * out + compressed * (in + out)) * sizeof(real) + activations;
    work.backward.flops = expert + compression + 2 * batch * compressed * out + 3 * batch * out +
                          (soft ? 2 * batch * in * (out + compressed) + 4 * batch * in : 0);
    work.backward.bytes = activations + (compressed * out + parameters +
                                         (soft ? in * (out + compressed) : 2 * met * width * out)) *
                                            sizeof(real);
    work.step = work_of_step(parameters);
    return work;
}
