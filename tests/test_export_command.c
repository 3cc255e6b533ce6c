/*
 * The command export: where it writes and what it refuses; and CSV, a line an event. The formats that
 * are read back: test_export.c.
 */
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

#include "../analyze/exports/export.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "html_check.h"

static void csv_has_a_line_an_event(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("x", "test");
    uint32_t process = nvt_trace_process(trace, 5), thread = nvt_trace_thread(trace, process, 6);
    const struct nvt_range range = {.start = 10,
                                    .end = 30,
                                    .thread = thread,
                                    .domain = nvt_trace_domain(trace, process, "lib"),
                                    .name = nvt_strings_add_text(trace->strings, "a, \"b\""),
                                    .payload = nvt_strings_add_text(trace->strings, "42"),
                                    .flags = NVT_RANGE_HAS_PAYLOAD};
    const struct nvt_op op = {.start = 20,
                              .end = 25,
                              .device = 1,
                              .stream = 7,
                              .correlation = 3,
                              .thread = NVT_NONE,
                              .bytes = 64,
                              .detail = NVT_NONE,
                              .kind = NVT_OP_MEMCPY,
                              .name = nvt_strings_add_text(trace->strings, "copy")};
    nvt_range_add(trace, &range);
    nvt_op_add(trace, &op);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    assert_int_equal(nvt_exporter_csv.write(trace, stream, &err), 0);
    fclose(stream);
    assert_string_equal(out, "Kind,Start (ns),Duration (ns),PID,TID,Device,Stream,Correlation,"
                             "Bytes,Domain,Name,Category,Payload\n"
                             "range,10,20,5,6,,,,,lib,\"a, \"\"b\"\"\",,42\n"
                             "memcpy,20,5,5,,1,7,3,64,,copy,,\n");
    free(out);
    nvt_trace_free(trace);
}

/* --- the command --- */

static const char *sample(void)
{
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1,"
                               "\"dur\":2}]";
    const char *path = cli_in(cli_folder, "sample.json");
    cli_write_file(path, json, sizeof(json) - 1);
    return path;
}

static void the_command_says_what_it_cannot_do(void **state)
{
    (void)state;
    const char *path = sample();
    const struct {
        const char *const *argv;
        const char *needle;
    } cases[] = {
        {(const char *const[]){"nvtally", "export", NULL}, "give one trace"},
        {(const char *const[]){"nvtally", "export", path, NULL}, "--to"},
        {(const char *const[]){"nvtally", "export", path, "--to", "pdf", NULL}, "no format 'pdf'"},
        {(const char *const[]){"nvtally", "export", path, path, "--to", "csv", NULL},
         "--to csv takes one trace"},
        {(const char *const[]){"nvtally", "export", path, "--to", "csv", "-o", path, NULL},
         "is an input: give another name"},
        {(const char *const[]){"nvtally", "export", path, "--to", "csv", "-o", "/nonexistent/x",
                               NULL},
         "cannot be opened"},
        {(const char *const[]){"nvtally", "export", "/nonexistent", "--to", "csv", NULL},
         "cannot be opened"},
        {(const char *const[]){"nvtally", "export", path, "--to", "csv", "-o", "/dev/full", NULL},
         "cannot be written"},
        {(const char *const[]){"nvtally", "export", path, "--to", "nvt", "-o", "-", NULL},
         "cannot go to standard output; a file of that name is ./-"},
        {(const char *const[]){"nvtally", "export", path, "-o", "-", "--to", "sqlite", NULL},
         "cannot go to standard output; a file of that name is ./-"},
#ifdef HAVE_SQLITE
        {(const char *const[]){"nvtally", "export", path, "--to", "sqlite", "-o", "/dev/null",
                               NULL},
         "is not a regular file"},
        {(const char *const[]){"nvtally", "export", path, "--to", "sqlite", "-o", "/nonexistent/x",
                               NULL},
         "/nonexistent/x: cannot be opened: No such file or directory"},
#endif
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = cli_run(cases[i].argv);
        cli_expect_failure(&result, cases[i].needle);
        cli_result_free(&result);
    }
}

static void the_command_writes_where_it_should(void **state)
{
    (void)state;
    const char *path = sample();
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "export", "--to=csv", path, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "range,1000,2000,1,1,"));
    cli_result_free(&result);
    /* Standard output by its common name, too. */
    const char *const texts[] = {"csv", "chrome", "chrome-path", "folded", "svg"};
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++) {
        result = cli_run(
            (const char *const[]){"nvtally", "export", "--to", texts[i], path, "-o", "-", NULL});
        cli_expect_status(&result, 0);
        assert_non_null(strchr(result.out, 'r'));
        assert_int_not_equal(access("-", F_OK), 0);
        cli_result_free(&result);
    }
#ifdef HAVE_SQLITE
    struct stat status;
    result = cli_run((const char *const[]){"nvtally", "export", "--to", "sqlite", path, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "");
    cli_result_free(&result);
    assert_int_equal(stat(cli_in(cli_folder, "sample.sqlite"), &status), 0);
    assert_int_not_equal(stat(cli_in(cli_folder, "sample.sqlite.partial"), &status), 0);
    /* A second time it would replace something that was not named. */
    result = cli_run((const char *const[]){"nvtally", "export", "--to", "sqlite", path, NULL});
    cli_expect_failure(&result, "exists");
    cli_result_free(&result);
#endif
}

