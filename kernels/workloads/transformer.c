/*
 * The workload `transformer`: forward, backward and AdamW of a language model. docs/workloads.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../workload.h"
#include "transformer_model.h"
#include "transformer_work.h"

enum { FORWARD, BACKWARD, OPTIMIZER, PHASES };

struct state {
    struct nvt_transformer model;
    struct nvt_transformer_work work;
    const struct nvt_run_context *context;
    nvtxStringHandle_t parts[NVT_PARTS];
    int has_graphs, runs[PHASES]; /* runs so far, while there are to be graphs */
    void *graphs[PHASES];
};

static const char *const part_names[NVT_PARTS] = {
    "embedding",
    "norm",
    "attention",
    "attention.scores",
    "attention.softmax",
    "attention.values",
    "mlp",
    "lm_head",
    "loss",
};

static void begin_part(void *user, enum nvt_transformer_part part, int is_backward)
{
    const struct state *state = (const struct state *)user;
    nvt_nvtx_push_work(&state->context->nvtx, state->parts[part],
                       &state->work.part[is_backward][part]);
}

static void end_part(void *user)
{
    nvt_nvtx_pop(&((const struct state *)user)->context->nvtx);
}

/* --- shape ------------------------------------------------------------------------------------ */

/* The published sizes, and one for two cores. */
static const struct {
    const char *name;
    int64_t d_model, d_ff, layers, heads;
} sizes[] = {{"tiny", 128, 512, 2, 4},       {"small", 768, 3072, 12, 12},
             {"medium", 1024, 4096, 24, 16}, {"large", 1280, 5120, 36, 20},
             {"xl", 1600, 6400, 48, 25},     {"2.7B", 2560, 10240, 32, 32}};

static enum nvt_precision precision_of(const char *configuration)
{
    return nvt_configuration_is(configuration, "precision", "tf32")   ? NVT_TF32
           : nvt_configuration_is(configuration, "precision", "bf16") ? NVT_BF16
           : nvt_configuration_is(configuration, "precision", "fp16") ? NVT_FP16
                                                                      : NVT_FP32;
}

static int read_shape(const char *configuration, struct nvt_transformer_shape *shape,
                      struct nvt_error *err)
{
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++)
        if (nvt_configuration_is(configuration, "size", sizes[i].name)) {
            shape->d_model = sizes[i].d_model;
            shape->d_ff = sizes[i].d_ff;
            shape->layers = sizes[i].layers;
            shape->heads = sizes[i].heads;
        }
    shape->d_model = nvt_configuration_number(configuration, "d_model", shape->d_model);
    shape->d_ff = nvt_configuration_number(configuration, "d_ff", shape->d_ff);
    shape->layers = nvt_configuration_number(configuration, "layers", shape->layers);
    shape->heads = nvt_configuration_number(configuration, "heads", shape->heads);
    shape->vocabulary = nvt_configuration_number(configuration, "vocabulary", 10000);
    shape->batch = nvt_configuration_number(configuration, "batch", 4);
    shape->context = nvt_configuration_number(configuration, "context", 128);
    shape->precision = precision_of(configuration);
    shape->pass = nvt_configuration_is(configuration, "phase", "forward") ? NVT_PASS_FORWARD
                  : nvt_configuration_is(configuration, "phase", "train") ? NVT_PASS_TRAIN
                                                                          : NVT_PASS_BACKWARD;
    if (shape->heads < 1 || shape->layers < 1 || shape->layers > NVT_LAYERS_MOST ||
        shape->d_model < 1 || shape->d_ff < 1 || shape->d_model % shape->heads)
        return nvt_fail(err, "d_model must be a multiple of heads, and layers at most %d",
                        NVT_LAYERS_MOST);
    return 0;
}

/* --- the workload ----------------------------------------------------------------------------- */

