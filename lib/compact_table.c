#include "compact_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "words.h"

/* The column that words are taken out of. */
struct configurations {
    const struct nvt_table *table;
    size_t column;
};

static const char *row_text(const void *rows, size_t index)
{
    const struct configurations *from = rows;
    return nvt_table_text(from->table, index, from->column);
}

/* The words of a row's configuration that are in all rows, or those that are not, malloc'ed. */
static char *pick(const struct configurations *from, size_t row, int common)
{
    const struct nvt_words words = {from, nvt_table_rows(from->table), row_text};
    const char *text = row_text(from, row);
    size_t room = strlen(text) + 2;
    char *out = malloc(room);
    if (out)
        nvt_words_pick(&words, text, common, out, room);
    return out;
}

/* What is left of each row's configuration, NULL when out of memory; *are_empty: nothing of any. */
static char **rest_of(const struct configurations *from, int *are_empty)
{
    size_t rows = nvt_table_rows(from->table);
    char **rest = calloc(rows + 1, sizeof(*rest));
    *are_empty = 1;
    for (size_t row = 0; rest && row < rows; row++) {
        if (!(rest[row] = pick(from, row, 0))) {
            while (row)
                free(rest[--row]);
            free(rest);
            return NULL;
        }
        *are_empty &= !*rest[row];
    }
    return rest;
}

/* The table with `rest` in the column, or without it where that is NULL. */
static struct nvt_table *copy(const struct configurations *from, char *const *rest)
{
    const struct nvt_table *table = from->table;
    size_t columns = nvt_table_columns(table), kept = 0;
    struct nvt_column *specs = calloc(columns + 1, sizeof(*specs));
    for (size_t column = 0; specs && column < columns; column++)
        if (rest || column != from->column)
            specs[kept++] = *nvt_table_column(table, column);
    struct nvt_table *to =
        specs ? nvt_table_new(nvt_table_name(table), nvt_table_title(table), specs, kept) : NULL;
    free(specs);
    if (!to)
        return NULL;
    nvt_table_set_provenance(to, nvt_table_provenance(table));
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        nvt_table_add_row(to);
        for (size_t column = 0; column < columns; column++)
            if (column != from->column)
                nvt_table_more(to, nvt_table_cell(table, row, column));
            else if (rest)
                nvt_table_more(to, rest[row]);
    }
    return to;
}

int nvt_compact_make(struct nvt_compact_table *compact, const struct nvt_table *table, size_t least)
{
    const struct configurations from = {table, nvt_table_find(table, "configuration")};
    size_t rows = nvt_table_rows(table);
    int are_empty;
    *compact = (struct nvt_compact_table){.table = table};
    if (!rows || rows < least || from.column == SIZE_MAX ||
        nvt_table_column(table, from.column)->type != NVT_TEXT)
        return 0;
    char *common = pick(&from, 0, 1);
    if (!common || !strchr(common, '=')) {
        int failed = !common;
        free(common);
        return failed ? -1 : 0;
    }
    char **rest = rest_of(&from, &are_empty);
    if (rest)
        compact->own = copy(&from, are_empty ? NULL : rest);
    for (size_t row = 0; rest && row < rows; row++)
        free(rest[row]);
    free(rest);
    compact->common = common;
    compact->table = compact->own;
    if (compact->own && !nvt_table_failed(compact->own, NULL))
        return 0;
    nvt_compact_free(compact);
    return -1;
}

void nvt_compact_free(struct nvt_compact_table *compact)
{
    nvt_table_free(compact->own);
    free(compact->common);
    *compact = (struct nvt_compact_table){0};
}

char *nvt_compact_caption(const struct nvt_compact_table *compact)
{
    char *caption = nvt_render_caption(compact->table), *all = NULL;
    if (!caption || !compact->common)
        return caption;
    if (asprintf(&all, "%s%sIn every row: %s", caption, *caption ? ". " : "", compact->common) < 0)
        all = NULL;
    free(caption);
    return all;
}

int nvt_compact_each(const struct nvt_tables *tables,
                     int (*render)(const struct nvt_compact_table *compact,
                                   const struct nvt_tables *tables, FILE *out),
                     FILE *out)
{
    for (size_t i = 0; i < tables->count; i++) {
        struct nvt_compact_table compact;
        if (i)
            putc('\n', out);
        if (nvt_compact_make(&compact, tables->items[i], tables->is_wide ? SIZE_MAX : 1))
            return -1;
        int failed = render(&compact, tables, out);
        nvt_compact_free(&compact);
        if (failed)
            return -1;
    }
    return 0;
}
