/*
 * Phases of a trace behind a chart over time: which ranges are drawn as bands, and the part of the
 * time that is shown.
 */
#ifndef NVT_BANDS_H
#define NVT_BANDS_H

#include "../analyze/model/trace.h"
#include "frame.h"

enum { NVT_BANDS_NAMES = 5, NVT_BANDS_MOST = 48 };

struct nvt_band {
    int64_t start, end; /* ns */
    size_t name;        /* in names */
};

struct nvt_bands {
    struct nvt_band items[NVT_BANDS_MOST];
    size_t count, all;               /* all: that there are in the trace */
    uint32_t names[NVT_BANDS_NAMES]; /* ids of the trace's strings */
    const char *tints[NVT_BANDS_NAMES];
    size_t name_count;
    int64_t from, to; /* ns: what of the trace is shown */
};

/*
 * The ranges named forward, backward and optimizer, of whatever domain, or else the outermost
 * ranges of the thread that has most of their time, or those within where the outermost ones are
 * the iterations; operators of a framework are none. Where there are more than fit, the last ones,
 * and from and to are theirs; else they are those of the whole trace, cut to `first` and `last`.
 */
struct nvt_bands nvt_bands_of(const struct nvt_trace *trace, int64_t first, int64_t last);

/* The keys of the legend; what of the trace is shown, as a note. */
void nvt_bands_keys(const struct nvt_bands *bands, const struct nvt_trace *trace,
                    struct nvt_frame *frame);

/* Rectangles behind what is plotted; the x axis is in units of `unit` ns since bands->from. */
void nvt_bands_put(const struct nvt_bands *bands, double unit, FILE *out);

#endif
