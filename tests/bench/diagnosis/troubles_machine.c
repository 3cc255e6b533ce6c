/* Troubles of the machine and of memory: what samples of the machine, the driver's events and an allocator tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../lib/count_of.h"
#include "../../../analyze/device/machine_load.h"
#include "../../../analyze/model/cuda_names.h"
#include "../../../analyze/model/refusals.h"
#include "bench.h"

#define PROCESSORS 4
#define GIB        (UINT64_C(1) << 30)

/* --- clocks and processors -------------------------------------------------------------------------- */

/* Kernels take longer by what the clock is lower; the end tells how low it was. */
static void put_slow_clock(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well) {
        make_launch(&program->maker, program->names->kernels[0], ns);
        program->lost_ns += ns;
    }
    make_wait(&program->maker);
}

static void end_with_clocks(struct bench_program *program, int is_well)
{
    struct maker *maker = &program->maker;
    const uint32_t gpu = nvt_strings_add_text(maker->trace->strings, "GPU-1");
    const struct nvt_device device = {
        .process = maker->process, .device = maker->number, .gpu = gpu};
    const double own =
        (double)program->iterations * (double)program->kernels * (double)program->kernel_ns;
    nvt_device_add(maker->trace, &device);
    make_gpu_samples(maker, gpu, NVT_MACHINE_SM_CLOCK,
                     2000 * own / (own + (double)program->lost_ns), 100);
    make_gpu_samples(maker, gpu, NVT_MACHINE_SM_CLOCK_MOST, 2000, 100);
    make_gpu_samples(maker, gpu, NVT_MACHINE_BY_HEAT, 1, is_well ? 0 : 90);
    make_gpu_samples(maker, gpu, NVT_MACHINE_BY_POWER, 1, 0);
}

/* The loop stretches by what it waits for a processor. */
static void put_crowd(struct bench_program *program, int64_t ns, int is_well)
{
    if (is_well)
        return;
    program->maker.now += ns;
    program->lost_ns += ns;
}

static void sample_processors(struct bench_program *program, int is_well)
{
    struct maker *maker = &program->maker;
    const double own = (double)program->iterations * (double)program->host_ns;
    make_host_samples(maker, NVT_MACHINE_PROCESSORS, PROCESSORS);
    make_host_samples(maker, NVT_MACHINE_RUNNABLE,
                      is_well ? 1 : PROCESSORS * (own + (double)program->lost_ns) / own);
    make_host_samples(maker, NVT_MACHINE_BUSY, is_well ? 25 : 99);
}

static void end_among_others(struct bench_program *program, int is_well)
{
    sample_processors(program, is_well);
}

/* All that runs are threads of this program. */
static void put_own_crowd(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    put_crowd(program, ns, is_well);
    if (!maker->trace->call_frames.count)
        make_function(maker, 0, "gemm", "/x/libtorch_cpu.so");
    for (int i = 0; i < 4 * PROCESSORS && !is_well; i++)
        make_sample(maker, nvt_trace_thread(maker->trace, maker->process, 20 + i), maker->now,
                    (maker->now - start + program->host_ns) / 4, 1);
}

/* --- memory ----------------------------------------------------------------------------------------- */

/* A kernel touches pages of the host. */
static void put_faults(struct bench_program *program, int64_t ns, int is_well)
{
    enum { FAULTS = 60 };
    struct maker *maker = &program->maker;
    make_launch(maker, "gather_rows", is_well ? program->kernel_ns : program->kernel_ns + ns);
    const int64_t start = maker->trace->ops.start[maker->trace->ops.count - 1];
    for (int i = 0; i < FAULTS && !is_well; i++) {
        const struct nvt_um_event event = {.start = start + i * (ns / FAULTS),
                                           .end = start + (i + 1) * (ns / FAULTS),
                                           .process = maker->process,
                                           .device = maker->number,
                                           .target = NVT_NONE,
                                           .address = 0x1000 * ((uint64_t)i + 1),
                                           .faults = 16,
                                           .kind = NVT_UM_GPU_FAULT};
        assert_int_not_equal(nvt_um_event_add(maker->trace, &event), NVT_NONE);
    }
    make_wait(maker);
}

/* The allocator holds what it is told to. */
static void hold(struct bench_program *program, uint64_t used, uint64_t held)
{
    const struct nvt_memory_event row = {.time = program->maker.now,
                                         .process = program->maker.process,
                                         .thread = program->maker.thread,
                                         .address = (uint64_t)(program->iteration + 1) << 36,
                                         .bytes = used,
                                         .allocated = used,
                                         .reserved = held,
                                         .kind = NVT_MEMORY_ALLOC};
    if (!program->iteration)
        assert_int_not_equal(nvt_memory_event_add(program->maker.trace, &row), NVT_NONE);
}

static void put_held(struct bench_program *program, int64_t ns, int is_well)
{
    const uint64_t used = (4 + (uint64_t)program->kernels) * GIB;
    (void)ns;
    hold(program, used, is_well ? used + used / 50 : 2 * used);
}

static void put_refused(struct bench_program *program, int64_t ns, int is_well)
{
    const struct nvt_refusal refusal = {
        .time = program->maker.now, .bytes = 2 * GIB, .free = UINT64_MAX};
    (void)ns;
    hold(program, 70 * GIB, 71 * GIB);
    if (!is_well && program->iteration == program->iterations - 1)
        assert_int_equal(nvt_refusal_add(program->maker.trace, program->maker.thread, &refusal), 0);
}

static const struct bench_trouble troubles[] = {
    {.name = "slow clock",
     .causes = {"slow clock"},
     .place = "heat",
     .least = 0.08,
     .put = put_slow_clock,
     .end = end_with_clocks,
     .is_alone = 1,
     .has_device = 1,
     .is_once = 1},
    {.name = "busy machine",
     .causes = {"busy machine"},
     .least = 0.22,
     .put = put_crowd,
     .end = end_among_others,
     .is_alone = 1,
     .is_once = 1},
    {.name = "CPU oversubscribed",
     .causes = {"CPU oversubscribed"},
     .place = "16 computing threads",
     .least = 0.22,
     .put = put_own_crowd,
     .end = end_among_others,
     .is_alone = 1,
     .is_once = 1},
    {.name = "page faults",
     .causes = {"page faults"},
     .place = "gather_rows",
     .least = 0.1,
     .put = put_faults,
     .has_device = 1},
    {.name = "held memory",
     .causes = {"held memory"},
     .place = "device 0",
     .put = put_held,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
    {.name = "out of memory",
     .causes = {"out of memory"},
     .place = "device 0",
     .put = put_refused,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
};

const struct bench_troubles bench_machine_troubles = {troubles, NVT_COUNT_OF(troubles)};
