/*
 * PyTorch's memory snapshots, pickled here as Python does it. What is expected was worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/memory/levels.h"
#include "../analyze/model/refusals.h"
#include "../analyze/readers/reader.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"

/* --- a pickle --- */

static struct nvt_buffer bytes;

static void put(const void *data, size_t size)
{
    assert_int_equal(nvt_buffer_append(&bytes, data, size), 0);
}

static void begin(void)
{
    nvt_buffer_free(&bytes);
    put("\x80\x04", 2);
}

static void text(const char *value)
{
    put("\x8c", 1);
    put(&(uint8_t){(uint8_t)strlen(value)}, 1);
    put(value, strlen(value));
}

/* LONG1 of eight bytes. */
static void integer(int64_t value)
{
    put("\x8a\x08", 2);
    put(&value, 8);
}

static void list(void)
{
    put("](", 2);
}

static void list_ends(void)
{
    put("e", 1);
}

static void dict(void)
{
    put("}(", 2);
}

static void dict_ends(void)
{
    put("u", 1);
}

static void pair(const char *key, int64_t value)
{
    text(key);
    integer(value);
}

static void pair_text(const char *key, const char *value)
{
    text(key);
    text(value);
}

/* "function file line", innermost first, after one another, with ';' between. */
static void frames(const char *all)
{
    char copy[1000], *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", all);
    text("frames");
    list();
    for (char *frame = strtok_r(copy, ";", &rest); frame; frame = strtok_r(NULL, ";", &rest)) {
        char *line = strrchr(frame, ' ');
        assert_non_null(line);
        *line++ = '\0';
        char *file = strrchr(frame, ' ');
        assert_non_null(file);
        *file++ = '\0';
        dict();
        pair_text("name", frame);
        pair_text("filename", file);
        pair("line", atoi(line));
        dict_ends();
    }
    list_ends();
}

static void entry(const char *action, int64_t time, int64_t address, int64_t size,
                  const char *stack)
{
    dict();
    pair_text("action", action);
    pair("addr", address);
    pair("size", size);
    pair("stream", 0);
    if (time >= 0)
        pair("time_us", time);
    frames(stack);
    dict_ends();
}

static void block(const char *state, int64_t address, int64_t size, int64_t requested,
                  const char *stack)
{
    dict();
    pair("address", address);
    pair("size", size);
    pair("requested_size", requested);
    pair_text("state", state);
    frames(stack);
    dict_ends();
}

static void segment(int64_t device, int64_t address, int64_t size)
{
    dict();
    pair("device", device);
    pair("address", address);
    pair("total_size", size);
    pair_text("segment_type", "large");
    text("blocks");
    list();
}

static void segment_ends(void)
{
    list_ends();
    dict_ends();
}

static void annotation(const char *stage, const char *name, int64_t time)
{
    dict();
    pair_text("stage", stage);
    pair_text("name", name);
    pair("device", 0);
    pair("time_us", time);
    dict_ends();
}

static const char *write_pickle(void)
{
    const char *path = cli_in(cli_folder, "snapshot.pickle");
    put(".", 1);
    cli_write_file(path, bytes.data, bytes.size);
    return path;
}

static struct nvt_trace *read_it(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char shown[1100];
    struct nvt_trace *trace = nvt_trace_read(write_pickle(), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, shown, sizeof(shown)));
    return trace;
}

/* --- a program --- */

#define START   INT64_C(1700000000000000)
#define FORWARD "_call_impl /torch/nn/modules/module.py 9;forward /net.py 12;<module> /net.py 30"

/*
 * Device 0: blocks A, of a known stack, and B, freed in between, were there before; C is taken and freed, D taken and still
 * there, E is asked for in vain; F was there before and nobody knows since when. Device 1 has nothing but a
 * block without a stack. Sizes of blocks are rounded to 512.
 */
