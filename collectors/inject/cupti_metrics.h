/*
 * --trace metrics: counters of the devices, by CUPTI's PM sampling, next to the activity records.
 *
 * The hardware writes a sample each interval into a buffer. The flushing thread decodes it several times in the time that it
 * takes to fill, and sends the values as rows: what a killed process had decoded is in the trace. No other thread calls CUPTI for
 * it. A device is sampled from when the first context on it is noticed, while a capture and the window are open.
 *
 * Samples have times of a clock of the CPU, CUPTI's manual says, and not of which: the first that all samples of a decoding
 * fit in, between the start and now, is taken. Where none fits, samples are placed by when they were decoded, and that is said.
 *
 * Whatever cannot be had is said once, in the trace and by `record`, and all else is recorded without it.
 */
#ifndef NVT_CUPTI_METRICS_H
#define NVT_CUPTI_METRICS_H

#ifdef HAVE_CUPTI

#include "cupti_trace.h"

struct nvt_cupti_seen;

/* A context has come up. From any thread, in a callback of CUPTI's. */
void nvt_cupti_metrics_context(const struct nvt_cupti_api *api, const void *resource);

/* A capture has begun or ended. From any thread. */
void nvt_cupti_metrics_capture(const struct nvt_cupti_api *api);

/* Start or stop, as the capture and the window say, and send what there is; `final`: CUPTI is not called for it any more.
 * `is_up`: there is a context. Of the flushing thread. */
void nvt_cupti_metrics_round(const struct nvt_cupti_api *api, const struct nvt_cupti_seen *seen,
                             int is_up, int final);

/* How long to wait for other things, given `ns` ahead of the next. */
int64_t nvt_cupti_metrics_wait(int64_t ns);

/* --- cupti_metrics_say.c: said in the trace, and, the first of them, by `record` --- */

__attribute__((format(printf, 1, 2))) void nvt_metrics_tell(const char *format, ...);

/* What CUPTI's answer means for who wants counters: a constant, or `text`. */
const char *nvt_metrics_meaning(const struct nvt_cupti_api *api, CUptiResult result, char *text,
                                size_t size);

/* --- cupti_metrics_clock.c: the clock of samples --- */

#define NVT_METRICS_CLOCKS 4 /* CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_MONOTONIC_RAW, CUPTI's */
enum { NVT_METRICS_NO_CLOCK = NVT_METRICS_CLOCKS, NVT_METRICS_ANY_CLOCK };

/* One moment on each of them, ns; 0: there is none. */
struct nvt_metrics_moment {
    uint64_t at[NVT_METRICS_CLOCKS];
};
struct nvt_metrics_moment nvt_metrics_now(const struct nvt_cupti_api *api);

/* The first clock on which both times lie between the moments, NVT_METRICS_NO_CLOCK: none. */
int nvt_metrics_clock(const struct nvt_metrics_moment *begun, const struct nvt_metrics_moment *now,
                      uint64_t first, uint64_t last);

/* What to add to a time of that clock to have one of CLOCK_MONOTONIC; of no clock, the last sample ended now. */
uint64_t nvt_metrics_ahead(int clock, const struct nvt_metrics_moment *now, uint64_t last);

#endif
#endif
