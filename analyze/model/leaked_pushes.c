#include "leaked_pushes.h"

#include <stdlib.h>

static uint32_t count_open(const struct nvt_ranges *ranges)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        open += ranges->flags[i] & NVT_RANGE_UNCLOSED;
    return open;
}

int nvt_leaked_pushes_find(const struct nvt_trace *trace, struct nvt_leaked_pushes *leaked)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const size_t names = (size_t)nvt_strings_count(trace->strings) + 1;
    struct {
        uint32_t open, closed, thread;
    } *of = NULL;
    /* Of a recording in parts, the ends of what was open at the end of each are unknown: nobody forgot them. */
    if (count_open(ranges) < NVT_LEAKED_PUSHES || nvt_trace_meta(trace, "part 2"))
        return 0;
    of = calloc(names, sizeof(*of));
    if (!of)
        return -1;
    for (uint32_t i = ranges->count; i-- > 0;) {
        const uint32_t name = ranges->name[i];
        const int is_open = ranges->flags[i] & NVT_RANGE_UNCLOSED;
        if (ranges->style[i] != NVT_PUSH_POP)
            continue;
        of[name].open += is_open != 0;
        of[name].closed += !is_open;
        of[name].thread = is_open ? ranges->thread[i] : of[name].thread;
    }
    *leaked = (struct nvt_leaked_pushes){.pushed = 0};
    for (uint32_t name = 0; name < names; name++)
        if (of[name].open >= NVT_LEAKED_PUSHES && of[name].closed <= of[name].open / 10 &&
            of[name].open > leaked->pushed)
            *leaked = (struct nvt_leaked_pushes){name, of[name].thread, of[name].open};
    free(of);
    return leaked->pushed > 0;
}