static void put_program(void)
{
    begin();
    dict();
    text("segments");
    list();
    segment(0, 0x10000, 8192);
    block("active_allocated", 0x10000, 1024, 1000, "load /net.py 3;<module> /net.py 20");
    block("inactive", 0x10400, 2048, 0, "");
    block("active_pending_free", 0x10c00, 512, 400, "");
    block("inactive", 0x10e00, 4608, 0, "");
    segment_ends();
    segment(1, 0x90000, 2048);
    block("active_allocated", 0x90000, 2048, 2048, "");
    segment_ends();
    segment(0, 0x20000, 4096);
    block("active_allocated", 0x20000, 4096, 4000, "");
    segment_ends();
    list_ends();
    text("device_traces");
    list();
    list();
    entry("segment_alloc", START + 1, 0x20000, 4096, "");
    entry("alloc", START + 2, 0x20000, 4000,
          "unwind ?? 0;at::_ops::addmm::call(at::Tensor const&) a.cpp "
          "1;at::native::linear(at::Tensor) "
          "?? 0;at::_ops::linear::call(at::Tensor const&) a.cpp 2;" FORWARD);
    entry("free_requested", START + 3, 0x10400, 700, "");
    entry("free_completed", START + 4, 0x10400, 700, "");
    entry("segment_alloc", START + 5, 0x30000, 2048, "");
    entry("alloc", START + 6, 0x30000, 2000,
          "at::x<f(int)>::y(int, int) b.cpp 7;torch::autograd::Engine::run(std::shared_ptr<int>) "
          "?? 0;"
          "clone3 ?? 0");
    entry("free_completed", START + 7, 0x30000, 2000, "");
    entry("segment_free", START + 8, 0x30000, 2048, "");
    dict();
    pair_text("action", "oom");
    pair("size", 1 << 30);
    pair("device_free", 12345);
    pair("time_us", START + 9);
    dict_ends();
    entry("snapshot", START + 10, 0, 0, "");
    list_ends();
    list();
    list_ends();
    list_ends();
}

static void expect_event(const struct nvt_trace *trace, uint32_t row, uint32_t device, int64_t time,
                         uint64_t address, int is_free, int is_earlier, uint64_t allocated,
                         uint64_t reserved)
{
    const struct nvt_memory *memory = &trace->memory;
    assert_int_equal(memory->device[row], device);
    assert_int_equal(memory->time[row], time);
    assert_int_equal(memory->address[row], address);
    assert_int_equal(memory->kind[row], is_free ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC);
    assert_int_equal(memory->is_earlier[row], is_earlier);
    assert_int_equal(memory->allocated[row], allocated);
    assert_int_equal(memory->reserved[row], reserved);
}

static void counts_from_the_end(void **state)
{
    (void)state;
    struct nvt_refusal refusal;
    put_program();
    dict_ends();
    struct nvt_trace *trace = read_it();
    assert_string_equal(trace->format, "snapshot");
    assert_int_equal(trace->origin_ns, (START + 1) * 1000);
    assert_int_equal(trace->memory.count, 8);
    /* What was there before: 700 freed later, then the blocks of the segments. 8192 were reserved. */
    expect_event(trace, 0, 0, 0, 0x10400, 0, 1, 700, 8192);
    expect_event(trace, 1, 0, 0, 0x10000, 0, 1, 1700, 8192);
    expect_event(trace, 2, 0, 0, 0x10c00, 0, 1, 2100, 8192);
    expect_event(trace, 3, 1, 0, 0x90000, 0, 1, 2048, 2048);
    expect_event(trace, 4, 0, 1000, 0x20000, 0, 0, 6100, 12288);
    expect_event(trace, 5, 0, 3000, 0x10400, 1, 0, 5400, 12288);
    expect_event(trace, 6, 0, 5000, 0x30000, 0, 0, 7400, 14336);
    expect_event(trace, 7, 0, 6000, 0x30000, 1, 0, 5400, 14336);
    assert_int_equal(trace->marks.count, 1);
    assert_true(nvt_refusal_of(trace, 0, &refusal));
    assert_int_equal(refusal.bytes, 1 << 30);
    assert_int_equal(refusal.free, 12345);
    assert_int_equal(refusal.time, 8000);
    nvt_trace_free(trace);
}

