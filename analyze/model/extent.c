#include "extent.h"
#include "../../lib/count_of.h"

#include "counters.h"
#include "mpi.h"

static void widen_by_samples(const struct nvt_trace *trace, int64_t from, struct nvt_extent *extent)
{
    const struct nvt_counter_samples *samples = &trace->counter_samples;
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->time[i] >= from && !nvt_is_sampled_counter(trace, samples->counter[i]))
            nvt_extent_widen(extent, samples->time[i], samples->time[i]);
}

static void widen_by_calls(const struct nvt_trace *trace, struct nvt_extent *extent)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++)
        if (!nvt_mpi_is_edge(trace, i))
            nvt_extent_widen(extent, calls->start[i], calls->end[i]);
}

static void widen_by_all(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                         struct nvt_extent *extent)
{
    const int64_t *start = nvt_layout_starts(trace, table), *end = nvt_layout_ends(trace, table);
    const uint32_t rows = nvt_layout_rows(trace, table);
    struct nvt_extent widened = *extent;
    for (uint32_t i = 0; i < rows; i++)
        nvt_extent_widen(&widened, start[i], end[i]);
    *extent = widened;
}

void nvt_extent_widen_by(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                         int64_t from, struct nvt_extent *extent)
{
    if (table == &nvt_layout()[NVT_TABLE_counter_samples])
        widen_by_samples(trace, from, extent);
    else if (table == &nvt_layout()[NVT_TABLE_mpi_calls])
        widen_by_calls(trace, extent);
    else if (table->extent == NVT_WIDENS ||
             (table->extent == NVT_PARTLY && !trace->ranges.count && !trace->marks.count &&
              !trace->ops.count && !trace->apis.count))
        widen_by_all(trace, table, extent);
}

void nvt_extent_settle(const struct nvt_trace *trace, struct nvt_extent *extent)
{
    static const enum nvt_table_number last[] = {NVT_TABLE_counter_samples, NVT_TABLE_mpi_calls};
    for (size_t i = 0; i < NVT_COUNT_OF(last) && extent->first > extent->last; i++)
        widen_by_all(trace, &nvt_layout()[last[i]], extent);
    if (extent->first > extent->last)
        *extent = (struct nvt_extent){0, 0};
}

struct nvt_extent nvt_extent_of_processes(const struct nvt_trace *trace)
{
    static const enum nvt_table_number others[] = {NVT_TABLE_os_calls, NVT_TABLE_cpu_samples};
    struct nvt_extent extent = {trace->first_ns, trace->last_ns};
    for (size_t i = 0; i < NVT_COUNT_OF(others) && !trace->is_part; i++)
        widen_by_all(trace, &nvt_layout()[others[i]], &extent);
    return extent;
}
