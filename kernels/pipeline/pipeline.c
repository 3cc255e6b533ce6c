/*
 * Life of a pipeline: weights, data, loss, optimizer. What it runs is in flow.c, on which threads in
 * workers.c.
 */
#include "pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ops/embedding.h"
#include "../ops/optimizer.h"
#include "../ops/vector.h"

/* Streams of the generator that no module uses. */
#define STREAM_INPUTS  (UINT64_C(1) << 62)
#define STREAM_TARGETS (STREAM_INPUTS + 1)

int nvt_pipeline_fail(struct nvt_pipeline *pipeline, uint64_t bytes, const char *text)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    char why[512];
    pthread_mutex_lock(&pipeline->lock);
    if (!pipeline->failed) {
        pipeline->failed = 1;
        pipeline->refused = bytes;
        if (bytes)
            nvt_fail(&pipeline->err, "out of memory: %llu bytes were asked for",
                     (unsigned long long)bytes);
        else
            nvt_fail(&pipeline->err, "%s", text ? text : "");
    }
    pthread_cond_broadcast(&pipeline->changed);
    bytes = pipeline->refused;
    nvt_error_text(&pipeline->err, why, sizeof(why));
    pthread_mutex_unlock(&pipeline->lock);
    if (transport)
        transport->abandon(transport, bytes, why);
    /* Whoever waits for a message looks again. */
    for (int i = 0; i < pipeline->settings.partitions; i++) {
        pthread_mutex_lock(&pipeline->partitions[i].lock);
        pthread_cond_broadcast(&pipeline->partitions[i].arrived);
        pthread_mutex_unlock(&pipeline->partitions[i].lock);
    }
    return -1;
}

/* --- cuts ------------------------------------------------------------------------------------------------ */

/* How many parts of at most `limit` parameters are needed; cuts are filled as far as they go. */
static int parts_within(const struct nvt_module *modules, int count, int64_t limit, int parts,
                        int *cuts)
{
    int used = 0, size = 0;
    int64_t held = 0;
    for (int i = 0; i < count; i++) {
        /* Every part that is still to come needs a module. */
        int must_end =
            size && (held + modules[i].parameters > limit || count - i <= parts - used - 1);
        if (must_end) {
            if (used < parts)
                cuts[used] = size;
            used++;
            size = 0;
            held = 0;
        }
        size++;
        held += modules[i].parameters;
    }
    if (used < parts)
        cuts[used] = size;
    return used + 1;
}

static const int *published_cut(const struct nvt_module *modules, int count, int parts)
{
    static const int gpt2[][4] = {{16}, {8, 8}, {5, 3, 3, 5}};
    static const int resnet[][4] = {{56}, {33, 23}, {15, 13, 14, 14}};
    int row = parts == 1 ? 0 : parts == 2 ? 1 : parts == 4 ? 2 : -1;
    if (row < 0)
        return NULL;
    int has_words = modules[0].type && !strcmp(modules[0].type->name, "embedding");
    if (has_words)
        return count == 16 ? gpt2[row] : NULL;
    return count == NVT_RESNET_MODULES ? resnet[row] : NULL;
}

int nvt_pipeline_cut(const struct nvt_module *modules, int count, int parts, int *cuts)
{
    const int *published = published_cut(modules, count, parts);
    int64_t low = 0, high = 0;
    if (count < parts || parts < 1)
        return -1;
    if (published) {
        memcpy(cuts, published, (size_t)parts * sizeof(*cuts));
        return 0;
    }
    for (int i = 0; i < count; i++) {
        high += modules[i].parameters;
        if (modules[i].parameters > low)
            low = modules[i].parameters;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (parts_within(modules, count, middle, parts, cuts) <= parts)
            high = middle;
        else
            low = middle + 1;
    }
    parts_within(modules, count, low, parts, cuts);
    return 0;
}

/* --- setup ------------------------------------------------------------------------------------------------ */

