/*
 * A synthetic training trace for benchmarks:  make_trace EVENTS nvt|sqlite|kineto FILE [RANK RANKS]
 *
 * One process, four threads, each with a stream of its own. A step holds forward and backward, each
 * of those 12 layers, each layer four operations, each operation one cudaLaunchKernel and its
 * kernel; a cudaStreamSynchronize ends the step. An event is a row of the result: a range (its push
 * and its pop are one), a call, a kernel. 316 of them a step, nesting four deep, 93 different
 * names. The same EVENTS give the same trace in each format, except that `nvt` knows what our own
 * format can hold.
 *
 * With a rank it is one of a job: each step ends with an all-reduce on the first thread's stream, which all ranks leave at the
 * same moment, and kernels of rank 1 take a quarter longer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/exports/export.h"
#include "tests/bench/nvt_sink.h"

#define THREADS 4
#define DEPTH   4
#define STEP    316
/* Of a job: from the end of one all-reduce to that of the next. */
#define STEP_NS INT64_C(1500000)

enum { LAYERS = 12, OPERATIONS = 4, KERNELS = 20 };

/* A name of the trace: how many came before it in its kind, and its text. */
static const char *const operations[] = {"attention", "mlp", "norm", "residual"};
static const char *const shapes[] = {"128x64", "128x128", "256x64", "256x128", "64x64"};
static const char *const kinds[] = {"sm80_xmma_gemm_f32f32", "vectorized_elementwise_kernel",
                                    "flash_fwd_kernel", "layer_norm_kernel"};

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static int64_t between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(state) % (uint64_t)(high - low));
}

/* Where the events of a trace go. */
struct sink {
    void (*push)(struct sink *sink, int thread, const char *name, int64_t time);
    void (*pop)(struct sink *sink, int thread, int64_t time);
    void (*call)(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                 uint64_t correlation);
    void (*kernel)(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                   uint64_t correlation);
    struct nvt_trace *trace;
    struct nvt_sink *nvt;
    FILE *out;
    struct {
        uint32_t row;
        const char *name;
        int64_t start;
        int64_t first, last; /* of its kernels */
    } open[THREADS][DEPTH];
    int depth[THREADS];
    int commas;
};

/* --- the trace itself --- */

struct thread {
    struct sink *sink;
    int index;
    int64_t now;    /* on the host */
    int64_t stream; /* when it will be free */
    uint64_t random;
    uint64_t correlation;
    int rank;     /* -1: of no job */
    int64_t step; /* which one it is */
};

/* The call, at whose end the kernel may begin: when it does. */
static int64_t call_launch(struct thread *thread)
{
    int64_t start = thread->now + between(&thread->random, 200, 1200);
    int64_t end = start + between(&thread->random, 2000, 6000);
    thread->sink->call(thread->sink, thread->index, "cudaLaunchKernel", start, end,
                       thread->correlation += THREADS);
    thread->now = end + between(&thread->random, 100, 900);
    return end + 1500 > thread->stream ? end + 1500 : thread->stream + 800;
}

static void launch(struct thread *thread, int kernel)
{
    static char names[KERNELS][160];
    char *name = names[kernel];
    if (!name[0])
        snprintf(name, sizeof(names[0]),
                 "void %s<float, %s, (cutlass::layout)%d>(Params const*, float*, int)",
                 kinds[kernel % 4], shapes[kernel / 4], kernel);
    int64_t from = call_launch(thread);
    int64_t time = between(&thread->random, 1000, 2000 + 1000 * kernel);
    int64_t to = from + time + (thread->rank == 1 ? time / 4 : 0);
    thread->sink->kernel(thread->sink, thread->index, name, from, to, thread->correlation);
    thread->stream = to;
}

static void all_reduce(struct thread *thread)
{
    int64_t from = call_launch(thread), to = STEP_NS * (thread->step + 2);
    to = to > from ? to : from + 1000;
    thread->sink->kernel(thread->sink, thread->index, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                         from, to, thread->correlation);
    thread->stream = to;
}

