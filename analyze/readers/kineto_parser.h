/*
 * Inside the reader of Chrome trace events: how their JSON becomes events (kineto_parse.c the places, kineto_values.c the values).
 */
#ifndef NVT_KINETO_PARSER_H
#define NVT_KINETO_PARSER_H

#include "../../lib/buffer.h"
#include "json_stream.h"
#include "kineto.h"
#include "kineto_events.h"
#include "operator_work.h"

/* Where in the file a value lies. */
enum nvt_kineto_place {
    IN_TOP,
    IN_ROOT,
    IN_EVENTS,
    IN_EVENT,
    IN_ARGS,
    IN_ID2,
    IN_GRID,
    IN_BLOCK,
    IN_DISTRIBUTED,
    IN_PG_LIST,
    IN_PG,
    IN_PG_RANKS,
    IN_MEMBERS,
    IN_SHAPES,
    IN_SHAPE,
    IN_TYPES,
    IN_VALUES,
    IN_DEVICES,
    IN_DEVICE,
    IN_SKIPPED
};

/* What work an operator of that name and those shapes does; name 0: none is known. */
struct nvt_kineto_work {
    uint32_t name, work; /* strings of the parser */
    struct nvt_shapes shapes;
};

struct nvt_kineto_parser {
    struct nvt_kineto reader;
    struct nvt_strings *strings;      /* of the trace, or of events that are read ahead: */
    struct nvt_kineto_events *events; /* where those go, NULL: into the trace */
    enum nvt_kineto_place places[NVT_JSON_DEPTH + 1];
    int depth;
    int key;
    int has_events;
    int has_phases;    /* one that says what kind of event it is */
    int is_list;       /* of events, without an object around it */
    int is_of_pytorch; /* it has what PyTorch's profiler says of itself */
    struct nvt_device device;
    struct nvt_kineto_group group;
    struct nvt_buffer ranks; /* of a list of them, as text */
    struct nvt_buffer id;    /* of the event, if it has one */
    struct nvt_buffer scope; /* of its id, if that has one */
    int has_id, is_local;    /* local: of its process */
    int leaves_out; /* items of the list that are no events, which are counted; else they end the reading */
    uint64_t items;
    const char *other; /* what it is, if it has no events */
    int is_rocprofv3;
    uint32_t entry;           /* key of an event's args that may be of a counter */
    struct nvt_shapes shapes; /* of the event */
    struct nvt_kineto_work works[16];
};

/* What a parser is called with, which is the context. */
extern const struct nvt_json_handler nvt_kineto_handler;

/* A value at the place where the parser is. 0, or -1 with err filled. */
int nvt_kineto_value(void *context, enum nvt_json_type type, const char *text, size_t size);

static inline int nvt_kineto_parser_no_memory(struct nvt_kineto_parser *parser)
{
    return nvt_fail(parser->reader.err, "out of memory");
}

/* Whether an event is, or may turn out to be, of a counter: its phase may come behind its args. */
static inline int nvt_kineto_may_count(const struct nvt_kineto_event *event)
{
    return event->phase == 'C' || !event->phase;
}

/* A parser of events that are read ahead, which are the `items` of json_stream.h. */
extern const struct nvt_json_ahead nvt_kineto_ahead;

#endif
