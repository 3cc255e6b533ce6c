/*
 * The command lines of the documentation, run: every fenced one of README.md, CONTRIBUTING.md,
 * docs/ and the manual pages, and the examples of --help. What cannot be run here, or would take
 * the test's time or the machine's state, is run in the form that a rule below names, or left out
 * with a reason, which is printed. Commands within a sentence are looked at: the target, the
 * command and its options exist.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

enum { STEP_TIMEOUT_S = 300, LINE = 2048 };

/* What is done in place of a line that has `part`: `instead` replaces it (in the source tree where
 * it is made by make or a script there); NULL: the line is left out. `where`: only in documents
 * whose path has this. */
static const struct rule {
    const char *part, *instead, *where, *reason;
} rules[] = {
    {"./setup", NULL, "",
     "changes the machine; test_setup runs it with stand-ins, .ci/run as it is"},
    {"git clone ", NULL, "", "the repository is here already"},
    {"pip install nvtally", NULL, "", "the wheel is not there: packaging/test-wheel installs it"},
    {"tar xzf nvtally", NULL, "", "nor is the tarball"},
    {"apt install ./nvtally", NULL, "", "nor is the package: packaging/test-deb installs it"},
    {"tests/device/run", "tests/device/run --list", "",
     "takes minutes of a GPU; test_device_run runs it dry"},
    {"make ", "make -n -s $SUBMAKE ", "",
     "takes minutes; here make only finds out what it would do"},
    {"$(pkg-config", NULL, "", "wants nvtally installed; test_install runs it"},
    {"nvtally view ", "nvtally view --help ", "", "serves until Ctrl-C; test_view_command runs it"},
    {"nvtally top ", "nvtally top --help ", "", "needs a terminal; test_top runs it"},
    {"nvtally run ", "nvtally run --list ", "docs/results/", "a measurement, which takes minutes"},
};

/* Programs that a line may need and that a machine may lack. */
static const char *const programs[] = {"python3", "mpirun", "gnuplot"};

static struct {
    size_t run, otherwise, left_out;
} counts;

/* Files that match, as a glob_t that the caller releases with globfree. */
static glob_t files(const char *pattern, const char *second, const char *third)
{
    glob_t found = {0};
    const char *const more[] = {second, third};
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < 2; i++)
        if (more[i])
            assert_int_equal(glob(more[i], GLOB_APPEND, NULL, &found), 0);
    return found;
}

static void copy_into(const char *directory, const char *path)
{
    size_t size;
    char *data = cli_read_file(path, &size);
    assert_non_null(data);
    cli_write_file(cli_in(directory, strrchr(path, '/') + 1), data, size);
    free(data);
}

/* The traces that lie beside the results, where they lie there. */
static void add_traces(const char *directory)
{
    static const char *const folders[] = {"docs", "docs/results", "docs/results/h100",
                                          "docs/results/h100/traces"};
    glob_t traces = files("docs/results/h100/traces/*.nvt", NULL, NULL);
    char *folder = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(folders); i++) {
        free(folder);
        folder = strdup(cli_in(directory, folders[i]));
        assert_int_equal(mkdir(folder, 0755), 0);
    }
    for (size_t i = 0; i < traces.gl_pathc; i++)
        copy_into(folder, traces.gl_pathv[i]);
    free(folder);
    globfree(&traces);
}

/* An nsys that knows one call, that of an export: of what tests/docs has as a profile of PyTorch.
 */
static void add_nsys(const char *directory)
{
    static const char script[] =
        "#!/bin/sh\n"
        "[ \"$1\" = export ] || exit 1\n"
        "while [ $# -gt 1 ]; do [ \"$1\" != -o ] || out=$2; shift; done\n"
        "exec nvtally export \"$(dirname \"$1\")/profile.json\" --to sqlite -o \"$out\"\n";
    assert_int_equal(mkdir(cli_in(directory, "bin"), 0755), 0);
    cli_write_file(cli_in(directory, "bin/nsys"), script, sizeof(script) - 1);
    assert_int_equal(chmod(cli_in(directory, "bin/nsys"), 0755), 0);
    cli_write_file(cli_in(directory, "report.nsys-rep"), "made up", 7);
}

