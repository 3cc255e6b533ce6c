/*
 * What every command does with bad input: exit 2, one line that starts with "nvtally: ", nothing on
 * stdout. The commands are those that `nvtally --help` lists, so that a new one is tested too.
 */
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

#include "../lib/count_of.h"
#include "cli.h"
#include "terminal_kit.h"

enum { MAX_COMMANDS = 32, MAX_ARGUMENTS = 16 };

/* How a command gets the file it reads: `nvtally NAME BEFORE… FILE AFTER…`. */
static const struct usage {
    const char *name;
    const char *before[4]; /* NULL-terminated */
    int files;             /* how many it reads; 0: none */
    int runs_without;      /* it does its work without any argument */
} usages[] = {
    {"record", {0}, 0, 0},
    {"run", {0}, 0, 0},
    {"stats", {0}, 1, 0},
    {"plot", {0}, 1, 0},
    {"info", {0}, 0, 1},
    {"diagnose", {0}, 1, 0},
    {"compare", {0}, 2, 0},
    {"report", {0}, 1, 0},
    {"export", {"--to", "csv", 0}, 1, 0},
    {"import", {0}, 1, 0},
    {"reference", {0}, 0, 0},
    {"sql", {0}, 1, 0},
    {"env", {0}, 0, 1},
    {"ctl", {0}, 0, 0},
    {"check", {0}, 2, 0},
    {"mcp", {0}, 0, 1},
    {"view", {"--no-open", 0}, 1, 0},
    {"top", {0}, 1, 0},
};

/* The commands of this build, found once. */
struct commands {
    const struct usage *of[MAX_COMMANDS];
    size_t count;
    char *directory; /* for the files of a test, removed at the end */
};

static void add_command(struct commands *commands, const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(usages); i++) {
        if (strcmp(name, usages[i].name))
            continue;
        assert_true(commands->count < MAX_COMMANDS);
        commands->of[commands->count++] = &usages[i];
        return;
    }
    fail_msg("say in test_cli_errors.c how the new command '%s' gets its input", name);
}

/* The list is the block of lines "  NAME  what it does" between the first two blank lines. */
static int find_commands(void **state)
{
    const char *const argv[] = {"nvtally", "--help", NULL};
    struct cli_result result = cli_run(argv);
    char name[32], *line = strstr(result.out, "\n\n  ");
    cli_expect_status(&result, 0);
    assert_non_null(line);
    struct commands *commands = calloc(1, sizeof(*commands));
    assert_non_null(commands);
    for (line += 2; sscanf(line, "  %31s", name) == 1 && *line == ' '; line++) {
        add_command(commands, name);
        line = strchr(line, '\n');
        if (!line)
            break;
    }
    cli_result_free(&result);
    commands->directory = cli_tempdir();
    *state = commands;
    return commands->count < 5;
}

static int release_commands(void **state)
{
    struct commands *commands = *state;
    cli_tempdir_remove(commands->directory);
    free(commands);
    return 0;
}

static void expect_failure(const char *const argv[], const char *needle)
{
    struct cli_result result = cli_run(argv);
    char line[1024] = "";
    for (size_t used = 0; *argv && used < sizeof(line); argv++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s ", *argv);
    if (result.status != 2)
        print_error("%s\n", line);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

/* `nvtally NAME BEFORE… path [path]` must fail and name the path. */
static void expect_bad_input(const struct usage *usage, const char *path)
{
    const char *argv[MAX_ARGUMENTS] = {"nvtally", usage->name};
    size_t n = 2;
    for (size_t i = 0; usage->before[i]; i++)
        argv[n++] = usage->before[i];
    for (int i = 0; i < usage->files; i++)
        argv[n++] = path;
    expect_failure(argv, path);
}

static void test_no_command(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "usage: nvtally"));
    cli_result_free(&result);
}

static void test_unknown_command(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", "frobnicate", NULL};
    expect_failure(argv, "frobnicate");
    const char *const empty[] = {"nvtally", "", NULL};
    expect_failure(empty, "no command ''");
}

