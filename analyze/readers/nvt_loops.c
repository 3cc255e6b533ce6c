/*
 * Where the last iteration of a loop ends that `record --pytorch` has not seen the end of. Behind each step it opens the range
 * `between steps`, which the next iteration ends. Nothing ends that of the last one: everything up to the end of the process
 * would be in it. If the process ended by itself, a mark says so, and both ranges end with the step. Without that mark it was
 * killed, or hangs, and they stay open.
 */
#include <stdlib.h>
#include <string.h>

#include "../model/batches.h"
#include "nvt.h"

static int is_mark(const struct nvt_trace *trace, uint32_t mark)
{
    return !strcmp(nvt_name(trace, trace->marks.name[mark]), "loop ended") &&
           !strcmp(nvt_name(trace, trace->domains.name[trace->marks.domain[mark]]), "PyTorch");
}

static int is_open(const struct nvt_ranges *ranges, uint32_t range, enum nvt_range_style style)
{
    return ranges->flags[range] & NVT_RANGE_UNCLOSED && ranges->style[range] == style;
}

static void end_at(struct nvt_ranges *ranges, uint32_t range, int64_t moment)
{
    ranges->end[range] = moment;
    ranges->flags[range] &= (uint8_t)~NVT_RANGE_UNCLOSED;
}

/* The iteration that a range `between steps` is in: the last one that is open there, of its thread, or else of its process, as
 * another thread may have begun it. NVT_NONE: there is none. */
static uint32_t find_iteration(const struct nvt_trace *trace, uint32_t gap)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t *process = trace->threads.process, own = ranges->thread[gap];
    uint32_t found = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (is_open(ranges, i, NVT_START_END) && process[ranges->thread[i]] == process[own] &&
            ranges->start[i] <= ranges->start[gap] && nvt_is_of_pytorch(trace, i, "iteration") &&
            (found == NVT_NONE || ranges->thread[i] == own || ranges->thread[found] != own))
            found = i;
    return found;
}

/* End the iteration where the first range `between steps` of that thread begins in it: evaluations and checkpoints may have
 * interrupted that, of which nobody knows whether they are of the loop. */
static void end_loop(struct nvt_trace *trace, uint32_t gap)
{
    struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t thread = ranges->thread[gap], iteration = find_iteration(trace, gap);
    int64_t from = iteration == NVT_NONE ? ranges->start[gap] : ranges->start[iteration], end = 0;
    int has_end = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->thread[i] != thread || ranges->start[i] < from ||
            !nvt_is_of_pytorch(trace, i, "between steps"))
            continue;
        end = has_end && end < ranges->start[i] ? end : ranges->start[i];
        has_end = 1;
        end_at(ranges, i, ranges->start[i]);
    }
    if (iteration != NVT_NONE)
        end_at(ranges, iteration, end);
}

int nvt_file_end_loops(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    unsigned char *ended = NULL; /* processes */
    for (uint32_t i = 0; i < trace->marks.count; i++)
        if (is_mark(trace, i)) {
            ended = ended ? ended : calloc((size_t)trace->processes.count + 1, 1);
            if (!ended)
                return -1;
            ended[trace->threads.process[trace->marks.thread[i]]] = 1;
        }
    for (uint32_t i = 0; ended && i < ranges->count; i++)
        if (is_open(ranges, i, NVT_PUSH_POP) && ended[trace->threads.process[ranges->thread[i]]] &&
            nvt_is_of_pytorch(trace, i, "between steps"))
            end_loop(trace, i);
    free(ended);
    return 0;
}
