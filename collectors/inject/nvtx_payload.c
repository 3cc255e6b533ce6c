/*
 * NVTX's payload extension: schemas and enumerations are kept (and written into the ring as
 * definitions), payloads are copied as they are, with the texts that their pointers point to.
 *
 * In a definition, integers are little-endian 64-bit, texts are a length and bytes:
 *   schema: name, type, static size, pack alignment, count, then for each entry
 *           flags, type, array detail, offset, name; then, where entries have semantics of
 *           counters, their count, and for each the entry's number and what its values are
 *   enum:   name, size, count, then for each entry value, is-flag, name
 * An event's extended payload: for each payload schema id, size, bytes; then the texts that its
 * string pointers point to, each a length and bytes, in the order of the entries.
 */
#include <string.h>

#include "../../lib/count_of.h"
#include "definition.h"
#include "events.h"
#include "modules.h"
#include "nvtx_deferred.h"
#include "nvtx_time.h"
#include "registry.h"
#include "session.h"

/* A pointer to a NUL-terminated text in a payload. */
struct pointer {
    uint64_t offset;
};

/* What is needed of a schema when an event carries it. */
struct schema {
    struct schema *next;
    nvtxDomainHandle_t domain;
    uint64_t id;
    uint64_t size; /* static size, 0 unknown */
    uint64_t alignment;
    /* offset of an entry of 8 bytes that says when, UINT64_MAX: there is none */
    uint64_t timestamp;
    struct nvt_schema_event event;
    int has_entries; /* it is no enumeration */
    uint32_t pointers;
    struct pointer pointer[];
};

static struct schema *_Atomic schemas;
static _Atomic uint64_t next_id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;

#define ENTRY_BYTES      (5 * 8 + 8 + NVT_MEANING_BYTES) /* without its texts */
#define DEFINITION_BYTES (NVT_TEXT_MOST + 6 * 8)

/* Memory for a definition with a name, so many entries and so many bytes of their texts. 0, or -1. */
static int make_room(struct nvt_definition_writer *out, size_t entries, size_t texts)
{
    return nvt_definition_new(out, DEFINITION_BYTES + entries * ENTRY_BYTES + texts);
}

/* Size and alignment of a predefined type on this machine; 0 when it is no plain number. */
static size_t type_size(uint64_t type)
{
    switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
        return 1;
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
        return 2;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
        return 4;
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
        return 16;
    default:
        return type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START ? 8 : 0;
    }
}

static int is_text(uint64_t type)
{
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

/* A text that lies elsewhere, behind a pointer in the payload. */
static int is_text_pointer(const nvtxPayloadSchemaEntry_t *entry)
{
    return is_text(entry->type) && !entry->arrayOrUnionDetail &&
           !(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY);
}

static int is_timestamp(const nvtxPayloadSchemaEntry_t *entry)
{
    return (entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) != 0;
}

static const struct schema *find_schema(nvtxDomainHandle_t domain, uint64_t id)
{
    for (const struct schema *known = atomic_load(&schemas); known; known = known->next)
        if (known->id == id &&
            (known->domain == domain || id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START))
            return known;
    return NULL;
}

/* Bytes of one entry (without what pointers point to) and its alignment. */
static size_t entry_size(nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t *entry,
                         size_t *alignment)
{
    size_t size = type_size(entry->type);
    *alignment = size ? size : 8;
    if (is_text(entry->type) && entry->arrayOrUnionDetail) {
        *alignment = 1;
        return (size_t)entry->arrayOrUnionDetail;
    }
    if (!size) {
        const struct schema *nested = find_schema(domain, entry->type);
        size = nested ? (size_t)nested->size : 0;
        *alignment = nested ? (size_t)nested->alignment : 8;
    }
    if (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags) ==
        NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
        size *= (size_t)entry->arrayOrUnionDetail;
    return size;
}

/* Offset of the next entry: as given, or by natural alignment (limited by pack alignment). */
static uint64_t place_entry(const nvtxPayloadSchemaEntry_t *entry, uint64_t at, size_t alignment,
                            uint64_t pack)
{
    if (entry->offset)
        return entry->offset;
    if (pack && alignment > pack)
        alignment = (size_t)pack;
    return (at + alignment - 1) / alignment * alignment;
}

static struct schema *build_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *from,
                                   uint64_t pack, struct nvt_definition_writer *out)
{
    struct schema *schema =
        nvt_session_memory(sizeof(*schema) + from->numEntries * sizeof(struct pointer));
    uint64_t at = 0;
    size_t widest = 1;
    if (!schema)
        return NULL;
    schema->domain = domain;
    schema->timestamp = UINT64_MAX;
    schema->has_entries = 1;
    nvt_schema_event_init(&schema->event);
    for (size_t i = 0; i < from->numEntries; i++) {
        const nvtxPayloadSchemaEntry_t *entry = &from->entries[i];
        size_t alignment, size = entry_size(domain, entry, &alignment);
        at = place_entry(entry, at, alignment, pack);
        if (is_text_pointer(entry))
            schema->pointer[schema->pointers++].offset = at;
        if (is_timestamp(entry) && size == sizeof(int64_t) && schema->timestamp == UINT64_MAX)
            schema->timestamp = at;
        nvt_schema_event_note(&schema->event, entry, at, size);
        nvt_put_number(out, entry->flags);
        nvt_put_number(out, entry->type);
        nvt_put_number(out, entry->arrayOrUnionDetail);
        nvt_put_number(out, at);
        nvt_put_text(out, entry->name);
        at += size;
        widest = alignment > widest && (!pack || alignment <= pack) ? alignment : widest;
    }
    schema->alignment = widest;
    schema->size = (at + widest - 1) / widest * widest;
    return schema;
}

