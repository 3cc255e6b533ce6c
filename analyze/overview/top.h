/*
 * What `top` shows: the headline of an overview, its ranges as a tree whose rows open and close, and its findings. It is drawn as
 * lines of text that fit a screen; keys change what is shown.
 */
#ifndef NVT_TOP_H
#define NVT_TOP_H

#include "../../lib/terminal.h"
#include "overview.h"
#include "overview_tree.h"

/* Order of the rows that lie in the same one. */
enum nvt_top_sort { NVT_TOP_RUN, NVT_TOP_CPU, NVT_TOP_GPU, NVT_TOP_CALLS, NVT_TOP_SORTS };

enum nvt_top_key {
    NVT_TOP_UP,
    NVT_TOP_DOWN,
    NVT_TOP_PAGE_UP,
    NVT_TOP_PAGE_DOWN,
    NVT_TOP_FIRST,
    NVT_TOP_LAST,
    NVT_TOP_TOGGLE, /* open or close the row */
    NVT_TOP_OPEN,
    NVT_TOP_CLOSE, /* or go to the row that it lies in */
    NVT_TOP_OPEN_ALL,
    NVT_TOP_CLOSE_ALL,
    NVT_TOP_SORT,     /* by the next column */
    NVT_TOP_FINDINGS, /* all that is known of findings, or the tree again */
    NVT_TOP_KEYS,     /* what keys do, or what was there before */
    NVT_TOP_BACK,     /* from findings or keys */
    NVT_TOP_OTHER,    /* any other: leads back from keys alone */
};

/* A range, or where there are none a kernel. */
struct nvt_top_row {
    const char *name; /* the tree's, or the overview's */
    uint32_t parent;  /* a lower row, or NVT_NONE */
    uint32_t depth, children;
    double cpu_ns, gpu_ns, calls; /* of a unit; NaN: not known */
    int is_open;
};

/* Zero-initialise; release with nvt_top_free, also after a failure. */
struct nvt_top {
    struct nvt_overview overview;
    struct nvt_overview_tree tree;
    struct nvt_top_row *rows;
    uint32_t count;
    uint32_t *shown; /* rows that are, from top to bottom */
    uint32_t shown_count;
    uint32_t cursor, first; /* of those shown: the chosen one, and that at the top of the screen */
    enum nvt_top_sort sort;
    int shows_findings, shows_keys;
    uint32_t line;     /* of the findings: that at the top of the screen */
    int goes_on;       /* it is being recorded */
    int has_others;    /* other recordings can be gone to */
    char warning[512]; /* what could not be read of it; "": it is whole */
};

/* Of the traces of an input, which are read and stay until it is freed. 0, or -1 with err. */
int nvt_top_make(struct nvt_top *top, const struct nvt_input *input, struct nvt_error *err);
void nvt_top_free(struct nvt_top *top);

/* Show what was shown of the same traces before: rows with the same names within the same ones are open, and chosen. 0, or -1
 * when out of memory. */
int nvt_top_keep(struct nvt_top *top, struct nvt_top *before);

/* `lines` of the screen are the rows'. */
void nvt_top_press(struct nvt_top *top, enum nvt_top_key key, size_t lines);

/* Lines that rows have on a screen. */
size_t nvt_top_lines(const struct nvt_top *top, const struct nvt_screen *screen);

/* As many lines as the screen has, none wider than it; '\n' between them, none behind the last. `what`: the name of what is shown. */
void nvt_top_draw(struct nvt_top *top, const struct nvt_screen *screen, const char *what,
                  FILE *out);

#endif
