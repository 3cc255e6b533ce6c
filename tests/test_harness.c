/* The harness that the other tests stand on: it must see what a program did, and end what hangs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cli.h"

static void test_outputs_and_status(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "cat; echo error >&2; exit 7", NULL};
    struct cli_options options = {.input = "typed in"};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 7);
    assert_string_equal(result.out, "typed in");
    assert_string_equal(result.err, "error\n");
    assert_int_equal(result.signal, 0);
    assert_false(result.timed_out);
    cli_result_free(&result);
}

static void test_signal(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "kill -SEGV $$", NULL};
    struct cli_result result = cli_run(argv);
    assert_int_equal(result.status, -1);
    assert_int_equal(result.signal, SIGSEGV);
    cli_result_free(&result);
}

static void test_time_limit(void **state)
{
    (void)state;
    const char *const argv[] = {"sh", "-c", "echo begun; sleep 30 & sleep 30", NULL};
    struct cli_options options = {.timeout_s = 1, .is_exact = true};
    struct cli_result result = cli_run_with(&options, argv);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGKILL);
    assert_string_equal(result.out, "begun\n");
    assert_true(result.elapsed_ns >= INT64_C(1000000000)); /* it was not killed before */
    cli_result_free(&result);
}

static void test_environment_and_directory(void **state)
{
    (void)state;
    setenv("NVT_TEST_GONE", "yes", 1);
    const char *const argv[] = {"sh", "-c", "pwd; echo ${NVT_TEST_SET-} ${NVT_TEST_GONE-none}",
                                NULL};
    const char *const edits[] = {"NVT_TEST_SET=here", "NVT_TEST_GONE", NULL};
    struct cli_options options = {.directory = "/usr", .environment = edits};
    struct cli_result result = cli_run_with(&options, argv);
    assert_string_equal(result.out, "/usr\nhere none\n");
    cli_result_free(&result);
}

static void test_missing_program(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally-no-such-program", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 127);
    cli_result_free(&result);
}

static void test_files(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "a file");
    size_t size;
    cli_write_file(path, "two\0words", 9);
    char *data = cli_read_file(path, &size);
    assert_int_equal(size, 9);
    assert_memory_equal(data, "two\0words", 10);
    free(data);
    assert_null(cli_read_file(cli_in(directory, "none"), &size));
    char *name = strdup(directory);
    cli_tempdir_remove(directory);
    struct stat info;
    assert_int_equal(stat(name, &info), -1);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_and_status), cmocka_unit_test(test_signal),
        cmocka_unit_test(test_time_limit),         cmocka_unit_test(test_environment_and_directory),
        cmocka_unit_test(test_missing_program),    cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
