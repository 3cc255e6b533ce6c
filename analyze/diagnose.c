/*
 * The command `diagnose`.
 */
#include "diagnosis/diagnosed.h"
#include "diagnosis/rule_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "../lib/wrap.h"
#include "command.h"
#include "input/input_folder.h"
#include "input/ranks.h"
#include "input/rows.h"
#include "input/shared_reading.h"

static const char usage_text[] =
    "usage: nvtally diagnose FILE|DIR… [OPTIONS]\n\n"
    "Why is it slow? Prints findings over traces and runs, the most expensive first,\n"
    "each with its share of the iteration, evidence, a remedy and the command that\n"
    "shows it. Several runs that differ in one axis show what grows with it. Moments\n"
    "count from the beginning of the trace, as in Perfetto after an export. A problem\n"
    "that several traces share is one finding, with the evidence of the costliest.\n\n"
    "      --all            also findings that cost less than 1 % of the iteration\n"
    "      --by AXIS        only along this axis (fragments, batch …): what grows\n"
    "                       with it and where variants cross, but nothing about\n"
    "                       single traces\n"
    "      --explain RULE   print the page of a rule (such as launch-bound), or of\n"
    "                       all: what it means, how it is found, its threshold, what\n"
    "                       helped others, what it is confused with; of a trace,\n"
    "                       print what that rule finds in it, too\n"
    "      --rules          print what is looked for, with thresholds and reasons;\n"
    "                       takes no trace\n"
    "  -f, --format FORMAT  print a table: table, column, grid, markdown, latex; csv,\n"
    "                       tsv, json, facts have a row for each finding of each\n"
    "                       trace, and times in ns (default: one paragraph per\n"
    "                       finding)\n" NVT_WINDOW_HELP NVT_LAUNCHERS_HELP NVT_ITERATION_HELP
        NVT_COLOR_HELP "      --help           this text\n\n"
    "Exit status: 0 (with or without findings), 2 if nothing can be read or no run\n"
    "has AXIS.\n"
    "Example:  nvtally diagnose out --by fragments\n";

/* For people: findings that several traces share are one row. */

static const struct nvt_column columns[] = {
    {"cause", NVT_NAMES},      {"cost", NVT_NAMES},    {"traces", NVT_COUNTS},
    {"confidence", NVT_NAMES}, {"where", NVT_NAMES},   {"what", NVT_NAMES},
    {"evidence", NVT_NAMES},   {"look at", NVT_NAMES}, {"remedy", NVT_NAMES}};

/* For programs: a row for each finding of each trace, and numbers in one unit. */

static const struct nvt_column row_columns[] = {{"cause", NVT_NAMES},
                                                {"cost (ns)", NVT_REALS("ns", 0)},
                                                {"whole (ns)", NVT_REALS("ns", 0)},
                                                {"share (%)", NVT_REALS("%", 2)},
                                                {"memory (B)", NVT_REALS("B", 0)},
                                                {"per", NVT_NAMES},
                                                {"confidence", NVT_NAMES},
                                                {"where", NVT_NAMES},
                                                {"what", NVT_NAMES},
                                                {"evidence", NVT_NAMES},
                                                {"trace", NVT_NAMES},
                                                {"trace begins (ns)", "ns", NVT_INT, 0, NVT_PLAIN},
                                                {"moment 1 (ns)", NVT_NS},
                                                {"moment 2 (ns)", NVT_NS},
                                                {"moment 3 (ns)", NVT_NS},
                                                {"remedy", NVT_NAMES}};

static const struct nvt_column rule_columns[] = {
    {"cause", NVT_NAMES},      {"finds", NVT_NAMES},         {"from where on", NVT_NAMES},
    {"confidence", NVT_NAMES}, {"remedy", NVT_NAMES},        {"means", NVT_NAMES},
    {"found by", NVT_NAMES},   {"helped others", NVT_NAMES}, {"confused with", NVT_NAMES}};

