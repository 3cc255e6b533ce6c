/*
 * The measuring loop, the same for every workload and both backends.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../workload.h"

#define NVT_WORKLOAD_LINE(name) &nvt_workload_##name,
static const struct nvt_workload *const workloads[] = {NVT_WORKLOADS(NVT_WORKLOAD_LINE)};
#undef NVT_WORKLOAD_LINE

struct names {
    nvtxStringHandle_t configuration, warmup, iteration, loop;
};

static const struct nvt_workload *find_workload(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(workloads); i++)
        if (!strcmp(workloads[i]->name, name))
            return workloads[i];
    return NULL;
}

void nvt_phase_begin(struct nvt_run_context *context, size_t phase, struct nvt_phase_clock *clock)
{
    nvt_backend_sync();
    nvt_allocator_scope_begin(context->allocator, &clock->memory);
    nvt_nvtx_push_work(&context->nvtx, context->names[phase], &context->result->phases[phase].work);
    clock->start = nvt_monotonic_ns();
}

void nvt_phase_end(struct nvt_run_context *context, size_t phase, struct nvt_phase_clock *clock)
{
    struct nvt_phase_result *result = &context->result->phases[phase];
    nvt_backend_sync();
    context->phase_ns[phase] += (double)(nvt_monotonic_ns() - clock->start);
    nvt_nvtx_pop(&context->nvtx);
    nvt_allocator_scope_end(context->allocator, &clock->memory);
    if (clock->memory.peak_allocated > result->peak_allocated)
        result->peak_allocated = clock->memory.peak_allocated;
    if (clock->memory.peak_reserved > result->peak_reserved)
        result->peak_reserved = clock->memory.peak_reserved;
}

void nvt_phase_absent(struct nvt_run_context *context, size_t phase)
{
    context->result->phases[phase].is_absent = 1;
}

void nvt_run_number(struct nvt_run_context *context, const char *key, double value)
{
    struct nvt_run_result *result = context->result;
    /* One more than fit is counted, so that it shows. */
    if (result->number_count > NVT_NUMBERS_MOST)
        return;
    if (result->number_count < NVT_NUMBERS_MOST) {
        struct nvt_run_number *number = &result->numbers[result->number_count];
        snprintf(number->key, sizeof(number->key), "%s", key);
        number->value = value;
    }
    result->number_count++;
}

/* The phases in [first, end) once. 0 or -1. */
static int run_phases(struct nvt_run_context *context, void *state, size_t first, size_t end,
                      struct nvt_error *err)
{
    const struct nvt_workload *workload = context->workload;
    memset(context->phase_ns, 0, sizeof(context->phase_ns));
    for (size_t i = first; i < end; i++) {
        struct nvt_phase_clock clock;
        if (!workload->phases[i].run || context->result->phases[i].is_absent)
            continue;
        nvt_phase_begin(context, i, &clock);
        int status = workload->phases[i].run(context, state, err);
        nvt_phase_end(context, i, &clock);
        if (status)
            return -1;
    }
    return nvt_backend_failed(err);
}

/* Wait for our turn, where there are others. */
static int begin_turn(struct nvt_run_context *context, struct nvt_error *err)
{
    return context->turns ? nvt_turns_take(context->turns, err) : 0;
}

static void end_turn(struct nvt_run_context *context)
{
    if (context->turns)
        nvt_turns_pass(context->turns);
}

static int warm_up(struct nvt_run_context *context, void *state, const struct names *names,
                   size_t first, size_t end, struct nvt_error *err)
{
    int status = 0;
    for (int64_t i = 0; i < context->settings->warmup && !status; i++) {
        if (begin_turn(context, err))
            return -1;
        nvt_nvtx_push_number(&context->nvtx, names->warmup, (uint64_t)i);
        nvt_faults_iteration_begin(&context->faults, &context->nvtx);
        /* No ranges inside: a report of all ranges shall not mix timed phases with these. */
        context->nvtx.silent = 1;
        status = run_phases(context, state, first, end, err);
        context->nvtx.silent = 0;
        nvt_faults_iteration_end(&context->faults, &context->nvtx);
        nvt_nvtx_pop(&context->nvtx);
        end_turn(context);
    }
    return status;
}

