/*
 * What report and plot leave behind: the documents' and the pictures' names, nothing when they are ended
 * early, and the command lines that they tell. gnuplot is a script of ours here, and is found as `info` finds it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/program.h"
#include "../lib/shell.h"
#include "cli.h"

static char path_here[4200]; /* "PATH=…" with the programs of the folder before others */

static struct cli_result run_here(const char *const argv[])
{
    const char *const environment[] = {path_here, NULL};
    const struct cli_options options = {.directory = cli_folder, .environment = environment};
    return cli_run_with(&options, argv);
}

#define RUN(...) run_here((const char *const[]){"nvtally", __VA_ARGS__, NULL})

/* What it printed, owned. */
static char *expect_good(struct cli_result result)
{
    cli_expect_status(&result, 0);
    char *out = strdup(result.out);
    cli_result_free(&result);
    return out;
}

static void expect_printed(struct cli_result result, const char *expected)
{
    char *out = expect_good(result);
    assert_string_equal(out, expected);
    free(out);
}

static void record(const char *name)
{
    free(expect_good(RUN("record", "-o", name, "--", cli_client("nested"), "3")));
}

/* A gnuplot that makes a picture of any script, and a trace. */
static int set_up(void **state)
{
    static const char drawing[] =
        "#!/bin/sh\necho '<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>'\n";
    if (cli_folder_set_up(state))
        return -1;
    snprintf(path_here, sizeof(path_here), "PATH=%s/bin:%s", cli_folder, getenv("PATH"));
    mkdir(cli_in(cli_folder, "bin"), 0777);
    cli_write_file(cli_in(cli_folder, "bin/gnuplot"), drawing, strlen(drawing));
    record("a.nvt");
    return chmod(cli_in(cli_folder, "bin/gnuplot"), 0777);
}

static void a_report_is_named_after_its_trace(void **state)
{
    (void)state;
    record("b.c.nvt");
    record(".nvt");
    record("plain");
    expect_printed(RUN("report", "a.nvt"), "a.report.html\n");
    expect_printed(RUN("report", "./b.c.nvt"), "./b.c.report.html\n");
    for (int i = 0; i < 4; i++) {
        static const char *const scripts[] = {"$0 report - <a.nvt", "cat a.nvt | $0 report -",
                                              "$0 report <(cat a.nvt)",
                                              "cat a.nvt | $0 report - -o piped.html"};
        struct cli_result result =
            run_here((const char *const[]){"bash", "-c", scripts[i], cli_built("nvtally"), NULL});
        if (i == 3) {
            free(expect_good(result));
            continue;
        }
        cli_expect_status(&result, 2);
        assert_non_null(strstr(result.err, "has no name of its own: give one with -o\n"));
        cli_result_free(&result);
    }
    assert_int_equal(access(cli_in(cli_folder, "-.report.html"), F_OK), -1);
    expect_printed(RUN("report", ".nvt"), ".nvt.report.html\n");
    expect_printed(RUN("report", "plain"), "plain.report.html\n");
    expect_printed(RUN("report", "a.nvt", "plain"), "report.html\n");
    free(expect_good(RUN("run", "linear", "--size", "32", "--batch", "1", "--iterations", "1",
                         "--backend", "host", "-o", "out")));
    expect_printed(RUN("report", "out/"), "out//report.html\n");
}

/* The pictures of a document of this name; the first, owned. */
static char *first_picture(const char *name)
{
    char *out = expect_good(RUN("report", "a.nvt", "-o", name)), *rest = out;
    const char *document = strsep(&rest, "\n");
    assert_string_equal(document, name);
    char *first = strdup(strsep(&rest, "\n"));
    const char *slash = strrchr(first, '/'), *file = slash ? slash + 1 : first;
    assert_int_equal(access(cli_in(cli_folder, first), F_OK), 0);
    assert_int_equal(
        strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
        strlen(file));
    assert_int_not_equal(*file, '-');
    free(out);
    return first;
}

