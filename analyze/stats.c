/*
 * The command `stats`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/create_file.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/shell.h"
#include "../lib/terminal.h"
#include "../lib/wrap.h"
#include "command.h"
#include "stats_lists.h"
#include "model/counters.h"
#include "overview/overview.h"
#include "studies/rank_digest.h"
#include "studies/stacks.h"
#include "model/parallel.h"
#include "device/project.h"
#include "input/also_recorded.h"
#include "input/costs.h"
#include "reports/report.h"
#include "device/launch_cache.h"
#include "input/shared_reading.h"
#include "input/ranks.h"
#include "input/repeats.h"
#include "input/rows.h"
#include "studies/unfinished.h"

#define REPORTS_MAX 128

static const char usage_text[] =
    "usage: nvtally stats [OPTIONS] FILE|DIRECTORY…\n\n"
    "Where did the time go? Shows a trace, or a directory that 'nvtally run' wrote,\n"
    "on one screen; with -r, as tables.\n\n"
    "  -r, --report LIST    reports, separated by commas; may be repeated; 'list'\n"
    "                       lists them, 'all' selects each that applies to the\n"
    "                       input\n"
    "  -f, --format FORMAT  table (default), column, grid, markdown, latex, csv, tsv,\n"
    "                       json, facts, or published: the layout of the workload's\n"
    "                       published file; 'list' lists them\n"
    "  -o, --output FILE    write to this file instead of stdout (-, as is the\n"
    "                       default)\n"
    "      --top N          show the first N rows of each table; 0: all (default: 50\n"
    "                       on a terminal, else all)\n"
    "      --wide           show all columns, names at full length and the whole\n"
    "                       configuration in every row, however narrow the "
    "terminal\n" NVT_COLOR_HELP
    "      --across-threads count GPU work of threads without an open range for the\n"
    "                       range open on another thread of the process\n"
    "      --by-thread      count GPU work only for ranges of its launching thread,\n"
    "                       as nsys does; by default a range that waits for another\n"
    "                       thread gets its work, too (PyTorch's backward pass)\n"
    "      --plain-names    remove the numbers that PyTorch gives to each call and\n"
    "                       step\n"
    "      --group-names    group ranges whose names differ only in a number\n"
    "                       (request-*); the default from 10,001 names on\n"
    "      --every-name     never group names, nor leave out ranges that fill the one\n"
    "                       around them\n" NVT_WINDOW_HELP NVT_LAUNCHERS_HELP NVT_ITERATION_HELP
    "      --compensate     subtract the collector's overhead that the trace has\n"
    "                       recorded\n"
    "      --help           this text\n";

#define NOT_GIVEN       SIZE_MAX
#define TOP_ON_TERMINAL 50

struct request {
    const struct nvt_report *reports[REPORTS_MAX];
    unsigned naming[REPORTS_MAX]; /* of each: enum nvt_kernel_naming_flags */
    size_t count;
    const struct nvt_format *format; /* NULL: published */
    const char *output;              /* NULL: stdout */
    int list, list_formats;
    int is_default;              /* no report was asked for */
    int is_overview;             /* nor a format: what people see first, of traces */
    int is_study;                /* the same screen, of directories of runs */
    int all;                     /* those that have something to say */
    int project_flags, grouping; /* enum nvt_project_flags, enum nvt_grouping */
    int compensate, plain_names, is_wide;
    size_t top; /* rows of each table, 0: all; NOT_GIVEN */
    enum nvt_color color;
    struct nvt_window window;
    const char *iteration;       /* ranges, NULL: those that are called so */
    struct nvt_buffer arguments; /* of a command that looks at the same, as they are typed */
};

static int add_report(struct request *request, const char *name, struct nvt_error *err)
{
    if (!strcmp(name, "list")) {
        request->list = 1;
        return 0;
    }
    if (!strcmp(name, "all")) {
        request->all = 1;
        return 0;
    }
    unsigned naming;
    const struct nvt_report *report = nvt_report_named(name, &naming, err);
    if (!report)
        return -1;
    for (size_t i = 0; i < request->count; i++)
        if (request->reports[i] == report && request->naming[i] == naming)
            return 0;
    if (request->count == REPORTS_MAX)
        return nvt_fail(err, "more than %d reports", REPORTS_MAX);
    request->naming[request->count] = naming;
    request->reports[request->count++] = report;
    return 0;
}

