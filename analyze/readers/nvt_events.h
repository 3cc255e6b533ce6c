/*
 * Inside of the reader of our own format: a chunk of events while it is read, for those who take
 * events out of it: into the model or into lanes (nvt_events.c), or following a thread
 * (nvt_walk.c).
 */
#ifndef NVT_READ_NVT_EVENTS_H
#define NVT_READ_NVT_EVENTS_H

#include "../../lib/event_columns.h"
#include "nvt.h"

struct nvt_nvt_event {
    unsigned kind; /* enum nvt_token */
    uint32_t name, domain;
    uint32_t domain_number; /* in the file */
    uint64_t ticks;
};

/* The next event, whatever it is. 0, or -1 when the chunk is malformed. */
int nvt_nvt_next_event(struct nvt_nvt_reader *reader, const struct nvt_nvt_later *later,
                       struct nvt_nvt_process *process, struct nvt_event_columns *columns,
                       struct nvt_nvt_event *event);

/* Attributes and samples of all events up to `count`, where nobody wants to know what they say; but a
 * chunk in which they are broken is malformed: -1, else 0. */
int nvt_nvt_check_rest(struct nvt_event_columns *columns, uint32_t count);

/* Whether pushes and pops may be plain from here on: of the default domain, up to the chunk's end.
 */
static inline int nvt_nvt_is_plain(const struct nvt_event_columns *columns)
{
    return !columns->domain && columns->domain_run > UINT32_MAX;
}

/* The kind (lanes.h) of a range that an event begins. NVT_NONE when out of memory. */
uint32_t nvt_nvt_lane_kind(struct nvt_nvt_lanes *lanes, const struct nvt_nvt_event *event);

#endif
