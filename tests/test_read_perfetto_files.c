/*
 * Perfetto's traces, written here field by field in the way that rocprofv3 and PyTorch's Kineto do: counters, arrows,
 * stages of GPUs; and what is cut or damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "../lib/proto_put.h"
#include "cli.h"
#include "perfetto_kit.h"
#include "read_kit.h"

static void annotate(const char *name, uint64_t value)
{
    nvt_proto_text(&perfetto_inner, 10, name);
    nvt_proto_number(&perfetto_inner, 3, value);
    nvt_proto_message(&perfetto_message, 4, &perfetto_inner);
}

static void annotate_text(const char *name, const char *text)
{
    nvt_proto_text(&perfetto_inner, 10, name);
    nvt_proto_text(&perfetto_inner, 6, text);
    nvt_proto_message(&perfetto_message, 4, &perfetto_inner);
}

/* --- counters --- */

static void counters_have_units(void **state)
{
    (void)state;
    nvt_proto_number(&perfetto_message, 1, 5);
    nvt_proto_text(&perfetto_message, 2, "copied");
    nvt_proto_number(&perfetto_inner, 3, 3);
    nvt_proto_number(&perfetto_inner, 4, 1024);
    nvt_proto_number(&perfetto_inner, 5, 1);
    nvt_proto_message(&perfetto_message, 8, &perfetto_inner);
    nvt_proto_message(&perfetto_packet, 60, &perfetto_message);
    perfetto_put_packet(1);
    for (uint64_t i = 1; i <= 2; i++) {
        nvt_proto_number(&perfetto_message, 30, 2);
        perfetto_put_event(100 * i, COUNTER, 5, NULL, NULL);
    }
    nvt_proto_double(&perfetto_message, 44, 0.5);
    perfetto_put_event(300, COUNTER, 6, NULL, "load");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->counters.count, 2);
    assert_string_equal(nvt_name(trace, trace->counters.name[0]), "copied");
    assert_string_equal(nvt_name(trace, trace->counters.unit[0]), "bytes");
    static const double values[] = {2048, 4096, 0.5};
    assert_int_equal(trace->counter_samples.count, NVT_COUNT_OF(values));
    for (uint32_t i = 0; i < NVT_COUNT_OF(values); i++)
        assert_true(trace->counter_samples.value[i] == values[i]);
    nvt_trace_free(trace);
}

/* --- devices --- */

static void rocprof_has_devices(void **state)
{
    (void)state;
    perfetto_put_track(1, 0, 77, 0, "program");
    perfetto_put_track(3, 1, 0, 0, "THREAD 1 (78)");
    perfetto_put_track(4, 1, 0, 0, "COMPUTE AGENT [4] QUEUE [0] GPU");
    annotate("corr_id", 5);
    perfetto_put_slice(1000, 1500, 3, "hip_api", "hipLaunchKernel");
    annotate("corr_id", 6);
    perfetto_put_slice(1600, 4000, 3, "hip_api", "hipMemcpy");
    perfetto_put_slice(900, 5000, 3, "marker_api", "step");
    annotate_text("src_agent", "Agent-0");
    annotate_text("dst_agent", "Agent-4");
    annotate("copy_bytes", 4096);
    annotate("corr_id", 6);
    annotate("stream_ID", 1);
    perfetto_put_slice(2500, 3000, 4, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE");
    annotate_text("agent", "Agent-4");
    annotate("corr_id", 5);
    annotate("stream_ID", 1);
    annotate("workgroup_size", 256);
    annotate("grid_size", 65536);
    perfetto_put_slice(1700, 2300, 4, "kernel_dispatch", "void gemm<float>(float*)");
    struct nvt_trace *trace = perfetto_read_file();
    const struct nvt_ops *ops = &trace->ops;
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->kind[0], NVT_OP_KERNEL);
    assert_int_equal(ops->end[0] - ops->start[0], 600);
    assert_int_equal(ops->device[0], 4);
    assert_int_equal(ops->stream[0], 1);
    assert_int_equal(trace->kernels.grid_x[ops->detail[0]], 256);
    assert_int_equal(trace->kernels.block_x[ops->detail[0]], 256);
    assert_int_equal(ops->kind[1], NVT_OP_MEMCPY);
    assert_int_equal(ops->copy_kind[1], 1);
    assert_int_equal(ops->bytes[1], 4096);
    assert_int_equal(ops->device[1], 4);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ops->api[i], i);
        assert_int_equal(trace->threads.tid[ops->thread[i]], 78);
    }
    assert_int_equal(trace->apis.count, 2);
    perfetto_assert_span(trace, "step", 900, 5000);
    assert_int_equal(trace->ranges.domain[0], 0);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    nvt_trace_free(trace);
}

