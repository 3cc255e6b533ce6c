/*
 * --counters-of RANGE: what the device counted over each such range, exactly, by CUPTI's range profiler with ranges of the user
 * and metrics of one pass: nothing is run twice.
 *
 * The range is captured (capture.h): counting begins before it and ends behind it, and the device is waited for at both ends, so
 * that all of its work counts and nothing else does. Counted is all that the context does meanwhile, whichever thread launches it.
 */
#ifndef NVT_CUPTI_RANGE_COUNTERS_H
#define NVT_CUPTI_RANGE_COUNTERS_H

#ifdef HAVE_CUPTI

#include "cupti_api.h"

/* The context that is counted: the first that came up. From any thread, in a callback of CUPTI's. */
void nvt_cupti_count_context(CUcontext context, uint32_t device);

/* A capture has begun (1) or ended (0). From any thread. */
void nvt_cupti_count(const struct nvt_cupti_api *api, int is_open);

/* To be asked at the end: why no range was counted, NULL: some were, or it was said before. */
const char *nvt_cupti_count_missing(void);

#endif
#endif
