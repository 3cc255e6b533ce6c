/*
 * `view`: answers add up and agree with the reports; the server gives nothing to who lacks the token, and survives clients
 * that break off; the command ends by Ctrl-C and says in one line what it cannot do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/device/kernel_class.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../analyze/view/server.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "view_kit.h"

#define TRAIN "docs/results/h100/traces/train.nvt"

/* --- a viewer ---------------------------------------------------------------------------------- */

struct shown {
    struct nvt_input_trace item;
    struct nvt_input input;
    struct nvt_viewer viewer;
    struct nvt_editions *editions; /* of a server, else NULL */
};

static void show(struct shown *shown, struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    *shown = (struct shown){.item = {.trace = trace}};
    shown->input = (struct nvt_input){.traces = &shown->item, .trace_count = 1};
    assert_int_equal(nvt_viewer_make(&shown->viewer, &shown->input, 1, &err), 0);
}

static void hide(struct shown *shown)
{
    struct nvt_trace *trace = shown->item.trace;
    nvt_editions_free(shown->editions);
    nvt_viewer_free(&shown->viewer);
    nvt_buffer_free(&shown->input.notes);
    nvt_trace_free(trace);
}

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

static const char *text_of(struct nvt_buffer *buffer)
{
    assert_int_equal(nvt_buffer_append(buffer, "", 1), 0);
    return (const char *)buffer->data;
}

static struct nvt_trace *made_loop(void)
{
    struct program program = {.iterations = 8,
                              .host_ns = 300000,
                              .kernels = 20,
                              .kernel_ns = 4000,
                              .busy = "deepcopy",
                              .busy_ns = 400000,
                              .os_call = "read",
                              .os_ns = 200000,
                              .leak_bytes = 1000,
                              .copies = 2,
                              .copy_ns = 3000,
                              .copy_bytes = 1 << 20};
    return make_program(&program);
}

/* --- lanes ------------------------------------------------------------------------------------- */

static uint64_t spans_of(const struct nvt_scene *scene, enum nvt_view_kind kind, int64_t *ns)
{
    uint64_t count = 0;
    *ns = 0;
    for (uint32_t i = 0; i < scene->count; i++)
        for (uint32_t t = 0; t < scene->lanes[i].tracks.count; t++)
            if (scene->lanes[i].kind == kind) {
                count += scene->lanes[i].tracks.items[t].count;
                *ns += nvt_track_sum(&scene->lanes[i].tracks.items[t], 0,
                                     scene->lanes[i].tracks.items[t].count);
            }
    return count;
}

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
    show(&shown, made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    const struct nvt_trace *trace = scene->trace;
    int64_t ns;
#define EXPECT_ALL(kind, table)                                                                    \
    do {                                                                                           \
        assert_true(trace->table.count > 0);                                                       \
        assert_int_equal(spans_of(scene, kind, &ns), trace->table.count);                          \
        assert_int_equal(ns, time_of(trace->table.start, trace->table.end, trace->table.count));   \
    } while (0)
    EXPECT_ALL(NVT_VIEW_RANGES, ranges);
    EXPECT_ALL(NVT_VIEW_CALLS, apis);
    EXPECT_ALL(NVT_VIEW_OS_CALLS, os_calls);
    EXPECT_ALL(NVT_VIEW_STREAM, ops);
    assert_true(spans_of(scene, NVT_VIEW_GAPS, &ns) > 0);
    assert_true(spans_of(scene, NVT_VIEW_PATH, &ns) > 0);
    assert_int_equal(spans_of(scene, NVT_VIEW_ITERATIONS, &ns), 8);
    assert_int_equal(scene->lanes[0].kind, NVT_VIEW_ITERATIONS);
    hide(&shown);
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
    show(&shown, make_end(&maker));
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
    assert_non_null(strstr(text_of(&out), "\"label\":\"at work\",\"process\":\"machine\""));
    nvt_buffer_free(&out);
    hide(&shown);
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
    show(&shown, make_end(&maker));
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    static const uint32_t wanted[] = {2, 1, 0};
    assert_int_equal(scene->count, NVT_COUNT_OF(wanted));
    for (uint32_t i = 0; i < scene->count; i++)
        assert_int_equal(scene->lanes[i].process, wanted[i]);
    hide(&shown);
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
    show(&shown, make_end(&maker));
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
    hide(&shown);
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
    show(&shown, make_program(&program));
    const struct nvt_trace *trace = shown.item.trace;
    const uint64_t events = (uint64_t)trace->ranges.count + trace->apis.count + trace->ops.count;
    assert_true(events > 50000);
    assert_true(nvt_scene_bytes(&shown.viewer.scenes[0]) < 50 * events);
    hide(&shown);
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
    show(&shown, make_end(&maker));
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_tiles(&shown.viewer, 0, 100000, 10, "0", &out), 0);
    assert_int_equal(answer_find(&shown.viewer, "ALERT", 0, &out), 0);
    assert_int_equal(nvt_answer_event(&shown.viewer, 0, 0, 0, &out), 0);
    assert_int_equal(answer_window(&shown.viewer, 0, 100000, &out), 0);
    const char *text = text_of(&out);
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= ' ');
    assert_non_null(
        strstr(text, "<script>alert(1)</script>\\\"\\\\\\u0001\\u001b[31m\xef\xbf\xbd"));
    nvt_buffer_free(&out);
    hide(&shown);
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
    show(&shown, make_end(&maker));
    const int64_t shift = shown.viewer.shifts[0];
    struct nvt_buffer out = {0};
    assert_int_equal(answer_window(&shown.viewer, 0, last - 1 + shift, &out), 0);
    const char *text = text_of(&out);
    assert_non_null(strstr(text, "\"mpi\":[[\"MPI_Allreduce\",3,21000]]"));
    assert_non_null(strstr(text, "\"os\":[[\"read\",2,800]]"));
    nvt_buffer_free(&out);
    hide(&shown);
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
    const char *operations = strstr(text_of(&out), "\"operations\":[[");
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
    const char *next = strstr(text_of(&out), ",\"place\":");
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
    show(&shown, make_end(&maker));
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
    assert_string_equal(text_of(&out), "{\"names\":[],\"spans\":0}\n");
    nvt_buffer_free(&out);
    hide(&shown);
}

