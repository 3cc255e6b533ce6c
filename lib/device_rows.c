#include "device_rows.h"

#include <string.h>

#include "buffer.h"

/* A row's kind and length, and all of its fields, take no more than this. */
#define ROW_MAX ((NVT_DEVICE_FIELDS_MAX + 2) * NVT_VARINT_MAX)

void nvt_device_batch_clear(struct nvt_device_batch *batch)
{
    batch->names_size = batch->rows_size = 0;
    batch->names = batch->rows = batch->records = 0;
    batch->last_start = 0;
    memset(batch->known, 0, sizeof(batch->known));
}

void nvt_device_batch_init(struct nvt_device_batch *batch, void *memory, size_t capacity)
{
    batch->data = memory;
    batch->capacity = capacity;
    nvt_device_batch_clear(batch);
}

static uint8_t *rows_of(const struct nvt_device_batch *batch)
{
    return batch->data + batch->capacity / 2;
}

uint32_t nvt_device_batch_name(struct nvt_device_batch *batch, const char *text)
{
    if (!text)
        text = "";
    size_t half = batch->capacity / 2, length = strnlen(text, half / 2);
    size_t slot = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 11) % NVT_DEVICE_NAMES;
    /* The text is compared as well: its owner may have put another one there. */
    if (batch->known[slot].text == text && batch->known[slot].length == length &&
        !memcmp(batch->data + batch->known[slot].offset, text, length))
        return batch->known[slot].number;
    if (length + NVT_VARINT_MAX > half - batch->names_size)
        return UINT32_MAX;
    uint8_t *at = nvt_varint_put(batch->data + batch->names_size, length);
    memcpy(at, text, length);
    batch->known[slot].text = text;
    batch->known[slot].number = batch->names;
    batch->known[slot].offset = (uint32_t)(at - batch->data);
    batch->known[slot].length = (uint32_t)length;
    batch->names_size = (size_t)(at - batch->data) + length;
    return batch->names++;
}

int nvt_device_batch_add(struct nvt_device_batch *batch, uint32_t kind, const uint64_t *fields,
                         uint32_t count)
{
    uint8_t body[ROW_MAX], *at = body;
    uint64_t start = batch->last_start;
    if (count > NVT_DEVICE_FIELDS_MAX)
        count = NVT_DEVICE_FIELDS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = fields[i];
        if (kind < NVT_DEVICE_TIMED && i == NVT_ROW_START) {
            value = nvt_zigzag((int64_t)(fields[i] - start));
            start = fields[i];
        } else if (kind < NVT_DEVICE_TIMED && i == NVT_ROW_END) {
            value = nvt_zigzag((int64_t)(fields[i] - fields[NVT_ROW_START]));
        }
        at = nvt_varint_put(at, value);
    }
    size_t size = (size_t)(at - body);
    if (size + 2 * NVT_VARINT_MAX > batch->capacity / 2 - batch->rows_size)
        return -1;
    uint8_t *out = nvt_varint_put(rows_of(batch) + batch->rows_size, kind);
    out = nvt_varint_put(out, size);
    memcpy(out, body, size);
    batch->rows_size = (size_t)(out - rows_of(batch)) + size;
    batch->last_start = start;
    batch->rows++;
    batch->records += kind < NVT_DEVICE_TIMED;
    return 0;
}

const uint8_t *nvt_device_batch_names(const struct nvt_device_batch *batch, size_t *size)
{
    *size = batch->names_size;
    return batch->data;
}

const uint8_t *nvt_device_batch_rows(const struct nvt_device_batch *batch, size_t *size)
{
    *size = batch->rows_size;
    return rows_of(batch);
}

int nvt_device_reader_next(struct nvt_device_reader *reader, struct nvt_device_row *row)
{
    uint64_t kind = 0, size = 0;
    const uint8_t *at = reader->at;
    if (at == reader->end)
        return 0;
    at = nvt_varint_get(at, reader->end, &kind);
    at = at ? nvt_varint_get(at, reader->end, &size) : NULL;
    if (!at || kind > UINT32_MAX || size > (uint64_t)(reader->end - at))
        return -1;
    const uint8_t *end = at + size;
    row->kind = (uint32_t)kind;
    row->count = 0;
    while (at && at < end && row->count < NVT_DEVICE_FIELDS_MAX)
        at = nvt_varint_get(at, end, &row->fields[row->count++]);
    if (!at)
        return -1;
    memset(row->fields + row->count, 0,
           (NVT_DEVICE_FIELDS_MAX - row->count) * sizeof(*row->fields));
    if (kind < NVT_DEVICE_TIMED && row->count) {
        reader->last_start += (uint64_t)nvt_unzigzag(row->fields[NVT_ROW_START]);
        row->fields[NVT_ROW_START] = reader->last_start;
        if (row->count > NVT_ROW_END)
            row->fields[NVT_ROW_END] =
                reader->last_start + (uint64_t)nvt_unzigzag(row->fields[NVT_ROW_END]);
    }
    reader->at = end;
    return 1;
}
