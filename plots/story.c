#include "story.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../analyze/compare_reference.h"
#include "../analyze/diagnose.h"
#include "../lib/render.h"

/* Rows of a trace's reports, which may have thousands; those of a study are all shown. */
enum { TOP_ROWS = 25, STUDY_ROWS = 500 };

static const struct nvt_column_spec fact_columns[] = {{"fact", "", NVT_TEXT, 0, 0},
                                                      {"value", "", NVT_TEXT, 0, 0}};

/* --- tables
 * ------------------------------------------------------------------------------------------ */

static int is_empty(const struct nvt_table *table, size_t column)
{
    for (size_t row = 0; row < nvt_table_rows(table); row++)
        if (!nvt_table_is_null(table, row, column) &&
            (nvt_table_column(table, column)->type != NVT_TEXT ||
             *nvt_table_text(table, row, column)))
            return 0;
    return 1;
}

/* Whether all rows have the same text, so that it can stand under the table instead. Where numbers
 * come from and how runs ended stays in the rows. */
static int is_constant(const struct nvt_table *table, size_t column)
{
    const struct nvt_column_spec *spec = nvt_table_column(table, column);
    if (spec->type != NVT_TEXT || nvt_table_rows(table) < 2 || !strcmp(spec->heading, "source") ||
        !strcmp(spec->heading, "status"))
        return 0;
    for (size_t row = 1; row < nvt_table_rows(table); row++)
        if (strcmp(nvt_table_text(table, row, column), nvt_table_text(table, 0, column)))
            return 0;
    return 1;
}

static void copy_cell(struct nvt_table *to, size_t to_column, const struct nvt_table *from,
                      size_t row, size_t column)
{
    if (nvt_table_is_null(from, row, column))
        return;
    switch (nvt_table_column(from, column)->type) {
    case NVT_INT:
        nvt_table_set_int(to, row, to_column, nvt_table_int(from, row, column));
        break;
    case NVT_REAL:
        nvt_table_set_real(to, row, to_column, nvt_table_real(from, row, column));
        break;
    case NVT_BOOL:
        nvt_table_set_bool(to, row, to_column, nvt_table_bool(from, row, column));
        break;
    case NVT_TEXT:
        nvt_table_set_text(to, row, to_column, nvt_table_text(from, row, column));
        break;
    }
}

static int add_sentence(struct nvt_buffer *note, const char *name, const char *value)
{
    return nvt_buffer_printf(note, "%s%s: %s", note->size ? "; " : "In every row ", name, value);
}

/* The first rows of a table without the columns that say nothing, or the same in every row, which
 * goes into the note. NULL when out of memory. */
static struct nvt_table *shorten(const struct nvt_table *from, size_t most, struct nvt_buffer *note)
{
    size_t columns = nvt_table_columns(from), kept = 0;
    size_t rows = nvt_table_rows(from) < most ? nvt_table_rows(from) : most;
    struct nvt_column_spec *specs = calloc(columns + 1, sizeof(*specs));
    size_t *which = calloc(columns + 1, sizeof(*which));
    struct nvt_table *table = NULL;
    for (size_t column = 0; specs && which && column < columns; column++)
        if (is_empty(from, column)) {
            continue;
        } else if (is_constant(from, column)) {
            if (add_sentence(note, nvt_table_column(from, column)->heading,
                             nvt_table_text(from, 0, column)))
                goto out;
        } else {
            specs[kept] = *nvt_table_column(from, column);
            which[kept++] = column;
        }
    if (specs && which)
        table = nvt_table_new(nvt_table_name(from), nvt_table_title(from), specs, kept);
    if (table)
        nvt_table_set_provenance(table, nvt_table_provenance(from));
    for (size_t row = 0; table && row < rows; row++) {
        nvt_table_add_row(table);
        for (size_t column = 0; column < kept; column++)
            copy_cell(table, column, from, row, which[column]);
    }
out:
    free(specs);
    free(which);
    return table;
}