static int check(const struct nvt_pipeline *pipeline, struct nvt_error *err)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    int count = 0, parts = settings->partitions * settings->chunks;
    if (settings->partitions < 1 || settings->partitions > NVT_PARTITIONS_MOST ||
        settings->chunks < 1 || parts > NVT_PARTS_MOST)
        return nvt_fail(err, "at most %d partitions, and %d parts", NVT_PARTITIONS_MOST,
                        NVT_PARTS_MOST);
    if (settings->batch < 1 || settings->batch % settings->microbatches)
        return nvt_fail(err, "a batch of %lld cannot be cut into %d micro-batches",
                        (long long)settings->batch, settings->microbatches);
    for (int i = 0; i < parts; i++)
        count += settings->cuts[i] > 0 ? settings->cuts[i] : NVT_MODULES_MOST + 1;
    if (count != pipeline->module_count)
        return nvt_fail(err, "the parts do not make the model");
    return 0;
}

static void make_parts(struct nvt_pipeline *pipeline)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    int first = 0;
    pipeline->part_count = settings->partitions * settings->chunks;
    for (int i = 0; i < pipeline->part_count; i++) {
        struct nvt_part *part = &pipeline->parts[i];
        struct nvt_partition *partition = &pipeline->partitions[i % settings->partitions];
        part->first = first;
        part->count = settings->cuts[i];
        first += part->count;
        for (int m = part->first; m < first; m++)
            partition->parameters += pipeline->modules[m].parameters;
    }
}

static int make_flows(struct nvt_pipeline *pipeline, struct nvt_error *err)
{
    size_t microbatches = (size_t)pipeline->settings.microbatches;
    for (int i = 0; i < pipeline->part_count; i++) {
        struct nvt_part *part = &pipeline->parts[i];
        if (!pipeline->partitions[i % pipeline->settings.partitions].is_here)
            continue;
        part->flows = (struct nvt_flow *)calloc(microbatches, sizeof(*part->flows));
        for (int way = 0; way < 2; way++)
            part->messages[way] =
                (struct nvt_message *)calloc(microbatches, sizeof(*part->messages[way]));
        if (pipeline->settings.transport && pipeline->settings.transport->send_device)
            for (int way = 0; way < 2; way++)
                part->sent[way] =
                    (struct nvt_message *)calloc(microbatches, sizeof(*part->sent[way]));
        if (!part->flows || !part->messages[0] || !part->messages[1])
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

/* Memory of `numbers` from a partition, zero; NULL with the pipeline failed. */
static void *take_zero(struct nvt_partition *partition, size_t bytes)
{
    void *block = nvt_allocator_take(partition->allocator, bytes);
    if (block)
        nvt_backend_zero(block, bytes);
    else
        nvt_pipeline_fail(partition->pipeline, bytes, NULL);
    return block;
}

/* Weights, gradients and momentum of all modules of a partition, one behind the other. */
static int make_weights(struct nvt_partition *partition)
{
    struct nvt_pipeline *pipeline = partition->pipeline;
    size_t bytes = (size_t)(partition->parameters ? partition->parameters : 1) * sizeof(real);
    int64_t at = 0;
    partition->w = (real *)take_zero(partition, bytes);
    partition->weight_bytes = nvt_allocator_use(partition->allocator).reserved;
    partition->g = (real *)take_zero(partition, bytes);
    partition->momentum = (real *)take_zero(partition, bytes);
    if (!partition->w || !partition->g || !partition->momentum)
        return -1;
    for (int i = partition->index; i < pipeline->part_count; i += pipeline->settings.partitions)
        for (int m = 0; m < pipeline->parts[i].count; m++) {
            struct nvt_module *module = &pipeline->modules[pipeline->parts[i].first + m];
            module->w = partition->w + at;
            module->g = partition->g + at;
            at += module->parameters;
            if (module->type->init)
                module->type->init(module, pipeline->settings.seed);
        }
    return 0;
}

int nvt_partition_enter(const struct nvt_partition *partition)
{
    return nvt_backend_use_device(partition->device);
}

/* The partition is here; its memory, on its device. */
static int make_partition(struct nvt_partition *partition, struct nvt_error *err)
{
    struct nvt_pipeline *pipeline = partition->pipeline;
    if (nvt_partition_enter(partition))
        return nvt_backend_failed(err);
    partition->allocator = nvt_allocator_new(pipeline->settings.memory_limit);
    partition->inbox = nvt_allocator_new(pipeline->settings.memory_limit);
    if (!partition->allocator || !partition->inbox)
        return nvt_fail(err, "out of memory");
    return make_weights(partition);
}

static int make_data(struct nvt_pipeline *pipeline, int64_t tokens)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    struct nvt_partition *first = &pipeline->partitions[0];
    struct nvt_partition *last = &pipeline->partitions[settings->partitions - 1];
    int64_t numbers = settings->batch * pipeline->modules[0].in,
            rows = settings->batch * settings->rows;
    pipeline->input_bytes =
        (size_t)pipeline->modules[0].in * (tokens ? sizeof(int32_t) : sizeof(real));
    if (first->is_here) {
        nvt_partition_enter(first);
        pipeline->inputs =
            (real *)take_zero(first, (size_t)settings->batch * pipeline->input_bytes);
        if (!pipeline->inputs)
            return -1;
        if (tokens)
            nvt_random_tokens((void *)pipeline->inputs, numbers, (int32_t)tokens, settings->seed,
                              STREAM_INPUTS);
        else
            nvt_random_normal(pipeline->inputs, numbers, settings->seed, STREAM_INPUTS, 1);
    }
    if (last->is_here) {
        nvt_partition_enter(last);
        pipeline->targets = (int32_t *)take_zero(last, (size_t)rows * sizeof(int32_t));
        pipeline->losses = (real *)take_zero(last, (size_t)rows * sizeof(real));
        pipeline->sums = (real *)take_zero(last, (size_t)rows * sizeof(real));
        if (!pipeline->targets || !pipeline->losses || !pipeline->sums)
            return -1;
        nvt_random_tokens(pipeline->targets, rows, (int32_t)settings->classes, settings->seed,
                          STREAM_TARGETS);
    }
    return 0;
}

static int setup(struct nvt_pipeline *pipeline, int64_t tokens, struct nvt_error *err)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    if (check(pipeline, err) ||
        nvt_schedule_make(settings->schedule, settings->partitions, settings->microbatches,
                          settings->chunks, &pipeline->order, err))
        return -1;
    make_parts(pipeline);
    if (make_flows(pipeline, err))
        return -1;
    for (int i = 0; i < settings->partitions; i++)
        if (pipeline->partitions[i].is_here && make_partition(&pipeline->partitions[i], err))
            return -1;
    if (make_data(pipeline, tokens))
        return -1;
    nvt_backend_sync();
    if (nvt_message_channels(pipeline, err))
        return -1;
    return settings->has_workers ? nvt_workers_start(pipeline, err) : 0;
}

