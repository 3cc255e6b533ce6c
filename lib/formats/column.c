/*
 * Aligned columns, a line of dashes under the headings: what nsys prints on a terminal. What all
 * configurations of a table have in common is said once, in the caption. For a terminal of a known
 * width the longest texts are shortened in the middle until rows fit into it; numbers never are.
 */
#include <stdlib.h>
#include <string.h>

#include "../brief.h"
#include "../render.h"
#include "../render_aligned.h"
#include "../text.h"

/* No column of texts is made narrower than this. */
enum { NARROWEST = 12, BETWEEN = 2 };

/* A table as it is printed. */
struct view {
    const struct nvt_table *table;
    size_t *widths;
};

/* The column of texts that takes the most, and may take less; SIZE_MAX: none. */
static size_t widest(const struct view *view)
{
    size_t found = SIZE_MAX;
    for (size_t column = 0; column < nvt_table_columns(view->table); column++)
        if (nvt_table_column(view->table, column)->type == NVT_TEXT &&
            view->widths[column] > NARROWEST &&
            (found == SIZE_MAX || view->widths[column] > view->widths[found]))
            found = column;
    return found;
}

static void fit(struct view *view, size_t room)
{
    size_t taken = 0, column;
    for (column = 0; column < nvt_table_columns(view->table); column++)
        taken += view->widths[column] + (taken ? BETWEEN : 0);
    for (; taken > room && (column = widest(view)) != SIZE_MAX; taken--)
        view->widths[column]--;
}

/* The text without its middle: `width` columns at most, of which one is "…". */
static void put_shortened(const char *text, size_t width, FILE *out)
{
    size_t left = nvt_text_width(text), head = (width - 1) / 2, tail = width - 1 - head, put = 0;
    int cut = 0;
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        character = nvt_char_visible(character);
        size_t here = (size_t)nvt_char_width(character);
        if (!cut && put + here > head) {
            nvt_utf8_write(0x2026, out);
            cut = 1;
        }
        if (!cut || left <= tail)
            nvt_utf8_write(character, out);
        put += here;
        left -= here;
    }
}

static void put_cell(const struct view *view, size_t row, size_t column, int ragged, FILE *out)
{
    char number[NVT_NUMBER_MAX];
    const char *text = nvt_render_cell(view->table, row, column, number);
    size_t width = view->widths[column], taken = nvt_text_width(text);
    int right = nvt_table_column(view->table, column)->type != NVT_TEXT;
    size_t padding = width > taken ? width - taken : 0;
    if (right)
        nvt_aligned_fill(' ', padding, out);
    if (taken > width)
        put_shortened(text, width, out);
    else
        nvt_render_visible(text, out);
    if (!right && !ragged)
        nvt_aligned_fill(' ', padding, out);
}

static void line(const struct view *view, size_t row, FILE *out)
{
    size_t columns = nvt_table_columns(view->table);
    for (size_t column = 0; column < columns; column++) {
        fputs(column ? "  " : "", out);
        put_cell(view, row, column, column + 1 == columns, out);
    }
    putc('\n', out);
}

static void rule(const struct view *view, FILE *out)
{
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        fputs(column ? "  " : "", out);
        nvt_aligned_fill('-', view->widths[column], out);
    }
    putc('\n', out);
}

static int put_caption(const struct nvt_brief *brief, FILE *out)
{
    char *text = nvt_render_caption(brief->table);
    if (!text)
        return -1;
    nvt_render_visible(text, out);
    fprintf(out, "%s[%s]\n", *text ? "  " : "", nvt_table_name(brief->table));
    free(text);
    if (brief->common) {
        fputs("In every row: ", out);
        nvt_render_visible(brief->common, out);
        putc('\n', out);
    }
    putc('\n', out);
    return 0;
}

static int render(const struct nvt_table *table, const struct nvt_tables *tables, FILE *out)
{
    struct nvt_brief brief;
    if (nvt_brief_make(&brief, table, tables->is_wide ? SIZE_MAX : 2))
        return -1;
    struct view view = {brief.table, nvt_aligned_widths(brief.table)};
    int failed = !view.widths || put_caption(&brief, out);
    if (!failed && tables->terminal && !tables->is_wide)
        fit(&view, tables->terminal);
    if (!failed) {
        line(&view, SIZE_MAX, out);
        rule(&view, out);
    }
    for (size_t row = 0; row < nvt_table_rows(brief.table) && !failed; row++)
        line(&view, row, out);
    free(view.widths);
    nvt_brief_free(&brief);
    return failed ? -1 : 0;
}

int nvt_render_column(const struct nvt_tables *tables, FILE *out)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (i)
            fputs("\n", out);
        if (render(tables->items[i], tables, out))
            return -1;
    }
    return 0;
}
