#include "extent.h"

#include "mpi.h"

void nvt_extent_cut_to_start(const int64_t *start, int64_t *end, uint32_t count,
                             struct nvt_extent *extent)
{
    int64_t first = extent->first, last = extent->last;
    for (uint32_t i = 0; i < count; i++) {
        if (end[i] < start[i])
            end[i] = start[i];
        first = start[i] < first ? start[i] : first;
        last = end[i] > last ? end[i] : last;
    }
    *extent = (struct nvt_extent){first, last};
}

void nvt_extent_widen(const int64_t *times, uint32_t count, struct nvt_extent *extent)
{
    for (uint32_t i = 0; i < count; i++) {
        extent->first = times[i] < extent->first ? times[i] : extent->first;
        extent->last = times[i] > extent->last ? times[i] : extent->last;
    }
}

void nvt_extent_widen_by_samples(const struct nvt_trace *trace, struct nvt_extent *extent)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->counter[i] >= trace->counters.count ||
            !trace->counters.is_of_machine[samples->counter[i]])
            nvt_extent_widen(&samples->time[i], 1, extent);
}

void nvt_extent_widen_by_calls(const struct nvt_trace *trace, struct nvt_extent *extent)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        if (!nvt_mpi_is_edge(trace, i)) {
            nvt_extent_widen(&calls->start[i], 1, extent);
            nvt_extent_widen(&calls->end[i], 1, extent);
        }
}

void nvt_extent_widen_by_cpu_samples(const struct nvt_trace *trace, struct nvt_extent *extent)
{
    if (!trace->ranges.count && !trace->marks.count && !trace->ops.count && !trace->apis.count)
        nvt_extent_widen(trace->cpu_samples.time, trace->cpu_samples.count, extent);
}
