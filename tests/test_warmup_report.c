/* The report on warming up, over traces built in memory by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/render.h"
#include "cli.h"

static struct nvt_error err = NVT_ERROR_INIT;

static void push_in(struct nvt_trace *trace, const char *domain, const char *name, int64_t start,
                    int64_t end)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .name = nvt_strings_add_text(trace->strings, name),
                            .domain = nvt_trace_domain(trace, 0, domain),
                            .style = NVT_PUSH_POP};
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

static void call(struct nvt_trace *trace, const char *name, int64_t start, int64_t end)
{
    struct nvt_api row = {
        .start = start, .end = end, .name = nvt_strings_add_text(trace->strings, name)};
    assert_true(nvt_api_add(trace, &row) != NVT_NONE);
}

static void fault(struct nvt_trace *trace, const char *payload, int64_t time)
{
    struct nvt_mark row = {.time = time,
                           .name = nvt_strings_add_text(trace->strings, "page faults"),
                           .domain = nvt_trace_domain(trace, 0, "nvtally"),
                           .payload = nvt_strings_add_text(trace->strings, payload),
                           .flags = NVT_RANGE_HAS_PAYLOAD};
    assert_true(nvt_mark_add(trace, &row) != NVT_NONE);
}

/*
 * A process whose first iterations take 900 and 300, the others 100; half an iteration is the phase
 * forward, and half of that a part of it, but for the first, which has 700 of forward with 100 of
 * the part. In the first a call takes 200, in the others 10. In the first, 64 page faults lie in the
 * part and 4 in forward around it, in the others one between the phases.
 */
