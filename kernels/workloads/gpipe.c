/*
 * The workload `gpipe`: training by a pipeline of partitions. docs/workloads.md.
 *
 * Its ranges, besides the phases: "forward pP", "backward pP", in that "recompute pP", and "wait pP" for a
 * neighbour's message, on the thread that issues them, with the micro-batch as payload; with more than one
 * part on a partition pP.C. Behind each a mark "memory pP" with what the partition's allocators hold.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../pipeline/pipeline.h"
#include "../workload.h"
#include "gpipe.h"

enum { STEP, FORWARD, BACKWARD, OPTIMIZER };

#define CHUNKS_MOST 8

struct state {
    struct nvt_pipeline pipeline;
    struct nvt_transport transport;
    int has_transport, is_open; /* is_open: what setup made is to be torn down */
    int is_finished;            /* all ranks have got to the end */
    struct nvt_run_context *context;
    nvtxStringHandle_t spans[4][NVT_PARTITIONS_MOST][CHUNKS_MOST];
    nvtxStringHandle_t memory[NVT_PARTITIONS_MOST];
    uint64_t memory_schema;
    /* Of the timed steps. */
    int64_t timed;
    double launch_ns[2], step_ns, step_launch_ns;          /* sums */
    int64_t launched;                                      /* when all of a run was */
    struct nvt_memory_scope peaks[2][NVT_PARTITIONS_MOST]; /* forward, backward */
    double loss;
};

/* --- what is told of the partitions' work --- */

static void on_begin(void *user, const struct nvt_span_facts *facts)
{
    struct state *state = (struct state *)user;
    nvt_nvtx_push_number(&state->context->nvtx,
                         state->spans[facts->span][facts->partition][facts->chunk],
                         (uint64_t)facts->microbatch);
}

static void note_peak(struct nvt_memory_scope *peak, const struct nvt_span_facts *facts)
{
    if (facts->peak_allocated > peak->peak_allocated)
        peak->peak_allocated = facts->peak_allocated;
    if (facts->peak_reserved > peak->peak_reserved)
        peak->peak_reserved = facts->peak_reserved;
}

static void on_end(void *user, const struct nvt_span_facts *facts)
{
    struct state *state = (struct state *)user;
    const struct nvt_nvtx *nvtx = &state->context->nvtx;
    nvt_nvtx_pop(nvtx);
    if (facts->span != NVT_SPAN_FORWARD && facts->span != NVT_SPAN_BACKWARD)
        return;
    int is_backward = facts->span == NVT_SPAN_BACKWARD;
    struct nvt_pipeline_memory memory = {facts->allocated,
                                         facts->reserved,
                                         facts->peak_allocated,
                                         facts->peak_reserved,
                                         (uint32_t)facts->microbatch,
                                         (uint32_t)is_backward};
    if (!nvtx->silent)
        nvt_pipeline_memory_mark(nvtx, state->memory[facts->partition], state->memory_schema,
                                 &memory);
    note_peak(&state->peaks[is_backward][facts->partition], facts);
}

static void name_ranges(struct state *state)
{
    static const char *const spans[] = {"forward", "backward", "recompute", "wait"};
    const struct nvt_pipeline_settings *settings = &state->pipeline.settings;
    const struct nvt_nvtx *nvtx = &state->context->nvtx;
    char name[64];
    state->memory_schema = nvt_pipeline_memory_schema(nvtx);
    for (int p = 0; p < settings->partitions; p++) {
        snprintf(name, sizeof(name), "memory p%d", p);
        state->memory[p] = nvt_nvtx_name(nvtx, name);
        for (int span = 0; span < 4; span++)
            for (int c = 0; c < settings->chunks; c++) {
                if (settings->chunks > 1)
                    snprintf(name, sizeof(name), "%s p%d.%d", spans[span], p, c);
                else
                    snprintf(name, sizeof(name), "%s p%d", spans[span], p);
                state->spans[span][p][c] = nvt_nvtx_name(nvtx, name);
            }
    }
}

/* --- setup --- */

static int64_t number(const struct nvt_run_context *context, const char *key, int64_t missing)
{
    return nvt_configuration_number(context->settings->configuration, key, missing);
}