/* A folder with the files that the documents' command lines start from. */
static char *new_folder(void)
{
    char *directory = cli_tempdir();
    glob_t fixtures = files("tests/docs/*", "examples/*.py", NULL);
    for (size_t i = 0; i < fixtures.gl_pathc; i++)
        copy_into(directory, fixtures.gl_pathv[i]);
    globfree(&fixtures);
    add_traces(directory);
    add_nsys(directory);
    return directory;
}

static struct cli_result in_shell(const char *directory, const char *line)
{
    char here[4096], path[8300], python[4200];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "PATH=%s/bin:%s:%s", directory, cli_built(""), getenv("PATH"));
    snprintf(python, sizeof(python), "PYTHONPATH=%s/.deps/python", here);
    /* mpirun wants to be told that root, and more ranks than cores, are meant. */
    const char *const environment[] = {path, python,
                                       /* What make calls itself for costs as much each time. */
                                       cli_is_long() ? "SUBMAKE=" : "SUBMAKE=MAKE=:", "MAKEFLAGS",
                                       "MAKELEVEL", "OMPI_ALLOW_RUN_AS_ROOT=1",
                                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                       "OMPI_MCA_rmaps_base_oversubscribe=1", NULL};
    const char *const argv[] = {"sh", "-c", line, NULL};
    struct cli_options options = {
        .directory = directory, .environment = environment, .timeout_s = STEP_TIMEOUT_S};
    return cli_run_with(&options, argv);
}

static bool is_here(const char *program)
{
    char line[64];
    snprintf(line, sizeof(line), "command -v %s", program);
    const char *const argv[] = {"sh", "-c", line, NULL};
    struct cli_result result = cli_run(argv);
    bool found = result.status == 0;
    cli_result_free(&result);
    return found;
}

static const struct rule *rule_of(const char *document, const char *line)
{
    for (size_t i = 0; i < NVT_COUNT_OF(rules); i++)
        if (strstr(line, rules[i].part) && strstr(document, rules[i].where))
            return &rules[i];
    return NULL;
}

static bool is_left_out(const char *document, const char *line, const struct rule *rule)
{
    const char *reason = rule && !rule->instead ? rule->reason : NULL;
    char missing[64];
    for (size_t i = 0; i < NVT_COUNT_OF(programs) && !reason; i++) {
        if (strstr(line, programs[i]) && !is_here(programs[i])) {
            snprintf(missing, sizeof(missing), "there is no %s here", programs[i]);
            reason = missing;
        }
    }
    if (reason) {
        printf("left out: %s: %s\n          %s\n", document, line, reason);
        counts.left_out++;
    }
    return reason;
}

/* Each word behind tests/device/run is a part of it. */
static void expect_parts(const char *document, const char *line)
{
    char *script = cli_read_file("tests/device/run", NULL), word[64], needle[80];
    const char *at = strstr(line, "device/run ");
    assert_non_null(script);
    for (at = at ? at + 11 : ""; sscanf(at, " %63[a-z_]", word) == 1;) {
        snprintf(needle, sizeof(needle), "\n#   %s ", word);
        if (!strstr(script, needle))
            fail_msg("%s: %s: there is no part %s", document, line, word);
        at += strspn(at, " ");
        at += strlen(word);
    }
    free(script);
}

/* What lies in the folder that documents call build/, from the one that is tested. */
static void find_build(char *line, size_t size)
{
    static const char part[] = "build/emulated/";
    const char *at = strstr(line, part);
    if (!at)
        return;
    char *whole;
    assert_true(asprintf(&whole, "%.*s%s%s", (int)(at - line), line, cli_built("emulated/"),
                         at + strlen(part)) > 0);
    assert_true(strlen(whole) < size);
    snprintf(line, size, "%s", whole);
    free(whole);
}

