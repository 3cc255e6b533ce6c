/* The tables that are made: what each is, and how its rows come about. */
#ifdef HAVE_SQLITE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../device/gaps.h"
#include "../diagnosis/diagnose.h"
#include "../input/ranks.h"
#include "../model/named_iterations.h"
#include "../reports/report.h"
#include "connection.h"

/* --- names --- */

/* Letters and digits of a text, in lower case, with one '_' between words. */
static void append_words(struct nvt_buffer *out, const char *text)
{
    int is_apart = out->size > 0;
    for (; *text; text++) {
        const char letter = (char)tolower((unsigned char)*text);
        const int is_word = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        if (is_apart && (is_word || *text == '%'))
            (void)nvt_buffer_append(out, "_", 1);
        if (is_word)
            (void)nvt_buffer_append(out, &letter, 1);
        else if (*text == '%')
            (void)nvt_buffer_append(out, "percent", 7);
        is_apart = (is_word || *text == '%') ? 0 : out->size > 0;
    }
}

static int ends_with(const struct nvt_buffer *text, const struct nvt_buffer *end)
{
    return text->size > end->size && text->data[text->size - end->size - 1] == '_' &&
           !memcmp(text->data + text->size - end->size, end->data, end->size);
}

const char *nvt_sql_heading(struct nvt_sql *sql, const char *heading, const char *unit)
{
    struct nvt_buffer name = {0}, ending = {0};
    const char *kept = NULL;
    append_words(&name, heading);
    append_words(&ending, unit);
    if (ending.size && !ends_with(&name, &ending))
        append_words(&name, unit);
    if (!name.size)
        (void)nvt_buffer_append(&name, "value", 5);
    if (!name.failed && !ending.failed) {
        const uint32_t id = nvt_strings_add(sql->names, (const char *)name.data, name.size);
        kept = id == NVT_NO_STRING ? NULL : nvt_strings_get(sql->names, id, NULL);
    }
    nvt_buffer_free(&name);
    nvt_buffer_free(&ending);
    return kept;
}

static const char *printed_name(struct nvt_sql *sql, const char *before, const char *name,
                                size_t number)
{
    char text[256];
    if (number > 1)
        snprintf(text, sizeof(text), "%s%s_%zu", before, name, number);
    else
        snprintf(text, sizeof(text), "%s%s", before, name);
    const uint32_t id = nvt_strings_add_text(sql->names, text);
    return id == NVT_NO_STRING ? NULL : nvt_strings_get(sql->names, id, NULL);
}

/* Columns with names as SQL has them, each once; malloc'ed, NULL when out of memory. */
static struct nvt_column *named_columns(struct nvt_sql *sql, const struct nvt_column *columns,
                                        size_t count)
{
    struct nvt_column *named = calloc(count + 1, sizeof(*named));
    for (size_t i = 0; named && i < count; i++) {
        const char *name = nvt_sql_heading(sql, columns[i].heading, columns[i].unit);
        size_t again = 1;
        for (size_t k = 0; name && k < i; k++)
            again += !strcmp(nvt_sql_heading(sql, columns[k].heading, columns[k].unit), name);
        named[i] = columns[i];
        named[i].heading = name ? printed_name(sql, "", name, again) : NULL;
        if (!named[i].heading) {
            free(named);
            return NULL;
        }
    }
    return named;
}

static size_t count_columns(const struct nvt_column *columns, size_t most)
{
    size_t count = 0;
    while (count < most && columns[count].heading)
        count++;
    return count;
}

/* Units that are no part of the columns' names. */
static void take_units(const struct nvt_made *made, struct nvt_column *columns)
{
    for (size_t i = 0; columns && made->meanings && i < made->column_count; i++)
        if (made->meanings[i].unit)
            columns[i].unit = made->meanings[i].unit;
}

static int add(struct nvt_sql *sql, struct nvt_made made, const struct nvt_column *columns,
               size_t count, struct nvt_error *err)
{
    made.sql = sql;
    struct nvt_column *named = named_columns(sql, columns, count);
    made.columns = named;
    made.column_count = count;
    take_units(&made, named);
    if (!made.name || !made.columns || nvt_grow(&sql->made, sql->made_count, sizeof(*sql->made))) {
        free((void *)(uintptr_t)made.columns);
        return nvt_fail(err, "out of memory");
    }
    sql->made[sql->made_count++] = made;
    return 0;
}

/* --- reports --- */

/* Which of a report's tables has these headings: one that has all of them. */
static int is_of(const struct nvt_column *columns, size_t count, const struct nvt_table *table)
{
    size_t same = 0;
    for (size_t i = 0; i < nvt_table_columns(table); i++)
        for (size_t k = 0; k < count; k++)
            if (!strcmp(nvt_table_column(table, i)->heading, columns[k].heading)) {
                same++;
                break;
            }
    return same == nvt_table_columns(table);
}

