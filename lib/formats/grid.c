/* Tables between lines of + - |, as the write-ups have them; on a terminal as wide as that, as column's. */
#include <stdlib.h>

#include "../compact_table.h"
#include "../render.h"
#include "../render_aligned.h"

/* Columns of the terminal: "| a | b |". */
enum { BETWEEN = 3, AROUND = 4 };

static void rule(const struct nvt_aligned *view, char character, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        putc('+', out);
        nvt_aligned_fill(character, view->widths[column] + 2, out);
    }
    fputs("+\n", out);
}

static void line(const struct nvt_aligned *view, size_t row, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        fputs("| ", out);
        nvt_aligned_cell(view, row, column, 0, out);
        putc(' ', out);
    }
    fputs("|\n", out);
}

static int render_grid(const struct nvt_compact_table *compact, const struct nvt_tables *tables,
                       FILE *out)
{
    struct nvt_aligned view;
    const size_t room = tables->is_wide ? 0 : tables->terminal;
    char *caption = nvt_compact_caption(compact);
    int failed = nvt_aligned_make(&view, compact->table, room, BETWEEN, AROUND) || !caption;
    if (!failed) {
        rule(&view, '-', out);
        line(&view, SIZE_MAX, out);
        rule(&view, '=', out);
        for (size_t row = 0; row < nvt_table_rows(compact->table); row++) {
            line(&view, row, out);
            rule(&view, '-', out);
        }
        nvt_render_visible(caption, out);
        if (*caption)
            putc('\n', out);
    }
    nvt_aligned_free(&view);
    free(caption);
    return failed ? -1 : 0;
}

int nvt_render_grid(const struct nvt_tables *tables, FILE *out)
{
    return nvt_compact_each(tables, render_grid, out);
}
