/* Aligned columns, a line of dashes under the headings: what nsys prints on a terminal. */
#include <stdlib.h>

#include "render.h"
#include "render_aligned.h"

static void line(const struct nvt_table *table, size_t row, const size_t *widths, FILE *out)
{
    size_t columns = nvt_table_columns(table);
    for (size_t column = 0; column < columns; column++) {
        fputs(column ? "  " : "", out);
        nvt_aligned_cell(table, row, column, widths[column], column + 1 == columns, out);
    }
    putc('\n', out);
}

static int render(const struct nvt_table *table, FILE *out)
{
    size_t *widths = nvt_aligned_widths(table);
    char *caption = nvt_render_caption(table);
    if (widths && caption) {
        nvt_render_visible(caption, out);
        fprintf(out, "%s[%s]\n\n", *caption ? "  " : "", nvt_table_name(table));
        line(table, SIZE_MAX, widths, out);
        for (size_t column = 0; column < nvt_table_columns(table); column++) {
            fputs(column ? "  " : "", out);
            nvt_aligned_fill('-', widths[column], out);
        }
        putc('\n', out);
        for (size_t row = 0; row < nvt_table_rows(table); row++)
            line(table, row, widths, out);
    }
    int failed = !widths || !caption;
    free(widths);
    free(caption);
    return failed ? -1 : 0;
}

int nvt_render_column(const struct nvt_tables *tables, FILE *out)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (i)
            fputs("\n", out);
        if (render(tables->items[i], out))
            return -1;
    }
    return 0;
}