static void run_line(const char *document, const char *directory, const char *line)
{
    char changed[LINE + 4096];
    const struct rule *rule = rule_of(document, line);
    if (is_left_out(document, line, rule))
        return;
    if (rule) {
        const char *at = strstr(line, rule->part);
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - line), line, rule->instead,
                 at + strlen(rule->part));
        printf("otherwise: %s: %s\n           %s\n", document, changed, rule->reason);
        find_build(changed, sizeof(changed));
        directory = ".";
    }
    expect_parts(document, line);
    counts.run += !rule, counts.otherwise += rule != NULL;
    struct cli_result result = in_shell(directory, rule ? changed : line);
    if (result.status)
        fail_msg("%s: '%s' ended with %d:\n%.2000s", document, rule ? changed : line, result.status,
                 result.err);
    cli_result_free(&result);
}

/* What a fence opens. "console" has lines behind "$ ", as have manual pages; of "sh" every line is
 * one. */
enum block { OTHER, PROMPTED, PLAIN };

static enum block block_of(const char *document, const char *fence)
{
    size_t length = strlen(document);
    bool manual = length > 4 && !strcmp(document + length - 4, ".scd");
    if (!strncmp(fence, "```console\n", 11) || (manual && !strncmp(fence, "```\n", 4)))
        return PROMPTED;
    return strncmp(fence, "```sh\n", 6) ? OTHER : PLAIN;
}

/* The command of a line, with the lines that a \ continues it with, into `command`. Returns what
 * follows them. A line that is no command leaves `command` empty. */
static const char *command_of(const char *line, enum block block, char command[LINE])
{
    size_t used = 0;
    bool goes_on = block == PLAIN ? *line != '#' && *line != '\n' : !strncmp(line, "$ ", 2);
    line += goes_on && block == PROMPTED ? 2 : 0;
    do {
        size_t length = strcspn(line, "\n");
        bool continued = length && line[length - 1] == '\\';
        assert_true(used + length < LINE);
        if (goes_on) {
            memcpy(command + used, line, length - continued);
            used += length - continued;
        }
        goes_on = goes_on && continued;
        line += length + (line[length] == '\n');
    } while (goes_on && *line);
    command[used] = 0;
    return line;
}

/* Run the command lines of a document in a folder of its own, one after another. Returns how many.
 */
static size_t run_document(const char *document)
{
    char *text = cli_read_file(document, NULL), *directory = new_folder(), command[LINE];
    enum block block = OTHER;
    bool inside = false;
    size_t count = 0;
    assert_non_null(text);
    for (const char *line = text; *line;) {
        if (!strncmp(line, "```", 3)) {
            inside = !inside;
            block = inside ? block_of(document, line) : OTHER;
            line += strcspn(line, "\n");
            line += *line == '\n';
            continue;
        }
        line = command_of(line, block, command);
        if (block != OTHER && *command) {
            run_line(document, directory, command);
            count++;
        }
    }
    if (inside)
        fail_msg("%s: a fence is not closed", document);
    cli_tempdir_remove(directory);
    free(text);
    return count;
}

static void test_command_lines(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("studies of minutes; each command and workload has tests of its own");
    assert_true(run_document("README.md") >= 10);
    assert_true(run_document("CONTRIBUTING.md") >= 5);
    assert_true(run_document("docs/skills/nvtally/SKILL.md") >= 4);
    glob_t documents = files("docs/*.md", "docs/results/*.md", "docs/man/*.scd");
    for (size_t i = 0; i < documents.gl_pathc; i++) {
        size_t count = run_document(documents.gl_pathv[i]);
        if (strstr(documents.gl_pathv[i], ".scd") && !count)
            fail_msg("%s has no example", documents.gl_pathv[i]);
        if (strstr(documents.gl_pathv[i], "recipes.md"))
            assert_true(count >= 40);
    }
    globfree(&documents);
    printf("command lines: %zu run, %zu run in another form, %zu left out\n", counts.run,
           counts.otherwise, counts.left_out);
}

static struct cli_result help_of(const char *command)
{
    const char *const all[] = {"nvtally", "--help", NULL};
    const char *const one[] = {"nvtally", command, "--help", NULL};
    return cli_run(command ? one : all);
}

/* The next "  NAME  what it does" of nvtally --help behind `at`; NULL behind the last. */
static const char *next_command(const char *at, char name[32])
{
    for (const char *line = at; line && (line = strchr(line, '\n'));) {
        line++;
        if (sscanf(line, "  %31[a-z]  ", name) == 1 && line[0] == ' ' && line[1] == ' ' &&
            isalpha((unsigned char)line[2]) && strncmp(line + 2, "nvtally", 7))
            return line;
    }
    return NULL;
}

