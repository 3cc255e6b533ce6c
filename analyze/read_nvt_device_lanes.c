/*
 * Kernels, other operations and API calls of chunks about devices, into lanes. Most columns are of
 * no interest there, and are not looked at.
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

/* Kernels and calls may be read by two threads at once. */
static void give_up(const struct nvt_device_chunk *chunk)
{
    __atomic_store_n(&chunk->reader->lanes->complex_rows, 1, __ATOMIC_RELAXED);
}

static void count_untimed(const struct nvt_device_chunk *chunk, uint64_t count)
{
    __atomic_fetch_add(&chunk->devices->untimed, count, __ATOMIC_RELAXED);
}

/* 0, or -1 when out of memory. */
static inline int add_op(const struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                         uint32_t name)
{
    struct nvt_lanes *lanes = chunk->reader->lanes->lanes;
    uint32_t length;
    if (!fits(times, &length)) {
        give_up(chunk);
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
        give_up(chunk);
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
        count_untimed(chunk, 1);
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

static int put_kernels(struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                       const uint64_t *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nvt_device_name *known = nvt_device_known(chunk, names[i]);
        if (known->full == NVT_NO_STRING)
            known->full = nvt_device_full_name(chunk, nvt_device_name_at(chunk, names[i]));
        if (known->full == NVT_NO_STRING || add_op(chunk, &times[i], known->full))
            return -1;
    }
    return 0;
}

static int put_calls(struct nvt_device_chunk *chunk, const struct nvt_device_times *times,
                     const uint64_t *tids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nvt_device_find_caller(chunk, tids[i]) || add_call(chunk, &times[i], chunk->caller))
            return -1;
    return 0;
}

/* The times of a block of rows that have some, and with them one field more. Returns how many. */
static size_t take_block(struct nvt_device_chunk *chunk, struct nvt_device_group *group,
                         size_t count, uint32_t field, struct nvt_device_times *times,
                         uint64_t *values)
{
    uint64_t start[NVT_DEVICE_BLOCK], length[NVT_DEVICE_BLOCK], id[NVT_DEVICE_BLOCK];
    size_t kept = 0;
    nvt_device_column_take(&group->column[NVT_ROW_START], start, count);
    nvt_device_column_take(&group->column[NVT_ROW_END], length, count);
    nvt_device_column_take(&group->column[NVT_ROW_CORRELATION], id, count);
    nvt_device_column_take(&group->column[field], values, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t end = start[i] + (uint64_t)nvt_unzigzag(length[i]);
        times[kept] = (struct nvt_device_times){start[i], end, id[i]};
        values[kept] = values[i];
        kept += start[i] && end;
    }
    count_untimed(chunk, count - kept);
    return kept;
}

int nvt_device_lane_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group)
{
    struct nvt_device_times times[NVT_DEVICE_BLOCK];
    uint64_t values[NVT_DEVICE_BLOCK];
    int is_kernel = group->kind == NVT_DEVICE_KERNEL, status = 0;
    uint32_t field = is_kernel ? NVT_OP_NAME : NVT_CALL_THREAD;
    for (uint32_t left = group->rows, count; left && !status; left -= count) {
        count = left < NVT_DEVICE_BLOCK ? left : NVT_DEVICE_BLOCK;
        size_t kept = take_block(chunk, group, count, field, times, values);
        status = is_kernel ? put_kernels(chunk, times, values, kept)
                           : put_calls(chunk, times, values, kept);
    }
    return status;
}
