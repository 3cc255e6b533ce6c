/*
 * Perfetto's traces, written here field by field in the way that its SDK, rocprofv3 and PyTorch's Kineto do: tracks, interned
 * names, clocks, counters, arrows, stages of GPUs, and what is cut or damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/readers/wire.h"
#include "../lib/count_of.h"
#include "../lib/proto_put.h"
#include "cli.h"
#include "read_kit.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };

/* The file that a test writes, and parts of what comes next. */
static struct nvt_buffer file, packet, message, inner;

static int set_up(void **state)
{
    file.size = packet.size = message.size = inner.size = 0;
    return cli_folder_set_up(state);
}

static int tear_down(void **state)
{
    nvt_buffer_free(&file);
    nvt_buffer_free(&packet);
    nvt_buffer_free(&message);
    nvt_buffer_free(&inner);
    return cli_folder_tear_down(state);
}

/* The packet that was made is the next one of a sequence; another one begins. */
static void put_packet(uint32_t sequence)
{
    nvt_proto_number(&packet, 10, sequence);
    nvt_proto_message(&file, 1, &packet);
}

static void at(uint64_t time)
{
    nvt_proto_number(&packet, 8, time);
}

/* A track with a process (`tid` 0), a thread, or a name alone (`pid` 0). */
static void put_track(uint64_t uuid, uint64_t parent, uint64_t pid, uint64_t tid, const char *name)
{
    nvt_proto_number(&message, 1, uuid);
    if (parent)
        nvt_proto_number(&message, 5, parent);
    if (pid) {
        nvt_proto_number(&inner, 1, pid);
        if (tid)
            nvt_proto_number(&inner, 2, tid);
        nvt_proto_text(&inner, tid ? 5 : 6, name);
        nvt_proto_message(&message, tid ? 4 : 3, &inner);
    } else {
        nvt_proto_text(&message, 2, name);
    }
    nvt_proto_message(&packet, 60, &message);
    put_packet(1);
}

static void annotate(const char *name, uint64_t value)
{
    nvt_proto_text(&inner, 10, name);
    nvt_proto_number(&inner, 3, value);
    nvt_proto_message(&message, 4, &inner);
}

static void annotate_text(const char *name, const char *text)
{
    nvt_proto_text(&inner, 10, name);
    nvt_proto_text(&inner, 6, text);
    nvt_proto_message(&message, 4, &inner);
}

static void put_event(uint64_t time, unsigned type, uint64_t track, const char *category,
                      const char *name)
{
    at(time);
    nvt_proto_number(&message, 9, type);
    nvt_proto_number(&message, 11, track);
    if (category)
        nvt_proto_text(&message, 22, category);
    if (name)
        nvt_proto_text(&message, 23, name);
    nvt_proto_message(&packet, 11, &message);
    put_packet(1);
}

static void put_slice(uint64_t begin, uint64_t end, uint64_t track, const char *category,
                      const char *name)
{
    put_event(begin, BEGIN, track, category, name);
    put_event(end, END, track, NULL, NULL);
}

static struct nvt_trace *read_file(void)
{
    const char *path = cli_in(cli_folder, "t.pftrace");
    cli_write_file(path, (const char *)file.data, file.size);
    return kit_read(path);
}

static uint32_t range_called(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range is called %s", name);
    return 0;
}

static void assert_span(const struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    const uint32_t i = range_called(trace, name);
    assert_int_equal(trace->ranges.start[i], start);
    assert_int_equal(trace->ranges.end[i], end);
}

/* --- slices and tracks --- */

