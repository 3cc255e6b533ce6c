/*
 * Lanes of other profilers' Chrome traces: what is a stream, what is derived, and what launched an operation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/named_iterations.h"
#include "../analyze/readers/reader.h"
#include "cli.h"
#include "read_kit.h"
#include "../lib/count_of.h"

#define PROCESS(pid, name)                                                                         \
    "{\"ph\":\"M\",\"pid\":" #pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}},"
#define THREAD(pid, tid, name)                                                                     \
    "{\"ph\":\"M\",\"pid\":" #pid ",\"tid\":" #tid                                                 \
    ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}},"
#define EVENT(pid, tid, name, ts, dur, args)                                                       \
    "{\"ph\":\"X\",\"pid\":" #pid ",\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts            \
    ",\"dur\":" #dur ",\"args\":{" args "}},"
#define END "{\"ph\":\"M\",\"name\":\"none\"}]"

static double kernel_us(const struct nvt_trace *trace)
{
    double ns = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.kind[i] == NVT_OP_KERNEL)
            ns += (double)(trace->ops.end[i] - trace->ops.start[i]);
    return ns / 1000;
}

static void xla_has_streams_and_derived_lanes(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "[" PROCESS(1, "/device:GPU:3") THREAD(1, 20, "Stream #20(Compute)")
            THREAD(1, 21, "Stream #21(MemcpyH2D)") THREAD(1, 10001, "XLA Modules")
                THREAD(1, 10002, "XLA Ops") PROCESS(701, "/host:CPU") THREAD(701, 5, "python")
                    EVENT(701, 5, "train", 0, 900, "\"step_num\":\"0\"")
                        EVENT(701, 5, "cuLaunchKernel", 40, 5, "\"correlation_id\":\"100\"")
                            EVENT(1, 21, "MemcpyH2D", 10, 20,
                                  "\"memcpy_details\":\"kind_src:pageable kind_dst:device "
                                  "size:4096 dest:0 async:1\"")
                                EVENT(1, 20, "fusion", 50, 100,
                                      "\"correlation_id\":\"100\",\"kernel_details\":\"regs:32 "
                                      "static_shared:8 dynamic_shared:16 grid:8,2,1 block:128,1,1 "
                                      "occ_pct:100\"") EVENT(1, 10001, "jit_step", 50, 100, "")
                                    EVENT(1, 10002, "fusion", 50, 100, "")
                                        EVENT(701, 5, "train", 1000, 900, "\"step_num\":\"1\"")
                                            END);
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->kind[0], NVT_OP_MEMCPY);
    assert_int_equal(ops->bytes[0], 4096);
    assert_int_equal(ops->copy_kind[0], 1);
    assert_int_equal(ops->stream[1], 20);
    assert_int_equal(ops->device[1], 3);
    assert_int_equal(trace->kernels.grid_y[ops->detail[1]], 2);
    assert_int_equal(trace->kernels.block_x[ops->detail[1]], 128);
    assert_int_equal(trace->kernels.registers[ops->detail[1]], 32);
    assert_int_equal(trace->kernels.static_shared[ops->detail[1]], 8);
    assert_int_equal(trace->kernels.dynamic_shared[ops->detail[1]], 16);
    assert_true(kernel_us(trace) == 100);
    /* Launched by the call with its id, on a thread of the host; lanes are no threads. */
    assert_int_equal(ops->launch[1] - ops->start[1], -10000);
    assert_int_equal(trace->threads.tid[ops->thread[1]], 5);
    assert_int_equal(trace->threads.count, 1);
    /* The call is one of CUDA's, and no range. */
    assert_int_equal(trace->apis.count, 1);
    assert_string_equal(nvt_name(trace, trace->apis.name[0]), "cuLaunchKernel");
    assert_int_equal(trace->apis.class[0], NVT_API_DRIVER);
    assert_int_equal(trace->ranges.count, 2);
    assert_int_equal(trace->processes.pid[ops->process[0]], 701);
    assert_non_null(strstr(trace->notes, "derived lanes, which repeat what others have (2)"));
    uint32_t count = 0;
    uint32_t *rows = nvt_iterations(trace, &count);
    assert_int_equal(count, 2);
    free(rows);
    nvt_trace_free(trace);
}

