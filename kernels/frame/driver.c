/*
 * The measuring loop, the same for every workload and both backends.
 */
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../backend.h"
#include "../workload.h"

static const struct nvt_workload *const workloads[] = {
    &nvt_workload_linear,
    &nvt_workload_fragmented,
};

struct names {
    nvtxStringHandle_t configuration, warmup, iteration, forward, backward;
};

/* The value of a key in "a=1 b=2", up to the next blank; NULL when there is none. */
static const char *find_value(const char *configuration, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = configuration; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, key, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

int64_t nvt_configuration_number(const char *configuration, const char *key, int64_t missing)
{
    const char *value = find_value(configuration, key);
    return value ? strtoll(value, NULL, 10) : missing;
}

int nvt_configuration_is(const char *configuration, const char *key, const char *word)
{
    const char *value = find_value(configuration, key);
    size_t length = strlen(word);
    return value && !strncmp(value, word, length) && (!value[length] || value[length] == ' ');
}

void nvt_optimizer_begin(struct nvt_run_context *context, int64_t *start)
{
    nvt_backend_sync();
    nvt_nvtx_push(&context->nvtx, context->optimizer);
    *start = nvt_monotonic_ns();
}

void nvt_optimizer_end(struct nvt_run_context *context, int64_t start)
{
    nvt_backend_sync();
    context->optimizer_ns += (double)(nvt_monotonic_ns() - start);
    nvt_nvtx_pop(&context->nvtx);
}

static const struct nvt_workload *find_workload(const char *name)
{
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
        if (!strcmp(workloads[i]->name, name))
            return workloads[i];
    return NULL;
}

typedef int (*phase_function)(struct nvt_run_context *context, void *state, struct nvt_error *err);

/* One phase in its range, synchronised before the range ends; the clock is read within. */
static int timed_phase(struct nvt_run_context *context, phase_function phase, void *state,
                       nvtxStringHandle_t name, const struct nvt_work_payload *work, double *ns,
                       struct nvt_error *err)
{
    nvt_nvtx_push_work(&context->nvtx, name, work);
    int64_t start = nvt_monotonic_ns();
    int status = phase(context, state, err);
    nvt_backend_sync();
    *ns = (double)(nvt_monotonic_ns() - start);
    nvt_nvtx_pop(&context->nvtx);
    return status;
}

static int warm_up(const struct nvt_workload *workload, struct nvt_run_context *context, void *state,
                   const struct names *names, struct nvt_error *err)
{
    struct nvt_run_context silent = *context;
    int status = 0;
    /* No ranges inside: a report of all ranges shall not mix timed phases with these. */
    silent.nvtx.silent = 1;
    for (int64_t i = 0; i < context->settings->warmup && !status; i++) {
        nvt_nvtx_push_number(&context->nvtx, names->warmup, (uint64_t)i);
        status = workload->forward(&silent, state, err) || workload->backward(&silent, state, err);
        nvt_backend_sync();
        nvt_nvtx_pop(&context->nvtx);
    }
    return status ? -1 : 0;
}

static int measure(const struct nvt_workload *workload, struct nvt_run_context *context, void *state,
                   const struct names *names, struct nvt_run_result *result, struct nvt_error *err)
{
    for (int64_t i = 0; i < context->settings->iterations; i++) {
        context->optimizer_ns = 0;
        nvt_nvtx_push_number(&context->nvtx, names->iteration, (uint64_t)i);
        int status = timed_phase(context, workload->forward, state, names->forward,
                                 &result->forward_work, &result->forward[i], err);
        if (!status)
            status = timed_phase(context, workload->backward, state, names->backward,
                                 &result->backward_work, &result->backward[i], err);
        nvt_nvtx_pop(&context->nvtx);
        if (status)
            return -1;
        result->optimizer[i] = context->optimizer_ns;
        result->iterations = i + 1;
    }
    return 0;
}

static int run_iterations(const struct nvt_workload *workload, struct nvt_run_context *context,
                          void *state, struct nvt_run_result *result, struct nvt_error *err)
{
    char label[NVT_CONFIGURATION_MAX + 64];
    const struct nvt_run_settings *settings = context->settings;
    snprintf(label, sizeof(label), "%s %s", settings->workload, settings->configuration);
    struct names names = {
        nvt_nvtx_name(&context->nvtx, label), nvt_nvtx_name(&context->nvtx, "warmup"),
        nvt_nvtx_name(&context->nvtx, "iteration"), nvt_nvtx_name(&context->nvtx, "forward"),
        nvt_nvtx_name(&context->nvtx, "backward")};
    context->optimizer = nvt_nvtx_name(&context->nvtx, "optimizer");
    nvt_nvtx_push(&context->nvtx, names.configuration);
    int status = warm_up(workload, context, state, &names, err);
    nvt_allocator_reset_peak(context->allocator);
    if (!status)
        status = measure(workload, context, state, &names, result, err);
    nvt_nvtx_pop(&context->nvtx);
    return status;
}

static int run_workload(const struct nvt_workload *workload, struct nvt_run_context *context,
                        struct nvt_run_result *result, struct nvt_error *err)
{
    void *state = NULL;
    size_t count = (size_t)context->settings->iterations;
    result->forward = (double *)calloc(count, sizeof(double));
    result->backward = (double *)calloc(count, sizeof(double));
    result->optimizer = (double *)calloc(count, sizeof(double));
    if (!result->forward || !result->backward || !result->optimizer)
        return nvt_fail(err, "out of memory");
    if (workload->setup(context, &state, err))
        return -1;
    result->parameters = workload->parameters(state);
    workload->work(state, &result->forward_work, &result->backward_work);
    int status = run_iterations(workload, context, state, result, err);
    struct nvt_memory_use use = nvt_allocator_use(context->allocator);
    result->peak_allocated = use.peak_allocated;
    result->peak_reserved = use.peak_reserved;
    if (!status && workload->loss)
        result->loss = workload->loss(state);
    workload->teardown(context, state);
    return status;
}

void nvt_workload_run(const struct nvt_run_settings *settings, struct nvt_run_result *result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_run_context context;
    memset(&context, 0, sizeof(context));
    memset(result, 0, sizeof(*result));
    result->loss = NAN;
    result->backend = nvt_backend_name();
    context.settings = settings;
    const struct nvt_workload *workload = find_workload(settings->workload);
    int status = workload ? nvt_backend_start(&err)
                          : nvt_fail(&err, "no workload %s in this library", settings->workload);
    result->device = status ? "" : nvt_backend_device();
    if (!status) {
        context.nvtx = nvt_nvtx_open("nvtally");
        context.allocator = nvt_allocator_new(settings->memory_limit);
        status = context.allocator ? run_workload(workload, &context, result, &err)
                                   : nvt_fail(&err, "out of memory");
    }
    if (!status)
        return;
    uint64_t refused = context.allocator ? nvt_allocator_use(context.allocator).refused : 0;
    result->status = refused ? NVT_RUN_OOM : NVT_RUN_ERROR;
    if (refused)
        nvt_fail(&err, "out of device memory: %llu bytes were asked for",
                 (unsigned long long)refused);
    nvt_error_text(&err, result->message, sizeof(result->message));
}
