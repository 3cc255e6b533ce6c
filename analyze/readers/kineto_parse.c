/* Where in a file of trace events its values lie. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "kineto_keys.h"
#include "kineto_parser.h"
#include "other_formats.h"

/* What PyTorch's profiler says of itself. */
static int is_of_pytorch(int key)
{
    return key == KEY_SCHEMA || key == KEY_BASE || key == KEY_DEVICES || key == KEY_DISTRIBUTED;
}

/* Keys of the scanner are numbered from 1 on. */
static int number_of_key(const char *text, size_t size)
{
    return nvt_kineto_key(text, size) + 1;
}

static int on_known_key(void *context, int number)
{
    struct nvt_kineto_parser *parser = context;
    const enum nvt_kineto_place place = parser->places[parser->depth];
    const int key = number - 1;
    if (place == IN_ARGS ? nvt_kineto_may_count(&parser->reader.event)
                         : place != IN_EVENT || !parser->has_phases || is_of_pytorch(key))
        return NVT_JSON_TEXT_WANTED;
    parser->key = key;
    return key == OTHER_KEY ? NVT_JSON_SKIP : 0;
}

static int on_key(void *context, const char *text, size_t size)
{
    struct nvt_kineto_parser *parser = context;
    const enum nvt_kineto_place place = parser->places[parser->depth];
    if (place == IN_ARGS && !nvt_kineto_may_count(&parser->reader.event)) {
        parser->key = nvt_kineto_key(text, size); /* most keys of a file */
        return parser->key == OTHER_KEY ? NVT_JSON_SKIP : 0;
    }
    parser->key = OTHER_KEY;
    if (place == IN_ARGS) {
        parser->entry = nvt_strings_add(parser->strings, text, size);
        if (parser->entry == NVT_NO_STRING)
            return nvt_kineto_parser_no_memory(parser);
    }
    parser->key = nvt_kineto_key(text, size);
    if (parser->key == OTHER_KEY && !parser->other &&
        (place == IN_ROOT || (place == IN_EVENT && !parser->has_phases)))
        parser->other = nvt_other_json(text, size);
    parser->is_rocprofv3 |= place == IN_ROOT && nvt_is_rocprofv3_key(text, size);
    parser->reader.is_own |= place == IN_ROOT && parser->key == KEY_OWN;
    parser->is_of_pytorch |= is_of_pytorch(parser->key);
    return parser->key == OTHER_KEY && place != IN_ARGS ? NVT_JSON_SKIP : 0;
}

/* Whether shapes of the event say what work it is; its name stands before them. */
static int has_work(const struct nvt_kineto_parser *parser)
{
    const uint32_t name = parser->reader.event.name;
    return name && nvt_is_operator_with_work(nvt_strings_get(parser->strings, name, NULL));
}

/* Whether inputs that are no tensors say what work it is, too. */
static int has_values(const struct nvt_kineto_parser *parser)
{
    const uint32_t name = parser->reader.event.name;
    return name && nvt_is_convolution(nvt_strings_get(parser->strings, name, NULL));
}

/* The place of an object or array that opens in `outer`. */
static enum nvt_kineto_place inside(const struct nvt_kineto_parser *parser,
                                    enum nvt_kineto_place outer, int is_array)
{
    switch (outer) {
    case IN_TOP:
        return is_array ? IN_EVENTS : IN_ROOT;
    case IN_ROOT:
        if (is_array)
            return parser->key == KEY_EVENTS    ? IN_EVENTS
                   : parser->key == KEY_DEVICES ? IN_DEVICES
                                                : IN_SKIPPED;
        return parser->key == KEY_DISTRIBUTED ? IN_DISTRIBUTED : IN_SKIPPED;
    case IN_EVENTS:
        return is_array ? IN_SKIPPED : IN_EVENT;
    case IN_EVENT:
        return is_array                  ? IN_SKIPPED
               : parser->key == KEY_ARGS ? IN_ARGS
               : parser->key == KEY_ID2  ? IN_ID2
                                         : IN_SKIPPED;
    case IN_ARGS:
        return !is_array                    ? IN_SKIPPED
               : parser->key == KEY_GRID    ? IN_GRID
               : parser->key == KEY_BLOCK   ? IN_BLOCK
               : parser->key == KEY_MEMBERS ? IN_MEMBERS
               : parser->key == KEY_SHAPES  ? (has_work(parser) ? IN_SHAPES : IN_SKIPPED)
               : parser->key == KEY_TYPES   ? (has_work(parser) ? IN_TYPES : IN_SKIPPED)
               : parser->key == KEY_VALUES  ? (has_values(parser) ? IN_VALUES : IN_SKIPPED)
                                            : IN_SKIPPED;
    case IN_SHAPES:
        return is_array ? IN_SHAPE : IN_SKIPPED;
    case IN_DISTRIBUTED:
        return is_array && parser->key == KEY_PG_LIST ? IN_PG_LIST : IN_SKIPPED;
    case IN_PG_LIST:
        return is_array ? IN_SKIPPED : IN_PG;
    case IN_PG:
        return is_array && parser->key == KEY_PG_RANKS ? IN_PG_RANKS : IN_SKIPPED;
    case IN_DEVICES:
        return is_array ? IN_SKIPPED : IN_DEVICE;
    default:
        return IN_SKIPPED;
    }
}