static int add_reports(const struct nvt_option *option, const char *list, struct nvt_error *err)
{
    char *copy = strdup(list), *rest = copy;
    int status = copy ? 0 : nvt_fail(err, "out of memory");
    for (char *name; !status && (name = strsep(&rest, ","));)
        status = add_report(option->to, name, err);
    free(copy);
    return status;
}

static int set_format(const struct nvt_option *option, const char *name, struct nvt_error *err)
{
    struct request *request = option->to;
    const int is_list = !strcmp(name, "list");
    request->list_formats |= is_list;
    request->format = is_list || !strcmp(name, "published")
                          ? NULL
                          : nvt_command_format(name, NVT_FORMATS_OF_STATS, err);
    return request->format || is_list || !strcmp(name, "published") ? 0 : -1;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {"report", 'r', .set = add_reports, .to = request},
        {"format", 'f', .set = set_format, .to = request},
        {"output", 'o', .text = &request->output},
        {"across-threads", .choice = &request->project_flags, .number = NVT_ACROSS_THREADS},
        {"by-thread", .choice = &request->project_flags, .number = NVT_BY_THREAD},
        {"plain-names", .flag = &request->plain_names},
        {"compensate", .flag = &request->compensate},
        {"group-names", .choice = &request->grouping, .number = NVT_GROUP_ALL},
        {"every-name", .choice = &request->grouping, .number = NVT_GROUP_NONE},
        {"top", .set = nvt_set_rows, .to = &request->top},
        {"wide", .flag = &request->is_wide},
        {NVT_TIME_OPTION(&request->window)},
        {NVT_RANGE_OPTION(&request->window)},
        {NVT_LAUNCHERS_OPTION(&request->window)},
        {NVT_ITERATION_OPTION(&request->iteration)},
        {NVT_COLOR_OPTION(&request->color)},
        {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    if (!status && request->output && !strcmp(request->output, "-"))
        request->output = NULL;
    return status;
}

/* Whether all that was asked for can do with what was launched. */
static int takes_launches(const struct request *request)
{
    int all = request->count > 0 && request->format && !request->compensate &&
              !request->plain_names && request->grouping != NVT_GROUP_ALL && !request->iteration &&
              !nvt_window_is_set(&request->window) &&
              !(request->project_flags & NVT_ACROSS_THREADS);
    const unsigned projects = request->project_flags & NVT_ACROSS_WAITS ? NVT_PROJECTS_AS_NSYS : 0;
    for (size_t i = 0; i < request->count; i++)
        all = all && (request->reports[i]->needs & NVT_TAKES_LAUNCHES) &&
              !(request->reports[i]->needs & projects) && !request->naming[i];
    return all;
}

/* Whether all that was asked for can do with digests: then a job of many files takes no more memory than these. */
static int takes_digests(const struct request *request)
{
    int all = request->count > 0 && !request->all && request->format && !request->compensate;
    for (size_t i = 0; i < request->count; i++)
        all = all && (request->reports[i]->needs & NVT_TAKES_DIGESTS);
    return all;
}

/* Whether a trace tells of memory alone, as PyTorch's snapshots do, with what its program named around it at most. */
static int is_of_memory(const struct nvt_trace *trace)
{
    return trace->memory.count && !trace->apis.count &&
           (!trace->ranges.count || nvt_stacks_has_callers(trace));
}

/* Without -r: of traces of a device, or of its memory, all at a glance, else the report that fits. */
static const struct nvt_report *choose(const struct nvt_input *input)
{
    uint64_t operations = 0, of_memory = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        operations += input->traces[i].trace->ops.count;
        of_memory += (uint64_t)is_of_memory(input->traces[i].trace);
    }
    int is_summed_up = operations || (of_memory && of_memory == input->trace_count);
    return is_summed_up && !input->run_count && !input->compensate ? &nvt_report_summary
                                                                   : nvt_report_default(input);
}

/* Those that can be made of such an input at all. */
static void take_all(struct request *request, const struct nvt_input *input)
{
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    request->count = 0;
    memset(request->naming, 0, sizeof(request->naming));
    for (size_t i = 0; i < count && request->count < REPORTS_MAX; i++)
        if ((input->run_count || !(reports[i]->needs & NVT_NEEDS_RUNS)) &&
            (!input->compensate || reports[i]->needs & NVT_TAKES_COMPENSATED))
            request->reports[request->count++] = reports[i];
}

