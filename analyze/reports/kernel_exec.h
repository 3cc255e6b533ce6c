/*
 * What nsys's reports of kernels and their launching calls mean by their times (Nsight Systems Analysis Guide,
 * "Statistical Reports Shipped With Nsight Systems"). ns.
 */
#ifndef NVT_KERNEL_EXEC_H
#define NVT_KERNEL_EXEC_H

#include "../model/trace.h"

enum nvt_exec_time {
    NVT_EXEC_TOTAL, /* from the call's start to the end of both */
    NVT_EXEC_CALL,  /* of the call */
    NVT_EXEC_QUEUE, /* from the call's end to the kernel's start; below 0: it started before, and was not queued */
    NVT_EXEC_KERNEL, /* of the kernel */
    NVT_EXEC_TIMES
};

/* Whether the operation is a kernel whose call was recorded. */
static inline int nvt_exec_is_launched(const struct nvt_ops *ops, uint32_t op)
{
    return ops->kind[op] == NVT_OP_KERNEL && ops->api[op] != NVT_NONE;
}

/* The times of one that is. */
static inline void nvt_exec_times(const struct nvt_trace *trace, uint32_t op,
                                  int64_t ns[NVT_EXEC_TIMES])
{
    const struct nvt_ops *ops = &trace->ops;
    int64_t start = trace->apis.start[ops->api[op]], end = trace->apis.end[ops->api[op]];
    ns[NVT_EXEC_TOTAL] = (end > ops->end[op] ? end : ops->end[op]) - start;
    ns[NVT_EXEC_CALL] = end - start;
    ns[NVT_EXEC_QUEUE] = ops->start[op] - end;
    ns[NVT_EXEC_KERNEL] = ops->end[op] - ops->start[op];
}

#endif
