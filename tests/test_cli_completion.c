/* bash completion: what it offers is what the program has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"

/* Complete the last of these words, one answer a line. */
static struct cli_result complete(const char *words)
{
    char script[8192];
    snprintf(script, sizeof(script),
             ". completion/nvtally.bash; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
             "_nvtally; printf '%%s\\n' \"${COMPREPLY[@]}\"",
             words);
    const char *const argv[] = {"bash", "-c", script, NULL};
    char path[4096];
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", cli_built(""));
    const char *const environment[] = {path, NULL};
    struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.err, "");
    return result;
}

static void test_commands(void **state)
{
    (void)state;
    struct cli_result result = complete("nvtally rec");
    assert_string_equal(result.out, "record\n");
    cli_result_free(&result);
    result = complete("nvtally ''");
    assert_non_null(strstr(result.out, "record\nrun\nstats\n"));
    assert_null(strstr(result.out, "nvtally"));
    cli_result_free(&result);
}

static void test_options(void **state)
{
    (void)state;
    struct cli_result result = complete("nvtally record --out");
    assert_string_equal(result.out, "--output\n");
    cli_result_free(&result);
}

static void test_recorded_command(void **state)
{
    (void)state;
    struct cli_result result = complete("nvtally record -o t.nvt -- tru");
    assert_non_null(strstr(result.out, "true\n"));
    cli_result_free(&result);
    result = complete("nvtally record -- cat comp");
    assert_non_null(strstr(result.out, "completion\n"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_recorded_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
