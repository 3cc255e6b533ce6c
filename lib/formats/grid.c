/* Tables between lines of + - |, as the write-ups have them. */
#include <stdlib.h>

#include "../brief.h"
#include "../render.h"
#include "../render_aligned.h"

static void rule(const struct nvt_table *table, const size_t *widths, char character, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        putc('+', out);
        nvt_aligned_fill(character, widths[column] + 2, out);
    }
    fputs("+\n", out);
}

static void line(const struct nvt_table *table, size_t row, const size_t *widths, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        fputs("| ", out);
        nvt_aligned_cell(table, row, column, widths[column], 0, out);
        putc(' ', out);
    }
    fputs("|\n", out);
}

static int render(const struct nvt_brief *brief, FILE *out)
{
    const struct nvt_table *table = brief->table;
    size_t *widths = nvt_aligned_widths(table);
    char *caption = nvt_brief_caption(brief);
    if (widths && caption) {
        rule(table, widths, '-', out);
        line(table, SIZE_MAX, widths, out);
        rule(table, widths, '=', out);
        for (size_t row = 0; row < nvt_table_rows(table); row++) {
            line(table, row, widths, out);
            rule(table, widths, '-', out);
        }
        nvt_render_visible(caption, out);
        if (*caption)
            putc('\n', out);
    }
    int failed = !widths || !caption;
    free(widths);
    free(caption);
    return failed ? -1 : 0;
}

int nvt_render_grid(const struct nvt_tables *tables, FILE *out)
{
    return nvt_brief_each(tables, render, out);
}
