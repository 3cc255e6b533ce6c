/*
 * One action of a schedule: a micro-batch through a part of the model, forward or backward.
 */
#include <stdlib.h>

#include "../ops/cross_entropy.h"
#include "../ops/vector.h"
#include "pipeline.h"

/* What one action works on. */
struct work {
    struct nvt_pipeline *pipeline;
    struct nvt_partition *partition;
    struct nvt_part *part;
    struct nvt_flow *flow;
    int number, chunk, microbatch; /* of the part, … */
    int64_t samples;
};

static int is_last(const struct work *work)
{
    return work->number == work->pipeline->part_count - 1;
}

/* Whether this micro-batch keeps only its input: all but the last one, when checkpointing. */
static int is_checkpointed(const struct work *work)
{
    const struct nvt_pipeline_settings *settings = &work->pipeline->settings;
    return settings->checkpoint && work->microbatch < settings->microbatches - 1;
}

static int out_of_memory(struct work *work)
{
    uint64_t bytes = nvt_allocator_use(work->partition->allocator).refused;
    return nvt_pipeline_fail(work->pipeline, bytes ? bytes : 1, NULL);
}

static real *take(struct work *work, int64_t numbers)
{
    return (real *)nvt_allocator_take(work->partition->allocator, (size_t)numbers * sizeof(real));
}

static struct nvt_pass pass_of(struct work *work, struct nvt_kept *kept)
{
    const struct nvt_pipeline *pipeline = work->pipeline;
    struct nvt_pass pass = {work->partition->allocator, work->samples,    pipeline->settings.seed,
                            pipeline->iteration,        work->microbatch, kept};
    return pass;
}

/* --- telling --- */

static struct nvt_span_facts facts_of(const struct work *work, enum nvt_span span)
{
    struct nvt_span_facts facts = {
        span, work->partition->index, work->chunk, work->microbatch, 0, 0, 0, 0};
    return facts;
}

static void begin(const struct work *work, enum nvt_span span)
{
    const struct nvt_pipeline_settings *settings = &work->pipeline->settings;
    struct nvt_span_facts facts = facts_of(work, span);
    if (settings->begin)
        settings->begin(settings->user, &facts);
}

/* Its inbox, too, which only grows within a step: what it holds now is the most that it held. */
static void add_memory(struct nvt_partition *partition, const struct nvt_memory_scope *memory,
                       struct nvt_span_facts *facts)
{
    struct nvt_memory_use use = nvt_allocator_use(partition->allocator);
    pthread_mutex_lock(&partition->lock);
    struct nvt_memory_use inbox = nvt_allocator_use(partition->inbox);
    pthread_mutex_unlock(&partition->lock);
    facts->allocated = use.allocated + inbox.allocated;
    facts->reserved = use.reserved + inbox.reserved;
    facts->peak_allocated = memory->peak_allocated + inbox.allocated;
    facts->peak_reserved = memory->peak_reserved + inbox.reserved;
}

static void end(const struct work *work, enum nvt_span span, const struct nvt_memory_scope *memory)
{
    const struct nvt_pipeline_settings *settings = &work->pipeline->settings;
    struct nvt_span_facts facts = facts_of(work, span);
    if (memory)
        add_memory(work->partition, memory, &facts);
    if (settings->end)
        settings->end(settings->user, &facts);
}

/* --- forward --- */

static const real *data_of(const struct work *work)
{
    const struct nvt_pipeline *pipeline = work->pipeline;
    return (const void *)((const char *)pipeline->inputs +
                          (size_t)work->microbatch * (size_t)work->samples * pipeline->input_bytes);
}

static const real *receive(struct work *work, int is_backward, int64_t numbers)
{
    begin(work, NVT_SPAN_WAIT);
    const real *data =
        nvt_message_receive(work->pipeline, work->number, is_backward, work->microbatch, numbers);
    end(work, NVT_SPAN_WAIT, NULL);
    return data;
}

static const struct nvt_module *module_at(const struct work *work, int i)
{
    return &work->pipeline->modules[work->part->first + i];
}

/* The module's input: the part's, or what the one before put out. */
static const real *input_of(const struct work *work, int i)
{
    return i ? work->flow->outputs[i - 1] : work->flow->input;
}

/* Give back what module i put out, when neither its backward nor the next one's reads it. */
static void drop_output(struct work *work, int i)
{
    if (i < 0 || module_at(work, i)->type->needs_output ||
        module_at(work, i + 1)->type->needs_input)
        return;
    nvt_allocator_give(work->partition->allocator, work->flow->outputs[i]);
    work->flow->outputs[i] = NULL;
}

static void release(struct work *work, int i)
{
    struct nvt_pass pass = pass_of(work, &work->flow->kept[i]);
    nvt_pass_release(&pass);
    nvt_allocator_give(work->partition->allocator, work->flow->outputs[i]);
    work->flow->outputs[i] = NULL;
}

/* All modules of the part. What they put out is in flow->outputs; the last one's always. `keep`: for a
 * backward that comes behind. */
static int run_modules(struct work *work, int keep)
{
    struct nvt_flow *flow = work->flow;
    for (int i = 0; i < work->part->count; i++) {
        const struct nvt_module *module = module_at(work, i);
        struct nvt_pass pass = pass_of(work, &flow->kept[i]);
        flow->outputs[i] = take(work, work->samples * module->out);
        if (!flow->outputs[i] ||
            module->type->forward(module, &pass, input_of(work, i), flow->outputs[i]))
            return out_of_memory(work);
        if (keep) {
            drop_output(work, i - 1);
        } else {
            nvt_pass_release(&pass);
            if (i)
                release(work, i - 1);
        }
    }
    return 0;
}

static int64_t loss_rows(const struct work *work)
{
    return work->samples * work->pipeline->settings.rows;
}

