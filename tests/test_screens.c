/*
 * What people see on terminals of 80 and 120 columns: no line is wider, whatever was asked for, and no number is broken. Colours are
 * there where they are wanted, and nowhere else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "terminal_kit.h"

#define TRACES "docs/results/h100/traces/"
static const char *const traces[] = {TRACES "train.nvt", TRACES "pytorch.nvt",
                                     TRACES "transformer.nvt", TRACES "looped.nvt",
                                     TRACES "managed.nvt"};
enum { TRACE_COUNT = NVT_COUNT_OF(traces) };
static const int widths[] = {80, 120};

/* What it prints fits, at both widths. It may end with 2 where a report is not for that input. */
static void expect_fits(const char *const argv[])
{
    for (size_t i = 0; i < NVT_COUNT_OF(widths); i++) {
        int status;
        char *text = kit_on_terminal(widths[i], 24, NULL, argv, &status);
        assert_in_range(status, 0, 2);
        assert_true(*text);
        (void)kit_expect_fits(text, (size_t)widths[i]);
        free(text);
    }
}

static void every_report_fits(void **state)
{
    (void)state;
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++)
        expect_fits((const char *const[]){"nvtally", "stats", "-r", reports[i]->name,
                                          traces[i % TRACE_COUNT], NULL});
    expect_fits((const char *const[]){"nvtally", "stats", "-r", "list", NULL});
}

static void commands_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        expect_fits((const char *const[]){"nvtally", "stats", traces[i], NULL});
        expect_fits((const char *const[]){"nvtally", "diagnose", traces[i], NULL});
        expect_fits((const char *const[]){"nvtally", "compare", traces[i], traces[0], NULL});
    }
    expect_fits((const char *const[]){"nvtally", "diagnose", "--rules", NULL});
    expect_fits((const char *const[]){"nvtally", "diagnose", "-f", "table", traces[0], NULL});
    expect_fits((const char *const[]){"nvtally", "info", NULL});
    expect_fits((const char *const[]){"nvtally", "--help", NULL});
    expect_fits((const char *const[]){"nvtally", "stats",
                                      "no-such-file-of-a-name-that-takes-more-"
                                      "than-a-line-of-a-terminal-has-room-for",
                                      NULL});
}

#ifdef HAVE_YAJL
static void studies_fit(void **state)
{
    (void)state;
    static const char *const studies[] = {"fragmented", "switchback", "transformer", "gpipe"};
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++)
        expect_fits((const char *const[]){"nvtally", "reference", studies[i], NULL});
}
#endif

/* Numbers have their unit beside them, in tables for people alone. */
static void numbers_have_units(void **state)
{
    (void)state;
    const char *const people[] = {"nvtally", "stats", "-r", "nvtx_sum", traces[0], NULL};
    const char *const raw[] = {"nvtally", "stats",  "-r",      "nvtx_sum",
                               "-f",      "column", traces[0], NULL};
    int status;
    char *text = kit_on_terminal(80, 24, NULL, people, &status);
    kit_uncolour(text);
    assert_non_null(strstr(text, " 14.7 ms "));
    assert_null(strstr(text, "14,690,358"));
    assert_null(strstr(text, "(ns)"));
    free(text);
    text = kit_on_terminal(80, 24, NULL, raw, &status);
    assert_non_null(strstr(text, "14,690,358"));
    assert_non_null(strstr(text, "Med (ns)"));
    free(text);
}

static void expect_colours(int are_there, const char *environment, const char *color)
{
    const char *const set[] = {environment, NULL};
    const char *const argv[] = {"nvtally", "diagnose", traces[0], color ? "--color" : NULL,
                                color,     NULL};
    int status;
    char *text = kit_on_terminal(80, 24, set, argv, &status);
    assert_int_equal(status, 0);
    assert_int_equal(kit_uncolour(text) > 0, are_there);
    assert_null(strchr(text, '\033'));
    free(text);
}

static void colours_are_where_they_are_wanted(void **state)
{
    (void)state;
    expect_colours(1, NULL, NULL);
    expect_colours(0, "NO_COLOR=1", NULL);
    expect_colours(1, "NO_COLOR=", NULL);
    expect_colours(0, "TERM=dumb", NULL);
    expect_colours(1, "NO_COLOR=1", "always");
    expect_colours(0, NULL, "never");
    static const char *const commands[] = {"stats", "compare", "diagnose", "reference"};
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++) {
        const char *const wrong[] = {"nvtally", commands[i], "--color", "red", traces[0], NULL};
        struct cli_result result = cli_run(wrong);
        cli_expect_failure(&result, "--color red: must be auto, always or never");
        cli_result_free(&result);
    }
    const char *const pipe[] = {"nvtally", "diagnose", traces[0], NULL};
    struct cli_result result = cli_run(pipe);
    assert_null(strchr(result.out, '\033'));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_fits),  cmocka_unit_test(commands_fit),
#ifdef HAVE_YAJL
        cmocka_unit_test(studies_fit),
#endif
        cmocka_unit_test(numbers_have_units), cmocka_unit_test(colours_are_where_they_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
