/*
 * gnuplot as a child process, without a shell. Charts are a script and a data file beside the
 * picture, so that anybody can restyle them and run `gnuplot NAME.gp` there.
 */
#ifndef NVT_GNUPLOT_H
#define NVT_GNUPLOT_H

#include <stdio.h>

#include "../lib/buffer.h"
#include "../lib/error.h"

/* Colours of Okabe and Ito (2008), told apart by colour-blind readers too. */
#define NVT_BLACK  "#000000"
#define NVT_ORANGE "#E69F00"
#define NVT_SKY    "#56B4E9"
#define NVT_GREEN  "#009E73"
#define NVT_YELLOW "#F0E442"
#define NVT_BLUE   "#0072B2"
#define NVT_RED    "#D55E00"
#define NVT_PURPLE "#CC79A7"

/* Of axes, and of texts that explain; of lines behind data. */
#define NVT_DIM  "#555555"
#define NVT_GRID "#dddddd"

/* The formats of pictures, for messages: "svg, png or pdf". */
#define NVT_PICTURE_FORMATS "svg, png or pdf"

/* Whether it is one of them. */
int nvt_picture_format(const char *format);

/*
 * Write a text as a gnuplot string literal. Single quotes keep gnuplot from expanding anything in
 * it; characters that could end or extend the literal, controls and broken UTF-8 are replaced, and
 * it is cut behind `limit` columns (lib/text.h).
 */
void nvt_gnuplot_text(const char *text, size_t limit, FILE *script);

/* Write the lines that set the terminal (size in pixels of an svg) and the output NAME.FORMAT. */
void nvt_gnuplot_terminal(const char *format, int width, int height, const char *name,
                          FILE *script);

/* Run gnuplot on SCRIPT in that directory; its picture goes into the buffer, not into the output that the script names. 0, or -1
 * with err filled from what it complained of. */
int nvt_gnuplot_run(const char *directory, const char *script, struct nvt_buffer *picture,
                    struct nvt_error *err);

#endif