/* A timed iteration, or its twin without the calls of NVTX, or one of the first half. */
static int iterate(struct nvt_run_context *context, void *state, const struct names *names,
                   size_t first, size_t end, int64_t i, int mute, struct nvt_error *err)
{
    struct nvt_run_result *result = context->result;
    int64_t start = nvt_monotonic_ns();
    context->nvtx.mute = mute;
    nvt_nvtx_push_number(&context->nvtx, names->iteration, (uint64_t)i);
    nvt_faults_iteration_begin(&context->faults, &context->nvtx);
    int status = run_phases(context, state, first, end, err);
    nvt_faults_iteration_end(&context->faults, &context->nvtx);
    nvt_nvtx_pop(&context->nvtx);
    context->nvtx.mute = 0;
    if (!mute)
        result->timed_ns += nvt_monotonic_ns() - start;
    for (size_t phase = first; phase < end; phase++)
        (mute ? result->phases[phase].mute_ns : result->phases[phase].ns)[i] =
            context->phase_ns[phase];
    return status;
}

/* Which iterations: those that count, with twins or without, or those of the first half. */
enum half { ALL_OR_SECOND, FIRST };

static int measure(struct nvt_run_context *context, void *state, const struct names *names,
                   enum half half, size_t first, size_t end, struct nvt_error *err)
{
    int twins = context->settings->within;
    for (int64_t i = 0; i < context->settings->iterations; i++) {
        if (begin_turn(context, err))
            return -1;
        /* Which of the two comes first changes each time. */
        int mute_first = half == FIRST || (twins && i % 2 == 0);
        int status = iterate(context, state, names, first, end, i, mute_first, err);
        if (!status && twins)
            status = iterate(context, state, names, first, end, i, !mute_first, err);
        end_turn(context);
        if (status)
            return -1;
        context->result->iterations = i + 1;
    }
    return 0;
}

/* All calls of a phase under one clock: no wait for the device, no range and no clock between them. */
static int measure_loop(struct nvt_run_context *context, void *state, const struct names *names,
                        size_t phase, struct nvt_error *err)
{
    struct nvt_phase_result *result = &context->result->phases[phase];
    const struct nvt_phase *of = &context->workload->phases[phase];
    struct nvt_work_payload once = result->work;
    struct nvt_phase_clock clock;
    int64_t calls = context->settings->iterations;
    int status = 0;
    if (begin_turn(context, err))
        return -1;
    int64_t start = nvt_monotonic_ns();
    nvt_nvtx_push_number(&context->nvtx, names->loop, (uint64_t)calls);
    context->phase_ns[phase] = 0;
    result->work.flops *= (uint64_t)calls;
    result->work.bytes *= (uint64_t)calls;
    nvt_phase_begin(context, phase, &clock);
    for (int64_t i = 0; i < calls && !status; i++)
        status = of->run(context, state, err);
    nvt_phase_end(context, phase, &clock);
    result->work = once;
    nvt_nvtx_pop(&context->nvtx);
    context->result->timed_ns += nvt_monotonic_ns() - start;
    end_turn(context);
    result->ns[0] = context->phase_ns[phase] / (double)calls;
    result->calls = calls;
    context->result->iterations = calls;
    return status ? status : nvt_backend_failed(err);
}

/* What setup and warm-ups took is no part of any peak. */
static void forget_peaks(struct nvt_run_context *context, size_t first, size_t end)
{
    if (!first)
        nvt_allocator_reset_peak(context->allocator);
    for (size_t i = first; i < end; i++)
        context->result->phases[i].peak_allocated = context->result->phases[i].peak_reserved = 0;
}

/* Warm-ups and timed calls of the phases in [first, end). */
static int run_span(struct nvt_run_context *context, void *state, const struct names *names,
                    enum nvt_timing timing, enum half half, size_t first, size_t end,
                    struct nvt_error *err)
{
    if (timing == NVT_TIME_LOOP && (context->settings->within || context->settings->halves))
        return nvt_fail(err, "all calls of a phase are timed together: there are no iterations to "
                             "compare within the run");
    if (warm_up(context, state, names, first, end, err))
        return -1;
    forget_peaks(context, first, end);
    return timing == NVT_TIME_LOOP ? measure_loop(context, state, names, first, err)
                                   : measure(context, state, names, half, first, end, err);
}