/* What was cut before its API calls: nothing is known of why a device was idle, and rules are named that could not look. */
static void test_unknown_causes(void **state)
{
    (void)state;
    struct nvt_trace *trace = made_loop();
    for (uint32_t i = 0; i < trace->ops.count; i++)
        trace->ops.api[i] = NVT_NONE;
    trace->apis.count = 0;
    struct shown shown;
    show(&shown, trace);
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
    const char *looked = strstr(text_of(&out), "\"looked\":[[\"");
    assert_non_null(looked);
    assert_non_null(strstr(looked, " rules looked at iterations 5 to 8 of 8\""));
    assert_non_null(strstr(looked, " rules skipped: no API calls in the trace"));
    nvt_buffer_free(&out);
    hide(&shown);
}

/* A finding's moment names the event that begins then, by its lane among those of a viewer without critical paths. */
static void test_moments(void **state)
{
    (void)state;
    struct shown shown;
    show(&shown, made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    struct nvt_buffer out = {0};
    assert_int_equal(nvt_answer_findings(&shown.viewer, &out), 0);
    const char *at = text_of(&out);
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
    hide(&shown);
}

/* Two programs on one axis: the first view has the loops of both, and all of one that has none. */
static void test_loops(void **state)
{
    (void)state;
    struct maker maker = make_begin();
    const int64_t start = maker.now;
    maker.now += 50000000;
    make_range(&maker, "work", start);
    struct nvt_input_trace items[2] = {{.trace = made_loop()}, {.trace = make_end(&maker)}};
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
            trace = made_loop();
        }
        const int64_t begin = trace->first_ns;
        assert_int_equal(nvt_window_set_time(&window, times[i], &err), 0);
        assert_int_equal(nvt_window_cut(&window, trace, &err), 0);
        struct shown shown;
        show(&shown, trace);
        const struct nvt_view_side *side = &shown.viewer.sides[0];
        struct nvt_buffer out = {0};
        assert_int_equal(nvt_answer_lanes(&shown.viewer, &out), 0);
        const char *answer = text_of(&out);
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
        hide(&shown);
    }
}

