/*
 * What the chart timeline shows: a part of a trace as boxes in lanes, those of threads above those of streams of devices.
 */
#ifndef NVT_TIMELINE_SHEET_H
#define NVT_TIMELINE_SHEET_H

#include "../analyze/model/trace.h"
#include "chart.h"
#include "frame.h"
#include "looks.h"

enum {
    NVT_TIMELINE_THREADS = 3,
    NVT_TIMELINE_DEPTH = 4,
    NVT_TIMELINE_STREAMS = 5,
    NVT_TIMELINE_SOURCES = NVT_TIMELINE_THREADS + NVT_TIMELINE_STREAMS,
    NVT_TIMELINE_COLUMNS =
        340, /* of the picture, about: what lies within one in a lane is one box */
    NVT_TIMELINE_LANES = NVT_TIMELINE_THREADS * (NVT_TIMELINE_DEPTH + 1) + NVT_TIMELINE_STREAMS,
    NVT_TIMELINE_BOXES = 2 * (NVT_TIMELINE_COLUMNS + 1) *
                         NVT_TIMELINE_LANES, /* small ones and, between them, others */
    NVT_TIMELINE_OPEN = 32,                  /* ranges within each other whose ends are known */
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
};

struct nvt_timeline_box {
    int64_t start, end, longest; /* longest: what gave it its name */
    int64_t filled;              /* time in what it stands for, which is apart within a lane */
    uint32_t name;               /* NVT_NONE: it is calls of the operating system */
    int lane;
};

struct nvt_timeline_sheet {
    const struct nvt_trace *trace;
    uint32_t
        functions; /* the name of the domain of Python's functions, when left out; or NVT_NONE */
    size_t undrawn[2]; /* threads and streams */
    int may_cross;     /* start/end ranges are drawn */
    int are_open;      /* ranges are drawn that never ended, up to where their thread did */
    size_t deeper;     /* ranges of the threads that are drawn, below their lanes */
    struct nvt_timeline_source sources[NVT_TIMELINE_SOURCES];
    int source_count, lanes;
    double place[NVT_TIMELINE_LANES],
        height[NVT_TIMELINE_LANES]; /* of lanes, from above; in those of the highest */
    double bottom;                  /* behind the last one */
    struct nvt_timeline_box *boxes;
    size_t count;
    struct nvt_timeline_box *last[NVT_TIMELINE_LANES]; /* of each lane */
    double *shares;                                    /* time in it, by id of the name */
    uint32_t names[NVT_NAMES_MOST];
    const char *colors[NVT_NAMES_MOST + 1]; /* of them, then of the others */
    size_t name_count;
    int64_t from, to;
    char part[NVT_FRAME_TEXT]; /* which part of the trace it is */
    struct nvt_time_unit unit;
};

/* The sheet of a trace. 0, or -1 when out of memory; nvt_timeline_free in any case. */
int nvt_timeline_make(struct nvt_timeline_sheet *sheet, const struct nvt_trace *trace);
void nvt_timeline_free(struct nvt_timeline_sheet *sheet);

/* The colour of a box: one of sheet->colors, or that of calls of the operating system. */
enum { NVT_TIMELINE_OTHERS = NVT_NAMES_MOST, NVT_TIMELINE_WAITS, NVT_TIMELINE_COLORS };
size_t nvt_timeline_color(const struct nvt_timeline_sheet *sheet,
                          const struct nvt_timeline_box *box);

#endif
