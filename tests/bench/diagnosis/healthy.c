/* Healthy programs of the benchmark of diagnosis: nothing is wrong with them, however they may look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

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

const struct bench_healthy bench_healthy[] = {
    {"training", training, {NULL}},
    {"overlapped", overlapped, {NULL}},
    {"serving", serving, {NULL}},
    {"compiling", compiling, {"warm-up inside", "cold start", NULL}},
    {"bursty loader", bursty_loader, {NULL}},
    {"short script", short_script, {NULL}},
    {"sleeper", sleeper, {NULL}},
    {"idle pool", idle_pool, {NULL}},
};

const size_t bench_healthy_count = NVT_COUNT_OF(bench_healthy);
