#include "render_aligned.h"

#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "text.h"

size_t *nvt_aligned_widths(const struct nvt_table *table)
{
    size_t columns = nvt_table_columns(table);
    size_t *widths = calloc(columns ? columns : 1, sizeof(*widths));
    char number[NVT_NUMBER_MAX];
    for (size_t column = 0; widths && column < columns; column++) {
        widths[column] = nvt_text_width(nvt_render_cell(table, SIZE_MAX, column, number));
        for (size_t row = 0; row < nvt_table_rows(table); row++) {
            size_t width = nvt_text_width(nvt_render_cell(table, row, column, number));
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
    const char *text = nvt_render_cell(table, row, column, number);
    int right = nvt_table_column(table, column)->type != NVT_TEXT;
    size_t padding = width - nvt_text_width(text);
    if (right)
        nvt_aligned_fill(' ', padding, out);
    nvt_render_visible(text, out);
    if (!right && !ragged)
        nvt_aligned_fill(' ', padding, out);
}
