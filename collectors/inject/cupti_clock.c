#include "cupti_trace.h"

#ifdef HAVE_CUPTI

#include <time.h>

#include "../../lib/clock.h"

#include "../cupti_decode.h"

/* Between times of a device, as CUPTI converts them, and ours there is far less. */
#define APART_NS INT64_C(1000000000)

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

#endif
