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

#ifdef HAVE_YAJL
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
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_their_numbers),
#ifdef HAVE_YAJL
        cmocka_unit_test(reports_do_it_when_asked_to),
#endif
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
