/*
 * The command `sql`.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "command.h"
#include "input/ranks.h"
#include "input/rows.h"
#include "sql/sql.h"
#include "sql_prompt.h"

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

static int set_timeout(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    int64_t ns = 0;
    if (strcmp(value, "0") != 0 && nvt_axis_duration(value, &ns))
        return nvt_fail(err, "--timeout %s: must be a time such as 500ms, 10s or 2min, 0 for none",
                        value);
    *(double *)option->to = (double)ns * 1e-9;
    return 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {NVT_FORMAT_OPTION(&request->format, NVT_FORMATS_OF_STATS)},
        {"max-rows", .set = nvt_set_rows, .to = &request->limits.rows},
        {"timeout", .set = set_timeout, .to = &request->limits.seconds},
        {"plain-names", .flag = &request->plain_names},
        {NVT_TIME_OPTION(&request->window)},
        {NVT_RANGE_OPTION(&request->window)},
        {NVT_ITERATION_OPTION(&request->iteration)},
        {NVT_COLOR_OPTION(&request->color)},
        {0}};
    return nvt_command_options(argc, argv, options, usage_text, err);
}

/* Whether an argument is a statement, and no name of a file: it has a blank in it, and there is no such file. */
static int is_query(const char *text)
{
    return strpbrk(text, " \t\n") && access(text, F_OK);
}

/* --- the end of a statement that does not look at the clock --- */

/* SQLite looks at the clock between two of its steps, and a step may take as long as a statement likes. */
#define GRACE_SECONDS 1

struct guard {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int has_ended;
    double seconds;
};

static void *wait_for_end(void *context)
{
    struct guard *guard = context;
    struct nvt_error err = NVT_ERROR_INIT;
    struct timespec until;
    double whole;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(modf(guard->seconds, &whole) * 1e9);
    until.tv_sec += GRACE_SECONDS + (time_t)whole + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&guard->lock);
    while (!guard->has_ended && !status)
        status = pthread_cond_timedwait(&guard->ended, &guard->lock, &until);
    if (!guard->has_ended) {
        (void)nvt_fail(&err, "sql: stopped after %g s (--timeout), within one step of SQLite",
                       guard->seconds);
        _exit(nvt_command_fail(&err));
    }
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

/* 0, or -1: there is no such guard. */
static int begin_guard(struct guard *guard, double seconds)
{
    pthread_condattr_t attributes;
    *guard = (struct guard){.seconds = seconds};
    if (seconds <= 0 || pthread_condattr_init(&attributes))
        return -1;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&guard->lock, NULL);
    pthread_cond_init(&guard->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    return pthread_create(&guard->thread, NULL, wait_for_end, guard) ? -1 : 0;
}

static void end_guard(struct guard *guard)
{
    pthread_mutex_lock(&guard->lock);
    guard->has_ended = 1;
    pthread_cond_signal(&guard->ended);
    pthread_mutex_unlock(&guard->lock);
    pthread_join(guard->thread, NULL);
    pthread_cond_destroy(&guard->ended);
    pthread_mutex_destroy(&guard->lock);
}

/* nvt_sql_answer, which ends in any case. */
static int answer_in_time(struct nvt_sql *sql, const char *text,
                          const struct nvt_sql_limits *limits, struct nvt_tables *tables,
                          struct nvt_error *err)
{
    struct guard guard;
    const int is_guarded = !begin_guard(&guard, limits->seconds);
    const int status = nvt_sql_answer(sql, text, limits, tables, err);
    if (is_guarded)
        end_guard(&guard);
    return status;
}

/* --- statements --- */

static int is_one_document(const struct nvt_format *format)
{
    return !strcmp(format->name, "facts") || !strcmp(format->name, "json");
}

/* Run statements and print what they give. 0, NVT_SQL_NEEDS_ROWS, or -1 with err. */
static int answer(struct nvt_sql *sql, const char *text, const struct request *request,
                  struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {
        .terminal = screen.width, .is_coloured = screen.is_coloured, .wider = "-f column"};
    int status = answer_in_time(sql, text, &request->limits, &tables, err);
    /* Facts without a table say why, by the last note. */
    if (!status && nvt_sql_cannot(sql) && !strcmp(request->format->name, "facts"))
        nvt_tables_free(&tables);
    if (!status)
        status = nvt_command_render(&tables, request->format, request->input, stdout, err);
    else if (status < 0 && tables.count && !is_one_document(request->format)) {
        /* Of several statements those before the wrong one have their results. */
        struct nvt_error other = NVT_ERROR_INIT;
        (void)nvt_command_render(&tables, request->format, request->input, stdout, &other);
        (void)fflush(stdout);
    }
    nvt_tables_free(&tables);
    return status;
}

