/*
 * The workload `switchback`: the operations of a linear layer in fp16 and in int8, each timed by
 * itself. docs/workloads.md.
 */
#include "switchback_layer.h"

#include <stdlib.h>

#include "../workload.h"

struct state {
    struct nvt_switchback layer;
    enum nvt_timing timing;
};

/* "4.3637", the multiplier, in NVT_AXIS_SCALE's ten-thousandths. */
static int64_t read_multiplier(const char *configuration)
{
    const char *key = " width_multiplier=", *at = strstr(configuration, key);
    return at ? (int64_t)(strtod(at + strlen(key), NULL) * 10000 + 0.5) : 0;
}

static int read_shape(struct state *state, const char *configuration, struct nvt_error *err)
{
    struct nvt_switchback *layer = &state->layer;
    int64_t narrow = nvt_configuration_number(configuration, "dim", 0);
    int64_t wide = narrow * read_multiplier(configuration) / 10000;
    int is_switched = nvt_configuration_is(configuration, "switch", "on");
    layer->batch = nvt_configuration_number(configuration, "batch", 0);
    layer->in = is_switched ? wide : narrow;
    layer->out = is_switched ? narrow : wide;
    state->timing =
        nvt_configuration_is(configuration, "timing", "single") ? NVT_TIME_SINGLE : NVT_TIME_LOOP;
    /* Up to here sums of int8 products are sure to fit 32 bits. */
    if (layer->batch < 1 || narrow < 1 || wide < 1 || narrow > 131072 || wide > 131072)
        return nvt_fail(err, "dim and dim times width_multiplier must be from 1 to 131072");
    return 0;
}

static int setup(struct nvt_run_context *context, void **result, struct nvt_error *err)
{
    struct state *state = (struct state *)calloc(1, sizeof(*state));
    if (!state)
        return nvt_fail(err, "out of memory");
    state->layer.allocator = context->allocator;
    int status = read_shape(state, context->settings->configuration, err);
    if (!status && nvt_switchback_setup(&state->layer, context->settings->seed))
        status = nvt_fail(err, "out of memory");
    if (status) {
        free(state);
        return -1;
    }
    *result = state;
    return 0;
}

static void teardown(struct nvt_run_context *context, void *opaque)
{
    (void)context;
    nvt_switchback_teardown(&((struct state *)opaque)->layer);
    free(opaque);
}

static uint64_t parameters(const void *opaque)
{
    const struct nvt_switchback *layer = &((const struct state *)opaque)->layer;
    return (uint64_t)(layer->in * layer->out);
}

static void work(const void *opaque, size_t phase, struct nvt_work_payload *work)
{
    *work =
        nvt_switchback_work(&((const struct state *)opaque)->layer, (enum nvt_switchback_op)phase);
}

/* The peaks that products are compared with. */
static const char *precision(size_t phase)
{
    return phase <= NVT_STANDARD_GX                              ? "fp16"
           : phase >= NVT_ROWWISE_FWD && phase <= NVT_GLOBAL_BWD ? "int8"
                                                                 : NULL;
}

static enum nvt_timing timing(const void *opaque)
{
    return ((const struct state *)opaque)->timing;
}

/* --- the row ---------------------------------------------------------------------------------- */

static double mean_of(const struct nvt_phase_result *phase, int64_t iterations)
{
    int64_t count = phase->calls > 1 ? 1 : iterations;
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += phase->ns[i];
    return sum / (double)count;
}

