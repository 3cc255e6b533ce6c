/*
 * What documents of the command report have of traces and of published runs: charts, open ranges, the cost of
 * recording, long tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../plots/story_sections.h"
#include "cli.h"
#include "html_check.h"
#include "report_kit.h"

/* --- the other formats ------------------------------------------------------------------------ */

/* A trace of PyTorch's profiler whose names are made to end, start or run something. */
static const char hostile_trace[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"\\\\end{document} "
    "$x_1^2$ "
    "%d\"}], \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", \"pid\": 1, \"tid\": 1, "
    "\"ts\": 0, \"dur\": 900},\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"\\\\input{/etc/passwd} & # ~ ^ { } "
    "</svg><script>alert(1)</script> ' ` \\u0001 \\\\\\\\[2em] $ % _ \\\" -- ---\", \"pid\": 1, "
    "\"tid\": 1, "
    "\"ts\": 10, \"dur\": 500},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
    "\"tid\": 1, \"ts\": 20, \"dur\": 5, \"args\": {\"correlation\": 1}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<'`touch pwned`'>(\\\\write18{x}) [CUDA] "
    "*x*\", "
    "\"pid\": 0, \"tid\": 7, \"ts\": 30, \"dur\": 50, \"args\": {\"correlation\": 1, \"device\": "
    "0, "
    "\"stream\": 7}},\n"
    "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": "
    "1, "
    "\"ts\": 40, \"s\": \"t\", \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Addr\": 1, "
    "\"Bytes\": 512, \"Total Allocated\": 512, \"Total Reserved\": 1024}}\n]}\n";

/* --- what it is of ---------------------------------------------------------------------------- */

/* Two steps of 100 us and another thread's 20 us: a step alone, with over half of it all, would say nothing. */
static void says_first_where_the_host_was(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int tid, ts, dur;
    } ranges[] = {{"ProfilerStep#1", 1, 0, 100},   {"forward", 1, 5, 30},
                  {"backward", 1, 40, 50},         {"load", 2, 30, 20},
                  {"ProfilerStep#2", 1, 100, 100}, {"backward", 1, 140, 52},
                  {"forward", 1, 100, 36},         {"k", 1, 101, 20}};
    char *directory = cli_tempdir(), trace[2000] = "[", path[4200];
    for (size_t i = 0; i < NVT_COUNT_OF(ranges); i++)
        snprintf(trace + strlen(trace), sizeof(trace) - strlen(trace),
                 "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,"
                 "\"ts\":%d,\"dur\":%d}%s",
                 i ? "," : "", ranges[i].name, ranges[i].tid, ranges[i].ts, ranges[i].dur,
                 i + 1 < NVT_COUNT_OF(ranges) ? "" : "]");
    snprintf(path, sizeof(path), "%s/steps.json", directory);
    cli_write_file(path, trace, strlen(trace));
    char *text = report_document(path, directory, "a.md");
    assert_non_null(strstr(text, "- **Iteration**: 100 µs, median of 2\n"));
    assert_non_null(strstr(text, "  - Host: of the time in ranges 46.4 % backward, 30.0 % forward, "
                                 "9.1 % load\n"));
    free(text);
    cli_tempdir_remove(directory);
}

/* The timeline takes no more than was asked for, and none where that is 0 or too little for anything. */
static void test_embed(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        size_t most;
        const char *detail; /* NULL: none */
    } sizes[] = {{"0", 0, NULL},
                 {"1K", 0, NULL},
                 {"20K", 20 << 10, "The whole recording, coarsely"},
                 {"100K", 100 << 10, "The median iteration in more detail"},
                 {"2M", 2 << 20, "The median iteration at full detail"}};
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "t.html");
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++) {
        const char *const argv[] = {"nvtally",     "report", "docs/results/h100/traces/train.nvt",
                                    "-o",          path,     "--embed",
                                    sizes[i].size, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *text = cli_read_file(path, NULL);
        expect_html(text);
        const char *at = strstr(text, "id=\"timeline\">");
        assert_int_equal(at != NULL, sizes[i].detail != NULL);
        if (at && (size_t)(strstr(at, "</script>") - at) > sizes[i].most + 100)
            fail_msg("--embed %s: %td bytes", sizes[i].size, strstr(at, "</script>") - at);
        if (at)
            assert_non_null(strstr(text, sizes[i].detail));
        free(text);
    }
    static const char *const wrong[] = {"-1", "x", "2Q", "", "0K", "9G"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result =
            report_run("docs/results/h100/traces/train.nvt", "--embed", wrong[i], NULL, NULL);
        cli_expect_failure(&result, "--embed");
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

static void test_hostile_trace(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), trace[4200];
    snprintf(trace, sizeof(trace), "%s/odd.json", directory);
    cli_write_file(trace, hostile_trace, strlen(hostile_trace));
    char *text = report_document(trace, directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "&lt;script&gt;alert(1)"));
    /* Facts for programs, and the timeline, end nowhere but at their end. */
    size_t scripts = 0;
    for (const char *at = text; (at = strstr(at, "<script type=\"application/json\"")); scripts++) {
        at = strchr(at + 1, '<');
        assert_int_equal(strncmp(at, "</script>\n<", 11), 0);
    }
    assert_int_equal(scripts, 3 + 3); /* and flame graphs */
    const char *facts = strstr(text, "id=\"facts\"");
    assert_non_null(facts);
    assert_non_null(strstr(facts, "\\u003c/svg\\u003e\\u003cscript"));
    /* What ran when, both flames, ranges, kernels, memory and its peak; waits are not on record, so no path. */
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 7 : 0);
    free(text);
    text = report_document(trace, directory, "a.tex");
    report_expect_braces(text);
    free(text);
    report_compile(directory);
    text = report_document(trace, directory, "a.md");
    assert_null(strstr(text, "<script>"));
    free(text);
    cli_tempdir_remove(directory);
}

