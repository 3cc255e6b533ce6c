/*
 * Which call recorded the event that a sync waits for. An event may be recorded again and again: a wait is for the last call that did
 * before it, and correlation ids of calls ascend with time. Readers keep the calls, put the event's id and 1 into
 * syncs.recorded, and link them when all has been read.
 */
#ifndef NVT_RECORDED_EVENTS_H
#define NVT_RECORDED_EVENTS_H

#include "trace.h"

/* A call that recorded an event on a stream. */
struct nvt_recorded_event {
    uint32_t process, stream; /* process: row in the model */
    uint64_t event, correlation;
};

/* Zero-initialise; release with nvt_recorded_events_free. */
struct nvt_recorded_events {
    struct nvt_recorded_event *items;
    size_t count;
};

/* 0, or -1 when out of memory. */
int nvt_recorded_events_add(struct nvt_recorded_events *events,
                            const struct nvt_recorded_event *event);

/* Of each sync: recorded and recorded_stream, 0 where there is no such call. */
void nvt_recorded_events_link(struct nvt_recorded_events *events, struct nvt_syncs *syncs);
void nvt_recorded_events_free(struct nvt_recorded_events *events);

#endif
