#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdio.h>
#include <string.h>

#include "read_nvt.h"

/* Schemas nest; a cycle, which only a broken file has, ends here. */
#define DEEPEST 8
/* Elements of an array that are shown. */
#define MOST_ELEMENTS 64

struct schema {
    struct nvt_cursor entries; /* not yet read */
    uint64_t count;
    uint64_t size;
};

struct entry {
    uint64_t flags, type, detail, offset;
    const uint8_t *name;
    uint64_t name_length;
};

/* What a payload is read from. */
struct source {
    const struct nvt_nvt_reader *reader;
    const struct nvt_nvt_process *process;
    const uint8_t *data;
    uint64_t size;
    struct nvt_cursor *texts; /* of its string pointers, in order */
    uint64_t *left;           /* of the work that may be done, see nvt_payload_text */
};

/* Schemas can refer to each other so that a few bytes stand for more text than there is memory, or
 * for none and endless work. So every value, every enumerator looked at and every byte of a name or
 * text takes one off what is left. -1: it was not enough. */
static int spend(const struct source *source, uint64_t amount)
{
    if (amount > *source->left) {
        *source->left = 0;
        return -1;
    }
    *source->left -= amount;
    return 0;
}

static void put_json_text(struct nvt_buffer *out, const uint8_t *text, uint64_t length)
{
    nvt_buffer_append(out, "\"", 1);
    for (uint64_t i = 0; i < length; i++) {
        if (text[i] == '"' || text[i] == '\\')
            nvt_buffer_printf(out, "\\%c", text[i]);
        else if (text[i] < 0x20)
            nvt_buffer_printf(out, "\\u%04x", text[i]);
        else
            nvt_buffer_append(out, &text[i], 1);
    }
    nvt_buffer_append(out, "\"", 1);
}

static void put_real(struct nvt_buffer *out, double value, int digits)
{
    if (value - value != 0) /* infinite or no number: JSON has no word for it */
        nvt_buffer_printf(out, "null");
    else
        nvt_buffer_printf(out, "%.*g", digits, value);
}

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

static int64_t get_signed(const uint8_t *data, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)data[i] << (8 * i);
    int unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t get_unsigned(const uint8_t *data, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}

/* Size in bytes of a predefined type as LP64 Linux has it, and how to show it; size 0: unknown. */
struct type {
    int size;
    char form; /* i signed, u unsigned, f float, d double, h half, b bfloat16, c character, x hex */
};

static struct type type_of(uint64_t type)
{
    static const struct type types[] = {
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
    return type < sizeof(types) / sizeof(types[0]) ? types[type] : (struct type){0, 0};
}

static void put_number(struct nvt_buffer *out, struct type type, const uint8_t *data)
{
    float single;
    double full;
    uint32_t bits;
    switch (type.form) {
    case 'i':
        nvt_buffer_printf(out, "%" PRId64, get_signed(data, type.size));
        break;
    case 'u':
        nvt_buffer_printf(out, "%" PRIu64, get_unsigned(data, type.size));
        break;
    case 'f':
        memcpy(&single, data, 4);
        put_real(out, single, 9);
        break;
    case 'd':
        memcpy(&full, data, 8);
        put_real(out, full, 17);
        break;
    case 'h':
        put_real(out, half_to_double((uint16_t)get_unsigned(data, 2)), 5);
        break;
    case 'b':
        bits = (uint32_t)get_unsigned(data, 2) << 16;
        memcpy(&single, &bits, 4);
        put_real(out, single, 4);
        break;
    case 'c':
        put_json_text(out, data, 1);
        break;
    default:
        nvt_buffer_printf(out, "\"0x%" PRIx64 "\"", get_unsigned(data, type.size));
        break;
    }
}

void nvt_payload_number(uint32_t type, uint64_t bits, char *out, size_t size)
{
    double full;
    float single;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case NVTX_PAYLOAD_TYPE_INT64:
        snprintf(out, size, "%" PRId64, (int64_t)bits);
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
        memcpy(&full, &bits, 8);
        snprintf(out, size, "%.17g", full);
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        snprintf(out, size, "%" PRIu32, low);
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        snprintf(out, size, "%" PRId32, (int32_t)low);
        break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
        memcpy(&single, &low, 4);
        snprintf(out, size, "%.9g", (double)single);
        break;
    default:
        snprintf(out, size, "%" PRIu64, bits);
        break;
    }
}