/* Names of operations come with their class. */
static void test_classes(void **state)
{
    (void)state;
    struct shown shown;
    show(&shown, made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    size_t copies = 0;
    for (uint32_t i = 0; i < scene->trace->ops.count; i++) {
        const uint8_t class = scene->classes[nvt_op_name(scene->trace, i)];
        assert_int_equal(class, 1 + nvt_kernel_class_of(scene->trace, i));
        copies += class == 1 + NVT_CLASS_COPY;
    }
    assert_true(copies > 0 && copies < scene->trace->ops.count);
    hide(&shown);
}

/* Questions about nothing are refused, whatever the numbers. */
static void test_nothing(void **state)
{
    (void)state;
    struct shown shown;
    show(&shown, made_loop());
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
    hide(&shown);
}

/* All events of all lanes can be asked about. */
static void test_events(void **state)
{
    (void)state;
    struct shown shown;
    show(&shown, made_loop());
    const struct nvt_scene *scene = &shown.viewer.scenes[0];
    int linked = 0, within = 0;
    for (uint32_t lane = 0; lane < scene->count; lane++)
        for (uint32_t t = 0; t < scene->lanes[lane].tracks.count; t++) {
            const struct nvt_track *track = &scene->lanes[lane].tracks.items[t];
            for (uint32_t i = 0; i < track->count; i += 7) {
                struct nvt_buffer out = {0};
                assert_int_equal(nvt_answer_event(&shown.viewer, lane, t, track->row[i], &out), 0);
                const char *text = text_of(&out);
                linked += strstr(text, "\"launched by\"") && strstr(text, "\"what\":") ? 1 : 0;
                within += strstr(text, "\"path\":[{\"name\":\"iteration\"") ? 1 : 0;
                nvt_buffer_free(&out);
            }
        }
    assert_true(linked > 10 && within > 10);
    hide(&shown);
}

/* --- the server -------------------------------------------------------------------------------- */

static struct nvt_view_server *serve(struct shown *shown)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    show(shown, made_loop());
    shown->editions = nvt_editions_of(&shown->viewer);
    assert_non_null(shown->editions);
    struct nvt_view_server *server = nvt_view_serve(shown->editions, 0, &err);
    assert_non_null(server);
    return server;
}

static void test_token(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    char path[256], token[64];
    assert_int_equal(sscanf(address, "http://127.0.0.1:%*d/%32[0-9a-f]/", token), 1);
    assert_int_equal(strlen(token), 32);
    view_expect(view_ask(address, ""), 200, "<title>nvtally view</title>");
    view_expect(view_ask(address, "view.js"), 200, "Content-Type: text/javascript");
    view_expect(view_ask(address, "view.css"), 200, "default-src 'none'");
    const char *const without[] = {"/",
                                   "/lanes",
                                   "/view.js",
                                   "//",
                                   "/x/lanes",
                                   "/00000000000000000000000000000000/lanes",
                                   "/../../../../etc/passwd"};
    for (size_t i = 0; i < NVT_COUNT_OF(without); i++)
        view_expect(view_ask_with(address, "GET", without[i]), 403, "default-src 'none'");
    snprintf(path, sizeof(path), "/%.31s/lanes", token); /* a part of it, and one bit more */
    view_expect(view_ask_with(address, "GET", path), 403, NULL);
    token[31] = token[31] == '0' ? '1' : '0';
    snprintf(path, sizeof(path), "/%s/", token);
    view_expect(view_ask_with(address, "GET", path), 403, NULL);
    nvt_view_stop(server);
    hide(&shown);
}

