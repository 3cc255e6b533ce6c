/*
 * An SVG that gnuplot wrote, as it is kept: bold texts are bold, and of the tips that browsers show those that gnuplot gives to the
 * whole picture and to each curve, which repeat the script, give way to the names of the boxes.
 */
#ifndef NVT_SVG_H
#define NVT_SVG_H

#include <stdio.h>

#include "../lib/buffer.h"

/*
 * Finish a picture. `tips`: a line "PLOT TEXT" for each box that plot number PLOT (of the script, from 1) draws, in the order of
 * its data; NULL: none. A plot that has another number of boxes, as where one lies beyond the axes, stays without. Texts need not
 * be UTF-8. 0, or -1 when out of memory: the picture is unchanged.
 */
int nvt_svg_finish(struct nvt_buffer *picture, const char *tips);

/* Write such a line; controls in the text are spaces. */
void nvt_svg_put_tip(int plot, const char *text, FILE *out);

#endif