/* PyTorch's: no categories, and its JSON's arguments as a text. */
static void kineto_has_devices(void **state)
{
    (void)state;
    perfetto_put_track(1, 0, 700, 0, "python");
    perfetto_put_track(4, 1, 700, 700, "thread 700");
    perfetto_put_track(5, 0, 1, 7, "stream 7");
    perfetto_put_track(10, 4, 0, 0, "thread 700");
    perfetto_put_track(11, 5, 0, 0, "stream 7");
    perfetto_put_event(50, INSTANT, 1, NULL, "trace_metadata");
    annotate_text("metadata", "\"External id\": 2, \"Input Dims\": [[1, 2], []], \"Ev Idx\": 3");
    perfetto_put_slice(100, 900, 10, NULL, "aten::mm");
    annotate_text("metadata", "\"cbid\": 211, \"correlation\": 55");
    perfetto_put_slice(200, 250, 10, NULL, "cudaLaunchKernel");
    annotate_text("metadata",
                  "\"device\": 1, \"context\": 1, \"stream\": 7, \"correlation\": 55, "
                  "\"registers per thread\": 40, \"grid\": [8, 2, 1], \"block\": [128, 1, 1]");
    perfetto_put_slice(300, 400, 11, NULL, "void gemm(int)");
    annotate_text("metadata", "\"device\": 1, \"stream\": 7, \"bytes\": 64");
    perfetto_put_slice(410, 420, 11, NULL, "Memcpy HtoD (Pageable -> Device)");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->recorder, NVT_BY_PYTORCH);
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_domain_name(trace, trace->ranges.domain[0]), "cpu_op");
    assert_int_equal(trace->marks.count, 0);
    assert_int_equal(trace->apis.count, 1);
    assert_int_equal(trace->ops.count, 2);
    assert_int_equal(trace->ops.device[0], 1);
    assert_int_equal(trace->ops.stream[0], 7);
    assert_int_equal(trace->ops.api[0], 0);
    const uint32_t kernel = trace->ops.detail[0];
    assert_int_equal(trace->kernels.grid_y[kernel], 2);
    assert_int_equal(trace->kernels.block_x[kernel], 128);
    assert_int_equal(trace->kernels.registers[kernel], 40);
    assert_int_equal(trace->ops.bytes[1], 64);
    nvt_trace_free(trace);
}

/* Lanes of other profilers by the names of their tracks, and launches by arrows. */
static void lanes_and_arrows(void **state)
{
    (void)state;
    perfetto_put_track(1, 0, 3, 0, "/device:GPU:2");
    perfetto_put_track(2, 1, 3, 20, "Stream #20(Compute)");
    perfetto_put_track(3, 1, 3, 21, "XLA Ops");
    perfetto_put_track(4, 0, 700, 700, "python");
    nvt_proto_fixed64(&perfetto_message, 47, 99);
    perfetto_put_slice(100, 200, 4, NULL, "launch");
    nvt_proto_fixed64(&perfetto_message, 48, 99);
    perfetto_put_slice(300, 400, 2, NULL, "fusion");
    perfetto_put_slice(300, 400, 3, NULL, "fusion");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.device[0], 2);
    assert_int_equal(trace->ops.stream[0], 20);
    assert_int_equal(trace->ops.launch[0], 100);
    assert_int_equal(trace->threads.tid[trace->ops.thread[0]], 700);
    assert_int_equal(trace->ranges.count, 1);
    nvt_trace_free(trace);
}

static void stages_of_gpus_are_operations(void **state)
{
    (void)state;
    nvt_proto_number(&perfetto_message, 1, 3);
    nvt_proto_text(&perfetto_message, 2, "compute");
    nvt_proto_message(&perfetto_inner, 24, &perfetto_message);
    nvt_proto_number(&perfetto_message, 1, 4);
    nvt_proto_number(&perfetto_message, 2, 700);
    nvt_proto_number(&perfetto_message, 3, 5);
    nvt_proto_message(&perfetto_inner, 23, &perfetto_message);
    nvt_proto_message(&perfetto_packet, 12, &perfetto_inner);
    nvt_proto_number(&perfetto_packet, 13, 1);
    perfetto_at(1000);
    nvt_proto_number(&perfetto_message, 2, 500);
    nvt_proto_number(&perfetto_message, 5, 4);
    nvt_proto_number(&perfetto_message, 11, 1);
    nvt_proto_number(&perfetto_message, 13, 3);
    nvt_proto_number(&perfetto_message, 14, 3);
    nvt_proto_message(&perfetto_packet, 53, &perfetto_message);
    perfetto_put_packet(1);
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->ops.count, 1);
    assert_int_equal(trace->ops.end[0], 1500);
    assert_int_equal(trace->ops.device[0], 1);
    assert_string_equal(nvt_name(trace, trace->ops.name[0]), "compute");
    assert_int_equal(trace->processes.pid[trace->ops.process[0]], 700);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    nvt_trace_free(trace);
}

