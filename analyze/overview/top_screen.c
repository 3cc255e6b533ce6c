/*
 * What `top` shows, as lines of a screen.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/people.h"
#include "../../lib/count_of.h"
#include "../../lib/quantity_text.h"
#include "../../lib/render.h"
#include "../../lib/text.h"
#include "../../lib/wrap.h"
#include "top.h"

/* Where nobody says how large a screen is; lines above the rows; findings below them. */
enum { WIDTH = 80, HEIGHT = 24, FINDINGS = 3 };
/* Columns of numbers, and of a name at least; below so many columns there are fewer, or no numbers. */
enum { TIME = 10, SHARE = 8, CALLS = 9, NAME = 4, NARROW = 64, TINY = 2 * TIME + NAME };

struct drawing {
    const struct nvt_top *top;
    const struct nvt_screen *screen;
    size_t width, height, lines; /* lines: so far */
    FILE *out;
};

static size_t width_of(const struct nvt_screen *screen)
{
    return screen->width ? screen->width : WIDTH;
}

static size_t height_of(const struct nvt_screen *screen)
{
    return screen->height ? screen->height : HEIGHT;
}

/* Findings that cost something. */
static size_t findings_of(const struct nvt_top *top)
{
    size_t count = 0;
    for (size_t i = 0; i < top->overview.all.count; i++)
        count += !nvt_finding_is_minor(&top->overview.all.items[i]);
    return count;
}

/* Lines above the rows: the headline, a warning, and the heads of columns. */
static size_t above(const struct nvt_top *top)
{
    return *top->warning ? 5 : 4;
}

/* Lines below the rows: a heading and findings, and the keys. */
static size_t below(const struct nvt_top *top, size_t height)
{
    const size_t count = findings_of(top), most = count < FINDINGS ? count : FINDINGS;
    return height < above(top) + FINDINGS + 8 ? 1 : 2 + most;
}

size_t nvt_top_lines(const struct nvt_top *top, const struct nvt_screen *screen)
{
    const size_t height = height_of(screen), taken = above(top) + below(top, height);
    return height > taken ? height - taken : 1;
}

/* A text in so many columns, without its end where it has no room, and blanks behind it. */
static void put_in(const struct drawing *drawing, const char *text, size_t room)
{
    const size_t width = nvt_text_width(text);
    const char *end =
        width <= room ? text + strlen(text) : nvt_text_skip(text, room ? room - 1 : 0);
    while (text < end)
        nvt_utf8_write(nvt_char_visible(nvt_utf8_next(&text)), drawing->out);
    if (width > room)
        fputs(room ? "…" : "", drawing->out);
    else
        fprintf(drawing->out, "%*s", (int)(room - width), "");
}

/* The next line, unless the screen is full. */
static int begin_line(struct drawing *drawing)
{
    if (drawing->lines == drawing->height)
        return 0;
    if (drawing->lines++)
        putc('\n', drawing->out);
    return 1;
}

static void put_line(struct drawing *drawing, enum nvt_paint paint, const char *text)
{
    if (!begin_line(drawing))
        return;
    nvt_paint(drawing->screen, paint, drawing->out);
    put_in(drawing, text, drawing->width);
    nvt_paint(drawing->screen, NVT_PAINT_NONE, drawing->out);
}

static void put_right(const struct drawing *drawing, const char *text, size_t room)
{
    const size_t width = nvt_text_width(text);
    fprintf(drawing->out, "%*s", width < room ? (int)(room - width) : 0, "");
    put_in(drawing, text, width < room ? width : room);
}

/* --- the headline --- */

static void put_headline(struct drawing *drawing, const char *what)
{
    const struct nvt_overview *overview = &drawing->top->overview;
    char text[512], unit[NVT_OVERVIEW_TEXT], gpu[64] = "", peak[64] = "";
    const char *between = "";
    snprintf(text, sizeof(text), "%.400s%s", what, drawing->top->goes_on ? " · recording" : "");
    put_line(drawing, NVT_PAINT_TITLE, text);
    if (!isnan(overview->gpu_share))
        snprintf(gpu, sizeof(gpu), "GPU busy %.0f %%", 100 * overview->gpu_share);
    if (!isnan(overview->peak_bytes)) {
        char bytes[NVT_TIME_MAX];
        between = *gpu ? " · " : "";
        snprintf(peak, sizeof(peak), "peak memory %s",
                 nvt_binary_text(overview->peak_bytes, bytes));
    }
    snprintf(text, sizeof(text), "%s %s, %s", nvt_overview_unit_name(overview),
             NVT_TIME(overview->unit_ns), nvt_overview_unit_text(overview, unit));
    put_line(drawing, NVT_PAINT_NONE, text);
    snprintf(text, sizeof(text), "%s%s%s", gpu, between, peak);
    put_line(drawing, NVT_PAINT_NONE, text);
    if (*drawing->top->warning) {
        snprintf(text, sizeof(text), "warning: %.500s", drawing->top->warning);
        put_line(drawing, NVT_PAINT_WARN, text);
    }
}

