/*
 * What the page of `view` asks for, as JSON: an answer is text that is appended to a buffer. Moments are ns since the first
 * event of all traces ("the axis"), so that they fit into a double; a lane is known by a number over all traces.
 * Names are data: whatever bytes they hold, they are quoted, and JSON has them whole but for what is no UTF-8.
 *
 * An answer changes nothing: several may be made at the same time, but for nvt_answer_findings.
 */
#ifndef NVT_ANSWERS_H
#define NVT_ANSWERS_H

#include "../../lib/buffer.h"
#include "../input/input.h"
#include "scene.h"

struct nvt_viewer {
    struct nvt_input *input;  /* the caller's, with its traces read */
    struct nvt_scene *scenes; /* of each trace */
    int64_t *shifts;          /* added to a trace's times: the axis of the first trace (clocks.h) */
    uint32_t *first;          /* number of each scene's first lane; behind them that of all lanes */
    int64_t begin, end;       /* of all, on the axis of the first trace */
    size_t unaligned;         /* traces whose place on the axis is not known */
};

/* Zero-initialise; release with nvt_viewer_free, also after a failure. 0, or -1 with err: there is no trace, or out of memory. */
int nvt_viewer_make(struct nvt_viewer *viewer, struct nvt_input *input, struct nvt_error *err);
void nvt_viewer_free(struct nvt_viewer *viewer);

/* A moment of a trace on the axis of the viewer. */
static inline int64_t nvt_viewer_axis(const struct nvt_viewer *viewer, size_t trace, int64_t time)
{
    return time + viewer->shifts[trace] - viewer->begin;
}

/*
 * Each appends a JSON object, and returns 0; 1 where the question is about nothing that there is, or -1 when out of memory:
 * then what was appended is worthless.
 *
 * lanes: {"end":ns,"unaligned":n,"traces":[name…],"kinds":[name…],"lanes":[{"id","trace","kind","label","process","tracks",
 * "events"; of a curve "unit"}]}
 *
 * tiles: {"names":[{id:name}…, one for each trace],"lanes":{id:{"tracks":[[start,length,ns,count,name,row …]…]}}}, of a
 * curve {"curve":[x,least,most,last …]}. `lanes` is a list of numbers, "3,4,9"; `columns` up to NVT_ANSWER_COLUMNS.
 *
 * event (of a row on a track of a lane): {"name","kind","lane","start","end","fields":[[name,value]…],"path":[{"name","start","end"}…, the innermost first],
 * "links":[{"what","lane","start","end","name"}…]}
 *
 * window: what begins in it, both ends counting, as `stats --filter-time` counts it: {"ranges":[[name,style,count,ns]…],"operations":[[name,
 * count,ns]…],"calls":[…],"more":rows left out}, each by descending time.
 *
 * find: {"spans":all,"names":[[trace,name,spans,lane,track,row,start,end]…]}: the commonest names that hold a text, in any case, and
 * of each the first span that begins behind a moment, or else the first of all.
 *
 * findings: {"findings":[{"title","what","where","evidence","remedy","moments":[ns…]}…]}; those of diagnose, but for the minor ones.
 */
#define NVT_ANSWER_COLUMNS 8192u
#define NVT_ANSWER_ROWS    200u
int nvt_answer_lanes(const struct nvt_viewer *viewer, struct nvt_buffer *out);
int nvt_answer_tiles(const struct nvt_viewer *viewer, int64_t from, int64_t to, uint32_t columns,
                     const char *lanes, struct nvt_buffer *out);
int nvt_answer_event(const struct nvt_viewer *viewer, uint32_t lane, uint32_t track, uint32_t row,
                     struct nvt_buffer *out);
int nvt_answer_window(const struct nvt_viewer *viewer, int64_t from, int64_t to,
                      struct nvt_buffer *out);
int nvt_answer_find(const struct nvt_viewer *viewer, const char *text, int64_t moment,
                    struct nvt_buffer *out);
int nvt_answer_findings(const struct nvt_viewer *viewer, struct nvt_buffer *out);

/* The scene of a lane's number, whose own number *lane then is; NULL: there is no such lane. */
const struct nvt_scene *nvt_viewer_lane(const struct nvt_viewer *viewer, uint32_t *lane,
                                        uint32_t *trace);

#endif