static void slices_nest_on_their_threads(void **state)
{
    (void)state;
    put_track(1, 0, 77, 0, "program");
    put_track(2, 1, 77, 78, "worker");
    put_track(3, 1, 0, 0, "loader");
    put_event(100, BEGIN, 2, "app", "outer");
    put_event(100, BEGIN, 2, NULL, "same");
    put_event(200, END, 2, NULL, NULL);
    put_event(150, INSTANT, 2, NULL, "mark");
    put_event(200, END, 2, NULL, NULL);
    put_slice(300, 400, 3, NULL, "load");
    put_event(500, BEGIN, 2, NULL, "open");
    struct nvt_trace *trace = read_file();
    assert_string_equal(trace->format, "perfetto");
    assert_int_equal(trace->recorder, NVT_BY_OTHERS);
    assert_int_equal(trace->ranges.count, 4);
    assert_span(trace, "outer", 100, 200);
    assert_span(trace, "same", 100, 200);
    assert_span(trace, "load", 300, 400);
    /* The one that was begun first is around the other, although both have the same times. */
    assert_int_equal(trace->ranges.level[range_called(trace, "outer")], 0);
    assert_int_equal(trace->ranges.flags[range_called(trace, "open")], NVT_RANGE_UNCLOSED);
    assert_int_equal(trace->marks.count, 1);
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 77);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "program");
    assert_int_equal(trace->threads.count, 2);
    const uint32_t loader = trace->ranges.thread[range_called(trace, "load")];
    assert_string_equal(nvt_name(trace, trace->threads.name[loader]), "loader");
    nvt_trace_free(trace);
}

/* A track below a thread's: what goes on there began on the thread, and need not nest. */
static void tracks_below_threads_are_asynchronous(void **state)
{
    (void)state;
    put_track(2, 0, 77, 78, "worker");
    put_track(3, 2, 0, 0, "requests");
    put_track(4, 2, 0, 0, "worker"); /* Kineto's: a track for each slice, called as its thread */
    put_event(100, BEGIN, 3, NULL, "request");
    put_slice(110, 120, 4, NULL, "slice");
    put_event(300, END, 3, NULL, NULL);
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->threads.count, 1);
    assert_int_equal(trace->ranges.style[range_called(trace, "request")], NVT_START_END);
    assert_int_equal(trace->ranges.style[range_called(trace, "slice")], NVT_PUSH_POP);
    assert_span(trace, "request", 100, 300);
    nvt_trace_free(trace);
}

static void put_interned(uint32_t kind, uint64_t iid, const char *text)
{
    struct nvt_buffer entry = {0};
    nvt_proto_number(&entry, 1, iid);
    nvt_proto_text(&entry, 2, text);
    nvt_proto_message(&inner, kind, &entry);
    nvt_buffer_free(&entry);
}

static void put_interned_event(uint64_t time, uint64_t name_iid, uint32_t flags, uint32_t sequence)
{
    at(time);
    nvt_proto_number(&message, 9, BEGIN);
    nvt_proto_number(&message, 10, name_iid);
    nvt_proto_number(&message, 3, 9);
    nvt_proto_message(&packet, 11, &message);
    if (inner.size)
        nvt_proto_message(&packet, 12, &inner);
    if (flags)
        nvt_proto_number(&packet, 13, flags);
    put_packet(sequence);
}

/* Names are of their sequence, from when its state began anew; they stand behind the event in its packet. */
static void names_are_of_their_sequence(void **state)
{
    (void)state;
    put_interned(2, 5, "first");
    put_interned(1, 9, "cat");
    put_interned_event(100, 5, 1, 1);
    put_interned(2, 5, "other");
    put_interned(1, 9, "cat");
    put_interned_event(110, 5, 1, 2);
    put_interned_event(120, 5, 2, 1);
    put_interned(2, 5, "anew");
    put_interned(1, 9, "cat");
    put_interned_event(130, 5, 1, 1);
    put_interned_event(140, 6, 2, 1); /* is not there */
    put_interned_event(150, 5, 2, 3); /* of a sequence whose state is not */
    struct nvt_trace *trace = read_file();
    static const char *const names[] = {"first", "other", "first", "anew", ""};
    assert_int_equal(trace->ranges.count, NVT_COUNT_OF(names));
    for (uint32_t i = 0; i < NVT_COUNT_OF(names); i++) {
        assert_string_equal(nvt_name(trace, trace->ranges.name[i]), names[i]);
        assert_string_equal(nvt_domain_name(trace, trace->ranges.domain[i]), "cat");
    }
    assert_non_null(strstr(trace->notes, "references to names that are not in the file (1)"));
    assert_non_null(strstr(trace->notes,
                           "packets were lost while this was recorded, or what they refer to (1)"));
    nvt_trace_free(trace);
}