#define TF1_ALL                                                                                    \
    PROCESS(2, "/job:worker/replica:0/task:0/device:GPU:1/stream:all Compute")                     \
    EVENT(2, 0, "MatMul", 0, 70, "") EVENT(2, 0, "Relu", 80, 10, "")
#define TF1_EACH                                                                                   \
    PROCESS(3, "/job:worker/replica:0/task:0/device:GPU:1/stream:7 Compute")                       \
    EVENT(3, 0, "MatMul", 0, 70, "") EVENT(3, 0, "Relu", 80, 10, "")

/* All streams in one lane and each in its own are the same operations. */
static void streams_are_counted_once(void **state)
{
    (void)state;
    static const char *const texts[] = {"[" PROCESS(3, "/device:GPU:1/stream:7 Compute")
                                            TF1_ALL TF1_EACH END,
                                        "[" TF1_ALL END, "[" TF1_EACH END};
    for (size_t i = 0; i < 3; i++) {
        struct nvt_trace *trace = kit_read_text("t.json", texts[i]);
        assert_int_equal(trace->ops.count, 2);
        assert_int_equal(trace->ops.device[0], 1);
        assert_int_equal(trace->ops.stream[0], i == 1 ? 0 : 7);
        assert_int_equal(trace->ranges.count, 0);
        assert_true(kernel_us(trace) == 80);
        nvt_trace_free(trace);
    }
}

static void ascend_has_streams(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "[" PROCESS(200, "CANN") PROCESS(300, "Ascend Hardware") PROCESS(400, "Overlap Analysis")
            THREAD(300, 2, "Stream 2") THREAD(400, 0, "Computing")
                EVENT(200, 1, "AscendCL@launch", 10, 20, "\"connection_id\":7")
                    EVENT(300, 2, "MatMul", 60.5, 53.25, "\"connection_id\":7")
                        EVENT(400, 0, "Computing", 60.5, 53.25, "") END);
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.stream[0], 2);
    assert_true(kernel_us(trace) == 53.25);
    assert_int_equal(trace->processes.pid[trace->ops.process[0]], 200);
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "npu");
    nvt_trace_free(trace);
}

static void the_old_profiler_has_arrows(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "[{\"name\":\"mm\",\"ph\":\"X\",\"ts\":100,\"dur\":134.5,\"tid\":1,\"pid\":\"CPU "
        "functions\"},"
        "{\"name\":\"mm\",\"ph\":\"s\",\"ts\":100,\"tid\":1,\"pid\":\"CPU functions\",\"id\":0,"
        "\"cat\":\"cpu_to_cuda\"},"
        "{\"name\":\"mm\",\"ph\":\"f\",\"ts\":110,\"tid\":1,\"pid\":\"CUDA functions\",\"id\":0,"
        "\"cat\":\"cpu_to_cuda\"},"
        "{\"name\":\"mm\",\"ph\":\"X\",\"ts\":110,\"dur\":1000,\"tid\":1,\"pid\":\"CUDA "
        "functions\"}]");
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.device[0], 1);
    assert_int_equal(trace->ops.launch[0] - trace->ops.start[0], -10000);
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->threads.count, 1);
    nvt_trace_free(trace);
}

static void other_lanes_are_of_the_host(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        kit_read_text("t.json", "[" PROCESS(1, "my stream: fast") THREAD(1, 2, "Stream 2")
                                    EVENT(1, 2, "work", 0, 10, "") END);
    assert_int_equal(trace->ops.count, 0);
    assert_int_equal(trace->ranges.count, 1);
    nvt_trace_free(trace);
}