static void put_table(struct nvt_document *document, const struct nvt_table *table, size_t most)
{
    struct nvt_buffer note = {0};
    size_t rows = nvt_table_rows(table);
    struct nvt_table *shown = shorten(table, most, &note);
    int failed = !shown || nvt_table_failed(shown, NULL);
    if (!failed && rows > most)
        failed =
            nvt_buffer_printf(&note, "%sThe first %zu of %zu rows: nvtally stats -r %s has all",
                              note.size ? ". " : "", most, rows, nvt_table_name(table));
    if (failed || nvt_buffer_append(&note, "", 1)) {
        nvt_table_free(shown);
        document->failed = 1;
    } else {
        nvt_document_table(document, shown, note.size > 1 ? (const char *)note.data : NULL);
    }
    nvt_buffer_free(&note);
}

/* One or more reports under a heading, each where it has rows. A report that does not fit this
 * input is left out. */
static void put_reports(const struct nvt_story *story, const char *heading, const char *text,
                        const char *const *names, size_t most, struct nvt_document *document)
{
    struct nvt_tables tables = {0};
    size_t rows = 0;
    for (; *names; names++) {
        const struct nvt_report *report = nvt_report_find(*names);
        struct nvt_error err = NVT_ERROR_INIT;
        if (report && !((report->needs & NVT_NEEDS_RUNS) && !story->input->run_count))
            (void)report->make(story->input, &tables, &err);
    }
    for (size_t i = 0; i < tables.count; i++)
        rows += nvt_table_rows(tables.items[i]);
    if (rows) {
        nvt_document_heading(document, heading);
        if (text)
            nvt_document_text(document, "%s", text);
    }
    for (size_t i = 0; i < tables.count; i++)
        if (nvt_table_rows(tables.items[i]))
            put_table(document, tables.items[i], most);
    nvt_tables_free(&tables);
}

/* --- what was run and where
 * -------------------------------------------------------------------------- */

static struct nvt_table *new_facts(const char *title)
{
    return nvt_table_new("facts", title, fact_columns, 2);
}

static void put_fact(struct nvt_table *table, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, 0, name);
    nvt_table_set_text(table, row, 1, value);
}

static int is_published(const struct nvt_runs *runs)
{
    return runs->count && !strcmp(nvt_record_source(&runs->records[0]), "published");
}

static void put_runs(const struct nvt_runs *runs, struct nvt_document *document)
{
    size_t ok = 0, oom = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const char *status = nvt_record_text(&runs->records[i], "status");
        ok += !status || !strcmp(status, "ok");
        oom += status && !strcmp(status, "oom");
    }
    const char *source = nvt_record_text(&runs->env, "source");
    if (is_published(runs))
        nvt_document_text(
            document,
            "%s: %zu published configurations, not measured here, of another machine. "
            "Source: %s.",
            runs->path, runs->count, source ? source : "not stated");
    else
        nvt_document_text(document,
                          "%s: %zu configurations, %zu measured, %zu out of memory, %zu with an "
                          "error.",
                          runs->path, runs->count, ok, oom, runs->count - ok - oom);
    struct nvt_table *table = new_facts(runs->path);
    for (size_t i = 0; table && i < runs->env.count; i++)
        put_fact(table, runs->env.members[i].key, runs->env.members[i].text);
    if (table && nvt_table_rows(table))
        nvt_document_table(document, table, NULL);
    else
        nvt_table_free(table);
}

static void put_count(struct nvt_table *table, const char *name, size_t count)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", count);
    put_fact(table, name, text);
}

static void put_trace(const struct nvt_trace *trace, struct nvt_document *document)
{
    struct nvt_table *table = new_facts(trace->path);
    char length[64];
    if (!table)
        return;
    snprintf(length, sizeof(length), "%.6f s", (double)(trace->last_ns - trace->first_ns) / 1e9);
    put_fact(table, "format", trace->format);
    put_fact(table, "length", length);
    put_count(table, "ranges", trace->ranges.count);
    put_count(table, "device operations", trace->ops.count);
    put_count(table, "CUDA calls", trace->apis.count);
    put_count(table, "threads", trace->threads.count);
    for (uint32_t i = 0; i < trace->meta.count; i++)
        put_fact(table, nvt_name(trace, trace->meta.key[i]), nvt_name(trace, trace->meta.value[i]));
    nvt_document_table(document, table, NULL);
}

