#include "made_job.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/machine_quantities.h"

#define ITERATIONS 10
#define LAYERS     3
#define LAYER_NS   400000
#define KERNELS    4 /* of a layer */
#define HOST_RANKS 8

/* A rank while its job runs: now is the same for all, its clock is its host's. */
struct rank {
    struct nvt_trace *trace;
    int64_t now, offset;
    double drift, speed;
    int64_t ready[LAYERS]; /* of gradients, in the backward pass before now */
    uint32_t stage, replica, part;
};

struct simulation {
    struct made_job *job;
    struct rank *ranks;
    uint64_t random;
};

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t draw(struct simulation *sim)
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double uniform(struct simulation *sim)
{
    return (double)(draw(sim) >> 11) / 9007199254740992.0;
}

static uint32_t rank_at(const struct made_job *job, uint32_t stage, uint32_t replica, uint32_t part)
{
    return (stage * job->dp + replica) * job->tp + part;
}

static int64_t clock_of(const struct rank *rank, int64_t time)
{
    return time + rank->offset + llround(rank->drift * (double)time);
}

/* An operation of a rank from a moment until another one, with what is told of its communication (NULL: it computes). */
static void emit(const struct simulation *sim, struct rank *rank, const char *name, int64_t start,
                 int64_t end, const struct nvt_collective *told)
{
    struct nvt_trace *trace = rank->trace;
    struct nvt_kernel kernel = {.grid_x = 256, .grid_y = 1, .grid_z = 1};
    if (sim->job->untold)
        told = NULL;
    for (uint32_t i = 0; told && i < trace->collectives.count; i++)
        if (trace->collectives.name[i] == told->name &&
            trace->collectives.group[i] == told->group && trace->collectives.peer[i] == told->peer)
            kernel.collective = i + 1;
    if (told && !kernel.collective)
        kernel.collective = nvt_collective_add(trace, told) + 1;
    const uint32_t id = nvt_strings_add_text(trace->strings, name);
    const struct nvt_op op = {.start = clock_of(rank, start),
                              .end = clock_of(rank, end),
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .name = id,
                              .short_name = id,
                              .detail = nvt_trace_kernel(trace, &kernel)};
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
}

static void add_range(struct rank *rank, const char *name, int64_t start, int64_t end)
{
    const struct nvt_range range = {.start = clock_of(rank, start),
                                    .end = clock_of(rank, end),
                                    .name = nvt_strings_add_text(rank->trace->strings, name)};
    assert_int_not_equal(nvt_range_add(rank->trace, &range), NVT_NONE);
}

/* --- what ranks do --- */

static int is_late(const struct simulation *sim, const struct rank *rank, enum made_cause cause)
{
    return sim->job->cause == cause && &sim->ranks[sim->job->straggler] == rank;
}

/* CPU samples of a thread that collects garbage, each of 50 us. */
static void collect_garbage(struct rank *rank, int64_t start, int64_t end)
{
    struct nvt_trace *trace = rank->trace;
    if (!trace->call_frames.count) {
        const struct nvt_call_frame
            step = {.name = nvt_strings_add_text(trace->strings, "step (train.py:3)")},
            collects = {.parent = 1,
                        .name = nvt_strings_add_text(trace->strings, "gc_collect_main")},
            visits = {.parent = 2, .name = nvt_strings_add_text(trace->strings, "dict_traverse")};
        assert_int_equal(nvt_call_frame_add(trace, &step), 0);
        assert_int_equal(nvt_call_frame_add(trace, &collects), 1);
        assert_int_equal(nvt_call_frame_add(trace, &visits), 2);
    }
    for (int64_t at = start + 50000; at <= end; at += 50000) {
        const struct nvt_cpu_sample sample = {
            .time = clock_of(rank, at), .cpu_ns = 50000, .frame = 3};
        assert_int_not_equal(nvt_cpu_sample_add(trace, &sample), NVT_NONE);
    }
}