static int check(const struct request *request, const struct nvt_report *report,
                 const struct nvt_input *input, struct nvt_error *err)
{
    if (!request->format && !report->published)
        return nvt_fail(err, "report '%s' has no published layout", report->name);
    if (input->compensate && (!(report->needs & NVT_TAKES_COMPENSATED) || !request->format))
        return nvt_fail(err,
                        "--compensate works with nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum, "
                        "nvtx_pushpop_trace, range_tree and phases, in any format but published");
    return nvt_report_has_runs(report, input, err);
}

/* Whether what was given stands for itself: no directory of runs has it, nor does it name configurations as they do. */
static int takes_overview(struct request *request, const struct nvt_input *input)
{
    request->is_overview = request->is_overview && !request->count && !request->all &&
                           !input->run_count && !input->compensate && nvt_overview_fits(input);
    return request->is_overview;
}

/* What the reports ask of the input, before anything is computed or printed. */
static int prepare(struct request *request, struct nvt_input *input, struct nvt_error *err)
{
    int reads_traces = 0;
    request->is_default = !request->count && !request->all;
    if (input->trace_count == 1 && takes_overview(request, input))
        return 0;
    /* A trace by itself is looked into; of several, as of a directory, the study is asked for, which is what has a
     * published layout. */
    if (request->is_default && request->format && input->trace_count == 1 && !input->run_count)
        request->reports[request->count++] = choose(input);
    if (nvt_input_rows(input, err))
        return -1;
    request->is_study = request->is_overview && input->run_count > 0;
    if (takes_overview(request, input))
        return 0;
    if (request->is_default && !request->count) {
        request->reports[request->count++] = choose(input);
        nvt_report_note_left_out(input, request->reports[0]);
    }
    if (request->is_default)
        nvt_note_calls(input);
    if (request->all && !request->format)
        return nvt_fail(err, "-r all works with any format but published");
    if (request->all)
        take_all(request, input);
    for (size_t i = 0; i < request->count; i++) {
        reads_traces |= !(request->reports[i]->needs & NVT_NEEDS_RUNS);
        if (check(request, request->reports[i], input, err))
            return -1;
    }
    return reads_traces ? nvt_input_traces(input, err) : 0;
}

/* A report being made: on its own, so that several can be at once. */
struct making {
    const struct nvt_report *report;
    struct nvt_input input; /* a copy, with notes of its own */
    struct nvt_tables tables;
    struct nvt_error err;
    int status;
};

static void make_report(void *context, size_t i)
{
    struct making *making = &((struct making *)context)[i];
    making->status = nvt_report_make(making->report, &making->input, &making->tables, &making->err);
}

/* Of all reports, those have nothing to say that say so, and those of other studies. */
static int has_nothing(const struct making *making)
{
    size_t rows = 0;
    for (size_t i = 0; i < making->tables.count; i++)
        rows += nvt_table_rows(making->tables.items[i]);
    return making->status ? (making->report->needs & NVT_NEEDS_RUNS) != 0 : !rows;
}

static void forget(struct making *making)
{
    making->status = 0;
    nvt_tables_free(&making->tables);
    nvt_buffer_free(&making->input.notes);
}

/* What one report made, behind what the others did. */
static int take(struct making *making, struct nvt_input *input, struct nvt_tables *tables,
                struct nvt_error *err)
{
    int status = making->status ? -1 : 0;
    if (status)
        *err = making->err;
    for (size_t k = 0; k < making->tables.count && !status; k++) {
        status = nvt_tables_add(tables, making->tables.items[k]);
        making->tables.items[k] = NULL;
    }
    (void)nvt_buffer_append(&input->notes, making->input.notes.data, making->input.notes.size);
    forget(making);
    if (status && !err->message[0])
        nvt_fail(err, "out of memory");
    return status;
}

/* Reports of traces only read them, so they are made side by side; directories of runs have more to
 * them. In the order that was asked for, up to the first that fails. */
