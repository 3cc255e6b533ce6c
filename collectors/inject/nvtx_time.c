#include "nvtx_time.h"

#include <stdatomic.h>

#include "../../lib/clock.h"
#include "../../lib/trace_file.h"
#include "session.h"

struct time_domain {
    struct time_domain *next;
    uint64_t id;
    int clock;
};

static struct time_domain *_Atomic domains;
static _Atomic uint64_t next_id = NVTX_TIME_DOMAIN_ID_DYNAMIC_START;

static int clock_of_type(uint64_t type)
{
    switch (type) {
    case NVTX_TIMESTAMP_TYPE_NONE:
    case NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED:
        return NVT_SAMPLE_TICKS;
    case NVTX_TIMESTAMP_TYPE_CPU_TSC:
        return nvt_session.control->clock == NVT_CLOCK_TSC ? NVT_SAMPLE_TICKS : -1;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_COARSE:
    case NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK: /* of libstdc++ and libc++ on Linux */
        return NVT_SAMPLE_MONOTONIC;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME_COARSE:
        return NVT_SAMPLE_REALTIME;
    default:
        return -1;
    }
}

int nvt_time_clock(uint64_t time_domain)
{
    for (const struct time_domain *known = atomic_load(&domains); known; known = known->next)
        if (known->id == time_domain)
            return known->clock;
    return clock_of_type(time_domain);
}

uint64_t nvt_time_register(nvtxDomainHandle_t domain, const nvtxTimeDomainAttr_t *from)
{
    struct time_domain *fresh = from ? nvt_session_memory(sizeof(*fresh)) : NULL;
    (void)domain;
    if (!fresh)
        return NVTX_TIME_DOMAIN_ID_NONE;
    fresh->id = from->timeDomainId ? from->timeDomainId : atomic_fetch_add(&next_id, 1);
    fresh->clock = clock_of_type(from->timestampTypeId);
    fresh->next = atomic_load(&domains);
    while (!atomic_compare_exchange_weak(&domains, &fresh->next, fresh)) {
    }
    return fresh->id;
}
