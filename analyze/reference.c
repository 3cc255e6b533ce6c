/*
 * The command `reference`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/wrap.h"
#include "command.h"
#include "published/published.h"
#include "reports/report.h"

static const char usage_head[] =
    "usage: nvtally reference WORKLOAD [OPTIONS]\n\n"
    "Prints the published numbers of a workload. They come from their authors'\n"
    "machines, not from this one. 'nvtally compare' compares yours with them.\n\n"
    "  -f, --format FORMAT  table (default), column, grid, markdown, latex, csv, tsv,\n"
    "                       json, facts, or published\n"
    "      --wide           show all columns, and names at full length\n" NVT_COLOR_HELP
    "      --help           this text\n\n"
    "Workloads, and who published them:\n";

struct request {
    const char *workload;
    const struct nvt_reference *reference;
    const struct nvt_format *format; /* NULL: published */
    enum nvt_color color;
    int is_wide; /* nothing is shortened or left out */
};

static int find(const char *workload, struct request *request, struct nvt_error *err)
{
    char known[256] = "";
    request->workload = workload;
    request->reference = nvt_reference_of(workload);
    if (request->reference)
        return 0;
    for (size_t i = 0; nvt_reference_at(i); i++) {
        strncat(known, i ? " " : "", sizeof(known) - strlen(known) - 1);
        strncat(known, nvt_reference_at(i)->workloads, sizeof(known) - strlen(known) - 1);
    }
    return nvt_fail(err, "no published numbers are known for a workload '%s'; there are %s",
                    workload, known);
}

static void list_workloads(void)
{
    for (size_t i = 0; nvt_reference_at(i); i++)
        nvt_put_item(nvt_reference_at(i)->workloads, 21, nvt_reference_at(i)->title, NVT_HELP_WIDTH,
                     stdout);
}

static int set_format(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    *(const struct nvt_format **)option->to = NULL;
    return strcmp(value, "published") ? nvt_set_format(option, value, err) : 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {{"format", 'f', .set = set_format, .to = &request->format,
                                          .hint = "see nvtally reference --help"},
                                         {NVT_COLOR_OPTION(&request->color)},
                                         {"wide", .flag = &request->is_wide},
                                         {0}};
    const int status = nvt_command_options(argc, argv, options, usage_head, err);
    if (status > 0)
        list_workloads();
    if (status)
        return status;
    if (argc - optind != 1)
        return nvt_fail(
            err, argc == optind
                     ? "reference: no workload was given; 'nvtally reference --help' lists them"
                     : "reference: one workload at a time");
    return find(argv[optind], request, err);
}

/* Of a document with several workloads, the records of the one that was asked for. */
static void pick(struct nvt_runs *runs, const char *workload)
{
    size_t kept = 0, matching = 0;
    for (size_t i = 0; i < runs->count; i++)
        matching += nvt_record_is_of(&runs->records[i], workload) ? 1 : 0;
    for (size_t i = 0; i < runs->count && matching; i++) {
        if (nvt_record_is_of(&runs->records[i], workload))
            runs->records[kept++] = runs->records[i];
        else
            nvt_record_free(&runs->records[i]);
    }
    runs->count = matching ? kept : runs->count;
}

static int print(const struct request *request, struct nvt_input *input, struct nvt_error *err)
{
    const struct nvt_report *report = nvt_report_default(input);
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {
        .terminal = screen.width, .is_coloured = screen.is_coloured, .is_wide = request->is_wide};
    int status = request->format || report->published
                     ? 0
                     : nvt_fail(err, "report '%s' has no published layout", report->name);
    if (!status)
        status = request->format ? nvt_report_make(report, input, &tables, err)
                                 : report->published(input, stdout, err);
    if (!status && request->format && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail_at(err, "stdout", -1, "cannot be written: %s", strerror(errno));
    nvt_tables_free(&tables);
    return status;
}

int nvt_cmd_reference(int argc, char **argv)
{
    struct request request = {.format = nvt_format_find("table")};
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_layout *layout;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status > 0 ? 0 : nvt_command_fail(&err);
    struct nvt_runs *runs = nvt_reference_runs(request.reference, &layout, &err);
    if (!runs)
        return nvt_command_fail(&err);
    pick(runs, request.workload);
    struct nvt_input input = {.runs = &runs, .run_count = 1};
    status = print(&request, &input, &err);
    nvt_buffer_free(&input.notes);
    nvt_runs_free(runs);
    return status ? nvt_command_fail(&err) : 0;
}
