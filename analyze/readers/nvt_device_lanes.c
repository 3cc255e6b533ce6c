/*
 * Kernels, other operations and API calls of chunks about devices, into lanes. Most columns are of
 * no interest there, and are not looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../model/cuda_names.h"
#include "nvt_device_chunk.h"

/* Later than any clock shows. */
#define TIME_MOST ((uint64_t)NVT_LANES_TIME)

/* Rows that are read together, whose times are known: as columns have them. */
struct block {
    uint64_t start[NVT_DEVICE_BLOCK], length[NVT_DEVICE_BLOCK]; /* zigzag of the difference */
    uint64_t id[NVT_DEVICE_BLOCK];
    uint64_t value[NVT_DEVICE_BLOCK]; /* the number of a kernel's name, or the tid of a call */
};

/* Kernels and calls may be read by two threads at once. */
static void give_up(const struct nvt_device_chunk *chunk)
{
    __atomic_store_n(&chunk->reader->lanes->complex_rows, 1, __ATOMIC_RELAXED);
}

static void count_untimed(const struct nvt_device_chunk *chunk, uint64_t count)
{
    __atomic_fetch_add(&chunk->devices->untimed, count, __ATOMIC_RELAXED);
}

/* Whether lanes take a row; else that is noted. *length gets the time between. */
static inline int is_taken(const struct nvt_device_chunk *chunk, const struct block *block,
                           size_t i, uint32_t *length)
{
    uint64_t start = block->start[i], end = start + (uint64_t)nvt_unzigzag(block->length[i]);
    int is_timed = nvt_device_is_timed(start, end);
    uint64_t ns = end - start;
    *length = (uint32_t)ns;
    if (is_timed && start < TIME_MOST && ns <= UINT32_MAX && block->id[i] < UINT32_MAX)
        return 1;
    if (is_timed)
        give_up(chunk);
    else
        count_untimed(chunk, 1);
    return 0;
}

/* The model's name of a kernel. NVT_NO_STRING when out of memory. */
static inline uint32_t name_of(const struct nvt_device_chunk *chunk, uint64_t number)
{
    struct nvt_device_name *known = nvt_device_known(chunk, number);
    if (known->full == NVT_NO_STRING)
        known->full = nvt_device_full_name(chunk, nvt_device_name_at(chunk, number));
    return known->full;
}

/* Operations; those that are no kernels have the name NVT_NONE instead of their own. 0, or -1 when
 * out of memory. */
static int put_ops(const struct nvt_device_chunk *chunk, const struct block *block, size_t count,
                   int are_kernels)
{
    struct nvt_lanes *lanes = chunk->reader->lanes->lanes;
    if (nvt_lanes_reserve_ops(lanes, count))
        return -1;
    struct nvt_lane_op *to = lanes->ops + lanes->op_count;
    uint32_t length, name = NVT_NONE;
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        if (!is_taken(chunk, block, i, &length))
            continue;
        if (are_kernels)
            failed = (name = name_of(chunk, block->value[i])) == NVT_NO_STRING;
        *to++ = (struct nvt_lane_op){(int64_t)block->start[i], length, name, (uint32_t)block->id[i],
                                     chunk->process};
    }
    lanes->op_count = (uint32_t)(to - lanes->ops);
    return failed ? -1 : 0;
}

/* The calls of a thread; NULL when out of memory. */
static struct nvt_file_calls *calls_of(const struct nvt_device_chunk *chunk, uint32_t caller)
{
    struct nvt_file_lanes *lanes = chunk->reader->lanes;
    if (nvt_reserve_zeroed(&lanes->callers, &lanes->caller_count, caller + (size_t)1,
                           sizeof(*lanes->callers)))
        return NULL;
    return &lanes->callers[caller];
}