static void run_example(const char *directory, const char *name, const char *help)
{
    static const char mark[] = "\nExample:";
    const char *at = strstr(help, mark);
    if (!at)
        return;
    char line[LINE];
    at += strlen(mark) + strspn(at + strlen(mark), " ");
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    run_line(name, directory, line);
}

/* In the order of the commands, so that what `run` made is there for those that read it. */
static void test_examples_of_help(void **state)
{
    (void)state;
    char name[32], *directory = new_folder();
    struct cli_result all = help_of(NULL), made;
    made = in_shell(
        directory,
        "for i in before after; do nvtally run linear --size 64 --batch 1 --iterations "
        "200 --collect off -o $i || exit; done; cp -r before b2; rm -r after; mv b2 after");
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    size_t commands = 0;
    for (const char *at = all.out; (at = next_command(at, name)); commands++) {
        struct cli_result help = help_of(name);
        cli_expect_status(&help, 0);
        run_example(directory, name, help.out);
        cli_result_free(&help);
    }
    assert_true(commands >= 11);
    cli_result_free(&all);
    cli_tempdir_remove(directory);
}

/* Whether a line of the Makefile or of a module of it makes this target. */
static bool is_target(const char *name, size_t length)
{
    bool found = false;
    glob_t makefiles = files("Makefile", "*/module.mk", "*/*/module.mk");
    for (size_t i = 0; i < makefiles.gl_pathc && !found; i++) {
        char *text = cli_read_file(makefiles.gl_pathv[i], NULL);
        for (const char *line = text; line && !found; line = strchr(line, '\n')) {
            line += *line == '\n';
            found = !strncmp(line, name, length) && line[length] == ':' && line[length + 1] != '=';
        }
        free(text);
    }
    globfree(&makefiles);
    return found;
}

/* The command exists, and each --option of the span is in its --help. */
static void expect_command(const char *document, const char *span)
{
    char name[32] = "", option[64];
    if (sscanf(span, "nvtally %31[a-z]", name) != 1)
        return;
    struct cli_result help = help_of(name);
    if (help.status)
        fail_msg("%s: `%s`: there is no command %s", document, span, name);
    for (const char *at = span; (at = strstr(at, " --")); at += 3)
        if (sscanf(at + 1, "%63[a-z-]", option) == 1 && strlen(option) > 2 &&
            !strstr(help.out, option))
            fail_msg("%s: `%s`: %s has no %s", document, span, name, option);
    cli_result_free(&help);
}

/* The `spans` of a document that are commands. Returns how many. */
static size_t look_at_spans(const char *document)
{
    char *text = cli_read_file(document, NULL), span[LINE];
    size_t count = 0;
    bool fenced = false;
    assert_non_null(text);
    for (char *at = text; *at; at++) {
        if (!strncmp(at, "```", 3)) {
            fenced = !fenced;
            at += 2;
        } else if (!fenced && *at == '`' && sscanf(at + 1, "%2000[^`]", span) == 1) {
            at += strlen(span) + 1;
            for (char *c = span; *c; c++)
                *c = *c == '\n' ? ' ' : *c;
            if (!strncmp(span, "make ", 5) && islower((unsigned char)span[5])) {
                count++;
                if (!is_target(span + 5, strcspn(span + 5, " ")))
                    fail_msg("%s: `%s`: make has no such target", document, span);
            } else if (!strncmp(span, "nvtally ", 8)) {
                count++;
                expect_command(document, span);
            }
        }
        if (!*at)
            break;
    }
    free(text);
    return count;
}

static void test_commands_in_sentences(void **state)
{
    (void)state;
    size_t count = 0;
    glob_t documents = files("*.md", "docs/*.md", "docs/results/*.md");
    count += look_at_spans("docs/skills/nvtally/SKILL.md");
    for (size_t i = 0; i < documents.gl_pathc; i++)
        count += look_at_spans(documents.gl_pathv[i]);
    globfree(&documents);
    assert_true(count >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_in_sentences),
        cmocka_unit_test(test_examples_of_help),
        cmocka_unit_test(test_command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
