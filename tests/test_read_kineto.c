/*
 * The reader of Kineto's traces, over texts written here as PyTorch writes them, compressed and damaged ones among
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "kineto_kit.h"
#include "read_kit.h"

/* What PyTorch 2 writes for a step with a copy, a kernel and an allocation, cut down. */
static const char pytorch[] =
    "{\n\"schemaVersion\": 1,\n"
    "\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\", \"totalGlobalMem\": 85000000000,"
    " \"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132}, {\"id\": 1, \"name\": \"NVIDIA "
    "H100\"}],\n"
    "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8},\n"
    "\"baseTimeNanoseconds\": 1712000000000000000, \"displayTimeUnit\": \"ms\",\n"
    "\"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 77,"
    " \"tid\": 77, \"ts\": 100.123, \"dur\": 50.5, \"args\": {\"External id\": 1}},\n"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 77, \"tid\": 77,"
    " \"ts\": 101.000, \"dur\": 10.000, \"args\": {\"External id\": 5,"
    " \"Input Dims\": [[2, 3], [3, 4]], \"Concrete Inputs\": [\"\", \"\"]}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 77,"
    " \"tid\": 77, \"ts\": 105.001, \"dur\": 2.5, \"args\": {\"External id\": 5, \"cbid\": 211,"
    " \"correlation\": 9}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernel\", \"pid\": 77,"
    " \"tid\": 78, \"ts\": 106, \"dur\": 1, \"args\": {\"correlation\": 10}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void gemm<float>(float*)\", \"pid\": 1,"
    " \"tid\": 7, \"ts\": 120.5, \"dur\": 3.25, \"args\": {\"External id\": 5, \"queued\": 0,"
    " \"device\": 1, \"context\": 2, \"stream\": 7, \"correlation\": 9,"
    " \"registers per thread\": 40, \"shared memory\": 1024, \"grid\": [2, 3, 4],"
    " \"block\": [32, 1, 1]}},\n"
    "{\"ph\": \"s\", \"id\": 9, \"pid\": 77, \"tid\": 77, \"ts\": 105.001, \"cat\": \"ac2g\","
    " \"name\": \"ac2g\"},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy DtoH (Device -> Pinned)\","
    " \"pid\": 0, \"tid\": 8, \"ts\": 130, \"dur\": 1, \"args\": {\"device\": 0, \"stream\": 8,"
    " \"correlation\": 11, \"bytes\": 4096}},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_memset\", \"name\": \"Memset (Device)\", \"pid\": 0,"
    " \"tid\": 8, \"ts\": 140, \"dur\": 1, \"args\": {\"bytes\": 64}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Sync\", \"pid\": 0, \"tid\": 8,"
    " \"ts\": 131, \"dur\": 2, \"args\": {\"correlation\": 10, \"wait_on_stream\": -1,"
    " \"wait_on_cuda_event_record_corr_id\": -1}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"pid\": 0, \"tid\": "
    "8,"
    " \"ts\": 132, \"dur\": 2, \"args\": {\"correlation\": 10, \"stream\": 8, \"wait_on_stream\": "
    "20,"
    " \"wait_on_cuda_event_record_corr_id\": 9, \"wait_on_cuda_event_id\": 4}},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 0,"
    " \"tid\": 7, \"ts\": 120.5, \"dur\": 30},\n"
    "{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\","
    " \"pid\": 77, \"tid\": 77, \"ts\": 102, \"args\": {\"Addr\": 140000, \"Bytes\": 512,"
    " \"Device Type\": 1, \"Device Id\": 1, \"Total Allocated\": 512, \"Total Reserved\": "
    "2097152}},\n"
    "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 77, \"tid\": 77, \"ts\": 103,"
    " \"args\": {\"Addr\": 1, \"Bytes\": -64, \"Device Type\": 0, \"Device Id\": -1,"
    " \"Total Allocated\": 0}},\n"
    "{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", \"pid\": \"Spans\","
    " \"tid\": \"PyTorch Profiler\", \"ts\": 1, \"dur\": 1000},\n"
    "{\"ph\": \"i\", \"s\": \"g\", \"name\": \"Iteration Start: PyTorch Profiler\", \"pid\": "
    "\"Traces\","
    " \"tid\": \"Trace PyTorch Profiler\", \"ts\": 1},\n"
    "{\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": \"\","
    " \"ts\": 5000},\n"
    "{\"ph\": \"X\", \"cat\": \"overhead\", \"name\": \"Activity Buffer Request\", \"pid\": -1, "
    "\"tid\": 0,"
    " \"ts\": 99, \"dur\": 1},\n"
    "{\"ph\": \"X\", \"cat\": \"overhead\", \"name\": \"Buffer Flush\", \"pid\": 77, \"tid\": 77,"
    " \"ts\": 150, \"dur\": 1},\n"
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 77, \"tid\": 0, \"ts\": 1,"
    " \"args\": {\"name\": \"python\"}},\n"
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 77, \"tid\": 78, \"ts\": 1,"
    " \"args\": {\"name\": \"backward\"}},\n"
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 0, \"tid\": 8, \"ts\": 1,"
    " \"args\": {\"name\": \"stream 8\"}}\n"
    "], \"traceName\": \"/tmp/trace.json\"}\n";

