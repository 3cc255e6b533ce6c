/*
 * Chunks OS_CALLS of our own format: calls of the operating system's libraries of a thread (docs/trace-format.md).
 */
#include <stdlib.h>

#include "../../lib/bisect.h"
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

/* One that has not ended is kept until it is known that no other follows. 0, or -1 when out of memory. */
static int take_row(struct nvt_file_reader *reader, struct nvt_file_thread *thread,
                    const struct nvt_os_call *row)
{
    struct nvt_os_call *open = thread->open_call;
    if (row->flags) {
        thread->open_call = open ? open : malloc(sizeof(*open));
        if (!thread->open_call)
            return -1;
        *thread->open_call = *row;
        return 0;
    }
    if (open && row->start >= open->start) {
        free(open);
        thread->open_call = NULL;
    }
    if ((uint64_t)row->end > thread->last_call)
        thread->last_call = (uint64_t)row->end;
    return nvt_os_call_add(reader->trace, row) == NVT_NONE ? -1 : 0;
}

int nvt_file_read_os(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                     struct nvt_cursor cursor)
{
    uint64_t fields[NVT_OS_ROW_FIELDS], start = chunk->first, address = 0;
    if (chunk->thread >= reader->thread_count)
        return -1;
    struct nvt_file_thread *thread = &reader->threads[chunk->thread];
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
            .holder = (uint32_t)fields[NVT_OS_ROW_HOLDER],
            .flags = fields[NVT_OS_ROW_FLAGS] & 1 ? NVT_RANGE_UNCLOSED : 0};
        if (end < start || take_row(reader, thread, &row))
            return -1;
    }
    return 0;
}

static int compare_waits(const void *left, const void *right)
{
    const struct nvt_file_wait *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

/* The first that is not before a thread's call. */
static size_t first_wait(const struct nvt_file_waits *waits, uint32_t thread, int64_t start)
{
    const struct nvt_file_wait call = {.thread = thread, .ticks = start};
    size_t first = 0;
    NVT_BISECT(first, waits->count, compare_waits(&waits->items[first], &call) < 0);
    return first;
}

/* Each belongs to the call that its thread was in. */
static void place_waits(struct nvt_file_reader *reader)
{
    struct nvt_file_waits *waits = &reader->waits;
    struct nvt_os_calls *calls = &reader->trace->os_calls;
    if (waits->count)
        qsort(waits->items, waits->count, sizeof(*waits->items), compare_waits);
    for (uint32_t i = 0; waits->count && i < calls->count; i++) {
        size_t at = first_wait(waits, calls->thread[i], calls->start[i]);
        if (at < waits->count && waits->items[at].thread == calls->thread[i] &&
            waits->items[at].ticks <= calls->end[i])
            calls->frame[i] = waits->items[at].frame;
    }
}

int nvt_file_complete_os(struct nvt_file_reader *reader)
{
    uint64_t last = reader->sample_count ? reader->samples[reader->sample_count - 1].ticks : 0;
    int status = 0;
    for (uint32_t i = 0; i < reader->thread_count && !status; i++) {
        struct nvt_os_call *call = reader->threads[i].open_call;
        if (!call)
            continue;
        /* It goes on until its thread ends, or the recording. */
        uint64_t until = reader->threads[i].ended ? reader->threads[i].ended : last;
        if (until <= INT64_MAX && (int64_t)until > call->end)
            call->end = (int64_t)until;
        status = nvt_os_call_add(reader->trace, call) == NVT_NONE;
    }
    if (!status)
        place_waits(reader);
    return status ? -1 : 0;
}
