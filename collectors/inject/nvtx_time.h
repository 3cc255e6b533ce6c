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

/* nvtxTimeDomainRegister. */
uint64_t nvt_time_register(nvtxDomainHandle_t domain, const nvtxTimeDomainAttr_t *from);

#endif
