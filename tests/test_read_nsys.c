/* The reader of nsys's SQLite exports, over small files with its schema as several versions had it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "nsys_kit.h"
#include "read_kit.h"

#ifdef HAVE_SQLITE
static void reads_every_kind_of_range(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS NVTX_2026
        "INSERT INTO StringIds VALUES (1, 'registered'), (2, 'the lib');"
        /* Rows have no order: names come behind what they name. */
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES"
        " (30, 40, 59, 'inner', " T57 "), (10, 100, 59, 'outer', " T57 ");"
        "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid, domainId, category,"
        " color, int64Value) VALUES (20, 25, 59, 1, " T57 ", 3, 9, 4294901760, -5);"
        "INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, text, globalTid, endGlobalTid,"
        " jsonText) VALUES (50, 70, 60, 17, 'across', " T57 ", " T58 ", '{\"a\":1}');"
        "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) VALUES"
        " (60, 59, 'open', " T58 "), (70, 59, 'open in it', " T58 "), (65, 34, 'mark', " T58 ");"
        "INSERT INTO NVTX_EVENTS (start, eventType, textId, globalTid, domainId) VALUES"
        " (1, 75, 2, " T57 ", 3);"
        "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId, category) VALUES"
        " (2, 33, 'layers', " T57 ", 3, 9);"));
    const struct nvt_ranges *ranges = &trace->ranges;
    assert_string_equal(trace->format, "nsys");
    assert_int_equal(ranges->count, 6);
    assert_string_equal(nvt_name(trace, ranges->name[0]), "outer");
    assert_string_equal(nvt_name(trace, ranges->name[1]), "registered");
    assert_string_equal(nvt_name(trace, ranges->name[2]), "inner");
    assert_string_equal(nvt_name(trace, ranges->name[3]), "across");
    assert_string_equal(nvt_name(trace, ranges->name[4]), "open");
    assert_int_equal(ranges->parent[2], 0);
    assert_string_equal(nvt_name(trace, trace->domains.name[ranges->domain[1]]), "the lib");
    assert_string_equal(nvt_name(trace, ranges->category[1]), "layers");
    assert_int_equal(ranges->color[1], 0xffff0000);
    assert_string_equal(nvt_name(trace, ranges->payload[1]), "-5");
    assert_int_equal(ranges->flags[1], NVT_RANGE_HAS_PAYLOAD | NVT_RANGE_HAS_COLOR);
    assert_int_equal(ranges->flags[0], 0);
    assert_int_equal(ranges->style[3], NVT_START_END);
    assert_int_equal(trace->threads.tid[ranges->thread[3]], 7);
    assert_int_equal(trace->threads.tid[ranges->end_thread[3]], 8);
    assert_string_equal(nvt_name(trace, ranges->payload[3]), "{\"a\":1}");
    assert_int_equal(ranges->flags[4], NVT_RANGE_UNCLOSED);
    assert_int_equal(ranges->end[4], 70); /* the last that thread 8 did */
    assert_int_equal(ranges->end[5], 70);
    assert_int_equal(ranges->parent[5], 4);
    assert_int_equal(trace->marks.count, 1);
    assert_string_equal(nvt_name(trace, trace->marks.name[0]), "mark");
    nvt_trace_free(trace);
}

