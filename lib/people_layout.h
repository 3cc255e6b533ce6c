/*
 * A table laid out for people: which columns are shown, how wide they are, and which cells are cut. Columns without any
 * value are not shown, unless they are NVT_ASKED. For a terminal, headings get two lines where that saves room, columns of
 * least use are left out, and long texts lose their middle, in this order and only until rows fit.
 */
#ifndef NVT_PEOPLE_LAYOUT_H
#define NVT_PEOPLE_LAYOUT_H

#include "people.h"
#include "shorten.h"

struct nvt_people_column {
    size_t column;            /* of the table */
    size_t width;             /* columns of the terminal that it takes */
    size_t unit;              /* of these, what is behind the blank of "14.7 ms"; 0: nothing */
    size_t head;              /* bytes of the heading on its first line, 0: all of it */
    int is_text;              /* to the left; numbers to the right */
    struct nvt_shorten texts; /* what has no room */
};

/* Why a column of the table is not among those that are shown. */
enum nvt_people_absence {
    NVT_PEOPLE_SHOWN,
    NVT_PEOPLE_EMPTY,
    NVT_PEOPLE_SAME,
    NVT_PEOPLE_LEFT_OUT
};

struct nvt_people_layout {
    const struct nvt_table *table;
    struct nvt_people_column *columns; /* that are shown */
    size_t count;
    unsigned char *absent;            /* of each of the table's: enum nvt_people_absence */
    int has_two_lines;                /* of headings */
    struct nvt_kernel_labels kernels; /* their short names; empty: whole ones are shown */
};

/* Blanks between two columns. */
enum { NVT_PEOPLE_BETWEEN = 2 };

/*
 * Lay a table out, which must outlive it, for `room` columns of a terminal (0: without a limit). Columns whose cells
 * are all the same are the first to be left out (NVT_PEOPLE_SAME), then those that are NVT_SPARE. 0, or -1 when out of
 * memory. Kernels have their short names unless `whole_names`. Release with nvt_people_layout_free in any case.
 */
int nvt_people_layout_make(struct nvt_people_layout *layout, const struct nvt_table *table,
                           size_t room, int whole_names);
void nvt_people_layout_free(struct nvt_people_layout *layout);

#endif