static void put_where(const struct nvt_story *story, struct nvt_document *document)
{
    nvt_document_heading(document, "What was run, and where");
    for (size_t i = 0; i < story->input->run_count; i++)
        put_runs(story->input->runs[i], document);
    for (size_t i = 0; i < story->input->trace_count; i++)
        if (!story->input->traces[i].runs)
            put_trace(story->input->traces[i].trace, document);
}

/* --- the parts
 * --------------------------------------------------------------------------------------- */

static void put_results(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_report *main = nvt_report_default(story->input);
    int is_study = story->input->run_count > 0;
    const char *const names[] = {main->name,
                                 is_study && main != &nvt_report_phases ? "phases" : NULL, NULL};
    put_reports(story, "Results", NULL, names, is_study ? STUDY_ROWS : TOP_ROWS, document);
}

static void put_pictures(const struct nvt_story *story, struct nvt_document *document)
{
    if (!story->picture_count && !story->no_pictures)
        return;
    nvt_document_heading(document, "Charts");
    if (story->no_pictures)
        nvt_document_text(document, "Left out: %s.", story->no_pictures);
    for (size_t i = 0; i < story->picture_count; i++)
        nvt_document_picture(document, story->pictures[i].path, story->pictures[i].title);
}

static void put_trace_reports(const struct nvt_story *story, struct nvt_document *document)
{
    static const char *const warmup[] = {"warmup", NULL}, *const overhead[] = {"overhead", NULL};
    static const char *const memory[] = {"memory_peak", NULL};
    static const char *const ranges[] = {"nvtx_sum", NULL};
    static const char *const device[] = {"cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "gpu_idle",
                                         "overlap", NULL};
    static const char *const calls[] = {"cuda_api_sum", NULL};
    const struct nvt_report_input *input = story->input;
    size_t ops = 0, apis = 0, events = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        ops += input->traces[i].trace->ops.count;
        apis += input->traces[i].trace->apis.count;
        events += input->traces[i].trace->memory.count;
    }
    put_reports(story, "What the warm-up did", NULL, warmup, STUDY_ROWS, document);
    put_reports(story, "What the profiler cost", NULL, overhead, STUDY_ROWS, document);
    if (events)
        put_reports(story, "Memory", "Peaks of what was allocated and reserved, by range.", memory,
                    TOP_ROWS, document);
    if (input->trace_count && input->run_count)
        put_reports(story, "Ranges", "Ranges of all traces by total time.", ranges, TOP_ROWS,
                    document);
    if (ops)
        put_reports(story, "On the device", NULL, device, TOP_ROWS, document);
    if (apis)
        put_reports(story, "CUDA calls of the host", NULL, calls, TOP_ROWS, document);
}

static int has_measured(const struct nvt_report_input *input)
{
    for (size_t i = 0; i < input->run_count; i++)
        if (!is_published(input->runs[i]))
            return 1;
    return 0;
}

static void put_reference(const struct nvt_story *story, struct nvt_document *document)
{
    struct nvt_besides besides = {0};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (has_measured(story->input) && !nvt_beside_reference(story->input, &besides, &err) &&
        !nvt_beside_table(story->input, &besides, &tables, &err)) {
        nvt_document_heading(document, "Beside the published figures");
        nvt_document_text(document,
                          "The same configurations as others published them, on other machines. A "
                          "ratio below 1 is a shorter time or less memory here; it is no verdict.");
        put_table(document, tables.items[0], STUDY_ROWS);
    }
    nvt_tables_free(&tables);
    nvt_besides_free(&besides);
}