static struct nvt_trace *process(int warmups, int count)
{
    struct nvt_trace *trace = nvt_trace_new("w.nvt", "test");
    int64_t now = 1000;
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    for (int i = 0; i < count; i++) {
        int64_t takes = i == 0 ? 900 : i == 1 ? 300 : 100, phase = i ? takes / 2 : 700;
        push_in(trace, "nvtally", i < warmups ? "warmup" : "iteration", now, now + takes);
        if (i >= warmups) {
            push_in(trace, "nvtally", "forward", now + 10, now + 10 + phase);
            push_in(trace, "nvtally", "part", now + 20, now + 20 + (i ? phase / 2 : 100));
        }
        if (i >= warmups)
            fault(trace,
                  i ? "{\"faults\":1,\"bytes\":4096,\"cost_ns\":5}"
                    : "{\"faults\":64,\"bytes\":262144,\"cost_ns\":60}",
                  i ? now + takes : now + 25);
        if (i == 0)
            fault(trace, "{\"faults\":4,\"bytes\":0,\"cost_ns\":20}", now + (warmups ? 25 : 130));
        call(trace, "cudaLaunchKernel", now + 30, now + 30 + (i ? 10 : 200));
        now += takes + 50;
    }
    push_in(trace, "nvtally", "toy size=3", 900, now);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static char *report(struct nvt_trace **traces, size_t count, char **notes)
{
    struct nvt_input input = {.trace_count = count};
    struct nvt_tables tables = {0};
    char *text = NULL;
    size_t size = 0;
    input.traces = calloc(count, sizeof(*input.traces));
    for (size_t i = 0; i < count; i++)
        input.traces[i].trace = traces[i];
    assert_int_equal(nvt_report_make(&nvt_report_warmup, &input, &tables, &err), 0);
    FILE *out = open_memstream(&text, &size);
    nvt_render_csv(&tables, out);
    fclose(out);
    assert_int_equal(nvt_buffer_append(&input.notes, "", 1), 0);
    *notes = strdup((const char *)input.notes.data);
    nvt_tables_free(&tables);
    nvt_input_free(&input);
    return text;
}

static void expect(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("no line '%s' in\n%s", line, text);
}

static void the_report_is_that_by_hand(void **state)
{
    (void)state;
    struct nvt_trace *traces[] = {process(0, 20), process(1, 21), process(2, 22), process(5, 25)};
    char *notes, *text = report(traces, 4, &notes);
    /* Two slow ones before 100: 900 / 100. All rotations but one in 2000 or so are less extreme. */
    expect(text, "toy size=3,,4,20,900,100,9.000,2,2,2,99.");
    expect(text, ",2\n");
    /* 20 timed: (900 + 300 + 18·100) / 20 = 150, half more than steady; (300 + 19·100) / 20 = 110.
     */
    expect(text, "toy size=3,,0,20,150.0,");
    expect(text, ",50.00\n");
    expect(text, "toy size=3,,1,20,110.0,");
    expect(text, ",10.00\n");
    expect(text, "toy size=3,,2,20,100.0,0.0,0.00\n");
    expect(text, "toy size=3,,5,20,100.0,0.0,0.00\n");
    expect(text, "toy size=3,,1,4,900,900,900,9.000\n");
    expect(text, "toy size=3,,2,4,300,300,300,3.000\n");
    expect(text, "toy size=3,,3,4,100,100,100,1.000\n");
    /* The first iteration's excess is 800: forward itself 700 - 100 against 50 - 25, the part 100
     * against 25, around them 900 - 700 against 100 - 50. */
    expect(text, "toy size=3,,1,range,forward,600,25,575,71.9,4,0.0,20\n"
                 "toy size=3,,1,range,(between phases),200,50,150,18.8,0,1.0,0\n"
                 "toy size=3,,1,range,forward/part,100,25,75,9.4,64,0.0,60\n"
                 "toy size=3,,1,call,cudaLaunchKernel,200,10,190,23.8,,,\n");
    /* Of the same process, not of all four: 68 of 80 ns, and one of 5 in each of the later ones. */
    expect(text, "toy size=3,,1,cause,\"page faults, at what one takes here (an "
                 "estimate)\",80,5,75,9.4,68,1.0,80\n");
    /* Its excess is no mean over the four, of which the summary's first is. */
    expect(text, "toy size=3,,1,all,\"(the iteration, of processes with --warmup 0)\",900,100,800,"
                 "100.0,,,\n");
    assert_string_equal(notes, "");
    free(text);
    free(notes);
}

/* The third field behind a row's name, its share; the name may be in quotes. */
static double share_of(const char *row)
{
    const char *at = strchr(row, '\n');
    while (at[-1] != ',')
        at--;
    for (int comma = 0; comma < 4;)
        comma += *--at == ',';
    return strtod(at + 1, NULL);
}

/*
 * Two processes whose first iterations differ, the second one with a warm-up. The first iteration of the
 * first has twenty parts: of its 2000 one takes 1000 and 5 later, one 10 and 400 later, one 30 and 40 later,
 * and the i-th of the others 30 + i and 1 later.
 */
static struct nvt_trace *many_parts(const char *toy, int warmups, int count)
{
    struct nvt_trace *trace = nvt_trace_new("m.nvt", "test");
    int64_t now = 1000;
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    for (int i = 0; i < count; i++) {
        const int is_warmup = i < warmups;
        const int64_t takes = i ? 450 : is_warmup ? 9000 : 2000;
        int64_t at = now;
        push_in(trace, "nvtally", is_warmup ? "warmup" : "iteration", now, now + takes);
        for (int part = 0; part < 20 && !is_warmup; part++) {
            char name[16];
            static const int64_t first[] = {1000, 10, 30}, later[] = {5, 400, 40};
            int64_t ns = i ? (part < 3 ? later[part] : 1) : part < 3 ? first[part] : 30 + part;
            snprintf(name, sizeof(name), "part%d", part);
            push_in(trace, "nvtally", name, at, at + ns);
            at += ns;
        }
        if (!i)
            fault(trace, "{\"faults\":4,\"bytes\":0,\"cost_ns\":40}", now + 5);
        now += takes + 50;
    }
    push_in(trace, "nvtally", toy, 900, now);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static void shares_of_ranges_add_up(void **state)
{
    (void)state;
    struct nvt_trace *traces[] = {many_parts("toy size=3", 0, 20), many_parts("toy size=3", 1, 21)};
    char *notes, *text = report(traces, 2, &notes);
    double sum = 0;
    int rows = 0;
    for (const char *row = text; (row = strstr(row, ",1,range,")); row++, rows++)
        sum += share_of(row);
    assert_int_equal(rows, 13);
    assert_true(fabs(sum - 100) < 1); /* thirteen were rounded to 0.1 */
    /* What was faster at first is there, however much smaller than the others it sorts. */
    expect(text, ",range,part1,10,400,-390,-25.2,");
    /* Of 2000 - 450. The same process tells what faults took, and no other. */
    expect(text, ",range,part0,1000,5,995,64.2,4,0.0,40\n");
    expect(text,
           ",cause,\"page faults, at what one takes here (an estimate)\",40,0,40,2.6,4,0.0,40\n");
    /* Of the seventeen rows of 30 + i, nine are among the twelve, beside those two and what is around them. */
    expect(text, ",range,\"(9 others, 1 of them faster at first)\",");
    free(text);
    free(notes);
    text = report(&(struct nvt_trace *){many_parts("toy size=3", 1, 21)}, 1, &notes);
    assert_null(strstr(text, ",range,"));
    expect(text, ",cause,");
    expect(notes, "note: toy size=3: no process was timed from its first iteration on");
    free(text);
    free(notes);
    /* Of a sweep that is one line. */
    struct nvt_trace *sweep[] = {many_parts("toy size=3", 1, 21), many_parts("toy size=4", 1, 21),
                                 many_parts("toy size=5", 1, 21)};
    text = report(sweep, 3, &notes);
    expect(notes, "note: toy size=3 and 2 others: no process was timed from its first iteration");
    assert_null(strstr(notes, "size=4"));
    free(text);
    free(notes);
}

/*
 * Iterations as record --pytorch has them, start/end ranges: each begins within a range of the program that goes on behind its end,
 * holds one of 700 (later 50), in which another of 100 (25) lies, one of another thread, and takes 900 (100) in all.
 */
static void iterations_without_children_are_taken_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("p.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    assert_int_equal(nvt_trace_thread(trace, 0, 8), 1);
    for (int64_t i = 0, now = 1000; i < 25; i++) {
        const int64_t takes = i ? 100 : 900, phase = i ? 50 : 700;
        push_in(trace, "", "step", now - 5, now + takes + 5);
        push_in(trace, "PyTorch", "iteration", now, now + takes);
        trace->ranges.style[trace->ranges.count - 1] = NVT_START_END;
        push_in(trace, "PyTorch", "forward", now + 10, now + 10 + phase);
        push_in(trace, "PyTorch", "layer", now + 20, now + 20 + (i ? 25 : 100));
        push_in(trace, "", "beside", now + 20, now + 30);
        trace->ranges.thread[trace->ranges.count - 1] = 1;
        now += takes + 50;
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, "p.nvt,,1,25,900,100,9.000,1,1,1,96.00,1\n");
    expect(text, "p.nvt,,1,range,forward,600,25,575,71.9,,,\n"
                 "p.nvt,,1,range,(between phases),200,50,150,18.8,,,\n"
                 "p.nvt,,1,range,forward/layer,100,25,75,9.4,,,\n");
    assert_null(strstr(text, "beside"));
    assert_null(strstr(text, "step"));
    free(text);
    free(notes);
}

/* Within each iteration a solver has three of its own, and outside of them a library has one. */
static void iterations_of_others_are_none(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("s.nvt", "test");
    assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7), 7), 0);
    for (int64_t i = 0, now = 1000; i < 30; i++, now += 1200) {
        push_in(trace, "nvtally", "iteration", now, now + (i ? 500 : 900));
        push_in(trace, "nvtally", "iteration", now + 10, now + 60);
        push_in(trace, "", "iteration", now + 100, now + 150);
        push_in(trace, "", "warmup", now + 200, now + 250);
        push_in(trace, "", "iteration", now + 1000, now + 1100);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, "s.nvt,,1,30,900,500,1.800,");
    free(text);
    free(notes);
}