static void start_event(struct nvt_kineto_event *event)
{
    /* `have` says which of these are there */
    memset(event, 0, offsetof(struct nvt_kineto_event, number));
    event->name = event->category = event->label = 0;
    event->id = NVT_NO_STRING;
}

static int on_open(void *context, int is_array)
{
    struct nvt_kineto_parser *parser = context;
    enum nvt_kineto_place outer = parser->places[parser->depth];
    enum nvt_kineto_place place = inside(parser, outer, is_array);
    if (outer == IN_ROOT && parser->key == KEY_EVENTS && !is_array)
        return nvt_fail(parser->reader.err, "'traceEvents' is not a list");
    if (outer == IN_EVENTS && is_array && parser->leaves_out) {
        parser->items++;
        return NVT_JSON_SKIP;
    }
    if (outer == IN_EVENTS && is_array)
        return nvt_fail(parser->reader.err, "event %llu is not an object",
                        (unsigned long long)parser->reader.events + 1);
    if (outer == IN_EVENT && (parser->key == KEY_TIME || parser->key == KEY_DURATION))
        parser->reader.event.mistyped = 1;
    if (place == IN_SKIPPED)
        return NVT_JSON_SKIP;
    if (place == IN_EVENTS)
        parser->has_events = 1;
    parser->is_list |= place == IN_EVENTS && outer == IN_TOP;
    if (place == IN_EVENT) {
        start_event(&parser->reader.event);
        parser->reader.number_count = 0;
        parser->has_id = parser->is_local = 0;
        parser->scope.size = 0;
        parser->shapes.inputs = parser->shapes.types = parser->shapes.values = 0;
    }
    if (place == IN_SHAPE && parser->shapes.inputs++ < NVT_SHAPE_INPUTS)
        parser->shapes.sizes[parser->shapes.inputs - 1] = 0;
    if (place == IN_DEVICE)
        parser->device = (struct nvt_device){.process = NVT_NONE};
    if (place == IN_PG)
        parser->group = (struct nvt_kineto_group){0};
    if (place == IN_MEMBERS || place == IN_PG_RANKS)
        parser->ranks.size = 0;
    parser->places[++parser->depth] = place;
    parser->key = OTHER_KEY;
    return 0;
}

/* A list of ranks has been read. */
static int end_ranks(struct nvt_kineto_parser *parser, enum nvt_kineto_place place)
{
    const uint32_t members =
        nvt_kineto_members(parser->strings, (const char *)parser->ranks.data, parser->ranks.size);
    *(place == IN_MEMBERS ? &parser->reader.event.members : &parser->group.members) = members;
    return members == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
}

/* What its shapes say: an operator is called with few of them, again and again. */
static int add_work(struct nvt_kineto_parser *parser)
{
    struct nvt_kineto_event *event = &parser->reader.event;
    const struct nvt_shapes *shapes = &parser->shapes;
    struct nvt_kineto_work *known = &parser->works[((uint64_t)shapes->size[0][0] * 31 +
                                                    (uint64_t)shapes->size[1][0] + event->name) %
                                                   NVT_COUNT_OF(parser->works)];
    char work[NVT_OPERATOR_WORK_MAX];
    if (known->name != event->name || !nvt_shapes_are_same(&known->shapes, shapes)) {
        known->name = 0;
        known->work = 0;
        if (nvt_operator_work(nvt_strings_get(parser->strings, event->name, NULL), shapes, work))
            known->work = nvt_strings_add_text(parser->strings, work);
        if (known->work == NVT_NO_STRING)
            return nvt_kineto_parser_no_memory(parser);
        known->name = event->name;
        known->shapes = *shapes;
    }
    event->work = known->work;
    return 0;
}

/* An asynchronous event's id, with what it counts in: the process, by its number or name, where it is local, and a scope. */
static int widen_id(struct nvt_kineto_parser *parser)
{
    const int64_t pid = parser->reader.event.pid;
    int failed = 0;
    if (!strchr("beSF", parser->reader.event.phase))
        return 0;
    if (parser->is_local)
        failed =
            pid < -1
                ? nvt_buffer_printf(&parser->id, "\nof %s",
                                    nvt_strings_get(parser->strings, (uint32_t)(-1 - pid), NULL))
                : nvt_buffer_printf(&parser->id, "\n%lld", (long long)pid);
    if (!failed && parser->scope.size)
        failed = nvt_buffer_append(&parser->id, "\n\n", 2) ||
                 nvt_buffer_append(&parser->id, parser->scope.data, parser->scope.size);
    return failed ? nvt_kineto_parser_no_memory(parser) : 0;
}

