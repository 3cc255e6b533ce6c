#include "recorded_parts.h"

#include <stdlib.h>

#include "../../lib/bisect.h"

static int by_start(const void *left, const void *right)
{
    const struct nvt_part *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : 0;
}

/* 0, or -1 when out of memory. */
static int sort(struct nvt_parts *parts)
{
    struct nvt_part *rows = malloc(((size_t)parts->count + 1) * sizeof(*rows));
    if (!rows)
        return -1;
    for (uint32_t i = 0; i < parts->count; i++)
        rows[i] = (struct nvt_part){parts->start[i], parts->end[i], parts->closed[i]};
    qsort(rows, parts->count, sizeof(*rows), by_start);
    for (uint32_t i = 0; i < parts->count; i++) {
        parts->start[i] = rows[i].start;
        parts->end[i] = rows[i].end > rows[i].start ? rows[i].end : rows[i].start;
        parts->closed[i] = rows[i].closed;
    }
    free(rows);
    return 0;
}

int nvt_parts_settle(struct nvt_trace *trace)
{
    struct nvt_parts *parts = &trace->parts;
    uint32_t kept = 0;
    if (!parts->count)
        return 0;
    if (sort(parts))
        return -1;
    for (uint32_t i = 0; i < parts->count; i++) {
        if (kept && parts->start[i] <= parts->end[kept - 1]) {
            if (parts->end[i] > parts->end[kept - 1])
                parts->end[kept - 1] = parts->end[i];
            if (parts->closed[i] > parts->closed[kept - 1])
                parts->closed[kept - 1] = parts->closed[i];
            continue;
        }
        parts->start[kept] = parts->start[i];
        parts->closed[kept] = parts->closed[i];
        parts->end[kept++] = parts->end[i];
    }
    parts->count = kept;
    return 0;
}

int64_t nvt_known_until(const struct nvt_trace *trace, uint32_t thread)
{
    const struct nvt_parts *parts = &trace->parts;
    if (trace->threads.ended_ns[thread] || !parts->count || !nvt_trace_meta(trace, "recorded"))
        return trace->threads.ended_ns[thread];
    return parts->closed[parts->count - 1];
}

uint32_t nvt_part_at(const struct nvt_trace *trace, int64_t moment)
{
    uint32_t behind = 0;
    NVT_BISECT(behind, trace->parts.count, trace->parts.start[behind] <= moment);
    return behind;
}

int64_t nvt_between_parts_ns(const struct nvt_trace *trace, int64_t from, int64_t to)
{
    const struct nvt_parts *parts = &trace->parts;
    const uint32_t first = nvt_part_at(trace, from);
    int64_t ns = 0;
    for (uint32_t i = first ? first : 1; i < parts->count; i++) {
        const int64_t start = parts->end[i - 1] > from ? parts->end[i - 1] : from;
        const int64_t end = parts->start[i] < to ? parts->start[i] : to;
        if (parts->end[i - 1] >= to)
            break;
        ns += end > start ? end - start : 0;
    }
    return ns;
}

int nvt_is_recorded_at(const struct nvt_trace *trace, int64_t moment)
{
    const uint32_t part = nvt_part_at(trace, moment);
    return !trace->parts.count || (part && moment <= trace->parts.end[part - 1]);
}