static int is(const struct nvt_run_context *context, const char *key, const char *word)
{
    return nvt_configuration_is(context->settings->configuration, key, word);
}

static int make_model(const struct nvt_run_context *context, struct nvt_pipeline *pipeline,
                      struct nvt_pipeline_settings *settings, struct nvt_error *err)
{
    int parts = settings->partitions * settings->chunks;
    if (is(context, "model", "resnet")) {
        settings->rows = 1;
        settings->classes = 10;
        pipeline->module_count = nvt_resnet_modules(pipeline->modules, NVT_MODULES_MOST);
    } else {
        struct nvt_gpt2_shape shape = {number(context, "d_model", 0),
                                       number(context, "layers", 0),
                                       number(context, "heads", 0),
                                       number(context, "d_ff", 0),
                                       number(context, "sequence", 0),
                                       number(context, "vocabulary", 0),
                                       is(context, "attention_axis", "batch"),
                                       (real)0.1};
        if (shape.d_model < 1 || shape.heads < 1 || shape.d_model % shape.heads || shape.d_ff < 1 ||
            shape.sequence < 1 || shape.vocabulary < 1 || shape.layers < 1)
            return nvt_fail(err, "the sizes of the model do not go together");
        settings->rows = shape.sequence;
        settings->classes = shape.vocabulary;
        pipeline->module_count = nvt_gpt2_modules(&shape, pipeline->modules, NVT_MODULES_MOST);
    }
    if (pipeline->module_count < 0 ||
        nvt_pipeline_cut(pipeline->modules, pipeline->module_count, parts, settings->cuts))
        return nvt_fail(err, "the model cannot be cut into %d parts", parts);
    return 0;
}

static int choose(struct state *state, struct nvt_pipeline_settings *settings,
                  struct nvt_error *err)
{
    const struct nvt_run_context *context = state->context;
    int is_interleaved = is(context, "schedule", "interleaved");
    settings->partitions = (int)number(context, "partitions", 0);
    settings->microbatches = (int)number(context, "microbatches", 0);
    settings->chunks = is_interleaved ? (int)number(context, "virtual_stages", 2) : 1;
    settings->schedule = is_interleaved                    ? NVT_INTERLEAVED
                         : is(context, "schedule", "1f1b") ? NVT_1F1B
                                                           : NVT_GPIPE;
    settings->has_workers = is(context, "engine", "torchgpipe");
    settings->checkpoint = is(context, "checkpoint", "on") || is(context, "checkpoint", "true");
    settings->batch = number(context, "batch", 0);
    settings->seed = context->settings->seed;
    /* Each partition has its share of what there is: on the host they live in one memory. */
    if (settings->partitions < 1 || settings->chunks > CHUNKS_MOST || settings->microbatches < 1)
        return nvt_fail(err, "the numbers of partitions and micro-batches do not go together");
    settings->memory_limit = context->memory_limit / (uint64_t)settings->partitions;
    settings->begin = on_begin;
    settings->end = on_end;
    settings->user = state;
    if (is(context, "transport", "local"))
        return 0;
    state->has_transport = 1;
    settings->transport = &state->transport;
    if (nvt_transport_load(is(context, "transport", "mpi") ? "mpi" : "nccl", &state->transport,
                           err)) {
        state->has_transport = 0;
        return -1;
    }
    return 0;
}

/* This rank cannot go on: the others shall know, and the row whose memory ran out. Always -1. */
static int give_up(struct state *state, const struct nvt_error *err)
{
    struct nvt_run_context *context = state->context;
    struct nvt_rank_failure failure;
    char text[512];
    context->refused = state->pipeline.refused;
    if (!state->has_transport)
        return -1;
    state->transport.abandon(&state->transport, context->refused,
                             nvt_error_text(err, text, sizeof(text)));
    if (!context->refused && state->transport.told(&state->transport, &failure) && failure.bytes) {
        context->refused = failure.bytes;
        snprintf(context->refused_at, sizeof(context->refused_at), "rank %d: ", failure.rank);
    }
    return -1;
}

static void teardown(struct nvt_run_context *context, void *opaque)
{
    struct state *state = (struct state *)opaque;
    (void)context;
    /* By what the workload cannot see, such as an error of the device. */
    if (state->has_transport && !state->is_finished)
        state->transport.abandon(&state->transport, 0, "it ended before the others");
    if (state->is_open)
        nvt_pipeline_teardown(&state->pipeline);
    if (state->has_transport)
        state->transport.close(&state->transport);
    free(state);
}

