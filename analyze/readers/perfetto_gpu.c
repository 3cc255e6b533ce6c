/* Render stages: what a GPU's queues did, as drivers of GPUs tell Perfetto. */
#include "perfetto.h"
#include "../../lib/count_of.h"

#include <string.h>

struct stage {
    uint64_t duration, queue_iid, stage_iid, context, submission, name_iid;
    int64_t gpu, queue;
    int has_queue;
    uint32_t name;
};

static void take_number(struct stage *stage, const struct nvt_wire_field *field)
{
    switch (field->number) {
    case 2:
        stage->duration = field->value;
        return;
    case 3:
        stage->queue = (int32_t)field->value;
        stage->has_queue = 1;
        return;
    case 5:
        stage->context = field->value;
        return;
    case 10:
        stage->submission = field->value;
        return;
    case 11:
        stage->gpu = (int32_t)field->value;
        return;
    case 13:
        stage->queue_iid = field->value;
        return;
    case 14:
        stage->stage_iid = field->value;
        return;
    case 20:
        stage->name_iid = field->value;
        return;
    default:
        return;
    }
}

static int take_stage(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                      struct nvt_wire wire, struct stage *stage)
{
    struct nvt_wire_field field;
    while (nvt_wire_next(&wire, &field) > 0) {
        if (field.type == NVT_WIRE_VARINT)
            take_number(stage, &field);
        else if (field.number == 17 && field.type == NVT_WIRE_BYTES)
            stage->name = nvt_perfetto_text(reader, &field);
    }
    if (!stage->name && stage->name_iid)
        stage->name = nvt_perfetto_interned(reader, packet, NVT_PI_NAME, stage->name_iid);
    if (!stage->name && stage->stage_iid)
        stage->name = nvt_perfetto_interned(reader, packet, NVT_PI_STAGE, stage->stage_iid);
    return stage->name == NVT_NO_STRING ? -1 : 0;
}

/* The process and interface of a stage's context, where that is known. 0, or -1 when out of memory. */
static int take_context(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                        uint64_t iid)
{
    static const char *const backends[] = {NULL, "opengl", "vulkan", "opencl", "cuda", "hip"};
    if (!iid)
        return 0;
    const uint32_t context = nvt_perfetto_interned(reader, packet, NVT_PI_GRAPHICS, iid);
    if (context == NVT_NO_STRING)
        return -1;
    if (context & 0xffffff)
        nvt_kineto_set(&reader->kineto.event, NVT_KN_PROCESS, context & 0xffffff);
    if (context >> 24 < NVT_COUNT_OF(backends) && backends[context >> 24])
        reader->kineto.backend = backends[context >> 24];
    return 0;
}

int nvt_perfetto_stage(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       struct nvt_wire wire)
{
    struct nvt_kineto *kineto = &reader->kineto;
    struct nvt_kineto_event *event = &kineto->event;
    struct stage stage = {0};
    memset(event, 0, sizeof(*event));
    event->id = NVT_NO_STRING;
    if (take_stage(reader, packet, wire, &stage) || take_context(reader, packet, stage.context))
        return nvt_kineto_no_memory(kineto);
    event->has_time = packet->time != INT64_MIN;
    event->time = packet->time;
    if (!event->has_time || stage.duration > (uint64_t)INT64_MAX / 4) {
        kineto->mistimed++;
        return 0;
    }
    event->phase = 'X';
    event->has_duration = 1;
    event->duration = (int64_t)stage.duration;
    event->name = stage.name;
    event->category = nvt_strings_add_text(kineto->trace->strings, "kernel");
    event->pid = -1;
    nvt_kineto_set(event, NVT_KN_DEVICE, stage.gpu);
    nvt_kineto_set(event, NVT_KN_STREAM,
                   stage.has_queue ? stage.queue : (int64_t)(stage.queue_iid & INT32_MAX));
    nvt_kineto_set(event, NVT_KN_CORRELATION, (int64_t)stage.submission);
    kineto->events++;
    return event->category == NVT_NO_STRING ? nvt_kineto_no_memory(kineto) : nvt_kineto_add(kineto);
}
