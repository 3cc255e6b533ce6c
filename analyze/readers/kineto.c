#include "kineto_parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../model/batches.h"
#include "../model/interchange.h"
#include "kineto_dialects.h"
#include "reader.h"

/* Behind white space and comments, which json_repair.h takes for that. */
static size_t behind_blanks(const uint8_t *head, size_t size, size_t at)
{
    while (at < size && (isspace(head[at]) || head[at] == '/')) {
        const int is_line = head[at] == '/' && at + 1 < size && head[at + 1] == '/';
        const int is_comment = head[at] == '/' && at + 1 < size && head[at + 1] == '*';
        const char *end = is_line ? "\n" : "*/";
        if (!is_line && !is_comment && head[at] == '/')
            return at;
        if (is_line || is_comment) {
            const uint8_t *found = memmem(head + at + 2, size - at - 2, end, strlen(end));
            at = found ? (size_t)(found - head) + strlen(end) : size;
        } else
            at++;
    }
    return at;
}

static int recognizes(const uint8_t *head, size_t size)
{
    size_t at = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (size >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        return 1;
    at = behind_blanks(head, size, at);
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

/* Read who is named how, for names that come behind the events that need them. 0, or -1 with err filled. */
static int read_names(const char *path, struct nvt_kineto_parser *parser, struct nvt_error *err)
{
    uint64_t repaired = 0;
    parser->reader.only_names = 1;
    const int status =
        nvt_json_stream_ahead(path, &nvt_kineto_handler, parser, &nvt_kineto_ahead, &repaired, err);
    parser->reader.only_names = 0;
    parser->reader.events = 0;
    parser->items = 0;
    parser->depth = 0;
    return status;
}

/* How a file is read, and what was found out so that it has to be read in another way. */
struct way {
    int repairs;
    int keeps_pairs;
    int is_rocprofv3;
    int needs_pairs;
};

static int read_events(const char *path, struct nvt_trace *trace, struct way *way,
                       struct nvt_error *err)
{
    const int repairs = way->repairs;
    uint64_t repaired = 0;
    struct nvt_error own = NVT_ERROR_INIT;
    struct nvt_kineto_parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return nvt_fail_at(err, path, -1, "out of memory");
    parser->reader = (struct nvt_kineto){
        .trace = trace, .path = path, .err = &own, .rank = NVT_NONE, .first = INT64_MAX};
    parser->reader.keeps_pairs = way->keeps_pairs;
    parser->strings = trace->strings;
    parser->leaves_out = repairs;
    int status = repairs ? read_names(path, parser, &own) : 0;
    if (!status)
        status = nvt_json_stream_ahead(path, &nvt_kineto_handler, parser, &nvt_kineto_ahead,
                                       repairs ? &repaired : NULL, &own);
    if (!status && !repairs && parser->reader.dialects.is_late)
        status = nvt_fail_at(&own, path, -1, "names what its lanes are behind their events");
    way->is_rocprofv3 = parser->is_rocprofv3 && !parser->has_events;
    way->needs_pairs = parser->reader.has_unordered && !way->keeps_pairs;
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
    if (parser->items)
        nvt_trace_note(trace, "left out: items of the list of events that are none (%llu)",
                       (unsigned long long)parser->items);
    if (repaired)
        nvt_trace_note(trace, NVT_REPAIRED_NOTE, (unsigned long long)repaired);
    const int is_of_others = !parser->is_of_pytorch && !has_names_of_pytorch(trace);
    if (!status)
        status = nvt_kineto_finish(&parser->reader, is_of_others);
    if (!status && is_of_others)
        trace->recorder = NVT_BY_OTHERS;
    nvt_kineto_free(&parser->reader);
    nvt_buffer_free(&parser->ranks);
    nvt_buffer_free(&parser->id);
    nvt_buffer_free(&parser->scope);
    free(parser);
    if (status && err)
        *err = own;
    return status;
}

/* Only what is read of a compressed file shows that it is rocprofv3's, which another reader takes. */
static int read_any(const char *path, struct nvt_trace *trace, int repairs, struct nvt_error *err)
{
    const struct nvt_reader *other = &nvt_reader_rocprofv3;
    struct way way = {.repairs = repairs};
    struct nvt_error own = NVT_ERROR_INIT;
    int status = read_events(path, trace, &way, &own);
    if (way.needs_pairs) {
        way.keeps_pairs = 1;
        own = (struct nvt_error)NVT_ERROR_INIT;
        status = nvt_reader_begin_anew(trace) ? nvt_fail_at(&own, path, -1, "out of memory")
                                              : read_events(path, trace, &way, &own);
    }
    if (status && err)
        *err = own;
    if (!way.is_rocprofv3)
        return status;
    nvt_reader_state(trace, other->name);
    return (repairs ? other->read_repaired : other->read)(path, trace, err);
}

static int read_kineto(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_any(path, trace, 0, err);
}

static int read_repaired(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    return read_any(path, trace, 1, err);
}

const struct nvt_reader nvt_reader_kineto = {.name = "kineto",
                                             .recorder = NVT_BY_PYTORCH,
                                             .lacks_page_faults = 1,
                                             .recognizes = recognizes,
                                             .read = read_kineto,
                                             .read_repaired = read_repaired};
