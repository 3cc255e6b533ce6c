/*
 * The documentation against the program: every option has its place in the manual page, every
 * report and format too, and every link leads somewhere. What command lines do:
 * tests/test_docs_commands.c.
 */
#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/render.h"
#include "cli.h"

/* Files that match, as a glob_t that the caller releases with globfree. */
static glob_t files(const char *first, const char *second)
{
    glob_t found = {0};
    assert_int_equal(glob(first, 0, NULL, &found), 0);
    if (second)
        assert_int_equal(glob(second, GLOB_APPEND, NULL, &found), 0);
    return found;
}

/* Whether text has this option as a word of its own: --level is not in --levels. */
static bool names_option(const char *text, const char *option)
{
    size_t length = strlen(option);
    for (; (text = strstr(text, option)); text += length)
        if (!isalnum((unsigned char)text[length]) && text[length] != '-')
            return true;
    return false;
}

/* Every "--option" of a text must be in the other one. */
static void expect_options(const char *from, const char *from_name, const char *in,
                           const char *in_name)
{
    for (const char *at = from; (at = strstr(at, "--")); at += 2) {
        char option[64];
        if ((at > from && at[-1] == '-') || sscanf(at, "%63[a-z-]", option) != 1)
            continue;
        if (option[2] && option[2] != '-' && !names_option(in, option))
            fail_msg("%s has %s, %s does not", from_name, option, in_name);
    }
}

/* The part of a manual page between this heading and the next one. Owned. */
static char *manual_section(const char *manual, const char *heading)
{
    char start[64];
    snprintf(start, sizeof(start), "\n# %s\n", heading);
    const char *section = strstr(manual, start);
    if (!section)
        return strdup("");
    section += strlen(start);
    const char *end = strstr(section, "\n# ");
    return strndup(section, end ? (size_t)(end - section) : strlen(section));
}

/* The sections of a manual page that name options. Owned. */
static char *documented_options(const char *manual)
{
    char *axes = manual_section(manual, "AXES"), *options = manual_section(manual, "OPTIONS"),
         *both;
    assert_true(asprintf(&both, "%s%s", axes, options) >= 0);
    free(axes);
    free(options);
    return both;
}

/* --help and the manual page of every command name the same options. */
static void test_manual_pages(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", "--help", NULL};
    struct cli_result list = cli_run(argv);
    char name[32], path[128], *line = strstr(list.out, "\n\n  "), *all;
    assert_non_null(line);
    all = cli_read_file("docs/man/nvtally.1.scd", NULL);
    assert_non_null(all);
    for (line += 2; line && sscanf(line, "  %31s", name) == 1 && *line == ' ';) {
        const char *const help[] = {"nvtally", name, "--help", NULL};
        struct cli_result result = cli_run(help);
        snprintf(path, sizeof(path), "docs/man/nvtally-%s.1.scd", name);
        char *manual = cli_read_file(path, NULL);
        if (!manual)
            fail_msg("there is no %s", path);
        char *options = documented_options(manual ? manual : "");
        expect_options(result.out, name, options, path);
        expect_options(options, path, result.out, name);
        snprintf(path, sizeof(path), "*%s*\n", name);
        assert_non_null(strstr(all, path));
        free(options);
        free(manual);
        cli_result_free(&result);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    free(all);
    cli_result_free(&list);
}

/* The manual page of stats has every report that the program has. */
static void test_reports(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", "stats", "-r", "list", NULL};
    struct cli_result list = cli_run(argv);
    char *manual = cli_read_file("docs/man/nvtally-stats.1.scd", NULL), name[64], needle[72];
    size_t count = 0;
    cli_expect_status(&list, 0);
    assert_non_null(manual);
    for (const char *line = list.out; line && sscanf(line, "%63s", name) == 1; count++) {
        snprintf(needle, sizeof(needle), "*%s*", name);
        if (!strstr(manual, needle))
            fail_msg("nvtally-stats.1.scd does not have the report %s", name);
        line = strchr(line, '\n');
        line = line && line[1] ? line + 1 : NULL;
    }
    assert_true(count >= 5);
    free(manual);
    cli_result_free(&list);
}

/* Where --help or a manual page lists formats, it lists all. */
static void test_formats(void **state)
{
    (void)state;
    static const char *const commands[] = {"stats",    "compare", "reference",
                                           "diagnose", "sql",     "check"};
    size_t count, lists = 0;
    const struct nvt_format *formats = nvt_formats(&count);
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++) {
        const char *const argv[] = {"nvtally", commands[i], "--help", NULL};
        char path[128];
        struct cli_result help = cli_run(argv);
        snprintf(path, sizeof(path), "docs/man/nvtally-%s.1.scd", commands[i]);
        char *manual = cli_read_file(path, NULL);
        const char *texts[] = {help.out, manual}, *marks[] = {"table (default)", "*table*"};
        for (size_t t = 0; t < 2; t++) {
            const char *list = strstr(texts[t], marks[t]);
            list = list ? list : strstr(texts[t], "print a table: table");
            for (size_t f = 0; list && f < count; f++)
                if (!strstr(list, formats[f].name))
                    fail_msg("%s of %s does not have the format %s", t ? "the manual" : "--help",
                             commands[i], formats[f].name);
            lists += list != NULL;
        }
        free(manual);
        cli_result_free(&help);
    }
    assert_int_equal(lists, 12);
}

