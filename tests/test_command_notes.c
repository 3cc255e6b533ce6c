/* What commands say besides their result: each line starts with "nvtally: ", and names a file once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

static const char *const commands[] = {"stats", "diagnose", "export", "compare", "plot"};

/* Traces of the host, one of them cut in its last chunk. */
static void record(const char *directory)
{
    const char *const argv[] = {
        "nvtally", "record", "-o", cli_in(directory, "whole.nvt"), "--", cli_client("nested"),
        "3",       NULL};
    struct cli_result result = cli_run(argv);
    size_t size;
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *data = cli_read_file(cli_in(directory, "whole.nvt"), &size);
    assert_non_null(data);
    cli_write_file(cli_in(directory, "cut.nvt"), data, size - 3);
    free(data);
}

static struct cli_result run(const char *directory, const char *command)
{
    const char *argv[] = {"nvtally", command, "cut.nvt", NULL, NULL, NULL};
    if (!strcmp(command, "export"))
        argv[3] = "--to", argv[4] = "csv";
    if (!strcmp(command, "compare"))
        argv[3] = "whole.nvt";
    struct cli_options options = {.directory = directory};
    return cli_run_with(&options, argv);
}

static void warnings_have_the_programs_name_and_the_path_once(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    record(directory);
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++) {
        if (!strcmp(commands[i], "plot") && !cli_has_gnuplot())
            continue;
        struct cli_result result = run(directory, commands[i]);
        const char *warning = strstr(result.err, "nvtally: warning: cut.nvt: ");
        cli_expect_status(&result, 0);
        if (!warning)
            fail_msg("%s: %s", commands[i], result.err);
        char *rest = NULL, *line = strtok_r(result.err, "\n", &rest);
        for (; line; line = strtok_r(NULL, "\n", &rest)) {
            assert_int_equal(strncmp(line, "nvtally: ", 9), 0);
            const char *path = strstr(line, "cut.nvt");
            assert_true(!path || !strstr(path + 1, "cut.nvt"));
        }
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

/* Every command of analyze/ refuses what it does not know in the same words. */
static void options_are_refused_alike(void **state)
{
    (void)state;
    static const char *const all[] = {"stats",   "diagnose", "export",
                                      "compare", "import",   "reference"};
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++) {
        const char *const unknown[] = {"nvtally", all[i], "a", "--no-such", NULL};
        const char *const lacking[] = {
            "nvtally", all[i], "a",
            strcmp(all[i], "import") && strcmp(all[i], "export") ? "--format" : "--output", NULL};
        char needle[128];
        struct cli_result result = cli_run(unknown);
        snprintf(needle, sizeof(needle), "unknown option --no-such; see nvtally %s --help", all[i]);
        cli_expect_failure(&result, needle);
        cli_result_free(&result);
        result = cli_run(lacking);
        snprintf(needle, sizeof(needle), "option %s needs a value; see nvtally %s --help",
                 lacking[3], all[i]);
        cli_expect_failure(&result, needle);
        cli_result_free(&result);
    }
}

/* A table without its machine and day is no evidence: of each side where they differ. */
static void tables_say_where_they_are_from(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    record(directory);
    static const char *const compare[] = {"nvtally",   "compare", "-f", "column",
                                          "whole.nvt", "cut.nvt", NULL};
    static const char *const diagnose[] = {"nvtally", "diagnose", "whole.nvt",
                                           "-f",      "markdown", NULL};
    static const char *const run[] = {
        "sh", "-c",
        "nvtally run linear --backend host --size 64 --batch 1 "
        "--iterations 20 --collect off -o a && cp -r a b && "
        "sed -i 's/\"date\": *\"[^\"]*\"/\"date\": \"2020-01-01\"/' b/env.json && "
        "nvtally compare -f column a b",
        NULL};
    char path[4200];
    snprintf(path, sizeof(path), "PATH=%s:%s", cli_built(""), getenv("PATH"));
    const char *const environment[] = {path, NULL};
    struct cli_options options = {.directory = directory, .environment = environment};
    struct cli_result result = cli_run_with(&options, compare);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "%. Device "));
    assert_null(strstr(result.out, ", A 20")); /* the same recording on both sides */
    cli_result_free(&result);
    result = cli_run_with(&options, diagnose);
    cli_expect_status(&result, 0);
    assert_int_equal(strncmp(result.out, "Findings. Device ", 17), 0);
    cli_result_free(&result);
    result = cli_run_with(&options, run);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "rows). Backend host, device "));
    assert_non_null(strstr(result.out, ", A 20"));
    assert_non_null(strstr(result.out, ", B 2020-01-01"));
    cli_result_free(&result);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warnings_have_the_programs_name_and_the_path_once),
        cmocka_unit_test(options_are_refused_alike),
        cmocka_unit_test(tables_say_where_they_are_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
