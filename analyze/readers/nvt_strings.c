#include "nvt_strings.h"

#include <stdlib.h>

#include "../../lib/grow.h"

static int append(struct nvt_file_strings *strings, uint32_t id)
{
    if (nvt_grow(&strings->ids, strings->count, sizeof(*strings->ids)))
        return -1;
    strings->ids[strings->count++] = id;
    return 0;
}

int nvt_file_strings_read(struct nvt_file_strings *strings, const struct nvt_chunk *chunk,
                          struct nvt_cursor cursor, struct nvt_strings *to)
{
    if (chunk->first != strings->count)
        return -1;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t length = nvt_cursor_varint(&cursor);
        const uint8_t *text = nvt_cursor_bytes(&cursor, length);
        uint32_t id =
            text ? nvt_strings_add(to, (const char *)text, (size_t)length) : NVT_NO_STRING;
        if (id == NVT_NO_STRING || append(strings, id))
            return -1;
    }
    return 0;
}

void nvt_file_strings_free(struct nvt_file_strings *strings)
{
    free(strings->ids);
    *strings = (struct nvt_file_strings){0};
}
