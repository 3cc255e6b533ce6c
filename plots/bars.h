/*
 * Bars below each other, the longest first: a name above each, and what it comes to at its end, or within it where there is no
 * room behind it. The axis ends with the longest.
 */
#ifndef NVT_BARS_H
#define NVT_BARS_H

#include "frame.h"
#include "label.h"

enum { NVT_BARS_ROW = 34 /* px */, NVT_BARS_SIDE = 14 /* px beside them */ };

struct nvt_bar {
    double value, more; /* ns; more: behind it, in NVT_OTHERS_COLOR, cut where the axis ends */
    const char *color;
    struct nvt_label label;
    const char *tip; /* the whole name; owned by the caller */
    char text[96];   /* what it comes to */
};

struct nvt_bars {
    struct nvt_bar *items;
    size_t count;
    struct nvt_time_unit unit;
    const char *axis; /* "total time" */
};

/* Write the data. */
void nvt_bars_put_data(const struct nvt_bars *bars, FILE *out);

/* Write axes and plots, for a frame that was opened with nvt_bars_open. */
void nvt_bars_put_plot(const struct nvt_bars *bars, const struct nvt_frame *frame, FILE *out);
void nvt_bars_open(const struct nvt_bars *bars, struct nvt_frame *frame, FILE *out);

/* Write the tips (svg.h). */
void nvt_bars_put_tips(const struct nvt_bars *bars, FILE *out);

#endif
