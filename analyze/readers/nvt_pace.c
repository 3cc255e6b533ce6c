#include "nvt_pace.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/os_calls.h"
#include "nvt.h"

/* What was looked at so long before the end counts as seen there. */
#define NEAR_NS INT64_C(1000000000)

/* --- before the cut ---------------------------------------------------------------------------------- */

int nvt_file_read_pace(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                       struct nvt_cursor cursor)
{
    if (chunk->process >= reader->process_count)
        return -1;
    const struct nvt_file_process *process = &reader->processes[chunk->process];
    struct nvt_earlier_pace row = {.process = process->row,
                                   .number = nvt_cursor_varint(&cursor),
                                   .longest = (int64_t)nvt_cursor_varint(&cursor),
                                   .begun = (int64_t)chunk->first,
                                   .moved = (int64_t)chunk->last};
    if (!cursor.at || nvt_earlier_pace_add(reader->trace, &row) == NVT_NONE)
        return -1;
    row.what = 1;
    for (uint32_t i = 0; i < chunk->count; i++) {
        row.name = nvt_file_string(&reader->strings, nvt_cursor_varint(&cursor));
        const uint64_t number = nvt_cursor_varint(&cursor);
        row.number = nvt_cursor_varint(&cursor);
        row.longest = (int64_t)nvt_cursor_varint(&cursor);
        row.domain = number ? nvt_map_get(&process->domains, number) : 0;
        if (!cursor.at)
            return -1;
        if (row.domain != NVT_MAP_NONE && nvt_earlier_pace_add(reader->trace, &row) == NVT_NONE)
            return -1;
    }
    return 0;
}

/* A time that ended with the last event, as that is where the clock is known. */
static int64_t length_of(const struct nvt_file_reader *reader, int64_t end, int64_t length)
{
    const uint64_t from = length < 0 || length > end ? 0 : (uint64_t)(end - length);
    const int64_t ns = nvt_file_time(reader, (uint64_t)end) - nvt_file_time(reader, from);
    return ns > 0 ? ns : 0;
}

static void complete_earlier(struct nvt_file_reader *reader)
{
    struct nvt_earlier *earlier = &reader->trace->earlier;
    if (!reader->sample_count)
        earlier->count = 0;
    for (uint32_t i = 0; i < earlier->count; i++) {
        earlier->longest[i] = length_of(reader, earlier->begun[i], earlier->longest[i]);
        earlier->begun[i] = nvt_file_time(reader, (uint64_t)earlier->begun[i]);
        earlier->moved[i] = nvt_file_time(reader, (uint64_t)earlier->moved[i]);
    }
}

/* --- looks ------------------------------------------------------------------------------------------- */

int nvt_file_read_look(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                       struct nvt_cursor cursor)
{
    struct nvt_file_looks *looks = &reader->looks;
    if (chunk->process >= reader->process_count)
        return -1;
    for (uint32_t i = 0; i < chunk->count; i++) {
        const uint64_t tid = nvt_cursor_varint(&cursor);
        const uint32_t call = nvt_file_string(&reader->strings, nvt_cursor_varint(&cursor));
        if (!cursor.at || nvt_grow(&looks->items, looks->count, sizeof(*looks->items)))
            return -1;
        looks->items[looks->count++] = (struct nvt_file_look){
            chunk->last, (int64_t)tid, reader->processes[chunk->process].row, call};
    }
    return 0;
}

/* Whether a thread may bring others what they wait for: it runs, or waits for something from outside or until a time. */
static int feeds(const char *call)
{
    const struct nvt_os_call_info *info = nvt_os_call_find(call);
    return !strcmp(call, "running") || nvt_os_has_deadline(call) ||
           (info && nvt_os_waits_outside(info));
}

static void apply(struct nvt_trace *trace, const struct nvt_file_look *look)
{
    struct nvt_threads *threads = &trace->threads;
    int is_known = 0;
    for (uint32_t i = 0; i < threads->count; i++)
        if (threads->tid[i] == look->tid && threads->process[i] == look->process) {
            threads->waits[i] = look->call;
            is_known = 1;
        }
    if (!is_known && feeds(nvt_name(trace, look->call)))
        trace->processes.is_fed[look->process] = 1;
}

void nvt_file_complete_pace(struct nvt_file_reader *reader)
{
    const struct nvt_trace *trace = reader->trace;
    const struct nvt_parts *parts = &trace->parts;
    complete_earlier(reader);
    if (!reader->sample_count)
        return;
    int64_t end = nvt_file_time(reader, reader->samples[reader->sample_count - 1].ticks);
    if (nvt_trace_meta(trace, "recorded") && parts->count && parts->closed[parts->count - 1] < end)
        end = parts->closed[parts->count - 1];
    for (size_t i = 0; i < reader->looks.count; i++)
        if (nvt_file_time(reader, reader->looks.items[i].ticks) + NEAR_NS >= end)
            apply(reader->trace, &reader->looks.items[i]);
}

void nvt_file_looks_free(struct nvt_file_looks *looks)
{
    free(looks->items);
    *looks = (struct nvt_file_looks){0};
}
