/*
 * Kernels, other operations and API calls of a DEVICE chunk, into lanes. Most of what a row has is
 * of no interest there, and is stepped over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"
#include "read_nvt_device_chunk.h"

/* Later than any clock shows. */
#define TIME_MOST ((uint64_t)NVT_LANES_TIME)

/* Whether lanes can hold it; *length gets the time between. */
static inline int fits(const struct nvt_device_times *times, uint32_t *length)
{
    uint64_t ns = times->end > times->start ? times->end - times->start : 0;
    *length = (uint32_t)ns;
    return ns <= UINT32_MAX && times->start < TIME_MOST && times->correlation < UINT32_MAX;
}

/* 0, or -1 when out of memory. */
static inline int add_op(const struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                         uint32_t name)
{
    struct nvt_lanes *lanes = chunk->reader->lanes->lanes;
    uint32_t length;
    if (!fits(times, &length)) {
        chunk->reader->lanes->complex_rows = 1;
        return 0;
    }
    if (lanes->op_count == lanes->op_capacity && nvt_lanes_reserve_ops(lanes, 1))
        return -1;
    lanes->ops[lanes->op_count++] = (struct nvt_lane_op){
        (int64_t)times->start, length, name, (uint32_t)times->correlation, chunk->process};
    return 0;
}

/* The calls of a thread; NULL when out of memory. */
static struct nvt_nvt_calls *calls_of(const struct nvt_device_chunk *chunk, uint32_t caller)
{
    struct nvt_nvt_lanes *lanes = chunk->reader->lanes;
    while (caller >= lanes->caller_count) {
        size_t capacity = lanes->caller_count ? lanes->caller_count * 2 : 1;
        struct nvt_nvt_calls *callers = realloc(lanes->callers, capacity * sizeof(*callers));
        if (!callers)
            return NULL;
        memset(callers + lanes->caller_count, 0,
               (capacity - lanes->caller_count) * sizeof(*callers));
        lanes->callers = callers;
        lanes->caller_count = capacity;
    }
    return &lanes->callers[caller];
}

/* 0, or -1 when out of memory. */
static inline int add_call(const struct nvt_device_chunk *chunk,
                           const struct nvt_device_times *times, uint32_t caller)
{
    struct nvt_nvt_lanes *all = chunk->reader->lanes;
    struct nvt_nvt_calls *to = caller < all->caller_count ? &all->callers[caller]
                               : caller == UINT32_MAX     ? NULL
                                                          : calls_of(chunk, caller);
    struct nvt_lane_ids *ids = &chunk->reader->lanes->lanes->ids[chunk->process];
    uint32_t length, id = (uint32_t)times->correlation;
    if (!to)
        return -1;
    if (!fits(times, &length)) {
        chunk->reader->lanes->complex_rows = 1;
        return 0;
    }
    if (to->calls.count == to->calls.capacity && nvt_lane_calls_reserve(&to->calls, 1))
        return -1;
    to->unsure |= times->start <= to->last;
    to->last = times->start;
    to->calls.items[to->calls.count++] = (struct nvt_lane_call){(int64_t)times->start, length, id};
    if (!id)
        return 0;
    ids->low = id < ids->low ? id : ids->low;
    ids->high = id > ids->high ? id : ids->high;
    ids->calls += ids->calls < UINT32_MAX;
    return 0;
}

static int lane_graph(const struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                      uint64_t graph)
{
    char text[48];
    snprintf(text, sizeof(text), "[CUDA graph %llu]", (unsigned long long)graph);
    uint32_t name = nvt_strings_add_text(chunk->trace->strings, text);
    return name == NVT_NO_STRING ? -1 : add_op(chunk, times, name);
}

static int lane_kernel(const struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                       uint64_t number)
{
    uint32_t mangled = number < chunk->name_count ? chunk->names[number] : 0;
    uint32_t name = nvt_device_full_name(chunk, mangled);
    return name == NVT_NO_STRING ? -1 : add_op(chunk, times, name);
}

