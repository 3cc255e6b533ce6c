#include "range_counts.h"

#include <stdlib.h>

#include "../../lib/clock.h"

static int64_t known(uint64_t value)
{
    return value <= INT64_MAX ? (int64_t)value : -1;
}

static struct nvt_count_values values_of(const struct nvt_range_counts *rows, uint32_t row)
{
    struct nvt_count_values values;
    values.of[NVT_COUNT_CPU_TIME] = known(rows->cpu_ns[row]);
    values.of[NVT_COUNT_MINOR_FAULTS] = known(rows->minor_faults[row]);
    values.of[NVT_COUNT_MAJOR_FAULTS] = known(rows->major_faults[row]);
    values.of[NVT_COUNT_VOLUNTARY] = known(rows->voluntary[row]);
    values.of[NVT_COUNT_INVOLUNTARY] = known(rows->involuntary[row]);
    values.of[NVT_COUNT_CYCLES] = known(rows->cycles[row]);
    values.of[NVT_COUNT_INSTRUCTIONS] = known(rows->instructions[row]);
    values.of[NVT_COUNT_CACHE_MISSES] = known(rows->cache_misses[row]);
    values.of[NVT_COUNT_BRANCH_MISSES] = known(rows->branch_misses[row]);
    values.of[NVT_COUNT_MIGRATIONS] = known(rows->migrations[row]);
    values.of[NVT_COUNT_CHOSEN] = known(rows->chosen0[row]);
    values.of[NVT_COUNT_CHOSEN + 1] = known(rows->chosen1[row]);
    values.of[NVT_COUNT_CHOSEN + 2] = known(rows->chosen2[row]);
    values.of[NVT_COUNT_CHOSEN + 3] = known(rows->chosen3[row]);
    return values;
}

static void forget(struct nvt_count_values *values)
{
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++)
        values->of[i] = -1;
}

/* The counts of a range: both tables are sorted by start, *from is the first that may be it. */
static void find(struct nvt_counted_ranges *counted, uint32_t range, uint32_t *from)
{
    const struct nvt_trace *trace = counted->ranges.trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_range_counts *rows = &trace->range_counts;
    forget(&counted->all[range]);
    while (*from < rows->count && rows->start[*from] < ranges->start[range])
        ++*from;
    for (uint32_t i = *from; i < rows->count && rows->start[i] == ranges->start[range]; i++)
        if (rows->end[i] == ranges->end[range] && rows->thread[i] == ranges->thread[range])
            counted->all[range] = values_of(rows, i);
}

static void take_off(struct nvt_count_values *from, const struct nvt_count_values *values)
{
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++)
        from->of[i] =
            values->of[i] >= 0 && from->of[i] >= values->of[i] ? from->of[i] - values->of[i] : -1;
}

void nvt_count_values_add(struct nvt_count_values *sum, const struct nvt_count_values *values)
{
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++) {
        const int is_known = sum->of[i] >= 0 && values->of[i] >= 0;
        sum->of[i] = is_known ? nvt_clock_sum(sum->of[i], values->of[i]) : -1;
    }
}

int nvt_is_counted(const struct nvt_count_values *values)
{
    int is_counted = 0;
    for (unsigned i = 0; i < NVT_COUNT_COUNT; i++)
        is_counted |= values->of[i] >= 0;
    return is_counted;
}

/* All that ranges have of their own. 0, or -1 when out of memory. */
static int find_own(struct nvt_counted_ranges *counted)
{
    const struct nvt_ranges *ranges = &counted->ranges.trace->ranges;
    const uint32_t *parents = counted->ranges.parent;
    uint32_t *children = malloc(((size_t)ranges->count + 1) * sizeof(*children));
    int64_t *lasted = calloc((size_t)ranges->count + 1, sizeof(*lasted));
    int status = children && lasted
                     ? nvt_nest_children(ranges, parents, children, counted->children_ns)
                     : -1;
    for (uint32_t i = 0; i < ranges->count && !status; i++)
        if (parents[i] != NVT_NONE) {
            take_off(&counted->own[parents[i]], &counted->all[i]);
            lasted[parents[i]] =
                nvt_clock_sum(lasted[parents[i]], ranges->end[i] - ranges->start[i]);
        }
    for (uint32_t i = 0; i < ranges->count && !status; i++)
        if (lasted[i] != counted->children_ns[i])
            forget(&counted->own[i]);
    free(children);
    free(lasted);
    return status;
}

int nvt_counted_ranges_make(struct nvt_counted_ranges *counted, const struct nvt_trace *trace,
                            struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const size_t count = (size_t)ranges->count + 1;
    uint32_t from = 0;
    if (nvt_thread_ranges_make(&counted->ranges, trace, err))
        return -1;
    counted->all = calloc(count, sizeof(*counted->all));
    counted->own = calloc(count, sizeof(*counted->own));
    counted->children_ns = calloc(count, sizeof(*counted->children_ns));
    if (!counted->all || !counted->own || !counted->children_ns)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int is_whole =
            ranges->style[i] == NVT_PUSH_POP && !(ranges->flags[i] & NVT_RANGE_PARTIAL);
        if (is_whole)
            find(counted, i, &from);
        else
            forget(&counted->all[i]);
        counted->own[i] = counted->all[i];
        counted->without += is_whole && !nvt_is_counted(&counted->all[i]);
    }
    return find_own(counted) ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

void nvt_counted_ranges_free(struct nvt_counted_ranges *counted)
{
    nvt_thread_ranges_free(&counted->ranges);
    free(counted->all);
    free(counted->own);
    free(counted->children_ns);
}