static void keeps_processes_and_devices_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS RUNTIME_2020 KERNEL_2020
        "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void f<int>(int)'),"
        " (3, 'f'), (4, 'cuLaunchKernel');"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 12, 0, " T57 ", 77, 1, 0),"
        " (20, 23, 1, " T67 ", 77, 4, 700);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
        " (50, 60, 1, 1, 7, 77, " P6 ", 2, 3, 40, 1, 2, 3, 4, 5, 6, 7, 8, 9),"
        " (30, 45, 0, 1, 7, 77, " P5 ", 2, 3, 40, 1, 2, 3, 4, 5, 6, 7, 8, 9);"
        "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
        "INSERT INTO PROCESSES VALUES (" P5 ", 5, 'python3'), (999 << 24, 999, 'idle');"
        "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
        "INSERT INTO ThreadNames VALUES (3, 20, " T67 ");"
        "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount "
        "INTEGER, uuid TEXT, computeMajor INTEGER, computeMinor INTEGER);"
        "INSERT INTO TARGET_INFO_GPU VALUES (4, 'NVIDIA H100', 85000000000, 132, "
        "'01125f41-ed43-3b5b-770d-0ef62e701d55', 9, 0);"
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4, 1, 6);"));
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->count, 2);
    assert_int_equal(trace->processes.count, 2);
    assert_int_equal(trace->processes.pid[ops->process[0]], 5);
    assert_int_equal(trace->processes.pid[ops->process[1]], 6);
    assert_int_equal(ops->launch[0], 10);
    assert_int_equal(ops->launch[1], 20);
    assert_int_equal(trace->threads.tid[ops->thread[1]], 7);
    assert_string_equal(nvt_name(trace, trace->threads.name[ops->thread[1]]), "f");
    assert_true(trace->threads.has_priority[ops->thread[1]]);
    assert_int_equal(trace->threads.priority[ops->thread[1]], 20);
    assert_false(trace->threads.has_priority[ops->thread[0]]);
    assert_string_equal(nvt_name(trace, trace->processes.name[ops->process[0]]), "python3");
    assert_string_equal(nvt_name(trace, ops->name[0]), "void f<int>(int)");
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "f");
    assert_int_equal(trace->kernels.block_z[ops->detail[0]], 6);
    assert_int_equal(trace->kernels.local_memory[ops->detail[0]], 9);
    assert_string_equal(nvt_name(trace, trace->apis.name[0]), "cudaLaunchKernel");
    assert_int_equal(trace->apis.class[0], NVT_API_RUNTIME);
    assert_int_equal(trace->apis.class[1], NVT_API_DRIVER);
    assert_int_equal(trace->apis.result[1], 700);
    assert_int_equal(trace->devices.count, 2);
    assert_int_equal(trace->devices.multiprocessors[1], 132);
    assert_int_equal(trace->devices.capability[1], 90);
    assert_int_equal(trace->devices.device[1], 1);
    assert_string_equal(nvt_name(trace, trace->devices.gpu[1]),
                        "GPU-01125f41-ed43-3b5b-770d-0ef62e701d55");
    assert_string_equal(nvt_trace_meta(trace, "device"), "NVIDIA H100");
    assert_string_equal(nvt_trace_meta(trace, "backend"), "cuda");
    nvt_trace_free(trace);
}