#define HAS(attr, kind, field) ((attr)->fieldMask & NVTX_PAYLOAD_##kind##_ATTR_FIELD_##field)
#define MOST_ENTRIES           65536

static void add_schema(struct schema *schema)
{
    schema->next = atomic_load(&schemas);
    while (!atomic_compare_exchange_weak(&schemas, &schema->next, schema)) {
    }
}

/* Bytes of an entry's texts; *meanings grows if it says what its values are. */
static size_t texts_of(const nvtxPayloadSchemaEntry_t *entry, size_t *meanings)
{
    const nvtxSemanticsCounter_t *semantics = nvt_counter_semantics(entry->semantics);
    *meanings += semantics != NULL;
    return nvt_text_length(entry->name) + (semantics ? nvt_text_length(semantics->unit) : 0);
}

static void put_meanings(struct nvt_definition_writer *out, const nvtxPayloadSchemaAttr_t *from,
                         size_t meanings)
{
    if (!meanings)
        return;
    nvt_put_number(out, meanings);
    for (size_t i = 0; i < from->numEntries; i++) {
        const nvtxSemanticsCounter_t *semantics = nvt_counter_semantics(from->entries[i].semantics);
        if (!semantics)
            continue;
        nvt_put_number(out, i);
        nvt_put_meaning(out, semantics);
    }
}

static uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t *from)
{
    struct nvt_definition_writer out;
    size_t texts = 0, meanings = 0;
    if (!from || !HAS(from, SCHEMA, ENTRIES) || !from->entries || !from->numEntries ||
        from->numEntries > MOST_ENTRIES)
        return 0;
    for (size_t i = 0; i < from->numEntries; i++)
        texts += texts_of(&from->entries[i], &meanings);
    if (make_room(&out, from->numEntries, texts))
        return 0;
    uint64_t pack = HAS(from, SCHEMA, ALIGNMENT) ? from->packAlign : 0;
    uint64_t size = HAS(from, SCHEMA, STATIC_SIZE) ? from->payloadStaticSize : 0;
    nvt_put_text(&out, HAS(from, SCHEMA, NAME) ? from->name : "");
    nvt_put_number(&out, HAS(from, SCHEMA, TYPE) ? from->type : 0);
    nvt_put_number(&out, size);
    nvt_put_number(&out, pack);
    nvt_put_number(&out, from->numEntries);
    struct schema *schema = build_schema(domain, from, pack, &out);
    if (schema) {
        put_meanings(&out, from, meanings);
        if (size)
            schema->size = size;
        schema->id = HAS(from, SCHEMA, SCHEMA_ID) ? from->schemaId : atomic_fetch_add(&next_id, 1);
        add_schema(schema);
        nvt_define(NVT_DEFINE_SCHEMA, domain, 0, schema->id, out.data, out.size);
    }
    nvt_definition_free(&out);
    return schema ? schema->id : 0;
}