int nvt_device_lane_row(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    const struct nvt_device_times times = {row->fields[NVT_ROW_START], row->fields[NVT_ROW_END],
                                           row->fields[NVT_ROW_CORRELATION]};
    int is_timed = times.start && times.end;
    if (row->kind > NVT_DEVICE_EXTERNAL)
        return nvt_device_read_row(chunk, row);
    if (row->kind < NVT_DEVICE_TIMED && row->kind && row->kind <= NVT_DEVICE_OVERHEAD &&
        !is_timed) {
        chunk->devices->untimed++;
        return 0;
    }
    switch (row->kind) {
    case NVT_DEVICE_KERNEL:
        return lane_kernel(chunk, &times, row->fields[NVT_OP_NAME]);
    case NVT_DEVICE_MEMCPY:
    case NVT_DEVICE_MEMSET:
        return add_op(chunk, &times, NVT_NONE);
    case NVT_DEVICE_GRAPH:
        return lane_graph(chunk, &times, row->fields[NVT_OP_GRAPH]);
    case NVT_DEVICE_API:
        return add_call(chunk, &times, nvt_device_caller(chunk, row->fields[NVT_CALL_THREAD]));
    default: /* memory, waits, costs: nobody asks for them */
        return 0;
    }
}

/* Whether nothing but whole numbers stands there. Only where four bytes in a row are not the last
 * of a number can there be one that is too long. */
static int are_numbers(const uint8_t *at, const uint8_t *stop)
{
    const uint8_t *from = at;
    uint32_t four;
    for (; stop - at >= 4; at += 4) {
        memcpy(&four, at, sizeof(four));
        if ((four & 0x80808080u) == 0x80808080u)
            break;
    }
    if (stop - at < 4)
        return 1;
    uint64_t value;
    while (from && from < stop)
        from = nvt_varint_get(from, stop, &value);
    return from != NULL;
}

/* Whether all that was read lies within the row, and what was not is as it has to be. */
static inline int is_sound(const struct nvt_device_fields *fields,
                           const struct nvt_device_times *times)
{
    return fields->at && fields->at <= fields->stop && !(fields->stop[-1] & 0x80) && times->start &&
           times->end && are_numbers(fields->at, fields->stop);
}

/* 1: taken; 0: it is to be read field by field; -1: out of memory. *start gets that of the row. */
static inline int take_kernel(struct nvt_device_chunk *chunk, struct nvt_device_fields *fields,
                              uint64_t *start)
{
    struct nvt_device_times times = nvt_device_times(fields, *start);
    uint64_t number = nvt_device_field(fields);
    if (!is_sound(fields, &times) || number >= chunk->name_count)
        return 0;
    struct nvt_device_name *known = &chunk->known[number];
    if (known->full == NVT_NO_STRING)
        known->full = nvt_device_full_name(chunk, chunk->names[number]);
    if (known->full == NVT_NO_STRING || add_op(chunk, &times, known->full))
        return -1;
    *start = times.start;
    return 1;
}

static inline int take_call(struct nvt_device_chunk *chunk, struct nvt_device_fields *fields,
                            uint64_t *start)
{
    struct nvt_device_times times = nvt_device_times(fields, *start);
    nvt_device_field(fields);
    nvt_device_field(fields);
    uint64_t tid = nvt_device_field(fields);
    if (!is_sound(fields, &times))
        return 0;
    if (chunk->caller == NVT_NONE || chunk->tid != tid) {
        chunk->caller = nvt_device_caller(chunk, tid);
        chunk->tid = tid;
    }
    if (add_call(chunk, &times, chunk->caller))
        return -1;
    *start = times.start;
    return 1;
}

int nvt_device_lane_rows(struct nvt_device_chunk *chunk, struct nvt_device_reader *rows)
{
    int taken = 1, has_pext = nvt_has_pext();
    while (taken > 0 && rows->end - rows->at > 2) {
        uint8_t kind = rows->at[0], size = rows->at[1];
        struct nvt_device_fields fields = {rows->at + 2, rows->at + 2 + size, rows->end, has_pext};
        /* A length of one byte, within the chunk. */
        if (!size || size >= 0x80 || size > rows->end - rows->at - 2)
            break;
        taken = kind == NVT_DEVICE_KERNEL ? take_kernel(chunk, &fields, &rows->last_start)
                : kind == NVT_DEVICE_API  ? take_call(chunk, &fields, &rows->last_start)
                                          : 0;
        if (taken > 0)
            rows->at = fields.stop;
    }
    return taken < 0 ? -1 : 0;
}
