/* `nvtally info`: what it says of this build and machine is so, and changes when they change. */
#include <errno.h>
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
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "../lib/version.h"
#include "cli.h"
#include "json_flat.h"

static struct cli_result info(const char *option, const char *const *environment)
{
    const char *const argv[] = {"nvtally", "info", option, NULL};
    struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.err, "");
    return result;
}

/* What the line "  NAME   VALUE" behind a heading says, into value. */
static void value_of(const char *text, const char *heading, const char *name, char *value,
                     size_t size)
{
    char start[64];
    snprintf(start, sizeof(start), "\n%s\n", heading);
    const char *section = strstr(text, start);
    assert_non_null(section);
    snprintf(start, sizeof(start), "\n  %s ", name);
    const char *line = strstr(section, start);
    assert_non_null(line);
    line += strlen(start);
    line += strspn(line, " ");
    snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static void test_built_in(void **state)
{
    (void)state;
    struct cli_result result = info(NULL, NULL);
    assert_non_null(strstr(result.out, "nvtally " NVT_VERSION "\n"));
    char value[512];
    value_of(result.out, "built in", "zstd", value, sizeof(value));
#ifdef HAVE_ZSTD
    assert_string_equal(value, ZSTD_versionString());
#else
    assert_string_equal(value, "-");
#endif
    value_of(result.out, "libraries", "libnvtally-inject.so", value, sizeof(value));
    assert_string_equal(strrchr(value, '/'), "/libnvtally-inject.so");
    assert_int_equal(access(value, R_OK), 0);
    char expected[64];
    snprintf(expected, sizeof(expected), "%ld online,", sysconf(_SC_NPROCESSORS_ONLN));
    value_of(result.out, "this machine", "processors", value, sizeof(value));
    assert_memory_equal(value, expected, strlen(expected));
    cli_result_free(&result);
}

/* A program that comes and goes is found and missed, and what is missing says how to get it. */
static void test_path(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), path[4096], value[512];
    snprintf(path, sizeof(path), "PATH=/nonexistent:%s", directory);
    const char *const environment[] = {path, NULL};
    struct cli_result result = info(NULL, environment);
    value_of(result.out, "programs", "gnuplot", value, sizeof(value));
    assert_string_equal(value, "-");
    value_of(result.out, "missing", "gnuplot", value, sizeof(value));
    assert_non_null(strstr(value, "gnuplot-nox"));
    cli_result_free(&result);

    const char *program = cli_in(directory, "gnuplot");
    cli_write_file(program, "", 0);
    assert_int_equal(chmod(program, 0755), 0);
    result = info(NULL, environment);
    value_of(result.out, "programs", "gnuplot", value, sizeof(value));
    assert_string_equal(value, program);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

static void test_toolkit(void **state)
{
    (void)state;
    static const char header[] = "/* */\n#define CUDA_VERSION 12060\n";
    char *directory = cli_tempdir(), home[4096], expected[4096], value[512];
    snprintf(home, sizeof(home), "CUDA_HOME=%s", directory);
    const char *const environment[] = {home, NULL};
    struct cli_result result = info(NULL, environment);
    value_of(result.out, "CUDA", "toolkit", value, sizeof(value));
    assert_string_equal(value, "-");
    cli_result_free(&result);

    assert_int_equal(mkdir(cli_in(directory, "include"), 0755), 0);
    cli_write_file(cli_in(directory, "include/cuda.h"), header, sizeof(header) - 1);
    result = info(NULL, environment);
    value_of(result.out, "CUDA", "toolkit", value, sizeof(value));
    snprintf(expected, sizeof(expected), "12.6 in %s", directory);
    assert_string_equal(value, expected);
    cli_result_free(&result);

    /* One that is there and cannot be opened is not called missing. */
    assert_int_equal(unlink(cli_in(directory, "include/cuda.h")), 0);
    assert_int_equal(symlink("cuda.h", cli_in(directory, "include/cuda.h")), 0);
    result = info(NULL, environment);
    value_of(result.out, "CUDA", "toolkit", value, sizeof(value));
    snprintf(expected, sizeof(expected), "cannot tell: %s/include/cuda.h: %s", directory,
             strerror(ELOOP));
    assert_string_equal(value, expected);
    assert_null(strstr(strstr(result.out, "\nmissing\n"), "\n  toolkit "));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* A PATH whose only folder has that name, below `directory`, and a gnuplot in it. */
static void gnuplot_in(const char *directory, const char *name, char *path, size_t size)
{
    const char *folder = cli_in(directory, name);
    assert_int_equal(mkdir(folder, 0755), 0);
    const char *program = cli_in(folder, "gnuplot");
    cli_write_file(program, "", 0);
    assert_int_equal(chmod(program, 0755), 0);
    snprintf(path, size, "PATH=%s", folder);
}

static void test_nothing_steers_the_terminal(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), path[4096];
    gnuplot_in(directory, "red\033[31m", path, sizeof(path));
    const char *const environment[] = {path, NULL};
    struct cli_result result = info(NULL, environment);
    assert_non_null(strstr(result.out, "/red\u241b[31m/gnuplot"));
    assert_null(strchr(result.out, 033));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

/* The folder's name is in what a program was found as. */
static void expect_json(const char *folder, const char *shown)
{
    char *directory = cli_tempdir(), path[4096], expected[4096];
    gnuplot_in(directory, folder, path, sizeof(path));
    snprintf(expected, sizeof(expected), "%s/%s/gnuplot", directory, shown);
    const char *const environment[] = {path, NULL};
    struct cli_result result = info("--json", environment);
    struct json_flat flat = json_flat(result.out);
    const struct json_flat_value *name;
    const char *gnuplot = "";
    for (size_t i = 0; (name = json_flat_at(&flat, "items.%zu.name", i)) != NULL; i++) {
        const struct json_flat_value *detail = json_flat_at(&flat, "items.%zu.detail", i);
        assert_non_null(detail);
        if (!strcmp(name->text, "gnuplot"))
            gnuplot = detail->text;
    }
    assert_string_equal(gnuplot, expected);
    json_flat_free(&flat);
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

static void test_json(void **state)
{
    (void)state;
    expect_json("a\"b\\c\td\033", "a\"b\\c\td\033");
    expect_json("no\xffUTF-8", "no\xef\xbf\xbdUTF-8");
}

static void test_wrong_usage(void **state)
{
    (void)state;
    const char *const option[] = {"nvtally", "info", "-qh", NULL};
    struct cli_result result = cli_run(option);
    cli_expect_failure(&result, "unknown option -qh");
    cli_result_free(&result);
    const char *const argument[] = {"nvtally", "info", "trace.nvt", NULL};
    result = cli_run(argument);
    cli_expect_failure(&result, "'trace.nvt'");
    cli_result_free(&result);
}

/* The host's library is built wherever this test is, so something is reached; without the option nothing is. */
static void test_peak(void **state)
{
    (void)state;
    char value[512], *end;
    struct cli_result result = info("--peak", NULL);
    value_of(result.out, "peak", "host fp32", value, sizeof(value));
    assert_true(strtod(value, &end) > 0);
    assert_int_equal(strncmp(end, " TFLOP/s, ", 10), 0);
    value_of(result.out, "peak", "host copy", value, sizeof(value));
    assert_true(strtod(value, &end) > 0);
    assert_int_equal(strncmp(end, " GB/s, ", 7), 0);
    cli_result_free(&result);
    result = info(NULL, NULL);
    assert_null(strstr(result.out, "\npeak\n"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak),        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_path),        cmocka_unit_test(test_toolkit),
        cmocka_unit_test(test_json),        cmocka_unit_test(test_nothing_steers_the_terminal),
        cmocka_unit_test(test_wrong_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
