/*
 * --delay and --duration: which part of the command's time is recorded; --dormant: which parts. The recorder turns the state on
 * the control page (enum nvt_window_state), which the processes read; where they use a device they hand over what CUPTI has before
 * it ends.
 */
#ifndef NVT_RECORD_WINDOW_H
#define NVT_RECORD_WINDOW_H

#include "../lib/clock.h"
#include "ring.h"

struct nvt_record_window {
    int64_t opens, closes; /* CLOCK_MONOTONIC; INT64_MAX: with the recording */
    int64_t turned;        /* when it was opened or closed last, CLOCK_MONOTONIC; or begun */
    int64_t recorded_ns;   /* that it was open, up to then */
    uint32_t parts;        /* times that it was opened, at the beginning included */
};

/* Put on the page whether there is one. Before any process sees it. `duration_ns`: 0, no end. With --dormant: closed. */
void nvt_record_window_prepare(struct nvt_control *control, int64_t delay_ns, int64_t duration_ns);
void nvt_record_window_prepare_dormant(struct nvt_control *control);

/* The command has begun. */
void nvt_record_window_begin(struct nvt_record_window *window, const struct nvt_control *control,
                             int64_t delay_ns, int64_t duration_ns);

/* See what is due. Whether the window is closed and nothing of it is to come. */
int nvt_record_window_look(struct nvt_record_window *window, struct nvt_control *control,
                           enum nvt_clock clock);

/* --dormant: open or close it. 1, or 0: it was that already. */
int nvt_record_window_turn(struct nvt_record_window *window, struct nvt_control *control,
                           enum nvt_clock clock, int opens);

/* For how long it was open so far. */
int64_t nvt_record_window_recorded(const struct nvt_record_window *window,
                                   const struct nvt_control *control);

/* When to look again, CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t nvt_record_window_next(const struct nvt_record_window *window,
                               const struct nvt_control *control);

#endif
