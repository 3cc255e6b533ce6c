#include "nesting.h"

#include <inttypes.h>
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

void nvt_nesting_free(struct nvt_nesting *nesting)
{
    free(nesting->parent);
    free(nesting->level);
    free(nesting->children);
    free(nesting->children_ns);
    *nesting = (struct nvt_nesting){0};
}

int nvt_nesting_make(struct nvt_nesting *nesting, const struct nvt_trace *trace,
                     struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    size_t room = (size_t)ranges->count + 1;
    nesting->parent = nvt_nest_threads(trace, err);
    nesting->level = calloc(room, sizeof(*nesting->level));
    nesting->children = calloc(room, sizeof(*nesting->children));
    nesting->children_ns = calloc(room, sizeof(*nesting->children_ns));
    if (!nesting->parent)
        return -1;
    if (!nesting->level || !nesting->children || !nesting->children_ns)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t parent = nesting->parent[i];
        if (parent == NVT_NONE)
            continue;
        nesting->level[i] = nesting->level[parent] + 1;
        nesting->children[parent]++;
        nesting->children_ns[parent] += ranges->end[i] - ranges->start[i];
    }
    return 0;
}

int nvt_nesting_stack(const struct nvt_nesting *nesting, uint32_t range, struct nvt_buffer *text)
{
    uint32_t path[NVT_NESTING_DEPTH];
    size_t depth = 0;
    for (uint32_t at = range; at != NVT_NONE && depth < NVT_NESTING_DEPTH; at = nesting->parent[at])
        path[depth++] = at;
    text->size = 0;
    int failed = nesting->level[range] >= NVT_NESTING_DEPTH ? nvt_buffer_printf(text, ":…") : 0;
    while (depth && !failed)
        failed = nvt_buffer_printf(text, ":%" PRIu32, path[--depth] + 1);
    return failed || nvt_buffer_append(text, "", 1) ? -1 : 0;
}
