/* Healthy programs of the benchmark of diagnosis: nothing is wrong with them, however they may look. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../analyze/device/machine_load.h"
#include "../../../analyze/model/cuda_names.h"
#include "../../../lib/count_of.h"
#include "bench.h"

#define MS INT64_C(1000000)

/* A queue that the host keeps full: launches run ahead, and one wait ends each iteration. */
static void training(struct bench_program *program)
{
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = program->maker.now;
        bench_body(program);
        bench_iteration(program, start);
    }
}

/* A collective runs beside the kernels of another stream. */
static void overlapped(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now, device = maker->device > start ? maker->device : start;
        bench_body(program);
        struct nvt_op row = {
            .start = device + 10000,
            .end = device + 10000 + program->kernels * program->kernel_ns / 2,
            .process = maker->process,
            .stream = 20,
            .name = nvt_strings_add_text(maker->trace->strings, "ncclDevKernel_AllReduce_Sum"),
            .launch = INT64_MIN,
            .kind = NVT_OP_KERNEL,
            .detail = NVT_NONE};
        row.short_name = row.name;
        assert_int_not_equal(nvt_op_add(maker->trace, &row), NVT_NONE);
        bench_iteration(program, start);
    }
}

/* Requests come when they come: the device is idle in between, and should be. */
static void serving(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        bench_body(program);
        make_range(maker, "request", start);
        const int64_t wait = bench_between(&program->random, 0, 20 * MS);
        make_os_call(maker, "epoll_wait", maker->thread, maker->now, maker->now + wait);
        maker->now += wait;
    }
}

/* The first iterations compile. */
static void compiling(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        if (program->iteration < 3)
            maker->now += (3 - program->iteration) * 400 * MS;
        bench_body(program);
        bench_iteration(program, start);
    }
}

/* A loader that is slow at times, and always ahead in time: batches wait for the loop. */
static void bursty_loader(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        maker->now += bench_between(&program->random, 20000, 60000);
        make_range(maker, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start);
        maker->now += 4 * MS;
        bench_iteration(program, start);
    }
}

/* A script that does one thing after the other, each once. */
static void short_script(struct bench_program *program)
{
    static const char *const parts[] = {"load", "prepare", "fit", "save"};
    struct maker *maker = &program->maker;
    for (int i = 0; i < 4; i++) {
        const int64_t start = maker->now;
        maker->now += bench_between(&program->random, MS, 300 * MS);
        if (i == 0 || i == 3)
            make_os_call_row(maker, i ? "write" : "read", "/data/file",
                             (struct nvt_os_call){.start = start + 1000,
                                                  .end = maker->now - 1000,
                                                  .thread = maker->thread});
        make_range(maker, parts[i], start);
    }
}

/* It looks for work every second, and sleeps in between on purpose, in no range of a loop. */
static void sleeper(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (int i = 0; i < 20; i++) {
        const int64_t start = maker->now;
        maker->now += bench_between(&program->random, MS, 3 * MS);
        make_range(maker, "poll", start);
        make_os_call(maker, "clock_nanosleep", maker->thread, maker->now, maker->now + 1000 * MS);
        maker->now += 1000 * MS;
    }
}

/* Threads of a pool wait for work, each in a call that never returns. */
static void idle_pool(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    training(program);
    for (int64_t tid = 2; tid < 6; tid++) {
        const struct nvt_os_call call = {.start = 2000,
                                         .end = maker->now,
                                         .thread =
                                             nvt_trace_thread(maker->trace, maker->process, tid),
                                         .flags = NVT_RANGE_UNCLOSED};
        make_os_call_row(maker, "pthread_cond_wait", NULL, call);
    }
}

/* What the body of a rank takes longer in an iteration than that of the fastest could; all ranks know it of each other. */
static int64_t delay(const struct bench_program *program, uint32_t rank)
{
    struct bench_random random = {(uint64_t)program->iteration * 977 + rank * 131 +
                                  (uint64_t)program->kernel_ns};
    return bench_between(&random, 0, program->kernels * program->kernel_ns / 12);
}

/* Ranks that are late by turns: each collective waits for another one. */
static void ranks(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    program->is_noisy = 0;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now, own = delay(program, program->rank);
        int64_t last = 0;
        for (uint32_t i = 0; i < BENCH_RANKS; i++)
            last = delay(program, i) > last ? delay(program, i) : last;
        bench_body(program);
        make_launch(maker, "layer_norm", 1000 + own);
        make_launch(maker, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 10000 + last - own);
        make_wait(maker);
        bench_iteration(program, start);
    }
}

/* The same on hosts, in a training over gloo: what ranks wait for each other is below what is felt. */
static void trainers(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    program->is_noisy = 0;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        int64_t delays[BENCH_RANKS], last = 0;
        for (uint32_t i = 0; i < BENCH_RANKS; i++) {
            struct bench_random random = {(uint64_t)program->iteration * 977 + i * 131 +
                                          (uint64_t)program->host_ns};
            delays[i] = bench_between(&random, 0, program->host_ns / 8);
            last = delays[i] > last ? delays[i] : last;
        }
        bench_body(program);
        maker->now += delays[program->rank];
        make_range(maker, program->names->work, start);
        make_all_reduce(maker, BENCH_RANKS, 10000 + last - delays[program->rank]);
        bench_iteration(program, start);
    }
}