/* The default track of a sequence. */
static void a_sequence_has_a_track(void **state)
{
    (void)state;
    put_track(2, 0, 77, 78, "worker");
    nvt_proto_number(&inner, 11, 2);
    nvt_proto_message(&message, 11, &inner);
    nvt_proto_message(&packet, 59, &message);
    nvt_proto_number(&packet, 13, 1);
    put_packet(1);
    at(100);
    nvt_proto_number(&message, 9, BEGIN);
    nvt_proto_text(&message, 23, "here");
    nvt_proto_message(&packet, 11, &message);
    put_packet(1);
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->threads.tid[trace->ranges.thread[range_called(trace, "here")]], 78);
    nvt_trace_free(trace);
}

/* --- clocks --- */

static void put_clock(uint32_t id, uint64_t value, int is_incremental, uint64_t unit)
{
    nvt_proto_number(&inner, 1, id);
    nvt_proto_number(&inner, 2, value);
    if (is_incremental)
        nvt_proto_number(&inner, 3, 1);
    if (unit)
        nvt_proto_number(&inner, 4, unit);
    nvt_proto_message(&message, 1, &inner);
}

/* MONOTONIC, and a clock of the sequence in microseconds, whose values are differences, as Chrome's. */
static void clocks_are_converted(void **state)
{
    (void)state;
    put_clock(6, 5000000, 0, 0);
    put_clock(3, 1000000, 0, 0);
    put_clock(1, UINT64_C(1700000000000000000), 0, 0);
    put_clock(64, 1000, 1, 1000);
    nvt_proto_message(&packet, 6, &message);
    nvt_proto_number(&packet, 13, 1);
    put_packet(1);
    put_event(5000100, INSTANT, 0, NULL, "boot");
    nvt_proto_number(&packet, 58, 3);
    put_event(1000200, INSTANT, 0, NULL, "monotonic");
    nvt_proto_number(&packet, 58, 64);
    put_event(10, INSTANT, 0, NULL, "first");
    nvt_proto_number(&packet, 58, 64);
    put_event(5, INSTANT, 0, NULL, "second");
    struct nvt_trace *trace = read_file();
    static const int64_t times[] = {5000100, 5000200, 5010000, 5015000};
    assert_int_equal(trace->marks.count, NVT_COUNT_OF(times));
    for (uint32_t i = 0; i < NVT_COUNT_OF(times); i++)
        assert_int_equal(trace->marks.time[i], times[i]);
    assert_int_equal(trace->origin_ns, INT64_C(1700000000000000000) - 5000000);
    assert_non_null(nvt_trace_meta(trace, "date"));
    nvt_trace_free(trace);
}

/* Each snapshot puts a clock as far ahead of the one before as times go: sums stay numbers, and what is beyond is no time. */
/* A trace may have a clock of its own; where it has another besides, they are hardly the same. */
static void clocks_that_nothing_relates_are_noted(void **state)
{
    (void)state;
    for (uint64_t ns = 10; ns < 30; ns += 10) {
        nvt_proto_number(&packet, 58, 99);
        put_event(ns, INSTANT, 0, NULL, "own");
    }
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->marks.count, 2);
    assert_true(!trace->notes || !strstr(trace->notes, "clocks"));
    nvt_trace_free(trace);
    put_event(30, INSTANT, 0, NULL, "of the trace");
    trace = read_file();
    assert_int_equal(trace->marks.count, 3);
    assert_non_null(strstr(trace->notes, "times on clocks that no snapshot before them relates to "
                                         "the trace's are taken as they are (2)"));
    nvt_trace_free(trace);
}

static void clocks_that_run_away_have_no_times(void **state)
{
    (void)state;
    for (uint32_t clock = 10; clock < 18; clock++) {
        put_clock(clock, (UINT64_C(1) << 61) - (clock == 10), 0, 0);
        put_clock(clock + 1, 0, 0, 0);
        nvt_proto_message(&packet, 6, &message);
        put_packet(1);
    }
    nvt_proto_number(&packet, 58, 18);
    put_event(100, INSTANT, 0, NULL, "away");
    put_event(200, INSTANT, 0, NULL, "here");
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->marks.count, 1);
    assert_string_equal(nvt_name(trace, trace->marks.name[0]), "here");
    nvt_trace_free(trace);
}

