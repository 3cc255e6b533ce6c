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

/* --- streams and channels --- */

/* Each partition has one stream to compute on and four for messages: those that it sends and receives,
 * forward and backward, must not wait for each other. */
enum { COMPUTE, SEND, RECEIVE = SEND + 2 };
#if NVT_STREAMS_MOST < 5 * NVT_PARTITIONS_MOST + 1
#error "there are too few streams"
#endif

static int stream_of(const struct nvt_partition *partition, int which)
{
    return 1 + (which * NVT_PARTITIONS_MOST + partition->index) % (NVT_STREAMS_MOST - 1);
}

int nvt_partition_stream(const struct nvt_partition *partition)
{
    return stream_of(partition, COMPUTE);
}

/* Of what comes into a part. */
static int channel_of(int part, int is_backward)
{
    return part * 2 + is_backward;
}

/* Where it comes from. */
static struct nvt_partition *sender_of(struct nvt_pipeline *pipeline, int part, int is_backward)
{
    int partitions = pipeline->settings.partitions, from = part + (is_backward ? 1 : -1);
    return &pipeline->partitions[(from + partitions) % partitions];
}

#define FIRST_BYTES ((size_t)512)

/*
 * NCCL connects two ranks at their first message. Their hosts wait for each other then, and may wait for what their
 * devices still have to do, which can be a message that the other rank takes only later. So each channel has its first
 * message now, one after the other on all ranks, while nothing else is under way.
 */
static int connect_channels(struct nvt_transport *transport, const struct nvt_channel *channels,
                            int count, struct nvt_error *err)
{
    void *memory = nvt_backend_alloc(0, FIRST_BYTES), *stream = nvt_backend_stream_handle();
    int status = 0;
    if (!memory)
        return nvt_fail(err, "out of memory");
    nvt_backend_zero(memory, FIRST_BYTES);
    for (int i = 0; i < count && !status; i++) {
        int sends = channels[i].from == transport->rank, takes = channels[i].to == transport->rank;
        if (sends && !takes)
            status = transport->send_device(transport, i, memory, FIRST_BYTES, stream, err);
        else if (takes && !sends)
            status = transport->receive_device(transport, i, memory, FIRST_BYTES, stream, err);
        if (sends != takes)
            nvt_backend_sync();
    }
    if (!status && transport->check)
        status = transport->check(transport, err);
    nvt_backend_free(0, memory);
    return status;
}

int nvt_message_channels(struct nvt_pipeline *pipeline, struct nvt_error *err)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_channel channels[2 * NVT_PARTS_MOST];
    if (!transport || !transport->open_channels)
        return 0;
    for (int part = 0; part < pipeline->part_count; part++)
        for (int way = 0; way < 2; way++) {
            /* Into the first part comes nothing from before, into the last nothing from behind. */
            int is_end = way ? part == pipeline->part_count - 1 : part == 0;
            int to = rank_of(pipeline, part % pipeline->settings.partitions);
            int from = is_end ? to : rank_of(pipeline, sender_of(pipeline, part, way)->index);
            channels[channel_of(part, way)] = (struct nvt_channel){from, to};
        }
    int count = 2 * pipeline->part_count;
    return transport->open_channels(transport, channels, count, err) ||
                   connect_channels(transport, channels, count, err)
               ? -1
               : 0;
}

/* --- sending --- */

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

/* The copy is sent on a stream of its own, so that the partition goes on; it stays until the step's end. */
static int send_device(struct nvt_pipeline *pipeline, int to_part, int is_backward, int microbatch,
                       const real *data, int64_t count)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_partition *from = sender_of(pipeline, to_part, is_backward);
    struct nvt_message *sent =
        &pipeline->parts[to_part + (is_backward ? 1 : -1)].sent[is_backward][microbatch];
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    sent->data = take_block(from, count);
    if (!sent->data)
        return -1;
    nvt_copy(sent->data, data, count);
    sent->event = nvt_backend_event();
    nvt_backend_use_stream(stream_of(from, SEND + is_backward));
    nvt_backend_wait_event(sent->event);
    int status =
        transport->send_device(transport, channel_of(to_part, is_backward), sent->data,
                               (size_t)count * sizeof(real), nvt_backend_stream_handle(), &err);
    nvt_backend_use_stream(nvt_partition_stream(from));
    return status ? nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text))) : 0;
}

