#include "nesting.h"

#include <stdlib.h>

#include "map.h"

static int encloses(const struct nvt_ranges *ranges, uint32_t outer, uint32_t i)
{
    if (ranges->end[i] > ranges->end[outer])
        return 0;
    return ranges->start[i] < ranges->end[outer] || ranges->start[outer] == ranges->end[outer];
}

/*
 * Ranges are sorted by start, so a stack of what is open does it in one pass. A range that ends
 * behind the top takes its place: whatever the top could still enclose, this one encloses too.
 */
uint32_t *nvt_nest_threads(const struct nvt_trace *trace, struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *parent = malloc(((size_t)ranges->count + 1) * sizeof(*parent));
    struct nvt_map open = {0};
    for (uint32_t i = 0; parent && i < ranges->count; i++) {
        parent[i] = NVT_NONE;
        if (ranges->style[i] != NVT_PUSH_POP)
            continue;
        uint32_t *innermost = nvt_map_at(&open, ranges->thread[i]);
        if (!innermost) {
            free(parent);
            parent = NULL;
            break;
        }
        uint32_t top = *innermost;
        while (top != NVT_NONE && !encloses(ranges, top, i))
            top = parent[top];
        parent[i] = top;
        *innermost = i;
    }
    nvt_map_free(&open);
    if (!parent)
        nvt_fail_at(err, trace->path, -1, "out of memory");
    return parent;
}