/* Threads that begin and end are events of other classes. The trace's extent is that of what else there is. */
static void reads_calls_of_the_system(void **state)
{
    (void)state;
    const char *path = kit_make_export(
        NSYS_STRINGS NVTX_2026 OSRT_2024
        "INSERT INTO StringIds VALUES (1, 'poll'), (2, 'read');"
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES"
        " (100, 300, 59, 'step', " T57 ");"
        "INSERT INTO OSRT_API VALUES (250, 290, 27, " T57 ", 9, 2, -1, 0, 0),"
        " (10, 90, 27, " T57 ", 8, 1, 1, 0, 0), (5, 5, 31, " T57 ", 27, 2, 0, NULL, 0),"
        " (200, 1000, 27, " T58 ", 10, 1, 0, 0, 0);");
    struct nvt_trace *trace = kit_read(path);
    const struct nvt_os_calls *calls = &trace->os_calls;
    assert_int_equal(calls->count, 3);
    assert_int_equal(calls->start[0], 10);
    assert_int_equal(calls->end[0], 90);
    assert_string_equal(nvt_name(trace, calls->name[0]), "poll");
    assert_int_equal(trace->threads.tid[calls->thread[1]], 8);
    assert_string_equal(nvt_name(trace, calls->name[2]), "read");
    assert_int_equal(calls->result[2], -1);
    assert_int_equal(calls->bytes[2], 0);
    assert_int_equal(trace->first_ns, 100);
    assert_int_equal(trace->last_ns, 300);
    nvt_trace_free(trace);

    /* Of all of it, and of those that begin in a window. */
    static const char *const windows[][2] = {{NULL, "95.7,880,2,440.0,440.0,80,800,509.1,poll\n"},
                                             {"0.05us/0.12us", "100.0,800,1,"},
                                             {"0.13us/", "100.0,40,1,40.0"}};
    for (size_t i = 0; i < 3; i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "stats", "-r", i ? "osrt_sum" : "osrtsum", "-f", "csv", path,
            windows[i][0] ? "--filter-time" : NULL, windows[i][0], NULL});
        cli_expect_status(&result, 0);
        if (!strstr(result.out, windows[i][1]))
            fail_msg("%s", result.out);
        cli_result_free(&result);
    }
    const char *const csv[] = {"nvtally", "export", "--to", "csv", path, NULL};
    struct cli_result result = cli_run(csv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "OS call,"));
    cli_result_free(&result);
    /* Nothing else in it: they are what there is to say. */
    path = kit_make_export(NSYS_STRINGS OSRT_2024 "INSERT INTO StringIds VALUES (1, 'poll');"
                                                  "INSERT INTO OSRT_API VALUES (1, 2, 27, " T57
                                                  ", 8, 1, 1, 0, 0);");
    const char *const plain[] = {"nvtally", "stats", "-f", "csv", path, NULL};
    result = cli_run(plain);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "Num Calls"));
    cli_result_free(&result);
}

/* What a call returned is bytes where the call says so: not of poll, of fread, of what failed, or of what nobody knows. */
static void knows_bytes_of_calls_of_the_system(void **state)
{
    static const uint64_t expected[] = {4096, 100, 0, 0, 0, 0, 4097};
    (void)state;
    const char *path = kit_make_export(
        NSYS_STRINGS OSRT_2024
        "INSERT INTO StringIds VALUES (1, 'poll'), (2, 'read'), (3, 'write'), (4, 'fread'), (5, "
        "'x');"
        "INSERT INTO OSRT_API VALUES (10, 20, 27, " T57 ", 1, 2, 4096, 0, 0),"
        " (20, 30, 27, " T57 ", 2, 3, 100, 0, 0), (30, 40, 27, " T57 ", 3, 1, 2, 0, 0),"
        " (40, 50, 27, " T57 ", 4, 4, 3, 0, 0), (50, 60, 27, " T57 ", 5, 2, -1, 0, 0),"
        " (60, 70, 27, " T57 ", 6, 5, 7, 0, 0), (70, 80, 27, " T57 ", 7, 2, 4097, 0, 0);");
    struct nvt_trace *trace = kit_read(path);
    assert_int_equal(trace->os_calls.count, NVT_COUNT_OF(expected));
    assert_memory_equal(trace->os_calls.bytes, expected, sizeof(expected));
    nvt_trace_free(trace);
}

#define METRICS                                                                                    \
    "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,"       \
    " metricId INTEGER, metricName TEXT);"                                                         \
    "CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER,"           \
    " metricId INTEGER, value INTEGER);"

