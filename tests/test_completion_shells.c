/*
 * Completion in bash, zsh and fish: each offers every command, and of each command every option
 * that its
 * --help has, and nothing else; what follows `record … --` is completed as a command of its own. A
 * shell that is not installed is left out, which is said.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"

/* A script that prints what is offered for the words $1 (the last one is being completed), one a
 * line. zsh completes nowhere but in its line editor, so that one is run on a terminal, and what it
 * would show is caught from compadd and _describe. */
static const struct shell {
    const char *name, *file, *script;
} shells[] = {
    {"bash", "completion/nvtally.bash",
     ". completion/nvtally.bash; read -ra COMP_WORDS <<<\"$1\"; [ \"${1% }\" = \"$1\" ] || "
     "COMP_WORDS+=(''); "
     "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nvtally; printf '%s\\n' \"${COMPREPLY[@]}\""},
    {"zsh", "completion/_nvtally",
     "words=(${(s: :)1}); [[ $1 == *' ' ]] && words+=(''); CURRENT=$#words; PREFIX=$words[-1]; "
     "_describe() { print -rl -- ${(P)2} | sed 's/:.*//' | grep -e \"^$PREFIX\" }; "
     "compadd() { [[ $1 == -a ]] && print -rl -- ${(P)2} | grep -e \"^$PREFIX\" }; "
     "compset() { PREFIX=${PREFIX##*,} }; "
     "_normal() { print \"normal $CURRENT: $words\" }; _files() { print files }; "
     "nvtally_complete() { . completion/_nvtally }; nvtally_complete; true"},
    {"fish", "completion/nvtally.fish",
     "source completion/nvtally.fish; complete -C $argv[1] | string replace -r '\\t.*' ''; true"},
};

static char *home; /* fish writes into it */

static int make_home(void **state)
{
    (void)state;
    home = cli_tempdir();
    return 0;
}

static int remove_home(void **state)
{
    (void)state;
    cli_tempdir_remove(home);
    return 0;
}

static struct cli_result with_path(const char *const argv[])
{
    char path[4200], variable[4200];
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", cli_built(""));
    snprintf(variable, sizeof(variable), "HOME=%s", home);
    const char *const environment[] = {path, variable, "XDG_CONFIG_HOME", "XDG_DATA_HOME", NULL};
    struct cli_options options = {.environment = environment};
    return cli_run_with(&options, argv);
}

static bool is_here(const struct shell *shell)
{
    const char *const argv[] = {shell->name, "-c", "true", NULL};
    struct cli_result result = cli_run(argv);
    bool here = result.status == 0;
    cli_result_free(&result);
    if (!here)
        printf("there is no %s here\n", shell->name);
    return here;
}

/* What the shell offers, one a line, with a line end before the first: owned. */
static char *offers(const struct shell *shell, const char *words)
{
    const char *const argv[] = {
        shell->name, "-c", shell->script, shell == &shells[2] ? words : "sh", words, NULL};
    struct cli_result result = with_path(argv);
    cli_expect_status(&result, 0);
    if (*result.err && shell != &shells[2])
        fail_msg("%s: '%s': %s", shell->name, words, result.err);
    char *text;
    assert_true(asprintf(&text, "\n%s", result.out) > 0);
    cli_result_free(&result);
    return text;
}

static bool has_line(const char *text, const char *line)
{
    char needle[1100];
    snprintf(needle, sizeof(needle), "\n%s\n", line);
    return strstr(text, needle);
}

static void syntax_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *const argv[] = {shells[i].name, "-n", shells[i].file, NULL};
        if (!is_here(&shells[i]))
            continue;
        struct cli_result result = with_path(argv);
        cli_expect_status(&result, 0);
        assert_string_equal(result.err, "");
        cli_result_free(&result);
    }
}

/* Every command of --help, in the order that is there. Returns how many. */
static size_t commands(char names[][32], size_t room)
{
    const char *const argv[] = {"nvtally", "--help", NULL};
    struct cli_result help = cli_run(argv);
    size_t count = 0;
    for (char *line = help.out; line && count < room; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, "  ", 2) && islower((unsigned char)line[2]) &&
            sscanf(line, "  %31[a-z]", names[count]) == 1 && strcmp(names[count], "nvtally"))
            count++;
    }
    cli_result_free(&help);
    return count;
}

