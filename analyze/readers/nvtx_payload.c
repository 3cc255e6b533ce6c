#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "nvtx_schema.h"

/* What a payload is read from. */
struct source {
    const struct nvt_file_reader *reader;
    const struct nvt_file_process *process;
    const uint8_t *data;
    uint64_t size;
    struct nvt_cursor *texts; /* of its string pointers, in order */
    uint64_t *left;           /* of the work that may be done, see nvt_payload_text */
};

/* Every value, every enumerator looked at and every byte of a name or text is work. */
static int spend(const struct source *source, uint64_t amount)
{
    return nvt_schema_spend(source->left, amount);
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

static void put_number(struct nvt_buffer *out, struct nvt_nvtx_type type, const uint8_t *data)
{
    static const struct {
        char form;
        int digits;
    } reals[] = {{'f', 9}, {'d', 17}, {'h', 5}, {'b', 4}};
    for (size_t i = 0; i < NVT_COUNT_OF(reals); i++)
        if (type.form == reals[i].form) {
            put_real(out, nvt_nvtx_value(type, data), reals[i].digits);
            return;
        }
    if (type.form == 'i')
        nvt_buffer_printf(out, "%" PRId64, nvt_nvtx_signed(data, type.size));
    else if (type.form == 'u')
        nvt_buffer_printf(out, "%" PRIu64, nvt_nvtx_unsigned(data, type.size));
    else if (type.form == 'c')
        put_json_text(out, data, 1);
    else
        nvt_buffer_printf(out, "\"0x%" PRIx64 "\"", nvt_nvtx_unsigned(data, type.size));
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

/* The name of an enumeration's value, or the number when it has none. */
static void put_enum(const struct source *source, const struct nvt_blob *blob, const uint8_t *data,
                     uint64_t size, struct nvt_buffer *out)
{
    struct nvt_schema schema;
    if (nvt_schema_open(source->reader, blob, &schema) || !schema.size || schema.size > 8 ||
        schema.size > size) {
        nvt_buffer_printf(out, "null");
        return;
    }
    uint64_t value = nvt_nvtx_unsigned(data, (int)schema.size);
    for (uint64_t i = 0; i < schema.count; i++) {
        uint64_t length, known = nvt_cursor_number(&schema.entries, 8);
        nvt_cursor_number(&schema.entries, 8); /* is-flag */
        const uint8_t *name = nvt_cursor_text(&schema.entries, &length);
        if (!name || spend(source, 1))
            break;
        if (known == value && !spend(source, length)) {
            put_json_text(out, name, length);
            return;
        }
    }
    nvt_buffer_printf(out, "%" PRIu64, value);
}

static void put_object(const struct source *source, const struct nvt_blob *blob, int depth,
                       struct nvt_buffer *out);

/* Text in the payload itself, or behind a pointer (then its copy is next in source->texts). */
static void put_text_entry(const struct source *source, const struct nvt_schema_entry *entry,
                           const uint8_t *data, uint64_t size, struct nvt_buffer *out)
{
    uint64_t length = 0;
    if (!entry->detail && !(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY)) {
        const uint8_t *text = nvt_cursor_text(source->texts, &length);
        put_json_text(out, text, text && !spend(source, length) ? length : 0);
        return;
    }
    uint64_t most = entry->detail && entry->detail < size ? entry->detail : size;
    while (length < most && data[length])
        length++;
    put_json_text(out, data, spend(source, length) ? 0 : length);
}

/* One value of an entry's type at `data`. Returns its size, 0 when it cannot be shown. */
static uint64_t put_value(const struct source *source, const struct nvt_schema_entry *entry,
                          const uint8_t *data, uint64_t size, int depth, struct nvt_buffer *out)
{
    struct nvt_nvtx_type type = nvt_nvtx_type(entry->type);
    if (spend(source, 1))
        return 0;
    if (type.size && (uint64_t)type.size <= size) {
        put_number(out, type, data);
        return (uint64_t)type.size;
    }
    const struct nvt_blob *nested =
        type.size ? NULL : nvt_schema_find(source->reader, source->process, entry->type);
    struct nvt_schema schema;
    if (!nested || depth >= NVT_SCHEMA_DEEPEST ||
        nvt_schema_open(source->reader, nested, &schema) || schema.size > size) {
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

static void put_array(const struct source *source, const struct nvt_schema_entry *entry,
                      const uint8_t *data, uint64_t size, int depth, struct nvt_buffer *out)
{
    uint64_t used = 0;
    nvt_buffer_append(out, "[", 1);
    for (uint64_t i = 0; i < entry->detail && i < NVT_SCHEMA_ELEMENTS; i++) {
        if (i)
            nvt_buffer_append(out, ",", 1);
        uint64_t step = put_value(source, entry, data + used, size - used, depth, out);
        if (!step)
            break;
        used += step;
    }
    nvt_buffer_append(out, "]", 1);
}

static void put_entry(const struct source *source, const struct nvt_schema_entry *entry, int depth,
                      struct nvt_buffer *out)
{
    if (entry->offset > source->size) {
        nvt_buffer_printf(out, "null");
        return;
    }
    const uint8_t *data = source->data + entry->offset;
    uint64_t size = source->size - entry->offset;
    if (nvt_nvtx_is_text(entry->type))
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
    struct nvt_schema schema;
    struct nvt_schema_entry entry;
    nvt_buffer_append(out, "{", 1);
    int status = nvt_schema_open(source->reader, blob, &schema);
    for (uint64_t i = 0; !status && i < schema.count; i++) {
        if (nvt_schema_next(&schema, &entry) || spend(source, 1 + entry.name_length))
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

void nvt_payload_text(const struct nvt_file_reader *reader, const struct nvt_file_process *process,
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
        const struct nvt_blob *schema = nvt_schema_find(reader, process, id);
        struct nvt_nvtx_type type = nvt_nvtx_type(id);
        if (i)
            nvt_buffer_append(out, " ", 1);
        if (schema && schema->is_enum)
            put_enum(&source, schema, data, size, out);
        else if (schema)
            put_object(&source, schema, 0, out);
        else if (nvt_nvtx_is_text(id))
            put_json_text(out, data, spend(&source, size) ? 0 : size);
        else if (spend(&source, 1 + (size < 256 ? size : 256)))
            break;
        else if (type.size && (uint64_t)type.size <= size)
            put_number(out, type, data);
        else
            put_hex(out, data, size);
    }
}
