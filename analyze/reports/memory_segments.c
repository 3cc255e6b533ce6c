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

#define MIB (1024.0 * 1024.0)

enum { DEVICE, POOL, STREAM, SEGMENTS, RESERVED, IN_USE, SPLIT, WHOLE, LARGEST };

static const struct nvt_column_spec columns[] = {
    [DEVICE] = {"Device", "", NVT_TEXT, 0, 0},
    [POOL] = {"Pool", "", NVT_TEXT, 0, 0},
    [STREAM] = {"Stream", "", NVT_TEXT, 0, 0},
    [SEGMENTS] = {"Segments", "", NVT_INT, 0, 0},
    [RESERVED] = {"Reserved (MiB)", "MiB", NVT_REAL, 2, 0},
    [IN_USE] = {"In Use (MiB)", "MiB", NVT_REAL, 2, 0},
    [SPLIT] = {"Free, Split (MiB)", "MiB", NVT_REAL, 2, 0},
    [WHOLE] = {"Free, Whole (MiB)", "MiB", NVT_REAL, 2, 0},
    [LARGEST] = {"Largest Free (MiB)", "MiB", NVT_REAL, 2, 0},
};

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

/* By what tells the rows apart, then in the order of the file. */
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
    size_t row = nvt_table_add_row(table);
    snprintf(stream, sizeof(stream), "%llu", (unsigned long long)segments->stream[sum->first]);
    nvt_put_device(table, row, DEVICE, trace, segments->process[sum->first],
                   segments->device[sum->first]);
    nvt_table_set_name(table, row, POOL, nvt_name(trace, segments->pool[sum->first]));
    nvt_table_set_text(table, row, STREAM, stream);
    nvt_table_set_int(table, row, SEGMENTS, (int64_t)sum->count);
    nvt_table_set_real(table, row, RESERVED, (double)sum->reserved / MIB);
    nvt_table_set_real(table, row, IN_USE, (double)sum->in_use / MIB);
    nvt_table_set_real(table, row, SPLIT, (double)sum->split / MIB);
    nvt_table_set_real(table, row, WHOLE, (double)sum->whole / MIB);
    nvt_table_set_real(table, row, LARGEST, (double)sum->largest / MIB);
}

static void add(struct sum *sum, const struct nvt_segments *segments, uint32_t i)
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

static int fill(struct nvt_table *table, const struct nvt_trace *trace)
{
    const struct nvt_segments *segments = &trace->segments;
    uint32_t *order = malloc(((size_t)segments->count + 1) * sizeof(*order));
    struct sum *sums = malloc(((size_t)segments->count + 1) * sizeof(*sums));
    size_t count = 0;
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
        add(&sums[count - 1], segments, order[i]);
    }
    if (count)
        qsort(sums, count, sizeof(*sums), by_size);
    for (size_t i = 0; i < count; i++)
        put_sum(table, trace, &sums[i]);
    free(order);
    free(sums);
    return 0;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    size_t shown = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (!trace->segments.count && (input->trace_count > 1 || input->run_count))
            continue;
        struct nvt_table *table = nvt_report_trace_table(&nvt_report_memory_segments, input, trace,
                                                         "What an allocator held at the end", err);
        if (!table)
            return -1;
        if (fill(table, trace)) {
            nvt_table_free(table);
            return nvt_fail_at(err, trace->path, -1, "out of memory");
        }
        shown += trace->segments.count;
        if (nvt_report_add(tables, table, err))
            return -1;
    }
    if (!shown)
        nvt_note(input, "note: no allocator's segments are on record: PyTorch's memory snapshots "
                        "have them");
    return 0;
}

const struct nvt_report nvt_report_memory_segments = {
    .name = "memory_segments",
    .about = "what an allocator held at the end: how much was in use, and free in what pieces",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