static int setup(struct nvt_run_context *context, void **result, struct nvt_error *err)
{
    struct nvt_pipeline_settings settings = {0};
    struct state *state = (struct state *)calloc(1, sizeof(*state));
    if (!state)
        return nvt_fail(err, "out of memory");
    state->context = context;
    int is_resnet = is(context, "model", "resnet");
    int status =
        choose(state, &settings, err) || make_model(context, &state->pipeline, &settings, err);
    if (!status) {
        state->is_open = 1;
        status =
            nvt_pipeline_setup(&state->pipeline, &settings, is_resnet ? 0 : settings.classes, err);
    }
    if (!status && state->has_transport)
        status = nvt_transport_mark_clock(&state->transport, &context->nvtx, err);
    if (status) {
        give_up(state, err);
        teardown(context, state);
        return -1;
    }
    name_ranges(state);
    *result = state;
    return 0;
}

/* --- phases --- */

static int run(struct nvt_run_context *context, struct state *state, enum nvt_direction direction,
               struct nvt_error *err)
{
    int64_t start = nvt_monotonic_ns();
    int status = nvt_pipeline_run(&state->pipeline, direction, err);
    state->launched = nvt_monotonic_ns();
    if (!context->nvtx.silent && direction != NVT_RUN_BOTH)
        state->launch_ns[direction == NVT_RUN_BACKWARD] += (double)(state->launched - start);
    return status;
}

/* Every partition's device is done. */
static int wait_for_ranks(struct state *state, struct nvt_error *err)
{
    double here = 1;
    if (!state->has_transport)
        return 0;
    nvt_backend_sync();
    return state->transport.sum(&state->transport, &here, 1, err);
}

/* The forward ends with the last partition's, which has the loss; the backward with the first one's, in rank 0. */
static int run_phase(struct nvt_run_context *context, struct state *state, size_t phase,
                     struct nvt_error *err)
{
    struct nvt_phase_clock clock;
    nvt_phase_begin(context, phase, &clock);
    int status = run(context, state, phase == FORWARD ? NVT_RUN_FORWARD : NVT_RUN_BACKWARD, err);
    if (!status && phase == FORWARD)
        status = wait_for_ranks(state, err);
    nvt_phase_end(context, phase, &clock);
    return status;
}

/* Forward and backward. Schedules that mix them have no time of either. */
static int step(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    int64_t start = nvt_monotonic_ns();
    if (!context->nvtx.silent && !state->timed++) {
        nvt_pipeline_reset_peaks(&state->pipeline);
        for (int i = 0; i < 2 * NVT_PARTITIONS_MOST; i++)
            state->peaks[i / NVT_PARTITIONS_MOST][i % NVT_PARTITIONS_MOST] =
                (struct nvt_memory_scope){0, 0, NULL};
    }
    int status;
    if (state->pipeline.settings.schedule == NVT_GPIPE) {
        status =
            run_phase(context, state, FORWARD, err) || run_phase(context, state, BACKWARD, err);
    } else {
        context->phase_ns[FORWARD] = context->phase_ns[BACKWARD] = NAN;
        status = run(context, state, NVT_RUN_BOTH, err);
    }
    nvt_backend_sync();
    if (!status && state->has_transport && state->transport.check)
        status = state->transport.check(&state->transport, err);
    if (!context->nvtx.silent) {
        state->step_ns += (double)(nvt_monotonic_ns() - start);
        state->step_launch_ns += (double)(state->launched - start);
    }
    nvt_pipeline_end_step(&state->pipeline);
    return status ? give_up(state, err) : 0;
}

static int optimize(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    (void)context;
    (void)err;
    nvt_pipeline_optimize(&((struct state *)opaque)->pipeline);
    return 0;
}

/* --- results --- */

static double loss(void *opaque)
{
    return nvt_pipeline_loss(&((struct state *)opaque)->pipeline);
}

static uint64_t parameters(const void *opaque)
{
    return (uint64_t)nvt_pipeline_parameters(&((const struct state *)opaque)->pipeline);
}