/* Ranks that share a host have a device each, whatever else they could see. */
static int devices_of(const struct nvt_pipeline_settings *settings)
{
    const int most = nvt_backend_devices();
    if (settings->transport)
        return 1;
    return settings->devices > 0 && settings->devices < most ? settings->devices : most;
}

int nvt_pipeline_setup(struct nvt_pipeline *pipeline, const struct nvt_pipeline_settings *settings,
                       int64_t tokens, struct nvt_error *err)
{
    char text[512];
    const struct nvt_transport *transport = settings->transport;
    const int devices = devices_of(settings);
    pipeline->settings = *settings;
    pthread_mutex_init(&pipeline->lock, NULL);
    pthread_cond_init(&pipeline->changed, NULL);
    for (int i = 0; i < NVT_PARTITIONS_MOST; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i];
        partition->pipeline = pipeline;
        partition->index = i;
        partition->is_here = !transport || i % transport->size == transport->rank;
        partition->device = i % devices;
        pthread_mutex_init(&partition->lock, NULL);
        pthread_cond_init(&partition->arrived, NULL);
    }
    if (!setup(pipeline, tokens, err))
        return 0;
    if (pipeline->failed)
        nvt_fail(err, "%s", nvt_error_text(&pipeline->err, text, sizeof(text)));
    return -1;
}

void nvt_pipeline_teardown(struct nvt_pipeline *pipeline)
{
    nvt_workers_stop(pipeline);
    nvt_backend_sync();
    for (int i = 0; i < NVT_PARTITIONS_MOST; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i];
        nvt_allocator_free(partition->allocator);
        nvt_allocator_free(partition->inbox);
        pthread_mutex_destroy(&partition->lock);
        pthread_cond_destroy(&partition->arrived);
    }
    for (int i = 0; i < pipeline->part_count; i++) {
        struct nvt_part *part = &pipeline->parts[i];
        for (int way = 0; way < 2; way++) {
            free(part->messages[way]);
            free(part->sent[way]);
        }
        free(part->flows);
    }
    nvt_schedule_free(&pipeline->order);
    pthread_mutex_destroy(&pipeline->lock);
    pthread_cond_destroy(&pipeline->changed);
}