static const struct nvt_column *columns_of(const struct nvt_report *report, size_t part)
{
    return part ? report->more[part - 1].columns : report->columns;
}

static void take_rows(const struct nvt_made *made, const struct nvt_table *from,
                      struct nvt_table *to)
{
    const struct nvt_column *columns = columns_of(made->context, made->part);
    size_t places[NVT_COLUMNS_MOST];
    for (size_t c = 0; c < made->column_count; c++)
        places[c] = nvt_table_find(from, columns[c].heading);
    for (size_t row = 0; row < nvt_table_rows(from); row++) {
        nvt_table_add_row(to);
        for (size_t c = 0; c < made->column_count; c++)
            nvt_table_more(to,
                           places[c] == SIZE_MAX ? NVT_NULL : nvt_table_cell(from, row, places[c]));
    }
}

/* The first of its tables that a table can be; -1: it is none. */
static int part_of(const struct nvt_report *report, const struct nvt_table *table)
{
    for (size_t part = 0; !part || (report->more && report->more[part - 1].title); part++)
        if (is_of(columns_of(report, part),
                  count_columns(columns_of(report, part), NVT_COLUMNS_MOST), table))
            return (int)part;
    return -1;
}

/* Rows that are of none of its tables (struct nvt_report, further) are not here. */
static void note_further(const struct nvt_report *report, const struct nvt_tables *tables,
                         struct nvt_input *input)
{
    for (size_t i = 0; i < tables->count; i++)
        if (nvt_table_rows(tables->items[i]) && part_of(report, tables->items[i]) < 0)
            nvt_note(input, "note: SQL has no %s of this input: nvtally stats -r %s shows them%s",
                     nvt_table_name(tables->items[i]), report->name,
                     input->run_count ? ", and the table runs has what the program measured" : "");
}

static int fill_report(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_report *report = made->context;
    struct nvt_input input = *made->sql->input;
    struct nvt_tables tables = {0};
    input.notes = (struct nvt_buffer){0};
    if (nvt_report_has_runs(report, &input, err))
        return -1;
    int status = nvt_report_make(report, &input, &tables, err);
    for (size_t i = 0; i < tables.count && !status; i++)
        if (part_of(report, tables.items[i]) == (int)made->part)
            take_rows(made, tables.items[i], table);
    if (!status && !nvt_table_rows(table))
        note_further(report, &tables, &input);
    nvt_buffer_free(&made->notes);
    made->notes = input.notes;
    nvt_tables_free(&tables);
    return status;
}

static int list_reports(struct nvt_sql *sql, struct nvt_error *err)
{
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t part = 0; !part || (reports[i]->more && reports[i]->more[part - 1].title);
             part++) {
            const struct nvt_made made = {
                .name = printed_name(sql, "report_", reports[i]->name, part + 1),
                .about = part ? reports[i]->more[part - 1].title : reports[i]->about,
                .fill = fill_report,
                .context = reports[i],
                .part = part};
            const struct nvt_column *columns = columns_of(reports[i], part);
            const size_t columns_there = count_columns(columns, NVT_COLUMNS_MOST);
            if (columns_there && add(sql, made, columns, columns_there, err))
                return -1;
        }
    return 0;
}

/* --- gaps and iterations --- */

static const struct nvt_column gap_columns[] = {
    {"file", NVT_NAMES},    {"process", NVT_IDS},  {"device", NVT_IDS},  {"start", NVT_IDS},
    {"end", NVT_IDS},       {"duration", NVT_IDS}, {"host_ns", NVT_IDS}, {"cause", NVT_NAMES},
    {"op_before", NVT_IDS}, {"op_after", NVT_IDS}, {"thread", NVT_IDS},  {"api", NVT_IDS}};

static const struct nvt_made_meaning gap_meanings[] = {
    {.about = "path of the trace"},
    {.about = "process of the operation behind it: processes.id", .refers_to = "processes"},
    {.about = "number of the device in its process"},
    {.about = "end of all operations before it, on the trace's time axis", .unit = "ns"},
    {.about = "begin of the operation behind it", .unit = "ns"},
    {.about = "from start to end", .unit = "ns"},
    {.about = "part of it before the call that launched the next operation returned"},
    {.about = "latency: it was launched in time; wait: the host waited for the device; launch: it "
              "launched; load: a launch loaded code; call: another call took most of it; host: "
              "non-CUDA code"},
    {.about = "operation before it: ops.id", .refers_to = "ops"},
    {.about = "operation behind it: ops.id", .refers_to = "ops"},
    {.about = "thread that launched that one: threads.id", .refers_to = "threads"},
    {.about = "call that waited, or took most of it: apis.id", .refers_to = "apis"}};

