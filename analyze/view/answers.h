/*
 * What the page of `view` asks for, as JSON: an answer is text that is appended to a buffer. Moments are ns since the side's first
 * trace begins ("the axis"), as a whole where a window is shown, so that they fit into a double; a lane is known by a number over all traces.
 * Names are data: whatever bytes they hold, they are quoted, and JSON has them whole but for what is no UTF-8.
 *
 * An answer changes nothing: several may be made at the same time, but for nvt_answer_findings.
 */
#ifndef NVT_ANSWERS_H
#define NVT_ANSWERS_H

#include "../../lib/buffer.h"
#include "../diagnosis/diagnose.h"
#include "../input/input.h"
#include "scene.h"

/* What stands against another: traces on one axis, that of the first of them, at 0 of which (nvt_trace_begin) the first one begins. Sides
 * have nothing in common: a page puts one axis over the other. */
struct nvt_view_side {
    struct nvt_input *input; /* the caller's, with its traces read */
    size_t first, count;     /* its traces */
    int64_t begin, end;      /* of what they have: 0, or where a window has its first event */
    /* of its first trace that has any, of which the next ones are, from start to end: */
    size_t iterations;
    int64_t median[2], longest[2]; /* the median one and the longest */
    /* from the beginning to the end of its first trace and of those that are not far from it */
    int64_t near[2];
    /* iterations of these, and all of those of them that have none; where any trace of the side has some */
    int64_t loop[2];
};

struct nvt_viewer {
    struct nvt_view_side *sides;
    size_t side_count;
    const struct nvt_input_trace **traces; /* of all sides */
    struct nvt_scene *scenes;              /* of each trace */
    int64_t *shifts;                       /* added to a trace's times: its side's axis */
    uint32_t *first;  /* number of each scene's first lane; behind them that of all lanes */
    size_t count;     /* traces */
    int64_t end;      /* of the longest side */
    size_t unaligned; /* traces whose place on the axis is not known */
};

/* Zero-initialise; release with nvt_viewer_free, also after a failure. 0, or -1 with err: a side has no trace, or out of memory. */
int nvt_viewer_make(struct nvt_viewer *viewer, struct nvt_input *inputs, size_t sides,
                    struct nvt_error *err);
/* The same in two steps, of which each takes about half of the time: without the critical path, then with it. `base` must outlive what
 * it is the base of, and may be in use. */
int nvt_viewer_make_lanes(struct nvt_viewer *viewer, struct nvt_input *inputs, size_t sides,
                          struct nvt_error *err);
int nvt_viewer_add_path(struct nvt_viewer *viewer, const struct nvt_viewer *base,
                        struct nvt_error *err);
void nvt_viewer_free(struct nvt_viewer *viewer);

/* A moment of a trace on the axis of its side. */
static inline int64_t nvt_viewer_axis(const struct nvt_viewer *viewer, size_t trace, int64_t time)
{
    return time + viewer->shifts[trace];
}

