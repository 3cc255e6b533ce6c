/*
 * Chunks OS_CALLS of our own format: calls of the operating system's libraries of a thread (docs/trace-format.md).
 */
#include "../../lib/buffer.h"
#include "nvt.h"

static int read_row(struct nvt_cursor *cursor, uint64_t fields[NVT_OS_ROW_FIELDS])
{
    const uint64_t size = nvt_cursor_varint(cursor);
    const uint8_t *bytes = nvt_cursor_bytes(cursor, size);
    struct nvt_cursor row = {bytes, bytes ? bytes + size : NULL};
    /* Later fields are skipped, and those that an earlier version lacks are 0. */
    for (size_t i = 0; i < NVT_OS_ROW_FIELDS; i++)
        fields[i] = row.at && row.at < row.end ? nvt_cursor_varint(&row) : 0;
    return row.at ? 0 : -1;
}

/* What the file of this number is called, 0: nobody knows. */
static uint32_t name_of(const struct nvt_map *files, uint64_t number)
{
    uint32_t name = number ? nvt_map_get(files, number) : NVT_MAP_NONE;
    return name == NVT_MAP_NONE ? 0 : name;
}

int nvt_nvt_read_os(struct nvt_nvt_reader *reader, const struct nvt_chunk *chunk,
                    struct nvt_cursor cursor)
{
    uint64_t fields[NVT_OS_ROW_FIELDS], start = chunk->first, address = 0;
    if (chunk->thread >= reader->thread_count)
        return -1;
    struct nvt_nvt_thread *thread = &reader->threads[chunk->thread];
    const struct nvt_map *files = &reader->processes[thread->process].files;
    for (uint32_t i = 0; i < chunk->count && !reader->lanes; i++) {
        if (read_row(&cursor, fields))
            return -1;
        start += (uint64_t)nvt_unzigzag(fields[NVT_OS_ROW_START]);
        address += (uint64_t)nvt_unzigzag(fields[NVT_OS_ROW_ADDRESS]);
        uint64_t end = start + fields[NVT_OS_ROW_LENGTH];
        const struct nvt_os_call row = {
            .start = (int64_t)start,
            .end = (int64_t)end,
            .thread = thread->row,
            .name = nvt_file_string(&reader->strings, fields[NVT_OS_ROW_NAME]),
            .result = nvt_unzigzag(fields[NVT_OS_ROW_RESULT]),
            .file = name_of(files, fields[NVT_OS_ROW_FILE]),
            .caller = name_of(files, fields[NVT_OS_ROW_CALLER]),
            .address = address,
            .bytes = fields[NVT_OS_ROW_BYTES],
            .flags = fields[NVT_OS_ROW_FLAGS] & 1 ? NVT_RANGE_UNCLOSED : 0};
        if (end < start || nvt_os_call_add(reader->trace, &row) == NVT_NONE)
            return -1;
        if (!row.flags && end > thread->last_call)
            thread->last_call = end;
    }
    return 0;
}
