#include "print_end.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "overview_open.h"

/* Names of open ranges that are shown. */
enum { OPEN_MOST = 3 };

/* What is in no row, as it never ended: the first ones. */
size_t nvt_print_end_lines(const struct nvt_overview *overview)
{
    size_t lines = overview->open_count ? 2 + (size_t)fmin(overview->open_count, OPEN_MOST) : 0;
    for (const char *line = overview->ended; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        lines++;
    }
    return lines + (overview->ended ? 1 : 0);
}

void nvt_print_open(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char text[NVT_OVERVIEW_TEXT] = "Still open";
    if (overview->open_count > OPEN_MOST)
        snprintf(text, sizeof(text), "Still open, the first %d of %u names", OPEN_MOST,
                 overview->open_count);
    if (overview->open_count)
        nvt_print_line(print, NVT_PAINT_FAINT, text);
    for (uint32_t i = 0; i < overview->open_count && i < OPEN_MOST; i++) {
        const size_t name = nvt_print_ends(print, overview->open[i].name, print->width / 3);
        nvt_print_blanks(print, print->width / 3 + 2 - name);
        (void)nvt_print_start(print, nvt_overview_open_text(&overview->open[i], text),
                              print->width - print->width / 3 - 2);
        fputs(i + 1 == overview->open_count || i + 1 == OPEN_MOST ? "\n\n" : "\n", print->out);
    }
}

void nvt_print_ended(const struct nvt_print *print)
{
    const char *line = print->overview->ended;
    while (line && *line) {
        char text[400];
        const size_t length = strcspn(line, "\n");
        snprintf(text, sizeof(text), "%.*s", (int)length, line);
        nvt_print_line(print, NVT_PAINT_BAD, text);
        line += length + (line[length] == '\n');
    }
    if (print->overview->ended)
        putc('\n', print->out);
}
