/* The answers of `view`: they add up, hits and windows are found, and questions about nothing are refused. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/kernel_class.h"
#include "../analyze/model/window.h"
#include "../analyze/view/server.h"
#include "../lib/count_of.h"
#include "made_trace.h"
#include "viewer_kit.h"

/* --- a viewer ---------------------------------------------------------------------------------- */

static int answer_window(const struct nvt_viewer *viewer, int64_t from, int64_t to,
                         struct nvt_buffer *out)
{
    const struct nvt_view_window window = {0, from, to};
    return nvt_answer_window(viewer, &window, 1, out);
}

static int answer_find(const struct nvt_viewer *viewer, const char *text, int64_t moment,
                       struct nvt_buffer *out)
{
    const struct nvt_view_from from = {moment, UINT32_MAX, 0, 0};
    return nvt_answer_find(viewer, text, &from, out);
}

/* --- answers ----------------------------------------------------------------------------------- */

/* Names may hold anything: the answer is JSON without a control character, and has the name. */
static void test_hostile_names(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const int64_t start = maker.now;
    maker.now += 1000;
    make_range(&maker, "</script><script>alert(1)</script>\"\\\x01\x1b[31m\xff", start);
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_tiles(&shown.viewer, 0, 100000, 10, "0", &out), 0);
    assert_int_equal(answer_find(&shown.viewer, "ALERT", 0, &out), 0);
    assert_int_equal(nvt_answer_event(&shown.viewer, 0, 0, 0, &out), 0);
    assert_int_equal(answer_window(&shown.viewer, 0, 100000, &out), 0);
    const char *text = viewer_text_of(&out);
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= ' ');
    assert_non_null(
        strstr(text, "<script>alert(1)</script>\\\"\\\\\\u0001\\u001b[31m\xef\xbf\xbd"));
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* Calls of MPI and of the system have tables of their own, of those that begin in the window. */
static void test_window_of_calls(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    make_range(&maker, "all", maker.now);
    const int64_t begin = maker.now;
    for (int i = 0; i < 3; i++)
        make_mpi_call(&maker, 7000);
    make_os_call(&maker, "read", maker.thread, maker.now, maker.now + 500);
    make_os_call(&maker, "read", maker.thread, maker.now + 600, maker.now + 900);
    const int64_t last = maker.now + 1000;
    make_os_call(&maker, "poll", maker.thread, last, last + 100);
    maker.now = last + 1000;
    make_range(&maker, "all", begin);
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    const int64_t shift = shown.viewer.shifts[0];
    struct nvt_buffer out = {0};
    assert_int_equal(answer_window(&shown.viewer, 0, last - 1 + shift, &out), 0);
    const char *text = viewer_text_of(&out);
    assert_non_null(strstr(text, "\"mpi\":[[\"MPI_Allreduce\",3,21000]]"));
    assert_non_null(strstr(text, "\"os\":[[\"read\",2,800]]"));
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* Two sides: each has its own axis and loop; a comparison has the figures of both windows, by their difference. */
static void test_sides(void **state)
{
    (void)state;
    struct program programs[2] = {
        {.iterations = 8, .host_ns = 300000, .kernels = 20, .kernel_ns = 4000},
        {.iterations = 6, .host_ns = 300000, .kernels = 20, .kernel_ns = 9000}};
    struct nvt_input_trace items[2] = {{.trace = make_program(&programs[0])},
                                       {.trace = make_program(&programs[1])}};
    struct nvt_input inputs[2] = {{.traces = &items[0], .trace_count = 1},
                                  {.traces = &items[1], .trace_count = 1}};
    struct nvt_viewer viewer = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_viewer_make(&viewer, inputs, 2, &err), 0);
    const struct nvt_view_window windows[] = {
        {0, viewer.sides[0].loop[0], viewer.sides[0].loop[1]},
        {1, viewer.sides[1].loop[0], viewer.sides[1].loop[1]}};
    assert_int_equal(viewer.sides[0].iterations, 8);
    assert_int_equal(viewer.sides[1].iterations, 6);
    assert_int_equal(nvt_answer_window(&viewer, windows, 2, &out), 0);
    /* Of 4,000 and 9,000 ns each. */
    const char *operations = strstr(viewer_text_of(&out), "\"operations\":[[");
    char expected[64];
    snprintf(expected, sizeof(expected), ",%d,%d,%d,%d]", 8 * 20, 8 * 20 * 4000, 6 * 20,
             6 * 20 * 9000);
    assert_non_null(operations);
    if (!strstr(operations, expected))
        fail_msg("no %s in %.300s", expected, operations);
    const struct nvt_view_window no_side = {2, 0, 1};
    assert_int_equal(nvt_answer_window(&viewer, &no_side, 1, &out), 1);
    nvt_buffer_free(&out);
    nvt_viewer_free(&viewer);
    for (size_t i = 0; i < 2; i++) {
        nvt_buffer_free(&inputs[i].notes);
        nvt_trace_free(items[i].trace);
    }
}