/* A name of another site that leads to 127.0.0.1 gets nothing, even with the token; ssh -L comes from another port. */
static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int status;
    } hosts[] = {{"localhost", 200},
                 {"LocalHost:8000", 200},
                 {"127.0.0.1", 200},
                 {"127.0.0.1:1", 200},
                 {"[::1]", 200},
                 {"[::1]:65535", 200},
                 {"evil.com", 403},
                 {"evil.com:80", 403},
                 {"localhost.evil.com", 403},
                 {"localhost:80.evil.com", 403},
                 {"127.0.0.1.evil.com", 403},
                 {"evil.localhost", 403},
                 {"127.0.0.1:80@evil.com", 403},
                 {"", 403}};
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    for (size_t i = 0; i < NVT_COUNT_OF(hosts); i++)
        view_expect(view_ask_at(address, hosts[i].host, "GET", strchr(address + 8, '/')),
                    hosts[i].status, hosts[i].status == 200 ? "<title>" : "alone.");
    nvt_view_stop(server);
    hide(&shown);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
        const char *needle;
    } asked[] = {
        {"lanes", 200, "\"GPU 0 stream "},
        {"findings", 200, "{\"findings\":["},
        {"tiles?from=0&to=1000000&columns=100&lanes=0,1", 200, "\"tracks\":[["},
        {"window?from=0&to=1000000000", 200, ":iteration"},
        {"find?text=ITER&moment=0", 200, "\"iteration\",8,"},
        {"event?lane=0&track=0&row=0", 200, "\"kind\":\"iterations\""},
        {"tiles?from=0&to=1e6&columns=100&lanes=0", 400, NULL},
        {"tiles?from=0&to=99999999999999999999&columns=100&lanes=0", 400, NULL},
        {"tiles?from=0&to=1000&columns=100000000&lanes=0", 400, NULL},
        {"tiles", 400, NULL},
        {"tiles?from&to&columns&lanes", 400, NULL},
        {"window?from=5", 400, NULL},
        {"window?from=0&to=9&side=1", 400, NULL},
        {"window?from=0&to=9&with=1", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=x&with_to=9", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=0&with_to=9223372036854775807", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=5&with_to=4", 400, NULL},
        {"window?from=0&to=9&with=0&with_from=5&with_to=9", 200, "\"operations\":["},
        {"event?lane=0&track=0&row=-1", 400, NULL},
        {"find?moment=0", 400, NULL},
        {"find?text=ITER&moment=0&lane=x", 400, NULL},
        {"find?text=ITER&moment=0&lane=0&track=0&back=2", 400, NULL},
        {"find?text=ITER&moment=0&lane=0&track=0&back=1", 200, "\"place\":"},
        {"../../etc/passwd", 404, NULL},
        {"..%2f..%2fetc%2fpasswd", 404, NULL},
        {"/etc/passwd", 404, NULL},
        {"view.html", 404, NULL},
        {"lanes/", 404, NULL},
    };
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server), *path = strchr(address + 8, '/');
    for (size_t i = 0; i < NVT_COUNT_OF(asked); i++)
        view_expect(view_ask(address, asked[i].path), asked[i].status, asked[i].needle);
    view_expect(view_ask_with(address, "POST", path), 405, NULL);
    view_expect(view_ask_with(address, "DELETE", path), 405, NULL);
    view_expect(view_ask_with(address, "HEAD", path), 200, NULL);
    nvt_view_stop(server);
    hide(&shown);
}