static void offers_every_command(void **state)
{
    (void)state;
    char names[32][32];
    size_t count = commands(names, 32);
    assert_true(count >= 11);
    for (size_t i = 0; i < 3; i++) {
        if (!is_here(&shells[i]))
            continue;
        char *all = offers(&shells[i], "nvtally ");
        for (size_t c = 0; c < count; c++)
            if (!has_line(all, names[c]))
                fail_msg("%s does not offer %s but:%s", shells[i].name, names[c], all);
        free(all);
        all = offers(&shells[i], "nvtally rec");
        assert_string_equal(all, "\nrecord\n");
        free(all);
    }
}

/* Whether text has this option as a word of its own: --level is not in --levels. */
static bool has_option(const char *text, const char *option)
{
    size_t length = strlen(option);
    for (; (text = strstr(text, option)); text += length)
        if (text[length] != '-' && !islower((unsigned char)text[length]))
            return true;
    return false;
}

/* Each --option of `from` is in `in`, of --help and what is offered. */
static void expect_options(const char *from, const char *in, const char *shell, const char *command)
{
    char option[64];
    for (const char *at = from; (at = strstr(at, "--")); at += strlen(option)) {
        assert_int_equal(sscanf(at, "%63[a-z-]", option), 1);
        if (strlen(option) > 2 && !has_option(in, option))
            fail_msg("%s, %s: %s is in one of help and completion and not in the other:\n%s", shell,
                     command, option, in);
    }
}

static void offers_every_option(void **state)
{
    (void)state;
    char names[32][32], words[64];
    size_t count = commands(names, 32);
    for (size_t i = 0; i < 3; i++) {
        if (!is_here(&shells[i]))
            continue;
        for (size_t c = 0; c < count; c++) {
            const char *const argv[] = {"nvtally", names[c], "--help", NULL};
            struct cli_result help = cli_run(argv);
            snprintf(words, sizeof(words), "nvtally %.31s --", names[c]);
            char *offered = offers(&shells[i], words);
            assert_true(has_line(offered, "--help"));
            expect_options(help.out, offered, shells[i].name, names[c]);
            expect_options(offered, help.out, shells[i].name, names[c]);
            free(offered);
            cli_result_free(&help);
        }
    }
}

/* Workloads, reports (the last of a list) and formats: those that the program has. */
static void offers_names(void **state)
{
    (void)state;
    static const struct {
        const char *words, *offered, *not_offered;
    } cases[] = {
        {"nvtally run sw", "switchback", "usage"},
        {"nvtally reference frag", "fragmented", "usage"},
        {"nvtally stats -f mark", "markdown", "column"},
        {"nvtally compare --format pub", "published", "column"},
        {"nvtally stats -r nvtx_kern", "nvtx_kern_sum", "nvtx_sum"},
        {"nvtally stats --report gpu_id", "gpu_idle", "overlap"},
        {"nvtally record --trace os", "osrt", "cpu"},
        {"nvtally record -t k", "kernel", "osrt"},
        {"nvtally record --preset py", "python", "osrt"},
        {"nvtally ctl st", "start", "ps"},
        {"nvtally diagnose --explain launch-b", "launch-bound", "GPU-idle"},
    };
    for (size_t i = 0; i < 3; i++) {
        if (!is_here(&shells[i]))
            continue;
        for (size_t c = 0; c < NVT_COUNT_OF(cases); c++) {
            char *offered = offers(&shells[i], cases[c].words);
            if (!has_line(offered, cases[c].offered) || has_line(offered, cases[c].not_offered))
                fail_msg("%s: '%s' offers%s", shells[i].name, cases[c].words, offered);
            free(offered);
        }
        char *list = offers(&shells[i], "nvtally stats -r phases,gpu_id");
        if (!has_line(list, "gpu_idle") && !has_line(list, "phases,gpu_idle"))
            fail_msg("%s: a list offers%s", shells[i].name, list);
        free(list);
    }
}

static void completes_what_is_recorded(void **state)
{
    (void)state;
    static const char *const expected[] = {"\ntrue\n", "normal 1: tru", "\ntrue\n"};
    for (size_t i = 0; i < 3; i++) {
        if (!is_here(&shells[i]))
            continue;
        char *offered = offers(&shells[i], "nvtally record -o t.nvt -- tru");
        if (!strstr(offered, expected[i]))
            fail_msg("%s offers%s", shells[i].name, offered);
        free(offered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syntax_is_right),
        cmocka_unit_test(offers_every_command),
        cmocka_unit_test(offers_every_option),
        cmocka_unit_test(offers_names),
        cmocka_unit_test(completes_what_is_recorded),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