/* --- a step ------------------------------------------------------------------------------------------- */

static void end_messages(struct nvt_pipeline *pipeline, struct nvt_message *messages,
                         struct nvt_partition *partition)
{
    for (int i = 0; messages && i < pipeline->settings.microbatches; i++) {
        struct nvt_message *message = &messages[i];
        nvt_allocator_give(partition->inbox, message->data);
        nvt_backend_free_event(message->event);
        message->data = NULL;
        message->event = NULL;
        message->is_ready = 0;
    }
}

void nvt_pipeline_end_step(struct nvt_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->part_count; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i % pipeline->settings.partitions];
        for (int way = 0; way < 2 && partition->is_here; way++) {
            end_messages(pipeline, pipeline->parts[i].messages[way], partition);
            end_messages(pipeline, pipeline->parts[i].sent[way], partition);
        }
    }
    pipeline->iteration++;
}

void nvt_pipeline_optimize(struct nvt_pipeline *pipeline)
{
    static const struct nvt_sgd sgd = {(real)0.01, (real)0.9, (real)1e-4, 1};
    for (int i = 0; i < pipeline->settings.partitions; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i];
        if (!partition->is_here || !partition->parameters)
            continue;
        nvt_partition_enter(partition);
        nvt_sgd_step(partition->w, partition->g, partition->momentum, partition->parameters, &sgd);
        nvt_fill(partition->g, partition->parameters, 0);
    }
}

/* Sums in double and in the order of the rows: the same however the model is cut. */
double nvt_pipeline_loss(struct nvt_pipeline *pipeline)
{
    const struct nvt_pipeline_settings *settings = &pipeline->settings;
    struct nvt_error err = NVT_ERROR_INIT;
    int64_t rows = settings->batch * settings->rows;
    double sum = 0;
    if (pipeline->losses) {
        real *losses = (real *)malloc((size_t)rows * sizeof(real));
        if (!losses)
            return NAN;
        nvt_backend_sync();
        nvt_partition_enter(&pipeline->partitions[settings->partitions - 1]);
        nvt_backend_to_host(losses, pipeline->losses, (size_t)rows * sizeof(real));
        for (int64_t i = 0; i < rows; i++)
            sum += (double)losses[i];
        free(losses);
    }
    if (settings->transport && settings->transport->sum(settings->transport, &sum, 1, &err))
        return NAN;
    return sum / (double)rows;
}

int nvt_pipeline_devices(const struct nvt_pipeline *pipeline)
{
    int count = 0;
    for (int i = 0; i < pipeline->settings.partitions; i++)
        if (pipeline->partitions[i].is_here && pipeline->partitions[i].device >= count)
            count = pipeline->partitions[i].device + 1;
    return count;
}

struct nvt_memory_use nvt_partition_memory(struct nvt_partition *partition)
{
    struct nvt_memory_use use = nvt_allocator_use(partition->allocator);
    pthread_mutex_lock(&partition->lock);
    struct nvt_memory_use inbox = nvt_allocator_use(partition->inbox);
    pthread_mutex_unlock(&partition->lock);
    use.allocated += inbox.allocated;
    use.reserved += inbox.reserved;
    use.peak_allocated += inbox.peak_allocated;
    use.peak_reserved += inbox.peak_reserved;
    return use;
}

void nvt_pipeline_reset_peaks(struct nvt_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->settings.partitions; i++) {
        if (!pipeline->partitions[i].is_here)
            continue;
        nvt_allocator_reset_peak(pipeline->partitions[i].allocator);
        nvt_allocator_reset_peak(pipeline->partitions[i].inbox);
    }
}

int64_t nvt_pipeline_parameters(const struct nvt_pipeline *pipeline)
{
    int64_t sum = 0;
    for (int i = 0; i < pipeline->module_count; i++)
        sum += pipeline->modules[i].parameters;
    return sum;
}
