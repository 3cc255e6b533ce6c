#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/render.h"
#include "../diagnosis/rule_page.h"
#include "../overview/overview.h"
#include "../overview/overview_text.h"
#include "../reports/report.h"
#include "claims.h"
#include "compare_tool.h"
#include "session.h"

/* Of an answer. */
#define BYTES_LEAST 2048
#define BYTES_MOST  100000000

static const struct nvt_sql_limits limits = {
    .seconds = 30, .rows = 10000, .more = "aggregate, or narrow the query"};

static const struct nvt_member *argument(const struct nvt_arguments *arguments, const char *name)
{
    char key[128];
    snprintf(key, sizeof(key), "%s%s", arguments->before, name);
    return nvt_record_find(arguments->record, key);
}

/* A text, or a number as it was written; NULL: it was not given. */
static const char *text_of(const struct nvt_arguments *arguments, const char *name)
{
    const struct nvt_member *member = argument(arguments, name);
    return member && member->type != NVT_VALUE_NULL ? member->text : NULL;
}

/* The trace that a call is about, whose notes from here on are the answer's. 0, or -1 with err. */
static int take_trace(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                      struct nvt_answer *answer, struct nvt_error *err)
{
    answer->of = nvt_agent_find(agent, text_of(arguments, "trace"), err);
    if (!answer->of)
        return -1;
    answer->notes_from = answer->of->input.notes.size;
    return 0;
}

/* What a statement gives, under another name. */
static int ask(struct nvt_opened *opened, const char *query, const char *name,
               struct nvt_answer *answer, struct nvt_error *err)
{
    /* The tool knows what its tables lack, and notes it itself. */
    const struct nvt_sql_limits silent = {.seconds = limits.seconds, .rows = limits.rows};
    struct nvt_sql *sql = nvt_opened_sql(opened, err);
    if (!sql || nvt_sql_answer(sql, query, &silent, &answer->tables, err))
        return -1;
    nvt_table_set_title(answer->tables.items[answer->tables.count - 1], name);
    return 0;
}

/* Tell of what was opened, with a statement about its tables. */
static int tell_opened(struct nvt_answer *answer, const char *query, struct nvt_error *err)
{
    if (!answer->of)
        return -1;
    if (asprintf(&answer->text, "open as trace %s", answer->of->name) < 0) {
        answer->text = NULL;
        return nvt_fail(err, "out of memory");
    }
    return ask(answer->of, query, "Tables that have rows", answer, err);
}

static int open_one(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                    struct nvt_answer *answer, struct nvt_error *err)
{
    answer->of = nvt_agent_open(agent, text_of(arguments, "path"), text_of(arguments, "range"),
                                text_of(arguments, "time"), text_of(arguments, "iteration"), err);
    return tell_opened(answer, "SELECT name, rows, about FROM nvtally_tables WHERE rows > 0", err);
}

/* A window of a trace that is open: the same file, read again. */
static int window(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                  struct nvt_answer *answer, struct nvt_error *err)
{
    const struct nvt_opened *whole = nvt_agent_find(agent, text_of(arguments, "trace"), err);
    const char *range = text_of(arguments, "range"), *time = text_of(arguments, "time");
    if (!whole)
        return -1;
    if (!range && !time)
        return nvt_fail(err, "window: give a range, a time, or both");
    answer->of = nvt_agent_open(agent, whole->path, range ? range : whole->range,
                                time ? time : whole->time, whole->iteration, err);
    return tell_opened(answer, "SELECT name, rows FROM nvtally_tables WHERE rows > 0", err);
}

static int list(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                struct nvt_answer *answer, struct nvt_error *err)
{
    static const struct nvt_column opened[] = {
        {"trace", NVT_NAMES}, {"path", NVT_NAMES}, {"range", NVT_NAMES}, {"time", NVT_NAMES}};
    static const struct nvt_column reports[] = {{"report", NVT_NAMES}, {"about", NVT_NAMES}};
    struct nvt_table *table = nvt_table_new("open", "Traces that are open", opened, 4);
    size_t count;
    const struct nvt_report *const *all = nvt_reports(&count);
    (void)arguments;
    for (size_t i = 0; i < agent->count; i++)
        nvt_table_put(table, agent->opened[i]->name, agent->opened[i]->path,
                      agent->opened[i]->range, agent->opened[i]->time);
    if (nvt_tables_add(&answer->tables, table))
        return nvt_fail(err, "out of memory");
    table = nvt_table_new("reports", "Reports", reports, 2);
    for (size_t i = 0; i < count; i++)
        nvt_table_put(table, all[i]->name, all[i]->about);
    return nvt_tables_add(&answer->tables, table) ? nvt_fail(err, "out of memory") : 0;
}

