/* Troubles of the benchmark of diagnosis: what programs do badly, and how the same is done well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../analyze/diagnosis/diagnose.h"
#include "../../../analyze/model/cuda_names.h"
#include "../../../lib/count_of.h"
#include "bench.h"

#define MS  INT64_C(1000000)
#define MIB 1048576.0

static const char *kernel_of(struct bench_program *program)
{
    return program->names->kernels[bench_random(&program->random) % 6];
}

/* A range around what was done since a moment. */
static void name_it(struct bench_program *program, int64_t start)
{
    make_range(&program->maker, program->names->work, start);
}

static void put_sync(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    /* A wait costs the launch that follows, and its own return. */
    const int64_t each = 6000 + maker->launch_ns;
    const int64_t count = ns / each > 6 ? ns / each : 6;
    for (int64_t i = 0; i < count; i++) {
        make_launch(maker, kernel_of(program), 20000);
        if (!is_well)
            make_wait(maker);
    }
    make_wait(maker);
}

static void put_launches(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t count = ns / maker->launch_ns > 30 ? ns / maker->launch_ns : 30;
    const char *kernel = kernel_of(program);
    /* Of such a kernel nearly all is what any kernel takes at least: 1.6 us on an H100 (docs/results/device.md). */
    for (int64_t i = 0; i < count && !is_well; i++)
        make_launch(maker, kernel, 1700);
    if (is_well)
        make_launch(maker, kernel, 1600 + 100 * count);
    make_wait(maker);
}

static void put_idle(struct bench_program *program, int64_t ns, int is_well)
{
    const int64_t start = program->maker.now;
    if (is_well)
        return;
    program->maker.now += ns > 120000 ? ns : 120000;
    name_it(program, start);
}

static void put_loading(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t usual = maker->launch_ns;
    maker->launch_ns = is_well ? usual : ns > 1100000 ? ns : 1100000;
    /* The kernel begins when its code is there. */
    if (!is_well)
        maker->device = maker->now + maker->launch_ns;
    make_launch(maker, kernel_of(program), program->kernel_ns);
    maker->launch_ns = usual;
    make_wait(maker);
}

static void put_stall(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    if (!is_well)
        maker->device = maker->now + (ns > 150000 ? ns : 150000);
    make_launch(maker, kernel_of(program), program->kernel_ns);
    make_wait(maker);
}

static void copy(struct maker *maker, int64_t ns, uint64_t bytes, uint8_t kind)
{
    make_launch(maker, "[CUDA memcpy Host-to-Device]", ns);
    struct nvt_ops *ops = &maker->trace->ops;
    const uint32_t row = ops->count - 1;
    /* It was launched by the copy's own call, not by one of a kernel. */
    maker->trace->apis.name[maker->trace->apis.count - 1] =
        nvt_strings_add_text(maker->trace->strings, "cudaMemcpyAsync");
    ops->kind[row] = NVT_OP_MEMCPY;
    ops->copy_kind[row] = NVT_COPY_HTOD;
    ops->source_kind[row] = kind;
    ops->target_kind[row] = NVT_KIND_DEVICE;
    ops->bytes[row] = bytes;
}

static void put_pageable(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        copy(&program->maker, ns, (uint64_t)ns * 3, NVT_KIND_PAGEABLE);
    make_wait(&program->maker);
}

static void put_transfers(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        copy(&program->maker, ns, (uint64_t)ns * 25, NVT_KIND_PINNED);
    make_wait(&program->maker);
}

static void put_tiny_copies(struct bench_program *program, int64_t ns, int is_well)
{
    const int64_t count = is_well ? 1 : ns / 9000 > 11 ? ns / 9000 : 11;
    for (int64_t i = 0; i < count; i++)
        copy(&program->maker, 2000, 8, NVT_KIND_PINNED);
    make_wait(&program->maker);
}

