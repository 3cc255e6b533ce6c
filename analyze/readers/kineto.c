#include "kineto_dialects.h"
#include "kineto_events.h"
#include "kineto_keys.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../model/batches.h"
#include "../model/interchange.h"
#include "json_stream.h"
#include "other_formats.h"
#include "reader.h"

/* Where in the file a value lies. */
enum place {
    TOP,
    ROOT,
    EVENTS,
    EVENT,
    ARGS,
    GRID,
    BLOCK,
    DISTRIBUTED,
    PG_LIST,
    PG,
    PG_RANKS,
    MEMBERS,
    DEVICES,
    DEVICE,
    SKIPPED
};

struct parser {
    struct nvt_kineto reader;
    struct nvt_strings *strings;      /* of the trace, or of events that are read ahead: */
    struct nvt_kineto_events *events; /* where those go, NULL: into the trace */
    enum place places[NVT_JSON_DEPTH + 1];
    int depth;
    int key;
    int has_events;
    int has_phases;    /* one that says what kind of event it is */
    int is_list;       /* of events, without an object around it */
    int is_of_pytorch; /* it has what PyTorch's profiler says of itself */
    struct nvt_device device;
    struct nvt_kineto_group group;
    struct nvt_buffer ranks; /* of a list of them, as text */
    const char *other;       /* what it is, if it has no events */
    uint32_t entry;          /* key of an event's args that may be of a counter */
};

static int out_of_memory(struct parser *parser)
{
    return nvt_fail(parser->reader.err, "out of memory");
}

/* Whether an event is, or may turn out to be, of a counter: its phase may come behind its args. */
static int may_count(const struct nvt_kineto_event *event)
{
    return event->phase == 'C' || !event->phase;
}

static int on_key(void *context, const char *text, size_t size)
{
    struct parser *parser = context;
    const enum place place = parser->places[parser->depth];
    parser->key = OTHER_KEY;
    if (place == ARGS && may_count(&parser->reader.event)) {
        parser->entry = nvt_strings_add(parser->strings, text, size);
        if (parser->entry == NVT_NO_STRING)
            return out_of_memory(parser);
    }
    parser->key = nvt_kineto_key(text, size);
    if (place == ROOT && parser->key == OTHER_KEY && !parser->other)
        parser->other = nvt_other_json(text, size);
    parser->reader.is_own |= place == ROOT && parser->key == KEY_OWN;
    parser->is_of_pytorch |= parser->key == KEY_SCHEMA || parser->key == KEY_BASE ||
                             parser->key == KEY_DEVICES || parser->key == KEY_DISTRIBUTED;
    return parser->key == OTHER_KEY && (place != ARGS || !may_count(&parser->reader.event))
               ? NVT_JSON_SKIP
               : 0;
}

/* The place of an object or array that opens in `outer`. */
static enum place inside(const struct parser *parser, enum place outer, int is_array)
{
    switch (outer) {
    case TOP:
        return is_array ? EVENTS : ROOT;
    case ROOT:
        if (is_array)
            return parser->key == KEY_EVENTS    ? EVENTS
                   : parser->key == KEY_DEVICES ? DEVICES
                                                : SKIPPED;
        return parser->key == KEY_DISTRIBUTED ? DISTRIBUTED : SKIPPED;
    case EVENTS:
        return is_array ? SKIPPED : EVENT;
    case EVENT:
        return !is_array && parser->key == KEY_ARGS ? ARGS : SKIPPED;
    case ARGS:
        return !is_array                    ? SKIPPED
               : parser->key == KEY_GRID    ? GRID
               : parser->key == KEY_BLOCK   ? BLOCK
               : parser->key == KEY_MEMBERS ? MEMBERS
                                            : SKIPPED;
    case DISTRIBUTED:
        return is_array && parser->key == KEY_PG_LIST ? PG_LIST : SKIPPED;
    case PG_LIST:
        return is_array ? SKIPPED : PG;
    case PG:
        return is_array && parser->key == KEY_PG_RANKS ? PG_RANKS : SKIPPED;
    case DEVICES:
        return is_array ? SKIPPED : DEVICE;
    default:
        return SKIPPED;
    }
}

static void start_event(struct nvt_kineto_event *event)
{
    memset(event, 0, sizeof(*event));
    event->name = event->category = event->label = 0;
    event->id = NVT_NO_STRING;
}

