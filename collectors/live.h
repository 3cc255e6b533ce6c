/*
 * What `nvtally ctl` may ask of a recording that goes on (ctl_socket.h), in words:
 *
 *   status       lines of a name, a tab and a value: state (recording, dormant), steps (only while some are due: how many, which), for (ns in that state), began (ns ago), recorded
 *                (ns in all), parts, processes (that are in the trace), bytes, iterating (processes that have begun iterations), trace (its path), command
 *   start, stop  of --dormant: begin to record, end it; "stop OURS" ends what steps of that number has begun, and nothing else
 *   steps N      of --dormant --iteration: record so many iterations (live_steps.h), "steps N NS OURS" with NS among several recorders, else 0, and a number of who asks; lines as above: trace, range, settle (ns until
 *                their numbers are to be fixed)
 *   fix FROM     the number of the first of them
 *   stepped      what has become of that, in such lines
 *   mark TEXT    put a mark into each process that is recorded (live_mark.h)
 *   flush [NS]   have all in the trace that there is by now; lines as above: trace, bytes (that it has then), inode (of the file,
 *                which is another one when its older part was cut off), since (ticks NS ago; 0: the trace began later)
 */
#ifndef NVT_LIVE_H
#define NVT_LIVE_H

#include "ctl_socket.h"
#include "live_mark.h"
#include "live_steps.h"
#include "record_window.h"
#include "recorder.h"

struct nvt_live {
    struct nvt_recorder *recorder;
    struct nvt_record_window *window;
    struct nvt_ctl_server server;
    struct nvt_live_marks marks;
    struct nvt_live_steps steps;
    int64_t began;     /* CLOCK_MONOTONIC */
    int64_t waited_ns; /* that the window was open before iterations began, and behind them */
    char trace[PATH_MAX];
    char command[1024];
    char unheard[NVT_CTL_ANSWER_MOST]; /* an answer that nobody has asked for */
};

/* From now on requests are answered that come to `server`, which listens since before the command began; those of before wait. All of
 * it lasts as long. */
void nvt_live_begin(struct nvt_live *live, struct nvt_recorder *recorder,
                    struct nvt_record_window *window, const char *trace, char *const command[]);
void nvt_live_end(struct nvt_live *live);

/* What the request start does: 0, or -1 with the text of why not. */
int nvt_live_start(struct nvt_live *live, char *text, size_t size);

/* Answer what was asked, and see whether the recorder may rest. */
void nvt_live_serve(struct nvt_live *live);

#endif