/* Rows from `from` to `end` are calls of one thread. 0, or -1 when out of memory. */
static int put_calls_of(const struct nvt_device_chunk *chunk, struct nvt_file_calls *of,
                        const struct block *block, size_t from, size_t end)
{
    struct nvt_lane_ids ids = chunk->reader->lanes->lanes->ids[chunk->process];
    if (nvt_lane_calls_reserve(&of->calls, end - from))
        return -1;
    struct nvt_lane_call *to = of->calls.items + of->calls.count;
    uint64_t last = of->last;
    uint32_t length;
    int unsure = of->unsure;
    for (size_t i = from; i < end; i++) {
        if (!is_taken(chunk, block, i, &length))
            continue;
        uint32_t id = (uint32_t)block->id[i];
        unsure |= block->start[i] <= last;
        last = block->start[i];
        *to++ = (struct nvt_lane_call){(int64_t)last, length, id};
        ids.low = id && id < ids.low ? id : ids.low;
        ids.high = id > ids.high ? id : ids.high;
        ids.calls += id && ids.calls < UINT32_MAX;
    }
    of->calls.count = (uint32_t)(to - of->calls.items);
    of->last = last;
    of->unsure = unsure;
    chunk->reader->lanes->lanes->ids[chunk->process] = ids;
    return 0;
}

static int put_calls(struct nvt_device_chunk *chunk, const struct block *block, size_t count)
{
    for (size_t from = 0, end; from < count; from = end) {
        for (end = from + 1; end < count && block->value[end] == block->value[from];)
            end++;
        struct nvt_file_calls *of = nvt_device_find_caller(chunk, block->value[from])
                                        ? NULL
                                        : calls_of(chunk, chunk->caller);
        if (!of || put_calls_of(chunk, of, block, from, end))
            return -1;
    }
    return 0;
}

int nvt_device_lane_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group)
{
    struct block block;
    int is_kernel = group->kind == NVT_DEVICE_KERNEL, status = 0;
    uint32_t field = is_kernel ? NVT_OP_NAME : NVT_CALL_THREAD;
    for (uint32_t left = group->rows, count; left && !status; left -= count) {
        count = left < NVT_DEVICE_BLOCK ? left : NVT_DEVICE_BLOCK;
        nvt_packed_take(&group->column[NVT_ROW_START], block.start, count);
        nvt_packed_take(&group->column[NVT_ROW_END], block.length, count);
        nvt_packed_take(&group->column[NVT_ROW_CORRELATION], block.id, count);
        nvt_packed_take(&group->column[field], block.value, count);
        status = is_kernel ? put_ops(chunk, &block, count, 1) : put_calls(chunk, &block, count);
    }
    return status;
}

/* --- other rows --- */

static int lane_graph(const struct nvt_device_chunk *chunk, struct block *block, uint64_t graph)
{
    char text[NVT_GRAPH_NAME_MAX];
    uint32_t name = nvt_strings_add_text(chunk->trace->strings, nvt_graph_name(graph, text));
    struct nvt_lanes *lanes = chunk->reader->lanes->lanes;
    uint32_t before = lanes->op_count;
    if (name == NVT_NO_STRING || put_ops(chunk, block, 1, 0))
        return -1;
    if (lanes->op_count > before)
        lanes->ops[before].name = name;
    return 0;
}

int nvt_device_lane_row(struct nvt_device_chunk *chunk, const struct nvt_device_row *row)
{
    struct block block;
    block.start[0] = row->fields[NVT_ROW_START];
    block.length[0] = nvt_zigzag((int64_t)(row->fields[NVT_ROW_END] - row->fields[NVT_ROW_START]));
    block.id[0] = row->fields[NVT_ROW_CORRELATION];
    block.value[0] = row->fields[row->kind == NVT_DEVICE_API ? NVT_CALL_THREAD : NVT_OP_NAME];
    switch (row->kind) {
    case NVT_DEVICE_KERNEL:
        return put_ops(chunk, &block, 1, 1);
    case NVT_DEVICE_MEMCPY:
    case NVT_DEVICE_MEMSET:
        return put_ops(chunk, &block, 1, 0);
    case NVT_DEVICE_GRAPH:
        return lane_graph(chunk, &block, row->fields[NVT_OP_GRAPH]);
    case NVT_DEVICE_API:
        return put_calls(chunk, &block, 1);
    default:
        if (row->kind > NVT_DEVICE_EXTERNAL)
            return nvt_device_read_row(chunk, row);
        /* Nobody asks for them, but for how many have no times. */
        if (row->kind < NVT_DEVICE_TIMED && nvt_device_knows(row->kind) &&
            !nvt_device_is_timed(row->fields[NVT_ROW_START], row->fields[NVT_ROW_END]))
            count_untimed(chunk, 1);
        return 0;
    }
}
