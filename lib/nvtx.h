/*
 * Helpers for programs that annotate themselves with NVTX: ranges of one domain with registered names,
 * and a payload of the work that a range stands for. Header-only, as NVTX is.
 */
#ifndef NVT_NVTX_H
#define NVT_NVTX_H

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <string.h>

#include "count_of.h"

/* What a phase computes: floating-point operations, and bytes that it must move. */
struct nvt_work_payload {
    uint64_t flops;
    uint64_t bytes;
};

struct nvt_nvtx {
    nvtxDomainHandle_t domain;
    uint64_t work_schema;
    int silent;                    /* the helpers below do nothing */
    int mute;                      /* they do all they do but the call of NVTX itself */
    void (*boundary)(void *owner); /* called before a range opens or closes; may be NULL */
    void *owner;
};

/* Register a payload of fixed size, described by its entries. */
static inline uint64_t nvt_nvtx_schema(nvtxDomainHandle_t domain, const char *name,
                                       const nvtxPayloadSchemaEntry_t *entries, size_t count,
                                       size_t size)
{
    nvtxPayloadSchemaAttr_t attr;
    memset(&attr, 0, sizeof(attr));
    attr.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attr.name = name;
    attr.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attr.entries = entries;
    attr.numEntries = count;
    attr.payloadStaticSize = size;
    return nvtxPayloadSchemaRegister(domain, &attr);
}

/* The domain of this name, with the schema {"flops": …, "bytes": …}. */
static inline struct nvt_nvtx nvt_nvtx_open(const char *domain)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "flops", NULL, 0,
         offsetof(struct nvt_work_payload, flops), NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", NULL, 0,
         offsetof(struct nvt_work_payload, bytes), NULL, NULL},
    };
    struct nvt_nvtx nvtx;
    memset(&nvtx, 0, sizeof(nvtx));
    nvtx.domain = nvtxDomainCreateA(domain);
    nvtx.work_schema = nvt_nvtx_schema(nvtx.domain, "work", entries, NVT_COUNT_OF(entries),
                                       sizeof(struct nvt_work_payload));
    return nvtx;
}

static inline nvtxStringHandle_t nvt_nvtx_name(const struct nvt_nvtx *nvtx, const char *name)
{
    return nvtxDomainRegisterStringA(nvtx->domain, name);
}

static inline nvtxEventAttributes_t nvt_nvtx_attributes(nvtxStringHandle_t name)
{
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = name;
    return attributes;
}

static inline void nvt_nvtx_boundary(const struct nvt_nvtx *nvtx)
{
    if (nvtx->boundary)
        nvtx->boundary(nvtx->owner);
}

/* Open a range. */
static inline void nvt_nvtx_push(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name)
{
    if (nvtx->silent)
        return;
    nvt_nvtx_boundary(nvtx);
    nvtxEventAttributes_t attributes = nvt_nvtx_attributes(name);
    if (!nvtx->mute)
        nvtxDomainRangePushEx(nvtx->domain, &attributes);
}

/* Open a range with a number. */
static inline void nvt_nvtx_push_number(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name,
                                        uint64_t number)
{
    if (nvtx->silent)
        return;
    nvt_nvtx_boundary(nvtx);
    nvtxEventAttributes_t attributes = nvt_nvtx_attributes(name);
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = number;
    if (!nvtx->mute)
        nvtxDomainRangePushEx(nvtx->domain, &attributes);
}

/* The attributes of an event with a payload of a schema; *data must live until the event was sent. */
static inline nvtxEventAttributes_t nvt_nvtx_with_payload(nvtxStringHandle_t name, uint64_t schema,
                                                          const void *payload, size_t size,
                                                          nvtxPayloadData_t *data)
{
    data->schemaId = schema;
    data->size = size;
    data->payload = payload;
    nvtxEventAttributes_t attributes = nvt_nvtx_attributes(name);
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = (uint64_t)(uintptr_t)data;
    return attributes;
}

/* Open a range with the work that it stands for. */
static inline void nvt_nvtx_push_work(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name,
                                      const struct nvt_work_payload *work)
{
    if (nvtx->silent)
        return;
    nvt_nvtx_boundary(nvtx);
    nvtxPayloadData_t data;
    nvtxEventAttributes_t attributes =
        nvt_nvtx_with_payload(name, nvtx->work_schema, work, sizeof(*work), &data);
    if (!nvtx->mute)
        nvtxDomainRangePushEx(nvtx->domain, &attributes);
}

static inline void nvt_nvtx_pop(const struct nvt_nvtx *nvtx)
{
    if (nvtx->silent)
        return;
    nvt_nvtx_boundary(nvtx);
    if (!nvtx->mute)
        nvtxDomainRangePop(nvtx->domain);
}

/* The range of what is recorded of a run that is recorded in part. */
#define NVT_NVTX_RECORDED "recorded"

/* What the row of a run begins with, as a mark: then its JSON object. */
#define NVT_NVTX_RESULT "result "

/* A mark with a text that is not used again. */
static inline void nvt_nvtx_note(const struct nvt_nvtx *nvtx, const char *text)
{
    nvtxEventAttributes_t attributes = nvt_nvtx_attributes(NULL);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = text;
    nvtxDomainMarkEx(nvtx->domain, &attributes);
}

/* A mark with a payload of a schema. */
static inline void nvt_nvtx_mark(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name,
                                 uint64_t schema, const void *payload, size_t size)
{
    nvtxPayloadData_t data;
    nvtxEventAttributes_t attributes = nvt_nvtx_with_payload(name, schema, payload, size, &data);
    if (!nvtx->mute)
        nvtxDomainMarkEx(nvtx->domain, &attributes);
}

#endif