/* Note what rules looked at, and what others lack: no findings mean only so much. 0, or -1 with err. */
static int note_rules(struct nvt_opened *opened, int has_findings, struct nvt_error *err)
{
    struct nvt_buffer lines = {0};
    const int status =
        opened->input.trace_count && (nvt_diagnose_missing(&opened->input, &lines, err) ||
                                      nvt_diagnose_looked(&opened->input, &lines, err));
    const char *at = (const char *)lines.data, *end = lines.size ? at + lines.size : at;
    while (!status && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        nvt_note(&opened->input, "note: %s%.*s",
                 line_end + 1 == end && !has_findings ? "no findings: " : "", (int)(line_end - at),
                 at);
        at = line_end + 1;
    }
    nvt_buffer_free(&lines);
    return status ? -1 : 0;
}

static int summary(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                   struct nvt_answer *answer, struct nvt_error *err)
{
    struct nvt_overview overview = {0};
    const struct nvt_overview_view view = {.input = "TRACE"};
    size_t size;
    if (take_trace(agent, arguments, answer, err))
        return -1;
    if (!answer->of->input.trace_count)
        return nvt_fail(err, "summary: there is no trace, but rows of runs: SELECT * FROM runs");
    int status = nvt_overview_make(&overview, &answer->of->input, err) ||
                 (!overview.found && note_rules(answer->of, 0, err));
    FILE *out = status ? NULL : open_memstream(&answer->text, &size);
    if (out) {
        nvt_overview_print(&overview, &view, out);
        status = fclose(out);
    }
    nvt_overview_free(&overview);
    return status || !out ? (err->message[0] ? -1 : nvt_fail(err, "out of memory")) : 0;
}

static int report(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                  struct nvt_answer *answer, struct nvt_error *err)
{
    unsigned naming;
    const struct nvt_report *found = nvt_report_named(text_of(arguments, "report"), &naming, err);
    if (!found || take_trace(agent, arguments, answer, err))
        return -1;
    return nvt_report_make_named(found, naming, &answer->of->input, &answer->tables, err);
}

static int diagnose(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                    struct nvt_answer *answer, struct nvt_error *err)
{
    if (take_trace(agent, arguments, answer, err))
        return -1;
    if (ask(answer->of,
            "SELECT 'finding:' || id AS evidence_id, cause, cost_ns, share_percent, per, "
            "confidence, what, evidence, remedy FROM findings",
            "Findings", answer, err))
        return -1;
    return note_rules(answer->of, nvt_table_rows(answer->tables.items[0]) > 0, err);
}

static int sql(struct nvt_agent *agent, const struct nvt_arguments *arguments,
               struct nvt_answer *answer, struct nvt_error *err)
{
    if (take_trace(agent, arguments, answer, err))
        return -1;
    struct nvt_sql *over = nvt_opened_sql(answer->of, err);
    if (!over || nvt_sql_answer(over, text_of(arguments, "query"), &limits, &answer->tables, err))
        return -1;
    answer->cannot = nvt_sql_cannot(over);
    return 0;
}

static int check(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                 struct nvt_answer *answer, struct nvt_error *err)
{
    if (take_trace(agent, arguments, answer, err))
        return -1;
    struct nvt_sql *over = nvt_opened_sql(answer->of, err);
    struct nvt_table *table = over ? nvt_claims_table() : NULL;
    const struct nvt_sql_limits of_claims = {.seconds = limits.seconds, .rows = 2};
    const int verdict =
        table ? nvt_claim_check(over, arguments->record, arguments->before, &of_claims, table, err)
              : -1;
    if (nvt_tables_add(&answer->tables, table) && verdict >= 0)
        return nvt_fail(err, "out of memory");
    return verdict < 0 ? -1 : 0;
}

