/*
 * The frame of a chart: what all of them look like. A chart is as wide as the column of a paper
 * (8.5 cm), where its text is 7 pt; on a screen those over time are wider. The title and the legend
 * stand above the panels, the lines that say what is shown and where it was measured below them, so
 * that nothing can cover data. Sizes are pixels of the SVG.
 *
 * A chart fills a frame (title, keys, notes, provenance), opens it with the height of its panels,
 * writes its axes and plots, and closes it.
 */
#ifndef NVT_FRAME_H
#define NVT_FRAME_H

#include <stdio.h>

#include "../lib/table.h"

enum {
    NVT_FRAME_WIDTH = 412, /* 8.5 cm, where 12 px are 7 pt: no text is smaller */
    NVT_FRAME_WIDE = 760,  /* of a chart that a screen has more room for */
    NVT_FRAME_LEFT = 68,   /* beside a panel: tics of six characters and label */
    NVT_FRAME_MARGIN = 12, /* beside texts, and right of a panel */
    NVT_FRAME_KEYS = 24,
    NVT_FRAME_NOTES = 8,
    NVT_FRAME_TEXT = 300,
};

/* How a key is drawn. */
enum nvt_key_kind { NVT_KEY_LINE, NVT_KEY_POINT, NVT_KEY_LINE_POINT, NVT_KEY_BOX };

struct nvt_key {
    enum nvt_key_kind kind;
    const char *color;
    int dash, point; /* gnuplot's dashtype and pointtype */
    char text[NVT_FRAME_TEXT];
};

struct nvt_frame {
    const char *format, *name;
    int width;
    int is_within_document; /* which says once where all was measured */
    char title[NVT_FRAME_TEXT];
    struct nvt_key keys[NVT_FRAME_KEYS];
    char notes[NVT_FRAME_NOTES][NVT_FRAME_TEXT];
    size_t key_count, note_count;
    int left, right;           /* margins beside the panels; 0: the usual ones */
    int columns, rows;         /* of panels; 0: one */
    int x_rows;                /* of labels at the x axis, two at most (nvt_frame_log_x); 0: one */
    int height;                /* of the picture */
    int top, panel;            /* where panels begin, and the height of each */
    int labels, arrows, boxes; /* highest tags used */
};

struct nvt_chart_request;

/* A new frame of NAME in the request's format. The texts belong to the caller. */
struct nvt_frame nvt_frame_new(const struct nvt_chart_request *request, const char *name,
                               const char *title);

/* Make it NVT_FRAME_WIDE, unless it is for paper. Before anything else. */
void nvt_frame_widen(struct nvt_frame *frame);

/* Columns (lib/text.h) of a key that has a row of the legend for itself. */
enum { NVT_FRAME_KEY_ROOM = 47 };

/* Append a key of the legend, a line below it; what is too much is left out, of a text too. */
void nvt_frame_key(struct nvt_frame *frame, enum nvt_key_kind kind, const char *color, int dash,
                   int point, const char *text);
void nvt_frame_note(struct nvt_frame *frame, const char *text);

/* "BEFOREcondition · backend · device · date" of what is known, as a note. Within a document only with a `before`. */
void nvt_frame_provenance(struct nvt_frame *frame, const char *before,
                          const struct nvt_provenance *from);

/* Write the head of the script: terminal, style, title, legend, notes; panels `panel` pixels high.
 * With more than one, multiplot is on, and each begins with nvt_frame_panel. */
void nvt_frame_open(struct nvt_frame *frame, int panel, FILE *out);

/* Begin panel `index`, by rows from the left; what is drawn once is taken off from the second on.
 * The title may be NULL; a panel alone has no room for one. */
void nvt_frame_panel(const struct nvt_frame *frame, int index, const char *title, FILE *out);

/* Name the y axis of panel `index`, at the left edge of its place whatever its tics are. */
void nvt_frame_y_label(const struct nvt_frame *frame, int index, const char *text, FILE *out);

void nvt_frame_close(const struct nvt_frame *frame, FILE *out);

/* The options of a curve drawn like a key: "linecolor … dashtype … pointtype …". */
void nvt_frame_style(enum nvt_key_kind kind, const char *color, int dash, int point, FILE *out);

/* Series of points: blocks of NAME.dat, each in a colour and with a mark of its own. */
struct nvt_series {
    const char *block, *title, *color;
    int point; /* gnuplot's pointtype */
};

/* A key for each of them. */
void nvt_frame_series_keys(struct nvt_frame *frame, const struct nvt_series *series, size_t count);

/* Plot them with a bar each along x: columns of the blocks are the value, its least and its most (NaN: no bar), and `y`, what gnuplot
 * makes the place of. */
void nvt_frame_series_spread(const char *name, const char *y, const struct nvt_series *series,
                             size_t count, FILE *out);

/* The least and the most of values that an axis has to hold; as long as there are none, the most is
 * zero and the least above it. */
struct nvt_extent {
    double least, most;
};
struct nvt_extent nvt_extent_new(void);
void nvt_extent_add(struct nvt_extent *extent, double low, double high);

/* Add a mean that has a bar of `std` (NaN: none). The bar counts above only: a deviation just less
 * than its mean ends anywhere near zero, and a logarithmic axis would be made of that. */
void nvt_extent_add_bar(struct nvt_extent *extent, double mean, double std);

/* Scale `axis` ('x' or 'y') for an extent whose unit is worth `unit`: from zero, or logarithmic
 * where the most is more than `log_ratio` times the least (0: wherever nothing is zero). The script
 * gets lower(value) and upper(value), which cut at its ends, floor and ceiling.
 * Whether it is logarithmic. */
int nvt_frame_scale(char axis, const struct nvt_extent *extent, double unit, double log_ratio,
                    FILE *out);

/* Where a logarithmic axis begins and ends that holds an extent: `factor` before and behind it, more
 * where there is only one value. */
void nvt_frame_log_range(const struct nvt_extent *extent, double factor, double *left,
                         double *right);

/* Make x logarithmic from `left` to `right`, with tics at the `count` values of `values`, which is
 * sorted here and may have equal ones; a value alone has tics at its half and its double beside
 * it. Of labels that would touch, the second is left out, or, with `x_rows` of two, stands in the second
 * row if it has room there. For an open frame. */
void nvt_frame_log_x(const struct nvt_frame *frame, double left, double right, double *values,
                     size_t count, FILE *out);

/* The `x_rows` in which no label of such an axis is left out, or the most that there are; before the frame is opened. */
int nvt_frame_log_x_rows(const struct nvt_frame *frame, double left, double right, double *values,
                         size_t count);

/* The margin that the last label of such an axis needs at the right end. */
int nvt_frame_log_x_right(double value);

/* A unit of time in which `ns` is a number of few digits. */
struct nvt_time_unit {
    const char *name;
    double ns;
};
struct nvt_time_unit nvt_time_unit_for(double ns);

/* Define of_time(t) for the script: a text of a time in `unit`, in the unit that this time has by itself. */
void nvt_frame_time_text(const struct nvt_time_unit *unit, FILE *out);

/* A file's name without folder and suffix, odd characters as '_', cut, then `suffix`. */
void nvt_frame_file_name(const char *path, const char *suffix, char *out, size_t size);

#endif
