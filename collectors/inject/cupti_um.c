/*
 * Managed memory: page faults, migrations, thrashing. CUPTI is told which of its counters are wanted before the kind of
 * their records is enabled, and only "after CUDA driver initialization" (cuptiActivityConfigureUnifiedMemoryCounter in
 * cupti_activity.h). We come up within that very initialization, so it waits for CUPTI to say that it has finished. That is
 * before the first context, as in NVIDIA's sample unified_memory; where it is not said, or refused then, the context is
 * waited for.
 */
#include "../../lib/count_of.h"
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

/* Those that every example of NVIDIA's takes come first: where all are refused together, these are asked for alone. */
static const CUpti_ActivityUnifiedMemoryCounterKind counters[] = {
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
};
enum { ALL = NVT_COUNT_OF(counters), PLAIN = 4 };

/* Scope and device are without effect since CUDA 7.0. */
static CUptiResult configure(const struct nvt_cupti_api *api, uint32_t count)
{
    CUpti_ActivityUnifiedMemoryCounterConfig wishes[ALL];
    if (!api->cuptiActivityConfigureUnifiedMemoryCounter)
        return CUPTI_ERROR_NOT_SUPPORTED;
    for (uint32_t i = 0; i < count; i++)
        wishes[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = counters[i],
            .enable = 1};
    return api->cuptiActivityConfigureUnifiedMemoryCounter(wishes, count);
}

/* Neither the platform nor the devices have them: then fewer of them are not there either. */
static int is_final(CUptiResult result)
{
    return result == CUPTI_SUCCESS || result == CUPTI_ERROR_NOT_INITIALIZED ||
           result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED ||
           result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE ||
           result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES;
}

int nvt_cupti_um(const struct nvt_cupti_api *api, int on, char *refused, size_t size)
{
    if (!on) {
        api->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
        return 0;
    }
    CUptiResult all = configure(api, ALL), result = all;
    if (!is_final(all))
        result = configure(api, PLAIN);
    if (result == CUPTI_SUCCESS)
        result = api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    if (result == CUPTI_ERROR_NOT_INITIALIZED)
        return 1;
    if (result != CUPTI_SUCCESS)
        nvt_cupti_refuse(api, "managed memory", result, refused, size);
    else if (all != CUPTI_SUCCESS)
        nvt_cupti_refuse(api, "thrashing of managed memory", all, refused, size);
    return 0;
}

#endif