/* Four traces, two with the same name: charts of the first three, what all have in common once, how
 * busy their devices were. */
static void test_several_traces(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), *text, trace[2000], path[4][4200];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s%s.json", directory, i == 1 ? "below/" : "",
                 i < 2    ? "same"
                 : i == 2 ? "other"
                          : "last");
        snprintf(
            trace, sizeof(trace),
            "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"A GPU\"}], "
            "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
            "\"forward\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": %d}, "
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, "
            "\"ts\": 0, \"dur\": 30, \"args\": {\"correlation\": 1, \"device\": 0, \"stream\": "
            "7}}, {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
            "\"pid\": 1, \"tid\": 1, \"ts\": 300, \"dur\": 10, \"args\": {\"correlation\": 2}}, "
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaDeviceSynchronize\", "
            "\"pid\": 1, "
            "\"tid\": 1, \"ts\": 320, \"dur\": 90, \"args\": {\"correlation\": 3}}, "
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"softmax\", \"pid\": 0, \"tid\": "
            "7, \"ts\": 390, \"dur\": 10, \"args\": {\"correlation\": 2, \"device\": 0, "
            "\"stream\": 7}}]}\n",
            500 + i);
        if (i == 1)
            assert_int_equal(mkdir(cli_in(directory, "below"), 0777), 0);
        cli_write_file(path[i], trace, strlen(trace));
    }
    const char *const argv[] = {"nvtally", "report", path[0], path[1],
                                path[2],   path[3],  "-o",    cli_in(directory, "a.html"),
                                NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = cli_read_file(cli_in(directory, "a.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_non_null(strstr(text, "Charts are of the first 3 of 4 traces; left out: last.json."));
    /* What ran when, a flame, ranges, kernels and the critical path of each. */
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 15 : 0);
    assert_int_equal(count_of(text, "<td>kineto</td>"), 1);
    assert_non_null(strstr(text, "What all of them have in common"));
    assert_non_null(strstr(text, "0.000502 s"));
    assert_non_null(strstr(text, "<span>GPU busy</span><b>10 %</b>"));
    assert_non_null(strstr(text, "<dt>Top kernels</dt>\n<dd>75.0 % gemm, 25.0 % softmax"));
    assert_non_null(
        strstr(text, "100.0 % of the devices&#39; idle time while the CPU ran non-CUDA code"));
    free(text);
    cli_tempdir_remove(directory);
}

static void test_published(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *const argv[] = {"nvtally", "import",   "data/published/gpipe.log",
                                "-o",      directory,  "--source",
                                "A < B",   "--device", "four GPUs",
                                NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = report_document(directory, directory, "a.html");
    expect_html(text);
    assert_int_equal(count_of(text, "<td>published</td>"), 84);
    assert_non_null(
        strstr(text, "84 published configurations, measured on another machine and not here"));
    assert_non_null(strstr(text, "device four GPUs; published: A &lt; B"));
    /* No figure of others' is set beside itself, and none is ours to reproduce. */
    assert_null(strstr(text, "Published results"));
    assert_null(strstr(text, "<pre>nvtally import"));
    free(text);
    /* One whose document says what a profiler cost: that was not measured here either. */
    char *other = cli_tempdir();
    const char *const import[] = {"nvtally", "import", "data/published/transformer.md",
                                  "-o",      other,    NULL};
    result = cli_run(import);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = report_document(other, other, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, ">Profiling overhead</h2>"));
    assert_non_null(strstr(text, "as published."));
    assert_null(strstr(text, "Not measured in this run"));
    free(text);
    cli_tempdir_remove(other);
    cli_tempdir_remove(directory);
}

static void test_trace(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *const argv[] = {
        "nvtally", "run",      "linear", "--backend",    "host", "--size", "64",      "--batch",
        "1",       "--warmup", "1",      "--iterations", "5",    "-o",     directory, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = report_document(directory, directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "1 configuration, 1 measured"));
    assert_non_null(strstr(text, "<pre>nvtally run linear --backend host"));
    free(text);
    text =
        report_document(cli_in(directory, "linear-size64-batch1-linear.nvt"), directory, "b.html");
    expect_html(text);
    assert_non_null(strstr(text, "nvtally:forward"));
    assert_non_null(strstr(text, ">Findings<"));
    assert_non_null(strstr(text, ">recording NVTX</th>"));
    free(text);
    cli_tempdir_remove(directory);
}

/* A range that never ended is in the document, and among the facts that programs read. */
static void test_open_ranges(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    static const char json[] = "{\"traceEvents\": ["
                               "{\"ph\": \"B\", \"name\": \"server\", \"pid\": 1, \"tid\": 1, "
                               "\"ts\": 5},"
                               "{\"ph\": \"X\", \"name\": \"request\", \"pid\": 1, \"tid\": 1, "
                               "\"ts\": 10, \"dur\": 20}]}";
    cli_write_file(cli_in(directory, "open.json"), json, sizeof(json) - 1);
    char *text = report_document(cli_in(directory, "open.json"), directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "Ranges still open at the end"));
    assert_non_null(strstr(text, "\"open_ranges\": ["));
    assert_non_null(strstr(text, "{\"name\": \"server\", \"count\": 1, \"since_ns\": 0"));
    free(text);
    cli_tempdir_remove(directory);
}

