/* Values of trace events, and of what stands around them. */
#include "kineto_dialects.h"
#include "kineto_keys.h"
#include "kineto_parser.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pid or tid: a number, as a text too (PyTorch 1.8 had "tid": "5555" beside 5555), or another
 * text, which becomes a number below zero. So does a number that is below -1, which nobody has. */
static int owner_id(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
                    size_t size, int64_t *id)
{
    int is_number = nvt_parse_scaled(text, size, 0, id) == 0;
    if (type != NVT_JSON_TEXT && (!is_number || *id >= -1))
        return is_number;
    if (is_number && *id >= 0)
        return 0;
    uint32_t name = nvt_strings_add(parser->strings, text, size);
    *id = -1 - (int64_t)name;
    return name == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
}

static uint32_t intern(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
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

static int event_value(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
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
        return event->name == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
    case KEY_CATEGORY:
        event->category = intern(parser, type, text, size);
        return event->category == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
    case KEY_ID:
        parser->id.size = 0;
        parser->has_id = type == NVT_JSON_TEXT || type == NVT_JSON_NUMBER;
        return nvt_buffer_append(&parser->id, text, size) ? nvt_kineto_parser_no_memory(parser) : 0;
    case KEY_SCOPE:
        parser->scope.size = 0;
        return type == NVT_JSON_TEXT && nvt_buffer_append(&parser->scope, text, size)
                   ? nvt_kineto_parser_no_memory(parser)
                   : 0;
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

/* {"local": …} or {"global": …}, instead of an id. */
static int id2_value(struct nvt_kineto_parser *parser, const char *text, size_t size)
{
    if (parser->key != KEY_LOCAL && parser->key != KEY_GLOBAL)
        return 0;
    parser->has_id = 1;
    parser->is_local = parser->key == KEY_LOCAL;
    parser->id.size = 0;
    return nvt_buffer_append(&parser->id, text, size) ? nvt_kineto_parser_no_memory(parser) : 0;
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

static int args_value(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
                      size_t size)
{
    struct nvt_kineto_event *event = &parser->reader.event;
    int64_t number;
    if (type == NVT_JSON_NUMBER && nvt_kineto_may_count(event))
        add_number(&parser->reader, parser->entry, text, size);
    if (parser->key == KEY_MEMBERS) {
        event->members = nvt_kineto_members(parser->strings, text, size);
        return event->members == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
    }
    uint32_t *kept = parser->key == KEY_NAME || parser->key == KEY_LABELS ? &event->label
                     : parser->key == KEY_COLLECTIVE                      ? &event->collective
                     : parser->key == KEY_TYPE                            ? &event->type
                     : parser->key == KEY_GROUP                           ? &event->group
                     : parser->key == KEY_PURPOSE                         ? &event->purpose
                     : parser->key == KEY_FILE                            ? &event->file
                     : parser->key == KEY_CALLER                          ? &event->caller
                                                                          : NULL;
    if (kept) {
        *kept = intern(parser, type, text, size);
        return *kept == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
    }
    if (parser->key == KEY_DETAILS)
        nvt_dialect_details(event, text, size);
    if (parser->key == KEY_ADDRESS)
        event->address = address(text, size);
    const int key = parser->key == KEY_PID ? KEY_NUMBER + NVT_KN_PID : parser->key;
    if (key >= KEY_NUMBER && !nvt_parse_scaled(text, size, 0, &number))
        nvt_kineto_set(event, (enum nvt_kineto_number)(key - KEY_NUMBER), number);
    return 0;
}

static void dimension(uint32_t *out, unsigned *count, const char *text, size_t size)
{
    int64_t number;
    if (*count < 3 && !nvt_parse_scaled(text, size, 0, &number) && number >= 0 &&
        number <= UINT32_MAX)
        out[(*count)++] = (uint32_t)number;
}

static int root_value(struct nvt_kineto_parser *parser, const char *text, size_t size)
{
    int64_t number;
    if (parser->key == KEY_EVENTS)
        return nvt_fail(parser->reader.err, "'traceEvents' is not a list");
    if (parser->key == KEY_BASE && !nvt_parse_scaled(text, size, 0, &number))
        parser->reader.trace->origin_ns = number;
    return 0;
}

static int distributed_value(struct nvt_kineto_parser *parser, const char *text, size_t size)
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
               ? nvt_kineto_parser_no_memory(parser)
               : 0;
}

/* A member of a list of ranks: its text. */
static int rank_value(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
                      size_t size)
{
    if (type != NVT_JSON_NUMBER && type != NVT_JSON_TEXT)
        return 0;
    return (parser->ranks.size && nvt_buffer_append(&parser->ranks, ",", 1)) ||
                   nvt_buffer_append(&parser->ranks, text, size)
               ? nvt_kineto_parser_no_memory(parser)
               : 0;
}

static int group_value(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
                       size_t size)
{
    int64_t number;
    uint32_t *kept = parser->key == KEY_PG_NAME      ? &parser->group.name
                     : parser->key == KEY_PG_PURPOSE ? &parser->group.purpose
                                                     : NULL;
    if (kept) {
        *kept = intern(parser, type, text, size);
        return *kept == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
    }
    if (parser->key == KEY_PG_SIZE && !nvt_parse_scaled(text, size, 0, &number) && number > 0 &&
        number < UINT32_MAX)
        parser->group.ranks = (uint32_t)number;
    return 0;
}

static int device_value(struct nvt_kineto_parser *parser, enum nvt_json_type type, const char *text,
                        size_t size)
{
    int64_t number = 0;
    if (parser->key == KEY_NAME) {
        parser->device.name = intern(parser, type, text, size);
        return parser->device.name == NVT_NO_STRING ? nvt_kineto_parser_no_memory(parser) : 0;
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

/* An item of the list of events that is none. */
static int item_value(struct nvt_kineto_parser *parser, enum nvt_json_type type)
{
    if (type == NVT_JSON_NULL)
        return 0;
    if (!parser->leaves_out)
        return nvt_fail(parser->reader.err, "event %llu is not an object",
                        (unsigned long long)parser->reader.events + 1);
    parser->items++;
    return 0;
}

/* A dimension of an input that is a tensor; its list has been begun. */
static void shape_value(struct nvt_shapes *shapes, const char *text, size_t size)
{
    int64_t number;
    const unsigned input = shapes->inputs - 1;
    if (input >= NVT_SHAPE_INPUTS)
        return;
    unsigned *sizes = &shapes->sizes[input];
    if (*sizes < NVT_SHAPE_SIZES)
        shapes->size[input][*sizes] =
            nvt_parse_scaled(text, size, 0, &number) || number < 0 ? 0 : number;
    *sizes += *sizes <= NVT_SHAPE_SIZES;
}

static void type_value(struct nvt_shapes *shapes, const char *text, size_t size)
{
    char *type = shapes->types < NVT_SHAPE_INPUTS ? shapes->type[shapes->types++] : NULL;
    const size_t most = sizeof(*shapes->type) - 1, kept = size < most ? size : most;
    if (!type)
        return;
    memcpy(type, text, kept);
    type[kept] = 0;
}

/* An input that is no tensor, as a text: "", "[1, 1]", "True". */
static void concrete_value(struct nvt_shapes *shapes, const char *text, size_t size)
{
    char *value = shapes->values < NVT_SHAPE_VALUES ? shapes->value[shapes->values++] : NULL;
    const size_t most = sizeof(*shapes->value) - 1, kept = size < most ? size : most;
    if (!value)
        return;
    memcpy(value, text, kept);
    value[kept] = 0;
}

int nvt_kineto_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    struct nvt_kineto_parser *parser = context;
    switch (parser->places[parser->depth]) {
    case IN_EVENT:
        return event_value(parser, type, text, size);
    case IN_ARGS:
        return args_value(parser, type, text, size);
    case IN_ID2:
        return id2_value(parser, text, size);
    case IN_GRID:
        dimension(parser->reader.event.grid, &parser->reader.event.grid_size, text, size);
        return 0;
    case IN_BLOCK:
        dimension(parser->reader.event.block, &parser->reader.event.block_size, text, size);
        return 0;
    case IN_SHAPE:
        shape_value(&parser->shapes, text, size);
        return 0;
    case IN_TYPES:
        type_value(&parser->shapes, text, size);
        return 0;
    case IN_VALUES:
        concrete_value(&parser->shapes, text, size);
        return 0;
    case IN_ROOT:
        return root_value(parser, text, size);
    case IN_DISTRIBUTED:
        return distributed_value(parser, text, size);
    case IN_PG:
        return group_value(parser, type, text, size);
    case IN_PG_RANKS:
    case IN_MEMBERS:
        return rank_value(parser, type, text, size);
    case IN_DEVICE:
        return device_value(parser, type, text, size);
    case IN_EVENTS:
        return item_value(parser, type);
    default:
        return 0;
    }
}