/* Of two devices, whose ids are the low bytes; a name for both, one without a unit, one of nobody. */
static void reads_samples_of_metrics(void **state)
{
    (void)state;
    const char *path =
        kit_make_export(NSYS_STRINGS NVTX_2026 METRICS
                        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES"
                        " (100, 300, 59, 'step', " T57 "), (150, 250, 59, 'other', " T67 ");"
                        "INSERT INTO TARGET_INFO_GPU_METRICS VALUES"
                        " (72057594037928448, 1, 'GPU 0', 4, 'SMs Active [Throughput %]'),"
                        " (72057594037928448, 1, 'GPU 0', 5, 'GPC Clock Frequency [MHz]'),"
                        " (72057594037928449, 1, 'GPU 1', 4, 'SMs Active [Throughput %]'),"
                        " (72057594037928449, 1, 'GPU 1', 6, 'plain');"
                        "INSERT INTO GPU_METRICS VALUES (1, -5, 72057594037928448, 4, 99),"
                        " (1, 200, 72057594037928448, 4, 80), (1, 100, 72057594037928448, 4, 20),"
                        " (1, 300, 72057594037928448, 4, 0), (1, 100, 72057594037928448, 5, 1980),"
                        " (1, 110, 72057594037928449, 4, 7), (1, 120, 72057594037928449, 4, NULL),"
                        " (1, 130, 72057594037928449, 6, -1), (1, 140, 72057594037928449, 9, 3);");
    struct nvt_trace *trace = kit_read(path);
    const struct nvt_counters *counters = &trace->counters;
    assert_int_equal(counters->count, 5);
    assert_int_equal(trace->counter_samples.count, 7);
    static const char *const expected[][3] = {{"GPU 0", "SMs Active", "Throughput %"},
                                              {"GPU 0", "GPC Clock Frequency", "MHz"},
                                              {"GPU 1", "SMs Active", "Throughput %"},
                                              {"GPU 1", "plain", ""},
                                              {"GPU 1", "metric 9", ""}};
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(nvt_name(trace, trace->domains.name[counters->domain[i]]),
                            expected[i][0]);
        assert_string_equal(nvt_name(trace, counters->name[i]), expected[i][1]);
        assert_string_equal(nvt_name(trace, counters->unit[i]), expected[i][2]);
    }
    nvt_trace_free(trace);
    /* Within the ranges of both processes: 20 up to 200, then 80. */
    const char *argv[] = {"nvtally", "stats", path, "-r", "nvtx_counter_ranges", "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ":step,GPU 0:SMs Active,Throughput %,1,2,-20,-20,"));
    assert_non_null(strstr(result.out, ",50,0,80\n"));
    assert_non_null(strstr(result.out, ":other,GPU 0:SMs Active,Throughput %,1,1,60,60,"));
    assert_non_null(strstr(result.out, ",50,20,80\n"));
    cli_result_free(&result);
}

#define TIMES(count)                                                                               \
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " count ")"

/* Forty iterations of 1 ms with a GEMM of 0.8 ms, DRAM at 90 % and tensor cores at 1 %, sampled every 20 us: the reports and findings that
 * a recording of nvtally's has. */