static void test_a_wrong_number_of_threads(void **state)
{
    (void)state;
    static const char *const wrong[] = {"NVTALLY_THREADS=many",
                                        "NVTALLY_THREADS=0",
                                        "NVTALLY_THREADS=-1",
                                        "NVTALLY_THREADS=65",
                                        "NVTALLY_THREADS=2x",
                                        "NVTALLY_THREADS= 2",
                                        "NVTALLY_THREADS=99999999999999999999"};
    const char *const argv[] = {"nvtally", "stats", "-r", "list", NULL};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const environment[] = {wrong[i], NULL};
        struct cli_options options = {.environment = environment};
        struct cli_result result = cli_run_with(&options, argv);
        cli_expect_status(&result, 2);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, "it must be a number from 1 to 64, or unset"));
        cli_result_free(&result);
    }
    static const char *const right[] = {"NVTALLY_THREADS=", "NVTALLY_THREADS=1",
                                        "NVTALLY_THREADS=64"};
    for (size_t i = 0; i < NVT_COUNT_OF(right); i++) {
        const char *const environment[] = {right[i], NULL};
        struct cli_options options = {.environment = environment};
        struct cli_result result = cli_run_with(&options, argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
}

/* Where what the name in a line stands for begins. */
static size_t column_of_about(const char *line)
{
    size_t indent = strspn(line, " "), name = indent + strcspn(line + indent, " ");
    return name + strspn(line + name, " ");
}

/* Names of any length, and what they stand for in a column. */
static void lists_stand_in_columns(void **state)
{
    (void)state;
    static const struct {
        const char *argv[5], *from;
    } lists[] = {{{"nvtally", "stats", "-r", "list"}, ""},
                 {{"nvtally", "plot", "--help"}, "Charts:\n"}};
    for (size_t i = 0; i < 2; i++) {
        struct cli_result result = cli_run(lists[i].argv);
        cli_expect_status(&result, 0);
        char *line = strstr(result.out, lists[i].from);
        assert_non_null(line);
        line += strlen(lists[i].from);
        const size_t column = column_of_about(line);
        for (; *line; line += strcspn(line, "\n") + 1)
            if (column_of_about(line) != column && strspn(line, " ") != column)
                fail_msg("%s", line);
        cli_result_free(&result);
    }
}

static void test_help_of_every_command(void **state)
{
    struct commands *commands = *state;
    for (size_t i = 0; i < commands->count; i++) {
        char start[64];
        const char *const argv[] = {"nvtally", commands->of[i]->name, "--help", NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        snprintf(start, sizeof(start), "usage: nvtally %s", commands->of[i]->name);
        assert_non_null(strstr(result.out, start));
        assert_string_equal(result.err, "");
        (void)kit_expect_fits(result.out, 80);
        cli_result_free(&result);
    }
}

static void test_unknown_option(void **state)
{
    struct commands *commands = *state;
    char needle[128];
    for (size_t i = 0; i < commands->count; i++) {
        const char *const argv[] = {"nvtally", commands->of[i]->name, "--no-such-option", NULL};
        snprintf(needle, sizeof(needle), "unknown option --no-such-option; see nvtally %s --help",
                 argv[1]);
        expect_failure(argv, needle);
    }
    static const char *const wrong[][3] = {
        {"stats", "--f", "--f is ambiguous: --format, --filter-time, --filter-nvtx"},
        {"view", "--f", "option --f is ambiguous: --f"},
        {"stats", "--wide=1", "option --wide takes no value; see nvtally stats --help"},
        {"stats", "--formta", "--formta (did you mean '--format'?); see nvtally stats --help"},
        {"record", "--trac", "option --trac is ambiguous: --trace, --trace-fork-before-exec;"},
        {"record", "--py", "option --py is ambiguous: --python, --pytorch; see"},
        {"run", "--repaet", "unknown option --repaet (did you mean '--repeat'?)"},
        {"info", "--jsno", "unknown option --jsno (did you mean '--json'?)"},
        {"info", "--json=x", "option --json takes no value; see nvtally info --help"},
        {"ctl", "--session", "option --session needs a value; see nvtally ctl --help"},
        {"env", "--wath", "unknown option --wath (did you mean '--watch'?)"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const char *const argv[] = {"nvtally", wrong[i][0], wrong[i][1], NULL};
        expect_failure(argv, wrong[i][2]);
    }
}

static void test_missing_arguments(void **state)
{
    struct commands *commands = *state;
    for (size_t i = 0; i < commands->count; i++) {
        const char *const argv[] = {"nvtally", commands->of[i]->name, NULL};
        if (!commands->of[i]->runs_without)
            expect_failure(argv, commands->of[i]->name);
    }
    static const char *const cut[][3] = {
        {"record", "-o", NULL},      {"record", "--trace", NULL},  {"record", "--ring-size", NULL},
        {"run", "linear", "--size"}, {"run", "linear", "-o"},      {"stats", "-r", NULL},
        {"stats", "-f", NULL},       {"plot", "-o", NULL},         {"plot", "-f", NULL},
        {"record", "--watch", NULL}, {"record", "--listen", NULL}, {"record", "--key", NULL},
        {"ctl", "--watch", NULL},    {"ctl", "--to", NULL},        {"ctl", "--key", NULL},
        {"env", "--watch", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cut); i++) {
        const char *const argv[] = {"nvtally", cut[i][0], cut[i][1], cut[i][2], NULL};
        expect_failure(argv, cut[i][2] ? cut[i][2] : cut[i][1]);
    }
}

static void test_bad_input(void **state)
{
    struct commands *commands = *state;
    static const char text[] = "Dear diary,\ntoday I was no trace.\n";
    char garbage[4096], paths[6][4096];
    const char *const names[] = {"missing.nvt", "empty.nvt", "text.nvt",
                                 "garbage.nvt", "directory", "text.json"};
    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = (char)(i * 167 + 13);
    for (size_t i = 0; i < 6; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", commands->directory, names[i]);
    cli_write_file(paths[1], "", 0);
    cli_write_file(paths[2], text, sizeof(text) - 1);
    cli_write_file(paths[3], garbage, sizeof(garbage));
    assert_int_equal(mkdir(paths[4], 0755), 0);
    cli_write_file(paths[5], text, sizeof(text) - 1);
    for (size_t i = 0; i < commands->count; i++)
        for (size_t j = 0; commands->of[i]->files && j < 6; j++)
            expect_bad_input(commands->of[i], paths[j]);
}

/* The name of an empty variable of the shell: the line shows that there is none. */
static void test_empty_names(void **state)
{
    struct commands *commands = *state;
    const char *trace = cli_in(commands->directory, "t.json");
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1,"
                               "\"dur\":2}]";
    cli_write_file(trace, json, sizeof(json) - 1);
    for (size_t i = 0; i < commands->count; i++) {
        const char *argv[MAX_ARGUMENTS] = {"nvtally", commands->of[i]->name};
        size_t n = 2;
        for (size_t k = 0; commands->of[i]->before[k]; k++)
            argv[n++] = commands->of[i]->before[k];
        for (int k = 0; k < commands->of[i]->files; k++)
            argv[n++] = "";
        if (commands->of[i]->files)
            expect_failure(argv, "''");
    }
    const char *const outputs[][8] = {
        {"nvtally", "stats", "-o", "", trace},
        {"nvtally", "export", "--to", "csv", "-o", "", trace},
        {"nvtally", "plot", "-o", "", trace},
        {"nvtally", "record", "-o", "", "--", "true"},
        {"nvtally", "record", "-o", cli_in(commands->directory, "e.nvt"), "--", ""},
        {"nvtally", "record", "-o", cli_in(commands->directory, "e.nvt"), "--watch", "", "true"},
        {"nvtally", "ctl", "--watch", "", "ps"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(outputs); i++)
        expect_failure(outputs[i], "''");
}

static void test_unknown_values(void **state)
{
    struct commands *commands = *state;
    const char *trace = cli_in(commands->directory, "t.nvt");
    const char *const record[] = {"nvtally", "record", "-o", trace, "--", "true", NULL};
    struct cli_result result = cli_run(record);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    const char *const bad[][8] = {
        {"nvtally", "stats", "-r", "no_such_report", trace},
        {"nvtally", "stats", "-f", "no_such_format", trace},
        {"nvtally", "stats", "-r", "nvtx_sum,no_such_report", trace},
        {"nvtally", "plot", "-f", "bmp", trace},
        {"nvtally", "run", "no_such_workload"},
        {"nvtally", "run", "linear", "--mode", "no_such_mode"},
        {"nvtally", "run", "linear", "--backend", "no_such_backend"},
        {"nvtally", "run", "linear", "--collect", "no_such_level"},
        {"nvtally", "record", "--trace", "no_such_kind", "--", "true"},
        {"nvtally", "record", "--trace", "kernel,metrics=no_such_metric", "--", "true"},
        {"nvtally", "record", "--trace", "metrics@no_such_rate", "--", "true"},
        {"nvtally", "record", "--counters-of", "no_such", "--capture", "r", "--", "true"},
        {"nvtally", "record", "--trace", "counters=no_such_counter", "--", "true"},
        {"nvtally", "record", "--on-full", "no_such_way", "--", "true"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++)
        expect_failure(bad[i], i == 3 ? "bmp" : "no_such");
}

static void test_numbers(void **state)
{
    struct commands *commands = *state;
    const char *out = cli_in(commands->directory, "numbers");
    static const char *const bad[] = {
        "0", "-1", "99999999999999999999", "4611686018427387904", "1e99", "12x", "", "8,,16"};
    static const char *const options[] = {"--size", "--batch", "--iterations"};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++)
        for (size_t j = 0; j < NVT_COUNT_OF(options); j++) {
            const char *const argv[] = {"nvtally", "run", "linear", options[j],
                                        bad[i],    "-o",  out,      NULL};
            expect_failure(argv, options[j]);
        }
    static const char *const sizes[] = {"0", "-1", "1", "18446744073709551616", "2G", "1M1", ""};
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++) {
        const char *const argv[] = {"nvtally", "record", "--ring-size", sizes[i],
                                    "--",      "true",   NULL};
        expect_failure(argv, "--ring-size");
    }
}

static void test_unwritable_output(void **state)
{
    struct commands *commands = *state;
    char file[4096], below[4200], missing[4200];
    snprintf(file, sizeof(file), "%s/a_file", commands->directory);
    snprintf(below, sizeof(below), "%s/t.nvt", file);
    snprintf(missing, sizeof(missing), "%s/none/t.nvt", commands->directory);
    cli_write_file(file, "", 0);
    const char *const traces[] = {"/proc/t.nvt", commands->directory, below, missing};
    for (size_t i = 0; i < NVT_COUNT_OF(traces); i++) {
        const char *const argv[] = {"nvtally", "record", "-o", traces[i], "--", "true", NULL};
        expect_failure(argv, traces[i]);
    }
    const char *const folders[] = {"/proc/out", file, below};
    for (size_t i = 0; i < NVT_COUNT_OF(folders); i++) {
        const char *const argv[] = {"nvtally", "run",      "linear",   "--backend",
                                    "host",    "--size",   "128",      "--batch",
                                    "1",       "--warmup", "0",        "--iterations",
                                    "1",       "-o",       folders[i], NULL};
        expect_failure(argv, folders[i]);
    }
}

/* As the shell puts it, but with our name in front and our status for what cannot be done. */
static void test_command_that_cannot_be_run(void **state)
{
    struct commands *commands = *state;
    const char *trace = cli_in(commands->directory, "not_run.nvt");
    char file[4096];
    snprintf(file, sizeof(file), "%s/not_executable", commands->directory);
    cli_write_file(file, "", 0);
    const char *const programs[][2] = {{"nvtally-no-such-program", "command not found"},
                                       {"/no/such/program", "No such file"},
                                       {file, "Permission denied"}};
    for (size_t i = 0; i < NVT_COUNT_OF(programs); i++) {
        const char *const argv[] = {"nvtally", "record", "-o", trace, "--", programs[i][0], NULL};
        expect_failure(argv, programs[i][1]);
    }
}

/* A result that could not be written is no success. */
static void test_full_stdout(void **state)
{
    struct commands *commands = *state;
    char shell[8192];
    snprintf(
        shell, sizeof(shell),
        "'%s' record -o '%s/full.nvt' -- true 2>/dev/null && '%s' stats '%s/full.nvt' >/dev/full",
        cli_built("nvtally"), commands->directory, cli_built("nvtally"), commands->directory);
    const char *const in_shell[] = {"sh", "-c", shell, NULL};
    expect_failure(in_shell, "No space left");
    snprintf(shell, sizeof(shell), "'%s' info >/dev/full", cli_built("nvtally"));
    expect_failure(in_shell, "No space left");
    snprintf(shell, sizeof(shell), "'%s' --help >/dev/full", cli_built("nvtally"));
    expect_failure(in_shell, "stdout: cannot be written: No space left");
    snprintf(shell, sizeof(shell), "'%s' --version >/dev/full", cli_built("nvtally"));
    expect_failure(in_shell, "stdout: cannot be written: No space left");
    for (size_t i = 0; i < commands->count; i++) {
        snprintf(shell, sizeof(shell), "'%s' %s --help >/dev/full", cli_built("nvtally"),
                 commands->of[i]->name);
        expect_failure(in_shell, "stdout: cannot be written");
    }
    snprintf(shell, sizeof(shell), "'%s' stats -r list >/dev/full", cli_built("nvtally"));
    expect_failure(in_shell, "stdout: cannot be written: No space left");
}

/* One that is closed is no file or pipe of ours, and what is run has its rows. */
static void test_closed_streams(void **state)
{
    struct commands *commands = *state;
    char shell[8192];
    snprintf(shell, sizeof(shell),
             "o='%s/closed'; r=\"'%s' run linear --size 64 --batch 1 --iterations 2 --backend host "
             "-o $o\"; eval \"$r\" >&- 2>\"$o.err\"; [ $? = 2 ] || exit 1; "
             "grep -q 'stdout: cannot be written: Bad file descriptor' \"$o.err\" || exit 3; "
             "wc -l <$o/results.jsonl; eval \"$r\" <&- >&- 2>&-; wc -l <$o/results.jsonl; "
             "eval \"$r\" <&- 2>&- >/dev/null && wc -l <$o/results.jsonl",
             commands->directory, cli_built("nvtally"));
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", shell, NULL});
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "1\n1\n1\n");
    cli_result_free(&result);
    snprintf(shell, sizeof(shell), "'%s' --version >&-", cli_built("nvtally"));
    expect_failure((const char *const[]){"sh", "-c", shell, NULL},
                   "stdout: cannot be written: Bad file descriptor");
}

/* Whoever gives -o - means standard output, and gets it, or hears why not; no file of that name is made. */
static void output_to_a_dash_is_standard_output(void **state)
{
    const struct commands *commands = *state;
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1,"
                               "\"dur\":2}]";
    const char *path = cli_in(commands->directory, "dash.json");
    const struct {
        const char *argv[10];
        const char *needle;
    } refused[] = {
        {{"nvtally", "record", "-o", "-", "--", "true", NULL},
         "-o -: a trace cannot go to standard output; a file of that name is ./-"},
        {{"nvtally", "plot", path, "-o", "-", NULL}, "a directory of that name is ./-"},
        {{"nvtally", "report", path, "-o", "-", NULL}, "a file of that name is ./-"},
        {{"nvtally", "import", path, "-o", "-", NULL}, "a directory of that name is ./-"},
        {{"nvtally", "run", "linear", "--size", "8", "--output=-", NULL},
         "a directory of that name is ./-"},
    };
    cli_write_file(path, json, sizeof(json) - 1);
    for (size_t i = 0; i < NVT_COUNT_OF(refused); i++)
        expect_failure(refused[i].argv, refused[i].needle);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "stats", "-f", "csv", path, "-o", "-", NULL});
    cli_expect_status(&result, 0);
    struct cli_result without =
        cli_run((const char *const[]){"nvtally", "stats", "-f", "csv", path, NULL});
    assert_string_equal(result.out, without.out);
    assert_true(*result.out);
    cli_result_free(&result);
    cli_result_free(&without);
    assert_int_not_equal(access("-", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_command),
        cmocka_unit_test(test_unknown_command),
        cmocka_unit_test(lists_stand_in_columns),
        cmocka_unit_test(test_help_of_every_command),
        cmocka_unit_test(test_a_wrong_number_of_threads),
        cmocka_unit_test(test_unknown_option),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_unknown_values),
        cmocka_unit_test(test_empty_names),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_unwritable_output),
        cmocka_unit_test(test_command_that_cannot_be_run),
        cmocka_unit_test(test_full_stdout),
        cmocka_unit_test(test_closed_streams),
        cmocka_unit_test(output_to_a_dash_is_standard_output),
    };
    return cmocka_run_group_tests(tests, find_commands, release_commands);
}
