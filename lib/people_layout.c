#include "people_layout.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Texts are made narrower down to these: before columns are left out that are not spare, and at last. */
enum { COMFORTABLE = 28, NARROW = 18, NARROWEST = 8 };
/* Of numbers, so many columns stay longest: what a table is sorted by. */
enum { FIRST_NUMBERS = 2 };

/* --- natural widths --- */

static size_t unit_width(const char *cell)
{
    const char *blank = strrchr(cell, ' ');
    return blank ? nvt_text_width(blank + 1) : 0;
}

/* The widest cell, its unit apart: units stand below each other. */
static void measure(const struct nvt_people_layout *layout, struct nvt_people_column *column)
{
    const struct nvt_table *table = layout->table;
    char number[NVT_NUMBER_MAX];
    size_t rest = 0;
    const int has_unit = nvt_people_has_unit(table, column->column);
    column->is_text = nvt_table_column(table, column->column)->type == NVT_TEXT;
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        const char *cell = nvt_people_cell(table, row, column->column, &layout->kernels, number);
        size_t width = nvt_text_width(cell), unit = has_unit ? unit_width(cell) : 0;
        column->unit = unit > column->unit ? unit : column->unit;
        rest = width - unit > rest ? width - unit : rest;
    }
    column->width = rest + column->unit;
}

static int is_empty(const struct nvt_table *table, size_t column)
{
    const size_t rows = nvt_table_rows(table);
    for (size_t row = 0; row < rows; row++)
        if (!nvt_table_is_null(table, row, column))
            return 0;
    return rows > 0;
}

/* --- headings --- */

/* Where a heading is broken so that both lines are short; 0: it has one word. */
static size_t best_break(const char *heading)
{
    const size_t all = nvt_text_width(heading);
    size_t best = 0, least = SIZE_MAX, used = 0;
    for (const char *at = heading; (at = strchr(at, ' ')); at++) {
        char head[NVT_NUMBER_MAX];
        snprintf(head, sizeof(head), "%.*s", (int)(at - heading), heading);
        used = nvt_text_width(head);
        size_t width = used > all - used - 1 ? used : all - used - 1;
        if (width < least) {
            least = width;
            best = (size_t)(at - heading);
        }
    }
    return best;
}

static size_t heading_width(const struct nvt_people_column *column, const char *heading)
{
    char head[NVT_NUMBER_MAX];
    if (!column->head)
        return nvt_text_width(heading);
    snprintf(head, sizeof(head), "%.*s", (int)column->head, heading);
    size_t first = nvt_text_width(head), second = nvt_text_width(heading + column->head + 1);
    return first > second ? first : second;
}

/* Make columns as wide as their cells and headings. `are_broken`: headings wider than the cells get two lines. */
static void set_widths(struct nvt_people_layout *layout, int are_broken)
{
    char text[NVT_NUMBER_MAX];
    for (size_t i = 0; i < layout->count; i++) {
        struct nvt_people_column *column = &layout->columns[i];
        const size_t cells = column->width;
        const char *heading = nvt_people_heading(layout->table, column->column, text, sizeof(text));
        if (are_broken && nvt_text_width(heading) > cells)
            column->head = best_break(heading);
        size_t width = heading_width(column, heading);
        column->width = width > cells ? width : cells;
    }
}

/* --- fitting --- */

static size_t shown_width(const struct nvt_people_column *column, size_t most)
{
    return column->is_text && column->width > most ? most : column->width;
}

/* Columns of the terminal that a row takes with texts of at most `most`. */
static size_t row_width(const struct nvt_people_layout *layout, size_t most)
{
    size_t width = 0;
    for (size_t i = 0; i < layout->count; i++)
        width += shown_width(&layout->columns[i], most) + (i ? NVT_PEOPLE_BETWEEN : 0);
    return width;
}

static void leave_out(struct nvt_people_layout *layout, size_t at, enum nvt_people_absence why)
{
    layout->absent[layout->columns[at].column] = (unsigned char)why;
    layout->count--;
    memmove(&layout->columns[at], &layout->columns[at + 1],
            (layout->count - at) * sizeof(*layout->columns));
}

static unsigned flags_of(const struct nvt_people_layout *layout, size_t at)
{
    return nvt_table_column(layout->table, layout->columns[at].column)->flags;
}

/* Whether a text, or a number that names something, is the same in all rows, of which there are several. */
static int is_same(const struct nvt_people_layout *layout, size_t at)
{
    char one[NVT_NUMBER_MAX], other[NVT_NUMBER_MAX];
    const struct nvt_table *table = layout->table;
    const size_t column = layout->columns[at].column, rows = nvt_table_rows(table);
    if (rows < 2 || !(layout->columns[at].is_text || flags_of(layout, at) & NVT_PLAIN) ||
        flags_of(layout, at) & NVT_JUDGED)
        return 0;
    const char *first = nvt_people_cell(table, 0, column, &layout->kernels, one);
    for (size_t row = 1; row < rows; row++)
        if (strcmp(first, nvt_people_cell(table, row, column, &layout->kernels, other)) != 0)
            return 0;
    return 1;
}