static void reports_on_metrics_are_those_of_recordings(void **state)
{
    (void)state;
    const char *path = kit_make_export(
        NSYS_STRINGS NVTX_2026 METRICS RUNTIME_2020 KERNEL_2020
        "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);"
        "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 85000000000);"
        "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'sm90_gemm_bf16');"
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) " TIMES(
            "39") " SELECT i * 1000000, i * 1000000 + 990000, 59, 'iteration', " T57 " FROM n;"
                  "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) " TIMES(
                      "39") " SELECT i * 1000000 + 10000, i * 1000000 + 950000, 59,"
                            " 'mlp flops=8e9 bytes=1.6e9 precision=bf16', " T57 " FROM n;"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME " TIMES(
                                "39") " SELECT i * 1000000 + 20000, i * 1000000 + 25000, 0, " T57
                                      ", i + 1, 1, 0 FROM n;"
                                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL " TIMES(
                                          "39") " SELECT i * 1000000 + 100000, i * 1000000 + "
                                                "900000, 0, 1, 7, i + 1, " P5
                                                ", 2, 2, 40, 100, 2, 3, 128, 1, 1, 7, 8, 9 FROM n;"
                                                "INSERT INTO TARGET_INFO_GPU_METRICS VALUES"
                                                " (72057594037927936, 1, 'GPU 0', 1, 'DRAM Read "
                                                "Bandwidth [Throughput %]'),"
                                                " (72057594037927936, 1, 'GPU 0', 2, 'DRAM Write "
                                                "Bandwidth [Throughput %]'),"
                                                " (72057594037927936, 1, 'GPU 0', 3, 'Tensor "
                                                "Active [Throughput %]');"
                                                "INSERT INTO GPU_METRICS " TIMES(
                                                    "2000") " SELECT i * 20000, i * 20000, "
                                                            "72057594037927936, k.column1, "
                                                            "k.column2"
                                                            " FROM n, (VALUES (1, 80), (2, 10), "
                                                            "(3, 1)) AS k;");
    const char *stats[] = {"nvtally", "stats", path, "-r", "gpu_metrics_by_range,roofline",
                           "-f",      "csv",   NULL};
    struct cli_result result = cli_run(stats);
    cli_expect_status(&result, 0);
    static const char *const rows[] = {
        ":iteration,GPU 0,DRAM Read Bandwidth,Throughput %,40,0,32000000,1600,80,",
        "sm90_gemm_bf16,GPU 0,Tensor Active,Throughput %,40,0,32000000,1600,1,",
        /* 90 % of 3350 GB/s, 1 % of 989.4 TFLOP/s, and half a per cent more or less, as samples are whole numbers. */
        ",mlp,GB/s,2000.000,,3015.000,2981.500,3048.500,DRAM,,",
        ",mlp,GFLOP/s,10000.000,,9894.000,4947.000,14841.000,active tensor pipes,,1.0"};
    for (size_t i = 0; i < NVT_COUNT_OF(rows); i++)
        if (!strstr(result.out, rows[i]))
            fail_msg("no %s in\n%s", rows[i], result.out);
    cli_result_free(&result);
    const char *diagnose[] = {"nvtally", "diagnose", path, NULL};
    result = cli_run(diagnose);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, "DRAM-bound") || !strstr(result.out, "idle tensor cores"))
        fail_msg("%s", result.out);
    cli_result_free(&result);
}

/* The least that a version can have had: no globalPid, no short name, nothing optional. */
static void reads_tables_with_few_columns(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (nameId INTEGER, correlationId"
                     " INTEGER, end INTEGER, start INTEGER, globalTid INTEGER);"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INTEGER, start INTEGER,"
                     " correlationId INTEGER, demangledName INTEGER);"
                     "CREATE TABLE NVTX_EVENTS (text TEXT, eventType INTEGER, end INTEGER,"
                     " start INTEGER, globalTid INTEGER);"
                     "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'),"
                     " (2, 'void ns::(anonymous namespace)::k<float, 4>(float const*, int)');"
                     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 3, 12, 10, " T57 ");"
                     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (40, 30, 3, 2);"
                     "INSERT INTO NVTX_EVENTS VALUES ('r', 59, 20, 5, " T57 ");"
                     "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, deviceId INTEGER, name TEXT,"
                     " busLocation TEXT);"
                     "INSERT INTO TARGET_INFO_GPU VALUES (7, 0, 'RTX 3080', '0000:02:00.0');"));
    assert_null(trace->warning);
    assert_string_equal(nvt_trace_meta(trace, "device"), "RTX 3080");
    assert_int_equal(trace->devices.device[0], 0);
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.api[0], 0);
    assert_string_equal(nvt_name(trace, trace->ops.short_name[0]), "k");
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "r");
    nvt_trace_free(trace);
}