/* What a process did on a device before it iterates stands in front; a call within another one is its part. */
static void calls_before_the_first_are_told(void **state)
{
    (void)state;
    struct nvt_trace *trace = process(0, 20);
    call(trace, "cudaMalloc", 100, 400);
    call(trace, "cuMemAlloc", 150, 350);
    call(trace, "cudaMemcpyAsync", 400, 420);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, "toy size=3,,1,before,(API calls before the first iteration),320,,,,,,\n"
                 "toy size=3,,1,all,(the iteration),900,");
    assert_string_equal(notes, "");
    free(text);
    free(notes);
}

/* At the level nvtx a device's calls are not on record; on a host there are none. */
static void calls_that_are_not_on_record_are_told(void **state)
{
    (void)state;
    static const char *const backends[] = {"cuda", "host"};
    for (size_t i = 0; i < 2; i++) {
        struct nvt_trace *trace = many_parts("toy size=3", 0, 20);
        assert_int_equal(nvt_trace_set_meta(trace, "backend", backends[i]), 0);
        char *notes, *text = report(&trace, 1, &notes);
        assert_null(strstr(text, ",before,"));
        if (i)
            assert_string_equal(notes, "");
        else
            expect(notes,
                   "note: toy size=3: not all API calls were recorded, so their share of the first "
                   "iteration is unknown (run --collect full, record --trace api)");
        free(text);
        free(notes);
    }
}

