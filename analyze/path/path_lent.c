#include "path_lent.h"

#include <stdlib.h>

#include "../device/project.h"

/* Calls of a thread that are looked at for the next that launches. */
#define LOOKS 256

struct lending {
    const struct nvt_path_index *index;
    uint32_t *range_of; /* op -> the innermost range that it belongs to, or NVT_NONE */
};

static int keep_innermost(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    const struct lending *lending = context;
    lending->range_of[op] = count ? ranges[count - 1] : NVT_NONE;
    return 0;
}

/* The next operation that a thread launches from a moment on; NVT_NONE: none is near. */
static uint32_t next_op(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    const struct nvt_buckets *calls = &index->calls;
    uint32_t at = nvt_buckets_from(calls, thread, index->trace->apis.start, moment);
    for (int looks = 0; looks < LOOKS && at < calls->first[thread + 1]; looks++, at++)
        if (index->op_of[calls->rows[at]] != NVT_NONE)
            return index->op_of[calls->rows[at]];
    return NVT_NONE;
}

/* Of the host's time without a range: that of the next operation that its thread launches, if that range is open then. */
static uint32_t lent_range(const struct lending *lending, const struct nvt_path_segment *segment)
{
    const struct nvt_ranges *ranges = &lending->index->trace->ranges;
    const uint32_t op = next_op(lending->index, segment->thread, segment->start);
    const uint32_t range = op == NVT_NONE ? NVT_NONE : lending->range_of[op];
    return range != NVT_NONE && ranges->start[range] <= segment->start &&
                   segment->start < ranges->end[range]
               ? range
               : NVT_NONE;
}

int nvt_path_lend(const struct nvt_path_index *index, struct nvt_critical_paths *paths,
                  unsigned flags, struct nvt_error *err)
{
    const struct nvt_trace *trace = index->trace;
    struct lending lending = {.index = index};
    if (flags & NVT_BY_THREAD || !paths->count)
        return 0;
    lending.range_of = malloc(((size_t)trace->ops.count + 1) * sizeof(*lending.range_of));
    if (!lending.range_of)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    const int status = nvt_project(trace, flags, keep_innermost, &lending, err);
    for (uint32_t p = 0; p < paths->count && !status; p++)
        for (uint32_t i = 0; i < paths->items[p].count; i++) {
            struct nvt_path_segment *segment = &paths->items[p].segments[i];
            if (nvt_path_is_of_op((enum nvt_path_kind)segment->kind))
                segment->range = lending.range_of[segment->row];
            else if (segment->range == NVT_NONE)
                segment->range = lent_range(&lending, segment);
        }
    free(lending.range_of);
    return status;
}
