/*
 * The check of all operations (tests/device), here with the host's own float: that it passes, that
 * it finds what is wrong, and that no operation is left out of it.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

static struct cli_result check(const char *library, const char *only)
{
    const char *argv[] = {cli_built("device/check"),
                          cli_built("device/libcheck-reference.so"),
                          cli_built(library),
                          only ? "--only" : NULL,
                          only,
                          NULL};
    /* LeakSanitizer cannot stop the threads of OpenBLAS at the end. Says nothing to others. */
    static const char *const environment[] = {"ASAN_OPTIONS=detect_leaks=0", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    return cli_run_with(&options, argv);
}

static void the_host_agrees_with_itself_in_double(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("plain loops of a reference, for twenty minutes; operations have "
                              "tests of their own");
    struct cli_result result = check("device/libcheck-host.so", NULL);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, "FAILED"));
    assert_non_null(strstr(result.out, "operations agree"));
    cli_result_free(&result);
}

/* The number of the seed makes the numbers: the same again, and others with another one. */
static void inputs_are_those_of_the_seed(void **state)
{
    (void)state;
    char *before = NULL;
    static const char *const seeds[] = {"7", "7", "8"};
    for (int i = 0; i < 3; i++) {
        const char *argv[] = {cli_built("device/check"),
                              cli_built("device/libcheck-reference.so"),
                              cli_built("device/libcheck-host.so"),
                              "--only",
                              "bias_backward",
                              "--seed",
                              seeds[i],
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        char *line = strstr(result.out, "\nbias_backward");
        assert_non_null(line);
        if (before)
            assert_int_equal(!strcmp(before, line), i == 1);
        free(before);
        before = strdup(line);
        cli_result_free(&result);
    }
    free(before);
}

static void what_is_wrong_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *operation, *why;
    } broken[] = {{"broken_value", "y[0] is"},
                  {"broken_bound", "y[0] is"},
                  {"broken_unwritten", "y[7] is"},
                  {"broken_guard", "wrote beside y"},
                  {"broken_input", "changed its input x"}};
    for (size_t i = 0; i < NVT_COUNT_OF(broken); i++) {
        struct cli_result result = check("device/libcheck-broken.so", broken[i].operation);
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.out, broken[i].why));
        assert_non_null(strstr(result.out, "0 of 1 operations agree"));
        cli_result_free(&result);
    }
}

static void what_cannot_be_checked_is_no_success(void **state)
{
    (void)state;
    struct cli_result result = check("device/libcheck-none.so", NULL);
    cli_expect_status(&result, 2);
    cli_result_free(&result);
    result = check("libnvtally-host.so", NULL);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "is no library of operations"));
    cli_result_free(&result);
    result = check("device/libcheck-host.so", "no_such_operation");
    cli_expect_status(&result, 2);
    cli_result_free(&result);
}

static void the_check_of_a_device_loads(void **state)
{
    (void)state;
    if (access(cli_built("device/libcheck-cuda.so"), F_OK)) {
        print_message("device/libcheck-cuda.so was not built: no nvcc here\n");
        skip();
    }
    struct cli_result result = check("device/libcheck-cuda.so", NULL);
    if (!cli_has_device()) {
        cli_expect_status(&result, 2);
        assert_true(strstr(result.err, "no CUDA driver") ||
                    strstr(result.err, "no CUDA-capable device"));
    } else {
        cli_expect_status(&result, 0);
    }
    cli_result_free(&result);
}

/* The texts of all files of a pattern, one behind the other. Owned. */
static char *texts_of(const char *pattern)
{
    glob_t files;
    char *all = calloc(1, 1);
    size_t length = 0;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t size;
        char *text = cli_read_file(files.gl_pathv[i], &size);
        assert_non_null(text);
        char *longer = realloc(all, length + size + 1);
        assert_non_null(longer);
        all = longer;
        memcpy(all + length, text, size + 1);
        length += size;
        free(text);
    }
    globfree(&files);
    return all;
}

/* What a header declares at the beginning of a line, "void nvt_softmax_forward(", is called there.
 * Philox itself computes on the host alone and has known answers of its own. */
static void no_operation_is_left_out(void **state)
{
    (void)state;
    char *headers = texts_of("kernels/ops/*.h"), *table = texts_of("tests/device/check_*.c");
    int found = 0, missing = 0;
    char *rest = NULL;
    for (char *line = strtok_r(headers, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[96], call[100];
        const char *at = strstr(line, " nvt_");
        if ((strncmp(line, "void ", 5) && strncmp(line, "double ", 7)) || !at ||
            sscanf(at, " %95[a-z0-9_](", name) != 1 || !strcmp(name, "nvt_philox"))
            continue;
        found++;
        snprintf(call, sizeof(call), "%s(", name);
        if (!strstr(table, call)) {
            print_error("%s has no line in tests/device/check_*.c\n", name);
            missing++;
        }
    }
    assert_true(found > 20);
    assert_int_equal(missing, 0);
    free(headers);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_agrees_with_itself_in_double),
        cmocka_unit_test(inputs_are_those_of_the_seed),
        cmocka_unit_test(what_is_wrong_is_found),
        cmocka_unit_test(what_cannot_be_checked_is_no_success),
        cmocka_unit_test(the_check_of_a_device_loads),
        cmocka_unit_test(no_operation_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
