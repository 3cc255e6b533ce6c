/*
 * Traces of the CUDA backend, from end to end without a device: workloads run on the stand-in for CUDA, which
 * loads the collector as the driver would and tells the stand-in for CUPTI what it ran. What is shown is that
 * kernels, copies, waits and memory come back under the ranges, streams and graphs that they belong to; how long
 * anything took says nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include "../analyze/model/cuda_names.h"
#include "../analyze/studies/pipeline.h"
#include "../analyze/device/communication.h"
#include "../analyze/device/project.h"
#include "../analyze/input/runs.h"
#include "record_kit.h"

#define MODEL                                                                                      \
    "transformer", "--d-model", "16", "--d-ff", "32", "--layers", "1", "--heads", "2",             \
        "--context", "8", "--vocabulary", "31", "--batch", "2", "--phase", "train"
#define PIPELINE                                                                                   \
    "gpipe", "--layers", "4", "--d-model", "16", "--heads", "2", "--d-ff", "32", "--batch", "4",   \
        "--sequence", "6", "--vocabulary", "31"
#define TIMES "--warmup", "1", "--iterations", "3"

/* `run` of these words into a folder of the fixture's. */
static void run(const char *folder, const char *collect, const char *const *words)
{
    char cupti[4200];
    const char *argv[64] = {cli_built("emulated/nvtally"), "run"};
    const char *const options_of_all[] = {
        "--backend", "cuda", "--collect", collect, "-o", cli_in(cli_folder, folder), NULL};
    size_t count = 2;
    for (size_t i = 0; words[i]; i++)
        argv[count++] = words[i];
    for (size_t i = 0; options_of_all[i]; i++)
        argv[count++] = options_of_all[i];
    snprintf(cupti, sizeof(cupti), "NVTALLY_CUPTI=%s", cli_built("tests/libcupti-stand-in.so"));
    const char *const environment[] = {cupti, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* The trace of a row. */
static struct nvt_trace *trace_of(const char *folder, const struct nvt_record *record)
{
    assert_string_equal(nvt_record_text(record, "status"), "ok");
    assert_true(nvt_record_number(record, "device_records") > 0);
    return recorded_trace_at(cli_in(cli_in(cli_folder, folder), nvt_record_text(record, "trace")));
}

static struct nvt_projected *project(const struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_projected *projected = nvt_project_ranges(trace, 0, &err);
    assert_non_null(projected);
    return projected;
}

/* Kernels launched within each timed range of this name, which must be as many each time. */
static uint32_t kernels_of(const struct nvt_trace *trace, const struct nvt_projected *projected,
                           const char *name)
{
    uint32_t kernels = 0, found = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        uint32_t parent = trace->ranges.parent[i];
        if (strcmp(nvt_name(trace, trace->ranges.name[i]), name) != 0 || parent == NVT_NONE ||
            strcmp(nvt_name(trace, trace->ranges.name[parent]), "iteration") != 0)
            continue;
        if (found++)
            assert_int_equal(projected[i].kernels, kernels);
        kernels = projected[i].kernels;
        /* The phase waits for what it has launched. */
        assert_true(projected[i].start >= trace->ranges.start[i]);
        assert_true(projected[i].end <= trace->ranges.end[i]);
    }
    assert_int_equal(found, 3);
    return kernels;
}

static int is_launch(const char *name)
{
    static const char *const launches[] = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync",
                                           "cudaGraphLaunch"};
    for (size_t i = 0; i < NVT_COUNT_OF(launches); i++)
        if (!strcmp(name, launches[i]))
            return 1;
    return 0;
}

/* Every kernel is linked to the call that launched it, and the levels hold what they promise. */
static void check_level(const struct nvt_trace *trace, int is_full)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        assert_int_not_equal(trace->ops.api[i], NVT_NONE);
        assert_int_not_equal(trace->ops.thread[i], NVT_NONE);
        assert_true(trace->ops.launch[i] <= trace->ops.start[i]);
    }
    for (uint32_t i = 0; i < trace->apis.count && !is_full; i++)
        assert_true(is_launch(nvt_name(trace, trace->apis.name[i])));
    assert_int_equal(recorded_calls(trace, "cudaDeviceSynchronize") > 0, is_full);
    assert_int_equal(trace->syncs.count > 0, is_full);
    assert_int_equal(trace->memory.count > 0, is_full);
}