/* --- the tree --- */

/* Columns that a name has. */
static size_t name_room(const struct drawing *drawing)
{
    const size_t width = drawing->width;
    return width - (width < TINY ? 0 : width < NARROW ? 2 * TIME : 2 * (TIME + SHARE) + CALLS);
}

static void put_heads(struct drawing *drawing)
{
    const struct nvt_top *top = drawing->top;
    const char *name = top->overview.are_kernels ? "Kernel" : "Range";
    const char *const marks[] = {top->sort == NVT_TOP_CPU ? "CPU ▼" : "CPU",
                                 top->sort == NVT_TOP_GPU ? "GPU ▼" : "GPU",
                                 top->sort == NVT_TOP_CALLS ? "Calls ▼" : "Calls"};
    if (!begin_line(drawing))
        return;
    nvt_paint(drawing->screen, NVT_PAINT_FAINT, drawing->out);
    put_in(drawing, name, name_room(drawing));
    for (size_t i = 0; i < 2 && drawing->width >= TINY; i++) {
        put_right(drawing, marks[i], TIME);
        if (drawing->width >= NARROW)
            put_right(drawing, "", SHARE);
    }
    if (drawing->width >= NARROW)
        put_right(drawing, marks[2], CALLS);
    nvt_paint(drawing->screen, NVT_PAINT_NONE, drawing->out);
}

static void put_time(const struct drawing *drawing, double ns, enum nvt_paint paint)
{
    const double whole = nvt_overview_whole(&drawing->top->overview);
    char share[NVT_TIME_MAX] = "";
    if (drawing->width < TINY)
        return;
    if (!isnan(ns) && whole > 0)
        snprintf(share, sizeof(share), "%.1f %%", 100 * ns / whole);
    nvt_paint(drawing->screen, paint, drawing->out);
    put_right(drawing, isnan(ns) ? "-" : NVT_TIME(ns), TIME);
    nvt_paint(drawing->screen, NVT_PAINT_NONE, drawing->out);
    if (drawing->width >= NARROW)
        put_right(drawing, share, SHARE);
}

static void put_row(struct drawing *drawing, const struct nvt_top_row *row, int is_chosen)
{
    enum { INDENTED = 20 }; /* levels */
    char name[400];
    if (!begin_line(drawing))
        return;
    snprintf(name, sizeof(name), "%s%*s%s %.300s", is_chosen ? ">" : " ",
             2 * (int)(row->depth < INDENTED ? row->depth : INDENTED), "",
             !row->children ? " "
             : row->is_open ? "▾"
                            : "▸",
             row->name);
    if (is_chosen)
        nvt_paint(drawing->screen, NVT_PAINT_TITLE, drawing->out);
    put_in(drawing, name, name_room(drawing));
    nvt_paint(drawing->screen, NVT_PAINT_NONE, drawing->out);
    put_time(drawing, row->cpu_ns, NVT_PAINT_CPU);
    put_time(drawing, row->gpu_ns, NVT_PAINT_GPU);
    if (drawing->width >= NARROW)
        put_right(drawing, isnan(row->calls) ? "-" : NVT_COUNT(row->calls), CALLS);
}

static void put_rows(struct drawing *drawing, struct nvt_top *top, size_t lines)
{
    /* The chosen row is on the screen, and no line stays empty that a row could have. */
    if (top->cursor < top->first)
        top->first = top->cursor;
    if (top->cursor >= top->first + lines)
        top->first = (uint32_t)(top->cursor + 1 - lines);
    if (top->first + lines > top->shown_count)
        top->first = top->shown_count > lines ? (uint32_t)(top->shown_count - lines) : 0;
    for (size_t i = 0; i < lines; i++)
        if (top->first + i < top->shown_count)
            put_row(drawing, &top->rows[top->shown[top->first + i]], top->first + i == top->cursor);
        else
            put_line(drawing, NVT_PAINT_NONE, !i ? "No range and no kernel was recorded." : "");
}

static void put_finding_lines(struct drawing *drawing)
{
    const struct nvt_findings *all = &drawing->top->overview.all;
    const size_t count = findings_of(drawing->top);
    char text[NVT_TITLE_MAX + 40];
    snprintf(text, sizeof(text), count ? "%zu finding%s, f shows all that is known" : "No findings",
             count, count == 1 ? "" : "s");
    put_line(drawing, NVT_PAINT_FAINT, text);
    size_t shown = 0;
    for (size_t i = 0; i < all->count && shown < FINDINGS; i++) {
        if (nvt_finding_is_minor(&all->items[i]))
            continue;
        nvt_finding_title(&all->items[i], text, NVT_TITLE_MAX);
        put_line(drawing, shown++ ? NVT_PAINT_NONE : NVT_PAINT_BAD, text);
    }
}