/* Clients that send nothing, half a question, nonsense, or do not wait for the answer. */
static void test_broken_clients(void **state)
{
    (void)state;
    struct shown shown;
    struct nvt_view_server *server = serve(&shown);
    const char *address = nvt_view_address(server);
    char question[512];
    const int length =
        snprintf(question, sizeof(question), "GET %slanes HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 strchr(address + 8, '/'));
    int open[20];
    for (size_t i = 0; i < NVT_COUNT_OF(open); i++) {
        open[i] = view_connect(address);
        if (i % 4 == 1)
            assert_true(write(open[i], question, (size_t)length / 2) > 0);
        if (i % 4 == 2)
            assert_true(write(open[i], question, (size_t)length) > 0);
        if (i % 4 == 3)
            assert_true(write(open[i], "\0\xff\r\n\r\n\r\n", 8) > 0);
        if (i % 4 == 2) {
            const struct linger at_once = {1, 0}; /* closed by a reset, as a killed browser's are */
            setsockopt(open[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
            close(open[i]);
            open[i] = -1;
        }
    }
    view_expect(view_ask(address, "lanes"), 200, "\"lanes\":[");
    for (size_t i = 0; i < NVT_COUNT_OF(open); i++)
        if (open[i] >= 0)
            close(open[i]);
    view_expect(view_ask(address, "lanes"), 200, "\"lanes\":[");
    nvt_view_stop(server);
    hide(&shown);
}

/* --- the command ------------------------------------------------------------------------------- */

/* What a window's table says, "count,ns" of a name; NULL where it is not there. */
static const char *said_of(const char *answer, const char *name, char *out, size_t size)
{
    char key[16384];
    snprintf(key, sizeof(key), "[\"%s\",", name);
    const char *at = strstr(answer, key);
    if (!at)
        return NULL;
    at += strlen(key);
    if (*at == '"')
        at = strchr(at, ',') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, "]"), at);
    return out;
}

/* Every row of a report of the same window is in the answer, with its count and time. */
static size_t expect_report(const char *answer, const char *report, const char *window)
{
    const char *const argv[] = {"nvtally", "stats",         "-r",   report, "-f",
                                "tsv",     "--filter-time", window, TRAIN,  NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    size_t rows = 0;
    char *rest = strchr(result.out, '\n') + 1, expected[64], said[64];
    for (char *line; (line = strsep(&rest, "\n")) && *line; rows++) {
        int64_t total, count;
        assert_int_equal(sscanf(line, "%*s %" SCNd64 " %" SCNd64, &total, &count), 2);
        snprintf(expected, sizeof(expected), "%" PRId64 ",%" PRId64, count, total);
        if (!said_of(answer, strrchr(line, '\t') + 1, said, sizeof(said)))
            fail_msg("%s: the window lacks %s", report, line);
        assert_string_equal(said, expected);
    }
    cli_result_free(&result);
    return rows;
}

static void test_window_as_stats(void **state)
{
    (void)state;
    static const struct {
        const char *time, *question;
    } windows[] = {
        {"8700ms/8750ms", "window?from=8700000000&to=8750000000"},
        {"8500ms/8501ms", "window?from=8500000000&to=8501000000"},
        {"0s/10s", "window?from=0&to=10000000000"},
    };
    struct view_running view = view_run_of(TRAIN);
    size_t rows = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(windows); i++) {
        struct view_reply reply = view_ask(view.address, windows[i].question);
        assert_int_equal(reply.status, 200);
        rows += expect_report(reply.text, "nvtx_sum", windows[i].time);
        rows += expect_report(reply.text, "cuda_gpu_kern_sum", windows[i].time);
        rows += expect_report(reply.text, "cuda_api_sum", windows[i].time);
        free(reply.text);
    }
    assert_true(rows > 50);
    view_end(&view, SIGINT);
}

/* A file that grows is read again; one that cannot be read for a while leaves what there was; questions go on meanwhile. */
static void test_growing(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    const char *path = cli_in(cli_folder, "growing.nvt");
    cli_write_file(path, bytes, size / 2);
    struct view_running view = view_run_of(path);
    const char *const find = "find?text=e&moment=0", *const key = "\"spans\":";
    const uint64_t spans = view_number(view.address, find, key);
    assert_true(spans > 0);
    cli_write_file(path, "no trace at all", 15);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(view_number(view.address, find, key), spans);
        usleep(100000);
    }
    const uint64_t before = view_number(view.address, "edition", "\"edition\":");
    cli_write_file(path, bytes, size);
    for (int i = 0; view_number(view.address, "edition", "\"edition\":") == before; i++) {
        assert_true(i < 600);
        usleep(100000);
    }
    assert_true(view_number(view.address, find, key) > spans);
    view_end(&view, SIGINT);
    free(bytes);
}

/* A recording of which the first bytes stand for the beginning of a large one. */
#define LARGE       "large.nvt"
#define LARGE_BEGIN 4000

struct large {
    atomic_int whole, failed;
};

static int read_large(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                      struct nvt_error *err)
{
    const char *path = cli_in(cli_folder, LARGE);
    char *const paths[] = {(char *)(intptr_t)path};
    (void)context;
    inputs[0].beginning = beginning ? LARGE_BEGIN : 0;
    return nvt_input_add_all(&inputs[0], paths, 1, err) || nvt_input_traces(&inputs[0], err) ? -1
                                                                                             : 1;
}

static void large_is_whole(void *context, const struct nvt_edition *edition,
                           const struct nvt_error *err)
{
    struct large *large = context;
    (void)err;
    if (!edition || edition->is_beginning)
        atomic_store(&large->failed, 1);
    atomic_fetch_add(&large->whole, 1);
}

static uint32_t ranges_of(const char *path, int64_t beginning)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace =
        beginning ? nvt_trace_read_beginning(path, beginning, &err) : nvt_trace_read(path, &err);
    const uint32_t count = trace ? trace->ranges.count : 0;
    nvt_trace_free(trace);
    return count;
}

