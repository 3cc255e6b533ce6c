/*
 * The decoder of NVTX's extended payloads, on schemas, enumerations and payloads of any bytes. What
 * comes first in the input is a list of definitions: a byte for their number, and for each its id,
 * whether it is an enumeration, two bytes of length and its bytes. The rest is the payload.
 */
#include <stdlib.h>

#include "../../analyze/readers/nvt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEFINITIONS 16

/* What a payload may stand for: less than the readers allow, so that there are hundreds a second. */
#define BUDGET 20000

/* Ids of schemas that programs register start here (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START). */
#define FIRST_ID (UINT64_C(1) << 24)

static void define(struct nvt_file_reader *reader, struct nvt_file_process *process,
                   struct nvt_cursor *cursor)
{
    uint64_t id = nvt_cursor_number(cursor, 1), is_enum = nvt_cursor_number(cursor, 1) & 1;
    uint64_t length = nvt_cursor_number(cursor, 2);
    const uint8_t *bytes = nvt_cursor_bytes(cursor, length);
    uint32_t *at = bytes ? nvt_map_at(&process->schemas, FIRST_ID + id) : NULL;
    if (!at)
        return;
    *at = reader->schema_count;
    reader->schemas[reader->schema_count++] =
        (struct nvt_blob){reader->blobs.size, (size_t)length, (int)is_enum};
    if (nvt_buffer_append(&reader->blobs, bytes, (size_t)length))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nvt_blob schemas[DEFINITIONS];
    struct nvt_file_reader reader = {.schemas = schemas};
    struct nvt_file_process process = {0};
    struct nvt_buffer text = {0};
    struct nvt_cursor cursor = {data, data + size};
    uint64_t definitions = nvt_cursor_number(&cursor, 1) % (DEFINITIONS + 1);
    for (uint64_t i = 0; i < definitions && cursor.at; i++)
        define(&reader, &process, &cursor);
    if (cursor.at) {
        struct nvt_blob blob = {reader.blobs.size, (size_t)(cursor.end - cursor.at), 0};
        uint64_t before = BUDGET, left = before;
        if (nvt_buffer_append(&reader.blobs, cursor.at, blob.size))
            abort();
        nvt_payload_text(&reader, &process, &blob, &left, &text);
        /* Brackets of what is open at the end come on top. */
        if (left > before || text.size > 32 * (before - left) + 1024)
            abort();
    }
    nvt_map_free(&process.schemas);
    nvt_buffer_free(&reader.blobs);
    nvt_buffer_free(&text);
    return 0;
}
