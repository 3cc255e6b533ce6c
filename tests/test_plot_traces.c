/* The charts of traces: what their names may be, how many are drawn, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"

static struct cli_result plot(const char *trace)
{
    const char *const argv[] = {"nvtally", "plot", trace, NULL};
    return cli_run(argv);
}

/* A trace whose ranges have names that would be commands, formats, fields or lines of their own. */
static void test_ranges_of_a_trace(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char *const names[] = {"step",
                                        "`touch pwned`",
                                        "'; system('touch pwned'); '",
                                        "tab\tand\nline \"quoted",
                                        "%s%n\\n{/Symbol a}",
                                        "",
                                        "short"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("/tmp/it's `odd`.nvt", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 1), 1);
    for (int i = 0; i < 7; i++) {
        struct nvt_range row = {.start = i,
                                .end = i < 6 ? 60000 - i * 10000 : 126,
                                .name = nvt_strings_add_text(trace->strings, names[i])};
        assert_true(nvt_range_add(trace, &row) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    char *directory = cli_tempdir(), *paths = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    assert_true(nvt_chart_fits(&nvt_chart_ranges, &input));
    if (nvt_chart_pictures(&nvt_chart_ranges, &request, &err) ||
        nvt_chart_pictures(&nvt_chart_timeline, &request, &err))
        fail_msg("%s", err.message);
    fclose(out);
    assert_non_null(strstr(paths, "/it_s__odd_-ranges.svg\n"));
    assert_non_null(strstr(paths, "/it_s__odd_-timeline.svg\n"));
    char *timeline = cli_read_text(directory, "it_s__odd_-timeline.svg");
    assert_null(strstr(timeline, "Start/end ranges"));
    assert_null(strstr(timeline, "GPU"));
    /* Each of them lies within the one before; there are lanes for four. */
    assert_non_null(strstr(timeline, "Not drawn: 3 deeper ranges."));
    free(timeline);
    char *svg = cli_read_text(directory, "it_s__odd_-ranges.svg");
    assert_non_null(strstr(svg, ":step"));
    assert_non_null(strstr(svg, "60.0 µs · 1×"));
    /* What is short beside the longest has a unit of its own: not 0.00012 ms. */
    assert_non_null(strstr(svg, "120 ns · 1×"));
    assert_non_null(strstr(svg, ":`touch pwned`"));
    char *data = cli_read_text(directory, "it_s__odd_-ranges.dat");
    size_t lines = 0;
    for (const char *at = data; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 8);
    assert_null(cli_read_file(cli_in(directory, "pwned"), NULL));
    free(svg);
    free(data);
    free(paths);
    nvt_trace_free(trace);
    nvt_buffer_free(&input.notes);
    cli_tempdir_remove(directory);
}

/* A trace that says no more than that there is one range. */
static void write_trace(const char *path)
{
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1,"
                               "\"dur\":2}]";
    cli_write_file(path, json, sizeof(json) - 1);
}

#define OF(category, name)                                                                         \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name                                      \
    "\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":20,\"args\":{\"correlation\":1,\"stream\":7}}"

/* Python's stack has the time of everything that it calls: operators and modules would not be seen. */
/* Of more phases than fit the last ones are shown, which do not begin where the trace does; of start/end ranges none is
 * said to lie in another. */
static void test_what_is_drawn_is_told(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("long", "test");
    nvt_trace_thread(trace, nvt_trace_process(trace, 1), 1);
    for (int i = 0; i < 60; i++) {
        const struct nvt_range phase = {.start = i * 1000,
                                        .end = i * 1000 + 900,
                                        .name = nvt_strings_add_text(trace->strings, "forward")};
        const struct nvt_memory_event event = {.time = i * 1000 + 10,
                                               .address = 0x1000 + (uint64_t)i * 0x100000,
                                               .bytes = 1 << 20,
                                               .allocated = (uint64_t)(i + 1) << 20,
                                               .reserved = (uint64_t)(i + 1) << 20,
                                               .source = nvt_strings_add_text(trace->strings, "p"),
                                               .kind = NVT_MEMORY_ALLOC};
        assert_true(nvt_range_add(trace, &phase) != NVT_NONE);
        assert_true(nvt_memory_event_add(trace, &event) != NVT_NONE);
    }
    const struct nvt_range across = {.start = 500,
                                     .end = 1500,
                                     .style = NVT_START_END,
                                     .name = nvt_strings_add_text(trace->strings, "across")};
    assert_true(nvt_range_add(trace, &across) != NVT_NONE);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    char *directory = cli_tempdir(), *paths = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&paths, &size);
    struct nvt_chart_request request = {
        .input = &input, .directory = directory, .format = "svg", .paths = out};
    if (nvt_chart_pictures(&nvt_chart_memory, &request, &err) ||
        nvt_chart_pictures(&nvt_chart_timeline, &request, &err))
        fail_msg("%s", err.message);
    fclose(out);
    char *memory = cli_read_text(directory, "long-memory.svg");
    assert_non_null(strstr(memory, "The last 48 of 60 such ranges: 0 is 12.0 µs after the"));
    char *timeline = cli_read_text(directory, "long-timeline.svg");
    assert_non_null(
        strstr(timeline, "Start/end ranges may end after the range that they begin in."));
    free(memory);
    free(timeline);
    free(paths);
    cli_tempdir_remove(directory);
    nvt_trace_free(trace);
}

static void test_functions_are_left_out(void **state)
{
    (void)state;
    static const char json[] =
        "[" OF("python_function", "train.py(3): main") "," OF("cpu_op", "aten::mm") "," OF(
            "python_function", "nn.Module: Linear_0") "," OF("cuda_runtime",
                                                             "cudaLaunchKernel") "," OF("kernel",
                                                                                        "gemm") "]";
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "t.json");
    cli_write_file(path, json, sizeof(json) - 1);
    const char *summary[] = {cli_built("nvtally"), "stats", "-r", "summary", path, NULL};
    struct cli_result result = cli_run(summary);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "cpu_op:aten::mm"));
    assert_non_null(strstr(result.out, "nn.Module: Linear_0"));
    assert_null(strstr(result.out, "train.py"));
    cli_result_free(&result);
    if (cli_has_gnuplot()) {
        result = plot(path);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *data = cli_read_text(directory, "t-ranges.dat"),
             *svg = cli_read_text(directory, "t-ranges.svg");
        assert_non_null(strstr(data, "aten::mm"));
        assert_non_null(strstr(data, "Linear_0"));
        assert_null(strstr(data, "train.py"));
        assert_non_null(strstr(svg, "Functions of the Python stack not drawn."));
        free(data);
        free(svg);
    }
    cli_tempdir_remove(directory);
}

