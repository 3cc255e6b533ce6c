/* Timelines: of a trace with very many ranges, of stacks of functions, of calls that never ended. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../plots/chart.h"
#include "../plots/looks.h"
#include "chart_kit.h"
#include "cli.h"

/* A step as PyTorch's profiler has it: 20000 operators and kernels in the first 0.8 of a second,
 * a phase around half of them, memory that grows with each. */
enum { MANY = 20000, MANY_NS = 40000 };

static struct nvt_trace *make_large_trace(void)
{
    static const char kernel[] =
        "void at::native::(anonymous namespace)::matmul<4, at::AddFunctor<float> >(at::Iterator&)";
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    struct nvt_range range = {.end = 1000000000,
                              .thread = thread,
                              .end_thread = thread,
                              .name = nvt_strings_add_text(trace->strings, "ProfilerStep#7")};
    assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    range.end = 400000000;
    range.name = nvt_strings_add_text(trace->strings, "forward and backward");
    assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    range.domain = nvt_trace_domain(trace, process, "cpu_op");
    range.name = nvt_strings_add_text(trace->strings, "aten::matmul");
    struct nvt_op op = {.process = process,
                        .stream = 7,
                        .thread = NVT_NONE,
                        .launch = INT64_MIN,
                        .api = NVT_NONE,
                        .detail = NVT_NONE,
                        .name = nvt_strings_add_text(trace->strings, kernel),
                        .short_name = nvt_strings_add_text(trace->strings, "matmul")};
    struct nvt_memory_event event = {.process = process,
                                     .thread = thread,
                                     .bytes = 1 << 20,
                                     .reserved = (uint64_t)MANY << 20,
                                     .kind = NVT_MEMORY_ALLOC};
    for (int i = 0; i < MANY; i++) {
        event.time = op.start = range.start = (int64_t)i * MANY_NS;
        op.end = range.end = range.start + MANY_NS / 2;
        event.address = event.allocated = (uint64_t)(i + 1) << 20;
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        assert_true(nvt_op_add(trace, &op) != NVT_NONE);
        assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_set_meta(trace, "device", "A made GPU"), 0);
    chart_add_counters(trace, 200000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Five threads, functions of a Python stack around the phases of one, and a phase again and again. */
static struct nvt_trace *make_stack(void)
{
    struct nvt_trace *trace = nvt_trace_new("/tmp/made.nvt", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t process = nvt_trace_process(trace, 1);
    for (int i = 0; i < 50; i++) {
        uint32_t thread = nvt_trace_thread(trace, process, 1 + (i < 46 ? 0 : i - 45));
        struct nvt_range range = {.start = i * 1000,
                                  .end = i * 1000 + 1000,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .domain = nvt_trace_domain(trace, process, "python_function"),
                                  .name = nvt_strings_add_text(trace->strings, "<module>")};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
        range.domain = nvt_trace_domain(trace, process, "user_annotation");
        range.name = nvt_strings_add_text(trace->strings, "forward");
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    chart_add_counters(trace, 1000);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

/* Phases are shown and no functions; what is not shown is said; neighbours are told apart. */
static void test_stack(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    char *directory = cli_tempdir(), *paths = NULL;
    size_t size = 0;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = make_stack();
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    assert_int_equal(nvt_chart_pictures(&nvt_chart_timeline, &request, &err), 0);
    fclose(out);
    free(paths);
    char *svg = cli_read_file(cli_in(directory, "made-timeline.svg"), NULL);
    char *script = cli_read_file(cli_in(directory, "made-timeline.gp"), NULL);
    assert_non_null(strstr(svg, "forward"));
    assert_null(strstr(svg, "module"));
    assert_non_null(strstr(svg, "Not drawn: 2 more threads, functions of the Python"));
    assert_non_null(strstr(script, "until(start, end) = end - start > 0.23"));
    assert_non_null(strstr(script, nvt_known_color("forward")));
    free(svg);
    free(script);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
}

/* A low lane below the ranges of a thread is of its calls of the system; what never ended goes on until its thread did. */
static void test_calls_and_hangs(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("made", "nvt");
    uint32_t process = nvt_trace_process(trace, 7), thread = nvt_trace_thread(trace, process, 7);
    struct nvt_range range = {.start = 0,
                              .end = 400,
                              .thread = thread,
                              .end_thread = thread,
                              .name = nvt_strings_add_text(trace->strings, "step")};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    range.start = 500;
    range.end = 500;
    range.flags = NVT_RANGE_UNCLOSED;
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    chart_add_os_call(trace, thread, "read", 100, 200);
    chart_add_os_call(trace, thread, "pthread_mutex_lock", 600, 1000);
    trace->threads.ended_ns[thread] = 1000;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    free(chart_draw(trace, directory));
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t0.4\t0.1\t1.1\tstep 400 ns\n"));
    assert_non_null(strstr(data, "\n0.5\t1\t0.1\t1.1\tstep 500 ns\n"));
    const char *calls = strstr(data, "# c17\n");
    assert_non_null(calls);
    assert_non_null(strstr(calls, "\n0.1\t0.2\t1.14\t1.54\t\n"));
    assert_non_null(strstr(calls, "\n0.6\t1\t1.14\t1.54\t\n"));
    free(data);
    char *svg = cli_read_file(cli_in(directory, "made-timeline.svg"), NULL);
    assert_non_null(strstr(svg, "OS calls"));
    assert_non_null(strstr(svg, "Unfinished ranges extend to the end of"));
    free(svg);
    svg = cli_read_file(cli_in(directory, "made-flame-host.svg"), NULL);
    assert_non_null(strstr(svg, "With 1 range that never ended, each up to its"));
    free(svg);
    svg = cli_read_file(cli_in(directory, "made-ranges.svg"), NULL);
    assert_non_null(strstr(svg, "Without 1 range that never ended."));
    free(svg);
    nvt_trace_free(trace);
    cli_tempdir_remove(directory);
}

static void test_large_trace(void **state)
{
    (void)state;
    if (chart_no_gnuplot())
        skip();
    char *directory = cli_tempdir();
    chart_draw_trace(make_large_trace(), directory);
    /* The whole step, each depth in a lane of its own; small boxes as one a column. */
    char *data = cli_read_file(cli_in(directory, "made-timeline.dat"), NULL);
    assert_non_null(strstr(data, "\n0\t1\t0.1\t1.1\tProfilerStep#7 1.00 s\n"));
    assert_non_null(strstr(data, "\n0\t0.4\t1.16\t2.16\tforward and backward 400 ms\n"));
    assert_in_range(lines_of(data), 500, 3000);
    /* of the lanes; the last is 1.6 high */
    static const double bottoms[] = {1.1, 2.16, 3.22, 5.22};
    double last[4] = {0}, filled = 0, start, end, top, bottom;
    for (const char *at = data; at; at = strchr(at + 1, '\n'))
        for (int lane = 0; lane < 4; lane++)
            if (sscanf(at, "\n%lf\t%lf\t%lf\t%lf", &start, &end, &top, &bottom) == 4 &&
                fabs(bottom - bottoms[lane]) < 1e-6) {
                last[lane] = fmax(last[lane], end);
                filled += lane == 3 ? (end - start) * (bottom - top) / 1.6 : 0;
            }
    assert_true(last[1] > 0.799 && last[1] < 0.801); /* operators behind the range */
    assert_true(last[2] > 0.399 && last[2] < 0.401); /* and within it */
    assert_true(last[3] > 0.799 && last[3] < 0.801); /* kernels */
    /* Boxes that stand for many are as high as those fill their time. */
    assert_true(fabs(filled / 0.4 - 1) < 0.02);
    free(data);
    /* Memory that grows without a rest has its points all the same. */
    data = cli_read_file(cli_in(directory, "made-memory.dat"), NULL);
    assert_in_range(lines_of(data), 900, 3000);
    free(data);
    /* Behind it lies the phase, neither the step nor an operator. */
    data = cli_read_file(cli_in(directory, "made-memory.gp"), NULL);
    assert_non_null(strstr(data, "'forward and backward'"));
    assert_null(strstr(data, "aten::"));
    assert_null(strstr(data, "ProfilerStep"));
    free(data);
    data = cli_read_file(cli_in(directory, "made-kernels.dat"), NULL);
    assert_non_null(strstr(data, "\tmatmul\t"));
    free(data);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_hangs),
        cmocka_unit_test(test_large_trace),
        cmocka_unit_test(test_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