static void put_allocation(struct bench_program *program, int64_t ns, int is_well)
{
    if (is_well)
        return;
    make_call(&program->maker, "cudaMalloc", ns * 2 / 3);
    make_call(&program->maker, "cudaFree", ns - ns * 2 / 3);
}

static void put_collective(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        make_launch(&program->maker, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", ns);
    make_wait(&program->maker);
}

static void put_mpi(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        make_mpi_call(&program->maker, ns);
}

static void put_all_reduce(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        make_all_reduce(&program->maker, 2, ns);
}

/* Ten blocks on 100 SMs, against the same work on all of them. */
static void put_grid(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t bad = ns * 10 / 9;
    if (!maker->trace->devices.count)
        make_device(maker, 100);
    make_launch(maker, "scan_table", is_well ? bad / 10 : bad);
    make_grid(maker, is_well ? 100 : 10);
    make_wait(maker);
}

/* A tenth of a wave behind a whole one, against the same work in one wave and a tenth: an SM holds 16 blocks of 128 threads each. */
static void put_tail(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t bad = ns * 20 / 9;
    if (!maker->trace->devices.count)
        make_device(maker, 100);
    make_launch(maker, "filter_rows", is_well ? bad * 11 / 20 : bad);
    const uint32_t wave = 16 * maker->trace->devices.multiprocessors[0];
    make_grid(maker, is_well ? wave : wave + wave / 10);
    make_wait(maker);
}

static void put_pages(struct bench_program *program, int64_t ns, int is_well)
{
    const int64_t count = ns / 20000 > 11 ? ns / 20000 : 11;
    for (int64_t i = 0; i < count && !is_well; i++) {
        copy(&program->maker, ns / count, 1 << 16, NVT_KIND_PAGEABLE);
        struct nvt_ops *ops = &program->maker.trace->ops;
        const uint32_t row = ops->count - 1;
        ops->copy_kind[row] = NVT_COPY_UNIFIED_HTOD;
        ops->name[row] = ops->short_name[row] = nvt_strings_add_text(
            program->maker.trace->strings, "[CUDA memcpy Unified Host-to-Device]");
    }
    make_wait(&program->maker);
}

static void put_blocked(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    if (is_well)
        return;
    make_os_call_row(
        maker, "fsync", "/data/model.ckpt",
        (struct nvt_os_call){.start = start, .end = start + ns, .thread = maker->thread});
    maker->now += ns;
    name_it(program, start);
}

static void put_lock(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    if (is_well)
        return;
    make_os_call(maker, "pthread_mutex_lock", maker->thread, start, start + ns);
    maker->now += ns;
    name_it(program, start);
}

static void put_busy(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    if (is_well)
        return;
    if (!maker->trace->call_frames.count)
        make_function(maker, 0, "__memmove_avx_unaligned_erms", "/lib/x86_64-linux-gnu/libc.so.6");
    for (int i = 0; i < 16; i++) {
        maker->now += ns / 16;
        make_sample(maker, maker->thread, maker->now, ns / 16, 1);
    }
    name_it(program, start);
}

static void put_input(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    if (is_well)
        return;
    maker->now += ns;
    make_range(maker, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start);
}

/* Memory that is never given back; `ns` is not its size. */
static void put_leak(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    struct nvt_memory_event row = {.time = maker->now,
                                   .process = maker->process,
                                   .thread = maker->thread,
                                   .address = (uint64_t)(program->iteration + 1) << 30,
                                   .bytes = (uint64_t)ns * 64,
                                   .allocated = UINT64_MAX,
                                   .reserved = UINT64_MAX,
                                   .kind = NVT_MEMORY_ALLOC};
    assert_int_not_equal(nvt_memory_event_add(maker->trace, &row), NVT_NONE);
    if (is_well) {
        row.time = maker->now + 1;
        row.kind = NVT_MEMORY_FREE;
        assert_int_not_equal(nvt_memory_event_add(maker->trace, &row), NVT_NONE);
    }
}

/* The process keeps 12 MiB and more over the loop, in iterations that are long enough to be seen by samples. */
static void put_resident(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const double times = ns > 3 * MS ? (double)ns / (3 * MS) : 1;
    const double each = is_well ? 0 : times * 12 * MIB / program->iterations;
    for (int i = 0; i < 2; i++) {
        maker->now += 75 * MS;
        make_resident(maker, maker->now, 600 * MIB + each * (program->iteration + i));
    }
}

/* One iteration in ten takes far longer. */
static void put_outlier(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well && program->iteration % 10 == 7)
        program->maker.now += 10 * ns;
}