/* An empty file is no secret. */
static void the_command_says_that_there_was_nothing_to_write(void **state)
{
    (void)state;
    static const char mark[] = "[{\"ph\":\"i\",\"name\":\"m\",\"pid\":1,\"tid\":1,\"ts\":1}]";
    const char *path = sample(), *marked = cli_in(cli_folder, "mark.json");
    cli_write_file(marked, mark, sizeof(mark) - 1);
    const struct {
        const char *path, *format, *lacks, *out;
    } cases[] = {
        {path, "folded", NULL, "r 2000\n"},
        {path, "chrome-path", "critical path (it needs device operations and all CUDA calls)",
         NULL},
        {path, "chrome", NULL, NULL},
        {marked, "folded", "push/pop range", ""},
        {path, "folded-device", "device operation", ""},
        {path, "folded-memory", "memory event", ""},
        {marked, "svg", "range, call or device operation", ""},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "export", "--to", cases[i].format, cases[i].path, NULL});
        char note[4200] = "";
        if (cases[i].lacks)
            snprintf(note, sizeof(note), "nvtally: note: no %s in %s\n", cases[i].lacks,
                     cases[i].path);
        cli_expect_status(&result, 0);
        if (cases[i].out)
            assert_string_equal(result.out, cases[i].out);
        else
            assert_non_null(strstr(result.out, "\"name\":\"r\"")); /* the rest is there */
        assert_string_equal(result.err, note);
        cli_result_free(&result);
    }
}

/* A span is a box with its name, and narrow ones are one box that says how many; names cannot become elements. */
static void a_picture(void **state)
{
    (void)state;
    static const char hostile[] = "</title></text><script>alert('&\\u0001')";
    char *text = NULL;
    size_t size = 0;
    FILE *json = open_memstream(&text, &size);
    assert_non_null(json);
    fprintf(json, "[{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100000}",
            hostile);
    for (int i = 0; i < 9; i++) /* nine deep, of which rows for five more are drawn */
        fprintf(json, ",{\"ph\":\"X\",\"name\":\"deep\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d}",
                10 + i, 50000 - 2 * i);
    for (int i = 0; i < 100; i++) /* less than a column each */
        fprintf(json,
                ",{\"ph\":\"X\",\"name\":\"short\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":0.5}",
                70000 + i);
    fputs("]", json);
    assert_int_equal(fclose(json), 0);
    const char *path = cli_in(cli_folder, "picture.json");
    cli_write_file(path, text, size);
    free(text);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "export", "--to", "svg", path, NULL});
    cli_expect_status(&result, 0);
    assert_memory_equal(result.out, "<svg ", 5);
    assert_string_equal(result.out + strlen(result.out) - 7, "</svg>\n");
    assert_int_equal(count_of(result.out, "<rect "), 1 + 1 + 5 + 1);
    assert_int_equal(count_of(result.out, "<title>deep, "), 5);
    assert_int_equal(count_of(result.out, "<title>short and 99 more, 50.000 us<"), 1);
    assert_non_null(strstr(result.out, "4 more rows"));
    assert_null(strstr(result.out, "<script"));
    assert_non_null(strstr(result.out, "&lt;script&gt;alert(&#39;&amp;\u2401&#39;)"));
    cli_result_free(&result);
}

/* Times of a part count from the beginning of the whole trace, as --filter-time takes them. */
static void a_picture_of_a_part(void **state)
{
    (void)state;
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "export", "--to", "svg", "--filter-time",
                                      "8700ms/8750ms", "docs/results/h100/traces/train.nvt", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, ">8720 ms<"));
    assert_null(strstr(result.out, ">0 ms<"));
    cli_result_free(&result);
}

#ifdef HAVE_SQLITE
/* What a format has no form for is noted, and what it has is not. */
static void the_command_says_what_it_leaves_out(void **state)
{
    (void)state;
    static const char samples[] = "tests/fuzz/corpus/nsys/samples.sqlite",
                      calls[] = "tests/fuzz/corpus/nsys/calls.sqlite";
    static const struct {
        const char *path, *format, *note;
    } cases[] = {
        {samples, "perfetto", "as --to perfetto has no form for it: CPU samples (3)\n"},
        {samples, "chrome", NULL},
        {samples, "csv", NULL},
        {calls, "perfetto", "as --to perfetto has no form for it: stacks of calls ("},
        {calls, "sqlite", NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result =
            cli_run((const char *const[]){"nvtally", "export", "--to", cases[i].format, "-o",
                                          cli_in(cli_folder, "out"), cases[i].path, NULL});
        cli_expect_status(&result, 0);
        const char *note = strstr(result.err, "has no form for it");
        assert_int_equal(note != NULL, cases[i].note != NULL);
        if (cases[i].note)
            assert_non_null(strstr(result.err, cases[i].note));
        cli_result_free(&result);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_line_an_event),
        cmocka_unit_test(a_picture),
        cmocka_unit_test(a_picture_of_a_part),
        cmocka_unit_test(the_command_says_what_it_cannot_do),
        cmocka_unit_test(the_command_writes_where_it_should),
        cmocka_unit_test(the_command_says_that_there_was_nothing_to_write),
#ifdef HAVE_SQLITE
        cmocka_unit_test(the_command_says_what_it_leaves_out),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