static int on_open(void *context, int is_array)
{
    struct parser *parser = context;
    enum place outer = parser->places[parser->depth];
    enum place place = inside(parser, outer, is_array);
    if (outer == ROOT && parser->key == KEY_EVENTS && !is_array)
        return nvt_fail(parser->reader.err, "'traceEvents' is not a list");
    if (outer == EVENTS && is_array)
        return nvt_fail(parser->reader.err, "event %llu is not an object",
                        (unsigned long long)parser->reader.events + 1);
    if (outer == EVENT && (parser->key == KEY_TIME || parser->key == KEY_DURATION))
        parser->reader.event.mistyped = 1;
    if (place == SKIPPED)
        return NVT_JSON_SKIP;
    if (place == EVENTS)
        parser->has_events = 1;
    parser->is_list |= place == EVENTS && outer == TOP;
    if (place == EVENT) {
        start_event(&parser->reader.event);
        parser->reader.number_count = 0;
    }
    if (place == DEVICE)
        parser->device = (struct nvt_device){.process = NVT_NONE};
    if (place == PG)
        parser->group = (struct nvt_kineto_group){0};
    if (place == MEMBERS || place == PG_RANKS)
        parser->ranks.size = 0;
    parser->places[++parser->depth] = place;
    parser->key = OTHER_KEY;
    return 0;
}

/* A list of ranks has been read. */
static int end_ranks(struct parser *parser, enum place place)
{
    const uint32_t members =
        nvt_kineto_members(parser->strings, (const char *)parser->ranks.data, parser->ranks.size);
    *(place == MEMBERS ? &parser->reader.event.members : &parser->group.members) = members;
    return members == NVT_NO_STRING ? out_of_memory(parser) : 0;
}

static int on_close(void *context)
{
    struct parser *parser = context;
    enum place place = parser->places[parser->depth--];
    parser->key = OTHER_KEY;
    if (place == EVENTS && parser->events)
        return -1; /* the list ends here */
    if (place == DEVICE && nvt_device_add(parser->reader.trace, &parser->device) == NVT_NONE)
        return out_of_memory(parser);
    if (place == PG && parser->group.name && nvt_kineto_add_group(&parser->reader, &parser->group))
        return out_of_memory(parser);
    if (place == MEMBERS || place == PG_RANKS)
        return end_ranks(parser, place);
    if (place != EVENT)
        return 0;
    if (parser->events)
        return nvt_kineto_events_put(parser->events, &parser->reader);
    parser->reader.events++;
    return nvt_kineto_add(&parser->reader);
}

/* A pid or tid: a number, as a text too (PyTorch 1.8 had "tid": "5555" beside 5555), or another
 * text, which becomes a number below zero. So does a number that is below -1, which nobody has. */
static int owner_id(struct parser *parser, enum nvt_json_type type, const char *text, size_t size,
                    int64_t *id)
{
    int is_number = nvt_parse_scaled(text, size, 0, id) == 0;
    if (type != NVT_JSON_TEXT && (!is_number || *id >= -1))
        return is_number;
    if (is_number && *id >= 0)
        return 0;
    uint32_t name = nvt_strings_add(parser->strings, text, size);
    *id = -1 - (int64_t)name;
    return name == NVT_NO_STRING ? out_of_memory(parser) : 0;
}

static uint32_t intern(struct parser *parser, enum nvt_json_type type, const char *text,
                       size_t size)
{
    if (type != NVT_JSON_TEXT && type != NVT_JSON_NUMBER)
        return 0;
    return nvt_strings_add(parser->strings, text, size);
}

/* A number that is no time is out of range. */
static int not_a_time(enum nvt_json_type type)
{
    return type == NVT_JSON_NUMBER ? 2 : 1;
}

static int event_value(struct parser *parser, enum nvt_json_type type, const char *text,
                       size_t size)
{
    struct nvt_kineto_event *event = &parser->reader.event;
    int status;
    switch (parser->key) {
    case KEY_PHASE:
        event->phase = type == NVT_JSON_TEXT && size == 1 ? *text : 0;
        parser->has_phases |= event->phase != 0;
        return 0;
    case KEY_TIME:
        event->has_time = !nvt_parse_scaled(text, size, 3, &event->time);
        event->mistyped = event->has_time ? event->mistyped : not_a_time(type);
        return 0;
    case KEY_DURATION:
        event->has_duration = !nvt_parse_scaled(text, size, 3, &event->duration);
        event->mistyped = event->has_duration ? event->mistyped : not_a_time(type);
        return 0;
    case KEY_NAME:
        event->name = intern(parser, type, text, size);
        return event->name == NVT_NO_STRING ? out_of_memory(parser) : 0;
    case KEY_CATEGORY:
        event->category = intern(parser, type, text, size);
        return event->category == NVT_NO_STRING ? out_of_memory(parser) : 0;
    case KEY_ID:
        event->id = intern(parser, type, text, size);
        return event->id == NVT_NO_STRING ? out_of_memory(parser) : 0;
    case KEY_PID:
        status = owner_id(parser, type, text, size, &event->pid);
        event->is_device_pid = status == 1;
        return status < 0 ? -1 : 0;
    case KEY_TID:
        event->has_tid = 1;
        return owner_id(parser, type, text, size, &event->tid) < 0 ? -1 : 0;
    default:
        return 0;
    }
}

