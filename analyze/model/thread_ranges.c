#include "thread_ranges.h"

#include <stdlib.h>

int nvt_thread_ranges_make(struct nvt_thread_ranges *ranges, const struct nvt_trace *trace,
                           struct nvt_error *err)
{
    const struct nvt_ranges *rows = &trace->ranges;
    uint32_t threads = trace->threads.count;
    uint32_t *owner = malloc(((size_t)rows->count + 1) * sizeof(*owner));
    ranges->trace = trace;
    for (uint32_t i = 0; owner && i < rows->count; i++)
        owner[i] = rows->style[i] == NVT_PUSH_POP ? rows->thread[i] : threads;
    int status = owner ? nvt_buckets_make(&ranges->threads, owner, threads, NULL, rows->count) : -1;
    free(owner);
    if (status)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    ranges->parent = nvt_nest_threads(trace, err);
    return ranges->parent ? 0 : -1;
}

void nvt_thread_ranges_free(struct nvt_thread_ranges *ranges)
{
    nvt_buckets_free(&ranges->threads);
    free(ranges->parent);
    *ranges = (struct nvt_thread_ranges){0};
}

int nvt_thread_ranges_is_outermost(const struct nvt_thread_ranges *ranges, uint32_t row)
{
    const struct nvt_ranges *rows = &ranges->trace->ranges;
    uint32_t depth = 0;
    for (uint32_t at = ranges->parent[row]; at != NVT_NONE && depth++ < NVT_NESTING_DEPTH;
         at = ranges->parent[at])
        if (rows->name[at] == rows->name[row] && rows->domain[at] == rows->domain[row])
            return 0;
    return 1;
}

uint32_t nvt_thread_ranges_last(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                int64_t moment)
{
    const struct nvt_buckets *threads = &ranges->threads;
    uint32_t at = nvt_buckets_behind(threads, thread, ranges->trace->ranges.start, moment);
    return at > threads->first[thread] ? threads->rows[at - 1] : NVT_NONE;
}

uint32_t nvt_thread_ranges_open(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                int64_t moment, uint32_t open[NVT_NESTING_DEPTH])
{
    uint32_t depth = 0;
    for (uint32_t row = nvt_thread_ranges_last(ranges, thread, moment);
         row != NVT_NONE && depth < NVT_NESTING_DEPTH; row = ranges->parent[row])
        if (ranges->trace->ranges.end[row] > moment)
            open[depth++] = row;
    return depth;
}

uint32_t nvt_thread_ranges_innermost(const struct nvt_thread_ranges *ranges, uint32_t thread,
                                     int64_t moment, int64_t *until)
{
    const struct nvt_buckets *threads = &ranges->threads;
    const struct nvt_ranges *rows = &ranges->trace->ranges;
    uint32_t at = nvt_buckets_behind(threads, thread, rows->start, moment), depth = 0;
    uint32_t row = at > threads->first[thread] ? threads->rows[at - 1] : NVT_NONE;
    *until = at < threads->first[thread + 1] ? rows->start[threads->rows[at]] : INT64_MAX;
    while (row != NVT_NONE && rows->end[row] <= moment)
        row = depth++ < NVT_NESTING_DEPTH ? ranges->parent[row] : NVT_NONE;
    if (row != NVT_NONE && rows->end[row] < *until)
        *until = rows->end[row];
    return row;
}