/* --- files --- */

static void put_some(void)
{
    perfetto_put_track(2, 0, 77, 78, "worker");
    for (uint64_t i = 0; i < 20; i++)
        perfetto_put_slice(100 * i, 100 * i + 50, 2, "app", "slice");
}

static void a_cut_file_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    put_some();
    perfetto_file.size -= 5;
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->ranges.count, 20);
    assert_int_equal(trace->ranges.flags[19], NVT_RANGE_UNCLOSED);
    assert_non_null(strstr(trace->warning, "ends in the middle"));
    assert_true(trace->is_truncated);
    nvt_trace_free(trace);
}

#ifdef HAVE_ZLIB
static void compressed_files_and_packets(void **state)
{
    (void)state;
    put_some();
    const char *path = cli_in(cli_folder, "t.pftrace.gz");
    gzFile out = gzopen(path, "wb");
    assert_int_equal(gzwrite(out, perfetto_file.data, (unsigned)perfetto_file.size),
                     (int)perfetto_file.size);
    assert_int_equal(gzclose(out), Z_OK);
    struct nvt_trace *trace = kit_read(path);
    assert_int_equal(trace->ranges.count, 20);
    nvt_trace_free(trace);
    uLongf size = compressBound(perfetto_file.size);
    uint8_t *packed = malloc(size);
    assert_int_equal(compress(packed, &size, perfetto_file.data, perfetto_file.size), Z_OK);
    perfetto_file.size = 0;
    nvt_proto_bytes(&perfetto_packet, 50, packed, size);
    perfetto_put_packet(1);
    free(packed);
    trace = perfetto_read_file();
    assert_int_equal(trace->ranges.count, 20);
    nvt_trace_free(trace);
}

/* 300 MB of nothing in 300 KB. */
static void bombs_are_refused(void **state)
{
    (void)state;
    const size_t whole = 300 << 20;
    const char *path = cli_in(cli_folder, "bomb.pftrace.gz");
    put_some();
    gzFile out = gzopen(path, "wb9");
    gzwrite(out, perfetto_file.data, (unsigned)perfetto_file.size);
    perfetto_file.size = 0;
    uint8_t head[16] = {0x0a};
    gzwrite(out, head, (unsigned)(nvt_varint_put(head + 1, whole) - head));
    uint8_t *zeros = calloc(1, 1 << 20);
    for (size_t i = 0; i < whole >> 20; i++)
        gzwrite(out, zeros, 1 << 20);
    free(zeros);
    assert_int_equal(gzclose(out), Z_OK);
    kit_expect_unreadable(path, "grows more than 100-fold");
}

#endif
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "whole.pftrace");
    perfetto_put_track(1, 0, 77, 0, "program");
    put_some();
    annotate_text("metadata", "\"device\": 1, \"stream\": 7, \"grid\": [1, 2, 3]");
    perfetto_put_slice(5000, 5100, 2, NULL, "kernel");
    cli_write_file(path, (const char *)perfetto_file.data, perfetto_file.size);
    kit_survives_changed_bytes(path, "changed.pftrace", 300);
}

static void others_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"\n", "\nHello", "\n\n\n", "\n\4\xff\xff\xff\xff"};
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++)
        assert_false(nvt_reader_perfetto.recognizes((const uint8_t *)texts[i], strlen(texts[i])));
    /* XLA's: the first field of a plane is its number. */
    assert_false(
        nvt_reader_perfetto.recognizes((const uint8_t *)"\n\x0c\x08\1\x12\x08/host:CP", 14));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PERFETTO_TEST(counters_have_units),
        PERFETTO_TEST(rocprof_has_devices),
        PERFETTO_TEST(kineto_has_devices),
        PERFETTO_TEST(lanes_and_arrows),
        PERFETTO_TEST(stages_of_gpus_are_operations),
        PERFETTO_TEST(a_cut_file_is_read_as_far_as_it_goes),
#ifdef HAVE_ZLIB
        PERFETTO_TEST(compressed_files_and_packets),
        PERFETTO_TEST(bombs_are_refused),
#endif
        PERFETTO_TEST(changed_bytes_do_no_harm),
        PERFETTO_TEST(others_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
