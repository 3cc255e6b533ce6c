/*
 * Tables of reports as a document shows them: without what says nothing, or the same in every row.
 */
#include <stdlib.h>
#include <string.h>

#include "../analyze/reports/report.h"
#include "../lib/compact_table.h"
#include "../lib/buffer.h"
#include "story_sections.h"

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
    const struct nvt_column *spec = nvt_table_column(table, column);
    if (spec->type != NVT_TEXT || nvt_table_rows(table) < 2 || !strcmp(spec->heading, "source") ||
        !strcmp(spec->heading, "status"))
        return 0;
    for (size_t row = 1; row < nvt_table_rows(table); row++)
        if (strcmp(nvt_table_text(table, row, column), nvt_table_text(table, 0, column)))
            return 0;
    return 1;
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
    struct nvt_column *specs = calloc(columns + 1, sizeof(*specs));
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
            nvt_table_more(table, nvt_table_cell(from, row, which[column]));
    }
out:
    free(specs);
    free(which);
    return table;
}

/* A table's first rows without what all configurations have in common, as tables are printed. */
static struct nvt_table *shorten_all(const struct nvt_table *from, size_t most,
                                     struct nvt_buffer *note)
{
    struct nvt_compact_table compact;
    struct nvt_table *table = NULL;
    if (nvt_compact_make(&compact, from, 2))
        return NULL;
    if (!compact.common || !add_sentence(note, "configuration", compact.common))
        table = shorten(compact.table, most, note);
    nvt_compact_free(&compact);
    return table;
}

void nvt_story_table(struct nvt_document *document, const struct nvt_table *table, size_t most)
{
    struct nvt_buffer note = {0};
    size_t rows = nvt_table_rows(table);
    struct nvt_table *shown = shorten_all(table, most, &note);
    int failed = !shown || nvt_table_failed(shown, NULL);
    if (!failed && rows > most)
        failed = nvt_buffer_printf(&note, "%sThe first %zu of %zu rows", note.size ? ". " : "",
                                   most, rows);
    /* A table of the document's own is no report. Names in documents are plain. */
    const struct nvt_report *report = nvt_report_find(nvt_table_name(table));
    if (!failed && rows > most && report)
        failed = nvt_buffer_printf(&note, ": nvtally stats -r %s%s has all", report->name,
                                   report->needs & NVT_NEEDS_RUNS ? "" : " --plain-names");
    if (failed || nvt_buffer_append(&note, "", 1)) {
        nvt_table_free(shown);
        document->failed = 1;
    } else {
        nvt_document_table(document, shown, note.size > 1 ? (const char *)note.data : NULL);
    }
    nvt_buffer_free(&note);
}
