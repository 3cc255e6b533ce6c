/*
 * tests/demo, what `./setup demo` runs: it says what a loop over fragments costs where the machine shows it, and where it does not
 * that it does not. Measured for once, and with an nvtally in between that gives times of our own.
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
#include "cli.h"

/* An nvtally whose looped passes over 128 fragments take $LOOPED us in each round, and grouped ones 10. */
static const char stand_in[] =
    "#!/bin/sh\n"
    "for last; do :; done\n"
    "case $1 in\n"
    "run) [ -z \"$FAILS\" ] || { echo 'nvtally: no room'; exit 3; }; mkdir -p \"$last\";;\n"
    "stats) set -- $LOOPED; round=${last##*-}; shift $((round - 1))\n"
    "    row() { echo \"fragmented,size=256 batch=8 $1,forward,60,1,1,1,$2.5,9,,,,,ok,measured\"; "
    "echo \"fragmented,size=256 batch=8 $1,backward,60,1,1,1,7,9,,,,,ok,measured\"; }\n"
    "    row mode=linear 20000\n"
    "    for f in 2 8 32 128; do row \"mode=inference fragments=$f variant=looped\" "
    "$((f == 128 ? $1 * 1000 : 10000)); row \"mode=inference fragments=$f variant=grouped\" 10000; "
    "done;;\n"
    "*) echo \"$1 of ${last##*/}\";;\n"
    "esac\n";

static struct cli_result run_demo(const char *build, const char *looped, const char *fails)
{
    char variable[4200], times[100], failing[16];
    snprintf(variable, sizeof(variable), "NVTALLY_BUILD=%s", build);
    snprintf(times, sizeof(times), "LOOPED=%s", looped);
    snprintf(failing, sizeof(failing), "FAILS=%s", fails);
    const char *const environment[] = {variable, times, failing, NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 200};
    return cli_run_with(&options,
                        (const char *const[]){"tests/demo", cli_in(cli_folder, "out"), NULL});
}

static void what_is_shown_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *looped; /* us, of the five rounds */
        const char *said;
        int is_shown;
    } cases[] = {
        {"70 71 72 73 74", "takes 7.2 times as long", 1},
        {"74 70 9 73 71", "takes 7.1 times as long", 1}, /* one round was disturbed */
        {"10 11 9 10 10", "This machine did not show what a loop over the fragments costs", 0},
        {"14 14 15 14 14", "looped passes took 14 us and grouped ones 10 us", 0},
        {"70 9 9 73 71", "were longer in 3 of 5 rounds", 0},
    };
    const char *build = strdup(cli_in(cli_folder, "."));
    cli_write_file(cli_in(cli_folder, "nvtally"), stand_in, strlen(stand_in));
    assert_int_equal(chmod(cli_in(cli_folder, "nvtally"), 0755), 0);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = run_demo(build, cases[i].looped, "");
        cli_expect_status(&result, 0);
        if (!strstr(result.out, cases[i].said) ||
            !strstr(result.out, "diagnose of fragments") != !cases[i].is_shown)
            fail_msg("%s:\n%s", cases[i].looped, result.out);
        assert_non_null(strstr(result.out, "plot of round-"));
        assert_non_null(strstr(result.out, "\n  export PATH=\""));
        assert_non_null(strstr(result.out, "\n  nvtally record --python train.py"));
        assert_non_null(strstr(result.out, "--pytorch"));
        assert_non_null(strstr(result.err, "demo: round 5 of 5\n"));
        cli_result_free(&result);
    }
    struct cli_result result = run_demo(build, "70 71 72 73 74", "1");
    cli_expect_status(&result, 3);
    assert_non_null(strstr(result.err, "nvtally: no room\ndemo: it could not be measured"));
    cli_result_free(&result);
    free((char *)build);
}

/* Whatever this machine shows, the table is whole and its last lines are there. */
static void it_is_measured_here(void **state)
{
    (void)state;
    struct cli_result result = run_demo(cli_built(""), "", "");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "\n128        "));
    if (!strstr(result.out, "in a loop takes ") &&
        !strstr(result.out, "This machine did not show "))
        fail_msg("%s", result.out);
    assert_non_null(strstr(result.out, "\n  nvtally diagnose trace.nvt\n"));
    assert_null(strstr(result.out, "^0.0"));
    cli_result_free(&result);
    char *log = cli_read_text(cli_folder, "out/log");
    assert_non_null(strstr(log, "fragment"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_is_said),
        cmocka_unit_test(it_is_measured_here),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