static uint32_t kernels_in_graphs(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count +=
            trace->ops.kind[i] == NVT_OP_KERNEL && trace->kernels.graph[trace->ops.detail[i]] != 0;
    return count;
}

/* In 16 bits a pass launches what it launches in float: what makes a number rounds it. AdamW goes over what products read by
 * itself. */
static void no_kernel_only_rounds(void **state)
{
    (void)state;
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    uint32_t kernels[4][3];
    run("rounding", "kernel",
        (const char *const[]){MODEL, TIMES, "--precision", "fp32,tf32,bf16,fp16", NULL});
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "rounding"));
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        struct nvt_trace *trace = trace_of("rounding", &runs->records[i]);
        struct nvt_projected *projected = project(trace);
        for (int p = 0; p < 3; p++) {
            kernels[i][p] = kernels_of(trace, projected, phases[p]);
            assert_int_equal(kernels[i][p], kernels[0][p] + (p == 2 && i >= 2));
        }
        free(projected);
        nvt_trace_free(trace);
    }
    /* A layer has six products, two norms, heads split and merged, softmax, GELU and two residuals; five are left. */
    assert_int_equal(kernels[0][0], 14 + 5);
    nvt_runs_free(runs);
}

/* A graph has the kernels of the phase that it was captured from, under the phase that replays it. */
static void kernels_lie_under_their_phases_with_and_without_graphs(void **state)
{
    (void)state;
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    uint32_t kernels[3][2];
    run("model", "kernel,full", (const char *const[]){MODEL, TIMES, "--graph", "off,on", NULL});
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "model"));
    assert_int_equal(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        int graph = !strcmp(nvt_record_text(record, "graph"), "true");
        int is_full = !strcmp(nvt_record_text(record, "collect"), "full");
        struct nvt_trace *trace = trace_of("model", record);
        struct nvt_projected *projected = project(trace);
        check_level(trace, is_full);
        for (int p = 0; p < 3; p++)
            kernels[p][graph] = kernels_of(trace, projected, phases[p]);
        assert_int_equal(kernels_in_graphs(trace) > 0, graph);
        assert_int_equal(recorded_calls(trace, "cudaGraphLaunch") > 0, graph);
        free(projected);
        nvt_trace_free(trace);
    }
    for (int p = 0; p < 3; p++) {
        assert_true(kernels[p][0] > 0);
        assert_int_equal(kernels[p][1], kernels[p][0]);
    }
    nvt_runs_free(runs);
}

/* What the pool says of its memory is what the run's allocator says that it reserved. */
static void the_pools_memory_is_the_allocators(void **state)
{
    (void)state;
    run("memory", "full",
        (const char *const[]){"linear", "--size", "1024", "--batch", "4", TIMES, NULL});
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "memory"));
    struct nvt_trace *trace = trace_of("memory", &runs->records[0]);
    uint64_t most = 0;
    for (uint32_t i = 0; i < trace->memory.count; i++)
        if (trace->memory.device[i] != NVT_NONE && trace->memory.allocated[i] != UINT64_MAX &&
            trace->memory.allocated[i] > most)
            most = trace->memory.allocated[i];
    /* cuBLAS has its workspace beside what the allocator knows of. */
    double workspace = 32 << 20;
    assert_true((double)most ==
                nvt_record_number(&runs->records[0], "peak_reserved_bytes") + workspace);
    nvt_trace_free(trace);
    nvt_runs_free(runs);
}

/* A host that launches is done with a step before the device is: a partition's memory is told at the times of the work
 * that it was taken for. */
static void expect_memory_at_its_work(struct nvt_trace *trace)
{
    struct nvt_input_trace item = {.trace = trace};
    struct nvt_input input = {.traces = &item, .trace_count = 1};
    struct nvt_pipeline_views views = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_pipeline_views_make(&views, &input, &err), 0);
    assert_int_equal(views.count, 1);
    const struct nvt_pipeline_view *view = &views.items[0];
    assert_true(view->on_device);
    assert_int_equal(view->level_count, 3 * 4 * 2 * 2);
    for (size_t i = 0; i < view->level_count; i++) {
        const struct nvt_pipeline_level *level = &view->levels[i];
        size_t k = 0;
        while (k < view->span_count &&
               (view->spans[k].end != level->time || view->spans[k].start != level->start ||
                view->spans[k].partition != level->partition ||
                (view->spans[k].kind == NVT_PIPE_BACKWARD) != !!level->is_backward))
            k++;
        assert_true(k < view->span_count);
        const struct nvt_pipeline_step *step = &view->steps[level->step];
        assert_true(level->is_backward ? level->start >= step->backward_start
                                       : level->start >= step->start);
    }
    nvt_pipeline_views_free(&views);
}