/* Where "](target)" of a Markdown file leads, when it is a path, must exist. */
static void expect_links(const char *document)
{
    char *text = cli_read_file(document, NULL), target[1024], path[2048];
    const char *slash = strrchr(document, '/');
    assert_non_null(text);
    for (char *at = text; (at = strstr(at, "](")); at += 2) {
        if (sscanf(at + 2, "%1023[^)# \n]", target) != 1 || strstr(target, "://"))
            continue;
        snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - document) + 1 : 0, document,
                 target);
        if (access(path, F_OK))
            fail_msg("%s links to %s, which does not exist", document, target);
    }
    free(text);
}

static void test_links(void **state)
{
    (void)state;
    static const char *const patterns[][2] = {{"*.md", "docs/*.md"},
                                              {"docs/results/*.md", "tests/device/*.md"}};
    for (size_t p = 0; p < NVT_COUNT_OF(patterns); p++) {
        glob_t documents = files(patterns[p][0], patterns[p][1]);
        for (size_t i = 0; i < documents.gl_pathc; i++)
            expect_links(documents.gl_pathv[i]);
        globfree(&documents);
    }
}

/* Whether text has a date, 2026-11-21 or 21 November 2026. */
static bool has_date(const char *text)
{
    int year, month, day;
    char name[16];
    for (const char *at = text; *at; at++)
        if (isdigit((unsigned char)*at) &&
            ((sscanf(at, "%4d-%2d-%2d", &year, &month, &day) == 3 && year > 2000) ||
             (sscanf(at, "%2d %15s %4d", &day, name, &year) == 3 && year > 2000)))
            return true;
    return false;
}

/* Figures stand beside the machine, the day, and how busy the machine was; where there are none
 * yet, that is said. */
static void test_results(void **state)
{
    (void)state;
    glob_t documents = files("docs/results/*.md", NULL);
    assert_true(documents.gl_pathc >= 5);
    for (size_t i = 0; i < documents.gl_pathc; i++) {
        char *text = cli_read_file(documents.gl_pathv[i], NULL);
        bool is_empty = strstr(text, "\nNot yet: ");
        bool is_full =
            has_date(text) && strstr(text, "cores") && strstr(text, "Hz") &&
            (strstr(text, "host") || strstr(text, "without a GPU")) &&
            (strstr(text, "load") || strstr(text, "other work") || strstr(text, "quiet"));
        if (!is_empty && !is_full)
            fail_msg("%s lacks date, processor, backend or condition", documents.gl_pathv[i]);
        free(text);
    }
    globfree(&documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),   cmocka_unit_test(test_manual_pages),
        cmocka_unit_test(test_reports), cmocka_unit_test(test_formats),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