/* The page of a rule, as text. */
static int describe_rule(const struct nvt_rule *rule, struct nvt_answer *answer,
                         struct nvt_error *err)
{
    struct nvt_rule_part parts[NVT_RULE_PARTS];
    const size_t count = nvt_rule_page(rule, parts);
    struct nvt_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        (void)nvt_buffer_printf(&text, "%s: %s\n", parts[i].title, parts[i].text);
    (void)nvt_buffer_append(&text, "", 1);
    if (!text.failed) {
        answer->text = (char *)text.data;
        return 0;
    }
    nvt_buffer_free(&text);
    return nvt_fail(err, "out of memory");
}

/* A finding's cause, a report, or a table of SQL, of which the columns are shown. */
static int describe(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                    struct nvt_answer *answer, struct nvt_error *err)
{
    const char *name = text_of(arguments, "name");
    const struct nvt_rule *rule = nvt_rule_named(name);
    const struct nvt_report *found = nvt_report_find(name);
    char query[256];
    if (rule)
        return describe_rule(rule, answer, err);
    if (found) {
        answer->text = strdup(found->about);
        return answer->text ? 0 : nvt_fail(err, "out of memory");
    }
    for (const char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *at) || at - name > 80)
            return nvt_fail(err, "describe: no finding, report or table has that name");
    if (take_trace(agent, arguments, answer, err))
        return -1;
    snprintf(
        query, sizeof(query),
        "SELECT name, type, unit, refers_to, about FROM nvtally_columns WHERE table_name = '%s'",
        name);
    if (ask(answer->of, query, "Columns", answer, err))
        return -1;
    return nvt_table_rows(answer->tables.items[0])
               ? 0
               : nvt_fail(err, "describe: no finding, report or table is called '%s'", name);
}

static int compare(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                   struct nvt_answer *answer, struct nvt_error *err)
{
    const struct nvt_opened *before = nvt_agent_find(agent, text_of(arguments, "before"), err),
                            *after = before
                                         ? nvt_agent_find(agent, text_of(arguments, "after"), err)
                                         : NULL;
    answer->sides[0] = before;
    answer->sides[1] = after;
    return after ? nvt_compare_opened(before, after, answer, err) : -1;
}

#define TRACE                                                                                      \
    {                                                                                              \
        "trace", "name of an open trace, such as t1; default: the one opened last", 0, 0           \
    }
#define RANGE                                                                                      \
    {                                                                                              \
        "range", "only what begins within this NVTX range: NAME, NAME@DOMAIN or NAME/N", 0, 0      \
    }
#define TIME                                                                                       \
    {                                                                                              \
        "time", "only what begins between two moments, such as 1.2s/1300ms", 0, 0                  \
    }

static const struct nvt_tool tools[] = {
    {"open",
     "Open a trace (.nvt, nsys .sqlite, PyTorch .json) or a run directory. Answers its name.",
     {{"path", "file or directory", 1, 0},
      RANGE,
      TIME,
      {"iteration", "NVTX ranges that are iterations: NAME, NAME@DOMAIN or NAME*", 0, 0}},
     open_one},
    {"list", "Traces that are open, and all reports.", {{NULL, NULL, 0, 0}}, list},
    {"summary", "Where the time goes, on one screen.", {TRACE}, summary},
    {"report",
     "A report by name, such as nvtx_kern_sum, gpu_idle, overlap or collectives.",
     {{"report", "name of the report; the tool list has all", 1, 0}, TRACE},
     report},
    {"diagnose",
     "Why it is slow: findings with cost, evidence, remedy and an evidence id to cite.",
     {TRACE},
     diagnose},
    {"compare",
     "What changed between two open traces or directories, with confidence intervals.",
     {{"before", "name of an open trace", 1, 0}, {"after", "name of an open trace", 1, 0}},
     compare},
    {"sql",
     "SELECT statements of SQLite over the trace: ranges, kernels, apis, gaps, findings and more. "
     "Times are nanoseconds. SELECT * FROM nvtally_tables lists tables.",
     {{"query", "the statement", 1, 0}, TRACE},
     sql},
    {"window", "Open a part of an open trace as a trace of its own.", {RANGE, TIME, TRACE}, window},
    {"describe",
     "What a finding, a report, or the columns of a table mean.",
     {{"name", "cause of a finding, report, or table", 1, 0}, TRACE},
     describe},
    {"check",
     "Whether a claim holds: a query that answers one number, or a finding, and its bounds.",
     {{"query", "SQL that answers one number", 0, 0},
      {"finding", "in its place: the cause of a finding, whose number is its share in percent", 0,
       0},
      {"equals", "the number, within 0.5 %", 0, 1},
      {"at_least", "lower bound", 0, 1},
      {"at_most", "upper bound", 0, 1},
      TRACE},
     check},
};

