#include "render_aligned.h"

#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "text.h"

/* The cell's text: in place for a text column, else in `number`. */
static const char *cell_text(const struct nvt_table *table, size_t row, size_t column,
                             char number[NVT_NUMBER_MAX])
{
    const struct nvt_column_spec *spec = nvt_table_column(table, column);
    if (row == SIZE_MAX)
        return nvt_render_heading(spec, number, NVT_NUMBER_MAX);
    if (spec->type == NVT_TEXT)
        return nvt_table_text(table, row, column);
    return nvt_render_number(table, row, column, 1, number);
}

size_t *nvt_aligned_widths(const struct nvt_table *table)
{
    size_t columns = nvt_table_columns(table);
    size_t *widths = calloc(columns ? columns : 1, sizeof(*widths));
    char number[NVT_NUMBER_MAX];
    for (size_t column = 0; widths && column < columns; column++) {
        widths[column] = nvt_text_width(cell_text(table, SIZE_MAX, column, number));
        for (size_t row = 0; row < nvt_table_rows(table); row++) {
            size_t width = nvt_text_width(cell_text(table, row, column, number));
            if (width > widths[column])
                widths[column] = width;
        }
    }
    return widths;
}

void nvt_aligned_fill(char character, size_t count, FILE *out)
{
    while (count--)
        putc(character, out);
}

void nvt_aligned_cell(const struct nvt_table *table, size_t row, size_t column, size_t width,
                      int ragged, FILE *out)
{
    char number[NVT_NUMBER_MAX];
    const char *text = cell_text(table, row, column, number);
    int right = nvt_table_column(table, column)->type != NVT_TEXT;
    size_t padding = width - nvt_text_width(text);
    if (right)
        nvt_aligned_fill(' ', padding, out);
    nvt_render_visible(text, out);
    if (!right && !ragged)
        nvt_aligned_fill(' ', padding, out);
}