static void layer(struct thread *thread, const char *name, int number, int backward)
{
    struct sink *sink = thread->sink;
    sink->push(sink, thread->index, name, thread->now += 150);
    for (int i = 0; i < OPERATIONS; i++) {
        sink->push(sink, thread->index, operations[i], thread->now += 100);
        launch(thread, (number + i * 5 + backward * 3) % KERNELS);
        sink->pop(sink, thread->index, thread->now);
    }
    sink->pop(sink, thread->index, thread->now += 120);
}

static void step(struct thread *thread)
{
    static const char *const layers[2][LAYERS] = {
        {"forward 0", "forward 1", "forward 2", "forward 3", "forward 4", "forward 5", "forward 6",
         "forward 7", "forward 8", "forward 9", "forward 10", "forward 11"},
        {"backward 0", "backward 1", "backward 2", "backward 3", "backward 4", "backward 5",
         "backward 6", "backward 7", "backward 8", "backward 9", "backward 10", "backward 11"}};
    static const char *const phases[] = {"forward", "backward"};
    struct sink *sink = thread->sink;
    const int64_t begin = STEP_NS * (thread->step + 1);
    if (thread->rank >= 0 && thread->now < begin)
        thread->now = begin;
    sink->push(sink, thread->index, "step", thread->now += 1000);
    for (int backward = 0; backward < 2; backward++) {
        sink->push(sink, thread->index, phases[backward], thread->now += 300);
        for (int i = 0; i < LAYERS; i++)
            layer(thread, layers[backward][i], i, backward);
        sink->pop(sink, thread->index, thread->now += 200);
    }
    if (thread->rank >= 0 && !thread->index)
        all_reduce(thread);
    thread->step++;
    int64_t start = thread->now += 100;
    int64_t end = start + 1000 > thread->stream ? start + 1000 : thread->stream + 500;
    sink->call(sink, thread->index, "cudaStreamSynchronize", start, end,
               thread->correlation += THREADS);
    sink->pop(sink, thread->index, thread->now = end + 200);
}

/* Step by step in turn, so that the parts of a file that come from different threads alternate. */
static void generate(struct sink *sink, uint64_t events, int rank)
{
    struct thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] =
            (struct thread){.sink = sink,
                            .index = i,
                            .now = 1000000 + 37 * i,
                            .random = (uint64_t)i + 1 + (rank > 0 ? 100 * (uint64_t)rank : 0),
                            .rank = rank,
                            .correlation = (uint64_t)i + 1};
    for (uint64_t n = events / THREADS / STEP; n > 0; n--)
        for (int i = 0; i < THREADS; i++)
            step(&threads[i]);
}

struct size {
    uint64_t events;
    int rank, ranks; /* -1 and 1: of no job */
};

/* --- into our trace model, and from there to SQLite --- */

static void model_push(struct sink *sink, int thread, const char *name, int64_t time)
{
    const struct nvt_range row = {.start = time,
                                  .end = time,
                                  .thread = (uint32_t)thread,
                                  .end_thread = (uint32_t)thread,
                                  .name = nvt_strings_add_text(sink->trace->strings, name)};
    sink->open[thread][sink->depth[thread]++].row = nvt_range_add(sink->trace, &row);
}

static void model_pop(struct sink *sink, int thread, int64_t time)
{
    sink->trace->ranges.end[sink->open[thread][--sink->depth[thread]].row] = time;
}

static void model_call(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                       uint64_t correlation)
{
    const struct nvt_api row = {.start = start,
                                .end = end,
                                .thread = (uint32_t)thread,
                                .correlation = correlation,
                                .name = nvt_strings_add_text(sink->trace->strings, name)};
    nvt_api_add(sink->trace, &row);
}

