#include "counted_loop.h"

#include <stdlib.h>

/* Whether each thread enters iterations of the view; of a view without any, whether it is viewed. NULL when out of memory. */
static uint8_t *threads_of(const struct nvt_view *view)
{
    const struct nvt_trace *trace = view->trace;
    uint8_t *are_threads = calloc((size_t)trace->threads.count + 1, 1);
    for (uint32_t i = 0; are_threads && i < view->iteration_count; i++)
        are_threads[trace->ranges.thread[view->iterations[i]]] = 1;
    for (uint32_t i = 0; are_threads && !view->iteration_count && i < trace->threads.count; i++)
        are_threads[i] = nvt_is_viewed_thread(view, i) != 0;
    return are_threads;
}

int nvt_counted_loop_make(struct nvt_counted_loop *loop, const struct nvt_view *view,
                          struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    const size_t strings = (size_t)nvt_strings_count(view->trace->strings) + 1;
    enum { HAS_RANGE = 2 };
    loop->view = view;
    loop->counted = view->counted;
    uint8_t *threads = threads_of(view);
    loop->counts = calloc((size_t)ranges->count + 1, 1);
    loop->lost = calloc(strings, sizeof(*loop->lost));
    if (!threads || !loop->counts || !loop->lost) {
        free(threads);
        return nvt_fail_at(err, view->trace->path, -1, "out of memory");
    }
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint8_t *thread = &threads[ranges->thread[i]];
        if (!*thread || !nvt_is_steady(view, ranges->start[i]) ||
            !nvt_is_counted(&loop->counted->own[i]))
            continue;
        loop->counts[i] = 1;
        loop->threads += *thread != HAS_RANGE;
        *thread = HAS_RANGE;
        loop->wall_ns += nvt_counted_loop_own_ns(loop, i);
    }
    free(threads);
    return 0;
}

void nvt_counted_loop_free(struct nvt_counted_loop *loop)
{
    free(loop->counts);
    free(loop->lost);
}

double nvt_counted_loop_own_ns(const struct nvt_counted_loop *loop, uint32_t range)
{
    const struct nvt_ranges *ranges = &loop->view->trace->ranges;
    return (double)(ranges->end[range] - ranges->start[range]) -
           (double)loop->counted->children_ns[range];
}

uint32_t nvt_counted_loop_most(const struct nvt_counted_loop *loop, double *share)
{
    const uint32_t strings = nvt_strings_count(loop->view->trace->strings);
    uint32_t most = 0;
    double all = 0;
    for (uint32_t i = 1; i < strings; i++) {
        all += loop->lost[i];
        if (loop->lost[i] > loop->lost[most])
            most = i;
    }
    *share = all > 0 ? loop->lost[most] / all : 0;
    return most;
}

void nvt_counted_loop_point(const struct nvt_counted_loop *loop, uint32_t name,
                            enum nvt_count count, struct nvt_finding *finding)
{
    const struct nvt_ranges *ranges = &loop->view->trace->ranges;
    for (uint32_t i = 0; i < ranges->count && finding->moment_count < NVT_MOMENTS; i++)
        if (loop->counts[i] && ranges->name[i] == name && loop->counted->own[i].of[count] > 0)
            nvt_finding_point(finding, ranges->start[i]);
}