static const char copies_memory_and_the_rest[] = NSYS_STRINGS RUNTIME_2020
    "INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 12, 0, " T58 ", 5, 1, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,"
    " copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 3, 0, 7, 1, " P5 ", 4096, 2, 2, 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5, 6, 0, 7, " P5 ", 0, 64, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
    " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    " globalPid INTEGER, syncType INTEGER, eventSyncId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (7, 9, 0, 1, 7, 2, " P5 ", 3, NULL),"
    " (8, 8, 0, 1, 7, 83, " P5 ", 2, 21), (9, 9, 0, 1, 7, 84, " P5 ", 2, 22);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " eventId INTEGER, eventSyncId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (5, 0, 1, 13, 77, " P5 ", 1, 21),"
    " (5, 0, 1, 13, 78, " P5 ", 1, NULL);"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER,"
    " deviceId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER,"
    " memoryOperationType INTEGER, correlationId INTEGER, localMemoryPoolSize INTEGER,"
    " localMemoryPoolUtilizedSize INTEGER);"
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
    " (11, " P5 ", 0, 140000, 1024, 2, 0, 5, NULL, NULL),"
    " (13, " P5 ", 0, 150000, 2048, 1, 0, 0, NULL, NULL),"
    " (15, " P5 ", 0, 140000, 1024, 2, 1, 0, 4194304, 512);"
    "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER,"
    " nameId INTEGER, overheadType INTEGER);"
    "INSERT INTO PROFILER_OVERHEAD VALUES (1, 2, " T57 ", NULL, 3);"
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (name TEXT, processId INTEGER,"
    " streamId INTEGER);"
    "INSERT INTO TARGET_INFO_NVTX_CUDA_STREAM VALUES ('copies', 5, 7);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '2023-11-14');"
    "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'python3'),"
    " ('PROCESS_0:ARGUMENT_0', 'train.py'), ('PROCESS_0:ARGUMENT_1', 'two words');";

static void reads_copies_memory_and_the_rest(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(copies_memory_and_the_rest));
    const struct nvt_ops *ops = &trace->ops;
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(ops->count, 2);
    assert_string_equal(nvt_name(trace, ops->name[0]), "[CUDA memcpy Device-to-Host]");
    assert_int_equal(ops->source_kind[0], NVT_KIND_DEVICE);
    assert_int_equal(ops->target_kind[0], NVT_KIND_PAGEABLE);
    assert_int_equal(ops->bytes[0], 4096);
    assert_string_equal(nvt_name(trace, ops->name[1]), "[CUDA memset]");
    assert_int_equal(ops->target_kind[1], NVT_KIND_PINNED);
    assert_int_equal(trace->syncs.count, 3);
    assert_int_equal(trace->syncs.type[0], NVT_SYNC_STREAM);
    assert_int_equal(trace->syncs.recorded[0], 0);
    assert_int_equal(trace->syncs.recorded[1], 77);
    assert_int_equal(trace->syncs.recorded_stream[1], 13);
    assert_int_equal(trace->syncs.recorded[2], 0); /* the call that recorded it is not there */
    assert_int_equal(memory->count, 3);
    assert_int_equal(trace->threads.tid[memory->thread[0]], 8);
    assert_int_equal(memory->device[0], 0);
    assert_true(memory->allocated[0] == UINT64_MAX && memory->reserved[0] == UINT64_MAX);
    assert_int_equal(memory->device[1], NVT_NONE);
    assert_int_equal(memory->kind[2], NVT_MEMORY_FREE);
    assert_int_equal(memory->allocated[2], 512);
    assert_int_equal(memory->reserved[2], 4194304);
    assert_string_equal(nvt_name(trace, trace->overheads.name[0]), "Buffer flush");
    assert_string_equal(nvt_name(trace, trace->resources.name[0]), "copies");
    assert_int_equal(trace->resources.handle[0], 7);
    assert_true(trace->origin_ns == INT64_C(1700000000000000000));
    assert_string_equal(nvt_trace_meta(trace, "date"), "2023-11-14");
    assert_string_equal(nvt_trace_meta(trace, "command"), "python3 train.py 'two words'");
    nvt_trace_free(trace);
}