/* Of which the first ones were cut off: the first that is there is no process's first. */
static void traces_that_were_cut_are_left_out(void **state)
{
    (void)state;
    struct nvt_trace *traces[] = {process(0, 30), process(0, 30)};
    traces[1]->is_late = 1;
    char *notes, *text = report(traces, 2, &notes);
    expect(text, "toy size=3,,1,30,900,");
    assert_non_null(strstr(notes, "1 trace is left out: the beginning was cut off"));
    free(text);
    free(notes);
    traces[0] = process(0, 30);
    traces[0]->is_late = 1;
    text = report(traces, 1, &notes);
    assert_null(strstr(text, "toy"));
    assert_null(strstr(notes, "no warm-up to show"));
    free(text);
    free(notes);
}

static void few_iterations_are_no_verdict(void **state)
{
    (void)state;
    struct nvt_trace *traces[] = {process(0, 5)};
    char *notes, *text = report(traces, 1, &notes);
    expect(text, ",cannot tell: too few iterations\n");
    free(text);
    free(notes);
    struct nvt_trace *other = nvt_trace_new("o.nvt", "test");
    assert_int_equal(nvt_trace_finish(other, &err), 0);
    text = report(&other, 1, &notes);
    assert_string_equal(text, ""); /* and no table */
    expect(notes, "no trace has ranges named iteration");
    free(text);
    free(notes);
}

/* A trace of two processes that take turns, of which the first `slow` iterations take 1000 instead of 100; page
 * faults of the first that cost more than it took. */
static struct nvt_trace *two_processes(int slow, int count)
{
    struct nvt_trace *trace = nvt_trace_new("two.nvt", "test");
    int64_t now[2] = {1000, 1000};
    for (int p = 0; p < 2; p++)
        assert_int_equal(nvt_trace_thread(trace, nvt_trace_process(trace, 7 + p), 7 + p), p);
    for (int i = 0; i < count; i++)
        for (uint32_t p = 0; p < 2; p++) {
            const int64_t takes = i < slow ? 1000 : 100 + (i + (int)p) % 2;
            struct nvt_range row = {.start = now[p],
                                    .end = now[p] + takes,
                                    .thread = p,
                                    .end_thread = p,
                                    .name = nvt_strings_add_text(trace->strings, "iteration"),
                                    .style = NVT_PUSH_POP};
            assert_true(nvt_range_add(trace, &row) != NVT_NONE);
            if (!i && !p)
                fault(trace, "{\"faults\":64,\"bytes\":262144,\"cost_ns\":8000}", now[p] + 10);
            now[p] += takes + 10;
        }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static void processes_of_a_trace_are_told_apart(void **state)
{
    (void)state;
    struct nvt_trace *trace = two_processes(1, 30);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, "two.nvt,,2,30,1000,10"); /* two processes, thirty iterations of each */
    expect(text, ",1,1,1,9");
    free(text);
    free(notes);
}