/* "0x7f…"; 0: it is none. */
static uint64_t address(const char *text, size_t size)
{
    uint64_t value = 0;
    if (size < 3 || size > 18 || memcmp(text, "0x", 2))
        return 0;
    for (size_t i = 2; i < size; i++) {
        int is_digit = isdigit((unsigned char)text[i]);
        if (!isxdigit((unsigned char)text[i]))
            return 0;
        value = value << 4 | (uint64_t)(is_digit ? text[i] - '0' : (text[i] | 32) - 'a' + 10);
    }
    return value;
}

static void add_number(struct nvt_kineto *reader, uint32_t key, const char *text, size_t size)
{
    char number[64] = {0}, *end;
    if (reader->number_count == NVT_KINETO_SERIES || size >= sizeof(number))
        return;
    memcpy(number, text, size);
    const double value = strtod(number, &end);
    if (end != number && !*end && isfinite(value))
        reader->numbers[reader->number_count++] = (struct nvt_kineto_series){key, value};
}

static int args_value(struct parser *parser, enum nvt_json_type type, const char *text, size_t size)
{
    struct nvt_kineto_event *event = &parser->reader.event;
    int64_t number;
    if (type == NVT_JSON_NUMBER && may_count(event))
        add_number(&parser->reader, parser->entry, text, size);
    if (parser->key == KEY_MEMBERS) {
        event->members = nvt_kineto_members(parser->strings, text, size);
        return event->members == NVT_NO_STRING ? out_of_memory(parser) : 0;
    }
    uint32_t *kept = parser->key == KEY_NAME         ? &event->label
                     : parser->key == KEY_COLLECTIVE ? &event->collective
                     : parser->key == KEY_TYPE       ? &event->type
                     : parser->key == KEY_GROUP      ? &event->group
                     : parser->key == KEY_PURPOSE    ? &event->purpose
                     : parser->key == KEY_FILE       ? &event->file
                     : parser->key == KEY_CALLER     ? &event->caller
                                                     : NULL;
    if (kept) {
        *kept = intern(parser, type, text, size);
        return *kept == NVT_NO_STRING ? out_of_memory(parser) : 0;
    }
    if (parser->key == KEY_DETAILS)
        nvt_dialect_details(event, text, size);
    if (parser->key == KEY_ADDRESS)
        event->address = address(text, size);
    if (parser->key >= KEY_NUMBER && !nvt_parse_scaled(text, size, 0, &number)) {
        event->number[parser->key - KEY_NUMBER] = number;
        event->have |= 1u << (parser->key - KEY_NUMBER);
    }
    return 0;
}

static void dimension(uint32_t *out, unsigned *count, const char *text, size_t size)
{
    int64_t number;
    if (*count < 3 && !nvt_parse_scaled(text, size, 0, &number) && number >= 0 &&
        number <= UINT32_MAX)
        out[(*count)++] = (uint32_t)number;
}

static int root_value(struct parser *parser, const char *text, size_t size)
{
    int64_t number;
    if (parser->key == KEY_EVENTS)
        return nvt_fail(parser->reader.err, "'traceEvents' is not a list");
    if (parser->key == KEY_BASE && !nvt_parse_scaled(text, size, 0, &number))
        parser->reader.trace->origin_ns = number;
    return 0;
}

static int distributed_value(struct parser *parser, const char *text, size_t size)
{
    char value[32] = {0};
    int64_t number;
    if (nvt_parse_scaled(text, size, 0, &number) || number < 0 || number >= UINT32_MAX)
        return 0;
    if (parser->key == KEY_RANK)
        parser->reader.rank = (uint32_t)number;
    if (parser->key != KEY_RANK && parser->key != KEY_WORLD)
        return 0;
    memcpy(value, text, size < sizeof(value) ? size : sizeof(value) - 1);
    return nvt_trace_set_meta(parser->reader.trace, parser->key == KEY_RANK ? "rank" : "world_size",
                              value)
               ? out_of_memory(parser)
               : 0;
}

