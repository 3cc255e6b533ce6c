/*
 * Who made calls (apis.frame, os_calls.frame): whether it was recorded, and the functions on a stack.
 */
#ifndef NVT_CALL_STACKS_H
#define NVT_CALL_STACKS_H

#include "trace.h"

/* Functions of a stack that texts have, the innermost ones: a trace may hold stacks of any depth, and a call for each. */
#define NVT_CALL_STACK_MOST 64

/* Whether any call of CUDA (or of a library), and of the operating system, has a stack. */
int nvt_has_cuda_stacks(const struct nvt_trace *trace);
int nvt_has_os_stacks(const struct nvt_trace *trace);

/* Either. */
static inline int nvt_has_call_stacks(const struct nvt_trace *trace)
{
    return nvt_has_cuda_stacks(trace) || nvt_has_os_stacks(trace);
}

/* The functions of a stack from the innermost one on: rows of call_frames. `frame`: a row of it, and 1; 0: there are none. Returns
 * how many there are in `rows`. */
uint32_t nvt_call_stack(const struct nvt_trace *trace, uint32_t frame,
                        uint32_t rows[NVT_CALL_STACK_MOST]);

#endif
