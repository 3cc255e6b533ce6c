/* The lanes of `view`: every row of a trace is on one, in which order they stand, and what a page weighs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/view/server.h"
#include "../lib/count_of.h"
#include "made_trace.h"
#include "viewer_kit.h"

static int64_t time_of(const int64_t *start, const int64_t *end, uint32_t count)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < count; i++)
        ns += end[i] - start[i];
    return ns;
}

/* Every row of the trace's tables is on a lane. */
static void test_lanes(void **state)
{
    (void)state;
    struct shown shown;
    viewer_show(&shown, viewer_made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    const struct nvt_trace *trace = scene->trace;
    int64_t ns;
#define EXPECT_ALL(kind, table)                                                                    \
    do {                                                                                           \
        assert_true(trace->table.count > 0);                                                       \
        assert_int_equal(viewer_spans_of(scene, kind, &ns), trace->table.count);                   \
        assert_int_equal(ns, time_of(trace->table.start, trace->table.end, trace->table.count));   \
    } while (0)
    EXPECT_ALL(NVT_VIEW_RANGES, ranges);
    EXPECT_ALL(NVT_VIEW_CALLS, apis);
    EXPECT_ALL(NVT_VIEW_OS_CALLS, os_calls);
    EXPECT_ALL(NVT_VIEW_STREAM, ops);
    assert_true(viewer_spans_of(scene, NVT_VIEW_GAPS, &ns) > 0);
    assert_true(viewer_spans_of(scene, NVT_VIEW_PATH, &ns) > 0);
    assert_int_equal(viewer_spans_of(scene, NVT_VIEW_ITERATIONS, &ns), 8);
    assert_int_equal(scene->lanes[0].kind, NVT_VIEW_ITERATIONS);
    viewer_hide(&shown);
}

/* A process that works comes first, then the machine, then what only started it. */
static void test_order(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    struct nvt_trace *trace = maker.trace;
    make_resident(&maker, 1000, 1e6); /* of the shell */
    const struct nvt_counter busy = {.process = maker.process,
                                     .name = nvt_strings_add_text(trace->strings, "at work"),
                                     .is_of_machine = 1};
    const uint32_t counter = nvt_counter_add(trace, &busy);
    const struct nvt_counter_sample sample = {
        .time = 1000, .counter = counter, .thread = maker.thread, .value = 3};
    assert_int_not_equal(nvt_counter_sample_add(trace, &sample), NVT_NONE);
    make_process(&maker, 2, 0);
    make_resident(&maker, 1000, 2e6);
    maker.now += 1000;
    make_range(&maker, "work", 1000);
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    static const struct {
        enum nvt_view_kind kind;
        uint32_t process;
    } wanted[] = {{NVT_VIEW_RANGES, 1},
                  {NVT_VIEW_COUNTER, 1},
                  {NVT_VIEW_COUNTER, NVT_NONE},
                  {NVT_VIEW_COUNTER, 0}};
    assert_int_equal(scene->count, NVT_COUNT_OF(wanted));
    for (uint32_t i = 0; i < scene->count; i++) {
        assert_int_equal(scene->lanes[i].kind, wanted[i].kind);
        assert_int_equal(scene->lanes[i].process, wanted[i].process);
    }
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_lanes(&shown.viewer, &out), 0);
    assert_non_null(strstr(viewer_text_of(&out), "\"label\":\"at work\",\"process\":\"machine\""));
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* Ranks by their numbers, whoever was first; then a process that has none. */
static void test_ranks(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_range(&maker, "work", 0);
    for (int64_t i = 2; i <= 3; i++) {
        make_process(&maker, i, 0);
        maker.now += 1000;
        make_range(&maker, "work", 1000);
    }
    maker.trace->processes.rank[0] = NVT_NONE;
    maker.trace->processes.rank[1] = 1;
    maker.trace->processes.rank[2] = 0;
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    static const uint32_t wanted[] = {2, 1, 0};
    assert_int_equal(scene->count, NVT_COUNT_OF(wanted));
    for (uint32_t i = 0; i < scene->count; i++)
        assert_int_equal(scene->lanes[i].process, wanted[i]);
    viewer_hide(&shown);
}

/* Samples as a flame chart: functions run as long as successive samples have them in the same place. */
static void test_flame(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_range(&maker, "work", maker.now);
    const uint32_t outer = make_function(&maker, 0, "main", NULL),
                   inner = make_function(&maker, outer, "copy", NULL),
                   other = make_function(&maker, outer, "sort", NULL);
    make_sample(&maker, maker.thread, 1000000, 1000000, inner);
    make_sample(&maker, maker.thread, 2000100, 1000000, inner); /* a timer is late */
    make_sample(&maker, maker.thread, 3000100, 1000000, other);
    make_sample(&maker, maker.thread, 9000000, 1000000, other); /* a break */
    make_sample(&maker, maker.thread, 9500000, 0, 0);           /* no stack, no period */
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    const struct nvt_tracks *tracks = NULL;
    for (uint32_t i = 0; i < scene->count; i++)
        if (scene->lanes[i].kind == NVT_VIEW_SAMPLES)
            tracks = &scene->lanes[i].tracks;
    assert_non_null(tracks);
    assert_int_equal(tracks->count, 2);
    const int64_t expected[][2] = {{0, 3000100}, {8000000, 9000000}, {9500000, 9500000}};
    assert_int_equal(tracks->items[0].count, 3);
    for (uint32_t i = 0; i < NVT_COUNT_OF(expected); i++) {
        assert_int_equal(nvt_track_start(&tracks->items[0], i), expected[i][0]);
        assert_int_equal(nvt_track_end(&tracks->items[0], i), expected[i][1]);
    }
    const char *const names[] = {"copy", "sort", "sort"};
    assert_int_equal(tracks->items[1].count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(nvt_scene_name(scene, nvt_track_name(&tracks->items[1], i)), names[i]);
    assert_int_equal(nvt_track_end(&tracks->items[1], 0), 2000100);
    viewer_hide(&shown);
}

/* A page of a trace loads at once, and goes with a document: script, style and frame in 120 KB. */
static void test_size(void **state)
{
    (void)state;
    size_t size = 0;
    for (const char *const *name = (const char *const[]){"", "view.js", "view.css", NULL}; *name;
         name++) {
        const struct nvt_view_file *file = nvt_view_file(*name);
        assert_non_null(file);
        size += (size_t)(file->end - file->text);
    }
    assert_true(size > 10000 && size < 120000);
}

/* Rows are not copied: only idle time and the path, of which there are many here, are the lanes' own. */
static void test_memory(void **state)
{
    (void)state;
    struct shown shown;
    struct program program = {.iterations = 500, .kernels = 50, .kernel_ns = 2000};
    viewer_show(&shown, make_program(&program));
    const struct nvt_trace *trace = shown.item.trace;
    const uint64_t events = (uint64_t)trace->ranges.count + trace->apis.count + trace->ops.count;
    assert_true(events > 50000);
    assert_true(nvt_scene_bytes(&shown.viewer.scenes[0]) < 50 * events);
    viewer_hide(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes), cmocka_unit_test(test_order),  cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_flame), cmocka_unit_test(test_memory), cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