#define SGD_FLOPS 9 /* a parameter: see nvt_sgd_step */

/* FLOPs of the matrix products, and of SGD; bytes that must be moved once: weights, gradients and momentum, and of
 * each module its input and output, in the backward its input, what comes and what goes. */
static void work(const void *opaque, size_t phase, struct nvt_work_payload *payload)
{
    const struct state *state = (const struct state *)opaque;
    const struct nvt_pipeline *pipeline = &state->pipeline;
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    const double count = (double)parameters(opaque), weights = count * sizeof(real);
    double forward = 0, in = 0, out = 0;
    for (int i = 0; i < pipeline->module_count; i++) {
        const struct nvt_module *module = &pipeline->modules[i];
        if (module->type->flops)
            forward += module->type->flops(module, settings->batch / settings->microbatches);
        in += (double)module->in * sizeof(real);
        out += (double)module->out * sizeof(real);
    }
    /* All of it but a micro-batch is computed once more. */
    const double batch = (double)settings->batch;
    const double again =
        settings->checkpoint ? (settings->microbatches - 1.0) / settings->microbatches : 0;
    const double there = weights + batch * (in + out);
    const double back = 2 * weights + batch * (2 * in + out) + again * there;
    forward *= batch;
    double flops[] = {(3 + again) * forward, forward, (2 + again) * forward, SGD_FLOPS * count};
    double moved[] = {there + back, there, back, 5 * weights};
    payload->flops = (uint64_t)flops[phase];
    payload->bytes = (uint64_t)moved[phase];
}

/* Bytes of a partition: for its weights alone, and peaks, also (two for each) of its forwards and backwards. */
enum { WEIGHTS, RESERVED, ALLOCATED, PHASES, MEMORIES = PHASES + 4 };

/* Those of every partition, wherever it lives: 0, or -1 with err. */
static int gather_memory(struct state *state, double bytes[MEMORIES][NVT_PARTITIONS_MOST],
                         struct nvt_error *err)
{
    struct nvt_pipeline *pipeline = &state->pipeline;
    for (int i = 0; i < pipeline->settings.partitions; i++)
        if (pipeline->partitions[i].is_here) {
            struct nvt_memory_use use = nvt_partition_memory(&pipeline->partitions[i]);
            bytes[WEIGHTS][i] = (double)pipeline->partitions[i].weight_bytes;
            bytes[RESERVED][i] = (double)use.peak_reserved;
            bytes[ALLOCATED][i] = (double)use.peak_allocated;
            for (int way = 0; way < 2; way++) {
                const struct nvt_memory_scope *peak = &state->peaks[way][i];
                bytes[PHASES + 2 * way][i] = (double)peak->peak_allocated;
                bytes[PHASES + 2 * way + 1][i] = (double)peak->peak_reserved;
            }
        }
    return state->has_transport && state->transport.sum(&state->transport, bytes[0],
                                                        MEMORIES * NVT_PARTITIONS_MOST, err)
               ? give_up(state, err)
               : 0;
}

static void put_phase_peaks(struct nvt_run_result *result,
                            double bytes[MEMORIES][NVT_PARTITIONS_MOST])
{
    for (int way = 0; way < 2; way++) {
        struct nvt_phase_result *phase = &result->phases[way ? BACKWARD : FORWARD];
        phase->peak_allocated = phase->peak_reserved = 0;
        for (int i = 0; i < NVT_PARTITIONS_MOST; i++) {
            phase->peak_allocated += (uint64_t)bytes[PHASES + 2 * way][i];
            phase->peak_reserved += (uint64_t)bytes[PHASES + 2 * way + 1][i];
        }
    }
    result->phases[STEP].peak_allocated = result->peak_allocated;
    result->phases[STEP].peak_reserved = result->peak_reserved;
}

/* Forward and backward of all timed steps; the steps where a schedule mixes the two. */
static double timed_ns(const struct state *state)
{
    const struct nvt_run_result *result = state->context->result;
    double sum = 0;
    for (int64_t i = 0; i < result->iterations; i++)
        sum += result->phases[FORWARD].ns[i] + result->phases[BACKWARD].ns[i];
    return isfinite(sum) ? sum : state->step_ns;
}