/* --- findings --- */

/* All that is known of them, wrapped. malloc'ed, NULL when out of memory. */
static char *findings_text(const struct drawing *drawing)
{
    const struct nvt_findings *all = &drawing->top->overview.all;
    char title[NVT_TITLE_MAX], what[NVT_WHAT_MAX], where[NVT_WHERE_MAX], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < all->count; i++) {
        const struct nvt_finding *finding = &all->items[i];
        if (nvt_finding_is_minor(finding))
            continue;
        nvt_finding_title(finding, title, sizeof(title));
        nvt_finding_what(finding, what, sizeof(what));
        nvt_finding_where(finding, where, sizeof(where));
        const char *const parts[] = {title, what, where, finding->evidence, finding->remedy};
        for (size_t k = 0; k < NVT_COUNT_OF(parts); k++)
            if (*parts[k]) {
                fprintf(out, "%s", k ? "  " : "");
                (void)nvt_wrap(parts[k], k ? 2 : 0, k ? 4 : 2, drawing->width, out);
                putc('\n', out);
            }
        putc('\n', out);
    }
    if (out && fclose(out)) {
        free(text);
        return NULL;
    }
    return out ? text : NULL;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void put_findings(struct drawing *drawing, struct nvt_top *top)
{
    const size_t room = drawing->height - drawing->lines - 1;
    char *text = findings_text(drawing), *rest = text;
    const size_t count = text ? count_lines(text) : 0;
    if (top->line + room > count)
        top->line = count > room ? (uint32_t)(count - room) : 0;
    for (uint32_t i = 0; i < top->line && rest; i++)
        (void)strsep(&rest, "\n");
    for (size_t i = 0; i < room; i++) {
        const char *line = rest ? strsep(&rest, "\n") : NULL;
        put_line(drawing, line && *line && *line != ' ' ? NVT_PAINT_TITLE : NVT_PAINT_NONE,
                 line ? line : "");
    }
    free(text);
}

/* --- keys --- */

static void put_keys(struct drawing *drawing)
{
    static const char *const keys[][2] = {
        {"up, down, page, home, end", "choose a row; k and j, too"},
        {"right, left", "open the row; close it, or go to its parent"},
        {"l, h", "the same"},
        {"enter, space", "open or close it"},
        {"+, -", "open all, close all"},
        {"s", "sort by the next column: order, CPU, GPU, calls"},
        {"f", "findings, with evidence and remedies"},
        {"n", "the next recording, where several were given"},
        {"?", "these keys"},
        {"Esc", "back to the tree"},
        {"q, Ctrl-C", "end"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++) {
        char text[100];
        if (drawing->lines + 1 >= drawing->height)
            return;
        snprintf(text, sizeof(text), drawing->width < NARROW ? "%s: %s" : "  %-27s%s", keys[i][0],
                 keys[i][1]);
        put_line(drawing, NVT_PAINT_NONE, text);
    }
    while (drawing->lines + 1 < drawing->height)
        put_line(drawing, NVT_PAINT_NONE, "");
}

/* The last line: what can be pressed. */
static const char *hint_of(const struct drawing *drawing)
{
    if (drawing->top->shows_keys)
        return "any key: back · q end";
    if (drawing->top->shows_findings)
        return "arrows scroll · f the tree · ? keys · q end";
    if (drawing->top->has_others)
        return drawing->width < WIDTH ? "n next · arrows · s sort · f findings · ? keys · q end"
                                      : "n next recording · arrows move and open · s sort · f "
                                        "findings · ? keys · q end";
    return drawing->width < WIDTH
               ? "arrows · s sort · f findings · ? keys · q end"
               : "arrows move, open and close · + - all · s sort · f findings · ? keys · q end";
}

void nvt_top_draw(struct nvt_top *top, const struct nvt_screen *screen, const char *what, FILE *out)
{
    struct drawing drawing = {.top = top,
                              .screen = screen,
                              .width = width_of(screen),
                              .height = height_of(screen),
                              .out = out};
    put_headline(&drawing, what);
    if (top->shows_keys)
        put_keys(&drawing);
    else if (top->shows_findings && drawing.height > drawing.lines)
        put_findings(&drawing, top);
    else {
        put_heads(&drawing);
        put_rows(&drawing, top, nvt_top_lines(top, screen));
        if (below(top, drawing.height) > 1)
            put_finding_lines(&drawing);
    }
    put_line(&drawing, NVT_PAINT_FAINT, hint_of(&drawing));
}
