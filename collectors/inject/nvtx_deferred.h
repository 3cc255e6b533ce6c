/*
 * NVTX's deferred events: ranges and marks that a program hands over when they are past, each as a payload whose schema says
 * which entry is the begin, the end, the message.
 */
#ifndef NVT_INJECT_NVTX_DEFERRED_H
#define NVT_INJECT_NVTX_DEFERRED_H

#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <stdint.h>

#define NVT_NOWHERE UINT64_MAX

/* Where an event of a schema has what: bytes from its begin, NVT_NOWHERE: it has none. Times have 8 bytes. */
struct nvt_schema_event {
    uint64_t begin, end, moment;
    uint64_t message, message_type; /* NVTX_PAYLOAD_ENTRY_TYPE_… */
    uint64_t message_length; /* of a text that lies in the payload; 0: there is a pointer to it */
    uint64_t category, color;
    uint64_t time_domain;
};

void nvt_schema_event_init(struct nvt_schema_event *event);

/* An entry of so many bytes that lies there. */
void nvt_schema_event_note(struct nvt_schema_event *event, const nvtxPayloadSchemaEntry_t *entry,
                           uint64_t at, size_t size);

/* nvtx_payload.c: that of a schema, and the bytes of its payloads. NULL: the schema is unknown. */
const struct nvt_schema_event *nvt_schema_event(nvtxDomainHandle_t domain, uint64_t id,
                                                size_t *size);

/* nvtxEventSubmit, nvtxEventBatchSubmit. What has no time, or one of an unknown clock, is counted as lost. */
void nvt_deferred_submit(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads,
                         size_t count);
void nvt_deferred_submit_batch(nvtxDomainHandle_t domain, const nvtxEventBatch_t *batch);

#endif
