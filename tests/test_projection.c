/*
 * The projection of device operations onto ranges: small cases whose answer can be read off. Random
 * traces: test_projection_random.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/device/project.h"
#include "small_trace.h"

/* --- the answers as text, "name name;" for each operation --- */

struct answer {
    const struct nvt_trace *trace;
    size_t length;
    char text[4096];
};

static void write_text(struct answer *answer, const char *text)
{
    size_t length = strlen(text);
    assert_true(length < sizeof(answer->text) - answer->length);
    memcpy(answer->text + answer->length, text, length + 1);
    answer->length += length;
}

static int write_names(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct answer *answer = context;
    (void)op;
    for (uint32_t i = 0; i < count; i++) {
        write_text(answer, nvt_name(answer->trace, answer->trace->ranges.name[ranges[i]]));
        write_text(answer, i + 1 < count ? " " : "");
    }
    write_text(answer, ";");
    return 0;
}

static void expect(struct nvt_trace *trace, unsigned flags, const char *names)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct answer answer = {.trace = trace};
    assert_int_equal(nvt_project(trace, flags, write_names, &answer, &err), 0);
    assert_string_equal(answer.text, names);
}

/* --- small cases --- */

static void counts_for_every_enclosing_range(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    small_range(trace, thread, "", "outer", 0, 100, NVT_PUSH_POP);
    small_range(trace, thread, "", "inner", 10, 20, NVT_PUSH_POP);
    small_range(trace, thread, "lib", "other", 12, 50, NVT_START_END);
    small_launch(trace, thread, 1, 10, 20, 500, 600); /* boundaries belong to the range */
    small_launch(trace, thread, 2, 15, 21, 600, 700); /* the call outlasts inner */
    small_launch(trace, thread, 3, 50, 51, 700, 800);
    small_launch(trace, thread, 4, 101, 102, 800, 900);
    small_trace_finish(trace);
    expect(trace, 0, "outer inner;outer other;outer;;");
    nvt_trace_free(trace);
}

static void knows_threads_and_processes_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t one = small_thread(trace, 1, 7), two = small_thread(trace, 1, 8),
             three = small_thread(trace, 2, 7);
    small_range(trace, one, "", "a", 0, 100, NVT_PUSH_POP);
    small_range(trace, three, "", "c", 0, 100, NVT_PUSH_POP);
    small_launch(trace, one, 5, 10, 11, 500, 600);
    small_launch(trace, two, 6, 12, 13, 500, 600);
    small_launch(trace, three, 5, 14, 15, 500, 600);
    small_trace_finish(trace);
    expect(trace, 0, "a;;c;");
    nvt_trace_free(trace);
}

static void takes_a_launch_without_its_call(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    small_range(trace, thread, "", "a", 10, 20, NVT_PUSH_POP);
    small_op(trace, 0, 0, 5, 6, thread, 20);
    small_op(trace, 0, 0, 5, 6, thread, 21);
    small_op(trace, 0, 99, 5, 6, NVT_NONE, INT64_MIN);
    small_trace_finish(trace);
    expect(trace, 0, ";a;;");
    nvt_trace_free(trace);
}

/* PyTorch's backward: `backward` is open on the main thread, which waits; another one launches. */
static void follows_the_backward_thread(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t python = small_thread(trace, 1, 1), engine = small_thread(trace, 1, 2);
    small_range(trace, python, "", "step", 0, 100, NVT_PUSH_POP);
    small_range(trace, python, "", "forward", 10, 40, NVT_PUSH_POP);
    small_range(trace, python, "", "backward", 50, 90, NVT_PUSH_POP);
    small_range(trace, python, "NCCL", "ncclAllReduce", 55, 90, NVT_PUSH_POP);
    small_range(trace, engine, "cpu_op", "aten::mm", 58, 64, NVT_PUSH_POP);
    small_range(trace, engine, "", "hook", 70, 80, NVT_PUSH_POP);
    small_launch(trace, python, 1, 20, 21, 500, 600);
    small_launch(trace, engine, 2, 60, 61, 600, 700);
    small_launch(trace, engine, 3, 72, 73, 700, 800);
    small_launch(trace, engine, 4, 95, 96, 800, 900);
    small_trace_finish(trace);
    expect(trace, 0, "step forward;aten::mm;hook;;");
    expect(trace, NVT_ACROSS_THREADS, "step forward;step backward aten::mm;hook;step;");
    nvt_trace_free(trace);
}