struct request {
    const char *by;                  /* axis, NULL: each one that varies */
    const struct nvt_format *format; /* NULL: paragraphs */
    int rules;                       /* print what is looked for */
    const char *explain;             /* print the page of this rule, or "all"; NULL: of none */
    int all;                         /* minor findings, too */
    char *const *given;              /* files and directories, ended by NULL */
    struct nvt_window window;
    const char *iteration; /* ranges, NULL: those that are called so */
    enum nvt_color color;
};

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {"by", .text = &request->by},
        {NVT_FORMAT_OPTION(&request->format, "see nvtally diagnose --help")},
        {"rules", .flag = &request->rules},
        {"explain", .text = &request->explain},
        {"all", .flag = &request->all},
        {NVT_TIME_OPTION(&request->window)},
        {NVT_RANGE_OPTION(&request->window)},
        {NVT_LAUNCHERS_OPTION(&request->window)},
        {NVT_ITERATION_OPTION(&request->iteration)},
        {NVT_COLOR_OPTION(&request->color)},
        {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    if (status)
        return status;
    if (request->rules && optind < argc)
        return nvt_fail(err, "diagnose --rules takes no trace");
    request->given = argv + optind;
    return request->rules || request->explain || optind < argc
               ? 0
               : nvt_fail(err,
                          "diagnose: no trace or directory was given; see nvtally diagnose --help");
}

/* A text behind its label, in lines that fit. */
static void print_labelled(const struct nvt_screen *screen, const char *label, const char *text)
{
    nvt_paint(screen, NVT_PAINT_FAINT, stdout);
    printf("   %-11s", label);
    nvt_paint(screen, NVT_PAINT_NONE, stdout);
    (void)nvt_wrap(text, 14, 14, screen->width, stdout);
    putchar('\n');
}

/* Lines, each with its end, which becomes a NUL. */
static void print_lines(const struct nvt_screen *screen, struct nvt_buffer *lines)
{
    char *line = (char *)lines->data;
    size_t left = lines->size;
    for (char *end; left && (end = memchr(line, '\n', left)); line = end + 1) {
        *end = 0;
        left -= (size_t)(end + 1 - line);
        (void)nvt_wrap(line, 0, 2, screen->width, stdout);
        putchar('\n');
    }
}

/* What the words of confidence mean, those that were used. */
static void print_meanings(const struct nvt_screen *screen, const struct nvt_findings *findings)
{
    int used[NVT_CONFIDENCES] = {0}, width = 6;
    for (size_t i = 0; i < findings->count; i++)
        used[findings->items[i].confidence] = 1;
    if (used[NVT_POSSIBLE])
        width = (int)strlen(nvt_confidence_name(NVT_POSSIBLE));
    putchar('\n');
    for (int i = 0; i < NVT_CONFIDENCES; i++) {
        const enum nvt_confidence confidence = (enum nvt_confidence)i;
        if (!used[i])
            continue;
        printf("%-*s  ", width, nvt_confidence_name(confidence));
        (void)nvt_wrap(nvt_confidence_meaning(confidence), (size_t)width + 2, (size_t)width + 2,
                       screen->width, stdout);
        putchar('\n');
    }
}

/* The line that says whose symptom it is. */
static void print_explained(const struct nvt_screen *screen, const struct nvt_findings *findings,
                            const struct nvt_finding *finding)
{
    char text[128];
    if (!finding->explained_by)
        return;
    snprintf(text, sizeof(text), "mostly explained by finding %zu (%s)", finding->explained_by,
             findings->items[finding->explained_by - 1].cause);
    print_labelled(screen, "why", text);
}

