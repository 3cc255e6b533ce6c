/* Untrusted texts on a screen, in so many columns and colours. */
#ifndef NVT_OVERVIEW_PRINT_H
#define NVT_OVERVIEW_PRINT_H

#include <stdio.h>

#include "../../lib/terminal.h"
#include "overview.h"

/* Onto what, and of what. */
struct nvt_print {
    const struct nvt_overview *overview;
    const struct nvt_screen *screen;
    size_t width;
    FILE *out;
};

/* A text in at most so many columns: without its end where it has no room, or without its middle. Both return how many it took. */
size_t nvt_print_start(const struct nvt_print *print, const char *text, size_t room);
size_t nvt_print_ends(const struct nvt_print *print, const char *text, size_t room);

/* A text up to `end`, a place in it. */
void nvt_print_part(const struct nvt_print *print, const char *text, const char *end);

void nvt_print_painted(const struct nvt_print *print, enum nvt_paint paint, const char *text);

/* A text as a line, without its end where that has no room. */
void nvt_print_line(const struct nvt_print *print, enum nvt_paint paint, const char *text);

void nvt_print_blanks(const struct nvt_print *print, size_t count);

#endif