/* The beginning of a large file is there first, then the whole; what is shorter is read as a whole at once. */
static void test_beginning(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, LARGE);
    const char *const argv[] = {cli_built("nvtally"), "record", "-o", path, "--",
                                cli_client("life"),   "many",   NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct large large = {0};
    const struct nvt_edition_source source = {
        .read = read_large, .is_whole = large_is_whole, .context = &large};
    struct nvt_error err = NVT_ERROR_INIT;
    const uint32_t some = ranges_of(path, LARGE_BEGIN), all = ranges_of(path, 0);
    assert_true(some > 100 && some < all);
    assert_int_equal(ranges_of(path, 100 << 20), 0);
    assert_int_equal(ranges_of(TRAIN, 1000), 0); /* of a format that cannot be begun with */
    assert_int_equal(ranges_of("tests", 1), 0);
    struct nvt_editions *editions = nvt_editions_read(&source, &err);
    assert_non_null(editions);
    uint32_t last = 0;
    for (int i = 0; i < 600 && last != all; i++) {
        struct nvt_edition *edition = nvt_edition_take(editions);
        last = edition->viewer->traces[0]->trace->ranges.count;
        assert_int_equal(last, edition->number == 1 ? some : all);
        assert_int_equal(edition->is_beginning, edition->number == 1);
        assert_int_equal(edition->lacks_path && edition->number != 2, 0);
        nvt_edition_release(editions, edition);
        usleep(100000);
    }
    assert_int_equal(last, all);
    nvt_editions_free(editions);
    assert_int_equal(atomic_load(&large.whole), 1);
    assert_false(atomic_load(&large.failed));
}

/* What is read slowly, and fails where it shall: the train, behind its beginning or behind nothing. */
struct slow {
    atomic_int goes_on, fails, whole, failed;
    int has_beginning;
};

static int read_slowly(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                       struct nvt_error *err)
{
    struct slow *slow = context;
    char *const paths[] = {(char *)(intptr_t)TRAIN};
    if (beginning && !slow->has_beginning)
        return nvt_fail(err, "no beginning");
    while (!beginning && !atomic_load(&slow->goes_on))
        usleep(1000);
    if (!beginning && atomic_load(&slow->fails))
        return nvt_fail(err, "a \"broken\" file");
    return nvt_input_add_all(&inputs[0], paths, 1, err) || nvt_input_traces(&inputs[0], err) ? -1
                                                                                             : 1;
}

static void slow_is_whole(void *context, const struct nvt_edition *edition,
                          const struct nvt_error *err)
{
    struct slow *slow = context;
    (void)err;
    atomic_fetch_add(edition ? &slow->whole : &slow->failed, 1);
}

static struct nvt_editions *read_in_vain(struct slow *slow, int64_t patience_ms,
                                         struct nvt_error *err)
{
    const struct nvt_edition_source source = {.read = read_slowly,
                                              .is_whole = slow_is_whole,
                                              .context = slow,
                                              .bytes = 1 << 30,
                                              .patience_ms = patience_ms};
    return nvt_editions_read(&source, err);
}

/* What its state says, until it has a text. */
static void expect_state(const char *address, const char *needle)
{
    for (int i = 0;; i++) {
        struct view_reply reply = view_ask(address, "edition");
        assert_int_equal(reply.status, 200);
        const int is_there = strstr(reply.text, needle) != NULL;
        if (!is_there && i == 600)
            fail_msg("no %s in %s", needle, reply.text);
        free(reply.text);
        if (is_there)
            return;
        usleep(100000);
    }
}

static void wait_for_reading(struct nvt_editions *editions)
{
    for (int i = 0; nvt_editions_are_reading(editions); i++) {
        assert_true(i < 600);
        usleep(100000);
    }
}

static struct nvt_view_server *serve_editions(struct nvt_editions *editions)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_view_server *server = nvt_view_serve(editions, 0, &err);
    assert_non_null(server);
    return server;
}