static void model_kernel(struct sink *sink, int thread, const char *name, int64_t start,
                         int64_t end, uint64_t correlation)
{
    const struct nvt_kernel kernel = {.grid_x = 256,
                                      .grid_y = 1,
                                      .grid_z = 1,
                                      .block_x = 128,
                                      .block_y = 1,
                                      .block_z = 1,
                                      .registers = 64};
    uint32_t text = nvt_strings_add_text(sink->trace->strings, name);
    const struct nvt_op row = {.start = start,
                               .end = end,
                               .context = 1,
                               .stream = 7 + (uint32_t)thread,
                               .correlation = correlation,
                               .thread = NVT_NONE,
                               .launch = INT64_MIN,
                               .name = text,
                               .short_name = text,
                               .detail = nvt_kernel_add(sink->trace, &kernel),
                               .kind = NVT_OP_KERNEL};
    nvt_op_add(sink->trace, &row);
}

static int write_sqlite(const struct size *size, const char *path, struct nvt_error *err)
{
    struct sink sink = {.push = model_push,
                        .pop = model_pop,
                        .call = model_call,
                        .kernel = model_kernel,
                        .trace = nvt_trace_new(path, "made up")};
    if (!sink.trace)
        return nvt_fail(err, "out of memory");
    for (int i = 0; i < THREADS; i++)
        nvt_trace_thread(sink.trace, nvt_trace_process(sink.trace, 1000), 1000 + i);
    generate(&sink, size->events, size->rank);
    int status = nvt_trace_finish(sink.trace, err);
    if (!status)
        status = nvt_exporter_sqlite.write_file(sink.trace, path, err);
    nvt_trace_free(sink.trace);
    return status;
}

/* --- as PyTorch writes it; times in us with three decimals --- */

#define US(ns) (ns) / 1000, (ns) % 1000

static void begin_event(struct sink *sink)
{
    fputs(sink->commas++ ? ",\n" : "\n", sink->out);
}

static void kineto_push(struct sink *sink, int thread, const char *name, int64_t time)
{
    int at = sink->depth[thread]++;
    sink->open[thread][at].name = name;
    sink->open[thread][at].start = time;
    sink->open[thread][at].first = INT64_MAX;
    sink->open[thread][at].last = 0;
}

/* A range is there twice: on the host, and on the device from its first kernel to its last. */
static void put_annotation(struct sink *sink, const char *category, const char *name, int pid,
                           int tid, int64_t start, int64_t end)
{
    begin_event(sink);
    fprintf(sink->out,
            "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, "
            "\"tid\": %d, \"ts\": %" PRId64 ".%03" PRId64 ", \"dur\": %" PRId64 ".%03" PRId64
            ", \"args\": {\"External id\": %d, \"stream\": %d}}",
            category, name, pid, tid, US(start), US(end - start), sink->commas, pid ? -1 : tid);
}

static void kineto_pop(struct sink *sink, int thread, int64_t time)
{
    int at = --sink->depth[thread];
    const char *name = sink->open[thread][at].name;
    put_annotation(sink, "user_annotation", name, 1000, 1000 + thread, sink->open[thread][at].start,
                   time);
    if (sink->open[thread][at].last)
        put_annotation(sink, "gpu_user_annotation", name, 0, 7 + thread,
                       sink->open[thread][at].first, sink->open[thread][at].last);
}

static void kineto_call(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                        uint64_t correlation)
{
    begin_event(sink);
    fprintf(sink->out,
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": 1000, "
            "\"tid\": %d, \"ts\": %" PRId64 ".%03" PRId64 ", \"dur\": %" PRId64 ".%03" PRId64
            ", \"args\": {\"External id\": %" PRIu64 ", \"cbid\": 211, \"correlation\": %" PRIu64
            "}}",
            name, 1000 + thread, US(start), US(end - start), correlation, correlation);
}

