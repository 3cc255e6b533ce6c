/*
 * Traces from standard input and through pipes: every format gives what it gives from a file, errors
 * name what was given, and nothing is left behind.
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

/* A shell's command line over a file, with $program and $file. */
static struct cli_result run_shell(const char *script, const char *file)
{
    char program[1024], path[1024], folder[1024];
    snprintf(program, sizeof(program), "program=%s", cli_built("nvtally"));
    snprintf(path, sizeof(path), "file=%s", file);
    snprintf(folder, sizeof(folder), "TMPDIR=%s", cli_in(cli_folder, "copies"));
    const char *const environment[] = {program, path, folder, NULL};
    const struct cli_options options = {.environment = environment};
    return cli_run_with(&options, (const char *const[]){"sh", "-c", script, NULL});
}

static const char *record(void)
{
    const char *path = cli_in(cli_folder, "t.nvt");
    struct cli_result result = cli_run((const char *const[]){"nvtally", "record", "-o", path, "--",
                                                             cli_client("everything"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return path;
}

static void expect_same(const char *file)
{
    static const char *const ways[] = {
        "cat $file | $program stats -r nvtx_sum,nvtx_pushpop_trace -f csv -",
        "$program stats -r nvtx_sum,nvtx_pushpop_trace -f csv - <$file",
        ("rm -f $file.fifo; mkfifo $file.fifo; cat $file >$file.fifo &"
         " $program stats -r nvtx_sum,nvtx_pushpop_trace -f csv $file.fifo; wait; rm $file.fifo"),
    };
    struct cli_result plain =
        run_shell("$program stats -r nvtx_sum,nvtx_pushpop_trace -f csv $file", file);
    cli_expect_status(&plain, 0);
    assert_int_not_equal(plain.out_size, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result piped = run_shell(ways[i], file);
        cli_expect_status(&piped, 0);
        assert_string_equal(piped.out, plain.out);
        cli_result_free(&piped);
    }
    cli_result_free(&plain);
    /* The folder is empty, or it could not be removed. */
    assert_int_equal(remove(cli_in(cli_folder, "copies")), 0);
    assert_int_equal(mkdir(cli_in(cli_folder, "copies"), 0755), 0);
}

/* A file of the fuzzers' corpus, in the test's own folder. */
static void copy_and_expect_same(const char *from, const char *name)
{
    size_t size;
    char *data = cli_read_file(from, &size);
    assert_non_null(data);
    cli_write_file(cli_in(cli_folder, name), data, size);
    free(data);
    expect_same(cli_in(cli_folder, name));
}

static void every_format_comes_through_a_pipe(void **state)
{
    (void)state;
    assert_int_equal(mkdir(cli_in(cli_folder, "copies"), 0755), 0);
    expect_same(record());
    copy_and_expect_same("tests/fuzz/corpus/kineto/object.json", "t.json");
#ifdef HAVE_SQLITE
    copy_and_expect_same("tests/fuzz/corpus/nsys/both.sqlite", "t.sqlite");
#endif
}

static void says_what_is_wrong_with_what_was_given(void **state)
{
    (void)state;
    const char *path = record();
    struct cli_result result = run_shell("$program stats - </dev/null", path);
    cli_expect_failure(&result, "standard input: is empty, not a trace");
    cli_result_free(&result);
    result = run_shell("echo no trace | $program diagnose -", path);
    cli_expect_failure(&result, "standard input: is not a trace of a known format");
    cli_result_free(&result);
    result = run_shell("head -c 100 tests/fuzz/corpus/nsys/both.sqlite | $program stats -", path);
#ifdef HAVE_SQLITE
    cli_expect_failure(&result, "standard input: is cut");
#endif
    cli_result_free(&result);
    result = run_shell("TMPDIR=/nonexistent $program stats - <$file", path);
    cli_expect_failure(&result, "standard input: no temporary file for it");
    cli_result_free(&result);
    result = run_shell("$program export --to sqlite - <$file", path);
    cli_expect_failure(&result, "give one with -o");
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_comes_through_a_pipe),
        cmocka_unit_test(says_what_is_wrong_with_what_was_given),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
