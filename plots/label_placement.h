/*
 * Names beside points: where each has room, so that none lies on another, on a point, on a line or beyond the panel. Sizes
 * are pixels of the SVG; x goes to the right and y downwards, from the panel's upper left corner.
 */
#ifndef NVT_LABEL_PLACEMENT_H
#define NVT_LABEL_PLACEMENT_H

#include <stddef.h>

/* A point, and its name. */
struct nvt_point_label {
    double x, y, radius;
    double weight;    /* the heaviest are placed first */
    const char *text; /* of 12 px; "": it has none */
    int is_placed;    /* then its box begins at `left`, its middle is at `middle` */
    double left, middle;
    double anchor; /* where its text begins (align 1), has its middle (0) or ends (-1) */
    int align;
    int is_far; /* so far away that a line should join them, from the point's edge to the name's */
    double edge_x, edge_y, end_x, end_y;
};

/* What no name lies on: a line as a row of its places, close to each other. */
struct nvt_line_point {
    double x, y;
};

/* Place what has room in a panel of that size. Time is quadratic in the points, of which there are few. Returns how many
 * names were not placed. */
size_t nvt_place_labels(struct nvt_point_label *points, size_t count,
                        const struct nvt_line_point *lines, size_t line_count, double width,
                        double height);

#endif