/* All phases. */
static int run_spans(struct nvt_run_context *context, void *state, const struct names *names,
                     enum half half, struct nvt_error *err)
{
    enum nvt_timing timing =
        context->workload->timing ? context->workload->timing(state) : NVT_TIME_ITERATIONS;
    size_t phases = context->result->phase_count;
    size_t span = timing == NVT_TIME_ITERATIONS ? phases : 1;
    int status = 0;
    for (size_t i = 0; i < phases && !status; i += span)
        status = run_span(context, state, names, timing, half, i, i + span, err);
    return status;
}

/* The second half has its own warm-ups: what records may have some, too. */
static int run_halves(struct nvt_run_context *context, void *state, const struct names *names,
                      struct nvt_error *err)
{
    if (run_spans(context, state, names, FIRST, err))
        return -1;
    nvt_nvtx_push(&context->nvtx, nvt_nvtx_name(&context->nvtx, NVT_NVTX_RECORDED));
    nvt_nvtx_push(&context->nvtx, names->configuration);
    int status = run_spans(context, state, names, ALL_OR_SECOND, err);
    nvt_nvtx_pop(&context->nvtx);
    nvt_nvtx_pop(&context->nvtx);
    return status;
}

static int run_iterations(struct nvt_run_context *context, void *state, struct nvt_error *err)
{
    char label[NVT_CONFIGURATION_MAX + 64];
    const struct nvt_run_settings *settings = context->settings;
    snprintf(label, sizeof(label), "%s %s", settings->workload, settings->configuration);
    struct names names = {
        nvt_nvtx_name(&context->nvtx, label), nvt_nvtx_name(&context->nvtx, "warmup"),
        nvt_nvtx_name(&context->nvtx, "iteration"), nvt_nvtx_name(&context->nvtx, "loop")};
    for (size_t i = 0; i < context->result->phase_count; i++)
        context->names[i] = nvt_nvtx_name(&context->nvtx, context->result->phases[i].name);
    if (settings->halves)
        return run_halves(context, state, &names, err);
    nvt_nvtx_push(&context->nvtx, names.configuration);
    int status = run_spans(context, state, &names, ALL_OR_SECOND, err);
    nvt_nvtx_pop(&context->nvtx);
    return status;
}