static void describe(struct nvt_run_context *context, struct state *state)
{
    const struct nvt_transformer_shape *shape = &state->model.shape;
    struct nvt_run_result *result = context->result;
    for (int i = 0; i < NVT_PARTS; i++)
        state->parts[i] = nvt_nvtx_name(&context->nvtx, part_names[i]);
    if (shape->pass < NVT_PASS_BACKWARD)
        nvt_phase_absent(context, BACKWARD);
    if (shape->pass < NVT_PASS_TRAIN)
        nvt_phase_absent(context, OPTIMIZER);
    if (nvt_backend_emulates(shape->precision))
        snprintf(result->message, sizeof(result->message),
                 "emulated precision: inputs of GEMMs are rounded, then multiplied as float; its "
                 "times say nothing about a device of that precision");
}

static int setup(struct nvt_run_context *context, void **result, struct nvt_error *err)
{
    struct state *state = (struct state *)calloc(1, sizeof(*state));
    if (!state)
        return nvt_fail(err, "out of memory");
    struct nvt_transformer *model = &state->model;
    model->allocator = context->allocator;
    model->part_begin = begin_part;
    model->part_end = end_part;
    model->user = state;
    int status = read_shape(context->settings->configuration, &model->shape, err);
    if (!status && nvt_transformer_setup(model, context->settings->seed))
        status = nvt_fail(err, "out of memory");
    if (status) {
        free(state);
        return -1;
    }
    state->has_graphs = nvt_configuration_is(context->settings->configuration, "graph", "on");
    state->work = nvt_transformer_count_work(&model->shape);
    describe(context, state);
    *result = state;
    return 0;
}

/*
 * A pass, or with --graph its replay: the first time it runs as it is, so that libraries have their
 * memory, the second time it is recorded.
 */
static int run_pass(struct state *state, int phase, void (*pass)(struct nvt_transformer *),
                    struct nvt_error *err)
{
    if (state->has_graphs && state->runs[phase]++ && !state->graphs[phase]) {
        if (nvt_backend_graph_begin(err))
            return -1;
        pass(&state->model);
        state->graphs[phase] = nvt_backend_graph_end(err);
        if (!state->graphs[phase])
            return -1;
    }
    if (state->graphs[phase])
        nvt_backend_graph_replay(state->graphs[phase]);
    else
        pass(&state->model);
    return 0;
}

static int forward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    state->context = context;
    return run_pass(state, FORWARD, nvt_transformer_forward, err);
}

static int backward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    (void)context;
    return run_pass((struct state *)opaque, BACKWARD, nvt_transformer_backward, err);
}

static int step(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    (void)context;
    return run_pass((struct state *)opaque, OPTIMIZER, nvt_transformer_step, err);
}

static double loss(void *opaque)
{
    return nvt_transformer_loss(&((struct state *)opaque)->model);
}

static void teardown(struct nvt_run_context *context, void *opaque)
{
    struct state *state = (struct state *)opaque;
    (void)context;
    for (int i = 0; i < PHASES; i++)
        nvt_backend_graph_free(state->graphs[i]);
    nvt_transformer_teardown(&state->model);
    free(state);
}

static uint64_t parameters(const void *opaque)
{
    return nvt_transformer_parameters(&((const struct state *)opaque)->model.shape);
}

static void work(const void *opaque, size_t phase, struct nvt_work_payload *work)
{
    const struct state *state = (const struct state *)opaque;
    enum nvt_transformer_pass pass = state->model.shape.pass;
    static const struct nvt_work_payload none = {0, 0};
    *work = phase == FORWARD                                 ? state->work.forward
            : phase == BACKWARD && pass >= NVT_PASS_BACKWARD ? state->work.backward
            : phase == OPTIMIZER && pass >= NVT_PASS_TRAIN   ? state->work.step
                                                             : none;
}

static int finish(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    enum nvt_precision precision = ((const struct state *)opaque)->model.shape.precision;
    (void)err;
    nvt_run_number(context, "precision_emulated", nvt_backend_emulates(precision));
    return 0;
}

static const struct nvt_phase phases[PHASES] = {
    {"forward", forward}, {"backward", backward}, {"optimizer", step}};

const struct nvt_workload nvt_workload_transformer = {
    .name = "transformer",
    .phases = phases,
    .phase_count = PHASES,
    .setup = setup,
    .teardown = teardown,
    .loss = loss,
    .parameters = parameters,
    .work = work,
    .finish = finish,
};
