/*
 * The workloads `linear` and `fragmented`: one layer, its loss, and Adam. docs/workloads.md.
 */
#include <stdlib.h>

#include "../workload.h"
#include "layer.h"

enum { FORWARD, BACKWARD, OPTIMIZER };

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
        return nvt_fail(err, "out of memory");
    }
    state->fragment = nvt_nvtx_name(&context->nvtx, "fragment");
    *result = state;
    return 0;
}

static int forward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    state->context = context;
    return nvt_layer_forward(&state->layer) ? nvt_fail(err, "out of memory") : 0;
}

static int backward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    struct nvt_phase_clock clock;
    (void)err;
    nvt_layer_backward(&state->layer);
    nvt_phase_begin(context, OPTIMIZER, &clock);
    nvt_layer_step(&state->layer);
    nvt_phase_end(context, OPTIMIZER, &clock);
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

static void work(const void *opaque, size_t phase, struct nvt_work_payload *work)
{
    const struct nvt_layer *layer = &((const struct state *)opaque)->layer;
    struct nvt_layer_work all = nvt_layer_count_work(layer);
    *work = phase == FORWARD ? all.forward : phase == OPTIMIZER ? all.step : all.backward;
    if (phase == BACKWARD) {
        work->flops += all.step.flops;
        work->bytes += all.step.bytes;
    }
}

static const struct nvt_phase phases[] = {
    {"forward", forward}, {"backward", backward}, {"optimizer", NULL}};

#define LAYER_WORKLOAD(title)                                                                      \
    {                                                                                              \
        .name = title, .phases = phases, .phase_count = 3, .setup = setup, .teardown = teardown,   \
        .loss = loss, .parameters = parameters, .work = work                                       \
    }

const struct nvt_workload nvt_workload_linear = LAYER_WORKLOAD("linear");
const struct nvt_workload nvt_workload_fragmented = LAYER_WORKLOAD("fragmented");
