/*
 * What NCCL says of itself by its NVTX ranges (src/include/nvtx_payload_schemas.h).
 */
#ifndef NVT_NCCL_H
#define NVT_NCCL_H

#include "trace.h"

/* The communicator of a range of its domain, by the hash that all its ranks have; 0: it says none. */
uint64_t nvt_nccl_communicator(const struct nvt_trace *trace, uint32_t range);

#endif