/* Within this process: by the transport, where it has a way for that, or from device to device, or by a kernel. This
 * thread's stream is the sender's. */
static int copy_here(struct nvt_pipeline *pipeline, int device, real *block, const real *data,
                     int64_t count)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    if (device != nvt_backend_device()) {
        nvt_backend_copy_to(device, block, data, (size_t)count * sizeof(real));
        return 0;
    }
    if (!transport || !transport->copy_device) {
        nvt_copy(block, data, count);
        return 0;
    }
    if (!transport->copy_device(transport, block, data, (size_t)count * sizeof(real),
                                nvt_backend_stream_handle(), &err))
        return 0;
    return nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text)));
}

int nvt_message_send(struct nvt_pipeline *pipeline, int to_part, int is_backward, int microbatch,
                     const real *data, int64_t count)
{
    struct nvt_partition *to = &pipeline->partitions[to_part % pipeline->settings.partitions];
    struct nvt_message *message = message_of(pipeline, to_part, is_backward, microbatch);
    if (!to->is_here && pipeline->settings.transport->send_device)
        return send_device(pipeline, to_part, is_backward, microbatch, data, count);
    if (!to->is_here)
        return send_far(pipeline, to->index, tag_of(pipeline, to_part, is_backward, microbatch),
                        data, count);
    real *block = take_block(to, count);
    if (!block || copy_here(pipeline, to->device, block, data, count))
        return -1;
    void *event = nvt_backend_event();
    pthread_mutex_lock(&to->lock);
    message->data = block;
    message->event = event;
    message->is_ready = 1;
    pthread_cond_broadcast(&to->arrived);
    pthread_mutex_unlock(&to->lock);
    return 0;
}

/* --- receiving --- */

static const real *receive_device(struct nvt_pipeline *pipeline, int part, int is_backward,
                                  int microbatch, int64_t count)
{
    struct nvt_transport *transport = pipeline->settings.transport;
    struct nvt_partition *here = &pipeline->partitions[part % pipeline->settings.partitions];
    struct nvt_message *message = message_of(pipeline, part, is_backward, microbatch);
    struct nvt_error err = NVT_ERROR_INIT;
    char text[512];
    message->data = take_block(here, count);
    if (!message->data)
        return NULL;
    nvt_backend_use_stream(stream_of(here, RECEIVE + is_backward));
    int status =
        transport->receive_device(transport, channel_of(part, is_backward), message->data,
                                  (size_t)count * sizeof(real), nvt_backend_stream_handle(), &err);
    message->event = nvt_backend_event();
    nvt_backend_use_stream(nvt_partition_stream(here));
    nvt_backend_wait_event(message->event);
    if (!status)
        return message->data;
    nvt_pipeline_fail(pipeline, 0, nvt_error_text(&err, text, sizeof(text)));
    return NULL;
}

static const real *receive_far(struct nvt_pipeline *pipeline, int part, int is_backward,
                               int microbatch, int64_t count)
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

const real *nvt_message_receive(struct nvt_pipeline *pipeline, int part, int is_backward,
                                int microbatch, int64_t count)
{
    int partitions = pipeline->settings.partitions;
    struct nvt_partition *here = &pipeline->partitions[part % partitions];
    int from = (part + (is_backward ? 1 : -1)) % partitions;
    struct nvt_message *message = message_of(pipeline, part, is_backward, microbatch);
    if (!pipeline->partitions[from].is_here && pipeline->settings.transport->receive_device)
        return receive_device(pipeline, part, is_backward, microbatch, count);
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
