/* The marks in a trace's name: what they stand for, and that ranks of one command line get a file
 * each. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/output_name.h"
#include "../lib/count_of.h"
#include "cli.h"

static struct nvt_error err;

static void expect(const char *pattern, const char *name)
{
    char out[256];
    assert_int_equal(nvt_output_name(pattern, out, sizeof(out), &err), 0);
    assert_string_equal(out, name);
}

static void marks_are_replaced(void **state)
{
    (void)state;
    char number[64], host[256] = "", pattern[300];
    setenv("NVT_TEST_RANK", "3", 1);
    setenv("NVT_TEST_EMPTY", "", 1);
    setenv("NVT_TEST_PATH", "../a/b", 1);
    expect("t.nvt", "t.nvt");
    expect("", "");
    expect("t%q{NVT_TEST_RANK}.nvt", "t3.nvt");
    expect("%q{NVT_TEST_RANK}%q{NVT_TEST_RANK}", "33");
    expect("t%q{NVT_TEST_EMPTY}.nvt", "t.nvt");
    expect("dir/t%q{NVT_TEST_PATH}.nvt", "dir/t.._a_b.nvt");
    expect("100%.nvt", "100%.nvt");
    expect("100%%p%", "100%p%");
    expect("%d%s%n", "%d%s%n");
    snprintf(number, sizeof(number), "t%ld.nvt", (long)getpid());
    expect("t%p.nvt", number);
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    expect("%h", host);
    snprintf(pattern, sizeof(pattern), "%s%%", host);
    expect("%h%%", pattern);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"%q{NVT_TEST_NONE}", "%q{}", "%q{NVT_TEST_RANK", "%q{"};
    char out[8];
    unsetenv("NVT_TEST_NONE");
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        assert_int_equal(nvt_output_name(wrong[i], out, sizeof(out), &err), -1);
        assert_non_null(strstr(err.message, "%q{"));
    }
    assert_int_equal(nvt_output_name("1234567", out, sizeof(out), &err), 0);
    assert_string_equal(out, "1234567");
    assert_int_equal(nvt_output_name("12345678", out, sizeof(out), &err), -1);
    assert_non_null(strstr(err.message, "too long"));
    char longest[600] = "%q{";
    memset(longest + 3, 'A', 500);
    longest[503] = '}';
    assert_int_equal(nvt_output_name(longest, out, sizeof(out), &err), -1);
}

/* As mpirun starts them: the same words, another environment. */
static void each_rank_has_its_file(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    struct cli_options options = {.directory = directory};
    for (int rank = 0; rank < 2; rank++) {
        char variable[32], name[32];
        snprintf(variable, sizeof(variable), "RANK=%d", rank);
        snprintf(name, sizeof(name), "rank%d.nvt", rank);
        const char *const environment[] = {variable, NULL};
        const char *const argv[] = {"nvtally", "record", "-o", "rank%q{RANK}.nvt",
                                    "--",      "true",   NULL};
        options.environment = environment;
        struct cli_result result = cli_run_with(&options, argv);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.err, name));
        assert_int_equal(access(cli_in(directory, name), R_OK), 0);
        cli_result_free(&result);
    }
    const char *const none[] = {"RANK", NULL};
    const char *const argv[] = {"nvtally", "record", "-o", "rank%q{RANK}.nvt", "--", "true", NULL};
    options.environment = none;
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "there is no RANK in the environment");
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_replaced),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(each_rank_has_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
