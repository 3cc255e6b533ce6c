/* `nvtally sql` as a person uses it: the prompt with Ctrl-C and commands with a dot, notes behind each statement; columns without a value. */
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "terminal_kit.h"

#define TRACE "docs/results/h100/traces/train.nvt"

/* A person's terminal. */
static struct {
    pid_t program;
    int terminal;
    struct nvt_buffer said; /* since the last text that was waited for */
} person;

static void begin(void)
{
    struct termios quiet;
    person.said.size = 0;
    person.program = forkpty(&person.terminal, NULL, NULL, NULL);
    if (person.program < 0) {
        print_message("no pseudo-terminals here (/dev/pts): not run\n");
        skip();
    }
    if (!person.program) {
        signal(SIGINT, SIG_DFL);
        tcgetattr(STDIN_FILENO, &quiet);
        quiet.c_lflag &= (tcflag_t)~ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
        execl(cli_built("nvtally"), "nvtally", "sql", "-f", "csv", TRACE, NULL);
        _exit(127);
    }
}

static void type(const char *text)
{
    assert_int_equal(write(person.terminal, text, strlen(text)), (ssize_t)strlen(text));
}

/* Wait until a text has come, and forget what came up to its end. */
static void expect(const char *text)
{
    char piece[4096];
    for (;;) {
        const char *at = memmem(person.said.data, person.said.size, text, strlen(text));
        if (at) {
            const size_t end = (size_t)(at - (const char *)person.said.data) + strlen(text);
            memmove(person.said.data, person.said.data + end, person.said.size - end);
            person.said.size -= end;
            return;
        }
        struct pollfd ready = {person.terminal, POLLIN, 0};
        const ssize_t got = poll(&ready, 1, 60000) > 0 ? read(person.terminal, piece, 4096) : -1;
        if (got <= 0)
            fail_msg("no '%s' in '%.*s'", text, (int)person.said.size,
                     (const char *)person.said.data);
        assert_int_equal(nvt_buffer_append(&person.said, piece, (size_t)got), 0);
    }
}

/* It ends by itself, with status 0. */
static void expect_end(void)
{
    int status = 0;
    char piece[4096];
    while (read(person.terminal, piece, sizeof(piece)) > 0)
        continue;
    close(person.terminal);
    assert_int_equal(waitpid(person.program, &status, 0), person.program);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    nvt_buffer_free(&person.said);
}

/* CPU time of the program, in ticks. */
static unsigned long ticks(void)
{
    char path[64], text[1024] = "";
    unsigned long user = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)person.program);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    const char *behind = strrchr(text, ')');
    assert_non_null(behind);
    assert_int_equal(sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &user),
                     1);
    return user;
}

static void ctrl_c_ends_a_statement(void **state)
{
    (void)state;
    begin();
    expect("nvtally> ");
    const unsigned long before = ticks();
    type("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM "
         "c;\n");
    /* Until it is at work. */
    for (int i = 0; ticks() < before + 5; i++) {
        assert_true(i < 6000);
        usleep(10000);
    }
    type("\3");
    expect("nvtally: sql: interrupted");
    expect("nvtally> ");
    type("SELECT 6 * 7 AS answer;\n");
    expect("answer\r\n42");
    expect("nvtally> ");
    type("\4");
    expect_end();
}

static void ctrl_c_forgets_what_was_typed(void **state)
{
    (void)state;
    begin();
    expect("nvtally> ");
    type("\3");
    expect("nvtally> ");
    type("SELECT nonesuch,\n");
    expect("...> ");
    type("\3");
    expect("nvtally> ");
    type("SELECT 6 * 7 AS answer;\n");
    expect("answer\r\n42");
    expect("nvtally> ");
    type("\3");
    expect("nvtally> ");
    type(".quit\n");
    expect_end();
}

static void commands(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {".help\n", ".schema [TABLE]"},
        {"help\n", ".tables [PATTERN]"},
        {".tables\n", "ops,model,3243,"},
        {".tables report_nvtx%\n", "report_nvtx_sum,report,"},
        {".tables o'ps\n", "name,kind,rows,about"},
        {".schema ops;\n", "duration,INTEGER,ns,"},
        {".schema\n", "iterations,duration,"},
        {".import x y\n", "sql: no command '.import': .help lists them"},
        {".tablesx\n", "no command '.tablesx'"},
        {"SELECT nope FROM ops;\n", "no such column: nope"},
        {"SELECT count(*) AS n\n.5;\n", "near \".5\": syntax error"},
        {"SELECT count(*) AS n FROM os_calls;\n", "note: no OS calls in the trace"},
    };
    begin();
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        expect("nvtally> ");
        type(cases[i][0]);
        expect(cases[i][1]);
    }
    expect("nvtally> ");
    type("exit\n");
    expect_end();
}

/* What somebody asked for by name is shown, or said. */
static void columns_without_a_value(void **state)
{
    (void)state;
    static const char query[] = "SELECT id, NULL AS missing, name, NULL AS unknown_ns FROM ops "
                                "ORDER BY id LIMIT 3";
    const char *const argv[] = {"nvtally", "sql", TRACE, query, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "id  missing  name"));
    assert_non_null(strstr(result.out, "unknown_ns"));
    cli_result_free(&result);
    int status;
    char *narrow = kit_on_terminal(
        40, 30, NULL,
        (const char *const[]){"nvtally", "sql", TRACE,
                              "SELECT id, NULL AS first_missing, NULL AS second_missing, NULL AS "
                              "third_missing FROM ops LIMIT 3",
                              NULL},
        &status);
    assert_int_equal(status, 0);
    (void)kit_uncolour(narrow);
    assert_non_null(strstr(narrow, "In every row: third_missing NULL"));
    assert_non_null(strstr(narrow, "first_missing  second_missing"));
    (void)kit_expect_fits(narrow, 40);
    free(narrow);
    narrow = kit_on_terminal(
        40, 30, NULL, (const char *const[]){"nvtally", "sql", TRACE, "SELECT * FROM ops", NULL},
        &status);
    assert_int_equal(status, 0);
    assert_non_null(strstr(narrow, "Not shown: "));
    assert_non_null(strstr(narrow, "(-f"));
    assert_null(strstr(narrow, "--wide"));
    free(narrow);
}

int main(void)
{
#ifndef HAVE_SQLITE
    puts("not run: this build has no SQLite");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctrl_c_ends_a_statement),
        cmocka_unit_test(ctrl_c_forgets_what_was_typed),
        cmocka_unit_test(commands),
        cmocka_unit_test(columns_without_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
