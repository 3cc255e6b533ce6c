#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "gpipe.h"

/* --- payloads --- */

#define ENTRY(type, entry_name, place)                                                             \
    {                                                                                              \
        0, NVTX_PAYLOAD_ENTRY_TYPE_##type, entry_name, NULL, 0, place, NULL, NULL                  \
    }

uint64_t nvt_pipeline_memory_schema(const struct nvt_nvtx *nvtx)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(UINT64, "allocated", offsetof(struct nvt_pipeline_memory, allocated)),
        ENTRY(UINT64, "reserved", offsetof(struct nvt_pipeline_memory, reserved)),
        ENTRY(UINT64, "peak_allocated", offsetof(struct nvt_pipeline_memory, peak_allocated)),
        ENTRY(UINT64, "peak_reserved", offsetof(struct nvt_pipeline_memory, peak_reserved)),
        ENTRY(UINT32, "microbatch", offsetof(struct nvt_pipeline_memory, microbatch)),
        ENTRY(UINT32, "is_backward", offsetof(struct nvt_pipeline_memory, is_backward)),
    };
    return nvt_nvtx_schema(nvtx->domain, "memory", entries, NVT_COUNT_OF(entries),
                           sizeof(struct nvt_pipeline_memory));
}

void nvt_pipeline_memory_mark(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name, uint64_t schema,
                              const struct nvt_pipeline_memory *memory)
{
    nvt_nvtx_mark(nvtx, name, schema, memory, sizeof(*memory));
}

struct clock_payload {
    int64_t rank, ranks, offset_ns, error_ns;
    int64_t time_ns; /* this rank's clock at the mark: a trace's axis may begin anywhere on it */
};

int nvt_transport_mark_clock(struct nvt_transport *transport, const struct nvt_nvtx *nvtx,
                             struct nvt_error *err)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(INT64, "rank", offsetof(struct clock_payload, rank)),
        ENTRY(INT64, "ranks", offsetof(struct clock_payload, ranks)),
        ENTRY(INT64, "offset_ns", offsetof(struct clock_payload, offset_ns)),
        ENTRY(INT64, "error_ns", offsetof(struct clock_payload, error_ns)),
        ENTRY(INT64, "time_ns", offsetof(struct clock_payload, time_ns)),
    };
    struct clock_payload clock = {transport->rank, transport->size, 0, 0, 0};
    if (transport->clock_offset(transport, &clock.offset_ns, &clock.error_ns, err))
        return -1;
    uint64_t schema =
        nvt_nvtx_schema(nvtx->domain, "clock", entries, NVT_COUNT_OF(entries), sizeof(clock));
    nvtxStringHandle_t name = nvt_nvtx_name(nvtx, "clock offset");
    clock.time_ns = nvt_monotonic_ns();
    nvt_nvtx_mark(nvtx, name, schema, &clock, sizeof(clock));
    return 0;
}

/* --- transports --- */

int nvt_transport_load(const char *name, struct nvt_transport *transport, struct nvt_error *err)
{
    char path[4096];
    Dl_info info;
    nvt_transport_open_function *open = NULL;
    if (!dladdr((const void *)&nvt_transport_load, &info) || !info.dli_fname)
        return nvt_fail(err, "the folder of the transports is not known");
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    if (snprintf(path, sizeof(path), "%.*slibnvtally-%s.so", folder, info.dli_fname, name) >=
        (int)sizeof(path))
        return nvt_fail(err, "the folder of the transports has too long a name");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return nvt_fail(err, "no transport %s here: %s", name, dlerror());
    *(void **)&open = dlsym(handle, "nvt_transport_open");
    if (open)
        /* cppcheck-suppress resourceLeak ; in use until the process ends */
        return open(transport, err);
    dlclose(handle);
    return nvt_fail(err, "%s is no transport", path);
}