/* While nothing has been read the server says how far it is; then lanes come without the critical path, and with it. */
static void test_slow(void **state)
{
    (void)state;
    struct slow slow = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    struct nvt_editions *editions = read_in_vain(&slow, 1, &err);
    assert_non_null(editions);
    struct nvt_view_server *server = serve_editions(editions);
    const char *address = nvt_view_address(server);
    expect_state(address,
                 "{\"edition\":0,\"is_beginning\":0,\"lacks_path\":0,\"same\":0,\"read\":");
    view_expect(view_ask(address, "lanes"), 400, NULL);
    view_expect(view_ask(address, "findings"), 400, NULL);
    assert_true(nvt_editions_are_reading(editions));
    atomic_store(&slow.goes_on, 1);
    expect_state(address, "{\"edition\":2,\"is_beginning\":0,\"lacks_path\":0,\"same\":1}");
    wait_for_reading(editions);
    struct nvt_edition *edition = nvt_edition_take(editions);
    struct nvt_viewer direct = {0};
    assert_int_equal(nvt_viewer_make(&direct, edition->base->inputs, 1, &err), 0);
    const struct nvt_scene *a = &direct.scenes[0], *b = &edition->viewer->scenes[0];
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->count, edition->base->viewer->scenes[0].count + 1);
    for (int kind = 0; kind < NVT_VIEW_KINDS; kind++) {
        int64_t ns, other;
        assert_int_equal(spans_of(a, (enum nvt_view_kind)kind, &ns),
                         spans_of(b, (enum nvt_view_kind)kind, &other));
        assert_int_equal(ns, other);
        assert_true(ns > 0 || kind != NVT_VIEW_PATH);
    }
    nvt_viewer_free(&direct);
    nvt_edition_release(editions, edition);
    view_expect(view_ask(address, "findings"), 200, "\"title\"");
    nvt_view_stop(server);
    nvt_editions_free(editions);
    assert_int_equal(atomic_load(&slow.whole), 1);
    assert_int_equal(atomic_load(&slow.failed), 0);
}

/* What cannot be read after all is said once, to the page too; a beginning stays. */
static void test_failing(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    for (int has_beginning = 0; has_beginning < 2; has_beginning++) {
        struct slow slow = {.fails = 1, .has_beginning = has_beginning};
        struct nvt_editions *editions = read_in_vain(&slow, 1, &err);
        assert_non_null(editions);
        struct nvt_view_server *server = serve_editions(editions);
        atomic_store(&slow.goes_on, 1);
        expect_state(nvt_view_address(server), "\"failed\":\"a \\\"broken\\\" file\"}");
        assert_int_equal(view_number(nvt_view_address(server), "edition", "\"edition\":"),
                         has_beginning);
        view_expect(view_ask(nvt_view_address(server), "lanes"), has_beginning ? 200 : 400, NULL);
        wait_for_reading(editions);
        nvt_view_stop(server);
        nvt_editions_free(editions);
        assert_int_equal(atomic_load(&slow.whole), 0);
        assert_int_equal(atomic_load(&slow.failed), 1);
    }
    /* At once: there is no page, and the caller says it. */
    struct slow slow = {.fails = 1, .goes_on = 1};
    assert_null(read_in_vain(&slow, 60000, &err));
    assert_string_equal(err.message, "a \"broken\" file");
    assert_int_equal(atomic_load(&slow.failed), 0);
}

/* A pipe in which nothing comes, then what is no trace: there is an address, and in the end one line. */
static void test_broken_pipe(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "slow.json");
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    assert_int_equal(mkfifo(path, 0600), 0);
    const int pipe_end =
        open(path, O_RDWR | O_CLOEXEC); /* so that nobody waits for the other end */
    assert_true(pipe_end >= 0);
    struct view_running view = view_run(path, NULL);
    expect_state(view.address, "{\"edition\":0,");
    assert_int_equal(write(pipe_end, "[1, 2", 5), 5);
    close(pipe_end);
    int status = 0;
    for (int i = 0; i < 600 && waitpid(view.pid, &status, WNOHANG) != view.pid; i++)
        usleep(100000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    fclose(view.out);
}

