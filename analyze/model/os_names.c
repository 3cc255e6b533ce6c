#include "os_names.h"

void nvt_os_names_free(struct nvt_os_names *names)
{
    nvt_map_free(&names->calls);
}

/* Without memory for the map it is looked up again. */
const struct nvt_os_call_info *nvt_os_names_find(struct nvt_os_names *names,
                                                 const struct nvt_trace *trace, uint32_t name)
{
    uint32_t *row = nvt_map_at(&names->calls, name);
    if (row && *row != NVT_MAP_NONE)
        return *row < NVT_OS_CALLS ? &nvt_os_calls[*row] : NULL;
    const struct nvt_os_call_info *call = nvt_os_call_find(nvt_name(trace, name));
    if (row)
        *row = call ? (uint32_t)(call - nvt_os_calls) : NVT_OS_CALLS;
    return call;
}

int nvt_os_has_read(struct nvt_os_names *names, const struct nvt_trace *trace, uint32_t row,
                    uint64_t *bytes)
{
    const struct nvt_os_call_info *call =
        nvt_os_names_find(names, trace, trace->os_calls.name[row]);
    int reads = call && nvt_os_reads(call);
    if (call && nvt_os_writes(call))
        return 0;
    *bytes = trace->os_calls.bytes[row];
    return reads || *bytes;
}

int nvt_os_has_written(struct nvt_os_names *names, const struct nvt_trace *trace, uint32_t row,
                       uint64_t *bytes)
{
    const struct nvt_os_call_info *call =
        nvt_os_names_find(names, trace, trace->os_calls.name[row]);
    if (!call || !nvt_os_writes(call))
        return 0;
    *bytes = trace->os_calls.bytes[row];
    return 1;
}
