/*
 * CPU counts of ranges: sums of the thread that stand in front of the payloads of pushes and pops (lib/counts.h). What a range has
 * of them is the difference of its end and its begin.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "nvt.h"

/* The counts of an event, UINT64_MAX where it has none; *payloads and *size get what stands behind them. 0: there are none. */
static int take(const uint8_t **payloads, uint64_t *size, uint64_t values[NVT_COUNT_COUNT])
{
    struct nvt_cursor cursor = {*payloads, *payloads + *size};
    const uint64_t id = nvt_cursor_number(&cursor, 8), length = nvt_cursor_number(&cursor, 8);
    const uint8_t *bytes = nvt_cursor_bytes(&cursor, length);
    if (!bytes || id != NVT_COUNTS_SCHEMA || length < 8)
        return 0;
    *payloads = cursor.at;
    *size = (uint64_t)(cursor.end - cursor.at);
    cursor = (struct nvt_cursor){bytes, bytes + length};
    const uint64_t mask = nvt_cursor_number(&cursor, 8);
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++) {
        const uint64_t value = mask >> i & 1 ? nvt_cursor_number(&cursor, 8) : UINT64_MAX;
        values[i] = cursor.at ? value : UINT64_MAX;
    }
    return 1;
}

/* The counts of a range, NULL: it has none yet. */
static struct nvt_file_count *find(const struct nvt_file_counts *counts, uint32_t row)
{
    size_t low = 0;
    NVT_BISECT(low, counts->count, counts->items[low].row < row);
    return low < counts->count && counts->items[low].row == row ? &counts->items[low] : NULL;
}

int nvt_file_take_counts(struct nvt_file_reader *reader, uint32_t row, const uint8_t **payloads,
                         uint64_t *size)
{
    struct nvt_file_counts *counts = &reader->counts;
    uint64_t values[NVT_COUNT_COUNT];
    if (!take(payloads, size, values))
        return 0;
    struct nvt_file_count *known = find(counts, row);
    for (unsigned i = 0; known && !known->is_closed && i < NVT_COUNT_COUNT; i++) {
        const uint64_t begin = known->values[i];
        const int is_known = begin != UINT64_MAX && values[i] != UINT64_MAX && begin <= values[i];
        known->values[i] = is_known ? values[i] - begin : UINT64_MAX;
    }
    if (known) {
        known->is_closed = 1;
        return 0;
    }
    /* Rows of ranges ascend as they begin: another one is none that was pushed just now. */
    if (counts->count && counts->items[counts->count - 1].row > row)
        return 0;
    if (nvt_grow(&counts->items, counts->count, sizeof(*counts->items)))
        return -1;
    struct nvt_file_count *added = &counts->items[counts->count++];
    *added = (struct nvt_file_count){.row = row};
    memcpy(added->values, values, sizeof(values));
    return 0;
}

/* Whether a thread of the model is a task that takes turns with others: in its ranges, its thread ran those, too. */
static uint8_t *find_tasks(const struct nvt_file_reader *reader)
{
    uint8_t *are_tasks = calloc((size_t)reader->trace->threads.count + 1, 1);
    for (uint32_t i = 0; are_tasks && i < reader->tasks.count; i++)
        are_tasks[reader->tasks.lanes[i]->thread.row] = 1;
    return are_tasks;
}

int nvt_file_complete_counts(struct nvt_file_reader *reader)
{
    struct nvt_trace *trace = reader->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    uint8_t *are_tasks = find_tasks(reader);
    uint64_t of_tasks = 0;
    int status = are_tasks ? 0 : -1;
    for (size_t i = 0; i < reader->counts.count && !status; i++) {
        const struct nvt_file_count *from = &reader->counts.items[i];
        const uint32_t range = from->row;
        if (!from->is_closed || ranges->flags[range] & NVT_RANGE_PARTIAL)
            continue;
        if (are_tasks[ranges->thread[range]]) {
            of_tasks++;
            continue;
        }
        const struct nvt_range_count row = {
            .start = ranges->start[range],
            .end = ranges->end[range],
            .thread = ranges->thread[range],
            .cpu_ns = from->values[NVT_COUNT_CPU_TIME],
            .minor_faults = from->values[NVT_COUNT_MINOR_FAULTS],
            .major_faults = from->values[NVT_COUNT_MAJOR_FAULTS],
            .voluntary = from->values[NVT_COUNT_VOLUNTARY],
            .involuntary = from->values[NVT_COUNT_INVOLUNTARY],
            .cycles = from->values[NVT_COUNT_CYCLES],
            .instructions = from->values[NVT_COUNT_INSTRUCTIONS],
            .cache_misses = from->values[NVT_COUNT_CACHE_MISSES],
            .branch_misses = from->values[NVT_COUNT_BRANCH_MISSES],
            .migrations = from->values[NVT_COUNT_MIGRATIONS],
            .chosen0 = from->values[NVT_COUNT_CHOSEN],
            .chosen1 = from->values[NVT_COUNT_CHOSEN + 1],
            .chosen2 = from->values[NVT_COUNT_CHOSEN + 2],
            .chosen3 = from->values[NVT_COUNT_CHOSEN + 3],
        };
        status = nvt_range_count_add(trace, &row) == NVT_NONE ? -1 : 0;
    }
    if (of_tasks)
        nvt_trace_note(trace,
                       "CPU counts of ranges of tasks that take turns on a thread are not known");
    free(are_tasks);
    return status;
}