/* Threads of one name: a short one as it is, and of a long one so much as leaves room for the number. */
static void namesakes_have_their_whole_number(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char *const names[] = {"python3", "pt_data_worker"};
    static const char *const labels[][2] = {{"'python3 11168'", "'python3 11169'"},
                                            {"'pt_da… 4111681'", "'pt_da… 4111682'"}};
    char *directory = cli_tempdir(), json[1000];
    const char *path = cli_in(directory, "t.json");
    for (int i = 0; i < 2; i++) {
        json[0] = 0;
        for (int k = 0; k < 2; k++)
            snprintf(json + strlen(json), sizeof(json) - strlen(json),
                     "%c{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":%d,\"ts\":1,\"dur\":2},"
                     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"ts\":1,"
                     "\"args\":{\"name\":\"%s\"}}%s",
                     k ? ',' : '[', (i ? 4111681 : 11168) + k, (i ? 4111681 : 11168) + k, names[i],
                     k ? "]" : "");
        cli_write_file(path, json, strlen(json));
        struct cli_result result = plot(path);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *script = cli_read_text(directory, "t-timeline.gp");
        for (int k = 0; k < 2; k++)
            if (!strstr(script, labels[i][k]))
                fail_msg("no %s in\n%s", labels[i][k], script);
        free(script);
    }
    cli_tempdir_remove(directory);
}

