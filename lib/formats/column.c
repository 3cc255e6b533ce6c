/*
 * Aligned columns, a line of dashes under the headings: what nsys prints on a terminal. What all
 * configurations of a table have in common is said once, in the caption. For a terminal of a known
 * width the longest texts are shortened until rows fit into it.
 */
#include <stdlib.h>

#include "../compact_table.h"
#include "../render.h"
#include "../render_aligned.h"

enum { BETWEEN = 2 };

static void line(const struct nvt_aligned *view, size_t row, FILE *out)
{
    size_t columns = nvt_table_columns(view->table);
    for (size_t column = 0; column < columns; column++) {
        fputs(column ? "  " : "", out);
        nvt_aligned_cell(view, row, column, column + 1 == columns, out);
    }
    putc('\n', out);
}

static void rule(const struct nvt_aligned *view, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        fputs(column ? "  " : "", out);
        nvt_aligned_fill('-', view->widths[column], out);
    }
    putc('\n', out);
}

static int put_caption(const struct nvt_compact_table *compact, FILE *out)
{
    char *text = nvt_render_caption(compact->table);
    if (!text)
        return -1;
    nvt_render_visible(text, out);
    fprintf(out, "%s[%s]\n", *text ? "  " : "", nvt_table_name(compact->table));
    free(text);
    if (compact->common) {
        fputs("In every row: ", out);
        nvt_render_visible(compact->common, out);
        putc('\n', out);
    }
    putc('\n', out);
    return 0;
}

static int render_column(const struct nvt_table *table, const struct nvt_tables *tables, FILE *out)
{
    struct nvt_compact_table compact;
    if (nvt_compact_make(&compact, table, tables->is_wide ? SIZE_MAX : 2))
        return -1;
    struct nvt_aligned view;
    int failed = nvt_aligned_make(&view, compact.table, tables->is_wide ? 0 : tables->terminal,
                                  BETWEEN, 0) ||
                 put_caption(&compact, out);
    if (!failed) {
        line(&view, SIZE_MAX, out);
        rule(&view, out);
    }
    for (size_t row = 0; row < nvt_table_rows(compact.table) && !failed; row++)
        line(&view, row, out);
    nvt_aligned_free(&view);
    nvt_compact_free(&compact);
    return failed ? -1 : 0;
}

int nvt_render_column(const struct nvt_tables *tables, FILE *out)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (i)
            fputs("\n", out);
        if (render_column(tables->items[i], tables, out))
            return -1;
    }
    return 0;
}