static void pictures_have_plain_names_of_their_own(void **state)
{
    (void)state;
    static const char *const plain[][2] = {{"p.tex", "p-a-timeline.pdf"},
                                           {"out/p.q_r-s.tex", "out/p.q_r-s-a-timeline.pdf"}};
    static const char *const other[] = {"ü ß.tex",   "ä ß.tex", "./-x.tex", "./x.tex",
                                        "./--x.tex", ".tex",    "a ü.tex",  "a-.tex"};
    enum { OTHERS = NVT_COUNT_OF(other) };
    char *names[OTHERS];
    for (size_t i = 0; i < 2; i++) {
        char *name = first_picture(plain[i][0]);
        assert_string_equal(name, plain[i][1]);
        free(name);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        names[i] = first_picture(other[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[k], names[i]);
    }
    for (size_t i = 0; i < OTHERS; i++)
        free(names[i]);
}

static void plot_makes_its_folders(void **state)
{
    (void)state;
    char *out = expect_good(RUN("plot", "a.nvt", "-o", "x/y/z"));
    assert_int_equal(strncmp(out, "x/y/z/a-timeline.svg\n", 21), 0);
    assert_int_equal(access(cli_in(cli_folder, "x/y/z/a-timeline.svg"), F_OK), 0);
    free(out);
}

/* --- ended early ------------------------------------------------------------------------------ */

/* The report's folder, where it waits for its gnuplot. */
static pid_t start_report(char *folder, size_t size)
{
    const char *told = cli_in(cli_folder, "told");
    unlink(told);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        /* As at a terminal, also where the test itself runs without one (nohup). */
        (void)signal(SIGHUP, SIG_DFL);
        (void)signal(SIGINT, SIG_DFL);
        if (chdir(cli_folder) || !freopen("/dev/null", "w", stderr))
            _exit(120);
        putenv(path_here);
        execl(cli_built("nvtally"), "nvtally", "report", "a.nvt", (char *)NULL);
        _exit(121);
    }
    for (int i = 0; i < 30000; i++) {
        size_t length = 0;
        char *text = cli_read_file(told, &length);
        if (length > 1 && text[length - 1] == '\n') {
            snprintf(folder, size, "%.*s", (int)length - 1, text);
            free(text);
            return child;
        }
        free(text);
        usleep(10000);
    }
    fail_msg("no gnuplot was started");
    return -1;
}

static void who_is_ended_leaves_no_folder(void **state)
{
    (void)state;
    static const char waiting[] = "#!/bin/sh\n"
                                  "echo \"$PWD\" >%s/told\n"
                                  "for i in $(seq 6000); do [ -d \"$PWD\" ] || exit; echo >made; "
                                  "sleep 0.05; done\n";
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char script[5000], folder[300];
    snprintf(script, sizeof(script), waiting, cli_folder);
    cli_write_file(cli_in(cli_folder, "bin/gnuplot"), script, strlen(script));
    for (size_t i = 0; i < NVT_COUNT_OF(signals); i++) {
        int status;
        pid_t child = start_report(folder, sizeof(folder));
        assert_int_equal(strncmp(folder, "/tmp/nvtally-report-", 20), 0);
        assert_int_equal(kill(child, signals[i]), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(access(folder, F_OK), -1);
    }
}

/* --- command lines ---------------------------------------------------------------------------- */

static void words_come_back_from_a_shell(void **state)
{
    (void)state;
    static const struct {
        const char *word, *joined;
    } words[] = {{"plain-1.2_/:=@%+,", NULL},
                 {"ö", NULL},
                 {"ö ü", "'ö ü'"},
                 {"", "''"},
                 {"it's", "'it'\\''s'"},
                 {"~", "'~'"},
                 {"a#b", "'a#b'"},
                 {"*", "'*'"},
                 {"{a,b}", "'{a,b}'"},
                 {"[x]", "'[x]'"},
                 {"!", "'!'"},
                 {"a\nb", "$'a\\nb'"},
                 {"\n", "$'\\n'"},
                 {"it's a\ttab\\n\n", "$'it\\'s a\\ttab\\\\n\\n'"},
                 {"\x1b[1m\x7f", "$'\\033[1m\\177'"},
                 {"\x01"
                  "7",
                  "$'\\0017'"},
                 {"\xe2\x80\xae", "$'\\342\\200\\256'"},
                 {"\xff", "$'\\377'"},
                 {"$HOME`x`\"\\", "'$HOME`x`\"\\'"}};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++) {
        struct nvt_buffer text = {0};
        const char *word = words[i].word, *joined = words[i].joined ? words[i].joined : word;
        char *const argv[] = {(char *)"printf", (char *)"%s|", (char *)word, (char *)"end", NULL};
        char expected[200], command[200];
        assert_int_equal(nvt_shell_join(&text, argv), 0);
        snprintf(command, sizeof(command), "%.*s", (int)text.size, (const char *)text.data);
        snprintf(expected, sizeof(expected), "printf '%%s|' %s end", joined);
        assert_string_equal(command, expected);
        snprintf(expected, sizeof(expected), "%s|end|", word);
        expect_printed(run_here((const char *const[]){"bash", "-c", command, NULL}), expected);
        if (*joined != '$') /* that is not in every sh yet */
            expect_printed(run_here((const char *const[]){"sh", "-c", command, NULL}), expected);
        nvt_buffer_free(&text);
    }
}

