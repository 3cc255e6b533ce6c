/*
 * One of everything that NVTX v3 has and nvtally records; tests/test_record.c knows what to expect.
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

enum fruit { APPLE = 1, PEAR = 2 };

struct inner {
    float ratio;
    uint16_t counts[3];
};

struct sample {
    int32_t rank;
    enum fruit fruit;
    double seconds;
    const char *name;
    char code[8];
    struct inner inner;
};

static nvtxEventAttributes_t attributes(const char *message)
{
    nvtxEventAttributes_t result = {0};
    result.version = NVTX_VERSION;
    result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    result.messageType = NVTX_MESSAGE_TYPE_ASCII;
    result.message.ascii = message;
    return result;
}

static void plain(void)
{
    char buffer[64];
    nvtxRangePushA("outer");
    strcpy(buffer, "reused buffer one");
    nvtxRangePushA(buffer);
    memset(buffer, 'x', sizeof(buffer));
    strcpy(buffer, "reused buffer two");
    nvtxRangePop();
    nvtxRangePushA(buffer);
    nvtxRangePop();
    nvtxRangePushW(L"wide \u00fc\u6f22\U0001f600");
    nvtxRangePop();
    nvtxRangePushA("a name that is much longer than the thirty-one bytes of the short way");
    nvtxRangePop();
    nvtxRangePushA("quote \" comma , pipe | tab\tline\nend _ & %");
    nvtxRangePop();
    nvtxRangePushA("");
    nvtxRangePop();
    nvtxRangePushA(NULL);
    nvtxRangePop();
    nvtxRangePop();
    nvtxMarkA("a mark");
    nvtxMarkW(L"a wide mark");
    nvtxRangeId_t crossing = nvtxRangeStartA("started");
    nvtxRangeId_t other = nvtxRangeStartW(L"started wide");
    nvtxRangeEnd(crossing);
    nvtxRangeEnd(other);
    nvtxRangeStartA("never ended");
    nvtxRangePushA("never popped");
}

static void with_domain(nvtxDomainHandle_t domain)
{
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
    nvtxStringHandle_t wide = nvtxDomainRegisterStringW(domain, L"registered wide");
    nvtxDomainNameCategoryA(domain, 7, "network");
    nvtxEventAttributes_t event = attributes(NULL);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = name;
    event.category = 7;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff3366cc;
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 2.5;
    nvtxDomainRangePushEx(domain, &event);
    event.message.registered = wide;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -42;
    event.category = 8; /* never named */
    event.colorType = NVTX_COLOR_UNKNOWN;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);
    event = attributes("domain mark");
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    event.payload.uiValue = 4000000000u;
    nvtxDomainMarkEx(domain, &event);
    event = attributes("domain start");
    nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &event);
    nvtxDomainRangeEnd(domain, range);
}

static uint64_t register_fruit(nvtxDomainHandle_t domain)
{
    static const nvtxPayloadEnum_t values[] = {{"apple", APPLE, 0}, {"pear", PEAR, 0}};
    nvtxPayloadEnumAttr_t attr = {0};
    attr.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    attr.entries = values;
    attr.numEntries = 2;
    attr.sizeOfEnum = sizeof(enum fruit);
    return nvtxPayloadEnumRegister(domain, &attr);
}

static uint64_t register_struct(nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t *entries,
                                size_t count, size_t size)
{
    nvtxPayloadSchemaAttr_t attr = {0};
    attr.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attr.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attr.entries = entries;
    attr.numEntries = count;
    attr.payloadStaticSize = size;
    return nvtxPayloadSchemaRegister(domain, &attr);
}

static void with_schema(nvtxDomainHandle_t domain)
{
    const nvtxPayloadSchemaEntry_t inner[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "ratio", NULL, 0, 0, NULL, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "counts", NULL,
         3, 0, NULL, NULL},
    };
    uint64_t inner_id = register_struct(domain, inner, 2, sizeof(struct inner));
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", NULL, 0, 0, NULL, NULL},
        {0, register_fruit(domain), "fruit", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "seconds", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "name", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "code", NULL, 8, offsetof(struct sample, code), NULL,
         NULL},
        {0, inner_id, "inner", NULL, 0, offsetof(struct sample, inner), NULL, NULL},
    };
    uint64_t id = register_struct(domain, entries, 6, sizeof(struct sample));
    struct sample sample = {-3, PEAR, 0.125, "a \"pointed\" text", "ab", {1.5f, {1, 2, 65535}}};
    nvtxPayloadData_t data = {id, sizeof(sample), &sample};
    nvtxEventAttributes_t event = attributes("with schema");
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = (uint64_t)(uintptr_t)&data;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    uint64_t end = 99;
    nvtxPayloadData_t number = {NVTX_PAYLOAD_ENTRY_TYPE_UINT64, sizeof(end), &end};
    event = attributes("payload at the end");
    nvtxDomainRangePushEx(domain, &event);
    nvtxRangePopPayload(domain, &number, 1);
}

int main(void)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main thread");
    nvtxNameCudaDeviceA(0, "first device");
    plain();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("my, domain");
    with_domain(domain);
    with_schema(domain);
    nvtxDomainHandle_t again = nvtxDomainCreateW(L"my, domain");
    nvtxDomainDestroy(again);
    return again == domain ? 0 : 1;
}
