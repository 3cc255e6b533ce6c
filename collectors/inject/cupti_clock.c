#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <time.h>

#include "../../lib/clock.h"

#include "../cupti_decode.h"

/* Between times of a device, as CUPTI converts them, and ours there is far less. */
#define APART_NS INT64_C(1000000000)

uint64_t CUPTIAPI nvt_cupti_timestamp(void)
{
    return (uint64_t)nvt_monotonic_ns();
}

void nvt_cupti_clock_begins(struct nvt_cupti_decoder *decoder)
{
    int64_t now = nvt_monotonic_ns();
    decoder->earliest = now > APART_NS ? (uint64_t)(now - APART_NS) : 0;
}

/* CUPTI's own clock is CLOCK_REALTIME (cuptiActivityRegisterTimestampCallback in its headers). */
void nvt_cupti_clock_until(struct nvt_cupti_decoder *decoder)
{
    struct timespec real;
    int64_t now = nvt_monotonic_ns();
    clock_gettime(CLOCK_REALTIME, &real);
    decoder->latest = (uint64_t)(now + APART_NS);
    decoder->ahead = (uint64_t)((int64_t)real.tv_sec * 1000000000 + real.tv_nsec - now);
}

/* As near as the best of some tries gets. */
int nvt_cupti_moment(const struct nvt_cupti_api *api, uint64_t fields[NVT_CLOCK_FIELDS])
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t now = 0;
        int64_t before = nvt_monotonic_ns();
        CUptiResult result = api->cuptiGetTimestamp(&now);
        int64_t took = nvt_monotonic_ns() - before;
        if (result != CUPTI_SUCCESS || took >= best)
            continue;
        best = took;
        fields[NVT_CLOCK_CUPTI] = now;
        fields[NVT_CLOCK_MONOTONIC_NS] = (uint64_t)(before + took / 2);
    }
    return best == INT64_MAX ? -1 : 0;
}

#endif
