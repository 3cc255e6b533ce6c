/* What a program printed on a terminal, as a picture in the text: SVG, with its colours, on a dark background. */
#ifndef NVT_TESTS_SCREEN_PICTURE_H
#define NVT_TESTS_SCREEN_PICTURE_H

#include <stddef.h>

/*
 * `text` as kit_on_terminal returns it, in cells of a terminal of so many columns and as many lines as the text has. Each piece of text
 * stands at its column whatever font the reader has; block characters are drawn. Returns the picture, owned. What it cannot
 * draw, an escape sequence that is none of NVT_PAINT's or a line of more columns, fails the test.
 */
char *kit_screen_picture(const char *text, size_t columns);

#endif
