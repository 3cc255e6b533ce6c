/*
 * How many blocks of a kernel an SM can hold at once, by what a block takes and what the SM has.
 *
 * Limits are those of NVIDIA's CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability". How blocks are
 * given registers and shared memory is as cuda_occupancy.h of the CUDA toolkit computes it: registers by warp, 256 at a time, from one
 * of the SM's four parts; shared memory 128 bytes at a time (256 before 8.0), and 1 KiB a block for the system from 8.0 on. Shared
 * memory counts as all that an SM can be given, since a launch takes as much of the cache as its blocks need.
 */
#ifndef NVT_OCCUPANCY_H
#define NVT_OCCUPANCY_H

#include "../model/trace.h"

/* What a block of a kernel takes. */
struct nvt_block {
    uint32_t threads;
    uint32_t registers; /* of a thread; 0: unknown, and not looked at */
    uint64_t shared;    /* bytes, static and dynamic */
};

/* Blocks that an SM of a compute capability (90: 9.0) holds at once; 0: unknown capability, or a block that fits on none. */
uint32_t nvt_blocks_per_sm(uint32_t capability, const struct nvt_block *block);

/* Blocks of an operation that its device holds at once; 0: no kernel, or something of it or its device is unknown. `device` is a row
 * of the trace's devices. */
uint64_t nvt_wave(const struct nvt_trace *trace, uint32_t op, uint32_t device);

/* Blocks of a kernel; 0: no kernel, or its grid is unknown. */
uint64_t nvt_grid(const struct nvt_trace *trace, uint32_t op);

#endif
