#include "../../lib/date.h"
#include "kineto.h"

#include <string.h>
#include <time.h>

/* Times after 2001 are wall-clock time, those before count from a start of their own. */
#define EPOCH_NS INT64_C(1000000000000000000)

static int out_of_memory(struct nvt_kineto *reader)
{
    return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
}

/* Device operations do not say whose they are: the process whose call has their correlation id. */
static int own_operations(struct nvt_kineto *reader)
{
    struct nvt_trace *trace = reader->trace;
    const struct nvt_apis *apis = &trace->apis;
    struct nvt_map callers = {0};
    uint32_t first = NVT_NONE;
    int status = 0;
    if (!trace->ops.count && !trace->syncs.count)
        return 0;
    for (uint32_t i = 0; i < apis->count && !status; i++) {
        uint32_t process = trace->threads.process[apis->thread[i]];
        if (first == NVT_NONE)
            first = process;
        uint32_t *caller = nvt_map_at(&callers, apis->correlation[i]);
        if (!caller)
            status = out_of_memory(reader);
        else if (*caller == NVT_MAP_NONE)
            *caller = process;
    }
    if (first == NVT_NONE)
        first = trace->processes.count ? 0 : nvt_trace_process(trace, 0);
    if (first == NVT_NONE)
        status = out_of_memory(reader);
    for (uint32_t i = 0; i < trace->ops.count && !status; i++) {
        uint32_t caller = nvt_map_get(&callers, trace->ops.correlation[i]);
        trace->ops.process[i] = caller == NVT_MAP_NONE ? first : caller;
    }
    for (uint32_t i = 0; i < trace->syncs.count && !status; i++) {
        uint32_t caller = nvt_map_get(&callers, trace->syncs.correlation[i]);
        trace->syncs.process[i] = caller == NVT_MAP_NONE ? first : caller;
    }
    nvt_map_free(&callers);
    return status;
}

static void close_ranges(struct nvt_trace *trace)
{
    struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->flags[i] & NVT_RANGE_UNCLOSED)
            ranges->end[i] = trace->threads.last_ns[ranges->thread[i]];
}

static int set_date(struct nvt_kineto *reader)
{
    char date[NVT_DATE_SIZE];
    if (reader->first == INT64_MAX || reader->trace->origin_ns < 0 ||
        reader->first > INT64_MAX - reader->trace->origin_ns ||
        reader->first + reader->trace->origin_ns < EPOCH_NS)
        return 0;
    time_t seconds = (time_t)((reader->first + reader->trace->origin_ns) / 1000000000);
    nvt_date(seconds, date);
    return *date ? nvt_trace_set_meta(reader->trace, "date", date) : 0;
}

/* By its calls, or without any by its device: ROCm has the categories of CUDA. */
static const char *backend_of(const struct nvt_kineto *reader)
{
    const struct nvt_trace *trace = reader->trace;
    const char *device = trace->devices.count ? nvt_name(trace, trace->devices.name[0]) : "";
    if (reader->backend)
        return reader->backend;
    if (!strncmp(device, "AMD ", 4))
        return "hip";
    return strncmp(device, "Intel", 5) ? "cuda" : "xpu";
}

static int set_facts(struct nvt_kineto *reader)
{
    struct nvt_trace *trace = reader->trace;
    if (set_date(reader))
        return -1;
    if (trace->ops.count && nvt_trace_set_meta(trace, "backend", backend_of(reader)))
        return -1;
    if (trace->devices.count &&
        nvt_trace_set_meta(trace, "device", nvt_name(trace, trace->devices.name[0])))
        return -1;
    for (uint32_t i = 0; i < trace->processes.count; i++)
        trace->processes.rank[i] = reader->rank;
    return 0;
}

int nvt_kineto_finish(struct nvt_kineto *reader)
{
    if (own_operations(reader))
        return -1;
    close_ranges(reader->trace);
    return set_facts(reader) ? out_of_memory(reader) : 0;
}