/* 8000 of page faults in 1000, of which 900 are the excess; of two processes, one has them. */
static void an_estimate_is_not_cut(void **state)
{
    (void)state;
    struct nvt_trace *trace = two_processes(1, 30);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, "two.nvt,,2,all,(the iteration),1000,10");
    expect(text, ",100.0,,,\n");
    expect(text, ",cause,\"page faults, at what one takes here (an estimate: more than the "
                 "excess)\",4000,0,4000,44");
    expect(text, ",32,0.0,4000\n");
    free(text);
    free(notes);
}

/* Of two processes one has a slow first iteration: too little to be sure, and that is said. */
static void what_is_nearly_found_is_told(void **state)
{
    (void)state;
    struct nvt_trace *traces[2];
    for (int t = 0; t < 2; t++) {
        traces[t] = nvt_trace_new("nearly.nvt", "test");
        assert_int_equal(nvt_trace_thread(traces[t], nvt_trace_process(traces[t], 7), 7), 0);
        for (int i = 0; i < 8; i++)
            push_in(traces[t], "nvtally", "iteration", 1000 * i,
                    1000 * i + (i || t ? 100 + (i + t) % 2 : 900));
        assert_int_equal(nvt_trace_finish(traces[t], &err), 0);
    }
    char *notes, *text = report(traces, 2, &notes);
    expect(text, "none found in the first 4 (inconclusive: change point 1, first iteration ");
    expect(text, " times a steady one, confidence 9");
    expect(text, " % of the 95 % needed)");
    free(text);
    free(notes);
}

static void a_limit_is_not_enough(void **state)
{
    (void)state;
    struct nvt_trace *trace = two_processes(18, 30);
    char *notes, *text = report(&trace, 1, &notes);
    expect(text, ",\"cannot tell: 15 or more, too few iterations\"\n");
    assert_null(strstr(text, ",-0"));
    free(text);
    free(notes);
}

/* What `run` records is what the report and the chart read: a process a number of warm-ups. */
static void a_run_has_its_curve_and_chart(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *out = cli_in(directory, "out");
    const char *run[] = {
        "nvtally", "run",          "linear", "--size",    "64",   "--batch", "2", "--warmup",
        "0,1,3",   "--iterations", "12",     "--backend", "host", "-o",      out, NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *stats[] = {"nvtally", "stats", out, "-r", "warmup", "-f", "csv", NULL};
    result = cli_run(stats);
    cli_expect_status(&result, 0);
    expect(result.out, "linear size=64 batch=2 mode=linear,nvtx,3,12,");
    /* 12 timed after a warm-up */
    expect(result.out, "linear size=64 batch=2 mode=linear,nvtx,1,12,");
    expect(result.out, ",range,backward/optimizer,");
    expect(result.out, ",nvtx,1,cause,\"page faults, at what one takes here (an estimate");
    cli_result_free(&result);
    const char *plot[] = {"nvtally", "plot", out, NULL};
    result = cli_run(plot);
    cli_expect_status(&result, 0);
    expect(result.out, "/warmup-linear-size-64-batch-2-mode-linear-nvtx-1.svg\n");
    cli_result_free(&result);
    char *script =
        cli_read_file(cli_in(out, "warmup-linear-size-64-batch-2-mode-linear-nvtx-1.gp"), NULL);
    assert_non_null(script);
    expect(script, "'--warmup 3' at screen");
    free(script);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_is_that_by_hand),
        cmocka_unit_test(shares_of_ranges_add_up),
        cmocka_unit_test(iterations_without_children_are_taken_apart),
        cmocka_unit_test(iterations_of_others_are_none),
        cmocka_unit_test(traces_that_were_cut_are_left_out),
        cmocka_unit_test(few_iterations_are_no_verdict),
        cmocka_unit_test(processes_of_a_trace_are_told_apart),
        cmocka_unit_test(an_estimate_is_not_cut),
        cmocka_unit_test(calls_before_the_first_are_told),
        cmocka_unit_test(calls_that_are_not_on_record_are_told),
        cmocka_unit_test(what_is_nearly_found_is_told),
        cmocka_unit_test(a_limit_is_not_enough),
        cmocka_unit_test(a_run_has_its_curve_and_chart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
