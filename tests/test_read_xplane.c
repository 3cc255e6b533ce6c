/*
 * XPlanes of XLA's profiler, written here field by field: a host that launches, a device with streams and derived lines, and what is
 * cut or changed.
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
#include "../lib/count_of.h"
#include "../lib/proto_put.h"
#include "cli.h"
#include "read_kit.h"

static struct nvt_buffer file, plane, line, event, stat, entry;

static int set_up(void **state)
{
    file.size = plane.size = line.size = event.size = stat.size = entry.size = 0;
    return cli_folder_set_up(state);
}

static int tear_down(void **state)
{
    struct nvt_buffer *const all[] = {&file, &plane, &line, &event, &stat, &entry};
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        nvt_buffer_free(all[i]);
    return cli_folder_tear_down(state);
}

/* What an id stands for: of events (4) or of stats (5). */
static void define(uint32_t kind, uint64_t id, const char *name)
{
    nvt_proto_number(&stat, 1, id);
    nvt_proto_text(&stat, 2, name);
    nvt_proto_number(&entry, 1, id);
    nvt_proto_message(&entry, 2, &stat);
    nvt_proto_message(&plane, kind, &entry);
}

static void put_stat(uint64_t id, const char *text, uint64_t number)
{
    nvt_proto_number(&stat, 1, id);
    if (text)
        nvt_proto_text(&stat, 5, text);
    else
        nvt_proto_number(&stat, 3, number);
    nvt_proto_message(&event, 4, &stat);
}

/* An event that begins `ns` behind its line's begin; its stats were put before. */
static void put_event(uint64_t id, uint64_t ns, uint64_t duration)
{
    nvt_proto_number(&event, 1, id);
    nvt_proto_number(&event, 2, ns * 1000);
    nvt_proto_number(&event, 3, duration * 1000);
    nvt_proto_message(&line, 4, &event);
}

static void put_line(uint64_t id, const char *name, uint64_t begin)
{
    nvt_proto_number(&line, 1, id);
    nvt_proto_text(&line, 2, name);
    nvt_proto_number(&line, 3, UINT64_C(1700000000000000000) + begin);
    nvt_proto_message(&plane, 3, &line);
}

static void put_plane(const char *name)
{
    nvt_proto_text(&entry, 2, name);
    /* As it is written: the name comes before the lines. */
    entry.failed |= nvt_buffer_append(&entry, plane.data, plane.size) != 0;
    nvt_proto_message(&file, 1, &entry);
    plane.size = 0;
}

static void put_all(void)
{
    put_stat(1, NULL, 0);
    put_event(1, 0, 900);
    put_stat(2, NULL, 100);
    put_event(2, 40, 5);
    put_line(5, "python", 0);
    define(4, 1, "train");
    define(4, 2, "cuLaunchKernel");
    define(5, 1, "step_num");
    define(5, 2, "correlation_id");
    put_plane("/host:CPU");
    put_stat(2, NULL, 100);
    put_stat(3, "regs:32 grid:8,2,1 block:128,1,1", 0);
    put_event(1, 50, 100);
    put_line(20, "Stream #20(Compute)", 1000);
    put_stat(4, "kind_src:pageable kind_dst:device size:4096", 0);
    put_event(2, 10, 20);
    put_line(21, "Stream #21(MemcpyH2D)", 0);
    put_event(1, 50, 100);
    put_line(22, "XLA Ops", 1000);
    define(4, 1, "fusion");
    define(4, 2, "MemcpyH2D");
    define(5, 2, "correlation_id");
    define(5, 3, "kernel_details");
    define(5, 4, "memcpy_details");
    put_plane("/device:GPU:3");
}

static const char *written(const char *name)
{
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, (const char *)file.data, file.size);
    return path;
}

static void hosts_and_devices(void **state)
{
    (void)state;
    put_all();
    struct nvt_trace *trace = kit_read(written("t.xplane.pb"));
    const struct nvt_ops *ops = &trace->ops;
    assert_string_equal(trace->format, "xplane");
    assert_int_equal(trace->recorder, NVT_BY_OTHERS);
    assert_int_equal(trace->origin_ns, INT64_C(1700000000000000000));
    assert_int_equal(ops->count, 2);
    assert_int_equal(ops->kind[0], NVT_OP_MEMCPY);
    assert_int_equal(ops->bytes[0], 4096);
    assert_int_equal(ops->kind[1], NVT_OP_KERNEL);
    assert_int_equal(ops->start[1], 1050);
    assert_int_equal(ops->end[1], 1150);
    assert_int_equal(ops->device[1], 3);
    assert_int_equal(ops->stream[1], 20);
    assert_int_equal(trace->kernels.grid_y[ops->detail[1]], 2);
    assert_int_equal(ops->launch[1], 40);
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->apis.count, 1);
    assert_int_equal(trace->apis.class[0], NVT_API_DRIVER);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "train");
    assert_string_equal(nvt_name(trace, trace->step_name), "train");
    assert_int_equal(trace->ranges.end[0], 900);
    assert_string_equal(nvt_name(trace, trace->threads.name[trace->ranges.thread[0]]), "python");
    assert_non_null(strstr(trace->notes, "derived lanes"));
    nvt_trace_free(trace);
}

static void a_cut_file_has_its_whole_planes(void **state)
{
    (void)state;
    put_all();
    file.size -= 10;
    struct nvt_trace *trace = kit_read(written("t.xplane.pb"));
    assert_int_equal(trace->ranges.count, 1);
    assert_int_equal(trace->apis.count, 1);
    assert_int_equal(trace->ops.count, 0);
    assert_non_null(strstr(trace->warning, "ends in the middle"));
    assert_true(trace->is_truncated);
    nvt_trace_free(trace);
}

static void times_out_of_range_are_left_out(void **state)
{
    (void)state;
    nvt_proto_number(&event, 2, UINT64_MAX);
    nvt_proto_message(&line, 4, &event);
    nvt_proto_number(&event, 2, 5000);
    nvt_proto_number(&event, 3, UINT64_MAX);
    nvt_proto_message(&line, 4, &event);
    put_event(1, 5, 5);
    put_line(1, "python", 0);
    define(4, 1, "good");
    put_plane("/host:CPU");
    struct nvt_trace *trace = kit_read(written("t.xplane.pb"));
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "good");
    assert_non_null(strstr(trace->notes, "(2)"));
    nvt_trace_free(trace);
}

/* The first line begins as late as numbers go, the second as early: their difference is no number. */
static void a_line_may_begin_nowhere(void **state)
{
    (void)state;
    const uint64_t zero = UINT64_C(1700000000000000000); /* of put_line */
    put_event(1, 5, 5);
    put_line(1, "python", INT64_MAX - zero);
    put_event(2, 5, 5);
    put_line(2, "nowhere", (UINT64_C(1) << 63) - zero);
    define(4, 1, "good");
    define(4, 2, "bad");
    put_plane("/host:CPU");
    struct nvt_trace *trace = kit_read(written("t.xplane.pb"));
    assert_int_equal(trace->ranges.count, 1);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "good");
    nvt_trace_free(trace);
}

static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    put_all();
    kit_survives_changed_bytes(written("whole.xplane.pb"), "changed.xplane.pb", 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(hosts_and_devices),
        TEST(a_cut_file_has_its_whole_planes),
        TEST(times_out_of_range_are_left_out),
        TEST(a_line_may_begin_nowhere),
        TEST(changed_bytes_do_no_harm),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
