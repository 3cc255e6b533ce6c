/*
 * What the chart timeline shows: a part of a trace as boxes in lanes: those of threads, then on the device the ranges that launched
 * its work, and the operations of each stream, with the times at which the device had none.
 */
#ifndef NVT_TIMELINE_SHEET_H
#define NVT_TIMELINE_SHEET_H

#include "../analyze/device/kernel_class.h"
#include "../analyze/model/trace.h"
#include "chart.h"
#include "frame.h"
#include "looks.h"

enum {
    NVT_TIMELINE_THREADS = 3,
    NVT_TIMELINE_DEPTH = 4,
    NVT_TIMELINE_STREAMS = 5,
    NVT_TIMELINE_SOURCES = NVT_TIMELINE_THREADS + NVT_TIMELINE_STREAMS,
    NVT_TIMELINE_COLUMNS_MOST = 700,
    NVT_TIMELINE_LANES = NVT_TIMELINE_THREADS * (NVT_TIMELINE_DEPTH + 1) + NVT_TIMELINE_STREAMS + 1,
    /* small ones, between them others, and gaps */
    NVT_TIMELINE_BOXES = 3 * (NVT_TIMELINE_COLUMNS_MOST + 1) * NVT_TIMELINE_LANES,
    NVT_TIMELINE_OPEN = 32, /* ranges within each other whose ends are known */
};

enum nvt_timeline_kind {
    NVT_TIMELINE_RANGE,
    NVT_TIMELINE_CALL, /* of the operating system */
    NVT_TIMELINE_SPAN, /* of a range on the device, from its first operation to its last */
    NVT_TIMELINE_OP,
    NVT_TIMELINE_IDLE, /* the device has no operation */
};

/* A thread, or a stream of a device. */
struct nvt_timeline_source {
    int is_stream;
    uint32_t process, device, stream; /* of a stream */
    uint32_t thread;                  /* of a thread */
    double ns;                        /* that it was busy */
    int depth, lane;                  /* lanes that it has, and its first one */
    int waits;                       /* behind them there is one of calls of the operating system */
    int64_t open[NVT_TIMELINE_OPEN]; /* ends of the ranges that lie around the last one */
    int open_count;
    int64_t until; /* of a stream: the end of all before */
};

struct nvt_timeline_box {
    int64_t start, end, longest; /* longest: what it is named after */
    int64_t filled;              /* time in what it stands for, which is apart within a lane */
    /* of the trace's table: ranges, calls of the system or operations; of a gap enum nvt_gap_cause */
    uint32_t row;
    uint32_t count; /* of what it stands for */
    int lane;
    enum nvt_timeline_kind kind;
};

struct nvt_timeline_lane {
    double top, height; /* in those of a range's lane */
};

/* How boxes look; the first ones are of names of ranges. */
enum {
    NVT_TIMELINE_OTHER_RANGES = NVT_NAMES_MOST,
    NVT_TIMELINE_CLASSES, /* of kernels, in their order */
    /* names that are of no class */
    NVT_TIMELINE_KERNELS = NVT_TIMELINE_CLASSES + NVT_KERNEL_CLASSES,
    NVT_TIMELINE_KERNELS_MOST = 3,
    NVT_TIMELINE_CALLS = NVT_TIMELINE_KERNELS + NVT_TIMELINE_KERNELS_MOST,
    NVT_TIMELINE_GAPS,
    NVT_TIMELINE_LOOKS
};

struct nvt_timeline_sheet {
    const struct nvt_trace *trace;
    int columns; /* pixels of the picture: what lies within one in a lane is one box */
    /* the name of the domain of Python's functions, when left out; or NVT_NONE */
    uint32_t functions;
    size_t undrawn[2]; /* threads and streams */
    int may_cross;     /* start/end ranges are drawn */
    int are_open;      /* ranges are drawn that never ended, up to where their thread did */
    int are_merged;    /* boxes stand for several */
    size_t deeper;     /* ranges of the threads that are drawn, below their lanes */
    struct nvt_timeline_source sources[NVT_TIMELINE_SOURCES];
    int source_count;
    struct nvt_timeline_lane lanes[NVT_TIMELINE_LANES];
    int is_alone; /* the stream of the only device: where it has no operation, that is idle */
    int lane_count, spans; /* spans: the lane of ranges on the device, -1: none */
    double bottom;         /* behind the last lane */
    struct nvt_timeline_box *boxes;
    size_t count;
    struct nvt_timeline_box *last[NVT_TIMELINE_LANES]; /* of each lane */
    double *shares, *kernel_shares; /* time in it, by id of the name; kernels: of no class */
    uint32_t names[NVT_NAMES_MOST], kernels[NVT_TIMELINE_KERNELS_MOST];
    size_t name_count, kernel_count;
    const char *colors[NVT_TIMELINE_LOOKS];
    int64_t from, to;
    uint32_t iteration, iterations; /* which one it is, from 1; 0: it is the whole trace */
    struct nvt_time_unit unit;
};

/* The sheet of a trace, so many columns wide. 0, or -1 with err; nvt_timeline_free in any case. */
int nvt_timeline_make(struct nvt_timeline_sheet *sheet, const struct nvt_trace *trace, int columns,
                      struct nvt_error *err);
void nvt_timeline_free(struct nvt_timeline_sheet *sheet);

/* How a box looks, one of sheet->colors. */
size_t nvt_timeline_look(const struct nvt_timeline_sheet *sheet,
                         const struct nvt_timeline_box *box);

/* A source's index among those of the sheet, -1: it is not drawn. */
int nvt_timeline_source_at(const struct nvt_timeline_sheet *sheet,
                           const struct nvt_timeline_source *what);

/* Add what happened from `start` to `end` to a lane, whose boxes come by their starts: what begins in the column of its last box is
 * added to that, and names it where it is the longest there, as thousands of them would be no more to be seen than one. */
void nvt_timeline_add(struct nvt_timeline_sheet *sheet, const struct nvt_timeline_box *what);

/* Fill the lane of spans, and add the gaps (timeline_device.c). 0, or -1 with err. */
int nvt_timeline_add_spans(struct nvt_timeline_sheet *sheet, struct nvt_error *err);
int nvt_timeline_add_gaps(struct nvt_timeline_sheet *sheet, struct nvt_error *err);
/* Whether there are spans: of the operations of one device, and phases that launched them; and whether that has one stream. */
int nvt_timeline_has_spans(const struct nvt_timeline_sheet *sheet);
int nvt_timeline_is_alone(const struct nvt_timeline_sheet *sheet);

#endif