/* --- schemas ---------------------------------------------------------------------------------- */

static const uint8_t *get_text(struct nvt_cursor *cursor, uint64_t *length)
{
    *length = nvt_cursor_number(cursor, 8);
    return nvt_cursor_bytes(cursor, *length);
}

static const struct nvt_blob *find_schema(const struct source *source, uint64_t id)
{
    uint32_t index = nvt_map_get(&source->process->schemas, id);
    return index < source->reader->schema_count ? &source->reader->schemas[index] : NULL;
}

static int open_schema(const struct source *source, const struct nvt_blob *blob,
                       struct schema *schema)
{
    uint64_t length;
    if (!blob->size)
        return -1;
    const uint8_t *bytes = source->reader->blobs.data + blob->offset;
    schema->entries = (struct nvt_cursor){bytes, bytes + blob->size};
    get_text(&schema->entries, &length);
    if (!blob->is_enum)
        nvt_cursor_number(&schema->entries, 8); /* type: static or dynamic */
    schema->size = nvt_cursor_number(&schema->entries, 8);
    if (!blob->is_enum)
        nvt_cursor_number(&schema->entries, 8); /* pack alignment: offsets are there already */
    schema->count = nvt_cursor_number(&schema->entries, 8);
    return schema->entries.at ? 0 : -1;
}

static int next_entry(struct schema *schema, struct entry *entry)
{
    entry->flags = nvt_cursor_number(&schema->entries, 8);
    entry->type = nvt_cursor_number(&schema->entries, 8);
    entry->detail = nvt_cursor_number(&schema->entries, 8);
    entry->offset = nvt_cursor_number(&schema->entries, 8);
    entry->name = get_text(&schema->entries, &entry->name_length);
    return entry->name ? 0 : -1;
}

/* The name of an enumeration's value, or the number when it has none. */
static void put_enum(const struct source *source, const struct nvt_blob *blob, const uint8_t *data,
                     uint64_t size, struct nvt_buffer *out)
{
    struct schema schema;
    if (open_schema(source, blob, &schema) || !schema.size || schema.size > 8 ||
        schema.size > size) {
        nvt_buffer_printf(out, "null");
        return;
    }
    uint64_t value = get_unsigned(data, (int)schema.size);
    for (uint64_t i = 0; i < schema.count; i++) {
        uint64_t length, known = nvt_cursor_number(&schema.entries, 8);
        nvt_cursor_number(&schema.entries, 8); /* is-flag */
        const uint8_t *name = get_text(&schema.entries, &length);
        if (!name || spend(source, 1))
            break;
        if (known == value && !spend(source, length)) {
            put_json_text(out, name, length);
            return;
        }
    }
    nvt_buffer_printf(out, "%" PRIu64, value);
}