/* 0, or -1 when out of memory. */
static int print_finding(const struct nvt_screen *screen, const struct nvt_findings *findings,
                         size_t at, char *const *given)
{
    const struct nvt_finding *finding = &findings->items[at];
    char title[NVT_TITLE_MAX], line[NVT_TITLE_MAX + 32], what[NVT_WHAT_MAX];
    char where[NVT_WHERE_MAX], moments[NVT_MOMENTS_MAX];
    struct nvt_buffer command = {0};
    int failed =
        nvt_finding_command(finding, given, &command) || nvt_buffer_append(&command, "", 1);
    nvt_finding_title(finding, title, sizeof(title));
    snprintf(line, sizeof(line), "%-2zu %s", at + 1, title);
    nvt_paint(screen, NVT_PAINT_TITLE, stdout);
    (void)nvt_wrap(line, 0, 3, screen->width, stdout);
    nvt_paint(screen, NVT_PAINT_NONE, stdout);
    nvt_finding_what(finding, what, sizeof(what));
    fputs("\n   ", stdout);
    (void)nvt_wrap(what, 3, 3, screen->width, stdout);
    putchar('\n');
    print_explained(screen, findings, finding);
    nvt_finding_where(finding, where, sizeof(where));
    /* The one file that was given says nothing new. */
    if (!given || !given[0] || given[1] || strcmp(where, given[0]) != 0)
        print_labelled(screen, "where", where);
    print_labelled(screen, "evidence", finding->evidence);
    nvt_finding_moments(finding, moments, sizeof(moments));
    if (*moments)
        print_labelled(screen, "look at", moments);
    print_labelled(screen, "remedy", finding->remedy);
    if (!failed && command.size > 1)
        print_labelled(screen, "show", (const char *)command.data);
    nvt_buffer_free(&command);
    return failed ? -1 : 0;
}

/* Whether those of one trace cost more than there is. */
static int do_overlap(const struct nvt_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        double sum = 0;
        for (size_t k = 0; k < findings->count; k++)
            if (findings->items[k].trace == findings->items[i].trace &&
                !isnan(nvt_finding_share(&findings->items[k])))
                sum += nvt_finding_share(&findings->items[k]);
        if (sum > 1)
            return 1;
    }
    return 0;
}

/* `first`: lines of nvt_diagnose_end and nvt_diagnose_idle. `why`: lines about what was not looked at. */
static int print_paragraphs(const struct nvt_screen *screen, const struct nvt_findings *findings,
                            const struct request *request, struct nvt_buffer *first,
                            struct nvt_buffer *why)
{
    int failed = 0;
    print_lines(screen, first);
    if (first->size)
        putchar('\n');
    for (size_t i = 0; i < findings->count && !failed; i++) {
        if (i)
            putchar('\n');
        failed = print_finding(screen, findings, i, request->given);
    }
    if (findings->count) {
        print_meanings(screen, findings);
        if (do_overlap(findings))
            printf("\nFindings overlap: their costs do not add up.\n");
        printf("\nWhat a finding means: nvtally diagnose --explain %s%s%s\n",
               strchr(findings->items[0].cause, ' ') ? "\"" : "", findings->items[0].cause,
               strchr(findings->items[0].cause, ' ') ? "\"" : "");
    } else
        puts("Nothing was found.");
    if (why->size)
        putchar('\n');
    print_lines(screen, why);
    return failed;
}

/* What stands behind the findings: what was left out, what was looked at where nothing was found, and what was not. 0, or -1 with err. */
static int tell_rest(struct nvt_findings *findings, struct nvt_input *input,
                     const struct request *request, struct nvt_buffer *why, struct nvt_error *err)
{
    size_t minor = 0;
    if (!request->all && nvt_findings_leave_minor(findings, &minor, err))
        return -1;
    if (minor &&
        nvt_buffer_printf(why, "%zu finding%s of less than 1 %% left out (--all prints %s)\n",
                          minor, minor == 1 ? "" : "s", minor == 1 ? "it" : "them"))
        return nvt_fail(err, "out of memory");
    if (request->by)
        return nvt_axis_missing(input, request->by, why, err);
    if (nvt_diagnose_put_cover(input, findings, why, err) ||
        (!findings->count &&
         (nvt_diagnose_looked(input, why, err) || nvt_diagnose_more(input, why, err))))
        return -1;
    return nvt_diagnose_run(input, why, err) || nvt_diagnose_missing(input, why, err) ? -1 : 0;
}

