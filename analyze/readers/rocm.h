/*
 * What rocprofv3 says in each of its files that are read (rocpd.c, rocprofv3.c), put into the model the same way: agents are devices, a
 * dispatch is a kernel, HIP is the runtime and HSA the driver, ROCTx's ranges are those of NVTX, and counters of a kernel are samples
 * at its end in the domain of its GPU.
 */
#ifndef NVT_ROCM_H
#define NVT_ROCM_H

#include "../../lib/map.h"
#include "../model/trace.h"

struct nvt_rocm_agent {
    uint32_t device; /* as HIP numbers GPUs */
    uint32_t is_gpu;
};

/* A kernel's name has a short one: of the string `name`, NVT_NO_STRING when out of memory. */
uint32_t nvt_rocm_short_name(struct nvt_trace *trace, uint32_t name);

/* Blocks of a grid, which is given in threads. */
uint32_t nvt_rocm_blocks(uint32_t threads, uint32_t group);

/* A call, or a range or mark of ROCTx, by its category ("HIP_RUNTIME_API_EXT"); `message`: ROCTx's text, 0 none. The call's class is
 * set here. 0, or -1 when out of memory. */
int nvt_rocm_add_call(struct nvt_trace *trace, struct nvt_api *call, const char *category,
                      uint32_t message);

/* A copy between two agents, NULL where one is not known: kind, device and names are set here. 0, or -1 when out of memory. */
int nvt_rocm_add_copy(struct nvt_trace *trace, struct nvt_op *op,
                      const struct nvt_rocm_agent *source, const struct nvt_rocm_agent *target);

/* An allocation, or a release, which has the size of what it releases if that is known. `sizes`: address -> row of memory, zeroed
 * first. Memory of an agent that is no GPU, or of none, is the host's. 0, or -1 when out of memory. */
int nvt_rocm_add_memory(struct nvt_trace *trace, struct nvt_map *sizes,
                        struct nvt_memory_event *event, const struct nvt_rocm_agent *agent);

/* A value of a counter of that name, of a kernel. `counters`: name << 32 | domain -> row, zeroed first. 0, or -1 when out of memory. */
int nvt_rocm_add_value(struct nvt_trace *trace, struct nvt_map *counters, const struct nvt_op *op,
                       uint32_t name, double value);

/* What traces of ROCm say of themselves. 0, or -1 when out of memory. */
int nvt_rocm_finish(struct nvt_trace *trace);

#endif
