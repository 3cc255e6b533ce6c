#include "nesting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

/*
 * Ranges are sorted by start, so a stack of what is open does it in one pass. A range that ends
 * behind the top takes its place: whatever the top could still enclose, this one encloses too.
 */
uint32_t *nvt_nest_threads(const struct nvt_trace *trace, struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *parent = malloc(((size_t)ranges->count + 1) * sizeof(*parent));
    size_t threads = (size_t)trace->threads.count * sizeof(uint32_t);
    uint32_t *open = malloc(threads + 1);
    if (!parent || !open) {
        free(parent);
        free(open);
        nvt_fail_at(err, trace->path, -1, "out of memory");
        return NULL;
    }
    memset(open, 0xff, threads);
    for (uint32_t i = 0; i < ranges->count; i++) {
        parent[i] = NVT_NONE;
        if (ranges->style[i] != NVT_PUSH_POP)
            continue;
        uint32_t *innermost = &open[ranges->thread[i]];
        uint32_t top = *innermost;
        while (top != NVT_NONE && !nvt_nests_in(ranges, i, top))
            top = parent[top];
        parent[i] = top;
        *innermost = i;
    }
    free(open);
    return parent;
}

void nvt_nesting_free(struct nvt_nesting *nesting)
{
    for (size_t i = 0; i < NVT_COUNT_OF(nesting->own); i++)
        free(nesting->own[i]);
    *nesting = (struct nvt_nesting){0};
}

/* The ranges of each thread are all of one domain. */
/* Whether the nesting is not the model's own: 1; 0 where the ranges of a thread are all of one
 * domain, -1 when out of memory. */
static int is_own_nesting(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    size_t size = (size_t)trace->threads.count * sizeof(uint32_t);
    uint32_t *domains = malloc(size + 1);
    int one = domains ? 1 : -1;
    if (domains)
        memset(domains, 0xff, size);
    for (uint32_t i = 0; one > 0 && i < ranges->count; i++) {
        uint32_t *domain = &domains[ranges->thread[i]];
        if (ranges->style[i] != NVT_PUSH_POP)
            continue;
        if (*domain == NVT_NONE)
            *domain = ranges->domain[i];
        one = *domain == ranges->domain[i];
    }
    free(domains);
    return one < 0 ? -1 : !one;
}

int nvt_nest_children(const struct nvt_ranges *ranges, const uint32_t *parents, uint32_t *children,
                      int64_t *children_ns)
{
    uint32_t *last = malloc(((size_t)ranges->count + 1) * sizeof(*last)); /* of each parent */
    if (!last)
        return -1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        children[i] = 0;
        children_ns[i] = 0;
        last[i] = NVT_NONE;
    }
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t parent = parents[i];
        if (parent == NVT_NONE)
            continue;
        children[parent]++;
        children_ns[parent] += nvt_nested_ns(ranges, i, parent, last[parent]);
        last[parent] = i;
    }
    free(last);
    return 0;
}

static int count_children(struct nvt_nesting *nesting, const struct nvt_trace *trace,
                          struct nvt_error *err)
{
    size_t room = (size_t)trace->ranges.count + 1;
    uint32_t *parents = nvt_nest_threads(trace, err), *children = malloc(room * sizeof(*children));
    int64_t *children_ns = malloc(room * sizeof(*children_ns));
    nesting->own[0] = parents;
    nesting->own[1] = children;
    nesting->own[2] = children_ns;
    nesting->parent = parents;
    nesting->children = children;
    nesting->children_ns = children_ns;
    if (!parents)
        return -1;
    if (!children || !children_ns ||
        nvt_nest_children(&trace->ranges, parents, children, children_ns))
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    return 0;
}

int nvt_nesting_make(struct nvt_nesting *nesting, const struct nvt_trace *trace,
                     struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t *level = calloc((size_t)ranges->count + 1, sizeof(*level));
    int own_parents = is_own_nesting(trace);
    nesting->own[3] = level;
    nesting->level = level;
    nesting->parent = ranges->parent;
    nesting->children = ranges->children;
    nesting->children_ns = ranges->children_ns;
    if (!level || own_parents < 0)
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    if (own_parents && count_children(nesting, trace, err))
        return -1;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (nesting->parent[i] != NVT_NONE)
            level[i] = level[nesting->parent[i]] + 1;
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

int nvt_nesting_indent(uint32_t level, const char *name, struct nvt_buffer *text)
{
    int failed = 0;
    text->size = 0;
    for (uint32_t i = 0; i < level && i < NVT_NESTING_DEPTH && !failed; i++)
        failed = nvt_buffer_append(text, "--", 2);
    return failed || nvt_buffer_printf(text, "%s", name) || nvt_buffer_append(text, "", 1) ? -1 : 0;
}