/* Of threads without ranges, only those that launch in a row are waited for: what another one loads ahead is no part of the
 * range that happens to be open. Two engines that take turns are waited for both. */
static void lends_what_is_waited_for(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t python = small_thread(trace, 1, 1), loader = small_thread(trace, 1, 2);
    uint32_t engines[] = {small_thread(trace, 1, 3), small_thread(trace, 1, 4)};
    struct answer expected = {.length = 0};
    int64_t now = 0;
    for (uint32_t step = 0, call = 1; step < 3; step++, now += 1000) {
        small_range(trace, python, "", "step", now, now + 900, NVT_PUSH_POP);
        small_range(trace, python, "", "backward", now + 300, now + 800, NVT_PUSH_POP);
        for (int64_t i = 0; i < 20; i++) {
            small_launch(trace, python, call++, now + 10 * i, now + 10 * i + 1, now + 500,
                         now + 501);
            write_text(&expected, "step;");
            if (i % 4)
                continue;
            small_launch(trace, loader, call++, now + 10 * i + 5, now + 10 * i + 6, now + 500,
                         now + 501);
            write_text(&expected, ";");
        }
        for (int64_t i = 0; i < 30; i++) {
            small_launch(trace, engines[i % 2], call++, now + 310 + 10 * i, now + 311 + 10 * i,
                         now + 800, now + 801);
            write_text(&expected, "step backward;");
        }
    }
    small_trace_finish(trace);
    expect(trace, NVT_ACROSS_WAITS, expected.text);
    struct nvt_lent lent = {0};
    assert_int_equal(nvt_project_lent(trace, &lent, NULL), 0);
    assert_int_equal(lent.ops, 90);
    assert_string_equal(nvt_name(trace, trace->ranges.name[lent.range]), "backward");
    nvt_trace_free(trace);
}

/* Where one thread launches and has the ranges nothing is lent, and nothing is looked for. */
static void lends_nothing_of_one_thread(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1), other = small_thread(trace, 2, 2);
    small_range(trace, thread, "", "a", 0, 100, NVT_PUSH_POP);
    small_range(trace, other, "", "b", 0, 300, NVT_PUSH_POP);
    small_launch(trace, thread, 1, 10, 11, 500, 600);
    small_launch(trace, thread, 2, 200, 201, 500, 600);
    small_trace_finish(trace);
    assert_int_equal(nvt_may_lend(trace), 0);
    expect(trace, NVT_ACROSS_WAITS, "a;;");
    nvt_trace_free(trace);
}

static void projects_from_the_first_to_the_last(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    small_range(trace, thread, "", "a", 0, 100, NVT_PUSH_POP);
    small_range(trace, thread, "", "empty", 30, 40, NVT_PUSH_POP);
    small_launch(trace, thread, 1, 1, 2, 900, 950);
    small_launch(trace, thread, 2, 3, 4, 500, 980); /* starts first, ends last, was launched last */
    small_trace_finish(trace);
    struct nvt_projected *projected = nvt_project_ranges(trace, 0, &err);
    assert_non_null(projected);
    assert_int_equal(projected[0].start, 500);
    assert_int_equal(projected[0].end, 980);
    assert_int_equal(projected[0].busy, 530);
    assert_int_equal(projected[0].ops, 2);
    assert_int_equal(projected[1].ops, 0);
    free(projected);
    nvt_trace_free(trace);
}

static int refuse(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    (void)op;
    (void)ranges;
    (void)count;
    ++*(int *)context;
    return -1;
}

static void stops_when_the_visitor_says_so(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    int calls = 0;
    small_launch(trace, thread, 1, 1, 2, 3, 4);
    small_launch(trace, thread, 2, 3, 4, 5, 6);
    small_trace_finish(trace);
    assert_int_equal(nvt_project(trace, 0, refuse, &calls, &err), -1);
    assert_int_equal(calls, 1);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_for_every_enclosing_range),
        cmocka_unit_test(knows_threads_and_processes_apart),
        cmocka_unit_test(takes_a_launch_without_its_call),
        cmocka_unit_test(follows_the_backward_thread),
        cmocka_unit_test(lends_what_is_waited_for),
        cmocka_unit_test(lends_nothing_of_one_thread),
        cmocka_unit_test(projects_from_the_first_to_the_last),
        cmocka_unit_test(stops_when_the_visitor_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