/* Memory, and what the profiler did itself. */
static void check_pytorch_rest(const struct nvt_trace *trace)
{
    assert_int_equal(trace->memory.count, 2);
    assert_int_equal(trace->memory.device[0], 1);
    assert_int_equal(trace->memory.reserved[0], 2097152);
    assert_int_equal(trace->memory.device[1], NVT_NONE);
    assert_int_equal(trace->memory.kind[1], NVT_MEMORY_FREE);
    assert_int_equal(trace->memory.bytes[1], 64);
    assert_true(trace->memory.reserved[1] == UINT64_MAX);
    assert_int_equal(trace->overheads.count, 2);
    assert_int_equal(trace->overheads.process[0], 0);
    assert_int_equal(trace->overheads.thread[0], NVT_NONE);
    assert_int_equal(trace->overheads.thread[1], 0);
    assert_int_equal(trace->marks.count, 2);
    assert_string_equal(nvt_name(trace, trace->marks.name[1]), "Record Window End");
    assert_int_equal(trace->marks.thread[1], 0);
    assert_int_equal(trace->last_ns, 5000000);
}

static void check_pytorch(const struct nvt_trace *trace)
{
    const struct nvt_ops *ops = &trace->ops;
    assert_string_equal(trace->format, "kineto");
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 77);
    assert_int_equal(trace->processes.rank[0], 3);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "python");
    assert_int_equal(trace->threads.count, 2);
    assert_string_equal(nvt_name(trace, trace->threads.name[1]), "backward");
    assert_true(trace->origin_ns == INT64_C(1712000000000000000));

    assert_int_equal(trace->ranges.count, 2);
    assert_int_equal(trace->ranges.start[0], 100123);
    assert_int_equal(trace->ranges.end[0], 150623);
    assert_int_equal(trace->ranges.domain[0], 0);
    assert_string_equal(nvt_name(trace, trace->domains.name[trace->ranges.domain[1]]), "cpu_op");

    assert_int_equal(trace->apis.count, 2);
    assert_int_equal(trace->apis.class[1], NVT_API_DRIVER);
    assert_int_equal(ops->count, 3);
    assert_string_equal(nvt_name(trace, ops->short_name[0]), "gemm");
    assert_int_equal(ops->start[0], 120500);
    assert_int_equal(ops->end[0], 123750);
    assert_int_equal(ops->device[0], 1);
    assert_int_equal(ops->context[0], 2);
    assert_int_equal(ops->stream[0], 7);
    assert_int_equal(ops->launch[0], 105001);
    assert_int_equal(trace->kernels.grid_z[ops->detail[0]], 4);
    assert_int_equal(trace->kernels.block_x[ops->detail[0]], 32);
    assert_int_equal(trace->kernels.registers[ops->detail[0]], 40);
    assert_int_equal(trace->kernels.static_shared[ops->detail[0]], 1024);
    assert_string_equal(nvt_name(trace, ops->name[1]), "[CUDA memcpy Device-to-Host]");
    assert_int_equal(ops->source_kind[1], NVT_KIND_DEVICE);
    assert_int_equal(ops->target_kind[1], NVT_KIND_PINNED);
    assert_int_equal(ops->bytes[1], 4096);
    assert_int_equal(ops->process[1], 0);
    assert_string_equal(nvt_name(trace, ops->name[2]), "[CUDA memset]");
    assert_int_equal(trace->syncs.type[0], NVT_SYNC_STREAM);
    assert_int_equal(trace->syncs.recorded[0], 0);
    assert_int_equal(trace->syncs.type[1], NVT_SYNC_WAIT_EVENT);
    assert_int_equal(trace->syncs.recorded[1], 9);
    assert_int_equal(trace->syncs.recorded_stream[1], 20);

    check_pytorch_rest(trace);
    assert_int_equal(trace->devices.count, 2);
    assert_int_equal(trace->devices.multiprocessors[0], 132);
    assert_int_equal(trace->devices.capability[0], 90);
    assert_int_equal(trace->devices.capability[1], 0);
    assert_string_equal(nvt_trace_meta(trace, "device"), "NVIDIA H100");
    assert_string_equal(nvt_trace_meta(trace, "world_size"), "8");
    assert_string_equal(nvt_trace_meta(trace, "date"), "2024-04-01T19:33:20Z");
}

