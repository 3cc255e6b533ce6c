#include "occupancy.h"

#include "../../lib/count_of.h"

/* Of an SM; 65,536 registers in four parts and 1,024 threads a block have all of them. */
struct sm {
    uint32_t capability;
    uint32_t warps, blocks;
    uint32_t shared; /* KiB */
};

enum { WARP = 32, PARTS = 4, REGISTERS = 65536, REGISTER_UNIT = 256, MOST_THREADS = 1024 };

static const struct sm sms[] = {
    {70, 64, 32, 96},   {72, 64, 32, 96},   {75, 32, 16, 64},   {80, 64, 32, 164},
    {86, 48, 16, 100},  {87, 48, 16, 164},  {89, 48, 24, 100},  {90, 64, 32, 228},
    {100, 64, 32, 228}, {103, 64, 32, 228}, {120, 48, 24, 100}, {121, 48, 24, 100},
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t least(uint64_t left, uint64_t right)
{
    return (uint32_t)(left < right ? left : right);
}

/* A warp's registers lie in one part; a block's warps in all of them. */
static uint32_t by_registers(uint32_t registers, uint32_t warps)
{
    const uint64_t warp = round_up((uint64_t)registers * WARP, REGISTER_UNIT);
    return (uint32_t)(REGISTERS / PARTS / warp * PARTS / warps);
}

uint32_t nvt_blocks_per_sm(uint32_t capability, const struct nvt_block *block)
{
    const struct sm *sm = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(sms); i++)
        sm = sms[i].capability == capability ? &sms[i] : sm;
    if (!sm || !block->threads || block->threads > MOST_THREADS || block->registers > 255)
        return 0;
    const uint32_t warps = (block->threads + WARP - 1) / WARP;
    uint32_t count = least(sm->blocks, sm->warps / warps);
    if (block->registers)
        count = least(count, by_registers(block->registers, warps));
    const int has_own = capability >= 80;
    const uint64_t shared = round_up(block->shared + (has_own ? 1024 : 0), has_own ? 128 : 256);
    return shared ? least(count, (uint64_t)sm->shared * 1024 / shared) : count;
}

uint64_t nvt_grid(const struct nvt_trace *trace, uint32_t op)
{
    const struct nvt_kernels *kernels = &trace->kernels;
    const uint32_t row = trace->ops.detail[op];
    if (trace->ops.kind[op] != NVT_OP_KERNEL || row == NVT_NONE)
        return 0;
    return (uint64_t)kernels->grid_x[row] * kernels->grid_y[row] * kernels->grid_z[row];
}

uint64_t nvt_wave(const struct nvt_trace *trace, uint32_t op, uint32_t device)
{
    const struct nvt_kernels *kernels = &trace->kernels;
    const uint32_t row = trace->ops.detail[op];
    if (trace->ops.kind[op] != NVT_OP_KERNEL || row == NVT_NONE)
        return 0;
    const uint64_t threads =
        (uint64_t)kernels->block_x[row] * kernels->block_y[row] * kernels->block_z[row];
    const struct nvt_block block = {.threads = threads <= MOST_THREADS ? (uint32_t)threads : 0,
                                    .registers = kernels->registers[row],
                                    .shared = (uint64_t)kernels->static_shared[row] +
                                              kernels->dynamic_shared[row]};
    return (uint64_t)trace->devices.multiprocessors[device] *
           nvt_blocks_per_sm(trace->devices.capability[device], &block);
}