/* Of the process, of the thread, or of both: also where something has to be repaired, and where the file has facts once. */
static void names_may_come_behind(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"A\"}],\"traceEvents\":[" EVENT(
            1, 2, "work", 0, 10, "") EVENT(9, 20, "fusion", 50, 100, "") PROCESS(9, "/device:GPU:3")
            THREAD(9, 20, "Stream #20") END "}",
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"A\"}],\"traceEvents\":[" EVENT(
            1, 2, "work", 0, 10, "") PROCESS(9, "/device:GPU:3") EVENT(9, 20, "fusion", 50, 100, "")
            THREAD(9, 20, "Stream #20") END "}",
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"A\"}],\"traceEvents\":[" EVENT(
            1, 2, "work", 0, 10, "\"x\":inf") THREAD(9, 20, "Stream #20")
            EVENT(9, 20, "fusion", 50, 100, "") PROCESS(9, "/device:GPU:3") END "}"};
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++) {
        struct nvt_trace *trace = kit_read_text("t.json", texts[i]);
        assert_int_equal(trace->ranges.count, 1);
        assert_int_equal(trace->ops.count, 1);
        assert_int_equal(trace->ops.device[0], 3);
        assert_int_equal(trace->ops.stream[0], 20);
        assert_int_equal(trace->devices.count, 1);
        assert_int_equal(trace->notes && strstr(trace->notes, "repaired"), i == 2);
        nvt_trace_free(trace);
    }
}

#define ROCPROF_LANE(pid, name)                                                                    \
    ",{\"args\":{\"name\":\"" name "\"},\"ph\":\"M\",\"pid\":" pid ",\"name\":\"process_name\"}\n"
#define ROCPROF(name, lane, ts, dur, begin, end, more)                                             \
    ",{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":\"" lane "\",\"tid\":\"3\",\"ts\":\"" ts         \
    "\",\"dur\":\"" dur "\",\"args\":{\"BeginNs\":\"" begin "\",\"EndNs\":\"" end                  \
    "\",\"pid\":\"77\",\"tid\":\"78\"" more "}}\n"

#define ROCPROF_ARROW(id, from, tid, ts, to, stream, begins)                                       \
    ",{\"ts\":" ts ",\"ph\":\"s\",\"cat\":\"DataFlow\",\"id\":" id ",\"pid\":" from                \
    ",\"tid\":" tid ",\"name\":\"dep\"}\n"                                                         \
    ",{\"ts\":" begins ",\"ph\":\"t\",\"cat\":\"DataFlow\",\"id\":" id ",\"pid\":" to              \
    ",\"tid\":" stream ",\"name\":\"dep\"}\n"

/* rocprof's lanes are no processes, and its times are whole microseconds but for those in args. */
static void rocprof_has_devices(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read_text(
        "t.json",
        "{ \"traceEvents\":[{}\n" ROCPROF_LANE("0", "Markers and Ranges") ROCPROF_LANE(
            "2", "CPU HIP API") ROCPROF_LANE("3", "CPU HSA API") ROCPROF_LANE("1", "COPY")
            ROCPROF_LANE("6", "GPU0") ROCPROF_LANE("7", "GPU1") ROCPROF_LANE("519", "GPU Barriers1")
                ROCPROF("step", "0", "5", "95", "5000", "100250",
                        "") ROCPROF("hipLaunchKernel", "2", "10", "5", "10250", "15500", "")
                    ROCPROF("hsa_queue_create", "3", "17", "1", "17000", "18000", "")
                        ROCPROF("k(int)", "7", "20", "6", "20100", "26700", ",\"dev-id\":\"1\"")
                            ROCPROF("CopyHostToDevice", "1", "30", "4", "30000", "34000",
                                    ",\"dev-id\":\"1\"") ROCPROF("<barrier packet>", "519", "40",
                                                                 "1", "40000", "41000", "") "]}");
    const struct nvt_ops *ops = &trace->ops;
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 77);
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->ranges.end[0] - trace->ranges.start[0], 95250);
    assert_int_equal(trace->apis.count, 2);
    assert_int_equal(trace->apis.class[0], NVT_API_RUNTIME);
    assert_int_equal(trace->apis.end[0] - trace->apis.start[0], 5250);
    assert_int_equal(trace->apis.class[1], NVT_API_DRIVER);
    assert_int_equal(ops->count, 2);
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "k");
    assert_int_equal(ops->end[0] - ops->start[0], 6600);
    assert_int_equal(ops->start[0] - trace->apis.start[0], 9850);
    assert_int_equal(ops->device[0], 1);
    assert_int_equal(ops->stream[0], 3);
    assert_int_equal(ops->kind[1], NVT_OP_MEMCPY);
    assert_int_equal(ops->device[1], 1);
    assert_string_equal(nvt_name(trace, ops->name[1]), "[HIP memcpy Host-to-Device]");
    assert_non_null(strstr(trace->notes, "barrier packets of the GPU are not read (1)"));
    assert_int_equal(ops->api[0], NVT_NONE);
    nvt_trace_free(trace);
}

