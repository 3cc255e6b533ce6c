#include "event_columns.h"

#include <string.h>

int nvt_event_column_put(struct nvt_buffer *payload, enum nvt_event_column id,
                         const struct nvt_buffer *column)
{
    return column->size &&
                   (nvt_buffer_varint(payload, id) || nvt_buffer_varint(payload, column->size) ||
                    nvt_buffer_append(payload, column->data, column->size))
               ? -1
               : 0;
}

int nvt_event_columns_open(struct nvt_event_columns *columns, const struct nvt_chunk *chunk,
                           const uint8_t *payload)
{
    struct nvt_cursor cursor = {payload, payload + chunk->raw_size};
    memset(columns, 0, sizeof(*columns));
    while (cursor.at && cursor.at < cursor.end) {
        uint64_t id = nvt_cursor_varint(&cursor), size = nvt_cursor_varint(&cursor);
        const uint8_t *bytes = nvt_cursor_bytes(&cursor, size);
        if (!bytes)
            return -1;
        struct nvt_cursor column = {bytes, bytes + size};
        switch (id) {
        case NVT_COLUMN_TOKENS:
            columns->tokens = column;
            break;
        case NVT_COLUMN_TIMES:
            columns->times = column;
            break;
        case NVT_COLUMN_DOMAINS:
            columns->domains = column;
            break;
        case NVT_COLUMN_ATTRIBUTES:
            columns->attributes = column;
            break;
        case NVT_COLUMN_RANGE_IDS:
            columns->range_ids = column;
            break;
        case NVT_COLUMN_SAMPLES:
            columns->samples = column;
            break;
        case NVT_COLUMN_TASKS:
            columns->tasks = column;
            break;
        default:
            break;
        }
    }
    columns->ticks = chunk->first;
    columns->domain_run = columns->domains.at ? 0 : UINT64_MAX;
    columns->next_attribute =
        columns->attributes.at ? nvt_cursor_varint(&columns->attributes) : UINT64_MAX;
    columns->next_sample = columns->samples.at ? nvt_cursor_varint(&columns->samples) : UINT64_MAX;
    columns->next_task = columns->tasks.at ? nvt_cursor_varint(&columns->tasks) : UINT64_MAX;
    return cursor.at ? 0 : -1;
}

int nvt_event_run(struct nvt_event_columns *columns)
{
    columns->domain = nvt_cursor_varint(&columns->domains);
    columns->domain_run = nvt_cursor_varint(&columns->domains);
    return columns->domains.at && columns->domain_run && columns->domain <= 65535 ? 0 : -1;
}

/* The number of the next event that has something in a column, behind what it says of this one. */
static int step(struct nvt_cursor *in, uint64_t *next)
{
    if (!in->at)
        return -1;
    *next = in->at < in->end ? *next + nvt_cursor_varint(in) : UINT64_MAX;
    return in->at ? 0 : -1;
}

int nvt_event_attributes(struct nvt_event_columns *columns, struct nvt_event_attributes *out)
{
    struct nvt_cursor *in = &columns->attributes;
    *out = (struct nvt_event_attributes){.from = in->at};
    out->flags = nvt_cursor_varint(in);
    if (out->flags & NVT_ATTRIBUTE_CATEGORY)
        out->category = (uint32_t)nvt_cursor_varint(in);
    if (out->flags & NVT_ATTRIBUTE_COLOR)
        out->color = (uint32_t)nvt_cursor_number(in, 4);
    if (out->flags & NVT_ATTRIBUTE_PAYLOAD) {
        out->payload_type = (uint32_t)nvt_cursor_varint(in);
        out->payload = nvt_cursor_varint(in);
    }
    if (out->flags & NVT_ATTRIBUTE_SCHEMA) {
        out->size = nvt_cursor_varint(in);
        out->bytes = nvt_cursor_bytes(in, out->size);
    }
    out->to = in->at;
    return step(in, &columns->next_attribute);
}

int nvt_event_sample(struct nvt_event_columns *columns, struct nvt_event_sample *out)
{
    struct nvt_cursor *in = &columns->samples;
    *out = (struct nvt_event_sample){.counter = nvt_cursor_varint(in)};
    out->clock = (uint8_t)nvt_cursor_varint(in);
    if (out->clock)
        out->time = nvt_unzigzag(nvt_cursor_varint(in));
    return step(in, &columns->next_sample);
}

int nvt_event_task(struct nvt_event_columns *columns)
{
    uint64_t from = columns->next_task;
    /* Of several that begin with the same event the last one counts: the thread has changed twice before it made one. */
    while (columns->next_task == from) {
        columns->task = nvt_cursor_varint(&columns->tasks);
        if (step(&columns->tasks, &columns->next_task))
            return -1;
    }
    return columns->task <= UINT32_MAX ? 0 : -1;
}

int nvt_event_range(struct nvt_event_columns *columns, uint64_t *range)
{
    columns->range += (uint64_t)nvt_unzigzag(nvt_cursor_varint(&columns->range_ids));
    *range = columns->range;
    return columns->range_ids.at ? 0 : -1;
}