/* The totals are sums of means: their operations were not timed together. */
static int finish(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    (void)err;
    enum { STANDARD = 1, ROWWISE = 2, GLOBAL = 4 };
    static const unsigned totals_of[NVT_SWITCHBACK_OPS] = {
        STANDARD,                    /* standard_fwd */
        STANDARD | ROWWISE | GLOBAL, /* standard_gw */
        STANDARD,                    /* standard_gx */
        ROWWISE | GLOBAL,            /* x_quantize_rowwise */
        ROWWISE | GLOBAL,            /* g_quantize_rowwise */
        ROWWISE,                     /* w_quantize_rowwise */
        ROWWISE,                     /* w_quantize_colwise_transpose */
        GLOBAL,                      /* w_quantize_global */
        GLOBAL,                      /* w_quantize_global_transpose */
        ROWWISE,
        ROWWISE, /* rowwise_fwd, rowwise_bwd */
        GLOBAL,
        GLOBAL, /* global_fwd, global_bwd */
    };
    static const char *const keys[] = {"time_standard_ns_mean", "time_rowwise_ns_mean",
                                       "time_global_ns_mean"};
    const struct nvt_run_result *result = context->result;
    const struct nvt_switchback *layer = &((const struct state *)opaque)->layer;
    nvt_run_number(context, "dim_in", (double)layer->in);
    nvt_run_number(context, "dim_out", (double)layer->out);
    for (int total = 0; total < 3; total++) {
        double sum = 0;
        for (int op = 0; op < NVT_SWITCHBACK_OPS; op++)
            if (totals_of[op] & 1u << total)
                sum += mean_of(&result->phases[op], result->iterations);
        nvt_run_number(context, keys[total], sum);
    }
    return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

/* A phase has no argument: a function for each operation. */
#define OPERATION(name, op)                                                                        \
    static int name(struct nvt_run_context *context, void *opaque, struct nvt_error *err)          \
    {                                                                                              \
        (void)context;                                                                             \
        (void)err;                                                                                 \
        nvt_switchback_run(&((struct state *)opaque)->layer, op);                                  \
        return 0;                                                                                  \
    }
OPERATION(standard_fwd, NVT_STANDARD_FWD)
OPERATION(standard_gw, NVT_STANDARD_GW)
OPERATION(standard_gx, NVT_STANDARD_GX)
OPERATION(x_quantize_rowwise, NVT_X_QUANTIZE_ROWWISE)
OPERATION(g_quantize_rowwise, NVT_G_QUANTIZE_ROWWISE)
OPERATION(w_quantize_rowwise, NVT_W_QUANTIZE_ROWWISE)
OPERATION(w_quantize_colwise_transpose, NVT_W_QUANTIZE_COLWISE_TRANSPOSE)
OPERATION(w_quantize_global, NVT_W_QUANTIZE_GLOBAL)
OPERATION(w_quantize_global_transpose, NVT_W_QUANTIZE_GLOBAL_TRANSPOSE)
OPERATION(rowwise_fwd, NVT_ROWWISE_FWD)
OPERATION(rowwise_bwd, NVT_ROWWISE_BWD)
OPERATION(global_fwd, NVT_GLOBAL_FWD)
OPERATION(global_bwd, NVT_GLOBAL_BWD)
OPERATION(cast_x, NVT_CAST_X)
OPERATION(cast_g, NVT_CAST_G)
OPERATION(cast_w, NVT_CAST_W)

/* In the order of enum nvt_switchback_op. */
static const struct nvt_phase phases[] = {
    {"standard_fwd", standard_fwd},
    {"standard_gw", standard_gw},
    {"standard_gx", standard_gx},
    {"x_quantize_rowwise", x_quantize_rowwise},
    {"g_quantize_rowwise", g_quantize_rowwise},
    {"w_quantize_rowwise", w_quantize_rowwise},
    {"w_quantize_colwise_transpose", w_quantize_colwise_transpose},
    {"w_quantize_global", w_quantize_global},
    {"w_quantize_global_transpose", w_quantize_global_transpose},
    {"rowwise_fwd", rowwise_fwd},
    {"rowwise_bwd", rowwise_bwd},
    {"global_fwd", global_fwd},
    {"global_bwd", global_bwd},
    {"cast_x", cast_x},
    {"cast_g", cast_g},
    {"cast_w", cast_w},
};

const struct nvt_workload nvt_workload_switchback = {
    .name = "switchback",
    .phases = phases,
    .phase_count = NVT_SWITCHBACK_OPS,
    .setup = setup,
    .teardown = teardown,
    .parameters = parameters,
    .work = work,
    .precision = precision,
    .finish = finish,
    .timing = timing,
};