static void fill_shown(struct nvt_table *table, const struct nvt_finding *finding)
{
    char cost[NVT_COST_MAX], where[NVT_WHERE_MAX], moments[NVT_MOMENTS_MAX];
    nvt_finding_cost(finding, cost, sizeof(cost));
    nvt_finding_where(finding, where, sizeof(where));
    nvt_finding_moments(finding, moments, sizeof(moments));
    nvt_table_put(table, finding->cause, cost, NVT_IF(finding->traces, finding->traces),
                  nvt_confidence_name(finding->confidence), where, finding->what, finding->evidence,
                  moments, finding->remedy);
}

static void fill_row(struct nvt_table *table, const struct nvt_finding *finding)
{
    const struct nvt_trace *trace = finding->trace;
    const double share = nvt_finding_share(finding);
    nvt_table_put(table, finding->cause, NVT_IF(finding->cost_ns > 0, finding->cost_ns),
                  NVT_IF(!isnan(share) && finding->cost_ns > 0, finding->whole_ns), 100 * share,
                  NVT_IF(finding->cost_bytes > 0, finding->cost_bytes), finding->per,
                  nvt_confidence_name(finding->confidence), finding->where, finding->what,
                  finding->evidence, NVT_IF(trace, trace->path),
                  NVT_IF(trace, nvt_trace_begin(trace)));
    for (uint32_t i = 0; i < NVT_MOMENTS; i++)
        nvt_table_more(table, NVT_IF(i < finding->moment_count, nvt_finding_moment(finding, i)));
    nvt_table_more(table, finding->remedy);
}

/* Render a table, taking ownership. */
static int render(struct nvt_table *table, const struct request *request,
                  const struct nvt_input *input, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {.terminal = screen.width, .is_coloured = screen.is_coloured};
    const int status = nvt_tables_add(&tables, table)
                           ? nvt_fail(err, "out of memory")
                           : nvt_command_render(&tables, request->format, input, stdout, err);
    nvt_tables_free(&tables);
    return status;
}

static int print_table(const struct nvt_findings *findings, const struct nvt_input *input,
                       const struct request *request, struct nvt_error *err)
{
    const struct nvt_format *format = request->format;
    const struct nvt_provenance provenance = nvt_input_provenance(input);
    struct nvt_table *table =
        format->captions
            ? nvt_table_new("diagnose", "Findings", columns, NVT_COUNT_OF(columns))
            : nvt_table_new("diagnose", "Findings", row_columns, NVT_COUNT_OF(row_columns));
    if (table)
        nvt_table_set_provenance(table, &provenance);
    for (size_t i = 0; table && i < findings->count; i++)
        (format->captions ? fill_shown : fill_row)(table, &findings->items[i]);
    return render(table, request, input, err);
}

/* What was not looked at, and without findings what was, as notes of facts. 0, or -1 with err. */
static int note_rules(const struct nvt_findings *findings, struct nvt_input *input,
                      struct nvt_error *err)
{
    return nvt_diagnose_missing(input, &input->notes, err) ||
                   nvt_diagnose_put_cover(input, findings, &input->notes, err) ||
                   (!findings->count && (nvt_buffer_printf(&input->notes, "no findings: ") ||
                                         nvt_diagnose_looked(input, &input->notes, err)))
               ? -1
               : 0;
}

