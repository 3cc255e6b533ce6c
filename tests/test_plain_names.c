/*
 * Names of PyTorch's calls and steps without their numbers: which are changed, and where it is
 * done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/plain_names.h"
#include "../lib/count_of.h"
#include "cli.h"

static const struct {
    const char *name, *plain;
} cases[] = {
    {"aten::mm, op_id = 7", "aten::mm"},
    {"aten::mm, seq = 5, op_id = 12", "aten::mm"},
    {"aten::mm, op_id = 7, seq = 5, sizes = [[2, 3], [3, 4]]", "aten::mm"},
    {"aten::mm", "aten::mm"},
    {"ProfilerStep#17", "ProfilerStep#*"},
    {"ProfilerStep#", "ProfilerStep#"},
    {"ProfilerStep#1a", "ProfilerStep#1a"},
    {"step 17", "step 17"},
    {"<built-in method to of Tensor object at 0x7f8fee516940>",
     "<built-in method to of Tensor object at 0x*>"},
    {"f(<a at 0x12>, <b at 0x34ab>)", "f(<a at 0x*>, <b at 0x*>)"},
    {"page at 0x7f8fee516940", "page at 0x7f8fee516940"},
    {"<a at 0x>", "<a at 0x>"},
    {", op_id = 3", ", op_id = 3"}, /* nothing would be left */
    {"", ""},
};
enum { CASES = NVT_COUNT_OF(cases) };

static void names_lose_their_numbers(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("made up", "test");
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    for (int i = 0; i < CASES; i++) {
        struct nvt_range range = {.start = i * 10,
                                  .end = i * 10 + 5,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .name = nvt_strings_add_text(trace->strings, cases[i].name)};
        assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(nvt_plain_names(trace, &err), 0);
        for (int i = 0; i < CASES; i++)
            assert_string_equal(nvt_name(trace, trace->ranges.name[i]), cases[i].plain);
    }
    /* The same name is the same string. */
    assert_int_equal(trace->ranges.name[0], trace->ranges.name[1]);
    assert_int_equal(trace->ranges.name[0], trace->ranges.name[3]);
    nvt_trace_free(trace);
}

static const char *write_profile(void)
{
    const char *path = cli_in(cli_folder, "p.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", out);
    for (int i = 0; i < 40; i++)
        fprintf(
            out,
            "%s{\"ph\": \"X\", \"cat\": \"nvtx\", \"name\": \"aten::mm, op_id = %d\", \"pid\": 7, "
            "\"tid\": 7, \"ts\": %d, \"dur\": %d}\n",
            i ? "," : "", i, 100 * i, 50 + i % 3);
    fputs("]}\n", out);
    assert_int_equal(fclose(out), 0);
    return path;
}

/* Whether a command prints a text. */
static void expect(const char *const argv[], const char *text, int is_there)
{
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    if ((strstr(result.out, text) != NULL) != is_there)
        fail_msg("%s %s: '%s' is%s there:\n%s", argv[1], argv[2], text, is_there ? " not" : "",
                 result.out);
    cli_result_free(&result);
}

static void reports_do_it_when_asked_to(void **state)
{
    (void)state;
    const char *path = write_profile();
    const char *const as_it_is[] = {"nvtally", "stats", "-r", "nvtx_sum", "-f", "csv", path, NULL};
    const char *const plain[] = {"nvtally", "stats", "--plain-names", "-r", "nvtx_sum", "-f", "csv",
                                 path,      NULL};
    const char *const trees[] = {
        "nvtally", "stats", "--plain-names", "-r", "range_tree", "-f", "csv", path, NULL};
    const char *const compare[] = {"nvtally", "compare", path, path, "-f", "csv", NULL};
    expect(as_it_is, "aten::mm, op_id = 17", 1);
    expect(plain, ",40,", 1);
    expect(plain, "op_id", 0);
    expect(trees, "op_id", 0);
    expect(compare, "aten::mm,B,40,40,", 1);
    expect(compare, "op_id", 0);
}

