/*
 * PyTorch's memory snapshots, pickled here as Python does it (snapshot_kit.h). What is expected was worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/refusals.h"
#include "../analyze/readers/reader.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "snapshot_kit.h"

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
    snapshot_begin();
    snapshot_dict();
    snapshot_text("segments");
    snapshot_list();
    snapshot_segment(0, 0x10000, 8192);
    snapshot_block("active_allocated", 0x10000, 1024, 1000, "load /net.py 3;<module> /net.py 20");
    snapshot_block("inactive", 0x10400, 2048, 0, "");
    snapshot_block("active_pending_free", 0x10c00, 512, 400, "");
    snapshot_block("inactive", 0x10e00, 4608, 0, "");
    snapshot_segment_ends();
    snapshot_segment(1, 0x90000, 2048);
    snapshot_block("active_allocated", 0x90000, 2048, 2048, "");
    snapshot_segment_ends();
    snapshot_segment(0, 0x20000, 4096);
    snapshot_block("active_allocated", 0x20000, 4096, 4000, "");
    snapshot_segment_ends();
    snapshot_list_ends();
    snapshot_text("device_traces");
    snapshot_list();
    snapshot_list();
    snapshot_entry("segment_alloc", START + 1, 0x20000, 4096, "");
    snapshot_entry("alloc", START + 2, 0x20000, 4000,
                   "unwind ?? 0;at::_ops::addmm::call(at::Tensor const&) a.cpp "
                   "1;at::native::linear(at::Tensor) "
                   "?? 0;at::_ops::linear::call(at::Tensor const&) a.cpp 2;" FORWARD);
    snapshot_entry("free_requested", START + 3, 0x10400, 700, "");
    snapshot_entry("free_completed", START + 4, 0x10400, 700, "");
    snapshot_entry("segment_alloc", START + 5, 0x30000, 2048, "");
    snapshot_entry(
        "alloc", START + 6, 0x30000, 2000,
        "at::x<f(int)>::y(int, int) b.cpp 7;torch::autograd::Engine::run(std::shared_ptr<int>) "
        "?? 0;"
        "clone3 ?? 0");
    snapshot_entry("free_completed", START + 7, 0x30000, 2000, "");
    snapshot_entry("segment_free", START + 8, 0x30000, 2048, "");
    snapshot_dict();
    snapshot_pair_text("action", "oom");
    snapshot_pair("size", 1 << 30);
    snapshot_pair("device_free", 12345);
    snapshot_pair("time_us", START + 9);
    snapshot_dict_ends();
    snapshot_entry("snapshot", START + 10, 0, 0, "");
    snapshot_list_ends();
    snapshot_list();
    snapshot_list_ends();
    snapshot_list_ends();
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
    snapshot_dict_ends();
    struct nvt_trace *trace = snapshot_read_it();
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
    snapshot_dict_ends();
    struct nvt_trace *trace = snapshot_read_it();
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
    snapshot_dict_ends();
    const char *argv[] = {"nvtally", "stats", snapshot_write_pickle(), "-r", "memory_at_peak", "-f",
                          "csv",     NULL};
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
    snapshot_dict();
    snapshot_pair("device", 0);
    snapshot_pair("total_size", used + free_after);
    snapshot_pair_text("segment_type", pool);
    snapshot_pair("stream", stream);
    snapshot_text("segment_pool_id");
    snapshot_put("(", 1);
    snapshot_integer(0);
    snapshot_integer(id);
    snapshot_put("t", 1);
    snapshot_text("blocks");
    snapshot_list();
    if (used)
        snapshot_block("active_allocated", 0x10000 * (used + stream + id), used, used, "");
    snapshot_block("inactive", 0, free_after / 4, 0, "");
    snapshot_block("inactive", 0, free_after - free_after / 4, 0, "");
    snapshot_list_ends();
    snapshot_dict_ends();
}

static void reports_segments(void **state)
{
    (void)state;
    snapshot_begin();
    snapshot_dict();
    snapshot_text("segments");
    snapshot_list();
    put_segment("small", 0, 0, 1 << 20, 1 << 20);
    put_segment("large", 0, 0, 12 << 20, 8 << 20);
    put_segment("large", 7, 0, 3 << 20, 1 << 20);
    put_segment("large", 0, 0, 0, 16 << 20);
    put_segment("large", 0, 2, 0, 4 << 20);
    put_segment("large", 0, 0, 19 << 20, 1 << 20);
    snapshot_list_ends();
    snapshot_dict_ends();
    const char *path = snapshot_write_pickle();
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
    snapshot_text("external_annotations");
    snapshot_list();
    snapshot_annotation("END", "lost", START);
    snapshot_annotation("START", "step", START + 1);
    snapshot_annotation("START", "forward", START + 2);
    snapshot_annotation("END", crossed ? "step" : "forward", START + 5);
    snapshot_annotation("END", crossed ? "forward" : "step", START + 8);
    snapshot_annotation("START", "open", START + 9);
    snapshot_list_ends();
    snapshot_dict_ends();
}

static void reads_annotations(void **state)
{
    (void)state;
    for (int crossed = 0; crossed < 2; crossed++) {
        put_annotated(crossed);
        struct nvt_trace *trace = snapshot_read_it();
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
    snapshot_begin();
    snapshot_dict();
    snapshot_text("device_traces");
    snapshot_list();
    snapshot_list();
    snapshot_entry("free", -1, 0x500, 300, "");
    snapshot_entry("segment_map", -1, 0x1000, 4096, "");
    snapshot_entry("alloc", -1, 0x1000, 4000, "f /a.py 1");
    snapshot_list_ends();
    snapshot_list_ends();
    snapshot_text("host_traces");
    snapshot_list();
    snapshot_list();
    snapshot_entry("alloc", -1, 0x7000, 64, "");
    snapshot_list_ends();
    snapshot_list_ends();
    snapshot_dict_ends();
    struct nvt_trace *trace = snapshot_read_it();
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
    snapshot_begin();
    snapshot_list();
    snapshot_segment(0, 0x10000, 4096);
    snapshot_dict();
    snapshot_pair("size", 1024);
    snapshot_pair_text("state", "inactive");
    snapshot_dict_ends();
    snapshot_dict();
    snapshot_pair("size", 2048);
    snapshot_pair_text("state", "active_allocated");
    snapshot_text("history");
    snapshot_list();
    snapshot_dict();
    snapshot_pair("addr", 0x10400);
    snapshot_pair("real_size", 2000);
    snapshot_frames("f /a.py 1");
    snapshot_dict_ends();
    snapshot_list_ends();
    snapshot_dict_ends();
    snapshot_segment_ends();
    snapshot_list_ends();
    struct nvt_trace *trace = snapshot_read_it();
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
    snapshot_begin();
    snapshot_dict();
    snapshot_text("device_traces");
    snapshot_list();
    snapshot_list();
    snapshot_entry("segment_alloc", START, 0x10000, (64 << 20) + spare, "");
    snapshot_entry("alloc", START + 1, 0x10000, 64 << 20, "f /a.py 1");
    for (int i = 0; i < refusals; i++) {
        snapshot_dict();
        snapshot_pair_text("action", "oom");
        snapshot_pair("size", (int64_t)(i + 1) << 20);
        snapshot_pair("device_free", 3 << 20);
        snapshot_pair("time_us", START + 2 + i);
        snapshot_dict_ends();
    }
    snapshot_list_ends();
    snapshot_list_ends();
    snapshot_dict_ends();
    const char *argv[] = {"nvtally", "diagnose", snapshot_write_pickle(), NULL};
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
    for (size_t size = 3; size < snapshot_bytes.size; size += 7) {
        const char *path = cli_in(cli_folder, "cut.pickle");
        cli_write_file(path, snapshot_bytes.data, size);
        assert_null(nvt_trace_read(path, &err));
    }
}

/* A list that is in ten thousand places, of ten thousand places each. */
static void refuses_more_than_it_holds(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    snapshot_begin();
    snapshot_dict();
    snapshot_text("device_traces");
    snapshot_list();
    snapshot_list();
    snapshot_entry("alloc", 1, 0x1000, 8, "");
    snapshot_put("\x94", 1);
    for (int i = 0; i < MANY; i++)
        snapshot_put("h\x00", 2);
    snapshot_put("e\x94", 2);
    for (int i = 0; i < MANY; i++)
        snapshot_put("h\x01", 2);
    snapshot_list_ends();
    snapshot_dict_ends();
    snapshot_put(".", 1);
    refuse(snapshot_bytes.data, snapshot_bytes.size, "claims more than it has bytes for");
}

static int tear_down(void **state)
{
    nvt_buffer_free(&snapshot_bytes);
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