/* Print what was found. 0, or -1 with err, when nothing is printed. */
static int print_findings(struct nvt_findings *findings, struct nvt_input *input,
                          const struct request *request, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_buffer first = {0}, why = {0};
    int status = nvt_input_note_twice(input, err);
    if (!status && !request->format && !request->by)
        status = nvt_diagnose_end(input, &first, err);
    const size_t ends = first.size;
    if (!status && !request->format && !request->by)
        status = nvt_diagnose_idle(input, findings, &first, err);
    if (!status && (!request->format || request->format->captions))
        status = nvt_findings_fold(findings, input, err);
    if (!status)
        status = nvt_diagnose_shared(input, findings, first.size > ends, err);
    if (!status && !request->format)
        status = tell_rest(findings, input, request, &why, err);
    if (!status) {
        nvt_command_notes(input);
        if (request->format && !request->by && !strcmp(request->format->name, "facts"))
            status = note_rules(findings, input, err);
        if (request->format && !status)
            status = print_table(findings, input, request, err);
        else if (!status && print_paragraphs(&screen, findings, request, &first, &why))
            status = nvt_fail(err, "out of memory");
    }
    nvt_buffer_free(&first);
    nvt_buffer_free(&why);
    return status;
}

static int print_rule_table(const struct request *request, struct nvt_error *err)
{
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    struct nvt_table *table =
        nvt_table_new("rules", "What diagnose looks for", rule_columns, NVT_COUNT_OF(rule_columns));
    for (size_t i = 0; i < count; i++)
        nvt_table_put(table, rules[i]->cause, rules[i]->about, rules[i]->threshold,
                      nvt_confidence_name(rules[i]->confidence), rules[i]->remedy, rules[i]->means,
                      rules[i]->found, rules[i]->helped, rules[i]->confused);
    return render(table, request, NULL, err);
}

static void print_rule(const struct nvt_screen *screen, const struct nvt_rule *rule)
{
    nvt_paint(screen, NVT_PAINT_TITLE, stdout);
    fputs(rule->cause, stdout);
    nvt_paint(screen, NVT_PAINT_NONE, stdout);
    fputs(": ", stdout);
    (void)nvt_wrap(rule->about, strlen(rule->cause) + 2, 3, screen->width, stdout);
    putchar('\n');
    print_labelled(screen, "threshold", rule->threshold);
    print_labelled(screen, "confidence", nvt_confidence_name(rule->confidence));
    print_labelled(screen, "remedy", rule->remedy);
    putchar('\n');
}

static int print_rules(const struct request *request, struct nvt_error *err)
{
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    if (request->format)
        return print_rule_table(request, err);
    for (size_t i = 0; i < count; i++)
        print_rule(&screen, rules[i]);
    for (int i = 0; i < NVT_CONFIDENCES; i++) {
        printf("%-8s  ", nvt_confidence_name((enum nvt_confidence)i));
        (void)nvt_wrap(nvt_confidence_meaning((enum nvt_confidence)i), 10, 10, screen.width,
                       stdout);
        putchar('\n');
    }
    return 0;
}

/* As Markdown, or for people. */
static void print_page(const struct nvt_screen *screen, const struct nvt_rule *rule,
                       int is_markdown)
{
    struct nvt_rule_part parts[NVT_RULE_PARTS];
    const size_t count = nvt_rule_page(rule, parts);
    if (is_markdown)
        fputs("# ", stdout);
    nvt_paint(screen, NVT_PAINT_TITLE, stdout);
    fputs(rule->cause, stdout);
    nvt_paint(screen, NVT_PAINT_NONE, stdout);
    putchar('\n');
    for (size_t i = 0; i < count && is_markdown; i++) {
        printf("\n## %s\n\n", parts[i].title);
        nvt_render_markdown_text(parts[i].text, stdout);
        putchar('\n');
    }
    for (size_t i = 0; i < count && !is_markdown; i++) {
        putchar('\n');
        nvt_paint(screen, NVT_PAINT_FAINT, stdout);
        fputs(parts[i].title, stdout);
        nvt_paint(screen, NVT_PAINT_NONE, stdout);
        fputs("\n   ", stdout);
        (void)nvt_wrap(parts[i].text, 3, 3, screen->width, stdout);
        putchar('\n');
    }
}

/* Only what the rule found that is to be explained. */
static void keep_explained(const struct request *request, struct nvt_findings *findings)
{
    const struct nvt_rule *rule = nvt_rule_named(request->explain);
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (rule && findings->items[i].cause == rule->cause) {
            findings->items[kept] = findings->items[i];
            findings->items[kept++].explained_by = 0;
        }
    findings->count = kept;
}

