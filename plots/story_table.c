/*
 * Tables of reports as a document shows them: without what says nothing, or the same in every row.
 */
#include <stdlib.h>
#include <string.h>

#include "../lib/buffer.h"
#include "story_parts.h"
#include "../lib/words.h"

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

static int add_sentence(struct nvt_buffer *note, const char *name, const char *value)
{
    return nvt_buffer_printf(note, "%s%s: %s", note->size ? "; " : "In every row ", name, value);
}

/* A column of texts, for nvt_words_pick. */
struct texts {
    const struct nvt_table *table;
    size_t column;
};

static const char *text_of(const void *rows, size_t index)
{
    const struct texts *texts = rows;
    return nvt_table_text(texts->table, index, texts->column);
}

/* Of configurations only what tells the rows apart stays in them; the rest goes into the note. */
static int put_configurations(struct nvt_table *to, size_t to_column, const struct nvt_table *from,
                              size_t column, struct nvt_buffer *note)
{
    const struct texts texts = {from, column};
    const struct nvt_words words = {&texts, nvt_table_rows(from), text_of};
    char text[1000];
    for (size_t row = 0; row < nvt_table_rows(to); row++) {
        nvt_words_pick(&words, nvt_table_text(from, row, column), 0, text, sizeof(text));
        nvt_table_set_text(to, row, to_column, *text ? text : "as below");
    }
    if (!nvt_words_pick(&words, nvt_table_text(from, 0, column), 1, text, sizeof(text)))
        return 0;
    return add_sentence(note, "configuration", text);
}

/* Whether a column holds configurations of which some words are the same in all rows. */
static int is_configuration(const struct nvt_table *table, size_t column)
{
    const struct nvt_column_spec *spec = nvt_table_column(table, column);
    return spec->type == NVT_TEXT && nvt_table_rows(table) > 1 &&
           !strcmp(spec->heading, "configuration");
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
            if (!is_configuration(from, which[column]))
                nvt_table_copy_cell(table, row, column, from, row, which[column]);
    }
    for (size_t column = 0; table && column < kept; column++)
        if (is_configuration(from, which[column]) &&
            put_configurations(table, column, from, which[column], note)) {
            nvt_table_free(table);
            table = NULL;
        }
out:
    free(specs);
    free(which);
    return table;
}

void nvt_story_table(struct nvt_document *document, const struct nvt_table *table, size_t most)
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
