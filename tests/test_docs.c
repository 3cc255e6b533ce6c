/*
 * The documentation against the program: every command line that a document shows is run, every
 * option has its place in the manual page and every link leads somewhere.
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

#include "cli.h"

enum { STEP_TIMEOUT_S = 300 };

/* Files that match, as a glob_t that the caller releases with globfree. */
static glob_t files(const char *first, const char *second)
{
    glob_t found = {0};
    assert_int_equal(glob(first, 0, NULL, &found), 0);
    if (second)
        assert_int_equal(glob(second, GLOB_APPEND, NULL, &found), 0);
    return found;
}

/* Whether a fence in this document opens a block of command lines to be run. Manual pages have no
 * other blocks; in Markdown they are marked as "console". */
static bool opens_commands(const char *path, const char *line)
{
    size_t length = strlen(path);
    bool manual = length > 4 && !strcmp(path + length - 4, ".scd");
    return manual ? !strncmp(line, "```\n", 4) : !strncmp(line, "```console\n", 11);
}

/* The files that the documents' command lines start from. */
static void copy_fixtures(const char *directory)
{
    glob_t fixtures = files("tests/docs/*", NULL);
    for (size_t i = 0; i < fixtures.gl_pathc; i++) {
        size_t size;
        char *data = cli_read_file(fixtures.gl_pathv[i], &size);
        assert_non_null(data);
        cli_write_file(cli_in(directory, strrchr(fixtures.gl_pathv[i], '/') + 1), data, size);
        free(data);
    }
    globfree(&fixtures);
}

static void run_line(const char *document, const char *directory, const char *line)
{
    char here[4096], path[8192], python[4200];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "PATH=%s:%s", cli_built(""), getenv("PATH"));
    snprintf(python, sizeof(python), "PYTHONPATH=%s/.deps/python", here);
    const char *const environment[] = {path, python, NULL};
    const char *const argv[] = {"sh", "-c", line, NULL};
    struct cli_options options = {
        .directory = directory, .environment = environment, .timeout_s = STEP_TIMEOUT_S};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.status)
        fail_msg("%s: '%s' ended with %d:\n%.2000s", document, line, result.status, result.err);
    cli_result_free(&result);
}

/* Run the lines behind "$ " of a document's command blocks in a directory of their own, one after
 * another. Returns how many. */
static size_t run_document(const char *document)
{
    char *text = cli_read_file(document, NULL), *directory = cli_tempdir(), command[2048];
    bool inside = false;
    size_t count = 0;
    assert_non_null(text);
    copy_fixtures(directory);
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        if (!strncmp(line, "```", 3)) {
            inside = !inside && opens_commands(document, line);
        } else if (inside && !strncmp(line, "$ ", 2)) {
            assert_true(length < sizeof(command));
            snprintf(command, sizeof(command), "%.*s", (int)length - 2, line + 2);
            run_line(document, directory, command);
            count++;
        }
        line += length + (end != NULL);
    }
    cli_tempdir_remove(directory);
    free(text);
    return count;
}

static void test_command_lines(void **state)
{
    (void)state;
    size_t in_readme = run_document("README.md");
    assert_true(in_readme >= 5);
    glob_t documents = files("docs/*.md", "docs/man/*.scd");
    for (size_t i = 0; i < documents.gl_pathc; i++) {
        size_t count = run_document(documents.gl_pathv[i]);
        if (strstr(documents.gl_pathv[i], ".scd") && !count)
            fail_msg("%s has no example", documents.gl_pathv[i]);
    }
    globfree(&documents);
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
        char *options = documented_options(manual);
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
    glob_t documents = files("*.md", "docs/*.md");
    for (size_t i = 0; i < documents.gl_pathc; i++)
        expect_links(documents.gl_pathv[i]);
    globfree(&documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_manual_pages),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