static int print_explained_ones(const struct request *request, struct nvt_input *input,
                                struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    keep_explained(request, findings);
    if (nvt_findings_fold(findings, input, err))
        return -1;
    nvt_command_notes(input);
    if (!findings->count)
        printf("%s: not found in what was given\n\n", request->explain);
    for (size_t i = 0; i < findings->count; i++) {
        if (print_finding(&screen, findings, i, request->given))
            return nvt_fail(err, "out of memory");
        putchar('\n');
    }
    return 0;
}

static struct nvt_input input_for(const struct request *request,
                                  const struct nvt_input_digester *digester)
{
    return (struct nvt_input){.plain_names = 1,
                              .leaves_out = 1,
                              .window = &request->window,
                              .iteration = request->iteration,
                              .digester = digester};
}

/* 0, or -1 with err. */
static int read_input(const struct request *request, const struct nvt_input_digester *digester,
                      struct nvt_input *input, struct nvt_error *err)
{
    size_t given = 0;
    *input = input_for(request, digester);
    while (request->given[given])
        given++;
    return nvt_input_add_all(input, request->given, given, err) || nvt_input_rows(input, err) ||
                   nvt_input_traces(input, err)
               ? -1
               : 0;
}

/* A few of many traces are in memory at a time, where that is enough. 0, or -1 with err. */
static int read_all(const struct request *request, struct nvt_input *input, struct nvt_error *err)
{
    const int is_apart = !request->by && nvt_folder_has_several(request->given);
    const int status = read_input(request, is_apart ? &nvt_diagnosis_digester : NULL, input, err);
    const int enough = status ? -1 : nvt_diagnosed_is_enough(input, err);
    if (enough)
        return enough < 0 ? -1 : 0;
    nvt_input_free(input);
    return read_input(request, NULL, input, err);
}

static int diagnose(struct request *request, struct nvt_error *err)
{
    struct nvt_input input = input_for(request, &nvt_diagnosis_digester);
    struct nvt_findings findings = {0};
    if (nvt_readings_serve(&input))
        return 0;
    int status = read_all(request, &input, err);
    nvt_readings_leave();
    if (!status)
        status = nvt_diagnose(&input, request->by, &findings, err);
    if (!status && request->explain)
        status = print_explained_ones(request, &input, &findings, err);
    else if (!status)
        status = print_findings(&findings, &input, request, err);
    free(findings.items);
    nvt_input_free(&input);
    return status;
}

static int explain(struct request *request, struct nvt_error *err)
{
    static const struct nvt_screen plain = {0};
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    const int is_all = !strcmp(request->explain, "all");
    const struct nvt_rule *one = is_all ? NULL : nvt_rule_named(request->explain);
    const int is_markdown = request->format != NULL, has_input = *request->given != NULL;
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    if (has_input && (is_all || is_markdown))
        return nvt_fail(err, "diagnose --explain of a trace prints text about one rule");
    if (request->format && request->format != nvt_format_find("markdown"))
        return nvt_fail(
            err, "diagnose --explain prints text or -f markdown; --rules -f csv has a table");
    if (!is_all && !one)
        return nvt_fail(err, "no rule '%s'; nvtally diagnose --rules lists them", request->explain);
    if (has_input && diagnose(request, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (is_all || rules[i] == one) {
            if (is_all && i)
                putchar('\n');
            print_page(is_markdown ? &plain : &screen, rules[i], is_markdown);
        }
    return 0;
}

int nvt_cmd_diagnose(int argc, char **argv)
{
    struct request request = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : nvt_command_fail(&err);
    if (request.explain)
        status = explain(&request, &err);
    else if (request.rules)
        status = print_rules(&request, &err);
    else
        status = diagnose(&request, &err);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(&err, "standard output cannot be written");
    return status ? nvt_command_fail(&err) : 0;
}