static uint64_t register_enum(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t *from)
{
    struct nvt_definition_writer out;
    size_t names = 0;
    if (!from || !HAS(from, ENUM, ENTRIES) || !from->entries || from->numEntries > MOST_ENTRIES)
        return 0;
    for (size_t i = 0; i < from->numEntries; i++)
        names += nvt_text_length(from->entries[i].name);
    struct schema *schema = nvt_session_memory(sizeof(*schema));
    if (!schema || make_room(&out, from->numEntries, names))
        return 0;
    schema->domain = domain;
    schema->size = HAS(from, ENUM, SIZE) ? from->sizeOfEnum : sizeof(int);
    schema->alignment = schema->size ? schema->size : 1;
    schema->id = HAS(from, ENUM, SCHEMA_ID) ? from->schemaId : atomic_fetch_add(&next_id, 1);
    nvt_put_text(&out, HAS(from, ENUM, NAME) ? from->name : "");
    nvt_put_number(&out, schema->size);
    nvt_put_number(&out, from->numEntries);
    for (size_t i = 0; i < from->numEntries; i++) {
        nvt_put_number(&out, from->entries[i].value);
        nvt_put_number(&out, (uint64_t)from->entries[i].isFlag);
        nvt_put_text(&out, from->entries[i].name);
    }
    add_schema(schema);
    nvt_define(NVT_DEFINE_ENUM, domain, 0, schema->id, out.data, out.size);
    nvt_definition_free(&out);
    return schema->id;
}

const struct nvt_schema_event *nvt_schema_event(nvtxDomainHandle_t domain, uint64_t id,
                                                size_t *size)
{
    const struct schema *schema = find_schema(domain, id);
    *size = schema ? (size_t)schema->size : 0;
    return schema && schema->has_entries ? &schema->event : NULL;
}

size_t nvt_schema_size(nvtxDomainHandle_t domain, uint64_t id, size_t *timestamp)
{
    const struct schema *schema = find_schema(domain, id);
    *timestamp = SIZE_MAX;
    if (schema && schema->timestamp <= schema->size - sizeof(int64_t) &&
        schema->size >= sizeof(int64_t))
        *timestamp = (size_t)schema->timestamp;
    return schema ? (size_t)schema->size : type_size(id);
}

/* Bytes of a payload whose size the program leaves to us. */
static size_t payload_size(const nvtxPayloadData_t *payload, const struct schema *schema)
{
    if (payload->size != SIZE_MAX)
        return payload->size;
    if (is_text(payload->schemaId))
        return strnlen(payload->payload, NVT_TEXT_MOST);
    return schema ? (size_t)schema->size : type_size(payload->schemaId);
}

static void put_pointed_texts(struct nvt_definition_writer *out, const struct schema *schema,
                              const nvtxPayloadData_t *payload, size_t size)
{
    for (uint32_t i = 0; schema && i < schema->pointers; i++) {
        const char *text = NULL;
        if (schema->pointer[i].offset + sizeof(text) <= size)
            /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): without one, size is 0 */
            memcpy(&text, (const char *)payload->payload + schema->pointer[i].offset, sizeof(text));
        nvt_put_text(out, text);
    }
}

size_t nvt_payload_copy(char *data, size_t capacity, nvtxDomainHandle_t domain,
                        const nvtxPayloadData_t *payloads, size_t count, int *left_out)
{
    struct nvt_definition_writer out = {data, 0, capacity};
    for (size_t i = 0; i < count && i < 64; i++) {
        const struct schema *schema = find_schema(domain, payloads[i].schemaId);
        size_t size = payloads[i].payload ? payload_size(&payloads[i], schema) : 0;
        if (size > capacity - out.size || capacity - out.size - size < 64) {
            *left_out = 1;
            break;
        }
        nvt_put_number(&out, payloads[i].schemaId);
        nvt_put_number(&out, size);
        nvt_put(&out, payloads[i].payload, size);
        put_pointed_texts(&out, schema, &payloads[i], size);
    }
    return out.size;
}

