/*
 * What goes wrong in any of the doors to the data is said in one line: `sql` with a query, its prompt, Python, an agent's protocol,
 * the library of C; and by `check` and `export`, as far as they can meet it.
 */
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

#include "../include/nvtally-trace.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"

#define TRACE     "docs/results/h100/traces/train.nvt"
#define LONG_SIZE 1000000

/* What is wrong: a file, a query, and what the line says of it. */
struct fault {
    const char *name, *file;
    const char *query;
    const char *why;
    int is_read; /* the query is answered, the line is a warning */
};

static char long_query[LONG_SIZE + 1];

/* What a door says: lines on stderr, or errors by other names, each with its "\n". Owned. */
typedef char *(*door)(const struct fault *fault);

static char *lines_of(struct cli_result *result)
{
    char *lines = strdup(result->err);
    assert_non_null(lines);
    cli_result_free(result);
    return lines;
}

/* By standard input, as no argument has a million bytes. */
static char *of_command(const struct fault *fault)
{
    const char *const argv[] = {"nvtally", "sql", "-f", "csv", fault->file, NULL};
    const struct cli_options options = {.input = fault->query};
    struct cli_result result = cli_run_with(&options, argv);
    assert_int_equal(result.status, fault->is_read ? 0 : 2);
    if (!fault->is_read)
        assert_string_equal(result.out, "");
    return lines_of(&result);
}

static char *of_check(const struct fault *fault)
{
    struct nvt_buffer claim = {0};
    const char *path = cli_in(cli_folder, "claim.json");
    assert_int_equal(
        nvt_buffer_printf(&claim, "{\"query\": \"%s\", \"at_least\": 1}", fault->query), 0);
    cli_write_file(path, claim.data, claim.size);
    nvt_buffer_free(&claim);
    const char *const argv[] = {"nvtally", "check", path, fault->file, "-f", "csv", NULL};
    struct cli_result result = cli_run(argv);
    /* Of a claim that cannot be checked the answer is in the table. */
    if (result.status == 1 && strstr(result.out, ",unknown,")) {
        char *lines = strdup(strstr(result.out, ",unknown,"));
        cli_result_free(&result);
        return lines;
    }
    assert_int_equal(result.status, fault->is_read ? 0 : 2);
    return lines_of(&result);
}

static char *of_export(const struct fault *fault)
{
    if (fault->query != long_query && !strcmp(fault->file, TRACE))
        return NULL;
    if (fault->query == long_query)
        return NULL;
    const char *const argv[] = {
        "nvtally", "export", fault->file, "--to", "csv", "-o", cli_in(cli_folder, "out.csv"), NULL};
    struct cli_result result = cli_run(argv);
    assert_int_equal(result.status, fault->is_read ? 0 : 2);
    return lines_of(&result);
}

/* Write a text and read what comes meanwhile and behind, until the other side ends. Owned. */
static char *converse(int terminal, const char *text)
{
    struct nvt_buffer out = {0};
    const char end[] = "\n\4";
    size_t left = strlen(text), tail = sizeof(end) - 1;
    char piece[4096];
    for (;;) {
        struct pollfd ready = {terminal, (short)(POLLIN | (left || tail ? POLLOUT : 0)), 0};
        assert_true(poll(&ready, 1, 60000) > 0);
        if (ready.revents & POLLIN) {
            const ssize_t got = read(terminal, piece, sizeof(piece));
            if (got <= 0)
                break;
            assert_int_equal(nvt_buffer_append(&out, piece, (size_t)got), 0);
            continue;
        }
        if (ready.revents & POLLOUT) {
            const char *from = left ? text : end + sizeof(end) - 1 - tail;
            const size_t most = left ? left : tail;
            const ssize_t put = write(terminal, from, most < 1000 ? most : 1000);
            assert_true(put > 0);
            if (left) {
                left -= (size_t)put;
                text += put;
            } else
                tail -= (size_t)put;
            continue;
        }
        if (ready.revents & (POLLHUP | POLLERR))
            break;
    }
    assert_int_equal(nvt_buffer_append(&out, "", 1), 0);
    return (char *)out.data;
}

