/*
 * A chunk of NVTX events (docs/trace-format.md, EVENTS) while it is put together, and while it is read: its columns, and
 * what an event has besides its kind, time and name. Payloads are not checked by whoever wrote them: each function says when
 * they are malformed.
 */
#ifndef NVT_EVENT_COLUMNS_H
#define NVT_EVENT_COLUMNS_H

#include "cursor.h"
#include "trace_file.h"

/* Append a column to a payload in the making, unless it is empty. 0, or -1 when out of memory. */
int nvt_event_column_put(struct nvt_buffer *payload, enum nvt_event_column id,
                         const struct nvt_buffer *column);

/* The columns, each as far as it has been read; a missing one is empty. The chunk's payload is somebody else's. */
struct nvt_event_columns {
    struct nvt_cursor tokens, times, domains, attributes, range_ids, samples, tasks;
    uint64_t ticks;
    uint64_t domain, domain_run;
    uint32_t model_domain;   /* of the run; it is the reader's own */
    uint64_t next_attribute; /* number of the next event with attributes, UINT64_MAX none */
    uint64_t next_sample;    /* number of the next event that is a sample, UINT64_MAX none */
    uint64_t next_task;      /* number of the next event of another task, UINT64_MAX none */
    uint64_t task;           /* of the events before it, 0 none */
    uint64_t range;
};

/* What the attributes of an event say. `bytes` are of the chunk's payload. */
struct nvt_event_attributes {
    uint64_t flags; /* enum nvt_attribute_flags */
    uint32_t category, color, payload_type;
    uint64_t payload;
    const uint8_t *bytes; /* of extended payloads */
    uint64_t size;
    const uint8_t *from, *to; /* all of the above as the column has it, flags first */
};

/* Which counter a sample is of, and when it was taken. */
struct nvt_event_sample {
    uint64_t counter;
    uint8_t clock; /* enum nvt_sample_clock */
    int64_t time;  /* on that clock */
};

/* All of these: 0, or -1 when the chunk is malformed. */
int nvt_event_columns_open(struct nvt_event_columns *columns, const struct nvt_chunk *chunk,
                           const uint8_t *payload);

/* The next run of events of one domain. */
int nvt_event_run(struct nvt_event_columns *columns);

/* Attributes of event columns->next_attribute, which is then that of the one behind it. */
int nvt_event_attributes(struct nvt_event_columns *columns, struct nvt_event_attributes *out);

/* The head of the sample that is event columns->next_sample, which is then the number of the next one. */
int nvt_event_sample(struct nvt_event_columns *columns, struct nvt_event_sample *out);

/* Event columns->next_task has come: columns->task is its task, and next_task the number of the next of another one. */
int nvt_event_task(struct nvt_event_columns *columns);

/* The id of the start/end range that the event starts or ends. */
int nvt_event_range(struct nvt_event_columns *columns, uint64_t *range);

#endif