/* Three plain ranges at 20 ns, one with a colour at 50, a mark at 10, in 1000 ns of one thread. */
static void test_cost_of_recording(void **state)
{
    (void)state;
    static const struct nvt_event_cost costs[] = {{.ps = 20000, .what = NVT_COST_PUSH_POP},
                                                  {.ps = 50000, .what = NVT_COST_ATTRIBUTES},
                                                  {.ps = 10000, .what = NVT_COST_MARK}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("/tmp/cost.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    for (int i = 0; i < 3; i++)
        assert_true(nvt_event_cost_add(trace, &costs[i]) != NVT_NONE);
    for (int i = 0; i < 4; i++) {
        struct nvt_range range = {.start = 250 * i,
                                  .end = 250 * i + 250,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .flags = i == 3 ? NVT_RANGE_HAS_COLOR : 0};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    struct nvt_mark mark = {.time = 500, .thread = thread};
    assert_true(nvt_mark_add(trace, &mark) != NVT_NONE);
    trace->threads.events[thread] = 9;
    trace->threads.waited_ns[thread] = 3000;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    struct nvt_table *table = nvt_story_cost(&input);
    assert_non_null(table);
    assert_int_equal(nvt_table_rows(table), 1);
    assert_int_equal(nvt_table_int(table, 0, 1), 4);
    assert_float_equal(nvt_table_real(table, 0, 3), 120e-6, 1e-12);
    assert_float_equal(nvt_table_real(table, 0, 4), 12, 1e-9);
    assert_float_equal(nvt_table_real(table, 0, 5), 3e-3, 1e-12);
    assert_true(nvt_table_is_null(table, 0, 6));
    nvt_table_free(table);
    nvt_trace_free(trace);
}

/* Long tables are cut, and say where the rest is: in a report that there is. */
static void test_long_tables(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), with_slash[4200], name[64];
    const char *const run[] = {"nvtally",
                               "run",
                               "accumulate",
                               "--count",
                               "1,2,3,4",
                               "--form",
                               "fp32,fp16,mixed,cast,bf16,kahan,pairwise,kahan-bf16",
                               "--warmup",
                               "0",
                               "--iterations",
                               "1",
                               "--backend",
                               "host",
                               "-o",
                               directory,
                               NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(with_slash, sizeof(with_slash), "%s/", directory);
    char *text = report_document(with_slash, directory, "long.md");
    int cut = 0;
    for (char *at = text; (at = strstr(at, "The first ")); at++, cut++) {
        const char *end = strchr(at, '\n'), *other = strstr(at, "nvtally stats -r ");
        if (!other || other > end)
            continue;
        size_t used = 0;
        for (other += 17; *other != ' '; other++)
            if (*other != '\\')
                name[used++] = *other;
        name[used] = 0;
        const char *const stats[] = {"nvtally", "stats", "-r", name, directory, NULL};
        result = cli_run(stats);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
    assert_true(cut > 1);
    assert_null(strstr(text, "//"));
    free(text);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_open_ranges),
        cmocka_unit_test(test_long_tables),
        cmocka_unit_test(says_first_where_the_host_was),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_hostile_trace),
        cmocka_unit_test(test_cost_of_recording),
        cmocka_unit_test(test_several_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