static int put_findings(const struct nvt_story *story, struct nvt_document *document,
                        struct nvt_error *err)
{
    struct nvt_findings findings = {0};
    char title[600], moments[100], *text;
    if (!story->input->trace_count)
        return 0;
    int status = nvt_diagnose(story->input, NULL, &findings, err);
    nvt_document_heading(document, "Findings");
    if (!findings.count)
        nvt_document_text(document, "nvtally diagnose found nothing in these traces.");
    for (size_t i = 0; i < findings.count && !status; i++) {
        const struct nvt_finding *finding = &findings.items[i];
        nvt_finding_title(finding, title, sizeof(title));
        nvt_finding_moments(finding, moments, sizeof(moments));
        if (asprintf(&text, "Where: %s. Evidence: %s. Look at: %s. Remedy: %s. How sure: %s.",
                     finding->where, finding->evidence, moments, finding->remedy,
                     nvt_confidence_meaning(finding->confidence)) < 0) {
            status = nvt_fail(err, "out of memory");
            break;
        }
        nvt_document_item(document, title, text);
        free(text);
    }
    free(findings.items);
    return status;
}

static void put_notes(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_buffer *notes = &story->input->notes;
    const char *at = (const char *)notes->data, *end = at + notes->size;
    if (!notes->size)
        return;
    nvt_document_heading(document, "What to know about these numbers");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        nvt_document_text(document, "%.*s", (int)((stop ? stop : end) - at), at);
        at = stop ? stop + 1 : end;
    }
}

static void put_again(const struct nvt_story *story, struct nvt_document *document)
{
    const struct nvt_report_input *input = story->input;
    nvt_document_heading(document, "How to reproduce it");
    for (size_t i = 0; i < input->run_count; i++) {
        const char *command = nvt_record_text(&input->runs[i]->env, "command");
        if (command && !is_published(input->runs[i]))
            nvt_document_command(document, command);
    }
    for (size_t i = 0; i < input->trace_count; i++) {
        const char *command = nvt_trace_meta(input->traces[i].trace, "command");
        if (command && !input->traces[i].runs)
            nvt_document_command(document, command);
    }
    nvt_document_command(document, story->command);
    nvt_document_text(document,
                      "nvtally plot draws the charts again, with the data and the gnuplot "
                      "script of each beside it; nvtally stats prints each table.");
}

/* --- together
 * ---------------------------------------------------------------------------------------- */

char *nvt_story_caption(const struct nvt_report_input *input, const char *what)
{
    struct nvt_table *table = nvt_report_table(&nvt_report_phases, input, what, NULL);
    char *caption = table ? nvt_render_caption(table) : NULL;
    nvt_table_free(table);
    return caption;
}

/* The workloads, each once, or else the names of the files. malloc'ed, NULL when out of memory. */
static char *title_of(const struct nvt_report_input *input)
{
    struct nvt_buffer text = {0};
    const char *last = NULL;
    int failed = nvt_buffer_printf(&text, "nvtally report: ");
    size_t start = text.size;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count && text.size < 200; k++) {
            const char *workload = nvt_record_text(&input->runs[i]->records[k], "workload");
            if (!workload || (last && !strcmp(last, workload)))
                continue;
            failed |= nvt_buffer_printf(&text, "%s%s", text.size > start ? ", " : "", workload);
            last = workload;
        }
    for (size_t i = 0; i < input->trace_count && text.size < 200; i++) {
        const char *path = input->traces[i].trace->path, *slash = strrchr(path, '/');
        if (!input->traces[i].runs)
            failed |= nvt_buffer_printf(&text, "%s%s", text.size > start ? ", " : "",
                                        slash ? slash + 1 : path);
    }
    if (!has_measured(input) && input->run_count)
        failed |= nvt_buffer_printf(&text, " (published figures)");
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

int nvt_story_tell(const struct nvt_story *story, struct nvt_document *document,
                   struct nvt_error *err)
{
    document->title = story->title ? strdup(story->title) : title_of(story->input);
    put_where(story, document);
    put_results(story, document);
    put_pictures(story, document);
    put_trace_reports(story, document);
    put_reference(story, document);
    if (put_findings(story, document, err))
        return -1;
    put_notes(story, document);
    put_again(story, document);
    return document->failed || !document->title ? nvt_fail(err, "out of memory") : 0;
}