/* The device's work ends behind the range that is measured. */
static void put_async_end(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    make_launch(maker, kernel_of(program), 3 * ns + 100000);
    if (is_well)
        make_wait(maker);
    name_it(program, start);
    make_wait(maker);
}

/* The first launch of a kernel in each of the first iterations. */
static void put_cold(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t usual = maker->launch_ns;
    char name[32];
    (void)snprintf(name, sizeof(name), "kernel_%d", program->iteration % 8);
    if (!is_well && program->iteration < 8)
        maker->launch_ns = ns * program->iterations / 8;
    maker->device = maker->now + maker->launch_ns;
    make_launch(maker, name, 2000);
    maker->launch_ns = usual;
    make_wait(maker);
}

/* Kernels of a trace without calls: nothing but the device is recorded. */
static void put_small_kernels(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t count = ns / 4000 > 40 ? ns / 4000 : 40;
    const char *kernel = kernel_of(program);
    for (int64_t i = 0; i < (is_well ? 1 : count); i++) {
        make_launch(maker, kernel, is_well ? 1600 + 100 * count : 1700);
        maker->trace->apis.count--;
    }
    make_wait(maker);
}

/* Behind the optimizer's step, the loop saves what it has. */
static void put_checkpoint(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    maker->now += 5000;
    make_range(maker, "optimizer", start);
    if (is_well)
        return;
    make_os_call_row(maker, "fsync", "/data/model.pt",
                     (struct nvt_os_call){.start = maker->now + 1000,
                                          .end = maker->now + ns,
                                          .thread = maker->thread});
    maker->now += ns;
}

/* Every eighth iteration evaluates, which takes as long as is asked for on average. */
static void put_evaluation(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    if (is_well || program->iteration % 8 != 5)
        return;
    maker->now += 8 * ns;
    make_range(maker, "evaluate", start);
}

/* The first iterations find their best algorithms. */
static void put_warmup(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well && program->iteration < 3)
        program->maker.now += ns * program->iterations / 3;
}