/* Ranges "request-0" on, and a "log" for each hundredth. */
static const char *write_requests(int count)
{
    const char *path = cli_in(cli_folder, "requests.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", out);
    for (int i = 0; i < count; i++) {
        char name[32] = "log";
        if (i % 100)
            (void)snprintf(name, sizeof(name), "request-%d", i);
        fprintf(out,
                "%s{\"ph\": \"X\", \"cat\": \"nvtx\", \"name\": \"%s\", \"pid\": 7, "
                "\"tid\": 7, \"ts\": %d, \"dur\": 5}\n",
                i ? "," : "", name, 10 * i);
    }
    fputs("]}\n", out);
    assert_int_equal(fclose(out), 0);
    return path;
}

/* Of many names, those that differ in a number are one to people; programs get each unless they ask. */
static void many_names_are_put_together(void **state)
{
    (void)state;
    const char *path = write_requests(12000);
    const char *const people[] = {"nvtally", "stats", "-r", "nvtx_sum", path, NULL};
    const char *const every[] = {"nvtally", "stats", "--every-name", "-r", "nvtx_sum", path, NULL};
    const char *const programs[] = {"nvtally", "stats", "-r", "nvtx_sum", "-f", "csv", path, NULL};
    const char *const asked[] = {"nvtally", "stats", "--group-names", "-r", "nvtx_sum", "-f", "csv",
                                 path,      NULL};
    expect(people, "request-*", 1);
    expect(people, "request-17\n", 0);
    expect(every, "request-17\n", 1);
    expect(every, "request-*", 0);
    expect(programs, ":request-17\n", 1);
    expect(asked, ",11880,", 1);
    expect(asked, "request-17", 0);
    struct cli_result result = cli_run(people);
    if (!strstr(result.err, "of 11881 names, those that differ only in a number are "
                            "one, such as request-* (--every-name: not)\n"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    path = write_requests(900);
    expect(people, "request-17\n", 1);
    const char *const few[] = {"nvtally", "stats", "--group-names", "-r", "nvtx_sum", path, NULL};
    expect(few, "request-*", 1);
}

/* Rows of a table, and what is said of the others. */
static int rows_of(const char *const argv[], const char *begin, const char *rest)
{
    struct cli_result result = cli_run(argv);
    int rows = 0;
    cli_expect_status(&result, 0);
    if (!strstr(result.out, rest) && !strstr(result.err, rest))
        fail_msg("no '%s': %s%s", rest, result.out, result.err);
    for (const char *at = result.out; (at = strstr(at, begin)); at++)
        rows++;
    cli_result_free(&result);
    return rows;
}

static void the_first_rows_are_shown(void **state)
{
    (void)state;
    const char *path = write_requests(900);
    const char *const table[] = {"nvtally", "stats", "--top", "3", "-r", "nvtx_sum", path, NULL};
    const char *const csv[] = {"nvtally",  "stats", "--top", "5",  "-r",
                               "nvtx_sum", "-f",    "csv",   path, NULL};
    const char *const all[] = {"nvtally", "stats", "-r", "nvtx_sum", path, NULL};
    const char *const zero[] = {"nvtally", "stats", "--top", "0", "-r", "nvtx_sum", path, NULL};
    assert_int_equal(rows_of(table, "request-", "… 889 more rows: --top 0 shows all\n"), 2);
    assert_int_equal(rows_of(csv, ":request-", "nvtx_sum: the first 5 of 892 rows\n"), 4);
    assert_int_equal(rows_of(all, "request-", ""), 891);
    assert_int_equal(rows_of(zero, "request-", ""), 891);
    static const char *const bad[] = {"", "x", "-1", "3x", "99999999999999999999"};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        struct cli_result result =
            cli_run((const char *[]){"nvtally", "stats", "--top", bad[i], path, NULL});
        cli_expect_failure(&result, "must be a number of rows, 0 for all");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_their_numbers),
        cmocka_unit_test(reports_do_it_when_asked_to),
        cmocka_unit_test(many_names_are_put_together),
        cmocka_unit_test(the_first_rows_are_shown),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