/* Kernels of a layer. Hosts stumble: one of 300 layers begins late. */
static void compute(struct simulation *sim, struct rank *rank, double length)
{
    const int is_slow = is_late(sim, rank, MADE_KERNELS) || is_late(sim, rank, MADE_CLOCK);
    const double slow = is_slow ? 1 + sim->job->lateness : 1;
    double kernels = KERNELS;
    if (is_late(sim, rank, MADE_WORK))
        kernels *= 1 + sim->job->lateness;
    if (draw(sim) % 300 == 0)
        rank->now += (int64_t)(uniform(sim) * 2 * LAYER_NS);
    for (int i = 0; i < (int)ceil(kernels - 0.01); i++) {
        const double part = fmin(kernels - i, 1);
        const int64_t ns = (int64_t)(1.0 * LAYER_NS / KERNELS * length * part * slow * rank->speed *
                                     (0.97 + 0.06 * uniform(sim)));
        emit(sim, rank, "gemm", rank->now, rank->now + ns, NULL);
        rank->now += ns + 500;
    }
}

/* Before a micro-batch the host of a straggler does something else. */
static void dawdle(const struct simulation *sim, struct rank *rank)
{
    const int loads = is_late(sim, rank, MADE_LOADING), collects = is_late(sim, rank, MADE_GARBAGE);
    const int64_t start = rank->now;
    if (!loads && !collects && !is_late(sim, rank, MADE_HOST))
        return;
    rank->now += (int64_t)(sim->job->lateness * 3 * LAYERS * LAYER_NS);
    if (collects)
        collect_garbage(rank, start, rank->now);
    if (loads)
        add_range(rank, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start,
                  rank->now);
}

/* Ranks that communicate: all leave when the last one has come and the transfer is done. */
static void meet(struct simulation *sim, struct rank *const *ranks, uint32_t count,
                 const char *group, int64_t transfer)
{
    char members[512] = "";
    int64_t leave = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(members);
        leave = ranks[i]->now > leave ? ranks[i]->now : leave;
        snprintf(members + used, sizeof(members) - used, "%s%td", i ? "," : "",
                 ranks[i] - sim->ranks);
    }
    /* The link of a group is slow. */
    for (uint32_t i = 0; i < count && sim->job->cause == MADE_LINK && !strncmp(group, "tp", 2); i++)
        if (ranks[i] == &sim->ranks[sim->job->straggler]) {
            transfer += (int64_t)(LAYER_NS * sim->job->lateness);
            break;
        }
    leave += transfer + (int64_t)(uniform(sim) * 0.1 * (double)transfer);
    for (uint32_t i = 0; i < count; i++) {
        struct nvt_strings *strings = ranks[i]->trace->strings;
        const struct nvt_collective told = {.name = nvt_strings_add_text(strings, "allreduce"),
                                            .group = nvt_strings_add_text(strings, group),
                                            .members = nvt_strings_add_text(strings, members),
                                            .ranks = count};
        const int64_t skew = (int64_t)(uniform(sim) * 4000);
        emit(sim, ranks[i], "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", ranks[i]->now, leave + skew,
             &told);
        ranks[i]->now = leave + skew + 500;
    }
}

static void send(struct simulation *sim, struct rank *from, struct rank *to)
{
    struct rank *const ends[] = {from, to};
    const int64_t leave = (from->now > to->now ? from->now : to->now) + 30000;
    for (uint32_t i = 0; i < 2; i++) {
        struct nvt_strings *strings = ends[i]->trace->strings;
        const struct nvt_collective told = {.name =
                                                nvt_strings_add_text(strings, i ? "recv" : "send"),
                                            .group = nvt_strings_add_text(strings, "pp"),
                                            .ranks = sim->job->pp,
                                            .peer = (uint32_t)(ends[1 - i] - sim->ranks) + 1};
        emit(sim, ends[i], "ncclDevKernel_SendRecv", ends[i]->now, leave, &told);
        ends[i]->now = leave + 500;
    }
}

/* The layers of a stage of one replica, forward (length 1) or backward (2). */
static void pass(struct simulation *sim, uint32_t stage, uint32_t replica, double length)
{
    const struct made_job *job = sim->job;
    const uint32_t tp = job->tp;
    struct rank *ranks[64] = {0};
    char group[32];
    for (uint32_t part = 0; part < tp; part++)
        ranks[part] = &sim->ranks[rank_at(job, stage, replica, part)];
    snprintf(group, sizeof(group), "tp%" PRIu32, stage * job->dp + replica);
    for (int layer = 0; layer < LAYERS; layer++) {
        for (uint32_t part = 0; part < tp; part++)
            compute(sim, ranks[part], length);
        for (uint32_t part = 0; part < tp; part++)
            ranks[part]->ready[layer] = ranks[part]->now;
        if (tp > 1)
            meet(sim, ranks, tp, group, (int64_t)(40000 * length));
    }
}