static struct nvt_trace *read_arrows(const char *arrows)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s]}",
             "{\"traceEvents\":[{}\n" ROCPROF_LANE("2", "CPU HIP API") ROCPROF_LANE("1", "COPY")
                 ROCPROF_LANE("6", "GPU0") ROCPROF("hipMalloc", "2", "8", "2", "8000", "10200", "")
                     ROCPROF("hipLaunchKernel", "2", "10", "5", "10250", "15999", "")
                         ROCPROF("hipMemcpy", "2", "16", "30", "16100", "46100", "")
                             ROCPROF("a", "6", "20", "1", "20100", "20500", "")
                                 ROCPROF("b", "6", "20", "1", "20600", "20900", "")
                                     ROCPROF("CopyHostToDevice", "1", "30", "4", "30000", "34000",
                                             ",\"dev-id\":\"0\""),
             arrows);
    return kit_read_text("t.json", text);
}

static const char *launch_of(const struct nvt_trace *trace, uint32_t op)
{
    const uint32_t call = trace->ops.api[op];
    return call == NVT_NONE ? "" : nvt_name(trace, trace->apis.name[call]);
}

/* They come from where a call ends, by either rounding, or from within one that an operation did not wait for. */
static void rocprof_has_arrows(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        read_arrows(ROCPROF_ARROW("7", "2", "3", "15", "6", "0", "20")
                        ROCPROF_ARROW("8", "2", "3", "30", "1", "0", "30")
                            ROCPROF_ARROW("9", "2", "3", "90", "6", "0", "91"));
    assert_string_equal(launch_of(trace, 0), "hipLaunchKernel");
    assert_string_equal(launch_of(trace, 1), "");
    assert_string_equal(launch_of(trace, 2), "hipMemcpy");
    assert_int_equal(trace->ops.launch[0] - trace->ops.start[0], -9850);
    assert_non_null(strstr(trace->notes, "to no operation, are not followed (1)"));
    nvt_trace_free(trace);
    /* Two operations that begin in the same microsecond are launched by a call each. */
    trace = read_arrows(ROCPROF_ARROW("1", "2", "3", "10", "6", "3", "20")
                            ROCPROF_ARROW("2", "2", "3", "15", "6", "3", "20"));
    assert_string_equal(launch_of(trace, 0), "hipMalloc");
    assert_string_equal(launch_of(trace, 1), "hipLaunchKernel");
    assert_null(trace->notes);
    nvt_trace_free(trace);
    /* Of another program they are a kind of event that is not read. */
    trace =
        kit_read_text("t.json", "[{}" ROCPROF_ARROW("1", "2", "3", "10", "6", "3",
                                                    "20") "," EVENT(1, 2, "work", 0, 10, "") END);
    assert_non_null(strstr(trace->notes, "flows (2)"));
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rocprof_has_devices),
        cmocka_unit_test(rocprof_has_arrows),
        cmocka_unit_test(xla_has_streams_and_derived_lanes),
        cmocka_unit_test(streams_are_counted_once),
        cmocka_unit_test(ascend_has_streams),
        cmocka_unit_test(the_old_profiler_has_arrows),
        cmocka_unit_test(other_lanes_are_of_the_host),
        cmocka_unit_test(names_may_come_behind),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