/* What comes through a pipe is read once: nothing waits for another writer, when it ends neither. */
static void test_pipe(void **state)
{
    (void)state;
    size_t size;
    const char *path = cli_in(cli_folder, "pipe.nvt");
    struct nvt_error err = NVT_ERROR_INIT;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    char *bytes = cli_read_file(TRAIN, &size);
    assert_int_equal(mkfifo(path, 0600), 0);
    const int pipe_end = open(path, O_RDWR | O_CLOEXEC);
    struct view_running view = view_run(path, NULL);
    for (size_t at = 0; at < size;) {
        const ssize_t more = write(pipe_end, bytes + at, size - at);
        assert_true(more > 0);
        at += (size_t)more;
    }
    free(bytes);
    close(pipe_end);
    expect_state(view.address, "\"lacks_path\":0,\"same\":1}");
    sleep(1); /* files are looked at each half second */
    view_expect(view_ask(view.address, "lanes"), 200, "\"id\":0");
    view_end(&view, SIGINT);
}

/* Ctrl-C ends it while it still reads, here from a pipe in which nothing comes. */
static void test_ends_while_it_reads(void **state)
{
    (void)state;
    const char *path = cli_in(cli_folder, "pipe.json");
    struct nvt_error err = NVT_ERROR_INIT;
    int status = 0, pipe_end = -1;
    if (nvt_view_can_serve(&err)) {
        print_message("not run: %s\n", err.message);
        skip();
    }
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        signal(SIGINT, SIG_DFL); /* what a shell runs behind its back ignores it */
        execl(cli_built("nvtally"), "nvtally", "view", path, "--no-open", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 600 && pipe_end < 0; i++) { /* until it is opened */
        pipe_end = open(path, O_WRONLY | O_NONBLOCK);
        usleep(100000);
    }
    kill(pid, SIGINT);
    for (int i = 0; i < 600 && waitpid(pid, &status, WNOHANG) != pid; i++)
        usleep(100000);
    if (!WIFSIGNALED(status))
        kill(pid, SIGKILL);
    assert_true(pipe_end >= 0);
    close(pipe_end);
    /* Where the machine is slow, it has an address by then. */
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGINT : !WEXITSTATUS(status));
}

/* What a truncated trace has is shown; a port that is taken, and files that are none, take one line. */
static void test_command(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size), port[32];
    const char *cut = cli_in(cli_folder, "cut.nvt");
    cli_write_file(cut, bytes, size * 2 / 3);
    free(bytes);
    struct view_running view = view_run_of(cut);
    view_expect(view_ask(view.address, "lanes"), 200, "\"id\":0");
    snprintf(port, sizeof(port), "--port=%d", atoi(strrchr(view.address, ':') + 1));
    const struct {
        const char *option, *file, *needle;
    } wrong[] = {
        {port, TRAIN, "cannot be served"},       {"--port=0", TRAIN, "--port 0"},
        {"--port=65536", TRAIN, "--port 65536"}, {"--port=x", TRAIN, "--port x"},
        {"--port=8 0", TRAIN, "--port 8 0"},     {"--no-open", "/nowhere.nvt", "/nowhere.nvt"},
        {"--bogus", TRAIN, "--bogus"},           {"--no-open", NULL, "no trace"},
        {"--no-open", "README.md", "README.md"}, {"--no-open", "vs", "each side of 'vs'"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", "view", wrong[i].option, wrong[i].file, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, wrong[i].needle);
        cli_result_free(&result);
    }
    view_end(&view, SIGTERM);
}

/* Of a folder, files that cannot be read are named, on the page too, and the others are shown. */
static void test_folder(void **state)
{
    (void)state;
    size_t size;
    char *bytes = cli_read_file(TRAIN, &size);
    cli_write_file(cli_in(cli_folder, "a.nvt"), "", 0);
    cli_write_file(cli_in(cli_folder, "b.nvt"), bytes, size);
    free(bytes);
    struct view_running view = view_run_of(cli_folder);
    view_expect(view_ask(view.address, "lanes"), 200, "/a.nvt: ");
    view_expect(view_ask(view.address, "lanes"), 200, "left out\"]");
    view_expect(view_ask(view.address, "lanes"), 200, "\"traces\":[\"b.nvt\"]");
    view_end(&view, SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_flame),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_window_of_calls),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_unknown_causes),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_broken_clients),
        cmocka_unit_test(test_window_as_stats),
        cmocka_unit_test_setup_teardown(test_beginning, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_failing),
        cmocka_unit_test_setup_teardown(test_broken_pipe, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_pipe, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_growing, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_ends_while_it_reads, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_folder, cli_folder_set_up, cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(test_command, cli_folder_set_up, cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