struct gaps {
    struct nvt_table *table;
    const struct nvt_model_part *part;
};

static void put_gap(void *context, const struct nvt_gap *gap)
{
    static const char *const causes[] = {"latency", "wait", "launch", "load", "call", "host"};
    const struct gaps *gaps = context;
    const int64_t *base = gaps->part->base;
    nvt_table_put(gaps->table, gaps->part->trace->path, base[NVT_TABLE_processes] + gap->process,
                  gap->device, gap->start, gap->end, gap->end - gap->start, gap->host_ns,
                  causes[gap->cause], base[NVT_TABLE_ops] + gap->before,
                  base[NVT_TABLE_ops] + gap->after,
                  NVT_IF(gap->thread != NVT_NONE, base[NVT_TABLE_threads] + gap->thread),
                  NVT_IF(gap->call != NVT_NONE, base[NVT_TABLE_apis] + gap->call));
}

static int fill_gaps(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_model *model = &made->sql->model;
    int status = 0;
    for (size_t i = 0; i < model->count && !status; i++) {
        struct gaps gaps = {table, &model->parts[i]};
        status = nvt_gaps(model->parts[i].trace, made->sql->input, put_gap, &gaps, NULL, err);
    }
    return status;
}

static const struct nvt_column iteration_columns[] = {
    {"file", NVT_NAMES}, {"process", NVT_IDS}, {"iteration", NVT_IDS}, {"range", NVT_IDS},
    {"start", NVT_IDS},  {"end", NVT_IDS},     {"duration", NVT_IDS},  {"name", NVT_NAMES}};

static const struct nvt_made_meaning iteration_meanings[] = {
    {.about = "path of the trace"},
    {.about = "process: processes.id", .refers_to = "processes"},
    {.about = "number in its process, from 0"},
    {.about = "range that is the iteration: ranges.id", .refers_to = "ranges"},
    {.about = "begin on the trace's time axis", .unit = "ns"},
    {.about = "end on the trace's time axis", .unit = "ns"},
    {.about = "from start to end; NULL where one of them was not seen", .unit = "ns"},
    {.about = "name of the range"}};

static int put_iterations(const struct nvt_model_part *part, struct nvt_table *table)
{
    const struct nvt_trace *trace = part->trace;
    uint32_t count, *counts = calloc((size_t)trace->processes.count + 1, sizeof(*counts));
    uint32_t *rows = counts ? nvt_iterations(trace, &count) : NULL;
    for (uint32_t i = 0; rows && i < count; i++) {
        const uint32_t row = rows[i], process = trace->threads.process[trace->ranges.thread[row]];
        const int64_t length = trace->ranges.end[row] - trace->ranges.start[row];
        nvt_table_put(table, trace->path, part->base[NVT_TABLE_processes] + process,
                      counts[process]++, part->base[NVT_TABLE_ranges] + row,
                      trace->ranges.start[row], trace->ranges.end[row],
                      NVT_IF(!(trace->ranges.flags[row] & NVT_RANGE_PARTIAL), length),
                      nvt_name(trace, trace->ranges.name[row]));
    }
    const int status = rows ? 0 : -1;
    free(rows);
    free(counts);
    return status;
}

static int fill_iterations(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_model *model = &made->sql->model;
    for (size_t i = 0; i < model->count; i++)
        if (put_iterations(&model->parts[i], table))
            return nvt_fail(err, "out of memory");
    return 0;
}

int nvt_sql_list_made(struct nvt_sql *sql, struct nvt_error *err)
{
    static const struct {
        struct nvt_made made;
        const struct nvt_column *columns;
        size_t count;
    } others[] = {{{.name = "gaps",
                    .about = "when a device was idle, and what the host did then",
                    .meanings = gap_meanings,
                    .fill = fill_gaps,
                    .need = NVT_RULE_OPS},
                   gap_columns,
                   NVT_COUNT_OF(gap_columns)},
                  {{.name = "iterations",
                    .about = "iterations that ranges name, numbered in each process",
                    .meanings = iteration_meanings,
                    .fill = fill_iterations,
                    .need = NVT_RULE_ITERATIONS},
                   iteration_columns,
                   NVT_COUNT_OF(iteration_columns)}};
    if (nvt_sql_list_findings(sql, err))
        return -1;
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        if (add(sql, others[i].made, others[i].columns, others[i].count, err))
            return -1;
    return list_reports(sql, err) || nvt_sql_list_runs(sql, err) || nvt_sql_list_lists(sql, err)
               ? -1
               : 0;
}

int nvt_sql_add_table(struct nvt_sql *sql, struct nvt_made made, const struct nvt_column *columns,
                      size_t count, struct nvt_error *err)
{
    return add(sql, made, columns, count, err);
}
#endif