/* Each record tells of one pool; a device has what all of them have and what was taken without any. */
static void pools_of_memory_add_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t allocated, reserved;
    } expected[] = {{1000, 1000}, {1016, 1032}, {1024, 1064}, {24, 64}, {8, 64}, {8, 32}};
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER,"
                     " deviceId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER,"
                     " memoryOperationType INTEGER, localMemoryPoolAddress INTEGER,"
                     " localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);"
                     "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
                     " (60, " P5 ", 0, 64, 0, 2, 1, 10, 0, 0),"
                     " (30, " P5 ", 0, 48, 8, 2, 0, 11, 32, 8),"
                     " (10, " P5 ", 0, 16, 1000, 2, 0, NULL, 0, 0),"
                     " (20, " P5 ", 0, 32, 16, 2, 0, 10, 32, 16),"
                     " (40, " P5 ", 0, 16, 1000, 2, 1, 0, 0, 0),"
                     " (50, " P5 ", 0, 32, 16, 2, 1, 10, 32, 0);"));
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(memory->count, 6);
    for (uint32_t i = 0; i < memory->count; i++) {
        assert_int_equal(memory->time[i], 10 * (i + 1));
        assert_int_equal(memory->allocated[i], expected[i].allocated);
        assert_int_equal(memory->reserved[i], expected[i].reserved);
    }
    nvt_trace_free(trace);
}

/* Before waits and records had a number of their own, they were linked by the event, which is recorded again and again. */
static void links_waits_to_events_of_old_exports(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS NVTX_2026
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, streamId INTEGER,"
        " correlationId INTEGER, globalPid INTEGER, eventId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 13, 10, " P5 ", 4),"
        " (0, 14, 20, " P5 ", 4), (0, 15, 30, " P5 ", 4), (0, 16, 21, " P5 ", 5);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
        " deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        " syncType INTEGER, eventId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 1, 0, 7, 5, " P5 ", 2, 4),"
        " (2, 2, 0, 7, 25, " P5 ", 2, 4), (3, 3, 0, 7, 35, " P5 ", 1, 4),"
        " (4, 4, 0, 7, 36, " P5 ", 3, 4294967295), (5, 5, 0, 7, 37, " P5 ", 2, 6);"));
    static const uint32_t recorded[] = {0, 20, 30, 0, 0}, streams[] = {0, 14, 15, 0, 0};
    assert_int_equal(trace->syncs.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(trace->syncs.recorded[i], recorded[i]);
        assert_int_equal(trace->syncs.recorded_stream[i], streams[i]);
    }
    nvt_trace_free(trace);
}

/* nsys writes device 0 to every wait: it is that of the context, by its operations, or by the table of contexts. */
static void waits_are_on_their_contexts_device(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS NVTX_2026
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,"
        " contextId INTEGER, streamId INTEGER, globalPid INTEGER, bytes INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 2, 0, 1, 7, " P5 ", 64),"
        " (2, 3, 1, 2, 7, " P5 ", 64), (3, 4, 2, 0, 7, " P5 ", 64),"
        " (4, 5, 1, 4, 7, " P5 ", 64), (5, 6, 2, 4, 7, " P5 ", 64);"
        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER,"
        " deviceId INTEGER, contextId INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 5, 3, 3), (7, 6, 4, 2);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
        " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
        " globalPid INTEGER, syncType INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 1, 0, 1, 7, 5, " P5 ", 3),"
        " (2, 2, 0, 2, 7, 6, " P5 ", 3), (3, 3, 0, 3, 7, 7, " P5 ", 3),"
        /* No context, one of two devices, an unknown one, and a device that is on record. */
        " (4, 4, 0, 0, 7, 8, " P5 ", 3), (5, 5, 0, 4, 7, 9, " P5 ", 3),"
        " (6, 6, 0, 9, 7, 10, " P5 ", 3), (7, 7, 5, 2, 7, 11, " P5 ", 3);"));
    static const uint32_t devices[] = {0, 1, 3, 0, 0, 0, 5};
    assert_null(trace->warning);
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->syncs.count, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(trace->syncs.device[i], devices[i]);
    nvt_trace_free(trace);
}