/* Ids below zero are none: they are no names either. */
static void ids_below_zero_are_none(void **state)
{
    (void)state;
    put_track(7, 0, (uint64_t)-5, 0, "");
    put_track(8, 7, (uint64_t)-5, (uint64_t)-99999, "");
    put_slice(100, 200, 8, NULL, "work");
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->ranges.count, 1);
    const uint32_t thread = trace->ranges.thread[0];
    assert_int_equal(trace->threads.tid[thread], -1);
    assert_int_equal(trace->processes.pid[trace->threads.process[thread]], -1);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "");
    nvt_trace_free(trace);
}

/* An event of the old form, whose time is told as the difference from the one before. */
static void put_difference(int64_t us, const char *name)
{
    nvt_proto_number(&message, 1, (uint64_t)us);
    nvt_proto_number(&message, 9, INSTANT);
    nvt_proto_text(&message, 23, name);
    nvt_proto_message(&packet, 11, &message);
    put_packet(1);
}

static void differences_add_up_to_times(void **state)
{
    (void)state;
    const int64_t most = INT64_MAX / 4000 - 1;
    nvt_proto_number(&message, 1, 77);
    nvt_proto_number(&message, 2, 78);
    nvt_proto_number(&message, 6, 5);
    nvt_proto_message(&packet, 44, &message);
    put_packet(1);
    put_difference(3, "near");
    put_difference(-most, "far");
    for (int i = 0; i < 4; i++)
        put_difference(-most, "too far");
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->marks.count, 2);
    assert_int_equal(trace->marks.time[0], (8 - most) * 1000);
    assert_int_equal(trace->marks.time[1], 8000);
    assert_int_equal(trace->threads.tid[trace->marks.thread[1]], 78);
    nvt_trace_free(trace);
}

/* An end that is earlier in the file than its beginning, from another sequence; and one that nothing began. */
static void ends_may_come_first(void **state)
{
    (void)state;
    at(900);
    nvt_proto_number(&message, 9, END);
    nvt_proto_number(&message, 11, 7);
    nvt_proto_message(&packet, 11, &message);
    put_packet(2);
    put_event(400, BEGIN, 7, NULL, "late");
    put_event(950, END, 8, NULL, NULL);
    struct nvt_trace *trace = read_file();
    assert_span(trace, "late", 400, 900);
    assert_int_equal(trace->ranges.flags[0], 0);
    assert_non_null(
        strstr(trace->notes, "slices that end and do not begin in the file were left out (1)"));
    nvt_trace_free(trace);
}

/* Perfetto's importer sorts by time: so does what is read, where a track has its slices in another order. */
/* An event of Chrome's, with an id where it is not 0. */
static void put_legacy(uint64_t time, char phase, const char *name, uint64_t id)
{
    at(time);
    nvt_proto_number(&message, 11, 7);
    nvt_proto_text(&message, 23, name);
    nvt_proto_number(&inner, 2, (uint64_t)phase);
    if (id)
        nvt_proto_number(&inner, 6, id);
    nvt_proto_message(&message, 6, &inner);
    nvt_proto_message(&packet, 11, &message);
    put_packet(1);
}

static void events_of_chrome_may_be_in_any_order(void **state)
{
    (void)state;
    put_legacy(900, 'E', "a", 0);
    put_legacy(400, 'B', "a", 0);
    put_legacy(300, 'e', "b", 5);
    put_legacy(100, 'b', "b", 5);
    struct nvt_trace *trace = read_file();
    assert_int_equal(trace->ranges.count, 2);
    assert_span(trace, "a", 400, 900);
    assert_span(trace, "b", 100, 300);
    nvt_trace_free(trace);
}

