#include "call_stacks.h"

static int has_any(const uint32_t *frame, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (frame[i])
            return 1;
    return 0;
}

/* Without functions there is nothing to look for. */
int nvt_has_cuda_stacks(const struct nvt_trace *trace)
{
    return trace->call_frames.count && has_any(trace->apis.frame, trace->apis.count);
}

int nvt_has_os_stacks(const struct nvt_trace *trace)
{
    return trace->call_frames.count && has_any(trace->os_calls.frame, trace->os_calls.count);
}

uint32_t nvt_call_stack(const struct nvt_trace *trace, uint32_t frame,
                        uint32_t rows[NVT_CALL_STACK_MOST])
{
    uint32_t count = 0;
    for (; frame && count < NVT_CALL_STACK_MOST; frame = trace->call_frames.parent[frame - 1])
        rows[count++] = frame - 1;
    return count;
}
