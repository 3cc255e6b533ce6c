/*
 * Where commands write: no input is written over, a trace takes the place of nothing but a trace and of none
 * that is being written, folders are made, and what an earlier run left is told apart from what is the user's.
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

#include "cli.h"

/* All in a folder of the test's own, which is the current one of every program. */
static struct cli_result run_here(const char *const argv[])
{
    const struct cli_options options = {.directory = cli_folder};
    return cli_run_with(&options, argv);
}

#define RUN(...) run_here((const char *const[]){"nvtally", __VA_ARGS__, NULL})

static struct cli_result run_shell(const char *script)
{
    return run_here((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
}

static void expect_good(struct cli_result result)
{
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static void expect_refused(struct cli_result result, const char *needle)
{
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

static void expect_text(const char *name, const char *expected)
{
    char *text = cli_read_file(cli_in(cli_folder, name), NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static int is_there(const char *name)
{
    return !access(cli_in(cli_folder, name), F_OK);
}

/* --- record ----------------------------------------------------------------------------------- */

static void record_replaces_traces_only(void **state)
{
    (void)state;
    cli_write_file(cli_in(cli_folder, "precious.py"), "print(1)\n", 9);
    expect_refused(RUN("record", "-o", "precious.py", "--", "touch", "started"),
                   "precious.py: is no trace and is not replaced");
    expect_text("precious.py", "print(1)\n");
    assert_false(is_there("started"));
    /* Nor by a name that is made up. */
    expect_refused(run_shell("P=precious exec $0 record -o %q{P}.py -- touch started"),
                   "is no trace");
    cli_write_file(cli_in(cli_folder, "empty"), "", 0);
    expect_good(RUN("record", "-o", "empty", "--", "true"));
    expect_good(RUN("record", "-o", "empty", "--", cli_client("nested"), "3"));
    expect_good(run_shell("head -c 5 empty >cut.nvt && $0 record -o cut.nvt -- true"));
    /* A trace with nothing in it says so. */
    struct cli_result result = RUN("record", "-o", "empty", "--", "true");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: the command made no NVTX call"));
    cli_result_free(&result);
    /* What is no regular file is written to as it is. */
    expect_good(RUN("record", "-o", "/dev/null", "--", "true"));
    expect_good(run_shell("mkfifo pipe && { cat pipe >through & } && "
                          "$0 record -o pipe -- true && wait && [ -s through ]"));
}

static void one_recorder_writes_a_trace(void **state)
{
    (void)state;
    expect_good(run_shell(
        "$0 record -o two.nvt -- sh -c 'touch going; while [ ! -e enough ]; do sleep 0.02; done' & "
        "first=$!; while [ ! -e going ]; do sleep 0.02; done; "
        "$0 record -o ./two.nvt -- touch second 2>why; said=$?; touch enough; "
        "wait $first && [ $said = 2 ] && [ ! -e second ] && [ $(wc -l <why) = 1 ] && "
        "grep -q '^nvtally: .*two.nvt: is being written by another recorder$' why && "
        "$0 stats -r nvtx_sum two.nvt"));
    /* A process that outlives its recorder does not hold the trace. */
    expect_good(
        run_shell("$0 record --wait primary -o left.nvt -- sh -c 'sleep 20 & echo $! >sleeper' && "
                  "$0 record -o left.nvt -- true; said=$?; kill $(cat sleeper); exit $said"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_replaces_traces_only),
        cmocka_unit_test(one_recorder_writes_a_trace),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
