/*
 * memory_segments: what an allocator held from the system when its snapshot was taken, and how much of it nothing fits into: a
 * row for each device, pool of the allocator and stream, as PyTorch's allocator gives room of one to no other.
 *
 * Segments are what was taken from the system at a time. In Use is in blocks that were allocated, or waited for other
 * streams to be done with them, as the allocator rounds their sizes. What is free lies in Split segments, which have blocks in
 * use beside it, so that they cannot be given back, or in Whole ones, which torch.cuda.empty_cache() gives back. Largest is the largest free piece:
 * more than that needs new memory of the system.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../device/devices.h"
#include "report.h"

struct sum {
    uint32_t first; /* row of the segments */
    uint64_t count, reserved, in_use, split, whole, largest;
};

static int is_alike(const struct nvt_segments *segments, uint32_t a, uint32_t b)
{
    return segments->process[a] == segments->process[b] &&
           segments->device[a] == segments->device[b] && segments->pool[a] == segments->pool[b] &&
           segments->stream[a] == segments->stream[b];
}

/* Order segments by what tells the rows apart, then as the file has them. */
static int by_kind(const void *left, const void *right, void *context)
{
    const struct nvt_segments *segments = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (segments->process[a] != segments->process[b])
        return segments->process[a] < segments->process[b] ? -1 : 1;
    if (segments->device[a] != segments->device[b])
        return segments->device[a] < segments->device[b] ? -1 : 1;
    if (segments->pool[a] != segments->pool[b])
        return segments->pool[a] < segments->pool[b] ? -1 : 1;
    if (segments->stream[a] != segments->stream[b])
        return segments->stream[a] < segments->stream[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int by_size(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;
    if (a->reserved != b->reserved)
        return a->reserved > b->reserved ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void put_sum(struct nvt_table *table, const struct nvt_trace *trace, const struct sum *sum)
{
    const struct nvt_segments *segments = &trace->segments;
    char stream[32];
    snprintf(stream, sizeof(stream), "%llu", (unsigned long long)segments->stream[sum->first]);
    nvt_table_put(table,
                  NVT_DEVICE(trace, segments->process[sum->first], segments->device[sum->first]),
                  nvt_text_if_any(nvt_name(trace, segments->pool[sum->first])), stream, sum->count,
                  (double)sum->reserved / NVT_MEBIBYTE, (double)sum->in_use / NVT_MEBIBYTE,
                  (double)sum->split / NVT_MEBIBYTE, (double)sum->whole / NVT_MEBIBYTE,
                  (double)sum->largest / NVT_MEBIBYTE);
}

static void add_memory_segments(struct sum *sum, const struct nvt_segments *segments, uint32_t i)
{
    uint64_t bytes = segments->bytes[i], in_use = segments->in_use[i];
    uint64_t free = bytes > in_use ? bytes - in_use : 0;
    sum->count++;
    sum->reserved += bytes;
    sum->in_use += in_use;
    *(in_use ? &sum->split : &sum->whole) += free;
    if (segments->largest_free[i] > sum->largest)
        sum->largest = segments->largest_free[i];
}

static int put_memory_segments_trace(struct nvt_table *table, const struct nvt_trace *trace,
                                     const struct nvt_making *making)
{
    const struct nvt_segments *segments = &trace->segments;
    uint32_t *order = malloc(((size_t)segments->count + 1) * sizeof(*order));
    struct sum *sums = malloc(((size_t)segments->count + 1) * sizeof(*sums));
    size_t count = 0;
    (void)making;
    if (!order || !sums) {
        free(order);
        free(sums);
        return -1;
    }
    for (uint32_t i = 0; i < segments->count; i++)
        order[i] = i;
    if (segments->count)
        qsort_r(order, segments->count, sizeof(*order), by_kind, (void *)segments);
    for (uint32_t i = 0; i < segments->count; i++) {
        if (!i || !is_alike(segments, order[i - 1], order[i]))
            sums[count++] = (struct sum){.first = order[i]};
        add_memory_segments(&sums[count - 1], segments, order[i]);
    }
    if (count)
        qsort(sums, count, sizeof(*sums), by_size);
    for (size_t i = 0; i < count; i++)
        put_sum(table, trace, &sums[i]);
    free(order);
    free(sums);
    return 0;
}

static int has_segments(const struct nvt_trace *trace)
{
    return trace->segments.count > 0;
}

const struct nvt_report nvt_report_memory_segments = {
    .name = "memory_segments",
    .about = "memory that an allocator reserved at the end: in use, and free by kind of piece",
    .title = "Reserved memory at the end",
    .columns = {{"Device", NVT_NAMES},
                {"Pool", NVT_NAMES},
                {"Stream", NVT_NAMES},
                {"Segments", NVT_COUNTS},
                {"Reserved (MiB)", NVT_MIB},
                {"In Use (MiB)", NVT_MIB},
                {"Free, Split (MiB)", NVT_MIB},
                {"Free, Whole (MiB)", NVT_MIB},
                {"Largest Free (MiB)", NVT_MIB}},
    .nothing = "no segments of an allocator in the input: PyTorch's memory snapshots have them",
    .has = has_segments,
    .each_trace = put_memory_segments_trace,
};
