/* The terminal that output may go to: its size, and whether colours are wanted there. */
#ifndef NVT_TERMINAL_H
#define NVT_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

#include "error.h"

/* When colours are used: --color. */
enum nvt_color { NVT_COLOR_AUTO, NVT_COLOR_ALWAYS, NVT_COLOR_NEVER };

/* Where a stream goes. */
struct nvt_screen {
    size_t width;    /* columns; 0: no terminal, or unknown */
    size_t height;   /* lines; 0: no terminal, or unknown */
    int is_coloured; /* escape sequences of colours may be written */
};

/* Columns of the terminal that a stream writes to: the value of COLUMNS, else what the terminal reports; 0 where the
 * stream is no terminal, or the width is unknown. */
size_t nvt_terminal_width(FILE *out);

/*
 * The screen of a stream. With NVT_COLOR_AUTO it is coloured if it is a terminal, unless NO_COLOR is set and not empty
 * (no-color.org) or TERM is "dumb".
 */
struct nvt_screen nvt_screen_of(FILE *out, enum nvt_color color);

/* The value of --color: auto, always or never. 0, or -1 with err. */
int nvt_color_parse(const char *text, enum nvt_color *color, struct nvt_error *err);

/* What a piece of text means. Colours are the terminal's own 16, so that its theme decides how they look. */
enum nvt_paint {
    NVT_PAINT_NONE,  /* ends what was begun */
    NVT_PAINT_TITLE, /* bold */
    NVT_PAINT_FAINT, /* of less interest */
    NVT_PAINT_GOOD,  /* faster, less memory */
    NVT_PAINT_BAD,   /* slower, costly, an error */
    NVT_PAINT_WARN,  /* may be either, or costs less */
    NVT_PAINT_CPU,   /* bars of host time */
    NVT_PAINT_GPU,   /* bars of device time */
    NVT_PAINTS
};

/* Begin or end a colour; nothing where the screen is not coloured. */
void nvt_paint(const struct nvt_screen *screen, enum nvt_paint paint, FILE *out);

#endif
