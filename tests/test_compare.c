/*
 * The command `compare`: exit status, repetitions, verdicts on runs whose truth is known.
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

#include "cli.h"

/* A run directory with one record, as `run --collect off` leaves it. */
static const char *make_run(const char *name, double forward_ns, double std_ns)
{
    char row[1024];
    const char *path = cli_in(cli_folder, name);
    mkdir(path, 0700);
    snprintf(
        row, sizeof(row),
        "{\"workload\": \"linear\", \"size\": 64, \"backend\": \"host\", \"iterations\": 100, "
        "\"status\": \"ok\", \"forward_ns_mean\": %g, \"forward_ns_std\": %g, \"trace\": null}\n",
        forward_ns, std_ns);
    cli_write_file(cli_in(path, "results.jsonl"), row, strlen(row));
    return path;
}

static void a_regression_is_exit_status_1(void **state)
{
    (void)state;
    const char *before = make_run("before", 1e6, 2e4), *after = make_run("after", 1.2e6, 2e4);
    const char *slower[] = {"nvtally", "compare", before, after, "--fail-above",
                            "5%",      "-f",      "csv",  NULL};
    struct cli_result result = cli_run(slower);
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, ",forward,"));
    assert_non_null(strstr(result.out, ",slower"));
    assert_non_null(strstr(result.err, "1 slower by more than 5 %"));
    cli_result_free(&result);
    const char *allowed[] = {"nvtally", "compare", before, after, "--fail-above", "30", NULL};
    result = cli_run(allowed);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *faster[] = {"nvtally", "compare", after, before, "--fail-above", "5", NULL};
    result = cli_run(faster);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "faster"));
    cli_result_free(&result);
    const char *same[] = {"nvtally", "compare", before, before, NULL};
    result = cli_run(same);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "same"));
    cli_result_free(&result);
}

/* Times from traces: a run against itself is the same to the last digit. */
static void traces_give_their_times(void **state)
{
    (void)state;
    const char *trace = cli_in(cli_folder, "t.nvt");
    const char *record[] = {"nvtally",           "record", "-o",   trace, "--",
                            cli_client("pairs"), "1",      "5000", NULL};
    struct cli_result result = cli_run(record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *argv[] = {"nvtally", "compare", trace, trace, "vs",
                          trace,     trace,     "-f",  "csv", NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "range,:work,B,10000,10000,"));
    assert_null(strstr(result.out, "slower"));
    assert_null(strstr(result.out, "faster"));
    cli_result_free(&result);
}

static void what_cannot_be_compared_says_so(void **state)
{
    (void)state;
    const char *before = make_run("x", 1e6, 2e4);
    const char *trace = cli_in(cli_folder, "y.nvt");
    const char *record[] = {"nvtally",           "record", "-o", trace, "--",
                            cli_client("pairs"), "1",      "10", NULL};
    struct cli_result result = cli_run(record);
    cli_result_free(&result);
    const struct {
        const char *arguments[4];
        const char *needle;
    } bad[] = {{{before, NULL}, "needs two sides"},
               {{before, "vs", NULL}, "needs two sides"},
               {{"vs", before, NULL}, "nothing to compare"},
               {{before, trace, NULL}, "nothing in common"},
               {{"--fail-above", "much", before, NULL}, "--fail-above much"},
               {{"--tolerance", "-1", before, NULL}, "--tolerance -1"},
               {{"-f", "xml", before, NULL}, "no format 'xml'"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *const *more = bad[i].arguments;
        const char *argv[] = {"nvtally",
                              "compare",
                              more[0],
                              more[1],
                              more[1] ? more[2] : NULL,
                              more[1] && more[2] ? more[3] : NULL,
                              NULL};
        result = cli_run(argv);
        cli_expect_failure(&result, bad[i].needle);
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regression_is_exit_status_1),
        cmocka_unit_test(traces_give_their_times),
        cmocka_unit_test(what_cannot_be_compared_says_so),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