static const struct bench_trouble troubles[] = {
    {.name = "sync-bound",
     .causes = {"sync-bound"},
     .place = "cudaStreamSynchronize",
     .least = 0.1,
     .put = put_sync,
     .has_device = 1},
    {.name = "launch-bound",
     .causes = {"launch-bound", "many small kernels"},
     .least = 0.2,
     .put = put_launches,
     .has_device = 1},
    {.name = "GPU idle",
     .causes = {"GPU idle"},
     .place = "work",
     .least = 0.1,
     .put = put_idle,
     .has_device = 1},
    {.name = "code loading",
     .causes = {"code loading"},
     .least = 0.1,
     .put = put_loading,
     .has_device = 1},
    {.name = "stalled device",
     .causes = {"stalled device"},
     .least = 0.1,
     .put = put_stall,
     .has_device = 1},
    {.name = "pageable copies",
     .causes = {"pageable copies"},
     .least = 0.05,
     .put = put_pageable,
     .has_device = 1},
    {.name = "exposed copies",
     .causes = {"exposed copies"},
     .least = 0.2,
     .put = put_transfers,
     .has_device = 1},
    {.name = "tiny copies",
     .causes = {"tiny copies"},
     .least = 0.05,
     .put = put_tiny_copies,
     .has_device = 1},
    {.name = "allocation in the loop",
     .causes = {"allocation in the loop"},
     .place = "cudaMalloc",
     .least = 0.05,
     .put = put_allocation,
     .has_device = 1},
    {.name = "exposed communication",
     .causes = {"exposed communication"},
     .place = "AllReduce",
     .least = 0.1,
     .put = put_collective,
     .has_device = 1},
    {.name = "MPI",
     .causes = {"MPI"},
     .place = "MPI_Allreduce",
     .least = 0.1,
     .put = put_mpi,
     .has_device = 1},
    {.name = "torch.distributed",
     .causes = {"torch.distributed"},
     .place = "all_reduce",
     .least = 0.1,
     .put = put_all_reduce,
     .has_device = 1},
    {.name = "small grid",
     .causes = {"small grid"},
     .place = "scan_table",
     .least = 0.1,
     .put = put_grid,
     .has_device = 1},
    {.name = "tail effect",
     .causes = {"tail effect"},
     .place = "filter_rows",
     .least = 0.1,
     .put = put_tail,
     .has_device = 1},
    {.name = "pages on demand",
     .causes = {"pages on demand"},
     .least = 0.1,
     .put = put_pages,
     .has_device = 1},
    {.name = "host blocked (file)",
     .causes = {"host blocked"},
     .place = "model.ckpt",
     .least = 0.15,
     .put = put_blocked,
     .consequences = {"GPU idle"},
     .has_host_part = 1},
    {.name = "host blocked (lock)",
     .causes = {"host blocked"},
     .place = "work",
     .least = 0.15,
     .put = put_lock,
     .consequences = {"GPU idle"},
     .has_host_part = 1},
    {.name = "busy host",
     .causes = {"busy host"},
     .place = "memmove",
     .least = 0.15,
     .put = put_busy,
     .consequences = {"GPU idle"},
     .has_host_part = 1},
    {.name = "input-bound",
     .causes = {"input-bound"},
     .least = 0.1,
     .put = put_input,
     .consequences = {"GPU idle"},
     .has_host_part = 1},
    {.name = "memory growth",
     .causes = {"memory growth"},
     .least = 0.2,
     .put = put_leak,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
    {.name = "process memory growth",
     .causes = {"process memory growth"},
     .place = "the process",
     .least = 0.3,
     .put = put_resident,
     .is_once = 1,
     .no_size = 1},
    {.name = "slow iterations",
     .causes = {"slow iterations"},
     .least = 0.1,
     .put = put_outlier,
     .is_once = 1},
    {.name = "un-synchronised timing",
     .causes = {"un-synchronised timing"},
     .place = "work",
     .least = 0.1,
     .put = put_async_end,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
    {.name = "cold start",
     .causes = {"cold start", "warm-up inside"},
     .least = 0.12,
     .put = put_cold,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
    {.name = "many small kernels",
     .causes = {"many small kernels", "launch-bound"},
     .least = 0.2,
     .put = put_small_kernels,
     .has_device = 1,
     .is_once = 1},
    {.name = "between steps",
     .causes = {"between steps", "host blocked"},
     .consequences = {"GPU idle"},
     .place = "model.pt",
     .least = 0.15,
     .put = put_checkpoint,
     .has_device = 1,
     .is_once = 1},
    {.name = "periodic work",
     .causes = {"periodic work"},
     .consequences = {"GPU idle", "slow iterations"},
     .place = "evaluat",
     .least = 0.05,
     .put = put_evaluation,
     .has_device = 1,
     .is_once = 1},
    {.name = "warm-up",
     .causes = {"warm-up inside", "cold start"},
     .least = 0.12,
     .put = put_warmup,
     .has_device = 1,
     .is_once = 1,
     .no_size = 1},
};

const struct bench_troubles bench_loop_troubles = {troubles, NVT_COUNT_OF(troubles)};
