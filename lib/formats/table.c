/*
 * Tables for people: a title, headings above a rule, cells with three or four digits and a unit. On a terminal no line is wider
 * than that (people_layout.h). Where the numbers come from is said once, in front of all tables that have it in common; so is
 * what all configurations, or all rows, have.
 */
#include <stdlib.h>
#include <string.h>

#include "../buffer.h"
#include "../compact_table.h"
#include "../count_of.h"
#include "../people_layout.h"
#include "../render.h"
#include "../terminal.h"
#include "../text.h"
#include "../wrap.h"

/* What all tables are written with. */
struct writing {
    const struct nvt_tables *tables;
    struct nvt_screen screen;
    FILE *out;
};

static void put_faint(const struct writing *writing, const char *text)
{
    nvt_paint(&writing->screen, NVT_PAINT_FAINT, writing->out);
    (void)nvt_wrap(text, 0, 2, writing->screen.width, writing->out);
    nvt_paint(&writing->screen, NVT_PAINT_NONE, writing->out);
    putc('\n', writing->out);
}

/* --- where the numbers come from --- */

/* 0, or -1 when out of memory. */
static int put_origin(const struct writing *writing, const struct nvt_table *table)
{
    const struct nvt_provenance *from = nvt_table_provenance(table);
    const char *const facts[] = {from->device, from->backend, from->date, from->condition};
    struct nvt_buffer text = {0};
    int failed = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(facts); i++)
        if (facts[i] && *facts[i])
            failed |= nvt_buffer_printf(&text, "%s%s", text.size ? " · " : "", facts[i]);
    if (text.size && !failed)
        put_faint(writing, (const char *)text.data);
    nvt_buffer_free(&text);
    return failed ? -1 : 0;
}

static int is_same_text(const char *a, const char *b)
{
    return (!a || !b) ? a == b : !strcmp(a, b);
}

static int have_same_origin(const struct nvt_tables *tables)
{
    for (size_t i = 1; i < tables->count; i++) {
        const struct nvt_provenance *a = nvt_table_provenance(tables->items[0]);
        const struct nvt_provenance *b = nvt_table_provenance(tables->items[i]);
        if (!is_same_text(a->backend, b->backend) || !is_same_text(a->device, b->device) ||
            !is_same_text(a->date, b->date) || !is_same_text(a->condition, b->condition))
            return 0;
    }
    return 1;
}

/* --- one table --- */

static void put_title(const struct writing *writing, const struct nvt_table *table)
{
    const char *title = nvt_table_title(table), *name = nvt_table_name(table);
    const size_t width = writing->screen.width;
    const int is_behind = nvt_text_width(title) + nvt_text_width(name) + 4 <= width || !width;
    nvt_paint(&writing->screen, NVT_PAINT_TITLE, writing->out);
    if (is_behind)
        nvt_render_visible(title, writing->out);
    else
        (void)nvt_wrap(title, 0, 2, width, writing->out);
    nvt_paint(&writing->screen, NVT_PAINT_NONE, writing->out);
    nvt_paint(&writing->screen, NVT_PAINT_FAINT, writing->out);
    fprintf(writing->out, "%s[%s]", !*title ? "" : is_behind ? "  " : "\n", name);
    nvt_paint(&writing->screen, NVT_PAINT_NONE, writing->out);
    putc('\n', writing->out);
}

static void put_blanks(const struct writing *writing, size_t count)
{
    fprintf(writing->out, "%*s", (int)count, "");
}

/* A text, without its middle where it is too wide. Returns how many columns it took. */
static size_t put_fitting(const struct nvt_shorten *texts, const char *text, size_t room, FILE *out)
{
    const size_t width = nvt_text_width(text);
    if (width > room)
        return nvt_shorten_put(texts, text, room, out);
    nvt_render_visible(text, out);
    return width;
}