/* Each partition's work lies on a stream of its own, whichever thread launches it. */
static void partitions_have_streams(void **state)
{
    (void)state;
    run("pipeline", "kernel",
        (const char *const[]){PIPELINE, "--partitions", "4", "--microbatches", "2", "--checkpoint",
                              "off", TIMES, NULL});
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "pipeline"));
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < runs->count; i++) {
        struct nvt_trace *trace = trace_of("pipeline", &runs->records[i]);
        uint32_t streams[4] = {NVT_NONE, NVT_NONE, NVT_NONE, NVT_NONE}, seen = 0;
        for (uint32_t op = 0; op < trace->ops.count; op++) {
            for (uint32_t r = 0; r < trace->ranges.count; r++) {
                const char *name = nvt_name(trace, trace->ranges.name[r]);
                if (strncmp(name, "forward p", 9) != 0 ||
                    trace->ranges.thread[r] != trace->ops.thread[op] ||
                    trace->ops.launch[op] < trace->ranges.start[r] ||
                    trace->ops.launch[op] > trace->ranges.end[r])
                    continue;
                uint32_t *stream = &streams[name[9] - '0'];
                if (*stream != NVT_NONE)
                    assert_int_equal(*stream, trace->ops.stream[op]);
                *stream = trace->ops.stream[op];
                seen++;
            }
        }
        assert_true(seen > 0);
        expect_memory_at_its_work(trace);
        for (int p = 0; p < 4; p++)
            for (int other = 0; other < p; other++)
                assert_int_not_equal(streams[p], streams[other]);
        nvt_trace_free(trace);
    }
    nvt_runs_free(runs);
}

/* The devices on which a partition's forwards and backwards ran, as bits; copies to others are counted. */
static unsigned devices_of(const struct nvt_trace *trace, int partition, int *messages)
{
    char forward[24], backward[24];
    unsigned found = 0;
    snprintf(forward, sizeof(forward), "forward p%d", partition);
    snprintf(backward, sizeof(backward), "backward p%d", partition);
    for (uint32_t op = 0; op < trace->ops.count; op++)
        for (uint32_t r = 0; r < trace->ranges.count; r++) {
            const char *name = nvt_name(trace, trace->ranges.name[r]);
            if ((strcmp(name, forward) != 0 && strcmp(name, backward) != 0) ||
                trace->ranges.thread[r] != trace->ops.thread[op] ||
                trace->ops.launch[op] < trace->ranges.start[r] ||
                trace->ops.launch[op] > trace->ranges.end[r])
                continue;
            found |= 1u << trace->ops.device[op];
            *messages += nvt_is_communication(trace, op);
        }
    return found;
}

/* Each partition's work lies on its device, messages are copies between devices, and the report says who shares one. */
static void partitions_have_devices(void **state)
{
    (void)state;
    for (int devices = 2; devices <= 4; devices += 2) {
        char count[16], folder[32];
        snprintf(count, sizeof(count), "%d", devices);
        snprintf(folder, sizeof(folder), "on-%d", devices);
        setenv("EMULATED_DEVICES", count, 1);
        run(folder, "kernel",
            (const char *const[]){PIPELINE, "--partitions", "4", "--microbatches", "2",
                                  "--checkpoint", "off", TIMES, NULL});
        unsetenv("EMULATED_DEVICES");
        struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, folder));
        assert_int_equal(runs->count, 2);
        for (size_t i = 0; i < runs->count; i++) {
            struct nvt_trace *trace = trace_of(folder, &runs->records[i]);
            int messages = 0;
            for (int p = 0; p < 4; p++)
                assert_int_equal(devices_of(trace, p, &messages), 1u << p % devices);
            /* Three boundaries, both ways, two micro-batches, three steps. */
            assert_int_equal(messages, 36);
            nvt_trace_free(trace);
        }
        nvt_runs_free(runs);
        const char *argv[] = {cli_built("emulated/nvtally"),
                              "stats",
                              cli_in(cli_folder, folder),
                              "-r",
                              "pipeline",
                              "-f",
                              "csv",
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, devices == 2 ? ",device,1\n" : ",device,3\n"));
        assert_int_equal(strstr(result.err, "partitions share a device") != NULL, devices == 2);
        cli_result_free(&result);
    }
}

