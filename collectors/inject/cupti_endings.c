/*
 * The calls after which a context is gone, and with it the records of what ran in it that are not handed over by then:
 * NVIDIA's sample cupti_trace_injection flushes at the first of them. What still runs is waited for before those that end a
 * context in any case; a release ends it only if it is the last.
 */
#include "../../lib/count_of.h"
#include "cupti_trace.h"

#ifdef HAVE_CUPTI

static const struct {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    enum nvt_cupti_ending ending;
} endings[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, NVT_ENDS_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, NVT_ENDS_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
     NVT_ENDS_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease,
     NVT_MAY_END_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2,
     NVT_MAY_END_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy, NVT_ENDS_CONTEXT},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, NVT_ENDS_CONTEXT},
};
#define ENDINGS NVT_COUNT_OF(endings)

void nvt_cupti_listen_to_endings(const struct nvt_cupti_api *api, CUpti_SubscriberHandle subscriber)
{
    for (size_t i = 0; i < ENDINGS; i++)
        api->cuptiEnableCallback(1, subscriber, endings[i].domain, endings[i].id);
}

enum nvt_cupti_ending nvt_cupti_ending(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    for (size_t i = 0; i < ENDINGS; i++)
        if (endings[i].domain == domain && endings[i].id == id)
            return endings[i].ending;
    return NVT_ENDS_NOTHING;
}

#endif
