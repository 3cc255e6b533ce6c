/*
 * Events that were read ahead, on another thread than the one that adds them to the trace. Their strings are of a table of their
 * own; when they are added, each gets its place in the trace's table at the event that had it first, so that a trace is the same
 * however its file was read.
 */
#ifndef NVT_KINETO_EVENTS_H
#define NVT_KINETO_EVENTS_H

#include "../../lib/buffer.h"
#include "kineto.h"

/* Zero-initialise, then nvt_kineto_events_clear before the first event; release with nvt_kineto_events_free. */
struct nvt_kineto_events {
    struct nvt_strings *strings;
    struct nvt_buffer packed; /* the events, one after the other */
    uint32_t *names;          /* of `strings` -> of the trace's */
    size_t name_room;
};

/* None are there. 0, or -1 when out of memory. */
int nvt_kineto_events_clear(struct nvt_kineto_events *events);
void nvt_kineto_events_free(struct nvt_kineto_events *events);

/* Bytes of events from which on no more are taken: five times what a part of a profile has. Events with nothing in them would
 * take sixty times the memory of their text. */
#define NVT_KINETO_EVENTS_MOST (4 << 20)

/* The event and the numbers of a reader, whose strings are those of `events`, are one more. 0, or -1: there is no room. */
int nvt_kineto_events_put(struct nvt_kineto_events *events, const struct nvt_kineto *reader);

/* Add all of them to the trace of a reader, in their order. 0, or -1 with err filled. */
int nvt_kineto_events_add(struct nvt_kineto_events *events, struct nvt_kineto *reader);

#endif
