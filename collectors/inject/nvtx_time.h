/*
 * NVTX's time domains: on which clock a program has taken the times that it hands over with samples and events.
 */
#ifndef NVT_INJECT_NVTX_TIME_H
#define NVT_INJECT_NVTX_TIME_H

#include <nvtx3/nvToolsExtPayload.h>
#include <stdint.h>

/* The clock (enum nvt_sample_clock) of a time domain, or of a predefined NVTX_TIMESTAMP_TYPE_…; -1: one that is not known
 * here. */
int nvt_time_clock(uint64_t time_domain);

/*
 * The clock of a time domain (nvt_time_clock), of which *time is: *time becomes one of that clock. Of a clock that is not known here it can be told where
 * the program has given two moments of it, or its rate and one, together with a known one; or a function that reads it, which is called
 * when the program names it, and here, at most ten times a second. What lies before, between and behind the two moments is on the
 * line through both.
 */
int nvt_time_convert(uint64_t time_domain, int64_t *time);

/* nvtxTimeDomainRegister, and what says more of one. */
uint64_t nvt_time_register(nvtxDomainHandle_t domain, const nvtxTimeDomainAttr_t *from);
void nvt_time_sync(nvtxDomainHandle_t domain, uint64_t first, uint64_t second, int64_t first_time,
                   int64_t second_time);
void nvt_time_sync_table(nvtxDomainHandle_t domain, uint64_t first, uint64_t second,
                         const nvtxSyncPoint_t *points, size_t count);
void nvt_time_rate(nvtxDomainHandle_t domain, uint64_t from, uint64_t to, double rate,
                   int64_t from_time, int64_t to_time);
void nvt_time_source(nvtxDomainHandle_t domain, uint64_t time_domain, uint64_t flags,
                     int64_t (*source)(void));
void nvt_time_source_with_data(nvtxDomainHandle_t domain, uint64_t time_domain, uint64_t flags,
                               int64_t (*source)(void *data), void *data);

#endif
