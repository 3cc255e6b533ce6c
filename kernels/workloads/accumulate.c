/*
 * The workload `accumulate`: 0.01 added a thousand times, in several formats. docs/workloads.md.
 */
#include "../ops/accumulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../workload.h"

#define ADDEND 0.01f

struct state {
    float *sum; /* on the device */
    enum nvt_accumulate_form form;
    int64_t count;
};

static const char *const forms[] = {
    [NVT_ACCUMULATE_FP32] = "fp32",
    [NVT_ACCUMULATE_FP16] = "fp16",
    [NVT_ACCUMULATE_MIXED] = "mixed",
    [NVT_ACCUMULATE_CAST] = "cast",
    [NVT_ACCUMULATE_BF16] = "bf16",
    [NVT_ACCUMULATE_MIXED_BF16] = "mixed-bf16",
    [NVT_ACCUMULATE_KAHAN] = "kahan",
    [NVT_ACCUMULATE_PAIRWISE] = "pairwise",
    [NVT_ACCUMULATE_KAHAN_BF16] = "kahan-bf16",
    [NVT_ACCUMULATE_PAIRWISE_BF16] = "pairwise-bf16",
};
#define FORMS NVT_COUNT_OF(forms)

static int setup(struct nvt_run_context *context, void **result, struct nvt_error *err)
{
    const char *configuration = context->settings->configuration;
    size_t form = 0;
    while (form < FORMS && !nvt_configuration_is(configuration, "form", forms[form]))
        form++;
    int64_t count = nvt_configuration_number(configuration, "count", 1000);
    if (form == FORMS || count < 1)
        return nvt_fail(err, "no such form, or nothing to add");
    struct state *state = (struct state *)calloc(1, sizeof(*state));
    if (!state)
        return nvt_fail(err, "out of memory");
    state->form = (enum nvt_accumulate_form)form;
    state->count = count;
    state->sum = (float *)nvt_allocator_take(context->allocator, sizeof(float));
    if (!state->sum) {
        free(state);
        return nvt_fail(err, "out of memory");
    }
    *result = state;
    return 0;
}

static int forward(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    const struct state *state = (const struct state *)opaque;
    (void)context;
    (void)err;
    nvt_accumulate(state->sum, state->form, ADDEND, state->count);
    return 0;
}

/* The sum, and its bits as a number, which no printing can round. */
static int finish(struct nvt_run_context *context, void *opaque, struct nvt_error *err)
{
    const struct state *state = (const struct state *)opaque;
    float sum;
    uint32_t bits;
    (void)err;
    nvt_backend_to_host(&sum, state->sum, sizeof(sum));
    memcpy(&bits, &sum, sizeof(bits));
    nvt_run_number(context, "sum", sum);
    nvt_run_number(context, "sum_bits", bits);
    nvt_run_number(context, "exact_sum", (double)state->count / 100);
    return 0;
}

static void teardown(struct nvt_run_context *context, void *opaque)
{
    struct state *state = (struct state *)opaque;
    nvt_allocator_give(context->allocator, state->sum);
    free(state);
}

static uint64_t parameters(const void *opaque)
{
    (void)opaque;
    return 0;
}

/* Compensated, an addend takes four additions. Only the sum is written. */
static void work(const void *opaque, size_t phase, struct nvt_work_payload *work)
{
    const struct state *state = (const struct state *)opaque;
    int is_compensated =
        state->form == NVT_ACCUMULATE_KAHAN || state->form == NVT_ACCUMULATE_KAHAN_BF16;
    (void)phase;
    work->flops = (uint64_t)state->count * (is_compensated ? 4 : 1);
    work->bytes = sizeof(float);
}

static const struct nvt_phase phases[] = {{"forward", forward}};

const struct nvt_workload nvt_workload_accumulate = {
    .name = "accumulate",
    .phases = phases,
    .phase_count = 1,
    .setup = setup,
    .teardown = teardown,
    .parameters = parameters,
    .work = work,
    .finish = finish,
};