/* One of the two lines of the headings. */
static void put_headings(const struct writing *writing, const struct nvt_people_layout *layout,
                         int line)
{
    /* blanks that are written in front of the next text only, so that no line ends with them */
    size_t behind = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct nvt_people_column *column = &layout->columns[i];
        char heading[NVT_NUMBER_MAX];
        (void)nvt_people_heading(layout->table, column->column, heading, sizeof(heading));
        const char *text = line || !layout->has_two_lines ? heading : "";
        if (column->head) {
            heading[column->head] = 0;
            text = line ? heading + column->head + 1 : heading;
        }
        size_t width = nvt_text_width(text);
        const size_t blanks = width < column->width ? column->width - width : 0;
        behind += (i ? NVT_PEOPLE_BETWEEN : 0) + (column->is_text ? 0 : blanks);
        if (*text) {
            put_blanks(writing, behind);
            behind = 0;
        }
        width = put_fitting(&column->texts, text, column->width, writing->out);
        behind += column->is_text ? column->width - width : 0;
    }
    putc('\n', writing->out);
}

static void put_rule(const struct writing *writing, const struct nvt_people_layout *layout)
{
    nvt_paint(&writing->screen, NVT_PAINT_FAINT, writing->out);
    for (size_t i = 0; i < layout->count; i++) {
        put_blanks(writing, i ? NVT_PEOPLE_BETWEEN : 0);
        for (size_t k = 0; k < layout->columns[i].width; k++)
            fputs("─", writing->out);
    }
    nvt_paint(&writing->screen, NVT_PAINT_NONE, writing->out);
    putc('\n', writing->out);
}

static enum nvt_paint verdict_paint(const char *verdict)
{
    static const struct {
        const char *word;
        enum nvt_paint paint;
    } words[] = {{"slower", NVT_PAINT_BAD},
                 {"more", NVT_PAINT_BAD},
                 {"faster", NVT_PAINT_GOOD},
                 {"less", NVT_PAINT_GOOD},
                 {"same", NVT_PAINT_FAINT}};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        if (!strncmp(verdict, words[i].word, strlen(words[i].word)))
            return words[i].paint;
    return NVT_PAINT_NONE;
}

/* Returns how many columns the cell took. */
static size_t put_cell(const struct writing *writing, const struct nvt_people_layout *layout,
                       const struct nvt_people_column *column, const char *cell)
{
    const int is_judged =
        (nvt_table_column(layout->table, column->column)->flags & NVT_JUDGED) != 0;
    if (is_judged)
        nvt_paint(&writing->screen, verdict_paint(cell), writing->out);
    const size_t width = put_fitting(&column->texts, cell, column->width, writing->out);
    if (is_judged)
        nvt_paint(&writing->screen, NVT_PAINT_NONE, writing->out);
    return width;
}

static void put_row(const struct writing *writing, const struct nvt_people_layout *layout,
                    size_t row)
{
    size_t behind = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct nvt_people_column *column = &layout->columns[i];
        char number[NVT_NUMBER_MAX];
        const char *cell =
            nvt_people_cell(layout->table, row, column->column, &layout->kernels, number);
        const char *blank = column->unit ? strrchr(cell, ' ') : NULL;
        size_t taken = nvt_text_width(cell);
        const size_t pad = blank ? column->unit - nvt_text_width(blank + 1) : 0;
        behind += i ? NVT_PEOPLE_BETWEEN : 0;
        if (!*cell) {
            behind += column->width;
            continue;
        }
        if (!column->is_text)
            behind += column->width - taken - pad;
        put_blanks(writing, behind);
        taken = put_cell(writing, layout, column, cell);
        behind = column->is_text ? column->width - taken : pad;
    }
    putc('\n', writing->out);
}