/* A person's: the lines of "nvtally: " among what is on the terminal. */
static char *of_prompt(const struct fault *fault)
{
    struct termios quiet;
    int terminal, ended = 0;
    const pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child < 0) {
        print_message("no pseudo-terminals here (/dev/pts): not run\n");
        skip();
    }
    if (!child) {
        /* The query is not echoed. */
        tcgetattr(STDIN_FILENO, &quiet);
        quiet.c_lflag &= (tcflag_t)~ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
        execl(cli_built("nvtally"), "nvtally", "sql", "-f", "csv", fault->file, NULL);
        _exit(127);
    }
    char *query = NULL, *said;
    assert_true(asprintf(&query, "%s;", fault->query) > 0);
    said = converse(terminal, query);
    close(terminal);
    waitpid(child, &ended, 0);
    /* A statement that fails does not end a prompt, an input does. */
    assert_true(WIFEXITED(ended) &&
                WEXITSTATUS(ended) == (strcmp(fault->file, TRACE) && !fault->is_read ? 2 : 0));
    char *lines = calloc(strlen(said) + 2, 1);
    for (char *line = said; (line = strstr(line, "nvtally: ")); line++)
        strncat(strncat(lines, line, strcspn(line, "\r\n")), "\n", 2);
    free(query);
    free(said);
    return lines;
}

static char *of_python(const struct fault *fault)
{
    char build[4096], library[4200];
    const char *path = cli_in(cli_folder, "query.sql");
    cli_write_file(path, fault->query, strlen(fault->query));
    assert_non_null(realpath(cli_built(""), build));
    snprintf(library, sizeof(library), "NVTALLY_LIBDIR=%s", build);
    const char *const environment[] = {"PYTHONPATH=python", library, NULL};
    const struct cli_options options = {.environment = environment};
    static const char script[] =
        "import sys, nvtally\n"
        "try:\n"
        "    trace = nvtally.open(sys.argv[1])\n"
        "    print(*trace.notes, sep='\\n', end='\\n' if trace.notes else '', file=sys.stderr)\n"
        "    trace.sql(open(sys.argv[2]).read())\n"
        "except nvtally.Error as error:\n"
        "    print(error, file=sys.stderr)\n"
        "    sys.exit(2)\n";
    const char *const argv[] = {"python3", "-B", "-c", script, fault->file, path, NULL};
    struct cli_result result = cli_run_with(&options, argv);
    assert_int_equal(result.status, fault->is_read ? 0 : 2);
    return lines_of(&result);
}

/* The value of a member of the answer that is a text, unquoted no further: it stands in a text itself. Owned, ended by "\n". */
static void append_member(char *lines, const char *answer, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "\\\"%s\\\": ", name);
    const char *at = strstr(answer, wanted);
    assert_non_null(at);
    at += strlen(wanted);
    if (!strncmp(at, "null", 4) || !strncmp(at, "[]", 2))
        return;
    const int is_list = *at == '[';
    const char *end = strstr(at += is_list ? 3 : 2, is_list ? "\\\"]" : "\\\"");
    while (end && !is_list && end[-1] == '\\')
        end = strstr(end + 1, "\\\"");
    assert_non_null(end);
    strncat(strncat(lines, at, (size_t)(end - at)), "\n", 2);
}

/* An agent's: the reason why it is not answered, and the notes. */
static char *of_agent(const struct fault *fault)
{
    struct nvt_buffer lines = {0};
    assert_int_equal(nvt_buffer_printf(
                         &lines,
                         "{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"open\", "
                         "\"arguments\": {\"path\": \"%s\"}}}\n"
                         "{\"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": \"sql\", "
                         "\"arguments\": {\"query\": \"%s\"}}}\n",
                         fault->file, fault->query),
                     0);
    assert_int_equal(nvt_buffer_append(&lines, "", 1), 0);
    const char *const argv[] = {"nvtally", "mcp", NULL};
    const struct cli_options options = {.input = (const char *)lines.data};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    nvt_buffer_free(&lines);
    char *second = strchr(result.out, '\n');
    assert_non_null(second);
    *second++ = 0;
    char *said = calloc(result.out_size + 10, 1);
    append_member(said, result.out, "cannot_answer");
    append_member(said, result.out, "notes");
    if (!*said) /* it was opened: then it is the query */
        append_member(said, second, "cannot_answer");
    cli_result_free(&result);
    return said;
}