static void reads_what_pytorch_writes(void **state)
{
    (void)state;
    struct nvt_trace *trace = kineto_read_text(pytorch);
    check_pytorch(trace);
    nvt_trace_free(trace);
}

/* What PyTorch 1.8 to 1.12 wrote: other categories, annotations among the operators, threads as
 * texts and as numbers, streams as threads. */
static const char old_pytorch[] =
    "{\"schemaVersion\": 1, \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"ProfilerStep#5\", \"pid\": 77,"
    " \"tid\": \"78\", \"ts\": 100, \"dur\": 50, \"args\": {\"External id\": 1}},\n"
    "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"aten::mm\", \"pid\": 77, \"tid\": \"78\","
    " \"ts\": 101, \"dur\": 10, \"args\": {\"External id\": 2}},\n"
    "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"MmBackward\", \"pid\": 77, \"tid\": \"78\","
    " \"ts\": 112, \"dur\": 5, \"args\": {\"External id\": 3}},\n"
    "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 77, \"tid\": 78, \"ts\": 102,"
    " \"args\": {\"Device Type\": 0, \"Device Id\": -1, \"Bytes\": 4}},\n"
    "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 77,"
    " \"tid\": \"78\", \"ts\": 103, \"dur\": 5, \"args\": {\"cbid\": 211, \"correlation\": 9,"
    " \"external id\": 2}},\n"
    "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"volta_sgemm\", \"pid\": 0,"
    " \"tid\": \"stream 7\", \"ts\": 110, \"dur\": 3, \"args\": {\"device\": 0, \"context\": 1,"
    " \"stream\": 7, \"correlation\": 9, \"grid\": [2, 1, 1], \"block\": [128, 1, 1]}},\n"
    "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"Memcpy HtoD (Pageable -> Device)\", \"pid\": "
    "0,"
    " \"tid\": \"stream 7\", \"ts\": 114, \"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7,"
    " \"correlation\": 10, \"bytes\": 640}},\n"
    "{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"Memset (Device)\", \"pid\": 0,"
    " \"tid\": \"stream 7\", \"ts\": 116, \"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7,"
    " \"correlation\": 11, \"bytes\": 128}},\n"
    "{\"ph\": \"X\", \"cat\": \"Trace\", \"ts\": 99, \"dur\": 60, \"pid\": \"Traces\","
    " \"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\"}\n]}";