static struct nvt_event with_payload(enum nvt_record_kind kind, nvtxDomainHandle_t domain,
                                     const nvtxPayloadData_t *payloads, size_t count)
{
    return (struct nvt_event){
        .kind = kind, .domain = domain, .payloads = payloads, .payload_count = count};
}

static void mark(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    struct nvt_event event = with_payload(NVT_EVENT_MARK, domain, payloads, count);
    nvt_event_mark(&event);
}

static int push(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    struct nvt_event event = with_payload(NVT_EVENT_PUSH, domain, payloads, count);
    return nvt_event_push(&event);
}

static int pop(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads, size_t count)
{
    struct nvt_event event = with_payload(NVT_EVENT_POP, domain, payloads, count);
    return nvt_event_pop(&event);
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxPayloadData_t *payloads,
                           size_t count)
{
    struct nvt_event event = with_payload(NVT_EVENT_START, domain, payloads, count);
    return nvt_event_start(&event);
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t range, const nvtxPayloadData_t *payloads,
                size_t count)
{
    struct nvt_event event = with_payload(NVT_EVENT_END, domain, payloads, count);
    event.range = range;
    nvt_event_end(&event);
}

static uint8_t is_enabled(nvtxDomainHandle_t domain)
{
    (void)domain;
    return 1;
}

/* Scopes only place events in a viewer: an id of its own for each is enough. */
static uint64_t register_scope(nvtxDomainHandle_t domain, const nvtxScopeAttr_t *attributes)
{
    (void)domain;
    (void)attributes;
    return atomic_fetch_add(&next_id, 1);
}

/* The moment in the ticks of events: what a program hands back with a batch of samples. */
static int64_t get_timestamp(void)
{
    return (int64_t)nvt_ticks(nvt_session.control->clock);
}

static const struct nvt_callback callbacks[] = {
    {NVTX3EXT_CBID_nvtxPayloadSchemaRegister, (NvtxFunctionPointer)register_schema},
    {NVTX3EXT_CBID_nvtxPayloadEnumRegister, (NvtxFunctionPointer)register_enum},
    {NVTX3EXT_CBID_nvtxMarkPayload, (NvtxFunctionPointer)mark},
    {NVTX3EXT_CBID_nvtxRangePushPayload, (NvtxFunctionPointer)push},
    {NVTX3EXT_CBID_nvtxRangePopPayload, (NvtxFunctionPointer)pop},
    {NVTX3EXT_CBID_nvtxRangeStartPayload, (NvtxFunctionPointer)start},
    {NVTX3EXT_CBID_nvtxRangeEndPayload, (NvtxFunctionPointer)end},
    {NVTX3EXT_CBID_nvtxDomainIsEnabled, (NvtxFunctionPointer)is_enabled},
    {NVTX3EXT_CBID_nvtxScopeRegister, (NvtxFunctionPointer)register_scope},
    {NVTX3EXT_CBID_nvtxTimestampGet, (NvtxFunctionPointer)get_timestamp},
    {NVTX3EXT_CBID_nvtxTimeDomainRegister, (NvtxFunctionPointer)nvt_time_register},
    {NVTX3EXT_CBID_nvtxTimerSource, (NvtxFunctionPointer)nvt_time_source},
    {NVTX3EXT_CBID_nvtxTimerSourceWithData, (NvtxFunctionPointer)nvt_time_source_with_data},
    {NVTX3EXT_CBID_nvtxTimeSyncPoint, (NvtxFunctionPointer)nvt_time_sync},
    {NVTX3EXT_CBID_nvtxTimeSyncPointTable, (NvtxFunctionPointer)nvt_time_sync_table},
    {NVTX3EXT_CBID_nvtxTimestampConversionFactor, (NvtxFunctionPointer)nvt_time_rate},
    {NVTX3EXT_CBID_nvtxEventSubmit, (NvtxFunctionPointer)nvt_deferred_submit},
    {NVTX3EXT_CBID_nvtxEventBatchSubmit, (NvtxFunctionPointer)nvt_deferred_submit_batch},
};

const struct nvt_extension nvt_extension_payload = {NVTX_EXT_PAYLOAD_MODULEID, callbacks,
                                                    NVT_COUNT_OF(callbacks)};