/* Bars have the names of the rows that they are of, however many that are left out come before. */
static void test_bars_behind_functions(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "t.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("[", out);
    for (int i = 0; i < 60; i++)
        fprintf(out,
                "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s%d\",\"pid\":1,\"tid\":%d,\"ts\":1,"
                "\"dur\":%d}",
                i ? "," : "", i < 40 ? "python_function" : "cpu_op", i < 40 ? "f" : "op", i, i,
                1000 - i);
    fputs("]", out);
    assert_int_equal(fclose(out), 0);
    struct cli_result result = plot(path);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *data = cli_read_text(directory, "t-ranges.dat");
    assert_non_null(strstr(data, "\n960\t960\t0xA9BCCF\t1\t0x101010\top40\t960 µs · 1×\n"));
    assert_non_null(strstr(data, "\n945\t945\t0xA9BCCF\t1\t0x101010\top55\t945 µs · 1×\n"));
    free(data);
    cli_tempdir_remove(directory);
}

/* A script whose name begins with a '-' is no option of gnuplot, which said nothing and drew nothing. */
static void test_trace_named_like_an_option(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    write_trace(cli_in(directory, "-dash.json"));
    struct cli_result result = plot(cli_in(directory, "-dash.json"));
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/-dash-timeline.svg\n"));
    free(cli_read_text(directory, "-dash-timeline.svg"));
    free(cli_read_text(directory, "-dash-ranges.svg"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* The first three traces have charts: of more, a line says so. */
static void test_traces_left_out(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    char *directory = cli_tempdir();
    static const char *const names[] = {"a.json", "b.json", "c.json", "d\n.json"};
    const char *argv[9] = {"nvtally", "plot", "-o", directory};
    for (int i = 0; i < 4; i++) {
        argv[4 + i] = cli_in(directory, names[i]);
        write_trace(argv[4 + i]);
    }
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/c-timeline.svg"));
    assert_null(strstr(result.out, "/d_-timeline.svg"));
    assert_string_equal(
        result.err,
        "nvtally: note: charts show the first 3 of 4 traces; plot the others by themselves\n");
    cli_result_free(&result);
    argv[7] = NULL;
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.err, "");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* What cannot be written is named by its path, also where it is written last. */
static void test_full_disk(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), trace[4096], expected[4200];
    snprintf(trace, sizeof(trace), "%s", cli_in(directory, "t.json"));
    write_trace(trace);
    assert_int_equal(symlink("/dev/full", cli_in(directory, "t-timeline.dat")), 0);
    struct cli_result result = plot(trace);
    snprintf(expected, sizeof(expected), "%s/t-timeline.dat: cannot be written: No space",
             directory);
    cli_expect_failure(&result, expected);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* gnuplot says nothing of a picture that it could not write: it is not left cut, and an earlier one is kept. */
static void a_picture_is_replaced_when_it_is_whole(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const char script[] =
        "mkdir disk && mount -t tmpfs -o size=12k tmpfs disk || { echo none; exit; }\n"
        "for format in svg png pdf; do\n"
        "    echo old >disk/t-timeline.$format\n"
        "    \"$0\" plot -f $format -o disk t.json 2>&1; echo $?\n"
        "    cat disk/t-timeline.$format; rm disk/t-timeline.$format\n"
        "    \"$0\" plot -f $format -o disk t.json 2>&1; echo $?; rm disk/t-timeline.[dg]*\n"
        "    ls disk\n"
        "done; umount disk\n"
        "ln -s /dev/full t-timeline.svg; \"$0\" plot t.json 2>&1; echo $?; rm t-timeline.svg\n"
        "\"$0\" plot t.json >/dev/null; echo $?; ls | grep partial; tail -n 2 t-timeline.svg\n";
    char *directory = cli_tempdir(), expected[2000] = "";
    write_trace(cli_in(directory, "t.json"));
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = directory},
                     (const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    if (!strncmp(result.out, "none\n", 5)) {
        print_message("no right to mount a small disk here: not run\n");
    } else {
        static const char *const formats[] = {"svg", "png", "pdf"};
        static const char full[] = "cannot be written: No space left on device\n2\n";
        for (int i = 0; i < 3; i++)
            snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
                     "nvtally: disk/t-timeline.%s: %sold\nnvtally: disk/t-timeline.%s: %s",
                     formats[i], full, formats[i], full);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
                 "nvtally: ./t-timeline.svg: %s0\n</svg>\n\n", full);
        assert_string_equal(result.out, expected);
    }
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* Of characters that no font has gnuplot makes a picture that is all black. A stand-in for fc-list says which there are. */
static void test_what_no_font_has(void **state)
{
    (void)state;
    if (!cli_has_gnuplot())
        skip();
    static const struct {
        const char *fonts, *format, *name;
        int told;
    } cases[] = {{"echo ':charset=20-7e a0-17f 2190-2fff'", "png", "é □□ √", 1},
                 {"echo ':charset=20-7e a0-17f 2190-2fff'", "pdf", "é □□ √", 1},
                 {"printf '%s\\n' :charset=20-7e :charset=2200-2fff ':charset=1 30a0-30ff'", "png",
                  "é デタ √", 0},
                 {"echo ':charset=20-7e'", "svg", "é デタ √", 0},
                 {"exit 1", "png", "é デタ √", 0}};
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"é デタ √\",\"pid\":1,\"tid\":1,\"ts\":1,"
                               "\"dur\":2}]";
    char *directory = cli_tempdir();
    cli_write_file(cli_in(directory, "t.json"), json, sizeof(json) - 1);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char script[300], path[4400];
        int size = snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", cases[i].fonts);
        const char *fonts = cli_in(directory, "fc-list");
        cli_write_file(fonts, script, (size_t)size);
        assert_int_equal(chmod(fonts, 0700), 0);
        snprintf(path, sizeof(path), "PATH=%s:%s", directory, getenv("PATH"));
        const char *const environment[] = {path, NULL};
        struct cli_result result = cli_run_with(
            &(const struct cli_options){.directory = directory, .environment = environment},
            (const char *const[]){"nvtally", "plot", "-f", cases[i].format, "t.json", NULL});
        cli_expect_status(&result, 0);
        /* Each character once, of however many places. */
        assert_int_equal(strstr(result.err, "no font here has 2 characters of") != NULL,
                         cases[i].told);
        cli_result_free(&result);
        char *data = cli_read_text(directory, "t-ranges.dat");
        if (!strstr(data, cases[i].name))
            fail_msg("case %zu: no %s in %s", i, cases[i].name, data);
        free(data);
    }
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_no_font_has),
        cmocka_unit_test(test_ranges_of_a_trace),
        cmocka_unit_test(test_what_is_drawn_is_told),
        cmocka_unit_test(test_functions_are_left_out),
        cmocka_unit_test(namesakes_have_their_whole_number),
        cmocka_unit_test(test_bars_behind_functions),
        cmocka_unit_test(test_trace_named_like_an_option),
        cmocka_unit_test(test_traces_left_out),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(a_picture_is_replaced_when_it_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
