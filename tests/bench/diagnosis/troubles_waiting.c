/* Troubles of ranks and threads that wait for each other: one is late, does all the work, or never comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../lib/count_of.h"
#include "bench.h"

#define S INT64_C(1000000000)

#define COLLECTIVE_NS 10000

static void meet(struct bench_program *program, int64_t waits_ns)
{
    make_launch(&program->maker, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                COLLECTIVE_NS + waits_ns);
    make_wait(&program->maker);
}

/* Longer kernels. */
static void put_slow_device(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        make_launch(&program->maker, program->names->kernels[0], ns);
    meet(program, program->is_peer ? ns : 0);
}

/* The same kernels, launched later. */
static void put_slow_host(struct bench_program *program, int64_t ns, int is_well)
{
    if (!is_well)
        program->maker.now += ns;
    meet(program, program->is_peer ? ns : 0);
}

static void put_late_rank(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    maker->trace->tells_mpi_peers = 1;
    maker->now += is_well ? 1000 : 1000 + ns;
    make_range(maker, "assemble", start);
    make_mpi_call(maker, program->is_peer ? COLLECTIVE_NS + ns : COLLECTIVE_NS);
}

static void put_late_trainer(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const int64_t start = maker->now;
    maker->now += is_well ? 1000 : 1000 + ns;
    make_range(maker, "augment", start);
    make_all_reduce(maker, BENCH_RANKS, program->is_peer ? COLLECTIVE_NS + ns : COLLECTIVE_NS);
}

/* A second thread works while the first runs the body, and then waits for it. Done well, they share the rest. */
static void put_serial(struct bench_program *program, int64_t ns, int is_well)
{
    struct maker *maker = &program->maker;
    const uint32_t other = nvt_trace_thread(maker->trace, maker->process, 9);
    make_os_call(maker, "pthread_barrier_wait", maker->thread, maker->now, maker->now + 1000);
    maker->now += 1000;
    const int64_t start = maker->now;
    if (is_well) {
        maker->now += ns;
        return;
    }
    maker->now += 2 * ns;
    make_range(maker, "merge", start);
    make_os_call(maker, "pthread_cond_wait", other, start, maker->now);
}

/* --- ends ------------------------------------------------------------------------------------------ */

static void put_nothing(struct bench_program *program, int64_t ns, int is_well)
{
    (void)program;
    (void)ns;
    (void)is_well;
}

static void put_barrier(struct bench_program *program, int64_t ns, int is_well)
{
    (void)ns;
    (void)is_well;
    make_mpi_call(&program->maker, COLLECTIVE_NS);
}

static void stop(struct maker *maker, int64_t after)
{
    for (uint32_t i = 0; i < maker->trace->threads.count; i++)
        maker->trace->threads.ended_ns[i] = maker->now + after;
    maker->trace->was_stopped = 1;
}

static void open_range(struct maker *maker, const char *name)
{
    make_range(maker, name, maker->now);
    maker->trace->ranges.flags[maker->trace->ranges.count - 1] = NVT_RANGE_UNCLOSED;
}

/* One rank reads a file that does not come, the others are in a collective of MPI. */
static void end_in_hang(struct bench_program *program, int is_well)
{
    struct maker *maker = &program->maker;
    if (is_well && !program->is_peer)
        return;
    open_range(maker, "step");
    if (program->is_peer) {
        make_mpi_call(maker, 0);
        maker->trace->mpi_calls.flags[maker->trace->mpi_calls.count - 1] = NVT_RANGE_UNCLOSED;
    } else {
        make_os_call_row(maker, "read", "/net/data/shard-7",
                         (struct nvt_os_call){.start = maker->now,
                                              .end = maker->now,
                                              .thread = maker->thread,
                                              .flags = NVT_RANGE_UNCLOSED});
    }
    stop(maker, 30 * S);
}

/* Two threads hold each other's locks, or one waits for its own. */
static void end_in_deadlock(struct bench_program *program, int is_well)
{
    struct maker *maker = &program->maker;
    const uint32_t threads = 1 + (uint32_t)(bench_random(&program->random) & 1);
    if (is_well)
        return;
    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t thread =
            i ? nvt_trace_thread(maker->trace, maker->process, 7) : maker->thread;
        make_os_call_row(maker, "pthread_mutex_lock", NULL,
                         (struct nvt_os_call){.start = maker->now,
                                              .end = maker->now + 10 * S,
                                              .thread = thread,
                                              .address = 0x7f00 + 64 * (uint64_t)i,
                                              .holder = threads == 1 ? 1
                                                        : i          ? 1
                                                                     : 7,
                                              .flags = NVT_RANGE_UNCLOSED});
    }
    maker->now += 10 * S;
    stop(maker, 0);
}

static const struct bench_trouble troubles[] = {
    {.name = "straggler (device)",
     .causes = {"straggler"},
     .least = 0.05,
     .put = put_slow_device,
     .has_device = 1,
     .is_once = 1,
     .is_of_ranks = 1},
    {.name = "straggler (host)",
     .causes = {"straggler"},
     .consequences = {"GPU idle"},
     .least = 0.1,
     .put = put_slow_host,
     .has_device = 1,
     .is_once = 1,
     .is_of_ranks = 1},
    {.name = "late rank",
     .causes = {"late rank"},
     .place = "assemble",
     .least = 0.1,
     .put = put_late_rank,
     .is_once = 1,
     .is_of_ranks = 1},
    {.name = "late rank (gloo)",
     .causes = {"late rank"},
     .place = "augment",
     .least = 0.1,
     .put = put_late_trainer,
     .is_once = 1,
     .is_of_ranks = 1},
    {.name = "serial part",
     .causes = {"serial part"},
     .place = "merge",
     .least = 0.15,
     .most = 0.25, /* with more, the threads hardly ever work together */
     .put = put_serial,
     .is_once = 1,
     .is_alone = 1},
    {.name = "hang",
     .causes = {"hang"},
     .place = "shard-7",
     .put = put_barrier,
     .end = end_in_hang,
     .is_once = 1,
     .no_size = 1,
     .is_of_ranks = 1},
    {.name = "deadlock",
     .causes = {"deadlock"},
     .place = "pthread_mutex_lock",
     .put = put_nothing,
     .end = end_in_deadlock,
     .is_once = 1,
     .is_alone = 1,
     .no_size = 1},
};

const struct bench_troubles bench_waiting_troubles = {troubles, NVT_COUNT_OF(troubles)};
