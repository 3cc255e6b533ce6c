/*
 * What each level of --trace costs: the kinds of records that CUPTI makes, and the calls of the API
 * that it makes them for. A launch is linked to its range by the record of the launching call, so
 * `kernel` needs the calls that launch, and no others; a wait is linked by the call that waits.
 */
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../cupti_decode.h"
#include "../ring.h"

struct kind {
    uint64_t levels; /* any of these needs it */
    CUpti_ActivityKind kind;
    const char *name;
};

static const struct kind kinds[] = {
    {NVT_TRACE_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
    {NVT_TRACE_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    {NVT_TRACE_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices"},
    {NVT_TRACE_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET, "memsets"},
    {NVT_TRACE_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "graphs"},
    {NVT_TRACE_API, CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls"},
    {NVT_TRACE_API, CUPTI_ACTIVITY_KIND_DRIVER, "driver calls"},
    {NVT_TRACE_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
    {NVT_TRACE_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools"},
    {NVT_TRACE_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "synchronization"},
    {NVT_TRACE_SYNC, CUPTI_ACTIVITY_KIND_CUDA_EVENT, "events"},
    {NVT_TRACE_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
    {NVT_TRACE_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "external correlation"},
};

void nvt_cupti_refuse(const struct nvt_cupti_api *api, const char *name, CUptiResult result,
                      char *refused, size_t size)
{
    const char *text = NULL;
    char *bracket = strstr(refused, " (");
    size_t used = bracket ? (size_t)(bracket - refused) : strlen(refused);
    if (api->cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text)
        text = "unknown error";
    snprintf(refused + used, size - used, "%s%s (%s)", used ? ", " : "", name, text);
}

/* How far CUPTI's numbers of calls may go; those of CUDA 13 end below 850. */
#define CALLS_MOST 4096u

typedef CUptiResult (*filter)(CUpti_CallbackId id, uint8_t enable);

static int is_needed(uint64_t trace, const char *name)
{
    if (trace & NVT_TRACE_API)
        return !nvt_cupti_is_question(name);
    /* A pushed id has a record in front of each call's (cuptiActivityPushExternalCorrelationId), and none without. */
    return ((trace & (NVT_TRACE_KERNEL | NVT_TRACE_EXTERNAL)) && nvt_cupti_is_launch(name)) ||
           ((trace & NVT_TRACE_GRAPH) && nvt_cupti_is_graph_launch(name)) ||
           ((trace & NVT_TRACE_MEMORY) && nvt_cupti_is_memory_call(name)) ||
           ((trace & NVT_TRACE_SYNC) && nvt_cupti_is_sync_call(name));
}

/* Records of those calls of one interface that are needed (1), or of those that are not (0), on or off. Where CUPTI cannot
 * choose: why. A call that is refused by itself is left out, unless it is what launches kernels, or nothing else was taken. */
static CUptiResult choose_calls(const struct nvt_cupti_api *api, CUpti_CallbackDomain domain,
                                filter set, uint64_t trace, int which, int on)
{
    CUptiResult refused = CUPTI_SUCCESS;
    int taken = 0;
    if (!set)
        return CUPTI_ERROR_NOT_SUPPORTED;
    for (uint32_t id = 1; id < CALLS_MOST; id++) {
        const char *name = NULL;
        if (api->cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name ||
            is_needed(trace, name) != which)
            continue;
        CUptiResult result = set(id, (uint8_t)on);
        taken += result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS && nvt_cupti_is_kernel_launch(name))
            return result;
        if (result != CUPTI_SUCCESS)
            refused = result;
    }
    return taken ? CUPTI_SUCCESS : refused;
}

static CUptiResult choose_of_both(const struct nvt_cupti_api *api, uint64_t trace, int which,
                                  int on)
{
    CUptiResult chosen = choose_calls(api, CUPTI_CB_DOMAIN_RUNTIME_API,
                                      api->cuptiActivityEnableRuntimeApi, trace, which, on);
    return chosen == CUPTI_SUCCESS
               ? choose_calls(api, CUPTI_CB_DOMAIN_DRIVER_API, api->cuptiActivityEnableDriverApi,
                              trace, which, on)
               : chosen;
}

int nvt_cupti_lacks_calls(uint64_t trace, const struct nvt_cupti_seen *seen)
{
    return (trace & NVT_TRACE_KERNEL) && seen->kernels && (!seen->calls || !seen->linked);
}

/* Single calls were asked for, and did not come. */
static _Atomic int wants_all;

int nvt_cupti_ask_for_calls(const struct nvt_cupti_api *api, uint64_t trace,
                            const struct nvt_cupti_seen *seen)
{
    enum { ROUNDS = 10, KERNELS = 2000 }; /* in which a buffer with calls should have come */
    static int rounds;
    if ((trace & NVT_TRACE_API) || wants_all || !nvt_cupti_lacks_calls(trace, seen) ||
        ++rounds < ROUNDS || seen->kernels < KERNELS)
        return 0;
    wants_all = 1;
    api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
    return 1;
}

/* All calls, or none. */
static void set_all_calls(const struct nvt_cupti_api *api, int on, char *refused, size_t size)
{
    CUptiResult (*set)(CUpti_ActivityKind) =
        on ? api->cuptiActivityEnable : api->cuptiActivityDisable;
    CUptiResult runtime = set(CUPTI_ACTIVITY_KIND_RUNTIME);
    CUptiResult driver = set(CUPTI_ACTIVITY_KIND_DRIVER);
    if (on && (runtime != CUPTI_SUCCESS || driver != CUPTI_SUCCESS))
        nvt_cupti_refuse(api, "API calls", runtime == CUPTI_SUCCESS ? driver : runtime, refused,
                         size);
}

/*
 * Single calls. CUPTI 13.0 takes wishes for them at any time, and where there was none when the driver came up it makes no
 * record of any, without a word (seen on an H100; kinds are heard whenever they are asked for). So there all calls are asked
 * for, and those that are not needed are taken out again.
 */
static void set_calls(const struct nvt_cupti_api *api, uint64_t trace, int on, int late,
                      char *refused, size_t size)
{
    CUptiResult chosen = CUPTI_SUCCESS;
    if (trace & NVT_TRACE_API) {
        /* All are on, as kinds, less some. */
        if (on)
            choose_of_both(api, trace, 0, 0);
        return;
    }
    if (!(trace & (NVT_TRACE_KERNEL | NVT_TRACE_GRAPH | NVT_TRACE_MEMORY | NVT_TRACE_SYNC |
                   NVT_TRACE_EXTERNAL)))
        return;
    if (on && (late || wants_all))
        set_all_calls(api, 1, refused, size);
    if (late && !wants_all)
        chosen = choose_of_both(api, trace, !on, 0);
    else if (!wants_all)
        chosen = choose_of_both(api, trace, 1, on);
    /* An older CUPTI has all calls or none. */
    if (on && chosen != CUPTI_SUCCESS)
        nvt_cupti_refuse(api, "some API calls without the others", chosen, refused, size);
    if (on && chosen != CUPTI_SUCCESS && !late)
        set_all_calls(api, 1, refused, size);
    if (!on && (late || wants_all || chosen != CUPTI_SUCCESS))
        set_all_calls(api, 0, refused, size);
}

void nvt_cupti_levels(const struct nvt_cupti_api *api, uint64_t trace, int on, int late,
                      char *refused, size_t size)
{
    refused[0] = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++) {
        if (!(kinds[i].levels & trace))
            continue;
        CUptiResult result =
            on ? api->cuptiActivityEnable(kinds[i].kind) : api->cuptiActivityDisable(kinds[i].kind);
        if (on && result != CUPTI_SUCCESS)
            nvt_cupti_refuse(api, kinds[i].name, result, refused, size);
    }
    /* A question whether something has ended is no wait; loops ask it without end. */
    if (on && (trace & NVT_TRACE_SYNC) && api->cuptiActivityEnableAllSyncRecords)
        api->cuptiActivityEnableAllSyncRecords(0);
    set_calls(api, trace, on, late, refused, size);
}

const char *nvt_cupti_defect(const struct nvt_cupti_api *api, uint64_t trace)
{
    enum { CUDA_13_0 = 130000 }; /* before its Update 1 */
    return api->version == CUDA_13_0 && (trace & NVT_TRACE_SYNC)
               ? "this libcupti makes no records of cudaDeviceSynchronize; that of CUDA 13.0 "
                 "Update 1 does"
               : NULL;
}

void nvt_cupti_objects(const struct nvt_cupti_api *api, char *refused, size_t size)
{
    CUptiResult devices = api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE);
    CUptiResult contexts = api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONTEXT);
    if (devices != CUPTI_SUCCESS)
        nvt_cupti_refuse(api, "devices", devices, refused, size);
    if (contexts != CUPTI_SUCCESS)
        nvt_cupti_refuse(api, "contexts", contexts, refused, size);
}

void nvt_cupti_dump_devices(const struct nvt_cupti_api *api)
{
    if (api->cuptiActivityEnableAndDump)
        api->cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE);
}

#endif
