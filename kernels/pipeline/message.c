/*
 * Messages between parts: activations forward, gradients backward.
 */
#include <stdlib.h>
#include <string.h>

#include "../ops/vector.h"
#include "pipeline.h"

static struct nvt_message *message_of(struct nvt_pipeline *pipeline, int part, int is_backward,
                                      int microbatch)
{
    return &pipeline->parts[part].messages[is_backward][microbatch];
}

static int rank_of(const struct nvt_pipeline *pipeline, int partition)
{
    return partition % pipeline->settings.transport->size;
}

static int tag_of(const struct nvt_pipeline *pipeline, int part, int is_backward, int microbatch)
{
    return (part * 2 + is_backward) * pipeline->settings.microbatches + microbatch;
}

static real *take_block(struct nvt_partition *partition, int64_t count)
{
    pthread_mutex_lock(&partition->lock);
    real *block = (real *)nvt_allocator_take(partition->inbox, (size_t)count * sizeof(real));
    pthread_mutex_unlock(&partition->lock);
    if (!block)
        nvt_pipeline_fail(partition->pipeline, (uint64_t)count * sizeof(real), NULL);
    return block;
}

static int send_far(struct nvt_pipeline *pipeline, int partition, int tag, const real *data,
                    int64_t count)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    size_t bytes = (size_t)count * sizeof(real);
    void *copy = malloc(bytes);
    if (!copy)
        return nvt_pipeline_fail(pipeline, 0, "out of memory");
    nvt_backend_to_host(copy, data, bytes);
    if (!transport->send(transport, rank_of(pipeline, partition), tag, copy, bytes, &err))
        return 0;
    return nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text)));
}

int nvt_message_send(struct nvt_pipeline *pipeline, int to_part, int is_backward, int microbatch,
                     const real *data, int64_t count)
{
    struct nvt_partition *to = &pipeline->partitions[to_part % pipeline->settings.partitions];
    struct nvt_message *message = message_of(pipeline, to_part, is_backward, microbatch);
    if (!to->is_here)
        return send_far(pipeline, to->index, tag_of(pipeline, to_part, is_backward, microbatch), data,
                        count);
    real *block = take_block(to, count);
    if (!block)
        return -1;
    nvt_copy(block, data, count);
    void *event = nvt_backend_event();
    pthread_mutex_lock(&to->lock);
    message->data = block;
    message->event = event;
    message->is_ready = 1;
    pthread_cond_broadcast(&to->arrived);
    pthread_mutex_unlock(&to->lock);
    return 0;
}

static const real *receive_far(struct nvt_pipeline *pipeline, int part, int is_backward, int microbatch,
                               int64_t count)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_partition *here = &pipeline->partitions[part % pipeline->settings.partitions];
    struct nvt_message *message = message_of(pipeline, part, is_backward, microbatch);
    int before = part % pipeline->settings.partitions + (is_backward ? 1 : -1);
    int from = (before + pipeline->settings.partitions) % pipeline->settings.partitions;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    size_t bytes = (size_t)count * sizeof(real);
    message->data = take_block(here, count);
    if (!message->data)
        return NULL;
    void *copy = malloc(bytes);
    if (!copy) {
        nvt_pipeline_fail(pipeline, 0, "out of memory");
        return NULL;
    }
    int status = transport->receive(transport, rank_of(pipeline, from),
                                    tag_of(pipeline, part, is_backward, microbatch), copy, bytes,
                                    &pipeline->failed, &err);
    if (!status)
        nvt_backend_to_device(message->data, copy, bytes);
    else
        nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text)));
    free(copy);
    return status ? NULL : message->data;
}

const real *nvt_message_receive(struct nvt_pipeline *pipeline, int part, int is_backward, int microbatch,
                                int64_t count)
{
    int partitions = pipeline->settings.partitions;
    struct nvt_partition *here = &pipeline->partitions[part % partitions];
    int from = (part + (is_backward ? 1 : -1)) % partitions;
    struct nvt_message *message = message_of(pipeline, part, is_backward, microbatch);
    if (!pipeline->partitions[from].is_here)
        return receive_far(pipeline, part, is_backward, microbatch, count);
    pthread_mutex_lock(&here->lock);
    while (!message->is_ready && !pipeline->failed)
        pthread_cond_wait(&here->arrived, &here->lock);
    int is_ready = message->is_ready;
    pthread_mutex_unlock(&here->lock);
    if (!is_ready)
        return NULL;
    nvt_backend_wait_event(message->event);
    return message->data;
}
