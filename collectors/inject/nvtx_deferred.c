#include "nvtx_deferred.h"

#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <string.h>

#include "definition.h"
#include "events.h"
#include "nvtx_time.h"

/* Bytes that are read of a message in the payload. */
#define MESSAGE_MOST 256

/* Fields of an entry's flags: they are numbers, not single bits. */
#define FLAG_EVENT(flags) ((flags) & (3u << 12 | 4u << 12))
#define FLAG_FIELD(flags) ((flags) & (3u << 10))

void nvt_schema_event_init(struct nvt_schema_event *event)
{
    *event = (struct nvt_schema_event){.begin = NVT_NOWHERE,
                                       .end = NVT_NOWHERE,
                                       .moment = NVT_NOWHERE,
                                       .message = NVT_NOWHERE,
                                       .category = NVT_NOWHERE,
                                       .color = NVT_NOWHERE,
                                       .time_domain = NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED};
}

static void note_time(struct nvt_schema_event *event, const nvtxPayloadSchemaEntry_t *entry,
                      uint64_t at)
{
    const nvtxSemanticsTime_t *time = (const nvtxSemanticsTime_t *)nvt_semantics_find(
        entry->semantics, NVTX_SEMANTIC_ID_TIME_V1, sizeof(nvtxSemanticsTime_t));
    uint64_t *place = &event->moment;
    if (FLAG_EVENT(entry->flags) == NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN)
        place = &event->begin;
    else if (FLAG_EVENT(entry->flags) == NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END)
        place = &event->end;
    else if (FLAG_EVENT(entry->flags) == NVTX_PAYLOAD_ENTRY_FLAG_COUNTER)
        return;
    if (*place == NVT_NOWHERE)
        *place = at;
    if (time)
        event->time_domain = time->timeDomainId;
}

void nvt_schema_event_note(struct nvt_schema_event *event, const nvtxPayloadSchemaEntry_t *entry,
                           uint64_t at, size_t size)
{
    if (FLAG_FIELD(entry->flags) == NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP && size == sizeof(int64_t))
        note_time(event, entry, at);
    else if (FLAG_FIELD(entry->flags) == NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) {
        event->message = at;
        event->message_type = entry->type;
        event->message_length = entry->arrayOrUnionDetail;
    } else if (entry->type == NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY)
        event->category = at;
    else if (entry->type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB)
        event->color = at;
}

/* An event in the making. */
struct deferred {
    nvtxEventAttributes_t attributes;
    int64_t begin, end;
    int has_begin, has_end, is_mark, clock;
    char message[MESSAGE_MOST];
};

/* Bytes at an offset of a payload. Whether they are there. */
static int read_at(const nvtxPayloadData_t *payload, size_t size, uint64_t at, void *out,
                   size_t bytes)
{
    if (at == NVT_NOWHERE || at > size || size - at < bytes)
        return 0;
    memcpy(out, (const char *)payload->payload + at, bytes);
    return 1;
}

static void read_message(struct deferred *deferred, const struct nvt_schema_event *event,
                         const nvtxPayloadData_t *payload, size_t size)
{
    nvtxEventAttributes_t *attributes = &deferred->attributes;
    const void *pointer = NULL;
    size_t length =
        event->message_length < MESSAGE_MOST - 1 ? (size_t)event->message_length : MESSAGE_MOST - 1;
    const int is_text = event->message_type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING ||
                        event->message_type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
    if (is_text && length && read_at(payload, size, event->message, deferred->message, length)) {
        deferred->message[length] = 0;
        attributes->messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes->message.ascii = deferred->message;
    } else if (is_text && !length &&
               read_at(payload, size, event->message, &pointer, sizeof(pointer))) {
        attributes->messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes->message.ascii = pointer;
    } else if (event->message_type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE &&
               read_at(payload, size, event->message, &pointer, sizeof(pointer))) {
        attributes->messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        attributes->message.registered = (nvtxStringHandle_t)(uintptr_t)pointer;
    }
}

static void read_payload(struct deferred *deferred, const struct nvt_schema_event *event,
                         const nvtxPayloadData_t *payload, size_t size)
{
    nvtxEventAttributes_t *attributes = &deferred->attributes;
    int64_t moment;
    const int has_begin = read_at(payload, size, event->begin, &deferred->begin, sizeof(int64_t)),
              has_end = read_at(payload, size, event->end, &deferred->end, sizeof(int64_t));
    if (!has_begin && !deferred->has_begin &&
        read_at(payload, size, event->moment, &moment, sizeof(moment))) {
        deferred->begin = moment;
        deferred->is_mark = 1;
    }
    deferred->has_begin |= has_begin;
    deferred->has_end |= has_end;
    if (has_begin || deferred->is_mark)
        deferred->clock = nvt_time_convert(event->time_domain, &deferred->begin);
    if (has_end)
        deferred->clock = nvt_time_convert(event->time_domain, &deferred->end);
    read_message(deferred, event, payload, size);
    read_at(payload, size, event->category, &attributes->category, sizeof(uint32_t));
    if (read_at(payload, size, event->color, &attributes->color, sizeof(uint32_t)))
        attributes->colorType = NVTX_COLOR_ARGB;
}

static void record(nvtxDomainHandle_t domain, struct deferred *deferred,
                   const nvtxPayloadData_t *payloads, size_t count)
{
    const int is_range = deferred->has_begin && deferred->has_end;
    const struct nvt_ring_sample sample = {is_range ? NVT_SAMPLE_OF_RANGE : NVT_SAMPLE_OF_MARK,
                                           deferred->begin};
    if ((!is_range && (deferred->has_begin || !deferred->is_mark)) || deferred->clock < 0) {
        nvt_thread_drop(nvt_thread_get(), 1);
        return;
    }
    deferred->attributes.payloadType = is_range ? NVTX_PAYLOAD_TYPE_INT64 : NVTX_PAYLOAD_UNKNOWN;
    deferred->attributes.payload.llValue = deferred->end;
    const struct nvt_event event = {.kind = NVT_EVENT_MARK,
                                    .domain = domain,
                                    .attributes = &deferred->attributes,
                                    .payloads = payloads,
                                    .payload_count = count,
                                    .sample = &sample,
                                    .clock = (enum nvt_sample_clock)deferred->clock};
    nvt_event_mark(&event);
}

void nvt_deferred_submit(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    struct deferred deferred;
    memset(&deferred, 0, sizeof(deferred));
    deferred.attributes.version = NVTX_VERSION;
    deferred.attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    for (size_t i = 0; payloads && i < count; i++) {
        size_t size;
        const struct nvt_schema_event *event =
            nvt_schema_event(domain, payloads[i].schemaId, &size);
        if (!event || !payloads[i].payload)
            continue;
        if (payloads[i].size != SIZE_MAX)
            size = payloads[i].size;
        read_payload(&deferred, event, &payloads[i], size);
    }
    record(domain, &deferred, payloads, count);
}

void nvt_deferred_submit_batch(nvtxDomainHandle_t domain, const nvtxEventBatch_t *batch)
{
    size_t size = 0;
    if (!batch || !batch->events || !nvt_schema_event(domain, batch->eventSchemaId, &size) ||
        !size) {
        nvt_thread_drop(nvt_thread_get(), 1);
        return;
    }
    for (size_t at = 0; batch->size - at >= size; at += size) {
        const nvtxPayloadData_t payload = {batch->eventSchemaId, size,
                                           (const char *)batch->events + at};
        nvt_deferred_submit(domain, &payload, 1);
    }
}
