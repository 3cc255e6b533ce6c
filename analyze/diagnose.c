/*
 * The command `diagnose`.
 */
#include "diagnose.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/render.h"

static const nvt_rule rules[] = {
    nvt_diagnose_scaling,
    nvt_diagnose_warmup,
    nvt_diagnose_calls,
    nvt_diagnose_timing,
};

static const char usage_text[] =
    "usage: nvtally diagnose FILE|DIR… [OPTIONS]\n\n"
    "Why is it slow? Findings over traces and runs, the most expensive first, each with its\n"
    "evidence and a remedy. Several runs that differ in one axis show what grows with it.\n\n"
    "      --by AXIS          look along this axis alone (fragments, batch …)\n"
    "  -f, --format FORMAT    as a table: grid, column, markdown, latex, csv, tsv, json\n"
    "                         (default: one paragraph a finding)\n"
    "      --help             this text\n\n"
    "Exit status: 0 (with or without findings), 2 when nothing can be read.\n"
    "Example:  nvtally diagnose out --by fragments\n";

static const struct nvt_column_spec columns[] = {
    {"cause", "", NVT_TEXT, 0, 0},    {"cost", "ns", NVT_REAL, 0, 0},
    {"confidence", "%", NVT_INT, 0, 0}, {"where", "", NVT_TEXT, 0, 0},
    {"what", "", NVT_TEXT, 0, 0},     {"evidence", "", NVT_TEXT, 0, 0},
    {"remedy", "", NVT_TEXT, 0, 0},
};

struct request {
    struct nvt_case facts;
    const struct nvt_format *format; /* NULL: paragraphs */
};

int nvt_findings_add(struct nvt_findings *findings, const struct nvt_finding *finding,
                     struct nvt_error *err)
{
    if (findings->count == findings->capacity) {
        size_t capacity = findings->capacity ? findings->capacity * 2 : 16;
        struct nvt_finding *items = realloc(findings->items, capacity * sizeof(*items));
        if (!items)
            return nvt_fail(err, "out of memory");
        findings->items = items;
        findings->capacity = capacity;
    }
    findings->items[findings->count++] = *finding;
    return 0;
}

uint32_t *nvt_iterations(const struct nvt_trace *trace, uint32_t *count)
{
    uint32_t name = nvt_strings_find(trace->strings, "iteration", 9);
    uint32_t *rows = malloc(((size_t)trace->ranges.count + 1) * sizeof(*rows));
    *count = 0;
    for (uint32_t i = 0; rows && i < trace->ranges.count; i++)
        if (trace->ranges.name[i] == name && !(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED))
            rows[(*count)++] = i;
    return rows;
}

void nvt_case_name(const struct nvt_input_trace *from, char *out, size_t size)
{
    char *configuration =
        from->runs ? nvt_record_configuration(&from->runs->records[from->record]) : NULL;
    snprintf(out, size, "%s", configuration ? configuration : from->trace->path);
    free(configuration);
}

static int fail(const struct nvt_error *err)
{
    char text[1200];
    fprintf(stderr, "nvtally: %s\n", nvt_error_text(err, text, sizeof(text)));
    return 2;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    enum { BY = 256, HELP };
    static const struct option options[] = {{"by", required_argument, NULL, BY},
                                            {"format", required_argument, NULL, 'f'},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    opterr = 0;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, ":f:h", options, NULL)) != -1;) {
        if (option == HELP || option == 'h') {
            fputs(usage_text, stdout);
            return 1;
        }
        if (option == BY)
            request->facts.by = optarg;
        else if (option == 'f' && !(request->format = nvt_format_find(optarg)))
            return nvt_fail(err, "no format '%s'; see nvtally diagnose --help", optarg);
        else if (option == ':')
            return nvt_fail(err, "%s needs a value; see nvtally diagnose --help", argv[optind - 1]);
        else if (option == '?')
            return nvt_fail(err, "unknown option %s; see nvtally diagnose --help",
                            argv[optind - 1]);
    }
    return optind < argc ? 0 : nvt_fail(err, "diagnose: no trace and no directory was given");
}

static int by_cost(const void *left, const void *right)
{
    const struct nvt_finding *a = left, *b = right;
    return (a->cost_ns < b->cost_ns) - (a->cost_ns > b->cost_ns);
}

int nvt_diagnose(const struct nvt_report_input *input, const char *by,
                 struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_case facts = {input, by};
    int status = 0;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !status; i++)
        status = rules[i](&facts, findings, err);
    if (findings->count)
        qsort(findings->items, findings->count, sizeof(*findings->items), by_cost);
    return status;
}

static void print_visible(const char *label, const char *text)
{
    printf("   %-10s", label);
    nvt_render_visible(text, stdout);
    putchar('\n');
}

static void print_paragraphs(const struct nvt_findings *findings)
{
    if (!findings->count)
        puts("Nothing was found.");
    for (size_t i = 0; i < findings->count; i++) {
        const struct nvt_finding *finding = &findings->items[i];
        printf("%s%zu. %s: ", i ? "\n" : "", i + 1, finding->cause);
        nvt_render_visible(finding->what, stdout);
        printf(" (%.3f ms, %d %% sure)\n", finding->cost_ns / 1e6, finding->confidence);
        print_visible("where", finding->where);
        print_visible("evidence", finding->evidence);
        print_visible("remedy", finding->remedy);
    }
}

static int print_table(const struct nvt_findings *findings, const struct nvt_format *format,
                       struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    struct nvt_table *table =
        nvt_table_new("diagnose", "Findings", columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; table && i < findings->count; i++) {
        const struct nvt_finding *finding = &findings->items[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, 0, finding->cause);
        nvt_table_set_real(table, row, 1, finding->cost_ns);
        nvt_table_set_int(table, row, 2, finding->confidence);
        nvt_table_set_text(table, row, 3, finding->where);
        nvt_table_set_text(table, row, 4, finding->what);
        nvt_table_set_text(table, row, 5, finding->evidence);
        nvt_table_set_text(table, row, 6, finding->remedy);
    }
    int status = nvt_tables_add(&tables, table) || format->render(&tables, stdout) ? -1 : 0;
    nvt_tables_free(&tables);
    return status ? nvt_fail(err, "out of memory") : 0;
}

static int diagnose(struct request *request, int count, char **arguments, struct nvt_error *err)
{
    struct nvt_report_input input = {0};
    struct nvt_findings findings = {0};
    int status = 0;
    for (int i = 0; i < count && !status; i++)
        status = nvt_input_add(&input, arguments[i], err);
    if (!status)
        status = nvt_input_traces(&input, err);
    if (!status)
        status = nvt_diagnose(&input, request->facts.by, &findings, err);
    if (!status) {
        fprintf(stderr, "%.*s", (int)input.notes.size,
                input.notes.data ? (const char *)input.notes.data : "");
        if (request->format)
            status = print_table(&findings, request->format, err);
        else
            print_paragraphs(&findings);
    }
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    free(findings.items);
    nvt_input_free(&input);
    return status;
}

int nvt_cmd_diagnose(int argc, char **argv)
{
    struct request request = {{NULL, NULL}, NULL};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : fail(&err);
    return diagnose(&request, argc - optind, argv + optind, &err) ? fail(&err) : 0;
}
