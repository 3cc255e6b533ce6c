#include "screen_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/render.h"
#include "../lib/text.h"

/* Of a cell, in tenths of a pixel across; and around all of them. */
enum { CELL_TENTHS = 96, CELL_HEIGHT = 21, BASE = 16, MARGIN = 12 };
enum { FULL_BLOCK = 0x2588, NO_BLOCK = 0x2590 }; /* between them blocks of 7/8 to 1/8 */

struct style {
    const char *code, *attributes;
};

static const struct style styles[] = {
    {"0", "fill=\"#e6edf3\""},  {"1", "fill=\"#ffffff\" font-weight=\"bold\""},
    {"2", "fill=\"#9aa4b0\""},  {"31", "fill=\"#ff7b72\""},
    {"32", "fill=\"#3fb950\""}, {"33", "fill=\"#e3b341\""},
    {"36", "fill=\"#39c5cf\""},
};

/* Where drawing is: style and cell. */
struct pen {
    const struct style *style;
    size_t column, line;
    FILE *out;
};

/* The style of the escape sequence at text, which then moves behind it. */
static const struct style *style_of(const char **text)
{
    for (size_t i = 0; i < NVT_COUNT_OF(styles); i++) {
        const size_t length = strlen(styles[i].code);
        if (!strncmp(*text, "\033[", 2) && !strncmp(*text + 2, styles[i].code, length) &&
            (*text)[2 + length] == 'm') {
            *text += length + 3;
            return &styles[i];
        }
    }
    fail_msg("no style for the escape sequence of '%.8s'", *text + 1);
    return NULL;
}

static double across(size_t columns)
{
    return MARGIN + (double)columns * CELL_TENTHS / 10;
}

static int is_block(const char *text)
{
    const uint32_t character = nvt_utf8_next(&text);
    return character >= FULL_BLOCK && character < NO_BLOCK;
}

/* A bar: full blocks, and what is left of one at its end. Returns what follows. */
static const char *draw_bar(const char *text, struct pen *pen)
{
    const size_t first = pen->column;
    double eighths = 0;
    while (is_block(text)) {
        eighths += NO_BLOCK - nvt_utf8_next(&text);
        pen->column++;
    }
    fprintf(pen->out, "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\" %s/>\n",
            across(first), MARGIN + pen->line * CELL_HEIGHT + 3, eighths * CELL_TENTHS / 80,
            CELL_HEIGHT - 5, pen->style->attributes);
    return text;
}

/* Where a piece of text ends: at two blanks, a bar, another style or the end of the line. */
static const char *end_of_piece(const char *text)
{
    while (*text && !strchr("\n\033", *text) && strncmp(text, "  ", 2) != 0 && !is_block(text))
        (void)nvt_utf8_next(&text);
    return text;
}

static const char *draw_piece(const char *text, struct pen *pen)
{
    const char *const next = end_of_piece(text), *end = next;
    while (end > text && end[-1] == ' ') /* which SVG leaves out */
        end--;
    char *piece = strndup(text, (size_t)(end - text));
    assert_non_null(piece);
    const size_t columns = nvt_text_width(piece);
    fprintf(pen->out, "<text x=\"%.1f\" y=\"%zu\" textLength=\"%.1f\" %s>", across(pen->column),
            MARGIN + pen->line * CELL_HEIGHT + BASE, (double)columns * CELL_TENTHS / 10,
            pen->style->attributes);
    nvt_render_html_text(piece, pen->out);
    fputs("</text>\n", pen->out);
    pen->column += columns + (size_t)(next - end);
    free(piece);
    return next;
}

static void draw(const char *text, size_t columns, FILE *out)
{
    struct pen pen = {.style = styles, .out = out};
    while (*text) {
        if (*text == '\n') {
            pen.column = 0;
            pen.line++;
            text++;
        } else if (*text == '\033')
            pen.style = style_of(&text);
        else if (*text == ' ') {
            pen.column++;
            text++;
        } else
            text = is_block(text) ? draw_bar(text, &pen) : draw_piece(text, &pen);
        if (pen.column > columns)
            fail_msg("line %zu has more than %zu columns", pen.line + 1, columns);
    }
}

char *kit_screen_picture(const char *text, size_t columns)
{
    char *picture = NULL;
    size_t size = 0, lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    FILE *out = open_memstream(&picture, &size);
    assert_non_null(out);
    const double width = across(columns) + MARGIN;
    const size_t height = lines * CELL_HEIGHT + 2 * (size_t)MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" viewBox=\"0 0 "
            "%.0f %zu\" font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" "
            "font-size=\"16\">\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" "
            "fill=\"#0d1117\"/>\n",
            width, height, width, height);
    draw(text, columns, out);
    fputs("</svg>\n", out);
    assert_int_equal(fclose(out), 0);
    return picture;
}
