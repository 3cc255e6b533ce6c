/*
 * What of the stacks lies in typical iterations (NVT_STACKS_INSIDE).
 */
#include <stdlib.h>

#include "../../lib/clock.h"
#include "stacks_build.h"
#include "typical.h"

/* An iteration. */
struct one {
    uint32_t process, item;
    int64_t length;
};

static int by_length(const void *left, const void *right)
{
    const struct one *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

int nvt_stacks_find_typical(struct nvt_stacks_build *build)
{
    const struct nvt_trace *trace = build->trace;
    struct nvt_named_iterations *iterations = &build->iterations;
    if (nvt_named_iterations_of(iterations, trace))
        return -1;
    const uint32_t count = iterations->count;
    struct one *all = malloc(((size_t)count + 1) * sizeof(*all));
    build->is_typical = calloc((size_t)count + 1, 1);
    for (uint32_t i = 0; all && i < count; i++) {
        const uint32_t row = iterations->rows[i];
        all[i] = (struct one){trace->threads.process[trace->ranges.thread[row]], i,
                              trace->ranges.end[row] - trace->ranges.start[row]};
    }
    if (all && build->is_typical)
        qsort(all, count, sizeof(*all), by_length);
    for (uint32_t first = 0, end; all && build->is_typical && first < count; first = end) {
        for (end = first + 1; end < count && all[end].process == all[first].process;)
            end++;
        const uint32_t cut = (uint32_t)nvt_typical_cut(end - first);
        for (uint32_t i = first + cut; i < end - cut; i++)
            build->is_typical[all[i].item] = 1;
        build->stacks->iterations += end - first - 2 * cut;
    }
    free(all);
    return all && build->is_typical ? 0 : -1;
}

int nvt_stacks_is_inside(const struct nvt_stacks_build *build, uint32_t thread, uint32_t process,
                         int64_t moment)
{
    if (!build->is_typical)
        return 0;
    const uint32_t item = nvt_iteration_at(&build->iterations, thread, process, moment);
    return item != NVT_NONE && build->is_typical[item];
}

/* What lies around an iteration of its thread may begin when that does. */
int nvt_stacks_is_range_inside(const struct nvt_stacks_build *build, uint32_t range)
{
    const struct nvt_ranges *ranges = &build->trace->ranges;
    if (!build->is_typical)
        return 0;
    const uint32_t item =
        nvt_iteration_at(&build->iterations, ranges->thread[range], NVT_NONE, ranges->start[range]);
    if (item == NVT_NONE || !build->is_typical[item])
        return 0;
    const uint32_t around = build->iterations.rows[item];
    return ranges->thread[around] != ranges->thread[range] ||
           ranges->end[range] <= ranges->end[around];
}

void nvt_stacks_add_inside(struct nvt_stack *stack, uint64_t count, int64_t ns)
{
    stack->inside_count += count;
    stack->inside = nvt_clock_sum(stack->inside, ns);
}