/* The call of a process with this correlation id. */
static uint32_t call_of(const struct nvt_trace *trace, uint64_t correlation)
{
    uint32_t call = 0;
    while (call < trace->apis.count && trace->apis.correlation[call] != correlation)
        call++;
    return call < trace->apis.count ? call : NVT_NONE;
}

/* Partitions wait for each other's events: of each such wait the trace knows which call on which stream recorded
 * what is waited for. */
static void waits_know_their_events(void **state)
{
    (void)state;
    uint32_t waits = 0;
    run("events", "full",
        (const char *const[]){PIPELINE, "--partitions", "2", "--microbatches", "2", "--checkpoint",
                              "off", "--engine", "self", TIMES, NULL});
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "events"));
    struct nvt_trace *trace = trace_of("events", &runs->records[0]);
    for (uint32_t i = 0; i < trace->syncs.count; i++) {
        if (trace->syncs.type[i] != NVT_SYNC_WAIT_EVENT)
            continue;
        uint32_t call = call_of(trace, trace->syncs.recorded[i]);
        assert_int_not_equal(call, NVT_NONE);
        assert_string_equal(nvt_name(trace, trace->apis.name[call]), "cudaEventRecord");
        assert_true(trace->apis.start[call] <= trace->syncs.start[i]);
        assert_int_not_equal(trace->syncs.recorded_stream[i], trace->syncs.stream[i]);
        waits++;
    }
    assert_true(waits > 8);
    nvt_trace_free(trace);
    nvt_runs_free(runs);
}

/* The stand-in runs one kernel at a time: what partitions call busy overlaps, their own operations cannot. No partition can
 * begin before the one before it, and none waits while it works; the host waits for none of them. */
static void own_operations_add_up_to_one_device(void **state)
{
    (void)state;
    const char *argv[] = {cli_built("emulated/nvtally"),
                          "stats",
                          cli_in(cli_folder, "pipeline"),
                          "-r",
                          "pipeline",
                          "-f",
                          "csv",
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    double busy, waiting, bubble, own;
    int rows = 0;
    for (const char *line = result.out; (line = strstr(line, ",all,")); line++) {
        /* Steps, their time, busy, waiting, bubble, predicted, recompute, own operations. */
        assert_int_equal(sscanf(line, ",all,%*d,%*f,%lf,%lf,%lf,%*f,%*f,%lf,device", &busy,
                                &waiting, &bubble, &own),
                         4);
        rows++;
        assert_true(own > 15 && own <= 25.01); /* of four partitions */
        assert_true(busy >= own);
        assert_true(waiting > 5 && waiting <= bubble + 0.1);
    }
    if (rows != 2)
        fail_msg("%d rows in %s", rows, result.out);
    cli_result_free(&result);
}

static void levels_are_compared(void **state)
{
    (void)state;
    run("levels", "off,nvtx,kernel,full",
        (const char *const[]){MODEL, TIMES, "--repeat", "2", NULL});
    const char *argv[] = {cli_built("emulated/nvtally"),
                          "stats",
                          cli_in(cli_folder, "levels"),
                          "-r",
                          "overhead",
                          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "nvtx"));
    assert_non_null(strstr(result.out, "kernel"));
    assert_non_null(strstr(result.out, "full"));
    cli_result_free(&result);
}

/* Of a run whose second half is recorded its kernels are there, in their ranges, and those of the first are not: three iterations
 * and a warm-up of eight. */