/*
 * Each appends a JSON object, and returns 0; 1 where the question is about nothing that there is, or -1 when out of memory:
 * then what was appended is worthless.
 *
 * lanes: {"end":ns,"unaligned":n,"traces":[name…],"spans":[[begin,end of each trace on its side's axis]…],"warnings":[of files that were not read as a whole…],"sides":[{"name","first","traces","begin","end","near","iterations","loop","median","longest","goes_on": it is being recorded,"is_window"}…], "kinds":[name…],
 * "classes":[name…, of kernels],"lanes":[{"id","trace","kind","label","process","tracks",
 * "events"; of a curve "unit"}]}
 *
 * tiles: {"names":[{id:name}…, one for each trace],"classes":[{id:class}…, of the names of operations],"lanes":{id:{"tracks":[[start,length,ns,count,name,row …]…]}}}, of a
 * curve {"curve":[x,least,most,last …]}. `lanes` is a list of numbers, "3,4,9"; Curves have NVT_ANSWER_COLUMNS columns at most.
 *
 * event (of a row on a track of a lane): {"name","kind","lane","start","end","fields":[[name,value]…],"path":[{"name","start","end"}…, the innermost first],
 * "links":[{"what","lane","start","end","name"}…],"neighbours": on the track [{"what":"before" or "after","row","name","start","end"}…]}
 *
 * window: what begins in it, both ends counting, as `stats --filter-time` counts it: {"ranges":[[name,style,count,ns]…],"operations":[[name,
 * count,ns]…],"calls":[…],"mpi":[…],"os":[…],"more":rows left out}, each by descending time. Compared with another window: count and ns of that behind those of the
 * first, 0 where it has none of the name; those that differ most come first.
 *
 * find: {"spans":all,"place":n of all,"next":what to go to, as in names, "names":[[trace,name,spans,lane,track,row,start,end]…]}: the commonest
 * names that hold a text, in any case, and of each the first span behind a place, or else the first of all; backwards the last one in front of it, or
 * else the last of all. `next` and its place are there if anything is found.
 *
 * findings: {"findings":[{"title","what","where","evidence","remedy","moments":[{"at":ns,"text": the moment in its trace, as diagnose prints it, and of the event that begins then, if any does,
 * "lane" (without those of critical paths), "track","row","end","name"}…],"side","trace": if it has moments in one}…],"looked":[[line…]…]}; those of diagnose, but for the minor
 * ones, and of each side how many rules looked at what, and what the others lacked.
 */
#define NVT_ANSWER_COLUMNS 8192u
#define NVT_ANSWER_ROWS    200u
int nvt_answer_lanes(const struct nvt_viewer *viewer, struct nvt_buffer *out);
int nvt_answer_tiles(const struct nvt_viewer *viewer, int64_t from, int64_t to, uint32_t columns,
                     const char *lanes, struct nvt_buffer *out);
int nvt_answer_event(const struct nvt_viewer *viewer, uint32_t lane, uint32_t number, uint32_t row,
                     struct nvt_buffer *out);
/* A window of a side. */
struct nvt_view_window {
    size_t side;
    int64_t from, to;
};
/* `count` 1, or 2 to compare. */
int nvt_answer_window(const struct nvt_viewer *viewer, const struct nvt_view_window *windows,
                      size_t count, struct nvt_buffer *out);
/* Where a search begins: at a moment, of which UINT32_MAX as the lane means the end. */
struct nvt_view_from {
    int64_t moment;
    uint32_t lane, track;
    int is_back;
};
int nvt_answer_find(const struct nvt_viewer *viewer, const char *text,
                    const struct nvt_view_from *from, struct nvt_buffer *out);
int nvt_answer_findings(const struct nvt_viewer *viewer, struct nvt_buffer *out);
/* Append `,"looked":…` of them. 0, or -1 when out of memory. */
int nvt_answer_looked(const struct nvt_viewer *viewer, struct nvt_buffer *out);
/* One of them; its moments are there if its trace is shown. */
void nvt_answer_finding(const struct nvt_viewer *viewer, const struct nvt_finding *finding,
                        size_t side, struct nvt_buffer *out);

/*
 * What a page without a server needs, in about `most` bytes at most (analyze/view/embed.c): {"lanes":…,"findings":…, as above, or where they are
 * NULL, looked for; "sides":[{"window":[from,to],"tiles":[…]}…]}. The window is the side's median iteration, or all. Tiles are of the side's lanes:
 * what comes before the window, the window and what follows it at one scale, and the window once more at full detail, or as much of it as there is
 * room for; null: nothing. The detail is the least of all sides. 1: there is too little room for anything.
 */
enum nvt_view_detail { NVT_DETAIL_NONE, NVT_DETAIL_MORE, NVT_DETAIL_FULL }; /* of the window */
int nvt_answer_embedded(const struct nvt_viewer *viewer, const struct nvt_findings *findings,
                        size_t most, enum nvt_view_detail *detail, struct nvt_buffer *out);

/* The scene of a lane's number, whose own number *lane then is; NULL: there is no such lane. */
const struct nvt_scene *nvt_viewer_lane(const struct nvt_viewer *viewer, uint32_t *lane,
                                        uint32_t *trace);

#endif
