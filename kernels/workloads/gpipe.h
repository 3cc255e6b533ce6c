/*
 * What the traces of `gpipe` carry besides ranges.
 */
#ifndef NVT_GPIPE_H
#define NVT_GPIPE_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/nvtx.h"
#include "../pipeline/transport.h"
#include "../workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Payload of the mark "memory pP" behind each forward and backward of a partition, in bytes: what its
 * allocators, that of its messages included, have in use and hold, and the highest of both within that forward or
 * backward. */
struct nvt_pipeline_memory {
    uint64_t allocated, reserved, peak_allocated, peak_reserved;
    uint32_t microbatch, is_backward;
};
uint64_t nvt_pipeline_memory_schema(const struct nvt_nvtx *nvtx);
void nvt_pipeline_memory_mark(const struct nvt_nvtx *nvtx, nvtxStringHandle_t name, uint64_t schema,
                              const struct nvt_pipeline_memory *memory);

/* Open the transport of this name, from the library libnvtally-NAME.so beside this one. 0, or -1 with err. */
int nvt_transport_load(const char *name, struct nvt_transport *transport, struct nvt_error *err);

/* Measure the clock against rank 0's, and put a mark "clock offset" into the trace, with the payload
 * {rank, ranks, offset_ns, error_ns, time_ns}: rank 0's time is this one's, which is time_ns at the mark, plus
 * offset_ns. 0 or -1 with err. */
int nvt_transport_mark_clock(struct nvt_transport *transport, const struct nvt_nvtx *nvtx,
                             struct nvt_error *err);

#ifdef __cplusplus
}
#endif
#endif