static int is_text(uint64_t type)
{
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

static void put_object(const struct source *source, const struct nvt_blob *blob, int depth,
                       struct nvt_buffer *out);

/* Text in the payload itself, or behind a pointer (then its copy is next in source->texts). */
static void put_text_entry(const struct source *source, const struct entry *entry,
                           const uint8_t *data, uint64_t size, struct nvt_buffer *out)
{
    uint64_t length = 0;
    if (!entry->detail && !(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY)) {
        const uint8_t *text = get_text(source->texts, &length);
        put_json_text(out, text, text && !spend(source, length) ? length : 0);
        return;
    }
    uint64_t most = entry->detail && entry->detail < size ? entry->detail : size;
    while (length < most && data[length])
        length++;
    put_json_text(out, data, spend(source, length) ? 0 : length);
}

/* One value of an entry's type at `data`. Returns its size, 0 when it cannot be shown. */
static uint64_t put_value(const struct source *source, const struct entry *entry,
                          const uint8_t *data, uint64_t size, int depth, struct nvt_buffer *out)
{
    struct type type = type_of(entry->type);
    if (spend(source, 1))
        return 0;
    if (type.size && (uint64_t)type.size <= size) {
        put_number(out, type, data);
        return (uint64_t)type.size;
    }
    const struct nvt_blob *nested = type.size ? NULL : find_schema(source, entry->type);
    struct schema schema;
    if (!nested || depth >= DEEPEST || open_schema(source, nested, &schema) || schema.size > size) {
        nvt_buffer_printf(out, "null");
        return 0;
    }
    if (nested->is_enum) {
        put_enum(source, nested, data, size, out);
        return schema.size;
    }
    struct source part = *source;
    part.data = data;
    part.size = schema.size ? schema.size : size;
    put_object(&part, nested, depth + 1, out);
    return schema.size;
}

static void put_array(const struct source *source, const struct entry *entry, const uint8_t *data,
                      uint64_t size, int depth, struct nvt_buffer *out)
{
    uint64_t used = 0;
    nvt_buffer_append(out, "[", 1);
    for (uint64_t i = 0; i < entry->detail && i < MOST_ELEMENTS; i++) {
        if (i)
            nvt_buffer_append(out, ",", 1);
        uint64_t step = put_value(source, entry, data + used, size - used, depth, out);
        if (!step)
            break;
        used += step;
    }
    nvt_buffer_append(out, "]", 1);
}

static void put_entry(const struct source *source, const struct entry *entry, int depth,
                      struct nvt_buffer *out)
{
    if (entry->offset > source->size) {
        nvt_buffer_printf(out, "null");
        return;
    }
    const uint8_t *data = source->data + entry->offset;
    uint64_t size = source->size - entry->offset;
    if (is_text(entry->type))
        put_text_entry(source, entry, data, size, out);
    else if (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags) ==
             NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)
        put_array(source, entry, data, size, depth, out);
    else if (entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY)
        nvt_buffer_printf(out, "null");
    else
        put_value(source, entry, data, size, depth, out);
}

static void put_object(const struct source *source, const struct nvt_blob *blob, int depth,
                       struct nvt_buffer *out)
{
    struct schema schema;
    struct entry entry;
    nvt_buffer_append(out, "{", 1);
    int status = open_schema(source, blob, &schema);
    for (uint64_t i = 0; !status && i < schema.count; i++) {
        if (next_entry(&schema, &entry) || spend(source, 1 + entry.name_length))
            break;
        if (i)
            nvt_buffer_append(out, ",", 1);
        if (entry.name_length)
            put_json_text(out, entry.name, entry.name_length);
        else
            nvt_buffer_printf(out, "\"%" PRIu64 "\"", i);
        nvt_buffer_append(out, ":", 1);
        put_entry(source, &entry, depth, out);
    }
    nvt_buffer_append(out, "}", 1);
}

static void put_hex(struct nvt_buffer *out, const uint8_t *data, uint64_t size)
{
    nvt_buffer_printf(out, "\"0x");
    for (uint64_t i = 0; i < size && i < 256; i++)
        nvt_buffer_printf(out, "%02x", data[i]);
    nvt_buffer_printf(out, "\"");
}

void nvt_payload_text(const struct nvt_nvt_reader *reader, const struct nvt_nvt_process *process,
                      const struct nvt_blob *blob, uint64_t *left, struct nvt_buffer *out)
{
    /* Without any bytes in the file there is nothing to point into. */
    if (!blob->size)
        return;
    const uint8_t *bytes = reader->blobs.data + blob->offset;
    struct nvt_cursor cursor = {bytes, bytes + blob->size};
    for (int i = 0; cursor.at && cursor.at < cursor.end; i++) {
        uint64_t id = nvt_cursor_number(&cursor, 8), size = nvt_cursor_number(&cursor, 8);
        const uint8_t *data = nvt_cursor_bytes(&cursor, size);
        if (!data || !*left)
            break;
        struct source source = {reader, process, data, size, &cursor, left};
        const struct nvt_blob *schema = find_schema(&source, id);
        struct type type = type_of(id);
        if (i)
            nvt_buffer_append(out, " ", 1);
        if (schema && schema->is_enum)
            put_enum(&source, schema, data, size, out);
        else if (schema)
            put_object(&source, schema, 0, out);
        else if (is_text(id))
            put_json_text(out, data, spend(&source, size) ? 0 : size);
        else if (spend(&source, 1 + (size < 256 ? size : 256)))
            break;
        else if (type.size && (uint64_t)type.size <= size)
            put_number(out, type, data);
        else
            put_hex(out, data, size);
    }
}
