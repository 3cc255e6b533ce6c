/*
 * The workloads `linear` and `fragmented`: one layer, its loss, and Adam. docs/workloads.md.
 */
#include <stdlib.h>

#include "../workload.h"
#include "layer.h"

struct state {
    struct nvt_layer layer;
    const struct nvt_run_context *context;
    nvtxStringHandle_t fragment;
};

static void begin_fragment(void *user, int64_t fragment)
{
    const struct state *state = (const struct state *)user;
    nvt_nvtx_push_number(&state->context->nvtx, state->fragment, (uint64_t)fragment);
}

static void end_fragment(void *user)
{
    nvt_nvtx_pop(&((const struct state *)user)->context->nvtx);
}

static int setup(struct nvt_run_context *context, void **result, struct nvt_error *err)
{
    const char *configuration = context->settings->configuration;
    struct state *state = (struct state *)calloc(1, sizeof(*state));
    if (!state)
        return nvt_fail(err, "out of memory");
    struct nvt_layer *layer = &state->layer;
    layer->in = layer->out = nvt_configuration_number(configuration, "size", 0);
    layer->batch = nvt_configuration_number(configuration, "batch", 0);
    layer->fragments = nvt_configuration_number(configuration, "fragments", 1);
    layer->mode = nvt_configuration_is(configuration, "mode", "train")       ? NVT_TRAIN
                  : nvt_configuration_is(configuration, "mode", "inference") ? NVT_INFERENCE
                                                                             : NVT_LINEAR;
    layer->grouped = nvt_configuration_is(configuration, "variant", "grouped");
    layer->allocator = context->allocator;
    layer->fragment_begin = begin_fragment;
    layer->fragment_end = end_fragment;
    layer->user = state;
    if (layer->in < 32 || layer->in % 32 || layer->batch < 1 || layer->fragments < 1 ||
        layer->in % layer->fragments) {
        free(state);
        return nvt_fail(err, "size must be a multiple of 32 and of the number of fragments");
    }
    if (nvt_layer_setup(layer, context->settings->seed)) {
        free(state);
        return nvt_fail(err, "out of device memory");
    }
    state->fragment = nvt_nvtx_name(&context->nvtx, "fragment");
    *result = state;
    return 0;
}

static int forward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    state->context = context;
    return nvt_layer_forward(&state->layer) ? nvt_fail(err, "out of device memory") : 0;
}

static int backward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    int64_t start;
    (void)err;
    nvt_layer_backward(&state->layer);
    nvt_optimizer_begin(context, &start);
    nvt_layer_step(&state->layer);
    nvt_optimizer_end(context, start);
    return 0;
}

static double loss(void *opaque)
{
    const struct nvt_layer *layer = &((struct state *)opaque)->layer;
    return nvt_mse_loss(layer->y, layer->target, layer->batch * layer->out);
}

static void teardown(struct nvt_run_context *context, void *opaque)
{
    (void)context;
    nvt_layer_teardown(&((struct state *)opaque)->layer);
    free(opaque);
}

static uint64_t parameters(const void *opaque)
{
    const struct nvt_layer *layer = &((const struct state *)opaque)->layer;
    return nvt_layer_parameters(layer->mode, layer->in, layer->out);
}

static void work(const void *opaque, struct nvt_work_payload *forward_work,
                 struct nvt_work_payload *backward_work)
{
    nvt_layer_work(&((const struct state *)opaque)->layer, &forward_work->flops,
                   &forward_work->bytes, &backward_work->flops, &backward_work->bytes);
}

const struct nvt_workload nvt_workload_linear = {
    "linear", setup, forward, backward, loss, teardown, parameters, work};
const struct nvt_workload nvt_workload_fragmented = {
    "fragmented", setup, forward, backward, loss, teardown, parameters, work};