static int forward(struct work *work)
{
    struct nvt_pipeline *pipeline = work->pipeline;
    int last = work->part->count - 1;
    int64_t out = module_at(work, last)->out * work->samples;
    work->flow->input =
        work->number ? receive(work, 0, module_at(work, 0)->in * work->samples) : data_of(work);
    if (!work->flow->input)
        return -1;
    begin(work, NVT_SPAN_FORWARD);
    int status = run_modules(work, !is_checkpointed(work));
    real *result = work->flow->outputs[last];
    if (!status && is_last(work)) {
        int64_t at = work->microbatch * loss_rows(work);
        nvt_cross_entropy_forward(pipeline->losses + at, pipeline->sums + at, result,
                                  pipeline->targets + at, loss_rows(work),
                                  pipeline->settings.classes);
    } else if (!status) {
        status = nvt_message_send(pipeline, work->number + 1, 0, work->microbatch, result, out);
    }
    if (!status && is_checkpointed(work))
        release(work, last);
    else if (!status && !is_last(work) && !module_at(work, last)->type->needs_output) {
        nvt_allocator_give(work->partition->allocator, result);
        work->flow->outputs[last] = NULL;
    }
    return status;
}

/* --- backward --- */

static int recompute(struct work *work)
{
    struct nvt_memory_scope memory;
    nvt_allocator_scope_begin(work->partition->allocator, &memory);
    begin(work, NVT_SPAN_RECOMPUTE);
    int status = run_modules(work, 1);
    nvt_allocator_scope_end(work->partition->allocator, &memory);
    end(work, NVT_SPAN_RECOMPUTE, &memory);
    return status;
}

/* The gradient of the mean loss over the whole batch by this micro-batch's logits, written over them. */
static real *loss_gradient(struct work *work)
{
    struct nvt_pipeline *pipeline = work->pipeline;
    int64_t rows = loss_rows(work), at = work->microbatch * rows;
    int last = work->part->count - 1;
    real *logits = work->flow->outputs[last];
    real scale = 1 / (real)(pipeline->settings.batch * pipeline->settings.rows);
    nvt_cross_entropy_backward(NVT_FP32, logits, logits, pipeline->sums + at,
                               pipeline->targets + at, rows, pipeline->settings.classes, scale);
    work->flow->outputs[last] = NULL;
    return logits;
}

/* The gradient that comes from behind: as own memory, since modules write to it. */
static real *gradient_from_behind(struct work *work, const real *received)
{
    int64_t numbers = module_at(work, work->part->count - 1)->out * work->samples;
    real *gradient = take(work, numbers);
    if (gradient)
        nvt_copy(gradient, received, numbers);
    else
        out_of_memory(work);
    return gradient;
}

/* From the gradient of the output to that of the input, which is sent to the part before. */
static int run_backwards(struct work *work, real *dy)
{
    struct nvt_flow *flow = work->flow;
    int status = 0;
    for (int i = work->part->count - 1; i >= 0 && !status; i--) {
        const struct nvt_module *module = module_at(work, i);
        struct nvt_pass pass = pass_of(work, &flow->kept[i]);
        int is_first = work->number == 0 && i == 0;
        real *dx = is_first ? NULL : take(work, module->in * work->samples);
        if ((!dx && !is_first) ||
            module->type->backward(module, &pass, input_of(work, i), flow->outputs[i], dy, dx))
            status = out_of_memory(work);
        nvt_allocator_give(work->partition->allocator, dy);
        release(work, i);
        dy = dx;
    }
    if (!status && work->number)
        status = nvt_message_send(work->pipeline, work->number - 1, 1, work->microbatch, dy,
                                  module_at(work, 0)->in * work->samples);
    nvt_allocator_give(work->partition->allocator, dy);
    return status;
}

static int backward(struct work *work)
{
    const real *received = NULL;
    int64_t numbers = module_at(work, work->part->count - 1)->out * work->samples;
    if (!is_last(work) && !(received = receive(work, 1, numbers)))
        return -1;
    begin(work, NVT_SPAN_BACKWARD);
    if (is_checkpointed(work) && recompute(work))
        return -1;
    real *dy = is_last(work) ? loss_gradient(work) : gradient_from_behind(work, received);
    return dy ? run_backwards(work, dy) : -1;
}

/* --- one action --- */

static struct work work_of(struct nvt_pipeline *pipeline, const struct nvt_action *action)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    struct work work = {pipeline,
                        &pipeline->partitions[action->partition],
                        NULL,
                        NULL,
                        action->chunk * settings->partitions + action->partition,
                        action->chunk,
                        action->microbatch,
                        settings->batch / settings->microbatches};
    work.part = &pipeline->parts[work.number];
    work.flow = &work.part->flows[action->microbatch];
    return work;
}

static int without_device(struct nvt_pipeline *pipeline)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    nvt_backend_failed(&err);
    return nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text)));
}

int nvt_flow_run(struct nvt_pipeline *pipeline, const struct nvt_action *action)
{
    struct work work = work_of(pipeline, action);
    struct nvt_memory_scope memory;
    if (pipeline->failed)
        return -1;
    if (nvt_partition_enter(work.partition))
        return without_device(pipeline);
    if (pipeline->settings.partitions > 1)
        nvt_backend_use_stream(nvt_partition_stream(&pipeline->partitions[action->partition]));
    nvt_allocator_scope_begin(work.partition->allocator, &memory);
    int status = action->is_backward ? backward(&work) : forward(&work);
    nvt_allocator_scope_end(work.partition->allocator, &memory);
    /* A span that was not begun has failed, and with it everything. */
    if (!status)
        end(&work, action->is_backward ? NVT_SPAN_BACKWARD : NVT_SPAN_FORWARD, &memory);
    return status;
}
