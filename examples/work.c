/*
 * Says of its ranges what work they stand for, by plain NVTX: a payload whose schema has the entries `flops` and `bytes`.
 *
 *     cc -O3 -march=native work.c -ldl -o work
 *     nvtally record -o work.nvt -- ./work
 *     nvtally stats -r roofline work.nvt
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { COUNT = 1 << 22, ROUNDS = 20 };

struct work {
    uint64_t flops, bytes; /* bytes: that must be moved at least */
};

static const nvtxPayloadSchemaEntry_t entries[] = {
    {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "flops", NULL, 0, offsetof(struct work, flops), NULL, NULL},
    {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", NULL, 0, offsetof(struct work, bytes), NULL, NULL},
};

static uint64_t register_schema(nvtxDomainHandle_t domain)
{
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = 2,
        .payloadStaticSize = sizeof(struct work),
    };
    return nvtxPayloadSchemaRegister(domain, &schema);
}

static void push(nvtxDomainHandle_t domain, uint64_t schema, const char *name,
                 const struct work *work)
{
    const nvtxPayloadData_t payload = {schema, sizeof(*work), work};
    const nvtxEventAttributes_t range = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .payloadType = NVTX_PAYLOAD_TYPE_EXT,
        .reserved0 = 1, /* payloads */
        .payload.ullValue = (uint64_t)(uintptr_t)&payload,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = name,
    };
    nvtxDomainRangePushEx(domain, &range);
}

/* a = b + 3·c: two FLOPs an element, and 12 bytes: two floats read, one written. */
static void triad(float *a, const float *b, const float *c)
{
    for (int i = 0; i < COUNT; i++)
        a[i] = b[i] + 3 * c[i];
}

int main(void)
{
    const struct work work = {2 * (uint64_t)COUNT, 12 * (uint64_t)COUNT};
    float *a = calloc(COUNT, sizeof(*a)), *b = calloc(COUNT, sizeof(*b)),
          *c = calloc(COUNT, sizeof(*c));
    nvtxDomainHandle_t domain = nvtxDomainCreateA("example");
    const uint64_t schema = register_schema(domain);
    for (int i = 0; a && b && c && i < ROUNDS; i++) {
        push(domain, schema, "triad", &work);
        triad(a, b, c);
        nvtxDomainRangePop(domain);
    }
    free(a);
    free(b);
    free(c);
    return 0;
}