static void send_all(struct simulation *sim, uint32_t from, uint32_t to, uint32_t replica)
{
    for (uint32_t part = 0; part < sim->job->tp; part++)
        send(sim, &sim->ranks[rank_at(sim->job, from, replica, part)],
             &sim->ranks[rank_at(sim->job, to, replica, part)]);
}

static void run_micro_batches(struct simulation *sim, uint32_t replica, uint32_t count)
{
    const struct made_job *job = sim->job;
    for (uint32_t batch = 0; batch < count; batch++)
        for (uint32_t stage = 0; stage < job->pp; stage++) {
            for (uint32_t part = 0; part < job->tp; part++)
                dawdle(sim, &sim->ranks[rank_at(job, stage, replica, part)]);
            if (stage)
                send_all(sim, stage - 1, stage, replica);
            pass(sim, stage, replica, 1);
        }
    for (uint32_t batch = 0; batch < count; batch++)
        for (uint32_t stage = job->pp; stage-- > 0;) {
            if (stage + 1 < job->pp)
                send_all(sim, stage + 1, stage, replica);
            pass(sim, stage, replica, 2);
        }
}

/* The buckets of a data group: each begins when its gradients are ready and the one before is done, while the rank computes on. */
static void reduce_buckets(struct simulation *sim, struct rank *const *ranks, uint32_t count,
                           const char *group)
{
    int64_t now[64];
    for (uint32_t i = 0; i < count; i++) {
        now[i] = ranks[i]->now;
        ranks[i]->now = ranks[i]->ready[0];
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        for (uint32_t i = 0; i < count; i++)
            if (ranks[i]->ready[layer] > ranks[i]->now)
                ranks[i]->now = ranks[i]->ready[layer];
        meet(sim, ranks, count, group, 150000);
    }
    for (uint32_t i = 0; i < count; i++)
        ranks[i]->now = now[i] > ranks[i]->now ? now[i] : ranks[i]->now;
}

static void run_iteration(struct simulation *sim, uint32_t micro_batches)
{
    const struct made_job *job = sim->job;
    const uint32_t dp = job->dp;
    int64_t starts[512] = {0};
    struct rank *ranks[64] = {0};
    char group[32];
    for (uint32_t i = 0; i < job->ranks; i++)
        starts[i] = sim->ranks[i].now;
    for (uint32_t replica = 0; replica < dp; replica++)
        run_micro_batches(sim, replica, micro_batches);
    for (uint32_t i = 0; i < job->pp * job->tp && dp > 1; i++) {
        for (uint32_t replica = 0; replica < dp; replica++)
            ranks[replica] = &sim->ranks[rank_at(job, i / job->tp, replica, i % job->tp)];
        snprintf(group, sizeof(group), "dp%" PRIu32, i);
        if (job->overlaps)
            reduce_buckets(sim, ranks, dp, group);
        else
            meet(sim, ranks, dp, group, 300000);
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        compute(sim, &sim->ranks[i], 0.5);
        add_range(&sim->ranks[i], "iteration", starts[i], sim->ranks[i].now);
    }
}

/* What the machine's sampler says of the clock of a rank's GPU, at the begin and the end of the job. */
static void sample_clock(const struct simulation *sim, struct rank *rank, int64_t end)
{
    struct nvt_trace *trace = rank->trace;
    const uint32_t gpu = nvt_strings_add_text(trace->strings, "GPU-1");
    const struct nvt_device device = {.gpu = gpu};
    const struct nvt_counter counter = {
        .domain = nvt_trace_domain(trace, 0, "GPU 0"),
        .name = nvt_strings_add_text(trace->strings,
                                     nvt_machine_gpu_quantity(NVT_MACHINE_SM_CLOCK)->name),
        .unit = nvt_strings_add_text(trace->strings, "MHz"),
        .values = NVT_COUNTER_ABSOLUTE,
        .is_of_machine = 1,
        .gpu = gpu};
    assert_int_not_equal(nvt_device_add(trace, &device), NVT_NONE);
    const uint32_t row = nvt_counter_add(trace, &counter);
    for (int i = 0; i < 2; i++) {
        const struct nvt_counter_sample sample = {
            .time = clock_of(rank, i ? end : 900000000),
            .counter = row,
            .value = is_late(sim, rank, MADE_CLOCK) ? 1980 / (1 + sim->job->lateness) : 1980};
        assert_int_not_equal(nvt_counter_sample_add(trace, &sample), NVT_NONE);
    }
}

