#include "call_sites.h"

#include <stdlib.h>

#include "../../lib/map.h"
#include "hot_functions.h"

/* The row that stands for all with the same name and module. NVT_NONE when out of memory. */
static uint32_t first_alike(struct nvt_map *known, const struct nvt_trace *trace, uint32_t row)
{
    const struct nvt_call_frames *frames = &trace->call_frames;
    uint32_t name = nvt_is_nameless(nvt_name(trace, frames->name[row])) ? 0 : frames->name[row];
    uint32_t *at = nvt_map_at(known, (uint64_t)name << 32 | frames->module[row]);
    if (!at)
        return NVT_NONE;
    if (*at == NVT_MAP_NONE)
        *at = row;
    return *at;
}

/* Callers are lower rows. */
int nvt_call_sites_make(struct nvt_call_sites *sites, const struct nvt_trace *trace)
{
    const struct nvt_call_frames *frames = &trace->call_frames;
    struct nvt_map known = {0};
    int status = 0;
    sites->trace = trace;
    sites->own = calloc((size_t)frames->count + 1, sizeof(*sites->own));
    sites->library = calloc((size_t)frames->count + 1, sizeof(*sites->library));
    if (!sites->own || !sites->library)
        return -1;
    for (uint32_t i = 0; i < frames->count && !status; i++) {
        uint32_t caller = frames->parent[i];
        sites->own[i] = nvt_call_site(sites, caller);
        if (nvt_is_own_frame(trace, i)) {
            uint32_t alike = first_alike(&known, trace, i);
            status = alike == NVT_NONE ? -1 : 0;
            sites->own[i] = alike + 1;
        }
        if (caller)
            sites->library[i] = frames->module[caller - 1] != frames->module[i]
                                    ? caller
                                    : sites->library[caller - 1];
    }
    nvt_map_free(&known);
    return status;
}

void nvt_call_sites_free(struct nvt_call_sites *sites)
{
    free(sites->own);
    free(sites->library);
    *sites = (struct nvt_call_sites){0};
}
