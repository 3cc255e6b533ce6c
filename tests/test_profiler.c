/*
 * The program without workloads, as `make PROFILER=1` builds it: what it says in their place, that everything else is there,
 * and that nothing of kernels/ or what only workloads need is built into it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

#define TRACE "docs/results/h100/traces/looped.nvt"

static struct cli_result profiler(const char *a, const char *b, const char *c)
{
    const char *const argv[] = {cli_built("profiler/nvtally"), a, b, c, NULL};
    return cli_run(argv);
}

static void expect_output(struct cli_result result, int status, const char *needle)
{
    cli_expect_status(&result, status);
    if (!strstr(result.out, needle))
        fail_msg("not printed: '%s', but:\n%.3000s", needle, result.out);
    cli_result_free(&result);
}

static void run_says_what_is_missing_and_how_to_get_it(void **state)
{
    (void)state;
    static const char *const said[] = {"without the workloads", "libnvtally-host.so",
                                       "build with 'make'"};
    for (size_t i = 0; i < NVT_COUNT_OF(said); i++) {
        expect_output(profiler("run", "--help", NULL), 0, said[i]);
        expect_output(profiler("run", "linear", "--help"), 0, said[i]);
    }
    static const char *const asked[][2] = {
        {NULL, NULL}, {"linear", NULL}, {"fragmented", "--list"}, {"no such", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(asked); i++) {
        struct cli_result result = profiler("run", asked[i][0], asked[i][1]);
        cli_expect_failure(&result, "built without workloads");
        cli_result_free(&result);
    }
    struct cli_result result = profiler("info", "--peak", NULL);
    cli_expect_failure(&result, "built without workloads");
    cli_result_free(&result);
    expect_output(profiler("--help", NULL, NULL), 0, "(not in this build)");
}

static void info_leaves_out_what_only_workloads_need(void **state)
{
    (void)state;
    static const char *const absent[] = {"cblas", "dnnl", "libnvtally-host.so",
                                         "libnvtally-cuda.so"};
    struct cli_result result = profiler("info", NULL, NULL);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "libnvtally-inject.so"));
    for (size_t i = 0; i < NVT_COUNT_OF(absent); i++)
        if (strstr(result.out, absent[i]))
            fail_msg("info names %s:\n%s", absent[i], result.out);
    cli_result_free(&result);
}

/* What the whole program prints for the same arguments. */
static void expect_as_the_whole(const char *a, const char *b, const char *c)
{
    const char *const argv[] = {"nvtally", a, b, c, NULL};
    struct cli_result whole = cli_run(argv), part = profiler(a, b, c);
    cli_expect_status(&whole, 0);
    cli_expect_status(&part, 0);
    assert_true(*whole.out);
    assert_string_equal(whole.out, part.out);
    cli_result_free(&whole);
    cli_result_free(&part);
}

static void everything_else_is_as_in_the_whole_program(void **state)
{
    (void)state;
    const char *rows = cli_in(cli_folder, "rows");
    expect_as_the_whole("stats", TRACE, NULL);
    expect_as_the_whole("diagnose", TRACE, NULL);
    expect_as_the_whole("reference", "gpipe", NULL);
    const char *const import[] = {
        cli_built("profiler/nvtally"), "import", "data/published/gpipe.log", "-o", rows, NULL};
    struct cli_result result = cli_run(import);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    expect_as_the_whole("stats", rows, NULL);
    expect_as_the_whole("compare", TRACE, TRACE);
}

static void it_records(void **state)
{
    (void)state;
    const char *trace = cli_in(cli_folder, "nested.nvt");
    const char *const record[] = {cli_built("profiler/nvtally"), "record", "-o", trace, "--",
                                  cli_client("nested"),          "7",      "1",  NULL};
    struct cli_result result = cli_run(record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    expect_as_the_whole("stats", trace, NULL);
}

/* Every command that make would run from an empty folder. */
static void make_touches_nothing_of_the_workloads(void **state)
{
    (void)state;
    static const char *const absent[] = {"kernels/", "openblas",        "dnnl", "fopenmp",
                                         "-lmpi",    "libnvtally-host", "nvcc"};
    char build[4200];
    snprintf(build, sizeof(build), "BUILD=%s/build", cli_folder);
    const char *const environment[] = {"MAKEFLAGS", "MAKELEVEL", NULL};
    const char *const argv[] = {"make", "-n", "PROFILER=1", build, "all", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "no_workloads.c"));
    assert_non_null(strstr(result.out, "libnvtally-inject.so"));
    for (size_t i = 0; i < NVT_COUNT_OF(absent); i++) {
        const char *at = strstr(result.out, absent[i]);
        if (at)
            fail_msg("make PROFILER=1 has %s: %.200s", absent[i], at);
    }
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_says_what_is_missing_and_how_to_get_it),
        cmocka_unit_test(info_leaves_out_what_only_workloads_need),
        cmocka_unit_test(everything_else_is_as_in_the_whole_program),
        cmocka_unit_test(it_records),
        cmocka_unit_test(make_touches_nothing_of_the_workloads),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