/* The columns of nsys 2024.3, in its order. */
#define GRAPH_2024                                                                                 \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"  \
    " contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,"         \
    " globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);"

static void takes_a_whole_graph_for_an_operation(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(
        kit_make_export(NSYS_STRINGS RUNTIME_2020 KERNEL_2020 GRAPH_2024
                        "INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000');"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 12, 0, " T57 ", 77, 1,"
                        " 0);"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES"
                        " (20, 90, 1, 1, 0, 13, 77, " P5 ", 4, 6),"
                        " (95, 99, 1, 1, 0, 13, 78, " P5 ", NULL, 6),"
                        " (0, 0, 1, 1, 0, 13, 79, " P5 ", 4, 6);"));
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->count, 2);
    assert_string_equal(nvt_name(trace, ops->name[0]), "[CUDA graph 4]");
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "[CUDA graph 4]");
    assert_string_equal(nvt_name(trace, ops->name[1]), "[CUDA graph 6]");
    assert_int_equal(ops->kind[0], NVT_OP_KERNEL);
    assert_int_equal(ops->end[0], 90);
    assert_int_equal(ops->device[0], 1);
    assert_int_equal(ops->stream[0], 13);
    assert_int_equal(ops->launch[0], 10);
    assert_int_equal(trace->kernels.graph[ops->detail[0]], 4);
    assert_string_equal(trace->notes,
                        "left out: events without times, or that end before they begin (1)\n");
    nvt_trace_free(trace);
}

/* CUPTI's records have this where there was no time: it is not a length of 0. */
static void leaves_out_what_ends_before_it_begins(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(kit_make_export(
        NSYS_STRINGS NVTX_2026 RUNTIME_2020 KERNEL_2020
        "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'f');"
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES"
        " (30, 25, 59, 'a', " T57 "), (30, 30, 59, 'a', " T57 "), (31, NULL, 34, 'm', " T57 ");"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 12, 0, " T57 ", 77, 1, 0),"
        " (20, 19, 0, " T57 ", 78, 1, 0);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
        " correlationId, globalPid, demangledName, shortName) VALUES"
        " (50, 60, 0, 1, 7, 77, " P5 ", 2, 2), (60, 10, 0, 1, 7, 77, " P5 ", 2, 2);"
        "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER, globalTid INTEGER);"
        "INSERT INTO OSRT_API VALUES (5, 4, 2, " T57 ");"
        "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER,"
        " textId INTEGER);"
        "INSERT INTO MPI_OTHER_EVENTS VALUES (5, 4, " T57 ", 2), (6, NULL, " T57 ", 2);"));
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->ranges.end[0], 30);
    assert_int_equal(trace->marks.count, 1);
    assert_int_equal(trace->apis.count, 1);
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.end[0], 60);
    assert_int_equal(trace->os_calls.count, 0);
    assert_int_equal(trace->mpi_calls.count, 1);
    assert_string_equal(trace->notes,
                        "left out: events without times, or that end before they begin (5)\n");
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind_of_range),
        cmocka_unit_test(keeps_processes_and_devices_apart),
        cmocka_unit_test(reads_calls_of_the_system),
        cmocka_unit_test(knows_bytes_of_calls_of_the_system),
        cmocka_unit_test(reads_samples_of_metrics),
        cmocka_unit_test(reports_on_metrics_are_those_of_recordings),
        cmocka_unit_test(reads_tables_with_few_columns),
        cmocka_unit_test(reads_copies_memory_and_the_rest),
        cmocka_unit_test(pools_of_memory_add_up),
        cmocka_unit_test(links_waits_to_events_of_old_exports),
        cmocka_unit_test(waits_are_on_their_contexts_device),
        cmocka_unit_test(takes_a_whole_graph_for_an_operation),
        cmocka_unit_test(leaves_out_what_ends_before_it_begins),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#else
int main(void)
{
    puts("not run: built without SQLite");
    return 0;
}
#endif
