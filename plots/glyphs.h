/*
 * Characters that no font here has. gnuplot draws such a one many times too large in png and pdf, over all of the
 * picture (its cairo terminals, seen with gnuplot 5.4.4), so files for these have U+25A1, an empty square, in its
 * place. Which there are says fontconfig's fc-list; where that is not found nothing is replaced.
 */
#ifndef NVT_GLYPHS_H
#define NVT_GLYPHS_H

#include "../lib/error.h"

/* Replace them in a file of UTF-8. 0, or -1 with err filled. */
int nvt_glyphs_replace(const char *path, struct nvt_error *err);

/* A line on stderr where pictures of that format have had any replaced. */
void nvt_glyphs_note(const char *format);

#endif
