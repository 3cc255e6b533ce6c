#include "cupti_metrics.h"

#ifdef HAVE_CUPTI

#include <time.h>

#define SLACK_NS                                                                                   \
    1000000u /* a sample may lie so far outside: times of devices are made those of a CPU by a fit */

static uint64_t now_of(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) ? 0
                                      : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct nvt_metrics_moment nvt_metrics_now(const struct nvt_cupti_api *api)
{
    struct nvt_metrics_moment now = {
        {now_of(CLOCK_MONOTONIC), now_of(CLOCK_REALTIME), now_of(CLOCK_MONOTONIC_RAW), 0}};
    if (api->cuptiGetTimestamp(&now.at[NVT_METRICS_CLOCKS - 1]) != CUPTI_SUCCESS)
        now.at[NVT_METRICS_CLOCKS - 1] = 0;
    return now;
}

int nvt_metrics_clock(const struct nvt_metrics_moment *begun, const struct nvt_metrics_moment *now,
                      uint64_t first, uint64_t last)
{
    int clock = 0;
    while (clock < NVT_METRICS_CLOCKS &&
           (!begun->at[clock] || !now->at[clock] || first + SLACK_NS < begun->at[clock] ||
            last > now->at[clock] + SLACK_NS))
        clock++;
    return clock;
}

uint64_t nvt_metrics_ahead(int clock, const struct nvt_metrics_moment *now, uint64_t last)
{
    return now->at[0] - (clock < NVT_METRICS_CLOCKS ? now->at[clock] : last);
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_metrics_clock_is_empty;
#endif