static int make_all(const struct request *request, struct nvt_input *input,
                    struct nvt_tables *tables, struct nvt_error *err)
{
    struct making *all = calloc(request->count + 1, sizeof(*all));
    int status = 0;
    if (!all)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < request->count; i++) {
        all[i] = (struct making){request->reports[i], *input, {0}, NVT_ERROR_INIT, 0};
        all[i].input.notes = (struct nvt_buffer){0};
        all[i].input.naming = request->naming[i];
        if (input->run_count)
            make_report(all, i);
    }
    if (!input->run_count)
        nvt_parallel(make_report, all, request->count);
    for (size_t i = 0; i < request->count; i++) {
        struct nvt_error later = NVT_ERROR_INIT;
        if (request->all && has_nothing(&all[i]))
            forget(&all[i]);
        int failed = take(&all[i], input, tables, status ? &later : err);
        status = status ? status : failed;
    }
    free(all);
    return status;
}

/* Published times are of runs without a recorder; of ours none may be. The sums of accumulate are no times. */
static void note_recorded(struct nvt_input *input)
{
    const char *level = NULL;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            const char *collect = nvt_record_text(record, "collect");
            if (!collect || nvt_record_is_of(record, "accumulate") ||
                !strcmp(nvt_record_source(record), "published"))
                continue;
            if (!strcmp(collect, "off"))
                return;
            level = level ? level : collect;
        }
    if (level)
        nvt_note(input,
                 "note: all runs were recorded (--collect %s); most published tables are of runs "
                 "that were not (--collect off)",
                 level);
}

/* A published layout has a place for a configuration, and none for each of its repetitions. */
static int print_published(const struct request *request, struct nvt_input *input, FILE *out,
                           struct nvt_error *err)
{
    struct nvt_input together;
    note_recorded(input);
    int status = nvt_repeats_together(input, &together, err);
    for (size_t i = 0; i < request->count && !status; i++) {
        if (i)
            putc('\n', out);
        status = request->reports[i]->published(&together, out, err);
    }
    nvt_repeats_free(&together, input);
    return status;
}

/* The first rows of each table, as was asked for; who reads on a terminal sees how many others there are. */
static void keep_top(const struct request *request, const struct nvt_screen *screen,
                     struct nvt_tables *tables, struct nvt_input *input)
{
    if (request->format == nvt_format_find("table")) {
        tables->more = "--top 0 shows all";
        tables->most_rows = request->top != NOT_GIVEN             ? request->top
                            : screen->height && !request->is_wide ? TOP_ON_TERMINAL
                                                                  : 0;
        return;
    }
    for (size_t i = 0; i < tables->count && request->top && request->top != NOT_GIVEN; i++) {
        const size_t rows = nvt_table_rows(tables->items[i]);
        if (rows > request->top)
            nvt_note(input, "note: %s: the first %zu of %zu rows", nvt_table_name(tables->items[i]),
                     request->top, rows);
        nvt_table_keep(tables->items[i], request->top);
    }
}

static int print(const struct request *request, struct nvt_input *input, FILE *out,
                 struct nvt_error *err)
{
    if (request->is_overview)
        return nvt_command_overview(input, (const char *)request->arguments.data, request->color,
                                    out, err);
    const struct nvt_screen screen = nvt_screen_of(out, request->color);
    struct nvt_tables tables = {
        .terminal = screen.width, .is_coloured = screen.is_coloured, .is_wide = request->is_wide};
    int status = 0;
    if (!request->format)
        return print_published(request, input, out, err);
    /* Without it, each report does for itself what several need. */
    input->launches = request->count > 1 ? nvt_launch_cache_new(input) : NULL;
    status = make_all(request, input, &tables, err);
    if (!request->is_study)
        keep_top(request, &screen, &tables, input);
    if (!status && request->is_study)
        status = nvt_command_study(input, (const char *)request->arguments.data, request->color,
                                   &tables, out, err);
    else if (!status)
        status = nvt_command_render(&tables, request->format, input, out, err);
    nvt_tables_free(&tables);
    nvt_launch_cache_free(input->launches);
    input->launches = NULL;
    return status;
}

/* To a stream, which is closed if it is a file's. 0, or -1 with err. */
static int write_to(FILE *out, const char *name, const struct request *request,
                    struct nvt_input *input, struct nvt_error *err)
{
    if (!out)
        return nvt_fail_at(err, name, -1, "cannot be opened: %s", strerror(errno));
    int failed = print(request, input, out, err);
    return nvt_stream_end(out, name, failed, err);
}

