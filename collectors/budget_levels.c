#include "budget_levels.h"

#include "../lib/count_of.h"

/* CPU samples are not recorded with a budget at all. What follows costs by event: system calls on each; a record of CUPTI for each call,
 * and more; a record for each kernel and launch. Ranges are left. */
static const uint64_t dearest[] = {
    NVT_TRACE_OSRT | NVT_TRACE_COUNTERS,
    NVT_TRACE_API | NVT_TRACE_MEMORY | NVT_TRACE_SYNC | NVT_TRACE_OVERHEAD | NVT_TRACE_EXTERNAL |
        NVT_TRACE_UM,
    NVT_TRACE_KERNEL | NVT_TRACE_GRAPH,
};
_Static_assert(NVT_COUNT_OF(dearest) < NVT_BUDGET_LEVELS, "and all that is asked for");

uint32_t nvt_budget_levels(uint64_t trace, uint64_t leaves_out[NVT_BUDGET_LEVELS])
{
    uint32_t count = 1;
    uint64_t out = 0;
    leaves_out[0] = 0;
    for (uint32_t i = 0; i < NVT_COUNT_OF(dearest); i++) {
        const uint64_t more = out | (trace & dearest[i]);
        if (more == out || more == trace)
            continue;
        leaves_out[count++] = out = more;
    }
    return count;
}
