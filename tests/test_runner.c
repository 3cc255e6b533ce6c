/* What runs the tests: each program's output in one piece, what failed at the end, and those that measure time alone. */
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

#define MOST 8

/* A program of the fixture's folder that is this script. */
static void put(const char *name, const char *script)
{
    char text[1024];
    int size = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    cli_write_file(cli_in(cli_folder, name), text, (size_t)size);
    assert_int_equal(chmod(cli_in(cli_folder, name), 0755), 0);
}

/* The runner with these programs of the folder, in which it runs. */
static struct cli_result run_programs(const char *jobs, const char *limit_s,
                                      const char *const names[])
{
    char runner[4200], variables[2][64], paths[MOST][64];
    const char *argv[MOST + 2] = {runner};
    char *absolute = realpath(cli_built("tests/runner/run"), NULL);
    assert_non_null(absolute);
    snprintf(runner, sizeof(runner), "%s", absolute);
    free(absolute);
    for (size_t i = 0; names[i]; i++) {
        assert_true(i < MOST);
        snprintf(paths[i], sizeof(paths[i]), "%s%s", names[i][0] == '-' ? "" : "./", names[i]);
        argv[i + 1] = paths[i];
    }
    snprintf(variables[0], sizeof(variables[0]), "NVTALLY_TEST_JOBS=%s", jobs);
    snprintf(variables[1], sizeof(variables[1]), "NVTALLY_TEST_TIMEOUT=%s", limit_s);
    const char *const environment[] = {variables[0], variables[1], NULL};
    return cli_run_with(&(struct cli_options){.directory = cli_folder, .environment = environment},
                        argv);
}

/* Two that run at the same time: each waits for a file of the other's. */
static void outputs_are_whole(void **state)
{
    (void)state;
    put("one", "echo one begins; : >a; while [ ! -e b ]; do sleep 0.01; done; echo one ends >&2");
    put("two", "echo two begins; : >b; while [ ! -e a ]; do sleep 0.01; done; echo two ends");
    struct cli_result result = run_programs("2", "", (const char *const[]){"one", "two", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "one begins\none ends\n"));
    assert_non_null(strstr(result.out, "two begins\ntwo ends\n"));
    assert_non_null(strstr(result.out, "== ./one ("));
    assert_non_null(strstr(result.out, "\n2 of 2 test programs passed in "));
    assert_null(strstr(result.out, "FAILED"));
    cli_result_free(&result);
}

/* All are run; the end has the last thirty lines of each that failed, by a status or a signal. */
static void failures_are_at_the_end(void **state)
{
    (void)state;
    put("long", "i=0; while [ $i -lt 50 ]; do i=$((i + 1)); echo line $i; done; exit 3");
    put("killed", "printf 'no line end'; kill -SEGV $$");
    put("good", "echo good");
    struct cli_result result =
        run_programs("2", "", (const char *const[]){"long", "killed", "missing", "good", NULL});
    cli_expect_status(&result, 1);
    const char *end = strstr(result.out, "1 of 4 test programs passed");
    assert_non_null(end);
    assert_non_null(strstr(result.out, "line 1\n")); /* before it stands all of it */
    assert_null(strstr(end, "line 20\n"));
    assert_non_null(
        strstr(end, "FAILED: ./long: exit status 3. Its last lines (all: ./long.log):\nline 21\n"));
    assert_non_null(strstr(end, "line 50\n"));
    assert_non_null(strstr(end, "FAILED: ./killed: ended by signal 11"));
    assert_non_null(strstr(end, "no line end"));
    assert_non_null(strstr(end, "./missing: No such file or directory"));
    assert_null(strstr(end, "good"));
    assert_non_null(strstr(end, "\nFAILED: ./long ./killed ./missing\n"));
    cli_result_free(&result);
}

/* With what it has started. */
static void what_hangs_is_ended(void **state)
{
    (void)state;
    put("hangs", "echo begun; sleep 3000 & sleep 3000");
    struct cli_result result = run_programs("2", "1", (const char *const[]){"hangs", NULL});
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "FAILED: ./hangs: took more than 1 s"));
    assert_non_null(strstr(result.out, "begun\n"));
    cli_result_free(&result);
}

/* Each of these fails where another runs. */
static void those_alone_run_last(void **state)
{
    (void)state;
    static const char alone[] = "[ -e first.done ] || exit 1; [ ! -e busy ] || exit 2\n"
                                ": >busy; sleep 0.1; rm busy";
    put("first", "sleep 0.2; : >first.done");
    put("x", alone);
    put("y", alone);
    struct cli_result result =
        run_programs("8", "", (const char *const[]){"first", "--alone", "x", "y", NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "3 of 3 test programs passed"));
    cli_result_free(&result);
}

/* Never more than were asked for. */
static void as_many_as_were_asked_for(void **state)
{
    (void)state;
    static const char script[] = "mkdir lock || exit 1; sleep 0.05; rmdir lock";
    put("p", script);
    put("q", script);
    put("r", script);
    struct cli_result result = run_programs("1", "", (const char *const[]){"p", "q", "r", NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char *const wrong[] = {"0", "many", "1000"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        result = run_programs(wrong[i], "", (const char *const[]){"p", NULL});
        cli_expect_status(&result, 2);
        assert_non_null(strstr(result.err, "NVTALLY_TEST_JOBS is a number from 1 to 256"));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_whole),         cmocka_unit_test(failures_are_at_the_end),
        cmocka_unit_test(what_hangs_is_ended),       cmocka_unit_test(those_alone_run_last),
        cmocka_unit_test(as_many_as_were_asked_for),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