static int write_out(const struct request *request, struct nvt_input *input, struct nvt_error *err)
{
    const char *path = request->output;
    if (!path)
        return write_to(stdout, "stdout", request, input, err);
    if (nvt_input_check_output(input, path, err))
        return -1;
    char *replacement = nvt_replacement_of(path, err);
    if (!replacement)
        return -1;
    if (nvt_input_check_output(input, replacement, err)) {
        free(replacement);
        return -1;
    }
    int status = write_to(nvt_create_stream(replacement), path, request, input, err);
    return nvt_replacement_end(replacement, path, status, err);
}

/* 0, or -1 with err. */
static int join_arguments(struct request *request, char **files, struct nvt_error *err)
{
    const char *const given[] = {"--iteration",         request->iteration, "--filter-nvtx",
                                 request->window.range, "--filter-time",    request->window.time};
    int failed = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(given); i += 2) {
        char *const words[] = {(char *)(uintptr_t)given[i], (char *)(uintptr_t)given[i + 1], NULL};
        if (given[i + 1])
            failed |= nvt_shell_join(&request->arguments, words) ||
                      nvt_buffer_append(&request->arguments, " ", 1);
    }
    failed |=
        nvt_shell_join(&request->arguments, files) || nvt_buffer_append(&request->arguments, "", 1);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* How traces are read for what is asked. */
static void set_reading(struct request *request, struct nvt_input *input)
{
    /* Nsys's own names mean nsys's definition, but to people who read what waits for what. */
    if (!request->project_flags && request->format && request->format->captions &&
        request->format != nvt_format_find("column"))
        request->project_flags = NVT_ACROSS_WAITS;
    input->project_flags = (unsigned)request->project_flags;
    input->compensate = request->compensate;
    request->is_overview = !request->count && !request->all && !request->is_wide &&
                           request->top == NOT_GIVEN && request->format == nvt_format_find("table");
    input->plain_names = request->plain_names || request->is_overview;
    /* Programs that read names want each. */
    if (request->grouping == NVT_GROUP_ALL || (request->format && request->format->captions))
        input->grouping = (enum nvt_grouping)request->grouping;
    input->every_name = request->grouping == NVT_GROUP_NONE;
    input->iteration = request->iteration;
    input->only_launches = takes_launches(request);
    input->leaves_out = takes_digests(request);
    input->digester = input->leaves_out ? &nvt_rank_digester : NULL;
}

int nvt_cmd_stats(int argc, char **argv)
{
    struct request request = {
        .format = nvt_format_find("table"), .grouping = NVT_GROUP_MANY, .top = NOT_GIVEN};
    struct nvt_input input = {.window = &request.window};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status > 0 ? 0 : nvt_command_fail(&err);
    if (request.list || request.list_formats) {
        if (request.list)
            nvt_list_reports(stdout);
        else
            nvt_list_formats(stdout);
        return 0;
    }
    set_reading(&request, &input);
    if (optind == argc)
        status = nvt_fail(&err, "stats: no trace or directory was given; see nvtally stats --help");
    if (!status && nvt_readings_serve(&input))
        return 0;
    if (!status)
        status = nvt_input_add_all(&input, argv + optind, (size_t)(argc - optind), &err);
    nvt_readings_leave();
    if (!status)
        status = prepare(&request, &input, &err);
    if (!status && input.digester && !input.run_count)
        status = nvt_input_keep_job(&input, &err);
    if (!status && (request.is_overview || request.is_study))
        status = join_arguments(&request, argv + optind, &err);
    if (!status)
        status = write_out(&request, &input, &err);
    if (!status && request.is_default && !request.is_overview) {
        status = nvt_note_unfinished(&input, &err);
        nvt_note_counters(&input);
    }
    if (!status && !request.is_overview && !input.only_launches)
        status = nvt_report_note_lent(&input, request.reports, request.count, &err);
    if (!status) {
        nvt_note_costs(&input);
        nvt_command_notes(&input);
    }
    nvt_input_free(&input);
    nvt_buffer_free(&request.arguments);
    return status ? nvt_command_fail(&err) : 0;
}