/* What all rows have, and what has no room. 0, or -1 when out of memory. */
static int put_absent(const struct writing *writing, const struct nvt_people_layout *layout,
                      enum nvt_people_absence why)
{
    struct nvt_buffer text = {0};
    const struct nvt_table *table = layout->table;
    const char *start = why == NVT_PEOPLE_SAME ? "In every row: " : "Not shown: ";
    int failed = 0;
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        char heading[NVT_NUMBER_MAX], number[NVT_NUMBER_MAX];
        if (layout->absent[column] != (unsigned char)why)
            continue;
        (void)nvt_people_heading(table, column, heading, sizeof(heading));
        failed |= nvt_buffer_printf(&text, "%s%s", text.size ? ", " : start, heading);
        if (why == NVT_PEOPLE_SAME)
            failed |= nvt_buffer_printf(
                &text, " %s",
                nvt_table_is_null(table, 0, column)
                    ? "NULL"
                    : nvt_people_cell(table, 0, column, &layout->kernels, number));
    }
    if (text.size && why == NVT_PEOPLE_LEFT_OUT)
        failed |= nvt_buffer_printf(&text, " (%s)",
                                    writing->tables->wider ? writing->tables->wider : "--wide");
    if (text.size && !failed)
        put_faint(writing, (const char *)text.data);
    nvt_buffer_free(&text);
    return failed ? -1 : 0;
}

/* How many rows are not shown, and how to see them. */
static void put_rest(const struct writing *writing, const struct nvt_table *table, size_t rows)
{
    char text[200];
    if (writing->tables->more)
        snprintf(text, sizeof(text), "… %zu more row%s: %s", rows, rows == 1 ? "" : "s",
                 writing->tables->more);
    else
        snprintf(text, sizeof(text), "… %zu more row%s: -r %s", rows, rows == 1 ? "" : "s",
                 nvt_table_name(table));
    put_faint(writing, text);
}

/* `left`: rows of it that are not shown. */
static int put_table(const struct writing *writing, const struct nvt_table *table, size_t left)
{
    struct nvt_people_layout layout;
    int failed =
        nvt_people_layout_make(&layout, table, writing->screen.width, writing->tables->is_wide) ||
        put_absent(writing, &layout, NVT_PEOPLE_SAME);
    if (!failed) {
        putc('\n', writing->out);
        if (layout.has_two_lines)
            put_headings(writing, &layout, 0);
        put_headings(writing, &layout, 1);
        put_rule(writing, &layout);
    }
    for (size_t row = 0; row < nvt_table_rows(table) && !failed; row++)
        put_row(writing, &layout, row);
    if (left && !failed)
        put_rest(writing, table, left);
    if (!failed)
        failed = put_absent(writing, &layout, NVT_PEOPLE_LEFT_OUT);
    nvt_people_layout_free(&layout);
    return failed ? -1 : 0;
}

static int render(const struct writing *writing, struct nvt_table *table, int has_origin)
{
    struct nvt_compact_table compact;
    const size_t rows = nvt_table_rows(table), most = writing->tables->most_rows;
    /* How wide it is, and what all rows have in common, is that of what is shown. */
    if (most)
        nvt_table_keep(table, most);
    if (nvt_compact_make(&compact, table, writing->tables->is_wide ? SIZE_MAX : 2))
        return -1;
    put_title(writing, table);
    int failed = has_origin && put_origin(writing, table);
    if (compact.common && !failed) {
        char *text = NULL;
        failed = asprintf(&text, "In every row: %s", compact.common) < 0;
        if (!failed)
            put_faint(writing, text);
        free(failed ? NULL : text);
    }
    if (!failed)
        failed = put_table(writing, compact.table, rows - nvt_table_rows(table));
    nvt_compact_free(&compact);
    return failed;
}

int nvt_render_table(const struct nvt_tables *tables, FILE *out)
{
    const struct writing writing = {
        tables,
        {.width = tables->is_wide ? 0 : tables->terminal, .is_coloured = tables->is_coloured},
        out};
    const int have_one = have_same_origin(tables);
    if (tables->count && have_one) {
        struct nvt_screen wide = {.width = tables->terminal, .is_coloured = tables->is_coloured};
        const struct writing first = {tables, wide, out};
        if (put_origin(&first, tables->items[0]))
            return -1;
    }
    for (size_t i = 0; i < tables->count; i++) {
        const struct nvt_provenance *from = nvt_table_provenance(tables->items[i]);
        if (i || (have_one && (from->backend || from->device || from->date || from->condition)))
            putc('\n', out);
        if (render(&writing, tables->items[i], !have_one))
            return -1;
    }
    return 0;
}