/* "a < b < c", from the innermost function. */
static const char *stack_of(const struct nvt_trace *trace, uint32_t event)
{
    static char out[1000];
    *out = '\0';
    for (uint32_t at = trace->memory.frame[event]; at; at = trace->call_frames.parent[at - 1])
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", *out ? " < " : "",
                 nvt_name(trace, trace->call_frames.name[at - 1]));
    return out;
}

static void keeps_what_tells_of_stacks(void **state)
{
    (void)state;
    put_program();
    dict_ends();
    struct nvt_trace *trace = read_it();
    assert_string_equal(stack_of(trace, 0), "");
    assert_string_equal(stack_of(trace, 1), "load (net.py:3) < <module> (net.py:20)");
    assert_string_equal(stack_of(trace, 4),
                        "aten::linear < forward (net.py:12) < <module> (net.py:30)");
    assert_string_equal(stack_of(trace, 6), "at::x::y (b.cpp:7) < torch::autograd::Engine::run");
    nvt_trace_free(trace);
}

static void reports_stacks(void **state)
{
    (void)state;
    put_program();
    dict_ends();
    const char *argv[] = {"nvtally",        "stats", write_pickle(), "-r",
                          "memory_at_peak", "-f",    "csv",          NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    /* 7400 bytes: 4000 and 2000 of the history, 1000 from before with its stack, 400 of nobody; the block without one. */
    static const char *const lines[] = {
        "device 0,0.01,100.0,0.00,3,5000,0\n",
        "--torch::autograd::Engine::run,0.00,27.0,0.00,1,,1\n",
        "----at::x::y (b.cpp:7),0.00,27.0,0.00,1,,2\n",
        "--[allocated before],0.00,5.4,0.00,0,,1\n",
        "--<module> (net.py:20),0.00,13.5,0.00,1,,1\n",
        "----load (net.py:3),0.00,13.5,0.00,1,,2\n",
        "--<module> (net.py:30),0.00,54.1,0.00,1,,1\n",
        "------aten::linear,0.00,54.1,0.00,1,,3\n",
        "device 1,0.00,",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(lines); i++)
        if (!strstr(result.out, lines[i]))
            fail_msg("not there: %sin\n%s", lines[i], result.out);
    cli_result_free(&result);
}

static void put_segment(const char *pool, int64_t stream, int64_t id, int64_t used,
                        int64_t free_after)
{
    dict();
    pair("device", 0);
    pair("total_size", used + free_after);
    pair_text("segment_type", pool);
    pair("stream", stream);
    text("segment_pool_id");
    put("(", 1);
    integer(0);
    integer(id);
    put("t", 1);
    text("blocks");
    list();
    if (used)
        block("active_allocated", 0x10000 * (used + stream + id), used, used, "");
    block("inactive", 0, free_after / 4, 0, "");
    block("inactive", 0, free_after - free_after / 4, 0, "");
    list_ends();
    dict_ends();
}

static void reports_segments(void **state)
{
    (void)state;
    begin();
    dict();
    text("segments");
    list();
    put_segment("small", 0, 0, 1 << 20, 1 << 20);
    put_segment("large", 0, 0, 12 << 20, 8 << 20);
    put_segment("large", 7, 0, 3 << 20, 1 << 20);
    put_segment("large", 0, 0, 0, 16 << 20);
    put_segment("large", 0, 2, 0, 4 << 20);
    put_segment("large", 0, 0, 19 << 20, 1 << 20);
    list_ends();
    dict_ends();
    const char *path = write_pickle();
    const char *argv[] = {"nvtally", "stats", path, "-r", "memory_segments", "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_string_equal(
        result.out, "Device,Pool,Stream,Segments,Reserved (MiB),In Use (MiB),\"Free, Split (MiB)\","
                    "\"Free, Whole (MiB)\",Largest Free (MiB)\n"
                    "(0),large,0,3,56.00,31.00,9.00,16.00,12.00\n"
                    "(0),large,7,1,4.00,3.00,1.00,0.00,0.75\n"
                    "(0),\"large, pool 0.2\",0,1,4.00,0.00,0.00,4.00,3.00\n"
                    "(0),small,0,1,2.00,1.00,1.00,0.00,0.75\n");
    cli_result_free(&result);
}

/* --- ranges, times and older forms --- */

static void put_annotated(int crossed)
{
    put_program();
    text("external_annotations");
    list();
    annotation("END", "lost", START);
    annotation("START", "step", START + 1);
    annotation("START", "forward", START + 2);
    annotation("END", crossed ? "step" : "forward", START + 5);
    annotation("END", crossed ? "forward" : "step", START + 8);
    annotation("START", "open", START + 9);
    list_ends();
    dict_ends();
}

static void reads_annotations(void **state)
{
    (void)state;
    for (int crossed = 0; crossed < 2; crossed++) {
        put_annotated(crossed);
        struct nvt_trace *trace = read_it();
        const struct nvt_ranges *ranges = &trace->ranges;
        assert_int_equal(ranges->count, 3);
        assert_string_equal(nvt_name(trace, ranges->name[0]), "step");
        assert_int_equal(ranges->start[0], 1000);
        assert_int_equal(ranges->end[0], crossed ? 5000 : 8000);
        assert_int_equal(ranges->style[1], crossed ? NVT_START_END : NVT_PUSH_POP);
        assert_int_equal(ranges->level[1], crossed ? 0 : 1);
        assert_int_equal(ranges->flags[1], 0);
        assert_int_equal(ranges->flags[2], NVT_RANGE_UNCLOSED);
        nvt_trace_free(trace);
    }
}

/* Without times; with host memory; of devices without segments. */
static void reads_other_forms(void **state)
{
    (void)state;
    begin();
    dict();
    text("device_traces");
    list();
    list();
    entry("free", -1, 0x500, 300, "");
    entry("segment_map", -1, 0x1000, 4096, "");
    entry("alloc", -1, 0x1000, 4000, "f /a.py 1");
    list_ends();
    list_ends();
    text("host_traces");
    list();
    list();
    entry("alloc", -1, 0x7000, 64, "");
    list_ends();
    list_ends();
    dict_ends();
    struct nvt_trace *trace = read_it();
    assert_int_equal(trace->memory.count, 4);
    expect_event(trace, 0, 0, 0, 0x500, 0, 1, 300, 300);
    expect_event(trace, 1, 0, 0, 0x500, 1, 0, 0, 0);
    expect_event(trace, 2, NVT_NONE, 0, 0x7000, 0, 0, 64, 64);
    expect_event(trace, 3, 0, 2000, 0x1000, 0, 0, 4000, 4096);
    assert_int_equal(trace->origin_ns, 0);
    assert_non_null(strstr(trace->notes, "has no times"));
    nvt_trace_free(trace);
}

/* As PyTorch 1.13 and 2.0 had it: the list of segments, blocks without addresses, stacks in their history. */
static void reads_a_list_of_segments(void **state)
{
    (void)state;
    begin();
    list();
    segment(0, 0x10000, 4096);
    dict();
    pair("size", 1024);
    pair_text("state", "inactive");
    dict_ends();
    dict();
    pair("size", 2048);
    pair_text("state", "active_allocated");
    text("history");
    list();
    dict();
    pair("addr", 0x10400);
    pair("real_size", 2000);
    frames("f /a.py 1");
    dict_ends();
    list_ends();
    dict_ends();
    segment_ends();
    list_ends();
    struct nvt_trace *trace = read_it();
    assert_int_equal(trace->memory.count, 1);
    expect_event(trace, 0, 0, 0, 0x10400, 0, 1, 2048, 4096);
    assert_string_equal(stack_of(trace, 0), "f (a.py:1)");
    assert_non_null(strstr(trace->notes, "no history"));
    nvt_trace_free(trace);
}

/* --- no room --- */

/* How often it was refused, of how much, with so much held beside what is in use. */
static char *diagnosis(int refusals, int64_t spare)
{
    begin();
    dict();
    text("device_traces");
    list();
    list();
    entry("segment_alloc", START, 0x10000, (64 << 20) + spare, "");
    entry("alloc", START + 1, 0x10000, 64 << 20, "f /a.py 1");
    for (int i = 0; i < refusals; i++) {
        dict();
        pair_text("action", "oom");
        pair("size", (int64_t)(i + 1) << 20);
        pair("device_free", 3 << 20);
        pair("time_us", START + 2 + i);
        dict_ends();
    }
    list_ends();
    list_ends();
    dict_ends();
    const char *argv[] = {"nvtally", "diagnose", write_pickle(), NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    char *out = strdup(result.out);
    cli_result_free(&result);
    assert_non_null(out);
    return out;
}

static void expect_in(char *out, const char *part, int there)
{
    if ((strstr(out, part) != NULL) != there)
        fail_msg("%s: %s\n%s", there ? "not there" : "there", part, out);
}

static void finds_what_was_refused(void **state)
{
    (void)state;
    char *out = diagnosis(0, 0);
    expect_in(out, "out of memory", 0);
    expect_in(out, "(activities with ProfilerActivity.CUDA in torch.profiler", 1);
    free(out);
    out = diagnosis(1, 0);
    expect_in(out, "failed to allocate 1.00 MiB of device 0's memory, once", 1);
    expect_in(out, "64.0 MiB in use then, 64.0 MiB reserved, 3.00 MiB free", 1);
    expect_in(out, "reduce what memory_at_peak shows most of", 1);
    free(out);
    /* As much as was asked for is held and not in use. */
    out = diagnosis(5, (5 << 20) - 1);
    expect_in(out, "failed to allocate up to 5.00 MiB of device 0's memory, 5 times", 1);
    expect_in(out, "expandable_segments", 0);
    free(out);
    out = diagnosis(5, 5 << 20);
    expect_in(out, "expandable_segments:True", 1);
    free(out);
}

/* --- damage --- */

static void refuse(const void *data, size_t size, const char *message)
{
    const char *path = cli_in(cli_folder, "bad.pickle");
    cli_write_file(path, data, size);
    const char *argv[] = {"nvtally", "stats", path, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, message);
    cli_result_free(&result);
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    refuse("\x80\x04N.", 4, "is a pickle, but not a memory snapshot of PyTorch");
    refuse("\x80\x04]K\x01"
           "a.",
           7, "is a pickle, but not a memory snapshot of PyTorch");
    refuse("\x80\x04}(\x8c\x04step", 9, "ends in the middle of a pickle");
    put_annotated(0);
    struct nvt_error err = NVT_ERROR_INIT;
    for (size_t size = 3; size < bytes.size; size += 7) {
        const char *path = cli_in(cli_folder, "cut.pickle");
        cli_write_file(path, bytes.data, size);
        assert_null(nvt_trace_read(path, &err));
    }
}

/* A list that is in ten thousand places, of ten thousand places each. */
static void refuses_more_than_it_holds(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    begin();
    dict();
    text("device_traces");
    list();
    list();
    entry("alloc", 1, 0x1000, 8, "");
    put("\x94", 1);
    for (int i = 0; i < MANY; i++)
        put("h\x00", 2);
    put("e\x94", 2);
    for (int i = 0; i < MANY; i++)
        put("h\x01", 2);
    list_ends();
    dict_ends();
    put(".", 1);
    refuse(bytes.data, bytes.size, "claims more than it has bytes for");
}

static int tear_down(void **state)
{
    nvt_buffer_free(&bytes);
    return cli_folder_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_from_the_end),      cmocka_unit_test(keeps_what_tells_of_stacks),
        cmocka_unit_test(reports_stacks),           cmocka_unit_test(reports_segments),
        cmocka_unit_test(reads_annotations),        cmocka_unit_test(reads_other_forms),
        cmocka_unit_test(reads_a_list_of_segments), cmocka_unit_test(finds_what_was_refused),
        cmocka_unit_test(refuses_what_is_none),     cmocka_unit_test(refuses_more_than_it_holds),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, tear_down);
}