/* All of standard input at once. */
static int answer_all(struct nvt_sql *sql, const struct request *request, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    char piece[4096];
    size_t got, size = 0;
    int status = 0;
    for (; (got = fread(piece, 1, sizeof(piece), stdin)) > 0; size += got)
        if (size <= NVT_SQL_TEXT_MOST)
            (void)nvt_buffer_append(&text, piece, got);
    (void)nvt_buffer_append(&text, "", 1);
    if (size > NVT_SQL_TEXT_MOST)
        status = nvt_sql_refuse_text(size, err);
    else
        status = text.failed ? nvt_fail(err, "out of memory")
                             : answer(sql, (const char *)text.data, request, err);
    nvt_buffer_free(&text);
    return status;
}

/* --- on a terminal --- */

struct asking {
    struct nvt_sql *sql;
    struct nvt_input *input;
    const struct request *request;
    size_t noted; /* bytes of the input's notes that were shown */
};

static void show_notes(struct asking *asking)
{
    const struct nvt_buffer *notes = &asking->input->notes;
    if (notes->size > asking->noted)
        nvt_command_lines(notes->data + asking->noted, notes->size - asking->noted);
    asking->noted = notes->size;
}

static int answer_person(void *context, const char *text, struct nvt_error *err)
{
    struct asking *asking = context;
    const int status = answer(asking->sql, text, asking->request, err);
    (void)fflush(stdout);
    show_notes(asking);
    return status;
}

static int prompt(struct nvt_sql *sql, struct nvt_input *input, const struct request *request,
                  struct nvt_error *err)
{
    struct request stoppable = *request;
    struct asking asking = {sql, input, &stoppable, 0};
    const struct nvt_sql_prompt person = {answer_person, &asking};
    stoppable.limits.stop = nvt_sql_prompt_stop();
    show_notes(&asking);
    const int status = nvt_sql_prompt_run(&person, err);
    input->notes.size = 0;
    return status;
}

static int run(struct nvt_input *input, const char *query, const struct request *request,
               struct nvt_error *err)
{
    nvt_sql_limit_memory(NVT_SQL_MEMORY_MOST);
    struct nvt_sql *sql = nvt_sql_open(input, err);
    if (!sql)
        return -1;
    int status = query                  ? answer(sql, query, request, err)
                 : isatty(STDIN_FILENO) ? prompt(sql, input, request, err)
                                        : answer_all(sql, request, err);
    nvt_sql_free(sql);
    return status;
}

/* Read what was given and answer. 0, NVT_SQL_NEEDS_ROWS, or -1 with err. */
static int read_and_run(const struct request *request, struct nvt_input *input, char *const *files,
                        const char *query, int only_launches, struct nvt_error *err)
{
    int status = 0;
    *input = (struct nvt_input){.plain_names = request->plain_names,
                                .window = &request->window,
                                .iteration = request->iteration,
                                .only_launches = only_launches};
    for (; *files && *files != query && !status; files++)
        status = nvt_input_add(input, *files, err);
    if (!status)
        status = nvt_input_rows(input, err) || nvt_input_traces(input, err) ||
                         nvt_input_note_twice(input, err)
                     ? -1
                     : 0;
    if (!status)
        status = run(input, query, request, err);
    if (!status)
        nvt_command_notes(input);
    nvt_input_free(input);
    return status;
}

/* Whether launches are enough; then files may have to be read twice. */
static int takes_launches(const struct request *request, char *const *files, const char *query)
{
    struct stat file;
    if (!query || request->plain_names || request->iteration ||
        nvt_window_is_set(&request->window) || !nvt_sql_takes_launches(query))
        return 0;
    for (; *files != query; files++)
        if (stat(*files, &file) || !S_ISREG(file.st_mode))
            return 0;
    return 1;
}

int nvt_cmd_sql(int argc, char **argv)
{
    struct request request = {.format = nvt_format_find("table"),
                              .limits = {.seconds = SECONDS_DEFAULT,
                                         .rows = ROWS_DEFAULT,
                                         .more = "--max-rows 0 shows all"}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status > 0 ? 0 : nvt_command_fail(&err);
    const char *query = optind < argc && is_query(argv[argc - 1]) ? argv[argc - 1] : NULL;
    char *const *files = argv + optind;
    request.input = &input;
    if (optind == (query ? argc - 1 : argc))
        status = nvt_fail(&err, "sql: no trace or directory was given; see nvtally sql --help");
    if (!status && takes_launches(&request, files, query))
        status = read_and_run(&request, &input, files, query, 1, &err);
    else if (!status)
        status = NVT_SQL_NEEDS_ROWS;
    if (status == NVT_SQL_NEEDS_ROWS)
        status = read_and_run(&request, &input, files, query, 0, &err);
    return status ? nvt_command_fail(&err) : 0;
}