static int prepare_result(struct nvt_run_context *context, struct nvt_error *err)
{
    const struct nvt_workload *workload = context->workload;
    struct nvt_run_result *result = context->result;
    for (size_t i = 0; i < workload->phase_count; i++) {
        struct nvt_phase_result *phase = &result->phases[i];
        phase->name = workload->phases[i].name;
        phase->calls = 1;
        phase->ns = (double *)calloc((size_t)context->settings->iterations, sizeof(double));
        int has_mute = context->settings->within || context->settings->halves;
        if (has_mute)
            phase->mute_ns =
                (double *)calloc((size_t)context->settings->iterations, sizeof(double));
        result->phase_count = i + 1;
        if (!phase->ns || (has_mute && !phase->mute_ns))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

/* What is known of a state before it is run. */
static void describe_state(struct nvt_run_context *context, const void *state)
{
    const struct nvt_workload *workload = context->workload;
    context->result->parameters = workload->parameters(state);
    for (size_t i = 0; i < workload->phase_count; i++) {
        struct nvt_phase_result *phase = &context->result->phases[i];
        workload->work(state, i, &phase->work);
        phase->precision = workload->precision ? workload->precision(i) : NULL;
    }
}

static int run_workload(struct nvt_run_context *context, struct nvt_error *err)
{
    const struct nvt_workload *workload = context->workload;
    struct nvt_run_result *result = context->result;
    void *state = NULL;
    if (prepare_result(context, err) || workload->setup(context, &state, err))
        return -1;
    describe_state(context, state);
    end_turn(context);
    int status = run_iterations(context, state, err);
    /* The others have their last iteration before we end. */
    if (!status)
        status = begin_turn(context, err);
    struct nvt_memory_use use = nvt_allocator_use(context->allocator);
    result->peak_allocated = use.peak_allocated;
    result->peak_reserved = use.peak_reserved;
    if (!status && workload->loss)
        result->loss = workload->loss(state);
    if (!status && workload->loss && !isfinite(result->loss))
        snprintf(result->message, sizeof(result->message),
                 "the loss is not finite: the times are of other numbers than intended");
    if (!status && workload->finish)
        status = workload->finish(context, state, err);
    if (!status && result->number_count > NVT_NUMBERS_MOST)
        status = nvt_fail(err, "more than %d numbers of its own", NVT_NUMBERS_MOST);
    workload->teardown(context, state);
    return status ? status : nvt_backend_failed(err);
}

static uint64_t limit_of(const struct nvt_run_settings *settings,
                         const struct nvt_backend_facts *facts)
{
    if (settings->memory_limit && (!facts->memory || settings->memory_limit < facts->memory))
        return settings->memory_limit;
    return facts->memory;
}

static int start_run(struct nvt_run_context *context, struct nvt_error *err)
{
    const struct nvt_run_settings *settings = context->settings;
    context->workload = find_workload(settings->workload);
    if (!context->workload)
        return nvt_fail(err, "no workload %s in this library", settings->workload);
    if (settings->turns &&
        (nvt_turns_join(settings->turns, settings->place, &context->turns, err) ||
         begin_turn(context, err)))
        return -1;
    if (nvt_workload_backend(&context->result->backend, err))
        return -1;
    /* Where a run before ours in this process left it. */
    nvt_backend_use_stream(0);
    context->nvtx = nvt_nvtx_open("nvtally");
    /* What a device's memory costs shows in its API's calls. */
    if (!strcmp(context->result->backend.name, "host"))
        nvt_faults_watch(&context->faults, &context->nvtx);
    context->memory_limit = limit_of(settings, &context->result->backend);
    context->allocator = nvt_allocator_new(context->memory_limit);
    return context->allocator ? 0 : nvt_fail(err, "out of memory");
}

int nvt_workload_backend(struct nvt_backend_facts *facts, struct nvt_error *err)
{
    memset(facts, 0, sizeof(*facts));
    return nvt_backend_start(facts, err);
}

/* A limit is reached sooner than what was asked for says: memory comes in segments (allocator.h). */
static void tell_refused(const struct nvt_run_context *context, uint64_t refused,
                         struct nvt_error *err)
{
    const char *where = context->refused_at;
    if (context->settings->memory_limit && context->memory_limit == context->settings->memory_limit)
        nvt_fail(err,
                 "%sout of memory: %llu bytes were asked for, and another segment, of 2 MiB or "
                 "more, would exceed --memory-limit (%llu bytes)",
                 where, (unsigned long long)refused, (unsigned long long)context->memory_limit);
    else
        nvt_fail(err, "%sout of memory: %llu bytes were asked for", where,
                 (unsigned long long)refused);
}

/* Ranks wait for one that has not even found the others, until their launcher ends them, which it does after an
 * error. */
static int is_waited_for(const struct nvt_run_settings *settings)
{
    return nvt_configuration_is(settings->configuration, "transport", "mpi") ||
           nvt_configuration_is(settings->configuration, "transport", "nccl");
}

void nvt_workload_run(const struct nvt_run_settings *settings, struct nvt_run_result *result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_run_context context;
    char why[sizeof(result->message)];
    memset(&context, 0, sizeof(context));
    memset(result, 0, sizeof(*result));
    result->loss = NAN;
    context.settings = settings;
    context.result = result;
    int status = start_run(&context, &err);
    int is_error = status && is_waited_for(settings);
    if (!status)
        status = run_workload(&context, &err);
    uint64_t refused = context.refused;
    if (!refused && context.allocator)
        refused = nvt_allocator_use(context.allocator).refused;
    int was_full = nvt_backend_was_full();
    nvt_faults_close(&context.faults, &context.nvtx);
    nvt_allocator_free(context.allocator);
    nvt_turns_close(context.turns);
    if (!status)
        return;
    result->status = (refused || was_full) && !is_error ? NVT_RUN_OOM : NVT_RUN_ERROR;
    if (refused)
        tell_refused(&context, refused, &err);
    else if (was_full)
        nvt_fail(&err, "out of memory: %s", nvt_error_text(&err, why, sizeof(why)));
    nvt_error_text(&err, result->message, sizeof(result->message));
}

void nvt_workload_release(struct nvt_run_result *result)
{
    for (size_t i = 0; i < result->phase_count; i++) {
        free(result->phases[i].ns);
        free(result->phases[i].mute_ns);
    }
    result->phase_count = 0;
}