/* A member of a list of ranks: its text. */
static int rank_value(struct parser *parser, enum nvt_json_type type, const char *text, size_t size)
{
    if (type != NVT_JSON_NUMBER && type != NVT_JSON_TEXT)
        return 0;
    return (parser->ranks.size && nvt_buffer_append(&parser->ranks, ",", 1)) ||
                   nvt_buffer_append(&parser->ranks, text, size)
               ? out_of_memory(parser)
               : 0;
}

static int group_value(struct parser *parser, enum nvt_json_type type, const char *text,
                       size_t size)
{
    int64_t number;
    uint32_t *kept = parser->key == KEY_PG_NAME      ? &parser->group.name
                     : parser->key == KEY_PG_PURPOSE ? &parser->group.purpose
                                                     : NULL;
    if (kept) {
        *kept = intern(parser, type, text, size);
        return *kept == NVT_NO_STRING ? out_of_memory(parser) : 0;
    }
    if (parser->key == KEY_PG_SIZE && !nvt_parse_scaled(text, size, 0, &number) && number > 0 &&
        number < UINT32_MAX)
        parser->group.ranks = (uint32_t)number;
    return 0;
}

static int device_value(struct parser *parser, enum nvt_json_type type, const char *text,
                        size_t size)
{
    int64_t number = 0;
    if (parser->key == KEY_NAME) {
        parser->device.name = intern(parser, type, text, size);
        return parser->device.name == NVT_NO_STRING ? out_of_memory(parser) : 0;
    }
    if (nvt_parse_scaled(text, size, 0, &number) || number < 0)
        return 0;
    if (parser->key == KEY_ID)
        parser->device.device = (uint32_t)number;
    if (parser->key == KEY_MEMORY)
        parser->device.memory_bytes = (uint64_t)number;
    if (parser->key == KEY_SMS)
        parser->device.multiprocessors = (uint32_t)number;
    if (parser->key == KEY_MAJOR)
        parser->device.capability += (uint32_t)(number % 1000) * 10;
    if (parser->key == KEY_MINOR)
        parser->device.capability += (uint32_t)(number % 10);
    return 0;
}

static int on_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    struct parser *parser = context;
    switch (parser->places[parser->depth]) {
    case EVENT:
        return event_value(parser, type, text, size);
    case ARGS:
        return args_value(parser, type, text, size);
    case GRID:
        dimension(parser->reader.event.grid, &parser->reader.event.grid_size, text, size);
        return 0;
    case BLOCK:
        dimension(parser->reader.event.block, &parser->reader.event.block_size, text, size);
        return 0;
    case ROOT:
        return root_value(parser, text, size);
    case DISTRIBUTED:
        return distributed_value(parser, text, size);
    case PG:
        return group_value(parser, type, text, size);
    case PG_RANKS:
    case MEMBERS:
        return rank_value(parser, type, text, size);
    case DEVICE:
        return device_value(parser, type, text, size);
    case EVENTS:
        return type == NVT_JSON_NULL ? 0
                                     : nvt_fail(parser->reader.err, "event %llu is not an object",
                                                (unsigned long long)parser->reader.events + 1);
    default:
        return 0;
    }
}

/* The format lets the list of events end without its bracket: a tool may die as it writes. */
static int may_end(void *context)
{
    const struct parser *parser = context;
    return parser->depth == 1 && parser->places[1] == EVENTS;
}

/* A profiler that is killed leaves part of its file: the whole events of it are read. */
static int cut(void *context)
{
    struct parser *parser = context;
    if (!parser->reader.events)
        return -1;
    nvt_trace_warn(parser->reader.trace,
                   "ends in the middle, after event %llu: what was written until then was read",
                   (unsigned long long)parser->reader.events);
    return 0;
}

static const struct nvt_json_handler handler = {on_open, on_close, on_key, on_value, may_end, cut};

/* --- events that are read ahead --- */

/* A parser that has nothing but events. */
static void *make_ahead(void)
{
    struct parser *parser = calloc(1, sizeof(*parser));
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
    struct parser *parser = items;
    nvt_kineto_events_free(parser->events);
    free(parser->events);
    nvt_buffer_free(&parser->ranks);
    free(parser);
}

