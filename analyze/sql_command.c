/*
 * The command `sql`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "command.h"
#include "input/rows.h"
#include "sql/sql.h"

#define ROWS_DEFAULT    1000000
#define SECONDS_DEFAULT 60

static const char usage_text[] =
    "usage: nvtally sql [OPTIONS] FILE|DIRECTORY… [QUERY]\n\n"
    "Answers SQL over traces and run directories. Without QUERY, it reads statements\n"
    "from standard input; on a terminal, it prompts for them.\n\n"
    "  nvtally sql t.nvt \"SELECT * FROM nvtally_tables\"       what there is\n"
    "  nvtally sql t.nvt \"SELECT * FROM nvtally_columns\"      columns and units\n"
    "  nvtally sql t.nvt \"SELECT short_name, sum(duration) AS total_ns\n"
    "                     FROM kernels GROUP BY 1 ORDER BY 2 DESC\"\n\n"
    "  -f, --format FORMAT  table (default), column, grid, markdown, latex, csv, tsv\n"
    "                       json or facts\n"
    "      --max-rows N     at most N rows of each result; 0: all (default: 1000000)\n"
    "      --timeout T      stop after this time, such as 500ms or 10s; 0: never\n"
    "                       (default: 60s)\n"
    "      --plain-names    remove the numbers that PyTorch gives to each call and\n"
    "                       step\n" NVT_WINDOW_HELP NVT_ITERATION_HELP NVT_COLOR_HELP
    "      --help           this text\n";

struct request {
    const struct nvt_format *format;
    struct nvt_sql_limits limits;
    enum nvt_color color;
    int plain_names;
    struct nvt_window window;
    const char *iteration;
    const struct nvt_input *input;
};

static int set_rows(struct request *request, const char *text, struct nvt_error *err)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > 1000000000)
        return nvt_fail(err, "--max-rows %s: must be a number of rows, 0 for all", text);
    request->limits.rows = value;
    return 0;
}

static int set_timeout(struct request *request, const char *text, struct nvt_error *err)
{
    int64_t ns = 0;
    if (strcmp(text, "0") != 0 && nvt_axis_duration(text, &ns))
        return nvt_fail(err, "--timeout %s: must be a time such as 500ms, 10s or 2min, 0 for none",
                        text);
    request->limits.seconds = (double)ns * 1e-9;
    return 0;
}

/* 1: --help was given. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"max-rows", required_argument, NULL, 'm'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"plain-names", no_argument, NULL, 'p'},
                                            NVT_WINDOW_OPTIONS,
                                            NVT_ITERATION_OPTION,
                                            NVT_COLOR_OPTION,
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int status = 0;
    optind = 0;
    for (int option;
         !status && (option = nvt_command_option(argc, argv, ":f:h", options, err)) != -1;)
        switch (option) {
        case 'f':
            request->format = nvt_command_format(optarg, NVT_FORMATS_OF_STATS, err);
            status = request->format ? 0 : -1;
            break;
        case 'm':
            status = set_rows(request, optarg, err);
            break;
        case 't':
            status = set_timeout(request, optarg, err);
            break;
        case 'p':
            request->plain_names = 1;
            break;
        case 'h':
            status = 1;
            break;
        case NVT_ITERATION:
            request->iteration = optarg;
            break;
        case NVT_COLOR:
            status = nvt_color_parse(optarg, &request->color, err);
            break;
        default:
            status = nvt_command_window(&request->window, option, err) > 0 ? 0 : -1;
        }
    return status;
}

/* Whether an argument is a statement, and no name of a file: it has a blank in it, and there is no such file. */
static int is_query(const char *text)
{
    return strpbrk(text, " \t\n") && access(text, F_OK);
}

/* Run statements and print what they give. 0, or -1 with err. */
static int answer(struct nvt_sql *sql, const char *text, const struct request *request,
                  struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {.terminal = screen.width, .is_coloured = screen.is_coloured};
    int status = nvt_sql_answer(sql, text, &request->limits, &tables, err);
    if (!status)
        status = nvt_command_render(&tables, request->format, request->input, stdout, err);
    nvt_tables_free(&tables);
    return status;
}

/* All of standard input at once. */
static int answer_all(struct nvt_sql *sql, const struct request *request, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    char piece[4096];
    size_t got;
    int status = 0;
    while (text.size <= NVT_SQL_TEXT_MOST && (got = fread(piece, 1, sizeof(piece), stdin)) > 0)
        (void)nvt_buffer_append(&text, piece, got);
    (void)nvt_buffer_append(&text, "", 1);
    status = text.failed ? nvt_fail(err, "out of memory")
                         : answer(sql, (const char *)text.data, request, err);
    nvt_buffer_free(&text);
    return status;
}

/* On a terminal: a statement after the other, whatever becomes of each. */
static int prompt(struct nvt_sql *sql, const struct request *request, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    fputs("Statements end with \";\". SELECT * FROM nvtally_tables; lists tables. Ctrl-D ends.\n",
          stderr);
    for (fputs("nvtally> ", stderr); (length = getline(&line, &room, stdin)) > 0;
         fputs(text.size ? "    ...> " : "nvtally> ", stderr)) {
        if (nvt_buffer_append(&text, line, (size_t)length) || nvt_buffer_reserve(&text, 1))
            break;
        text.data[text.size] = 0;
        if (!nvt_sql_is_complete((const char *)text.data))
            continue;
        if (answer(sql, (const char *)text.data, request, err))
            (void)nvt_command_fail(err);
        *err = (struct nvt_error)NVT_ERROR_INIT;
        (void)fflush(stdout);
        text.size = 0;
    }
    fputc('\n', stderr);
    free(line);
    const int failed = text.failed;
    nvt_buffer_free(&text);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

static int run(struct nvt_input *input, const char *query, const struct request *request,
               struct nvt_error *err)
{
    nvt_sql_limit_memory(NVT_SQL_MEMORY_MOST);
    struct nvt_sql *sql = nvt_sql_open(input, err);
    if (!sql)
        return -1;
    int status = query                  ? answer(sql, query, request, err)
                 : isatty(STDIN_FILENO) ? prompt(sql, request, err)
                                        : answer_all(sql, request, err);
    nvt_sql_free(sql);
    return status;
}

int nvt_cmd_sql(int argc, char **argv)
{
    struct request request = {.format = nvt_format_find("table"),
                              .limits = {SECONDS_DEFAULT, ROWS_DEFAULT}};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status) {
        if (status > 0)
            fputs(usage_text, stdout);
        return status > 0 ? 0 : nvt_command_fail(&err);
    }
    struct nvt_input input = {.plain_names = request.plain_names,
                              .window = &request.window,
                              .iteration = request.iteration};
    request.input = &input;
    const char *query = optind < argc && is_query(argv[argc - 1]) ? argv[argc - 1] : NULL;
    const int files = query ? argc - 1 : argc;
    if (optind == files)
        status = nvt_fail(&err, "sql: no trace or directory was given; see nvtally sql --help");
    for (int i = optind; i < files && !status; i++)
        status = nvt_input_add(&input, argv[i], &err);
    if (!status)
        status = nvt_input_rows(&input, &err) || nvt_input_traces(&input, &err) ? -1 : 0;
    if (!status)
        status = run(&input, query, &request, &err);
    if (!status)
        nvt_command_notes(&input);
    nvt_input_free(&input);
    return status ? nvt_command_fail(&err) : 0;
}