struct hit {
    uint64_t place, lane, track;
    int64_t start;
};

/* The next event of a text, from another one on. */
static struct hit next_hit(const struct nvt_viewer *viewer, const char *text, struct hit from,
                           int is_back)
{
    const struct nvt_view_from at = {from.start, (uint32_t)from.lane, (uint32_t)from.track,
                                     is_back};
    struct nvt_buffer out = {0};
    struct hit hit;
    assert_int_equal(nvt_answer_find(viewer, text, &at, &out), 0);
    const char *next = strstr(viewer_text_of(&out), ",\"place\":");
    assert_non_null(next);
    assert_int_equal(sscanf(next,
                            ",\"place\":%" SCNu64 ",\"next\":[%*u,\"%*[^\"]\",%*u,%" SCNu64
                            ",%" SCNu64 ",%*u,%" SCNd64,
                            &hit.place, &hit.lane, &hit.track, &hit.start),
                     4);
    nvt_buffer_free(&out);
    return hit;
}

/* From hit to hit, forward and back, each event of all names comes once, those that begin at the same moment too. */
static void test_hits(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    for (int i = 0; i < 5; i++) {
        const int64_t start = maker.now;
        maker.now += 1000;
        make_range(&maker, i % 2 ? "attention" : "mention", start);
        make_range(&maker, "intent", start); /* around it, from the same moment on */
        maker.now += 1000;
    }
    struct shown shown;
    viewer_show(&shown, make_end(&maker));
    struct hit at = {.start = -1, .lane = UINT32_MAX};
    for (uint64_t i = 1; i <= 11; i++) {
        const struct hit before = at;
        at = next_hit(&shown.viewer, "TENT", at, 0);
        assert_int_equal(at.place, (i - 1) % 7 + 1); /* 5 of intent, 2 of attention */
        assert_true(i == 1 || i == 8 || at.start > before.start ||
                    (at.start == before.start && at.track > before.track));
    }
    for (uint64_t i = 3; i > 0; i--)
        at = next_hit(&shown.viewer, "TENT", at, 1), assert_int_equal(at.place, i);
    at = next_hit(&shown.viewer, "TENT", at, 1);
    assert_int_equal(at.place, 7);
    struct nvt_buffer out = {0};
    assert_int_equal(answer_find(&shown.viewer, "nowhere", 0, &out), 0);
    assert_string_equal(viewer_text_of(&out), "{\"names\":[],\"spans\":0}\n");
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* What was cut before its API calls: nothing is known of why a device was idle, and rules are named that could not look. */
static void test_unknown_causes(void **state)
{
    (void)state;
    struct nvt_trace *trace = viewer_made_loop();
    for (uint32_t i = 0; i < trace->ops.count; i++)
        trace->ops.api[i] = NVT_NONE;
    trace->apis.count = 0;
    struct shown shown;
    viewer_show(&shown, trace);
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    uint32_t gaps = 0;
    for (uint32_t i = 0; i < scene->count; i++) {
        const struct nvt_tracks *tracks = &scene->lanes[i].tracks;
        for (uint32_t k = 0; scene->lanes[i].kind == NVT_VIEW_GAPS && k < tracks->items[0].count;
             k++, gaps++)
            assert_string_equal(nvt_scene_name(scene, nvt_track_name(&tracks->items[0], k)),
                                "cause unknown");
    }
    assert_true(gaps > 0);
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_findings(&shown.viewer, &out), 0);
    const char *looked = strstr(viewer_text_of(&out), "\"looked\":[[\"");
    assert_non_null(looked);
    assert_non_null(strstr(looked, " rules looked at iterations 5 to 8 of 8\""));
    assert_non_null(strstr(looked, " rules skipped: no API calls in the trace"));
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* A finding's moment names the event that begins then, by its lane among those of a viewer without critical paths. */
static void test_moments(void **state)
{
    (void)state;
    struct shown shown;
    viewer_show(&shown, viewer_made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_findings(&shown.viewer, &out), 0);
    const char *at = viewer_text_of(&out);
    size_t moments = 0;
    for (; (at = strstr(at, "{\"at\":")); moments++) {
        int64_t moment, end;
        uint32_t lane, track, row, own = 0;
        if (sscanf(at,
                   "{\"at\":%" SCNd64 ",\"lane\":%" SCNu32 ",\"track\":%" SCNu32 ",\"row\":%" SCNu32
                   ",\"end\":%" SCNd64,
                   &moment, &lane, &track, &row, &end) == 5) {
            while (scene->lanes[own].kind == NVT_VIEW_PATH || lane--)
                own++;
            const struct nvt_track *of = &scene->lanes[own].tracks.items[track];
            const uint32_t span = nvt_track_from(of, 0, moment - shown.viewer.shifts[0]);
            assert_int_equal(of->row[span], row);
            assert_int_equal(nvt_track_end(of, span) + shown.viewer.shifts[0], end);
        }
        at++;
    }
    assert_true(moments > 0);
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* Two programs on one axis: the first view has the loops of both, and all of one that has none. */
static void test_loops(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const int64_t start = maker.now;
    maker.now += 50000000;
    make_range(&maker, "work", start);
    struct nvt_input_trace items[2] = {{.trace = viewer_made_loop()}, {.trace = make_end(&maker)}};
    struct nvt_input input = {.traces = items, .trace_count = 2};
    struct nvt_viewer viewer = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_viewer_make(&viewer, &input, 1, &err), 0);
    const struct nvt_view_side *side = &viewer.sides[0];
    assert_int_equal(side->iterations, 8);
    const struct nvt_scene *scene = &viewer.scenes[1];
    const struct nvt_track *track = &scene->lanes[0].tracks.items[0];
    assert_true(side->loop[0] <= nvt_track_start(track, 0) + viewer.shifts[1]);
    assert_int_equal(side->loop[1], nvt_track_end(track, 0) + viewer.shifts[1]);
    assert_true(side->loop[0] <= side->median[0] && side->longest[1] <= side->loop[1]);
    nvt_buffer_free(&input.notes);
    nvt_viewer_free(&viewer);
    for (size_t i = 0; i < 2; i++)
        nvt_trace_free(items[i].trace);
}

/* The axis of a window counts from where the whole trace begins; one in which nothing begins has no time of its own. */
static void test_windows(void **state)
{
    (void)state;
    static const char *const times[] = {"2ms/", "100s/"};
    for (size_t i = 0; i < NVT_COUNT_OF(times); i++) {
        struct nvt_window window = {0};
        struct nvt_error err = NVT_ERROR_INIT;
        struct maker maker = make_begin();
        const int64_t start = maker.now;
        maker.now += 50000000;
        make_range(&maker, "work", start);
        struct nvt_trace *trace = make_end(&maker);
        if (!i) {
            nvt_trace_free(trace);
            trace = viewer_made_loop();
        }
        const int64_t begin = trace->first_ns;
        assert_int_equal(nvt_window_set_time(&window, times[i], &err), 0);
        assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
        struct shown shown;
        viewer_show(&shown, trace);
        const struct nvt_view_side *side = &shown.viewer.sides[0];
        struct nvt_buffer out = {0};
        assert_int_equal(nvt_answer_lanes(&shown.viewer, &out), 0);
        const char *answer = viewer_text_of(&out);
        assert_non_null(strstr(answer, "\"is_window\":1"));
        if (i) {
            assert_int_equal(side->begin, 0);
            assert_int_equal(side->end, 0);
            assert_non_null(strstr(answer, "\"lanes\":[]"));
        } else {
            assert_true(side->begin >= 2000000);
            assert_int_equal(side->begin, trace->first_ns - begin);
            assert_int_equal(side->end, trace->last_ns - begin);
            assert_int_equal(shown.viewer.shifts[0], -begin);
        }
        nvt_buffer_free(&out);
        viewer_hide(&shown);
    }
}

/* Names of operations come with their class. */
static void test_classes(void **state)
{
    (void)state;
    struct shown shown;
    viewer_show(&shown, viewer_made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    size_t copies = 0;
    for (uint32_t i = 0; i < scene->trace->ops.count; i++) {
        const uint8_t class = scene->classes[nvt_op_name(scene->trace, i)];
        assert_int_equal(class, 1 + nvt_kernel_class_of(scene->trace, i));
        copies += class == 1 + NVT_CLASS_COPY;
    }
    assert_true(copies > 0 && copies < scene->trace->ops.count);
    viewer_hide(&shown);
}

/* Questions about nothing are refused, whatever the numbers. */
static void test_nothing(void **state)
{
    (void)state;
    struct shown shown;
    viewer_show(&shown, viewer_made_loop());
    const struct nvt_viewer *viewer = &shown.viewer;
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_tiles(viewer, 0, 0, 10, "0", &out), 1);
    assert_int_equal(nvt_answer_tiles(viewer, INT64_MIN, INT64_MAX, 10, "0", &out), 1);
    assert_int_equal(nvt_answer_tiles(viewer, 0, 10, 0, "0", &out), 1);
    const char *const lists[] = {"999", "-1", "0,", "0,x", "x", "0 1", ",", "99999999999999999999"};
    for (size_t i = 0; i < NVT_COUNT_OF(lists); i++) {
        const int refused = nvt_answer_tiles(viewer, 0, 10, 10, lists[i], &out);
        assert_int_equal(refused, strcmp(lists[i], "0,") != 0);
    }
    assert_int_equal(nvt_answer_tiles(viewer, 0, 10, 10, "", &out), 0);
    assert_int_equal(nvt_answer_event(viewer, 9999, 0, 0, &out), 1);
    assert_int_equal(nvt_answer_event(viewer, 0, 9999, 0, &out), 1);
    assert_int_equal(nvt_answer_event(viewer, 0, 0, UINT32_MAX, &out), 1);
    assert_int_equal(answer_window(viewer, 10, 0, &out), 1);
    assert_int_equal(answer_window(viewer, INT64_MIN, 0, &out), 1);
    assert_int_equal(answer_find(viewer, "", 0, &out), 1);
    assert_int_equal(answer_find(viewer, "k", INT64_MAX, &out), 1);
    nvt_buffer_free(&out);
    viewer_hide(&shown);
}

/* All events of all lanes can be asked about. */
static void test_events(void **state)
{
    (void)state;
    struct shown shown;
    viewer_show(&shown, viewer_made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    int linked = 0, within = 0;
    for (uint32_t lane = 0; lane < scene->count; lane++)
        for (uint32_t t = 0; t < scene->lanes[lane].tracks.count; t++) {
            const struct nvt_track *track = &scene->lanes[lane].tracks.items[t];
            for (uint32_t i = 0; i < track->count; i += 7) {
                struct nvt_buffer out = {0};
                assert_int_equal(nvt_answer_event(&shown.viewer, lane, t, track->row[i], &out), 0);
                const char *text = viewer_text_of(&out);
                linked += strstr(text, "\"launched by\"") && strstr(text, "\"what\":") ? 1 : 0;
                within += strstr(text, "\"path\":[{\"name\":\"iteration\"") ? 1 : 0;
                nvt_buffer_free(&out);
            }
        }
    assert_true(linked > 10 && within > 10);
    viewer_hide(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names),  cmocka_unit_test(test_window_of_calls),
        cmocka_unit_test(test_sides),          cmocka_unit_test(test_hits),
        cmocka_unit_test(test_unknown_causes), cmocka_unit_test(test_moments),
        cmocka_unit_test(test_loops),          cmocka_unit_test(test_windows),
        cmocka_unit_test(test_classes),        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