/* Neither what rows are about (the first column, the last text) nor a verdict nor the first numbers. */
static int is_expendable(const struct nvt_people_layout *layout, size_t at)
{
    size_t last = SIZE_MAX, numbers = 0;
    for (size_t i = 0; i < layout->count; i++)
        last = layout->columns[i].is_text && !(flags_of(layout, i) & NVT_JUDGED) ? i : last;
    for (size_t i = 0; i < at; i++)
        numbers += !layout->columns[i].is_text;
    return at && at != last && !(flags_of(layout, at) & NVT_JUDGED) &&
           (layout->columns[at].is_text || numbers >= FIRST_NUMBERS);
}

/* The column to be left out next, from the right; SIZE_MAX: none of that kind. */
static size_t next_same(const struct nvt_people_layout *layout)
{
    for (size_t i = layout->count; layout->count > 1 && i-- > 0;)
        if (is_same(layout, i))
            return i;
    return SIZE_MAX;
}

static size_t next_spare(const struct nvt_people_layout *layout)
{
    for (size_t i = layout->count; i-- > 1;)
        if (flags_of(layout, i) & NVT_SPARE)
            return i;
    return SIZE_MAX;
}

static size_t next_expendable(const struct nvt_people_layout *layout)
{
    for (size_t i = layout->count; i-- > 1;)
        if (is_expendable(layout, i))
            return i;
    return SIZE_MAX;
}

static size_t next_any(const struct nvt_people_layout *layout)
{
    return layout->count > 1 ? layout->count - 1 : SIZE_MAX;
}

/* Leave columns out until rows fit whose texts have at most `most`. */
static void leave_out_until(struct nvt_people_layout *layout, size_t room, size_t most,
                            size_t (*next)(const struct nvt_people_layout *layout),
                            enum nvt_people_absence why)
{
    size_t at;
    while (row_width(layout, most) > room && (at = next(layout)) != SIZE_MAX)
        leave_out(layout, at, why);
}

/* Take what is too much of the widest texts, one by one. */
static void narrow(struct nvt_people_layout *layout, size_t room)
{
    for (size_t width = row_width(layout, SIZE_MAX); width > room; width--) {
        struct nvt_people_column *widest = NULL;
        for (size_t i = 0; i < layout->count; i++) {
            struct nvt_people_column *column = &layout->columns[i];
            if (column->is_text && column->width > NARROWEST &&
                (!widest || column->width > widest->width))
                widest = column;
        }
        if (!widest)
            return;
        widest->width--;
    }
}

static void fit(struct nvt_people_layout *layout, size_t room)
{
    leave_out_until(layout, room, COMFORTABLE, next_same, NVT_PEOPLE_SAME);
    leave_out_until(layout, room, COMFORTABLE, next_spare, NVT_PEOPLE_LEFT_OUT);
    leave_out_until(layout, room, NARROW, next_expendable, NVT_PEOPLE_LEFT_OUT);
    leave_out_until(layout, room, NARROWEST, next_any, NVT_PEOPLE_LEFT_OUT);
    narrow(layout, room);
}

/* Of those that the table itself has; the names of a tree, which it has not, are cut in their middle. */
static int add_texts(struct nvt_people_layout *layout)
{
    const size_t rows = nvt_table_rows(layout->table);
    char own[NVT_NUMBER_MAX];
    for (size_t i = 0; i < layout->count; i++) {
        struct nvt_people_column *column = &layout->columns[i];
        for (size_t row = 0; column->is_text && row < rows; row++) {
            const char *cell =
                nvt_people_cell(layout->table, row, column->column, &layout->kernels, own);
            if (cell != own && nvt_shorten_add(&column->texts, cell, column->width))
                return -1;
        }
        nvt_shorten_finish(&column->texts);
    }
    return 0;
}

int nvt_people_layout_make(struct nvt_people_layout *layout, const struct nvt_table *table,
                           size_t room, int whole_names)
{
    const size_t columns = nvt_table_columns(table);
    *layout = (struct nvt_people_layout){.table = table,
                                         .columns = calloc(columns + 1, sizeof(*layout->columns)),
                                         .absent = calloc(columns + 1, 1)};
    if (!layout->columns || !layout->absent ||
        (!whole_names && nvt_people_kernels(table, &layout->kernels)))
        return -1;
    for (size_t column = 0; column < columns; column++) {
        if (!(nvt_table_column(table, column)->flags & NVT_ASKED) && is_empty(table, column)) {
            layout->absent[column] = NVT_PEOPLE_EMPTY;
            continue;
        }
        struct nvt_people_column *shown = &layout->columns[layout->count++];
        shown->column = column;
        measure(layout, shown);
    }
    set_widths(layout, 0);
    if (!room || row_width(layout, SIZE_MAX) <= room)
        return 0;
    for (size_t i = 0; i < layout->count; i++)
        measure(layout, &layout->columns[i]);
    set_widths(layout, 1);
    fit(layout, room);
    for (size_t i = 0; i < layout->count; i++)
        layout->has_two_lines |= layout->columns[i].head > 0;
    return add_texts(layout);
}

void nvt_people_layout_free(struct nvt_people_layout *layout)
{
    for (size_t i = 0; layout->columns && i < layout->count; i++)
        nvt_shorten_free(&layout->columns[i].texts);
    nvt_kernel_labels_free(&layout->kernels);
    free(layout->columns);
    free(layout->absent);
    *layout = (struct nvt_people_layout){0};
}