static void slices_may_be_in_any_order(void **state)
{
    (void)state;
    put_event(900, END, 7, NULL, NULL);
    put_event(400, BEGIN, 7, NULL, "outer");
    put_event(500, BEGIN, 7, NULL, "inner");
    put_event(600, END, 7, NULL, NULL);
    put_event(100, BEGIN, 8, NULL, "first");
    put_event(300, BEGIN, 8, NULL, "second");
    put_event(200, END, 8, NULL, NULL);
    put_event(350, END, 8, NULL, NULL);
    put_event(50, END, 8, NULL, NULL);
    struct nvt_trace *trace = read_file();
    assert_span(trace, "outer", 400, 900);
    assert_span(trace, "inner", 500, 600);
    assert_span(trace, "first", 100, 200);
    assert_span(trace, "second", 300, 350);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.flags[i], 0);
    assert_non_null(
        strstr(trace->notes, "slices that end and do not begin in the file were left out (1)"));
    nvt_trace_free(trace);
}

/* --- counters --- */

static void counters_have_units(void **state)
{
    (void)state;
    nvt_proto_number(&message, 1, 5);
    nvt_proto_text(&message, 2, "copied");
    nvt_proto_number(&inner, 3, 3);
    nvt_proto_number(&inner, 4, 1024);
    nvt_proto_number(&inner, 5, 1);
    nvt_proto_message(&message, 8, &inner);
    nvt_proto_message(&packet, 60, &message);
    put_packet(1);
    for (uint64_t i = 1; i <= 2; i++) {
        nvt_proto_number(&message, 30, 2);
        put_event(100 * i, COUNTER, 5, NULL, NULL);
    }
    nvt_proto_double(&message, 44, 0.5);
    put_event(300, COUNTER, 6, NULL, "load");
    struct nvt_trace *trace = read_file();
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
    put_track(1, 0, 77, 0, "program");
    put_track(3, 1, 0, 0, "THREAD 1 (78)");
    put_track(4, 1, 0, 0, "COMPUTE AGENT [4] QUEUE [0] GPU");
    annotate("corr_id", 5);
    put_slice(1000, 1500, 3, "hip_api", "hipLaunchKernel");
    annotate("corr_id", 6);
    put_slice(1600, 4000, 3, "hip_api", "hipMemcpy");
    put_slice(900, 5000, 3, "marker_api", "step");
    annotate_text("src_agent", "Agent-0");
    annotate_text("dst_agent", "Agent-4");
    annotate("copy_bytes", 4096);
    annotate("corr_id", 6);
    annotate("stream_ID", 1);
    put_slice(2500, 3000, 4, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE");
    annotate_text("agent", "Agent-4");
    annotate("corr_id", 5);
    annotate("stream_ID", 1);
    annotate("workgroup_size", 256);
    annotate("grid_size", 65536);
    put_slice(1700, 2300, 4, "kernel_dispatch", "void gemm<float>(float*)");
    struct nvt_trace *trace = read_file();
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
    assert_span(trace, "step", 900, 5000);
    assert_int_equal(trace->ranges.domain[0], 0);
    assert_string_equal(nvt_trace_meta(trace, "backend"), "hip");
    nvt_trace_free(trace);
}

/* PyTorch's: no categories, and its JSON's arguments as a text. */
static void kineto_has_devices(void **state)
{
    (void)state;
    put_track(1, 0, 700, 0, "python");
    put_track(4, 1, 700, 700, "thread 700");
    put_track(5, 0, 1, 7, "stream 7");
    put_track(10, 4, 0, 0, "thread 700");
    put_track(11, 5, 0, 0, "stream 7");
    put_event(50, INSTANT, 1, NULL, "trace_metadata");
    annotate_text("metadata", "\"External id\": 2, \"Input Dims\": [[1, 2], []], \"Ev Idx\": 3");
    put_slice(100, 900, 10, NULL, "aten::mm");
    annotate_text("metadata", "\"cbid\": 211, \"correlation\": 55");
    put_slice(200, 250, 10, NULL, "cudaLaunchKernel");
    annotate_text("metadata",
                  "\"device\": 1, \"context\": 1, \"stream\": 7, \"correlation\": 55, "
                  "\"registers per thread\": 40, \"grid\": [8, 2, 1], \"block\": [128, 1, 1]");
    put_slice(300, 400, 11, NULL, "void gemm(int)");
    annotate_text("metadata", "\"device\": 1, \"stream\": 7, \"bytes\": 64");
    put_slice(410, 420, 11, NULL, "Memcpy HtoD (Pageable -> Device)");
    struct nvt_trace *trace = read_file();
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
    put_track(1, 0, 3, 0, "/device:GPU:2");
    put_track(2, 1, 3, 20, "Stream #20(Compute)");
    put_track(3, 1, 3, 21, "XLA Ops");
    put_track(4, 0, 700, 700, "python");
    nvt_proto_fixed64(&message, 47, 99);
    put_slice(100, 200, 4, NULL, "launch");
    nvt_proto_fixed64(&message, 48, 99);
    put_slice(300, 400, 2, NULL, "fusion");
    put_slice(300, 400, 3, NULL, "fusion");
    struct nvt_trace *trace = read_file();
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
    nvt_proto_number(&message, 1, 3);
    nvt_proto_text(&message, 2, "compute");
    nvt_proto_message(&inner, 24, &message);
    nvt_proto_number(&message, 1, 4);
    nvt_proto_number(&message, 2, 700);
    nvt_proto_number(&message, 3, 5);
    nvt_proto_message(&inner, 23, &message);
    nvt_proto_message(&packet, 12, &inner);
    nvt_proto_number(&packet, 13, 1);
    at(1000);
    nvt_proto_number(&message, 2, 500);
    nvt_proto_number(&message, 5, 4);
    nvt_proto_number(&message, 11, 1);
    nvt_proto_number(&message, 13, 3);
    nvt_proto_number(&message, 14, 3);
    nvt_proto_message(&packet, 53, &message);
    put_packet(1);
    struct nvt_trace *trace = read_file();
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
    put_track(2, 0, 77, 78, "worker");
    for (uint64_t i = 0; i < 20; i++)
        put_slice(100 * i, 100 * i + 50, 2, "app", "slice");
}

static void a_cut_file_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    put_some();
    file.size -= 5;
    struct nvt_trace *trace = read_file();
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
    assert_int_equal(gzwrite(out, file.data, (unsigned)file.size), (int)file.size);
    assert_int_equal(gzclose(out), Z_OK);
    struct nvt_trace *trace = kit_read(path);
    assert_int_equal(trace->ranges.count, 20);
    nvt_trace_free(trace);
    uLongf size = compressBound(file.size);
    uint8_t *packed = malloc(size);
    assert_int_equal(compress(packed, &size, file.data, file.size), Z_OK);
    file.size = 0;
    nvt_proto_bytes(&packet, 50, packed, size);
    put_packet(1);
    free(packed);
    trace = read_file();
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
    gzwrite(out, file.data, (unsigned)file.size);
    file.size = 0;
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
    put_track(1, 0, 77, 0, "program");
    put_some();
    annotate_text("metadata", "\"device\": 1, \"stream\": 7, \"grid\": [1, 2, 3]");
    put_slice(5000, 5100, 2, NULL, "kernel");
    cli_write_file(path, (const char *)file.data, file.size);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(slices_nest_on_their_threads),
        TEST(tracks_below_threads_are_asynchronous),
        TEST(names_are_of_their_sequence),
        TEST(a_sequence_has_a_track),
        TEST(clocks_are_converted),
        TEST(clocks_that_run_away_have_no_times),
        TEST(clocks_that_nothing_relates_are_noted),
        TEST(differences_add_up_to_times),
        TEST(ids_below_zero_are_none),
        TEST(ends_may_come_first),
        TEST(slices_may_be_in_any_order),
        TEST(events_of_chrome_may_be_in_any_order),
        TEST(counters_have_units),
        TEST(rocprof_has_devices),
        TEST(kineto_has_devices),
        TEST(lanes_and_arrows),
        TEST(stages_of_gpus_are_operations),
        TEST(a_cut_file_is_read_as_far_as_it_goes),
#ifdef HAVE_ZLIB
        TEST(compressed_files_and_packets),
        TEST(bombs_are_refused),
#endif
        TEST(changed_bytes_do_no_harm),
        TEST(others_are_none),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