static void put_partitions(struct nvt_run_context *context, const char *key, const double *bytes,
                           int partitions)
{
    char name[64];
    for (int i = 0; i < partitions; i++) {
        snprintf(name, sizeof(name), "%s.%d", key, i);
        nvt_run_number(context, name, bytes[i]);
    }
}

/* Schedules that mix forward and backward launch neither by itself. */
static void put_launch_times(struct nvt_run_context *context, const struct state *state)
{
    double steps = (double)state->timed;
    double apart = state->pipeline.settings.schedule == NVT_GPIPE ? 0 : NAN;
    nvt_run_number(context, "step_launch_ns_mean", state->step_launch_ns / steps);
    nvt_run_number(context, "forward_launch_ns_mean", state->launch_ns[0] / steps + apart);
    nvt_run_number(context, "backward_launch_ns_mean", state->launch_ns[1] / steps + apart);
}

/* How many devices the partitions of this process were on, and whether every message between two of them went straight to
 * where it was read. Ranks have a device each, and may share it: there the row has neither. */
static void put_devices(struct nvt_run_context *context, const struct nvt_pipeline *pipeline)
{
    const int devices = nvt_pipeline_devices(pipeline), partitions = pipeline->settings.partitions;
    char first[NVT_DEVICE_NAME_SIZE], name[NVT_DEVICE_NAME_SIZE];
    int is_straight = 1, other = 0;
    if (pipeline->settings.transport)
        return;
    nvt_run_number(context, "devices", devices);
    if (devices < 2)
        return;
    for (int i = 0; i < partitions; i++) {
        const int here = pipeline->partitions[i].device;
        const int next = pipeline->partitions[(i + 1) % partitions].device;
        /* The last one sends to the first where each has several parts of the model. */
        if (i + 1 < partitions || pipeline->settings.chunks > 1)
            is_straight &= nvt_backend_reaches(here, next) && nvt_backend_reaches(next, here);
    }
    nvt_run_number(context, "peer_access", is_straight);
    if (nvt_backend_device_name(0, first, sizeof(first)))
        return;
    for (int i = 1; i < devices && !other; i++)
        if (!nvt_backend_device_name(i, name, sizeof(name)) && strcmp(name, first) != 0)
            other = i;
    if (other)
        snprintf(context->result->message, sizeof(context->result->message),
                 "its devices differ: device 0 is %s, device %d is %s", first, other, name);
}

static int finish(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    struct state *state = (struct state *)opaque;
    const struct nvt_pipeline_settings *settings = &state->pipeline.settings;
    double bytes[MEMORIES][NVT_PARTITIONS_MOST] = {{0}}, total = 0, used = 0;
    double held = 3.0 * (double)parameters(state) * sizeof(real);
    if (gather_memory(state, bytes, err))
        return -1;
    state->is_finished = 1;
    put_partitions(context, "parameter_bytes_per_partition", bytes[WEIGHTS], settings->partitions);
    put_partitions(context, "reserved_bytes_per_partition", bytes[RESERVED], settings->partitions);
    for (int i = 0; i < settings->partitions; i++) {
        total += bytes[RESERVED][i];
        used += bytes[ALLOCATED][i];
    }
    nvt_run_number(context, "total_reserved_bytes", total);
    nvt_run_number(context, "peak_activation_bytes", total - held);
    nvt_run_number(context, "throughput_samples_per_s",
                   (double)settings->batch * (double)state->timed / (timed_ns(state) / 1e9));
    put_launch_times(context, state);
    put_devices(context, &state->pipeline);
    nvt_run_number(context, "bubble_predicted", nvt_schedule_bubble(&state->pipeline.order));
    context->result->peak_reserved = (uint64_t)total;
    context->result->peak_allocated = (uint64_t)used;
    put_phase_peaks(context->result, bytes);
    return 0;
}

static const struct nvt_phase phases[] = {
    {"step", step}, {"forward", NULL}, {"backward", NULL}, {"optimizer", optimize}};

const struct nvt_workload nvt_workload_gpipe = {
    .name = "gpipe",
    .phases = phases,
    .phase_count = NVT_COUNT_OF(phases),
    .setup = setup,
    .teardown = teardown,
    .loss = loss,
    .parameters = parameters,
    .work = work,
    .finish = finish,
};
