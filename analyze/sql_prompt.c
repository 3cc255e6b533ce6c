#include "sql_prompt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "command.h"
#include "sql/sql.h"

static volatile sig_atomic_t is_interrupted;

const volatile sig_atomic_t *nvt_sql_prompt_stop(void)
{
    return &is_interrupted;
}

static void on_interrupt(int number)
{
    if (is_interrupted) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    is_interrupted = 1;
}

/* A statement as it is typed. */
struct typed {
    struct nvt_buffer text;
    size_t size; /* with what is no longer kept, as it is too long */
};

/* Append a line. 1: the statement is whole, 0, or -1 when out of memory. */
static int take_line(struct typed *typed, const char *line, size_t length)
{
    struct nvt_buffer *text = &typed->text;
    typed->size += length;
    if (typed->size > NVT_SQL_TEXT_MOST) {
        while (length && strchr(" \t\r\n", line[length - 1]))
            length--;
        return length && line[length - 1] == ';';
    }
    if (nvt_buffer_append(text, line, length) || nvt_buffer_reserve(text, 1))
        return -1;
    text->data[text->size] = 0;
    return nvt_sql_is_complete((const char *)text->data);
}

static void forget(struct typed *typed)
{
    typed->text.size = typed->size = 0;
}

/* --- commands --- */

static const char help_text[] =
    ".help              this list\n"
    ".tables [PATTERN]  tables; reports are tables, too: .tables report%\n"
    ".schema [TABLE]    columns, with units and what they refer to\n"
    ".quit, .exit       end; so does Ctrl-D\n"
    "Anything else is SQL and ends with \";\". Ctrl-C ends a statement.\n";

/* Statements of commands: without an argument, and with one, between the two parts. */
static const struct {
    const char *name, *plain, *before, *behind;
} commands[] = {
    {".tables", "SELECT name, kind, rows, about FROM nvtally_tables WHERE kind <> 'report'",
     "SELECT name, kind, rows, about FROM nvtally_tables WHERE name LIKE '", "'"},
    {".schema",
     "SELECT table_name, name, type, unit, refers_to, about FROM nvtally_columns "
     "WHERE substr(table_name, 1, 7) <> 'report_'",
     "SELECT name, type, unit, refers_to, about FROM nvtally_columns WHERE table_name LIKE '", "'"},
};

/* Between words of a command, and behind them. */
static const char blanks[] = " \t\r\n;";

static int is_word(const char *line, size_t length, const char *word)
{
    return strlen(word) == length && !strncmp(line, word, length);
}

/* The statement that a command stands for; empty: there is no such command. 0, or -1 when out of memory. */
static int put_statement(const char *line, size_t length, struct nvt_buffer *text)
{
    const char *argument = line + length + strspn(line + length, blanks);
    size_t rest = strlen(argument);
    while (rest && strchr(blanks, argument[rest - 1]))
        rest--;
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++) {
        if (!is_word(line, length, commands[i].name))
            continue;
        (void)nvt_buffer_printf(text, "%s", rest ? commands[i].before : commands[i].plain);
        for (size_t k = 0; k < rest; k++)
            (void)nvt_buffer_printf(text, argument[k] == '\'' ? "''" : "%c", argument[k]);
        (void)nvt_buffer_printf(text, "%s", rest ? commands[i].behind : "");
        (void)nvt_buffer_append(text, "", 1);
    }
    return text->failed ? -1 : 0;
}

static void answer(const struct nvt_sql_prompt *prompt, const char *text)
{
    struct nvt_error err = NVT_ERROR_INIT;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    is_interrupted = 0;
    sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
    if (prompt->answer(prompt->context, text, &err))
        (void)nvt_command_fail(&err);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    is_interrupted = 0;
    (void)fflush(stdout);
}

/* Where a line is a command: do it. 1: it was; 0: it is SQL; -1: the prompt is to end. */
static int obey(const struct nvt_sql_prompt *prompt, const char *line)
{
    struct nvt_buffer text = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    const size_t length = strcspn(line, blanks);
    const int has_dot = *line == '.', is_alone = !line[length + strspn(line + length, blanks)];
    const char *word = line + has_dot;
    const size_t letters = length - (size_t)has_dot;
    if (!has_dot && !is_alone)
        return 0;
    if (is_word(word, letters, "quit") || is_word(word, letters, "exit"))
        return -1;
    if (is_word(word, letters, "help")) {
        fputs(help_text, stderr);
        return 1;
    }
    if (!has_dot)
        return 0;
    if (put_statement(line, length, &text))
        (void)nvt_fail(&err, "out of memory");
    else if (!text.size)
        (void)nvt_fail(&err, "sql: no command '%.*s': .help lists them", (int)length, line);
    if (err.message[0])
        (void)nvt_command_fail(&err);
    else
        answer(prompt, (const char *)text.data);
    nvt_buffer_free(&text);
    return 1;
}

/* --- lines --- */

/* A line was read. 0, or -1: the prompt is to end. */
static int take(const struct nvt_sql_prompt *prompt, struct typed *typed, const char *line,
                size_t length)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const int is_command = typed->size ? 0 : obey(prompt, line);
    if (is_command)
        return is_command < 0 ? -1 : 0;
    const int is_whole = take_line(typed, line, length);
    if (is_whole <= 0)
        return is_whole;
    if (typed->size > NVT_SQL_TEXT_MOST) {
        (void)nvt_sql_refuse_text(typed->size, &err);
        (void)nvt_command_fail(&err);
    } else
        answer(prompt, (const char *)typed->text.data);
    forget(typed);
    return 0;
}

/* Wait for a line, during which alone, and during statements, Ctrl-C comes through: so none is lost. 0, or -1: it came. */
static int wait_for_line(const sigset_t *waiting)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (ppoll(&input, 1, NULL, waiting) < 0 && errno == EINTR)
        if (is_interrupted)
            return -1;
    return 0;
}

static int read_lines(const struct nvt_sql_prompt *prompt, const sigset_t *waiting)
{
    struct typed typed = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    for (;;) {
        fputs(typed.size ? "    ...> " : "nvtally> ", stderr);
        if (wait_for_line(waiting)) {
            is_interrupted = 0;
            forget(&typed);
            fputc('\n', stderr);
            continue;
        }
        length = getline(&line, &room, stdin);
        if (length <= 0 || take(prompt, &typed, line, (size_t)length))
            break;
    }
    if (length <= 0)
        fputc('\n', stderr);
    free(line);
    const int failed = typed.text.failed;
    nvt_buffer_free(&typed.text);
    return failed ? -1 : 0;
}

int nvt_sql_prompt_run(const struct nvt_sql_prompt *prompt, struct nvt_error *err)
{
    const struct sigaction interrupt = {.sa_handler = on_interrupt};
    struct sigaction before;
    sigset_t blocked, waiting;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, &waiting);
    sigdelset(&waiting, SIGINT);
    sigaction(SIGINT, &interrupt, &before);
    fputs("Statements end with \";\". .tables lists tables, .help commands. Ctrl-D ends.\n",
          stderr);
    const int failed = read_lines(prompt, &waiting);
    sigaction(SIGINT, &before, NULL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