static char *of_library(const struct fault *fault)
{
    nvtally_trace *trace = NULL;
    nvtally_result *result = NULL;
    char *said = NULL;
    int status = nvtally_trace_open(&fault->file, 1, 0, &trace);
    const char *notes = status ? "" : nvtally_trace_notes(trace);
    char *before = strdup(notes);
    if (!status)
        status = nvtally_trace_sql(trace, fault->query, 10, 0, &result);
    assert_int_equal(status, fault->is_read ? 0 : -1);
    assert_true(asprintf(&said, "%s%s%s", before, nvtally_trace_error(), status ? "\n" : "") >= 0);
    free(before);
    nvtally_result_free(result);
    nvtally_trace_close(trace);
    return said;
}

static const struct {
    const char *name;
    door door;
} doors[] = {{"sql", of_command},  {"the prompt", of_prompt},   {"Python", of_python},
             {"mcp", of_agent},    {"the library", of_library}, {"check", of_check},
             {"export", of_export}};

static void cut_to(const char *from, const char *to, size_t size)
{
    size_t all;
    char *bytes = cli_read_file(from, &all);
    assert_non_null(bytes);
    assert_true(size < all);
    cli_write_file(to, bytes, size);
    free(bytes);
}

static void one_line_in_each(void **state)
{
    (void)state;
#ifndef HAVE_SQLITE
    print_message("not run: this build has no SQLite\n");
    skip();
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("not run: Python has no sanitizer's runtime\n");
    skip();
#endif
    static const char count[] = "SELECT count(*) AS n FROM kernels";
    const char *cut = cli_in(cli_folder, "cut.nvt"), *broken = cli_in(cli_folder, "cut.sqlite");
    const struct fault faults[] = {
        {"a truncated trace", cut, count, "cut.nvt", 1},
        {"a truncated export", broken, count, "cut.sqlite", 0},
        {"a missing file", "missing.nvt", count, "missing.nvt: cannot be opened", 0},
        {"a wrong column", TRACE, "SELECT nope FROM kernels", "no such column: nope", 0},
        {"a query of 1 MB", TRACE, long_query, "a query of 100000", 0},
        {"a hostile query", TRACE, "ATTACH 'x' AS y", "only SELECT is allowed", 0},
    };
    int cells = 0;
    cut_to(TRACE, cut, 40000);
    cut_to("tests/fuzz/corpus/nsys/both.sqlite", broken, 6000);
    /* In lines that a terminal takes. */
    memset(long_query, ' ', LONG_SIZE);
    memcpy(long_query, "SELECT 1", 8);
    for (size_t i = 0; i < NVT_COUNT_OF(faults); i++) {
        const int is_long = faults[i].query == long_query;
        for (size_t k = 0; k < NVT_COUNT_OF(doors); k++) {
            /* JSON has no line ends in a text, and the prompt needs them. */
            for (size_t at = 1000; is_long && at < LONG_SIZE; at += 1000)
                long_query[at] = doors[k].door == of_prompt ? '\n' : ' ';
            char *said = doors[k].door(&faults[i]);
            if (!said)
                continue;
            const char *end = strchr(said, '\n');
            if (!strstr(said, faults[i].why) || !end || end[1] || end - said > 400)
                fail_msg("%s: %s says \"%s\" and not, in one line, \"%s\"", faults[i].name,
                         doors[k].name, said, faults[i].why);
            print_message("%-20s %-12s %s", faults[i].name, doors[k].name, said);
            free(said);
            cells++;
        }
    }
    assert_int_equal(cells, 6 * 7 - 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_line_in_each)};
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