static void reads_what_old_pytorch_wrote(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {NVT_OP_KERNEL, NVT_OP_MEMCPY, NVT_OP_MEMSET};
    static const char *const domains[] = {"", "cpu_op", "cpu_op"};
    struct nvt_trace *trace = kineto_read_text(old_pytorch);
    assert_int_equal(trace->ops.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(trace->ops.kind[i], kinds[i]);
        assert_int_equal(trace->ops.stream[i], 7);
    }
    assert_int_equal(trace->apis.count, 1);
    assert_int_equal(trace->ops.api[0], 0);
    assert_int_equal(trace->ops.source_kind[1], NVT_KIND_PAGEABLE);
    assert_int_equal(trace->ranges.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(nvt_name(trace, trace->domains.name[trace->ranges.domain[i]]),
                            domains[i]);
    /* All of the program's events are of one thread. */
    assert_int_equal(trace->threads.tid[trace->ranges.thread[0]], 78);
    assert_int_equal(trace->apis.thread[0], trace->ranges.thread[0]);
    assert_int_equal(trace->memory.count, 1);
    assert_int_equal(trace->memory.thread[0], trace->ranges.thread[0]);
    nvt_trace_free(trace);
}

/* Of two processes: an allocation of the host, one of memory that processes share, whose total PyTorch gives as 0, and so on. */
static void adds_shared_memory_to_what_the_host_has(void **state)
{
    (void)state;
    static const struct {
        int pid, address, bytes, said, allocated;
    } events[] = {{1, 10, 100, 1100, 1100}, {1, 20, 64, 0, 1164},   {2, 20, 8, 8, 8},
                  {1, 30, 50, 1150, 1214},  {2, 20, -8, 0, 0},      {1, 20, -64, 0, 1150},
                  {1, 20, 4, 1154, 1154},   {1, 20, -4, 1150, 1150}};
    char text[4096] = "[";
    size_t count = NVT_COUNT_OF(events);
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "%s{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":%d,\"tid\":1,\"ts\":%zu,\"args\":"
                 "{\"Addr\":%d,\"Bytes\":%d,\"Device Type\":0,\"Device Id\":-1,"
                 "\"Total Allocated\":%d,\"Total Reserved\":%d}}%s",
                 i ? "," : "", events[i].pid, i, events[i].address, events[i].bytes, events[i].said,
                 events[i].said ? 0 : 64, i + 1 < count ? "" : "]");
    struct nvt_trace *trace = kineto_read_text(text);
    assert_int_equal(trace->memory.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(trace->memory.allocated[i], events[i].allocated);
    nvt_trace_free(trace);
}

#ifdef HAVE_ZLIB
static const char *compress_file(const void *data, size_t size)
{
    const char *path = cli_in(cli_folder, "t.json.gz");
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

static const struct stack_event {
    const char *category, *name;
    int thread;
    double start, length; /* us */
} stack_events[] = {
    {"cuda_runtime", "cudaMalloc", 7, 12, 1},
    {"cuda_runtime", "cudaFree", 7, 31, 2},
    {"cuda_runtime", "cudaLaunchKernel", 8, 13, 1},
    {"cuda_runtime", "cudaEventQuery", 7, 95, 1},
    {"python_function", "torch/nn/modules/module.py(1783): _call_impl", 7, 11, 5},
    {"python_function", "train.py(12): step", 7, 10, 20},
    {"python_function", "<built-in method x(1): y>", 7, 11.5, 4},
    {"python_function", "nn.Module: Linear_0", 7, 11.2, 4.5},
    {"python_function", "/home/me/train.py(80): <module>", 7, 0, 90},
    {"python_function", "model.py(3): f(x): g", 7, 30, 5},
    {"python_function", "never.py(3): called", 7, 96, 5},
    {"cpu_op", "other.py(1): no", 7, 11, 9},
};

/* Events in no order: calls before the functions that they are in, functions before what they are called by. Functions of
 * PyTorch's and what is built in are no part of stacks, nor is what is on another thread, or over. */
static void calls_have_stacks_where_functions_are_on_record(void **state)
{
    static const char *const expected[] = {"step (train.py:12)", "", "f(x): g (model.py:3)", ""};
    char text[4096] = "[";
    size_t count = NVT_COUNT_OF(stack_events);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct stack_event *event = &stack_events[i];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used,
                 "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":7,\"tid\":%d,\"ts\":%g,"
                 "\"dur\":%g}%s",
                 i ? "," : "", event->category, event->name, event->thread, event->start,
                 event->length, i + 1 == count ? "]" : "");
    }
    struct nvt_trace *trace = kineto_read_text(text);
    const struct nvt_call_frames *frames = &trace->call_frames;
    assert_int_equal(trace->apis.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t frame = trace->apis.frame[i];
        assert_string_equal(frame ? nvt_name(trace, frames->name[frame - 1]) : "", expected[i]);
        if (frame)
            assert_string_equal(nvt_name(trace, frames->name[frames->parent[frame - 1] - 1]),
                                "<module> (train.py:80)");
    }
    assert_int_equal(frames->count, 3);
    nvt_trace_free(trace);
}

