#include "nvtx_schema.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "nvt_forks.h"

static double half_to_double(uint16_t bits)
{
    double sign = bits >> 15 ? -1 : 1;
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    if (exponent == 31)
        return fraction != 0 ? 0.0 / 0.0 : sign / 0.0;
    double value = exponent ? 1024 + fraction : fraction;
    for (int i = exponent ? exponent : 1; i < 25; i++)
        value /= 2;
    for (int i = 25; i < exponent; i++)
        value *= 2;
    return sign * value;
}

int64_t nvt_nvtx_signed(const uint8_t *data, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)data[i] << (8 * i);
    int unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

uint64_t nvt_nvtx_unsigned(const uint8_t *data, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}

struct nvt_nvtx_type nvt_nvtx_type(uint64_t type)
{
    static const struct nvt_nvtx_type types[] = {
        [NVTX_PAYLOAD_ENTRY_TYPE_CHAR] = {1, 'c'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UCHAR] = {1, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_SHORT] = {2, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_USHORT] = {2, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT] = {4, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT] = {4, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_LONG] = {8, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_ULONG] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG] = {8, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT8] = {1, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT8] = {1, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT16] = {2, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT16] = {2, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT32] = {4, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT32] = {4, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_INT64] = {8, 'i'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UINT64] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT] = {4, 'f'},
        [NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE] = {8, 'd'},
        [NVTX_PAYLOAD_ENTRY_TYPE_SIZE] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS] = {8, 'x'},
        [NVTX_PAYLOAD_ENTRY_TYPE_BYTE] = {1, 'x'},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16] = {2, 'h'},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32] = {4, 'f'},
        [NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64] = {8, 'd'},
        [NVTX_PAYLOAD_ENTRY_TYPE_BF16] = {2, 'b'},
        [NVTX_PAYLOAD_ENTRY_TYPE_TF32] = {4, 'f'},
        [NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY] = {4, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB] = {4, 'x'},
        [NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32] = {4, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32] = {4, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64] = {8, 'u'},
        [NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR] = {8, 'u'},
    };
    return type < NVT_COUNT_OF(types) ? types[type] : (struct nvt_nvtx_type){0, 0};
}

double nvt_nvtx_value(struct nvt_nvtx_type type, const uint8_t *data)
{
    float single;
    double full;
    uint32_t bits;
    switch (type.form) {
    case 'i':
        return (double)nvt_nvtx_signed(data, type.size);
    case 'f':
        memcpy(&single, data, 4);
        return single;
    case 'd':
        memcpy(&full, data, 8);
        return full;
    case 'h':
        return half_to_double((uint16_t)nvt_nvtx_unsigned(data, 2));
    case 'b':
        bits = (uint32_t)nvt_nvtx_unsigned(data, 2) << 16;
        memcpy(&single, &bits, 4);
        return single;
    default:
        return (double)nvt_nvtx_unsigned(data, type.size);
    }
}

int nvt_nvtx_is_text(uint64_t type)
{
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

/* --- schemas --- */

const uint8_t *nvt_cursor_text(struct nvt_cursor *cursor, uint64_t *length)
{
    *length = nvt_cursor_number(cursor, 8);
    return nvt_cursor_bytes(cursor, *length);
}

const struct nvt_blob *nvt_schema_find(const struct nvt_file_reader *reader,
                                       const struct nvt_file_process *process, uint64_t id)
{
    uint32_t index = nvt_map_get(&process->schemas, id);
    if (index < reader->schema_count)
        return &reader->schemas[index];
    return nvt_file_kin_schema(reader, (uint32_t)(process - reader->processes), id);
}

int nvt_schema_open(const struct nvt_file_reader *reader, const struct nvt_blob *blob,
                    struct nvt_schema *schema)
{
    uint64_t length;
    *schema = (struct nvt_schema){.count = 0};
    if (!blob->size)
        return -1;
    const uint8_t *bytes = reader->blobs.data + blob->offset;
    schema->entries = (struct nvt_cursor){bytes, bytes + blob->size};
    nvt_cursor_text(&schema->entries, &length);
    if (!blob->is_enum)
        nvt_cursor_number(&schema->entries, 8); /* type: static or dynamic */
    schema->size = nvt_cursor_number(&schema->entries, 8);
    if (!blob->is_enum)
        nvt_cursor_number(&schema->entries, 8); /* pack alignment: offsets are there already */
    schema->count = nvt_cursor_number(&schema->entries, 8);
    return schema->entries.at ? 0 : -1;
}

int nvt_schema_next(struct nvt_schema *schema, struct nvt_schema_entry *entry)
{
    entry->flags = nvt_cursor_number(&schema->entries, 8);
    entry->type = nvt_cursor_number(&schema->entries, 8);
    entry->detail = nvt_cursor_number(&schema->entries, 8);
    entry->offset = nvt_cursor_number(&schema->entries, 8);
    entry->name = nvt_cursor_text(&schema->entries, &entry->name_length);
    return entry->name ? 0 : -1;
}

/* --- what the values of counters are --- */

int nvt_meaning_read(struct nvt_cursor *cursor, struct nvt_meaning *meaning)
{
    meaning->flags = nvt_cursor_number(cursor, 8);
    meaning->numerator = nvt_cursor_number(cursor, 8);
    meaning->denominator = nvt_cursor_number(cursor, 8);
    meaning->unit = nvt_cursor_text(cursor, &meaning->unit_length);
    return meaning->unit ? 0 : -1;
}

void nvt_schema_meanings(struct nvt_schema *schema)
{
    struct nvt_schema behind = *schema;
    struct nvt_schema_entry ignored;
    for (uint64_t i = 0; i < schema->count; i++)
        if (nvt_schema_next(&behind, &ignored))
            return;
    schema->meanings = behind.entries;
    schema->meaning_count = nvt_cursor_number(&schema->meanings, 8);
    schema->meaning_of = UINT64_MAX;
}

const struct nvt_meaning *nvt_schema_meaning(struct nvt_schema *schema, uint64_t entry)
{
    while (schema->meaning_count &&
           (schema->meaning_of == UINT64_MAX || schema->meaning_of < entry)) {
        schema->meaning_count--;
        schema->meaning_of = nvt_cursor_number(&schema->meanings, 8);
        if (nvt_meaning_read(&schema->meanings, &schema->meaning))
            schema->meaning_count = schema->meaning_of = 0;
    }
    return schema->meanings.at && schema->meaning_of == entry ? &schema->meaning : NULL;
}
