/*
 * Aligned columns, a line of dashes under the headings: what nsys prints on a terminal. What all
 * configurations of a table have in common is said once, in the caption. For a terminal of a known
 * width the longest texts are shortened in the middle until rows fit into it; numbers never are.
 */
#include <stdlib.h>
#include <string.h>

#include "../buffer.h"
#include "../render.h"
#include "../render_aligned.h"
#include "../text.h"
#include "../words.h"

/* No column of texts is made narrower than this. */
enum { NARROWEST = 12, BETWEEN = 2 };

/* A table as it is printed. */
struct view {
    const struct nvt_table *table;
    size_t *widths;
    size_t configurations; /* column whose common words are in the caption, SIZE_MAX: none */
    int all_common;        /* nothing is left of them: the column is left out */
};

static const char *row_text(const void *rows, size_t index)
{
    const struct view *view = rows;
    return nvt_table_text(view->table, index, view->configurations);
}

/* The words of a row's configuration that are in all rows, or those that are not, malloc'ed. */
static char *pick(const struct view *view, size_t row, int common)
{
    const struct nvt_words words = {view, nvt_table_rows(view->table), row_text};
    const char *text = row_text(view, row);
    size_t room = strlen(text) + 2;
    char *out = malloc(room);
    if (out)
        nvt_words_pick(&words, text, common, out, room);
    return out;
}

/* What a cell shows; *own is to be freed. NULL when out of memory. */
static const char *cell(const struct view *view, size_t row, size_t column,
                        char number[NVT_NUMBER_MAX], char **own)
{
    *own = NULL;
    if (column != view->configurations || row == SIZE_MAX)
        return nvt_render_cell(view->table, row, column, number);
    return *own = pick(view, row, 0);
}

static int is_shown(const struct view *view, size_t column)
{
    return column != view->configurations || !view->all_common;
}

/* A column "configuration" of words key=value, of which some are in all of several rows. */
static int find_configurations(struct view *view)
{
    size_t rows = nvt_table_rows(view->table);
    size_t column = nvt_table_find(view->table, "configuration");
    view->configurations = SIZE_MAX;
    if (rows < 2 || column == SIZE_MAX || nvt_table_column(view->table, column)->type != NVT_TEXT)
        return 0;
    view->configurations = column;
    char *common = pick(view, 0, 1);
    int failed = !common, has_common = common && strchr(common, '=');
    view->all_common = has_common;
    for (size_t row = 0; row < rows && has_common && view->all_common; row++) {
        char *rest = pick(view, row, 0);
        failed |= !rest;
        view->all_common = rest && !*rest;
        free(rest);
    }
    if (!has_common)
        view->configurations = SIZE_MAX;
    free(common);
    return failed ? -1 : 0;
}

static int measure(struct view *view)
{
    size_t columns = nvt_table_columns(view->table);
    char number[NVT_NUMBER_MAX], *own;
    view->widths = nvt_aligned_widths(view->table);
    if (!view->widths || view->configurations == SIZE_MAX)
        return view->widths ? 0 : -1;
    size_t *width = &view->widths[view->configurations];
    *width = 0;
    for (size_t row = 0; row <= nvt_table_rows(view->table) && columns; row++) {
        const char *text = cell(view, row ? row - 1 : SIZE_MAX, view->configurations, number, &own);
        size_t here = text ? nvt_text_width(text) : 0;
        *width = here > *width ? here : *width;
        free(own);
        if (!text)
            return -1;
    }
    return 0;
}

/* The column of texts that takes the most, and may take less; SIZE_MAX: none. */
static size_t widest(const struct view *view)
{
    size_t found = SIZE_MAX;
    for (size_t column = 0; column < nvt_table_columns(view->table); column++)
        if (nvt_table_column(view->table, column)->type == NVT_TEXT && is_shown(view, column) &&
            view->widths[column] > NARROWEST &&
            (found == SIZE_MAX || view->widths[column] > view->widths[found]))
            found = column;
    return found;
}

static void fit(struct view *view, size_t room)
{
    size_t taken = 0, column;
    for (column = 0; column < nvt_table_columns(view->table); column++)
        taken += is_shown(view, column) ? view->widths[column] + (taken ? BETWEEN : 0) : 0;
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

static int put_cell(const struct view *view, size_t row, size_t column, int ragged, FILE *out)
{
    char number[NVT_NUMBER_MAX], *own;
    const char *text = cell(view, row, column, number, &own);
    size_t width = view->widths[column], taken = text ? nvt_text_width(text) : 0;
    int right = nvt_table_column(view->table, column)->type != NVT_TEXT;
    size_t padding = width > taken ? width - taken : 0;
    if (!text)
        return -1;
    if (right)
        nvt_aligned_fill(' ', padding, out);
    if (taken > width)
        put_shortened(text, width, out);
    else
        nvt_render_visible(text, out);
    if (!right && !ragged)
        nvt_aligned_fill(' ', padding, out);
    free(own);
    return 0;
}

static int line(const struct view *view, size_t row, FILE *out)
{
    size_t columns = nvt_table_columns(view->table), last = columns;
    int failed = 0, is_first = 1;
    while (last > 0 && !is_shown(view, last - 1))
        last--;
    for (size_t column = 0; column < last && !failed; column++) {
        if (!is_shown(view, column))
            continue;
        fputs(is_first ? "" : "  ", out);
        failed = put_cell(view, row, column, column + 1 == last, out);
        is_first = 0;
    }
    putc('\n', out);
    return failed;
}

static void rule(const struct view *view, FILE *out)
{
    int is_first = 1;
    for (size_t column = 0; column < nvt_table_columns(view->table); column++) {
        if (!is_shown(view, column))
            continue;
        fputs(is_first ? "" : "  ", out);
        nvt_aligned_fill('-', view->widths[column], out);
        is_first = 0;
    }
    putc('\n', out);
}

static int caption(const struct view *view, FILE *out)
{
    char *text = nvt_render_caption(view->table);
    char *common = view->configurations == SIZE_MAX ? NULL : pick(view, 0, 1);
    int failed = !text || (view->configurations != SIZE_MAX && !common);
    if (!failed) {
        nvt_render_visible(text, out);
        fprintf(out, "%s[%s]\n", *text ? "  " : "", nvt_table_name(view->table));
    }
    if (!failed && common) {
        fputs("In every row: ", out);
        nvt_render_visible(common, out);
        putc('\n', out);
    }
    putc('\n', out);
    free(text);
    free(common);
    return failed;
}

static int render(const struct nvt_table *table, const struct nvt_tables *tables, FILE *out)
{
    struct view view = {.table = table, .configurations = SIZE_MAX};
    int failed = (!tables->is_wide && find_configurations(&view)) || measure(&view);
    if (!failed && tables->terminal && !tables->is_wide)
        fit(&view, tables->terminal);
    failed = failed || caption(&view, out) || line(&view, SIZE_MAX, out);
    if (!failed)
        rule(&view, out);
    for (size_t row = 0; row < nvt_table_rows(table) && !failed; row++)
        failed = line(&view, row, out);
    free(view.widths);
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
