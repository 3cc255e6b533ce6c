#include "first.h"

static void take(int64_t *first, const int64_t *times, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        *first = times[i] < *first ? times[i] : *first;
}

int64_t nvt_export_first(const struct nvt_trace *trace)
{
    int64_t first = trace->first_ns;
    take(&first, trace->syncs.start, trace->syncs.count);
    take(&first, trace->overheads.start, trace->overheads.count);
    take(&first, trace->mpi_calls.start, trace->mpi_calls.count);
    take(&first, trace->os_calls.start, trace->os_calls.count);
    take(&first, trace->cpu_samples.time, trace->cpu_samples.count);
    if (!trace->is_part)
        take(&first, trace->counter_samples.time, trace->counter_samples.count);
    return first;
}