/* The event is whole. Ids of arrows that nobody follows would fill the table of strings: PyTorch has one for each launch. */
static int end_event(struct nvt_kineto_parser *parser)
{
    struct nvt_kineto_event *event = &parser->reader.event;
    if (parser->has_id && nvt_kineto_has_use_of_id(event, parser->strings)) {
        if (widen_id(parser))
            return -1;
        event->id =
            nvt_strings_add(parser->strings, (const char *)parser->id.data, parser->id.size);
        if (event->id == NVT_NO_STRING)
            return nvt_kineto_parser_no_memory(parser);
    }
    if (parser->shapes.inputs && parser->shapes.types && add_work(parser))
        return -1;
    if (parser->events)
        return nvt_kineto_events_put(parser->events, &parser->reader);
    parser->reader.events++;
    return nvt_kineto_add(&parser->reader);
}

static int on_close(void *context)
{
    struct nvt_kineto_parser *parser = context;
    enum nvt_kineto_place place = parser->places[parser->depth--];
    parser->key = OTHER_KEY;
    if (place == IN_EVENTS && parser->events)
        return -1; /* the list ends here */
    if (parser->reader.only_names && (place == IN_DEVICE || place == IN_PG))
        return 0;
    if (place == IN_DEVICE && nvt_device_add(parser->reader.trace, &parser->device) == NVT_NONE)
        return nvt_kineto_parser_no_memory(parser);
    if (place == IN_PG && parser->group.name &&
        nvt_kineto_add_group(&parser->reader, &parser->group))
        return nvt_kineto_parser_no_memory(parser);
    if (place == IN_MEMBERS || place == IN_PG_RANKS)
        return end_ranks(parser, place);
    return place == IN_EVENT ? end_event(parser) : 0;
}

/* The format lets the list of events end without its bracket: a tool may die as it writes. */
static int may_end(void *context)
{
    const struct nvt_kineto_parser *parser = context;
    return parser->depth == 1 && parser->places[1] == IN_EVENTS;
}

/* A profiler that is killed leaves part of its file: the whole events of it are read. */
static int cut(void *context)
{
    struct nvt_kineto_parser *parser = context;
    if (!parser->reader.events)
        return -1;
    if (parser->reader.only_names)
        return 0;
    nvt_trace_warn_truncated(
        parser->reader.trace,
        "ends in the middle, after event %llu: what was written until then was read",
        (unsigned long long)parser->reader.events);
    return 0;
}

const struct nvt_json_handler nvt_kineto_handler = {.open = on_open,
                                                    .close = on_close,
                                                    .key = on_key,
                                                    .value = nvt_kineto_value,
                                                    .may_end = may_end,
                                                    .cut = cut,
                                                    .number = number_of_key,
                                                    .known_key = on_known_key};

/* --- events that are read ahead --- */

/* A parser that has nothing but events. */
static void *make_ahead(void)
{
    struct nvt_kineto_parser *parser = calloc(1, sizeof(*parser));
    struct nvt_kineto_events *events = parser ? calloc(1, sizeof(*events)) : NULL;
    if (!events) {
        free(parser);
        return NULL;
    }
    parser->events = events;
    return parser;
}

static void free_ahead(void *items)
{
    struct nvt_kineto_parser *parser = items;
    nvt_kineto_events_free(parser->events);
    free(parser->events);
    nvt_buffer_free(&parser->ranks);
    nvt_buffer_free(&parser->id);
    nvt_buffer_free(&parser->scope);
    free(parser);
}

static int begin_ahead(void *items)
{
    struct nvt_kineto_parser *parser = items;
    if (nvt_kineto_events_clear(parser->events))
        return -1;
    parser->strings = parser->events->strings;
    memset(parser->works, 0, sizeof(parser->works));
    parser->places[1] = IN_ROOT;
    parser->places[2] = IN_EVENTS;
    parser->depth = 2;
    parser->has_phases = parser->is_of_pytorch = 0;
    return 0;
}

static int is_at_event(void *context)
{
    const struct nvt_kineto_parser *parser = context;
    return parser->places[parser->depth] == IN_EVENTS;
}

static int take_ahead(void *context, void *items)
{
    struct nvt_kineto_parser *parser = context;
    const struct nvt_kineto_parser *ahead = items;
    parser->has_phases |= ahead->has_phases;
    parser->is_of_pytorch |= ahead->is_of_pytorch;
    return nvt_kineto_events_add(ahead->events, &parser->reader);
}

const struct nvt_json_ahead nvt_kineto_ahead = {
    &nvt_kineto_handler, 2, make_ahead, begin_ahead, is_at_event, take_ahead, free_ahead};