static void reads_it_compressed(void **state)
{
    (void)state;
    struct nvt_trace *trace = kit_read(compress_file(pytorch, sizeof(pytorch) - 1));
    check_pytorch(trace);
    nvt_trace_free(trace);
}

static void names_compression_of_something_else(void **state)
{
    (void)state;
    static const char text[] = "NVT and what follows";
    kit_expect_unreadable(compress_file(text, sizeof(text) - 1),
                          "is gzip of something that is not JSON: unpack it with gunzip first");
}

static void refuses_damaged_compression(void **state)
{
    (void)state;
    size_t size;
    char *data = cli_read_file(compress_file(pytorch, sizeof(pytorch) - 1), &size);
    const char *path = cli_in(cli_folder, "damaged.json.gz");
    cli_write_file(path, data, 40); /* before the first event */
    kit_expect_unreadable(path, "is cut or damaged");
    cli_write_file(path, data, size - 9);
    struct nvt_trace *trace = kit_read(path);
    assert_non_null(strstr(trace->warning, "ends in the middle"));
    nvt_trace_free(trace);
    data[size / 2] ^= 0x55;
    cli_write_file(path, data, size);
    struct nvt_error err = NVT_ERROR_INIT;
    assert_null(nvt_trace_read(path, &err));
    free(data);
}

/* Events that are all alike grow more than 300-fold. */
static void refuses_a_bomb(void **state)
{
    (void)state;
    static const char event[] = "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1},\n";
    const char *path = cli_in(cli_folder, "bomb.json.gz");
    size_t length = sizeof(event) - 1, count = 4096;
    char *block = malloc(length * count);
    assert_non_null(block);
    for (size_t i = 0; i < count; i++)
        memcpy(block + i * length, event, length);
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    gzputs(file, "[");
    for (int i = 0; i < 300; i++)
        gzwrite(file, block, (unsigned)(length * count));
    gzclose(file);
    free(block);
    kit_expect_unreadable(path, "grows more than");
}

#endif
/* A prefix of a trace is an error up to its first whole event, from there on it is read with a
 * warning; hardly any changed byte is a crash. */
static void survives_cuts_and_changes(void **state)
{
    (void)state;
    size_t size = strlen(pytorch), read = 0;
    char *text = strdup(pytorch);
    assert_non_null(text);
    for (size_t length = 2; length < size - 2; length += 7) {
        struct nvt_error err = NVT_ERROR_INIT;
        cli_write_file(cli_in(cli_folder, "c.json"), text, length);
        struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "c.json"), &err);
        read += trace != NULL;
        assert_true(trace || (!read && *err.message));
        assert_true(!trace || trace->warning);
        nvt_trace_free(trace);
    }
    assert_true(read > 10);
    for (size_t at = 0; at < size; at += 3) {
        struct nvt_error err = NVT_ERROR_INIT;
        text[at] ^= 0x11;
        cli_write_file(cli_in(cli_folder, "c.json"), text, size);
        text[at] ^= 0x11;
        struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "c.json"), &err);
        assert_true(trace || *err.message);
        nvt_trace_free(trace);
    }
    free(text);
}

static void takes_one_file_a_rank(void **state)
{
    (void)state;
    char second[64 + sizeof(pytorch)];
    const char *first = kineto_make_file(pytorch), *other = cli_in(cli_folder, "rank1.json");
    memcpy(second, pytorch, sizeof(pytorch));
    strstr(second, "\"rank\": 3")[8] = '1';
    cli_write_file(other, second, strlen(second));
    struct cli_result result = cli_run((const char *const[]){
        cli_built("nvtally"), "stats", "-r", "cuda_gpu_kern_sum", "-f", "csv", first, other, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "100.0,6500,2,"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pytorch_writes),
        cmocka_unit_test(reads_what_old_pytorch_wrote),
        cmocka_unit_test(adds_shared_memory_to_what_the_host_has),
#ifdef HAVE_ZLIB
        cmocka_unit_test(calls_have_stacks_where_functions_are_on_record),
        cmocka_unit_test(reads_it_compressed),
        cmocka_unit_test(names_compression_of_something_else),
        cmocka_unit_test(refuses_damaged_compression),
        cmocka_unit_test(refuses_a_bomb),
#endif
        cmocka_unit_test(survives_cuts_and_changes),
        cmocka_unit_test(takes_one_file_a_rank),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