static int begin_ahead(void *items)
{
    struct parser *parser = items;
    if (nvt_kineto_events_clear(parser->events))
        return -1;
    parser->strings = parser->events->strings;
    parser->places[1] = ROOT;
    parser->places[2] = EVENTS;
    parser->depth = 2;
    parser->has_phases = parser->is_of_pytorch = 0;
    return 0;
}

static int is_at_event(void *context)
{
    const struct parser *parser = context;
    return parser->places[parser->depth] == EVENTS;
}

static int take_ahead(void *context, void *items)
{
    struct parser *parser = context;
    const struct parser *ahead = items;
    parser->has_phases |= ahead->has_phases;
    parser->is_of_pytorch |= ahead->is_of_pytorch;
    return nvt_kineto_events_add(ahead->events, &parser->reader);
}

static const struct nvt_json_ahead ahead = {&handler,    2,          make_ahead, begin_ahead,
                                            is_at_event, take_ahead, free_ahead};

static int recognizes(const uint8_t *head, size_t size)
{
    size_t at = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (size >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        return 1;
    while (at < size && isspace(head[at]))
        at++;
    return at < size && (head[at] == '{' || head[at] == '[');
}

/* Of what was written from its profile by another program. */
static int has_names_of_pytorch(const struct nvt_trace *trace)
{
    static const char step[] = "ProfilerStep#";
    for (uint32_t i = 0; i < nvt_strings_count(trace->strings); i++)
        if (!strncmp(nvt_strings_get(trace->strings, i, NULL), step, sizeof(step) - 1))
            return 1;
    return nvt_has_pytorch_operators(trace);
}

static int read_events(const char *path, struct nvt_trace *trace, int repairs,
                       struct nvt_error *err)
{
    uint64_t repaired = 0;
    struct nvt_error own = NVT_ERROR_INIT;
    struct parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return nvt_fail_at(err, path, -1, "out of memory");
    parser->reader = (struct nvt_kineto){
        .trace = trace, .path = path, .err = &own, .rank = NVT_NONE, .first = INT64_MAX};
    parser->strings = trace->strings;
    int status =
        nvt_json_stream_ahead(path, &handler, parser, &ahead, repairs ? &repaired : NULL, &own);
    /* Any program writes lists: one is a profile when it has an event. */
    if (!status && (!parser->has_events || (parser->is_list && !parser->has_phases)))
        status = nvt_fail_at(&own, path, -1, "%s" NVT_NO_TRACE_EVENTS,
                             parser->other ? parser->other : "is JSON, but ");
    /* Its words stand in `own` since the first one. */
    if (!status && parser->reader.mistimed && parser->reader.first == INT64_MAX &&
        !parser->reader.untimed)
        status = nvt_error_in(&own, path);
    if (!status && !parser->reader.events)
        nvt_trace_warn(trace, "is a profile without any event");
    if (repaired)
        nvt_trace_note(
            trace,
            "repaired or left out: values that are no JSON, like inf, hexadecimal numbers, "
            "lone backslashes and needless commas (%llu)",
            (unsigned long long)repaired);
    const int is_of_others = !parser->is_of_pytorch && !has_names_of_pytorch(trace);
    if (!status)
        status = nvt_kineto_finish(&parser->reader, is_of_others);
    if (!status && is_of_others)
        trace->recorder = NVT_BY_OTHERS;
    nvt_map_free(&parser->reader.pids);
    nvt_map_free(&parser->reader.tids);
    nvt_map_free(&parser->reader.threads);
    nvt_map_free(&parser->reader.async);
    nvt_map_free(&parser->reader.domains);
    nvt_dialect_free(&parser->reader.dialects);
    nvt_map_free(&parser->reader.series);
    nvt_map_free(&parser->reader.counters);
    nvt_kineto_host_free(&parser->reader.host);
    nvt_kineto_groups_free(&parser->reader);
    nvt_buffer_free(&parser->ranks);
    free(parser->reader.owners);
    free(parser);
    if (status && err)
        *err = own;
    return status;
}

static int read_kineto(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_events(path, trace, 0, err);
}

static int read_repaired(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_events(path, trace, 1, err);
}

const struct nvt_reader nvt_reader_kineto = {.name = "kineto",
                                             .recorder = NVT_BY_PYTORCH,
                                             .recognizes = recognizes,
                                             .read = read_kineto,
                                             .read_repaired = read_repaired};