static void kineto_kernel(struct sink *sink, int thread, const char *name, int64_t start,
                          int64_t end, uint64_t correlation)
{
    for (int i = 0; i < sink->depth[thread]; i++) {
        if (start < sink->open[thread][i].first)
            sink->open[thread][i].first = start;
        if (end > sink->open[thread][i].last)
            sink->open[thread][i].last = end;
    }
    begin_event(sink);
    fprintf(sink->out,
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, "
            "\"ts\": %" PRId64 ".%03" PRId64 ", \"dur\": %" PRId64 ".%03" PRId64
            ", \"args\": {\"External id\": %" PRIu64 ", \"device\": 0, \"context\": 1, "
            "\"stream\": %d, \"correlation\": %" PRIu64 ", \"registers per thread\": 64, "
            "\"grid\": [256, 1, 1], \"block\": [128, 1, 1]}}",
            name, 7 + thread, US(start), US(end - start), correlation, 7 + thread, correlation);
}

static int write_kineto(const struct size *size, const char *path, struct nvt_error *err)
{
    struct sink sink = {.push = kineto_push,
                        .pop = kineto_pop,
                        .call = kineto_call,
                        .kernel = kineto_kernel,
                        .out = fopen(path, "w")};
    if (!sink.out)
        return nvt_fail_at(err, path, -1, "cannot be opened");
    fprintf(sink.out,
            "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"made up\", "
            "\"totalGlobalMem\": 85899345920, \"numSms\": 132}],\n"
            "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n"
            "\"traceEvents\": [",
            size->rank < 0 ? 0 : size->rank, size->ranks);
    generate(&sink, size->events, size->rank);
    fputs("\n], \"traceName\": \"made up\"}\n", sink.out);
    int broken = ferror(sink.out);
    return fclose(sink.out) || broken ? nvt_fail_at(err, path, -1, "cannot be written") : 0;
}

/* --- our own format --- */

static void nvt_push(struct sink *sink, int thread, const char *name, int64_t time)
{
    nvt_sink_push(sink->nvt, thread, name, time);
}

static void nvt_pop(struct sink *sink, int thread, int64_t time)
{
    nvt_sink_pop(sink->nvt, thread, time);
}

static void nvt_call(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                     uint64_t correlation)
{
    nvt_sink_call(sink->nvt, thread, name, start, end, correlation);
}

static void nvt_kernel(struct sink *sink, int thread, const char *name, int64_t start, int64_t end,
                       uint64_t correlation)
{
    nvt_sink_kernel(sink->nvt, thread, name, start, end, correlation);
}

static int write_nvt(const struct size *size, const char *path, struct nvt_error *err)
{
    struct sink sink = {.push = nvt_push,
                        .pop = nvt_pop,
                        .call = nvt_call,
                        .kernel = nvt_kernel,
                        .nvt = nvt_sink_new(path, THREADS, err)};
    if (!sink.nvt)
        return -1;
    generate(&sink, size->events, size->rank);
    return nvt_sink_close(sink.nvt, err);
}

int main(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    int status = -1;
    const struct size size = {argc == 4 || argc == 6 ? strtoull(argv[1], NULL, 10) : 0,
                              argc == 6 ? atoi(argv[4]) : -1, argc == 6 ? atoi(argv[5]) : 1};
    if (size.events < THREADS * STEP) {
        fputs("usage: make_trace EVENTS nvt|sqlite|kineto FILE [RANK RANKS]   (1264 events at "
              "least)\n",
              stderr);
        return 2;
    }
    if (!strcmp(argv[2], "nvt"))
        status = write_nvt(&size, argv[3], &err);
    else if (!strcmp(argv[2], "sqlite"))
        status = write_sqlite(&size, argv[3], &err);
    else if (!strcmp(argv[2], "kineto"))
        status = write_kineto(&size, argv[3], &err);
    else
        nvt_fail(&err, "no format '%s'", argv[2]);
    if (status)
        fprintf(stderr, "make_trace: %s\n", nvt_error_text(&err, text, sizeof(text)));
    else
        printf("%" PRIu64 "\n", size.events / THREADS / STEP * THREADS * STEP);
    return status ? 2 : 0;
}