/* --- the job --- */

static void begin_rank(struct simulation *sim, uint32_t i, int64_t offset, double drift)
{
    struct made_job *job = sim->job;
    char path[64];
    snprintf(path, sizeof(path), "/x/rank-%" PRIu32 ".json", i);
    struct nvt_trace *trace = nvt_trace_new(path, "test");
    assert_non_null(trace);
    nvt_trace_thread(trace, nvt_trace_process(trace, 100 + i), 100 + i);
    trace->processes.rank[0] = i;
    job->traces[i].trace = trace;
    sim->ranks[i] = (struct rank){.trace = trace,
                                  .now = 1000000000 + (int64_t)(uniform(sim) * 200000),
                                  .offset = offset,
                                  .drift = drift,
                                  .speed = 1 + 0.01 * uniform(sim)};
}

struct made_job made_job(uint64_t seed, enum made_cause cause, uint32_t most, int untold)
{
    static const uint32_t sizes[] = {1, 1, 2, 2, 3, 4, 8};
    struct made_job job = {.cause = cause, .untold = untold};
    struct simulation sim = {.job = &job, .random = seed};
    int64_t offset = 0;
    double drift = 0;
    while (job.ranks < 2 || job.ranks > most) {
        job.tp = sizes[draw(&sim) % NVT_COUNT_OF(sizes)];
        job.pp = sizes[draw(&sim) % NVT_COUNT_OF(sizes)];
        job.dp = sizes[draw(&sim) % NVT_COUNT_OF(sizes)];
        job.ranks = job.tp * job.pp * job.dp;
    }
    job.straggler = (uint32_t)(draw(&sim) % job.ranks);
    job.overlaps = (int)(draw(&sim) % 2);
    job.lateness = 0.2 + 0.4 * uniform(&sim);
    job.traces = calloc(job.ranks, sizeof(*job.traces));
    sim.ranks = calloc(job.ranks, sizeof(*sim.ranks));
    assert_true(job.traces && sim.ranks);
    job.input = (struct nvt_input){.traces = job.traces, .trace_count = job.ranks};
    for (uint32_t i = 0; i < job.ranks; i++) {
        if (i % HOST_RANKS == 0) {
            offset = (int64_t)(6e9 * (uniform(&sim) - 0.5));
            drift = 1e-4 * (uniform(&sim) - 0.5);
        }
        begin_rank(&sim, i, offset, drift);
    }
    job.starts = calloc(job.ranks, sizeof(*job.starts));
    job.ends = calloc(job.ranks, sizeof(*job.ends));
    assert_true(job.starts && job.ends);
    for (uint32_t i = 0; i < job.ranks; i++)
        job.starts[i] = clock_of(&sim.ranks[i], sim.ranks[0].now);
    for (int i = 0; i < ITERATIONS; i++)
        run_iteration(&sim, job.pp > 1 ? 2 * job.pp : 2);
    for (uint32_t i = 0; i < job.ranks && cause == MADE_CLOCK; i++)
        sample_clock(&sim, &sim.ranks[i], sim.ranks[i].now + 1000000);
    for (uint32_t i = 0; i < job.ranks; i++)
        assert_int_equal(nvt_trace_finish(job.traces[i].trace, NULL), 0);
    for (uint32_t i = 0; i < job.ranks; i++)
        job.ends[i] = clock_of(&sim.ranks[i], sim.ranks[0].now);
    free(sim.ranks);
    return job;
}

void made_job_free(struct made_job *job)
{
    for (uint32_t i = 0; i < job->ranks; i++)
        nvt_trace_free(job->traces[i].trace);
    free(job->traces);
    free(job->starts);
    free(job->ends);
    nvt_buffer_free(&job->input.notes);
}
