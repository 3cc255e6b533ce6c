/*
 * Chunks CPU_SAMPLES of our own format: samples of what a thread runs (docs/trace-format.md).
 */
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../../lib/python_stacks.h"
#include "nvt.h"

/* So many varints, of which the first `known` are kept; those that an earlier version lacks are 0. */
static int read_fields(struct nvt_cursor *cursor, uint64_t count, uint64_t *fields, uint64_t known)
{
    for (uint64_t i = 0; i < count && cursor->at; i++) {
        uint64_t value = nvt_cursor_varint(cursor);
        if (i < known)
            fields[i] = value;
    }
    for (uint64_t i = count; i < known; i++)
        fields[i] = 0;
    return cursor->at ? 0 : -1;
}

/* Rows of call_frames, and 1, of the chunk's frames, by their numbers. NULL: malformed, or out of memory. */
static uint32_t *read_frames(struct nvt_file_reader *reader, struct nvt_cursor *cursor,
                             uint64_t *count)
{
    uint64_t fields[NVT_CPU_FRAME_FIELDS];
    *count = nvt_cursor_varint(cursor);
    uint64_t width = nvt_cursor_varint(cursor);
    if (!cursor->at || width < 1 || *count > (uint64_t)(cursor->end - cursor->at) / width)
        return NULL;
    uint32_t *rows = calloc((size_t)*count + 1, sizeof(*rows));
    for (uint64_t i = 1; rows && i <= *count; i++) {
        int is_wrong = read_fields(cursor, width, fields, NVT_CPU_FRAME_FIELDS) ||
                       fields[NVT_CPU_FRAME_PARENT] >= i;
        if (!is_wrong)
            rows[i] =
                nvt_frames_below(&reader->frames, reader->trace, rows[fields[NVT_CPU_FRAME_PARENT]],
                                 nvt_file_string(&reader->strings, fields[NVT_CPU_FRAME_NAME]),
                                 nvt_file_string(&reader->strings, fields[NVT_CPU_FRAME_MODULE]));
        if (is_wrong || !rows[i]) {
            free(rows);
            return NULL;
        }
    }
    return rows;
}

/* 0, or -1 when out of memory. */
static int keep_wait(struct nvt_file_waits *waits, const struct nvt_cpu_sample *row)
{
    if (nvt_grow(&waits->items, waits->count, sizeof(*waits->items)))
        return -1;
    waits->items[waits->count++] =
        (struct nvt_file_wait){.thread = row->thread, .frame = row->frame, .ticks = row->time};
    return 0;
}

static uint8_t flags_of(uint64_t flags)
{
    uint64_t python = flags / NVT_CPU_ROW_PYTHON % 16;
    return (uint8_t)((flags & NVT_CPU_ROW_ALONE ? NVT_CPU_SAMPLE_NO_CALLERS : 0) |
                     (python < NVT_PYTHON_STATES ? python : 0) * NVT_CPU_SAMPLE_PYTHON);
}

/* 0 or -1. */
static int read_rows(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                     struct nvt_cursor *cursor, const uint32_t *frames, uint64_t frame_count)
{
    uint64_t fields[NVT_CPU_ROW_FIELDS], ticks = chunk->first;
    struct nvt_file_thread *thread = &reader->threads[chunk->thread];
    uint64_t width = nvt_cursor_varint(cursor);
    if (!cursor->at || width < 1)
        return -1;
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (read_fields(cursor, width, fields, NVT_CPU_ROW_FIELDS) ||
            fields[NVT_CPU_ROW_FRAME] > frame_count || fields[NVT_CPU_ROW_CPU] > INT64_MAX / 4 ||
            fields[NVT_CPU_ROW_TIME] > UINT64_MAX - ticks)
            return -1;
        ticks += fields[NVT_CPU_ROW_TIME];
        if (reader->is_cut && ticks < reader->cut)
            continue;
        const struct nvt_cpu_sample row = {.time = (int64_t)ticks,
                                           .thread = thread->row,
                                           .cpu_ns = (int64_t)fields[NVT_CPU_ROW_CPU],
                                           .frame = frames[fields[NVT_CPU_ROW_FRAME]],
                                           .flags = flags_of(fields[NVT_CPU_ROW_FLAGS])};
        if (fields[NVT_CPU_ROW_FLAGS] & NVT_CPU_ROW_WAITS) {
            if (keep_wait(&reader->waits, &row))
                return -1;
            continue;
        }
        if (nvt_cpu_sample_add(reader->trace, &row) == NVT_NONE)
            return -1;
        if (ticks > thread->last_call)
            thread->last_call = ticks;
    }
    return 0;
}

int nvt_file_read_cpu(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                      struct nvt_cursor cursor)
{
    uint64_t count;
    if (chunk->thread >= reader->thread_count)
        return -1;
    if (reader->lanes)
        return 0;
    uint32_t *frames = read_frames(reader, &cursor, &count);
    int status = frames ? read_rows(reader, chunk, &cursor, frames, count) : -1;
    free(frames);
    return status;
}
