#include "losses.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"
#include "../model/launchers.h"

static uint32_t count_samples(const struct nvt_trace *trace)
{
    return trace->cpu_samples.count;
}

static uint32_t count_range_counts(const struct nvt_trace *trace)
{
    return trace->range_counts.count;
}

static uint32_t count_stacks(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        count += trace->apis.frame[i] != 0;
    for (uint32_t i = 0; i < trace->os_calls.count; i++)
        count += trace->os_calls.frame[i] != 0;
    return count;
}

/* Thrashing, throttling and remote maps. */
static uint32_t count_managed(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->um_events.count; i++)
        count += trace->um_events.kind[i] != NVT_UM_CPU_FAULT &&
                 trace->um_events.kind[i] != NVT_UM_GPU_FAULT;
    return count;
}

/* Who started whom is in neither of them, by which launchers are known. */
static uint32_t count_launchers(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    free(nvt_launchers_find(trace, &count));
    return count;
}

static const struct {
    const char *what;
    uint32_t (*count)(const struct nvt_trace *trace);
    const struct nvt_exporter *without[5]; /* formats that have no form for it */
} losses[] = {
    {"CPU samples", count_samples, {&nvt_exporter_perfetto}},
    {"stacks of calls", count_stacks, {&nvt_exporter_perfetto}},
    {"CPU counters of ranges",
     count_range_counts,
     {&nvt_exporter_chrome, &nvt_exporter_chrome_path, &nvt_exporter_perfetto, &nvt_exporter_sqlite,
      &nvt_exporter_csv}},
    {"which processes only started the program",
     count_launchers,
     {&nvt_exporter_chrome, &nvt_exporter_chrome_path, &nvt_exporter_perfetto}},
    {"thrashing, throttling and remote maps of managed memory",
     count_managed,
     {&nvt_exporter_sqlite}},
};

static int is_without(const struct nvt_exporter *const *without, size_t count,
                      const struct nvt_exporter *exporter)
{
    for (size_t i = 0; i < count; i++)
        if (without[i] == exporter)
            return 1;
    return 0;
}

int nvt_export_losses(const struct nvt_exporter *exporter, const struct nvt_trace *trace,
                      struct nvt_buffer *out)
{
    for (size_t i = 0; i < NVT_COUNT_OF(losses); i++) {
        const uint32_t count =
            is_without(losses[i].without, NVT_COUNT_OF(losses[i].without), exporter)
                ? losses[i].count(trace)
                : 0;
        if (count &&
            nvt_buffer_printf(out, "%s%s (%u)", out->size ? ", " : "", losses[i].what, count))
            return -1;
    }
    return 0;
}
