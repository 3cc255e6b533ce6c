/*
 * Communication between devices and ranks by what it was and how large, over traces.
 *
 * Of PyTorch's profiles it is known by what they say of NCCL's
 * and RCCL's kernels; elsewhere by the range of NCCL's that launched the kernel, with the size in its
 * payload, else by the kernel's name, whose size is unknown. Copies between devices are told apart by size.
 * Of a trace in which no device communicates it is the ranges that record --pytorch makes of torch.distributed's collectives,
 * from their launch until they are done, or those of NCCL's profiler plugin (record --trace nccl), which are of the same kind and
 * nearer to what the device does.
 */
#ifndef NVT_COLLECTIVE_CALLS_H
#define NVT_COLLECTIVE_CALLS_H

#include "../model/groups.h"

/* Add the times of a trace's to groups that carry a struct nvt_message (messages.h). 0, or -1 when out of memory. */
int nvt_collective_calls_add(struct nvt_groups *groups, const struct nvt_trace *trace);

#endif