/* Stages of a pipeline: each has other work by design, and sends to the next without anybody waiting long. */
static void stages(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    const int64_t own = program->kernels * program->kernel_ns * (int64_t)program->rank / 40;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        bench_body(program);
        make_launch(maker, "lm_head", 1000 + own);
        make_launch(maker, "ncclDevKernel_SendRecv", 20000);
        make_launch(maker, "embedding",
                    program->kernels * program->kernel_ns * 7 / 40 - own + 1000);
        make_wait(maker);
        bench_iteration(program, start);
    }
}

/* An allocator that grows during warm-up and is level then, with a buffer that comes and goes. */
static void level_memory(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        const uint64_t number = (uint64_t)program->iteration + 1;
        struct nvt_memory_event row = {.time = maker->now,
                                       .process = maker->process,
                                       .thread = maker->thread,
                                       .address = number << 30,
                                       .bytes = UINT64_C(1) << 28,
                                       .allocated = UINT64_MAX,
                                       .reserved = UINT64_MAX,
                                       .kind = NVT_MEMORY_ALLOC};
        assert_int_not_equal(nvt_memory_event_add(maker->trace, &row), NVT_NONE);
        bench_body(program);
        row.time = maker->now;
        row.kind = NVT_MEMORY_FREE;
        if (program->iteration > 4)
            assert_int_not_equal(nvt_memory_event_add(maker->trace, &row), NVT_NONE);
        bench_iteration(program, start);
    }
}

/* A team whose threads share all work evenly; each waits for the others for a moment. */
static void team(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    const uint32_t other = nvt_trace_thread(maker->trace, maker->process, 9);
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        bench_body(program);
        const int64_t wait = (maker->now - start) / 50;
        make_os_call(maker, "pthread_cond_wait", other, maker->now, maker->now + wait);
        maker->now += wait;
        make_os_call(maker, "pthread_barrier_wait", maker->thread, maker->now - 1000, maker->now);
        bench_iteration(program, start);
    }
}

/* A machine that is at work, with a thread for each of its processors, at full clocks. */
static void busy_enough(struct bench_program *program)
{
    training(program);
    make_host_samples(&program->maker, NVT_MACHINE_PROCESSORS, 4);
    make_host_samples(&program->maker, NVT_MACHINE_RUNNABLE, bench_even(&program->random, 1, 4.5));
    make_host_samples(&program->maker, NVT_MACHINE_BUSY, bench_even(&program->random, 30, 100));
}

#define MIB 1048576.0

/* Resident memory that levels off, or is given back: at a share of the loop, MiB. */
static double level_at(int kind, double turn, double at)
{
    switch (kind) {
    case 0: /* a cache that is full by then */
        return 400 * fmin(at / turn, 1);
    case 1: /* one with random keys */
        return 400 * (1 - exp(-3 * at / turn));
    case 2: /* garbage that is collected now and then */
        return 200 * fmod(at * 10 * turn, 1);
    default: /* batches of all sizes */
        return 300 * fmod(at * 977 * turn, 1);
    }
}

/* Iterations that are long enough for samples of memory. */
static void level_process(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    const int kind = (int)(bench_random(&program->random) % 4);
    const double turn = bench_even(&program->random, 0.3, 0.9);
    for (program->iteration = 0; program->iteration < program->iterations; program->iteration++) {
        const int64_t start = maker->now;
        bench_body(program);
        for (int i = 0; i < 2; i++) {
            const double at = (program->iteration + i / 2.0) / program->iterations;
            maker->now += 75 * MS;
            make_resident(maker, maker->now, (600 + level_at(kind, turn, at)) * MIB);
        }
        bench_iteration(program, start);
    }
}

const struct bench_healthy bench_healthy[] = {
    {.name = "training", .make = training, .has_device = 1},
    {.name = "overlapped", .make = overlapped, .has_device = 1},
    {.name = "serving", .make = serving, .has_device = 1},
    {.name = "compiling",
     .make = compiling,
     .may_be_told = {"warm-up inside", "cold start"},
     .has_device = 1},
    {.name = "bursty loader", .make = bursty_loader},
    {.name = "short script", .make = short_script},
    {.name = "sleeper", .make = sleeper},
    {.name = "idle pool", .make = idle_pool, .has_device = 1},
    {.name = "ranks late by turns", .make = ranks, .has_device = 1, .is_of_ranks = 1},
    {.name = "trainers late by turns", .make = trainers, .is_of_ranks = 1},
    {.name = "stages of a pipeline", .make = stages, .has_device = 1, .is_of_ranks = 1},
    {.name = "level memory", .make = level_memory, .has_device = 1},
    {.name = "process that levels off", .make = level_process},
    {.name = "even team", .make = team},
    {.name = "busy enough", .make = busy_enough},
};

const size_t bench_healthy_count = NVT_COUNT_OF(bench_healthy);