const struct nvt_tool *nvt_tools(size_t *count)
{
    *count = NVT_COUNT_OF(tools);
    return tools;
}

/* --- answers --- */

static int call(struct nvt_agent *agent, const char *name, const struct nvt_arguments *arguments,
                struct nvt_answer *answer, struct nvt_error *err)
{
    for (size_t i = 0; i < NVT_COUNT_OF(tools); i++) {
        if (strcmp(tools[i].name, name) != 0)
            continue;
        for (size_t k = 0; k < NVT_TOOL_ARGUMENTS && tools[i].arguments[k].name; k++)
            if (tools[i].arguments[k].is_needed && !text_of(arguments, tools[i].arguments[k].name))
                return nvt_fail(err, "%s: the argument %s is missing", name,
                                tools[i].arguments[k].name);
        return tools[i].call(agent, arguments, answer, err);
    }
    return nvt_fail(err, "there is no tool '%.40s'", name);
}

/* The size that an answer may have. 0, or -1 with err: it is none. */
static int take_most_bytes(const struct nvt_arguments *arguments, size_t *most,
                           struct nvt_error *err)
{
    const char *text = text_of(arguments, "max_bytes");
    const double value = text ? strtod(text, NULL) : NVT_ANSWER_MOST;
    *most = NVT_ANSWER_MOST;
    if (!(value >= BYTES_LEAST && value <= BYTES_MOST))
        return nvt_fail(err, "max_bytes must be from %d to %d, not '%.40s'", BYTES_LEAST,
                        BYTES_MOST, text);
    *most = (size_t)value;
    return 0;
}

/* What was noted when its trace was opened, such as that it is cut, and since the call began. 0, or -1 when out of memory. */
static int collect_notes(const struct nvt_answer *answer, struct nvt_buffer *notes)
{
    const struct nvt_opened *of = answer->of;
    if (answer->notes.size && nvt_buffer_append(notes, answer->notes.data, answer->notes.size))
        return -1;
    if (!of || !of->input.notes.size)
        return 0;
    const size_t from = answer->notes_from > of->opening ? answer->notes_from : of->opening;
    return nvt_buffer_append(notes, of->input.notes.data, of->opening) ||
                   nvt_buffer_append(notes, of->input.notes.data + from,
                                     of->input.notes.size - from)
               ? -1
               : 0;
}

int nvt_tool_call(struct nvt_agent *agent, const char *name, const struct nvt_arguments *arguments,
                  char **out)
{
    struct nvt_answer answer = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer notes = {0};
    char why[1100];
    size_t size;
    size_t most;
    const int failed =
        take_most_bytes(arguments, &most, &err) || call(agent, name, arguments, &answer, &err);
    const struct nvt_opened *of = answer.of;
    const char *paths[3] = {of ? of->path : NULL};
    size_t path_count = of ? 1 : 0;
    for (int i = 0; i < 2; i++)
        if (answer.sides[i])
            paths[path_count++] = answer.sides[i]->path;
    struct nvt_facts facts = {.traces = paths,
                              .trace_count = path_count,
                              .range = of ? of->range : NULL,
                              .time = of ? of->time : NULL,
                              .text = failed ? NULL : answer.text,
                              .cannot = answer.cannot,
                              .most_bytes = most};
    const int has_failed = collect_notes(&answer, &notes);
    facts.notes = notes.data;
    facts.notes_size = notes.size;
    if (failed) {
        facts.cannot = nvt_error_text(&err, why, sizeof(why));
        nvt_tables_free(&answer.tables);
        answer.tables = (struct nvt_tables){0};
    }
    answer.tables.facts = &facts;
    *out = NULL;
    FILE *written = open_memstream(out, &size);
    int status = has_failed || !written || nvt_render_facts(&answer.tables, written);
    if (written)
        status |= fclose(written) != 0;
    nvt_tables_free(&answer.tables);
    nvt_buffer_free(&notes);
    nvt_buffer_free(&answer.notes);
    free(answer.text);
    if (!status)
        return failed ? 1 : 0;
    free(*out);
    *out = NULL;
    return -1;
}