static void a_second_half_has_its_kernels(void **state)
{
    (void)state;
    run("whole", "kernel",
        (const char *const[]){MODEL, "--warmup", "1", "--iterations", "3", NULL});
    run("half", "kernel", (const char *const[]){MODEL, TIMES, "--interleave", "halves", NULL});
    struct nvt_runs *whole = cli_read_runs(cli_in(cli_folder, "whole")),
                    *half = cli_read_runs(cli_in(cli_folder, "half"));
    struct nvt_trace *all = trace_of("whole", &whole->records[0]),
                     *trace = trace_of("half", &half->records[0]);
    struct nvt_projected *of_all = project(all), *projected = project(trace);
    assert_true(kernels_of(all, of_all, "forward") > 0);
    assert_int_equal(kernels_of(trace, projected, "forward"), kernels_of(all, of_all, "forward"));
    /* Those that set the model up are in the whole one alone. */
    assert_true(trace->ops.count <= all->ops.count);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        assert_int_not_equal(trace->ops.api[i], NVT_NONE);
    free(of_all);
    free(projected);
    nvt_trace_free(all);
    nvt_trace_free(trace);
    nvt_runs_free(whole);
    nvt_runs_free(half);
}

/* Everything that speaks of devices finds something to say, and nothing ends badly. */
static void every_report_reads_them(void **state)
{
    (void)state;
    static const char *const reports[] = {"cuda_gpu_kern_sum",
                                          "cuda_gpu_kern_gb_sum",
                                          "cuda_api_sum",
                                          "cuda_gpu_mem_time_sum",
                                          "cuda_gpu_sum",
                                          "cuda_kern_exec_sum",
                                          "cuda_gpu_trace",
                                          "cuda_api_trace",
                                          "nvtx_kern_sum",
                                          "nvtx_gpu_proj_sum",
                                          "nvtx_gpu_proj_trace",
                                          "range_tree",
                                          "gpu_idle",
                                          "overlap",
                                          "critical_path",
                                          "critical_path_trace",
                                          "launch_latency",
                                          "memory_peak",
                                          "memory_timeline",
                                          "matmul_share",
                                          "attention",
                                          "phases"};
    for (size_t i = 0; i < NVT_COUNT_OF(reports); i++) {
        const char *argv[] = {cli_built("emulated/nvtally"),
                              "stats",
                              cli_in(cli_folder, "model"),
                              "-r",
                              reports[i],
                              "-f",
                              "csv",
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        const char *second = strchr(result.out, '\n');
        if (!second || !second[1])
            fail_msg("%s says nothing", reports[i]);
        cli_result_free(&result);
    }
}

/* Where calls are on record, they are among what makes the first iteration slow; else that is said. */
static void warming_up_has_calls(void **state)
{
    (void)state;
    static const char *const levels[] = {"nvtx", "kernel", "full"};
    for (size_t i = 0; i < 3; i++) {
        char folder[32];
        snprintf(folder, sizeof(folder), "warmup-%s", levels[i]);
        run(folder, levels[i],
            (const char *const[]){MODEL, "--warmup", "0,1", "--iterations", "6", NULL});
        const char *argv[] = {cli_built("emulated/nvtally"),
                              "stats",
                              cli_in(cli_folder, folder),
                              "-r",
                              "warmup",
                              "-f",
                              "csv",
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        const int is_full = i == 2;
        assert_int_equal(strstr(result.err, "not all API calls") != NULL, !is_full);
        assert_int_equal(strstr(result.out, ",call,cudaLaunchKernel,") != NULL, i > 0);
        assert_int_equal(strstr(result.out, ",call,cudaStreamSynchronize,") ||
                             strstr(result.out, ",call,cudaDeviceSynchronize,"),
                         is_full);
        if (is_full)
            assert_non_null(strstr(result.out, ",before,(API calls before the first iteration),"));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_lie_under_their_phases_with_and_without_graphs),
        cmocka_unit_test(no_kernel_only_rounds),
        cmocka_unit_test(every_report_reads_them),
        cmocka_unit_test(the_pools_memory_is_the_allocators),
        cmocka_unit_test(partitions_have_streams),
        cmocka_unit_test(partitions_have_devices),
        cmocka_unit_test(waits_know_their_events),
        cmocka_unit_test(own_operations_add_up_to_one_device),
        cmocka_unit_test(levels_are_compared),
        cmocka_unit_test(a_second_half_has_its_kernels),
        cmocka_unit_test(warming_up_has_calls),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