static void documents_tell_commands_for_a_shell(void **state)
{
    (void)state;
    free(expect_good(RUN("run", "linear", "--size", "32", "--batch", "1", "--iterations", "1",
                         "--backend", "host", "-o", "ö ü")));
    free(expect_good(RUN("report", "ö ü", "-o", "c d.md")));
    char *text = cli_read_file(cli_in(cli_folder, "c d.md"), NULL);
    assert_non_null(strstr(text, "nvtally run linear --size 32 --batch 1 --iterations 1 "
                                 "--backend host -o 'ö ü'\n"));
    assert_non_null(strstr(text, "nvtally report 'ö ü' -o 'c d.md'\n"));
    free(text);
    free(expect_good(RUN("record", "-o", "s.nvt", "--", "sh", "-c", "exit 0")));
    free(expect_good(RUN("report", "s.nvt", "-o", "s.md")));
    text = cli_read_file(cli_in(cli_folder, "s.md"), NULL);
    assert_non_null(strstr(text, "sh -c 'exit 0'\n"));
    free(text);
    free(expect_good(RUN("record", "-o", "n.nvt", "--", "sh", "-c", "true\nexit 0")));
    free(expect_good(RUN("report", "n.nvt", "-o", "n.html")));
    text = cli_read_file(cli_in(cli_folder, "n.html"), NULL);
    assert_non_null(strstr(text, "sh -c $&#39;true\\nexit 0&#39;"));
    assert_null(strstr(text, "true\u240a"));
    free(text);
}

/* --- programs --------------------------------------------------------------------------------- */

static void programs_are_found_as_exec_finds_them(void **state)
{
    (void)state;
    const char *before = getenv("PATH");
    assert_non_null(before);
    char found[4200], folders[9000], *kept = strdup(before);
    const char *program = cli_in(cli_folder, "bin/gnuplot");
    assert_int_equal(mkdir(cli_in(cli_folder, "folders"), 0777), 0);
    assert_int_equal(mkdir(cli_in(cli_folder, "folders/gnuplot"), 0777), 0);
    snprintf(folders, sizeof(folders), "/nonexistent:%s/folders:%s/bin", cli_folder, cli_folder);
    setenv("PATH", folders, 1);
    assert_int_equal(nvt_find_program("gnuplot", found, sizeof(found)), 0);
    assert_string_equal(found, program);
    assert_int_equal(nvt_find_program("gnuplot", found, 3), -1);
    assert_int_equal(nvt_find_program("no-such-program", found, sizeof(found)), -1);
    unsetenv("PATH");
    assert_int_equal(nvt_find_program("sh", found, sizeof(found)), 0);
    assert_int_equal(*found, '/');
    setenv("PATH", kept, 1);
    free(kept);
}

/* `info` says of gnuplot what `plot` does with it, without PATH too. */
static void info_and_plot_look_in_the_same_places(void **state)
{
    (void)state;
    static const char *const without[] = {"PATH", NULL}, *const nowhere[] = {"PATH=/nonexistent",
                                                                             NULL};
    const char *const *const environments[] = {without, nowhere};
    const char *const info[] = {"nvtally", "info", "--json", NULL};
    const char *const plot[] = {"nvtally", "plot", "a.nvt", NULL};
    static const char found[] = "\"gnuplot\", \"present\": true";
    for (size_t i = 0; i < 2; i++) {
        const struct cli_options options = {.directory = cli_folder,
                                            .environment = environments[i]};
        struct cli_result said = cli_run_with(&options, info), drawn = cli_run_with(&options, plot);
        assert_int_equal(strstr(said.out, found) != NULL,
                         strstr(drawn.err, "gnuplot, which was not found") == NULL);
        cli_result_free(&said);
        cli_result_free(&drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_named_after_its_trace),
        cmocka_unit_test(pictures_have_plain_names_of_their_own),
        cmocka_unit_test(plot_makes_its_folders),
        cmocka_unit_test(words_come_back_from_a_shell),
        cmocka_unit_test(documents_tell_commands_for_a_shell),
        cmocka_unit_test(programs_are_found_as_exec_finds_them),
        cmocka_unit_test(info_and_plot_look_in_the_same_places),
        cmocka_unit_test(who_is_ended_leaves_no_folder),
    };
    return cmocka_run_group_tests(tests, set_up, cli_folder_tear_down);
}
