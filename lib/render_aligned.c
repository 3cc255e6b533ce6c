#include "render_aligned.h"

#include <stdlib.h>

#include "render.h"
#include "text.h"

/* No column of texts is made narrower than this. */
enum { NARROWEST = 12 };

static int is_text(const struct nvt_aligned *view, size_t column)
{
    return nvt_table_column(view->table, column)->type == NVT_TEXT;
}

static void measure(struct nvt_aligned *view)
{
    char number[NVT_NUMBER_MAX];
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        view->widths[column] =
            nvt_text_width(nvt_render_cell(view->table, SIZE_MAX, column, number));
        for (size_t row = 0; row < nvt_table_rows(view->table); row++) {
            size_t width = nvt_text_width(nvt_render_cell(view->table, row, column, number));
            if (width > view->widths[column])
                view->widths[column] = width;
        }
    }
}

/* The column of texts that takes the most, and may take less; SIZE_MAX: none. */
static size_t widest(const struct nvt_aligned *view)
{
    size_t found = SIZE_MAX;
    for (size_t column = 0; column < nvt_table_columns(view->table); column++)
        if (is_text(view, column) && view->widths[column] > NARROWEST &&
            (found == SIZE_MAX || view->widths[column] > view->widths[found]))
            found = column;
    return found;
}

static int fit(struct nvt_aligned *view, size_t room, size_t between, size_t around)
{
    const size_t columns = nvt_table_columns(view->table);
    size_t taken = around, column;
    for (column = 0; column < columns; column++)
        taken += view->widths[column] + (column ? between : 0);
    for (; taken > room && (column = widest(view)) != SIZE_MAX; taken--)
        view->widths[column]--;
    for (column = 0; column < columns; column++) {
        for (size_t row = 0; is_text(view, column) && row < nvt_table_rows(view->table); row++)
            if (nvt_shorten_add(&view->texts[column], nvt_table_text(view->table, row, column),
                                view->widths[column]))
                return -1;
        nvt_shorten_finish(&view->texts[column]);
    }
    return 0;
}

int nvt_aligned_make(struct nvt_aligned *view, const struct nvt_table *table, size_t room,
                     size_t between, size_t around)
{
    const size_t columns = nvt_table_columns(table) + 1;
    *view = (struct nvt_aligned){table, calloc(columns, sizeof(*view->widths)),
                                 calloc(columns, sizeof(*view->texts))};
    if (!view->widths || !view->texts)
        return -1;
    measure(view);
    return room ? fit(view, room, between, around) : 0;
}

void nvt_aligned_free(struct nvt_aligned *view)
{
    for (size_t column = 0; view->texts && column < nvt_table_columns(view->table); column++)
        nvt_shorten_free(&view->texts[column]);
    free(view->texts);
    free(view->widths);
}

void nvt_aligned_fill(char character, size_t count, FILE *out)
{
    while (count--)
        putc(character, out);
}

void nvt_aligned_cell(const struct nvt_aligned *view, size_t row, size_t column, int ragged,
                      FILE *out)
{
    char number[NVT_NUMBER_MAX];
    const char *text = nvt_render_cell(view->table, row, column, number);
    const int right = !is_text(view, column);
    const size_t width = view->widths[column];
    size_t taken = nvt_text_width(text);
    if (right)
        nvt_aligned_fill(' ', width - taken, out);
    if (taken > width)
        taken = nvt_shorten_put(&view->texts[column], text, width, out);
    else
        nvt_render_visible(text, out);
    if (!right && !ragged)
        nvt_aligned_fill(' ', width - taken, out);
}
