/* One JSON object as a list of members. */
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/text.h"
#include "../readers/json_scan.h"

#define DEPTH_MAX   16
#define MEMBERS_MAX 4096
#define KEY_MAX     1024

struct parser {
    struct nvt_record *record;
    char key[KEY_MAX];          /* path of the member that comes next */
    size_t key_ends[DEPTH_MAX]; /* length of the path of each open object */
    int depth;                  /* open objects; what arrays hold is left out */
    const char *problem;        /* static text */
};

static const char not_json[] = "is not valid JSON";
static const char no_object[] = "is not a JSON object";
static const char too_deep[] = "is nested too deeply";
static const char no_memory[] = "out of memory";

static int refuse(struct parser *parser, const char *problem)
{
    parser->problem = problem;
    return -1;
}

/* JSON is UTF-8, and the scanner does not look. */
static int is_utf8(const char *text, size_t size)
{
    const char *const end = text + size;
    while (text < end) {
        const char *const start = text;
        if (nvt_utf8_next(&text) == NVT_REPLACEMENT &&
            (text - start != 3 || memcmp(start, "\xef\xbf\xbd", 3) != 0))
            return 0;
    }
    return 1;
}

static int on_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    static const enum nvt_value_type types[] = {[NVT_JSON_NULL] = NVT_VALUE_NULL,
                                                [NVT_JSON_FALSE] = NVT_VALUE_BOOL,
                                                [NVT_JSON_TRUE] = NVT_VALUE_BOOL,
                                                [NVT_JSON_NUMBER] = NVT_VALUE_NUMBER,
                                                [NVT_JSON_TEXT] = NVT_VALUE_TEXT};
    struct parser *parser = context;
    struct nvt_record *record = parser->record;
    if (!parser->depth)
        return refuse(parser, no_object);
    if (record->count >= MEMBERS_MAX)
        return refuse(parser, "has too many members");
    /* The capacity is the next power of two, so it is known without being kept. */
    if (nvt_grow(&record->members, record->count, sizeof(*record->members)))
        return refuse(parser, no_memory);
    const char *of = type == NVT_JSON_TRUE ? "true" : type == NVT_JSON_FALSE ? "false" : "";
    struct nvt_member member = {strdup(parser->key), size ? strndup(text, size) : strdup(of), NAN,
                                types[type]};
    if (!member.key || !member.text) {
        free(member.key);
        free(member.text);
        return refuse(parser, no_memory);
    }
    if (type == NVT_JSON_NUMBER)
        member.number = strtod(member.text, NULL);
    record->members[record->count++] = member;
    return type == NVT_JSON_TEXT && !is_utf8(member.text, strlen(member.text))
               ? refuse(parser, not_json)
               : 0;
}

static int on_open(void *context, int is_array)
{
    struct parser *parser = context;
    if (is_array)
        return parser->depth ? NVT_JSON_SKIP : refuse(parser, no_object);
    if (parser->depth == DEPTH_MAX)
        return refuse(parser, too_deep);
    parser->key_ends[parser->depth] = parser->depth ? strlen(parser->key) : 0;
    parser->depth++;
    return 0;
}

static int on_key(void *context, const char *text, size_t size)
{
    struct parser *parser = context;
    size_t at = parser->key_ends[parser->depth - 1];
    if (at + size + 2 > KEY_MAX)
        return refuse(parser, "has too long a name in it");
    if (at)
        parser->key[at++] = '.';
    memcpy(parser->key + at, text, size);
    parser->key[at + size] = 0;
    return is_utf8(parser->key, strlen(parser->key)) ? 0 : refuse(parser, not_json);
}

static int on_close(void *context)
{
    struct parser *parser = context;
    parser->depth--;
    return 0;
}

/* 0, or -1 with err. */
static int parse(struct parser *parser, const char *json, size_t size, struct nvt_error *err)
{
    static const struct nvt_json_handler handler = {
        .open = on_open, .close = on_close, .key = on_key, .value = on_value};
    struct nvt_json_scan scan = {.handler = &handler, .context = parser, .base = -1};
    const enum nvt_json_scanned scanned = nvt_json_scan(&scan, json, size, 1);
    const int is_whole = scanned == NVT_JSON_MORE && nvt_json_scan_is_whole(&scan);
    if (scanned == NVT_JSON_WRONG)
        parser->problem = !scan.problem                               ? too_deep
                          : !strcmp(scan.problem, NVT_JSON_NO_MEMORY) ? no_memory
                                                                      : not_json;
    nvt_json_scan_free(&scan);
    if (is_whole)
        return 0;
    nvt_fail(err, "%s", parser->problem ? parser->problem : not_json);
    if (err)
        err->offset = (int64_t)scan.used;
    return -1;
}

/* Axes are the members behind the first `workload`, up to the first `backend`. */
static void find_axes(struct nvt_record *record)
{
    size_t i = 0;
    while (i < record->count && strcmp(record->members[i].key, "workload") != 0)
        i++;
    record->axis_first = i < record->count ? i + 1 : i;
    for (i = record->axis_first; i < record->count; i++)
        if (!strcmp(record->members[i].key, "backend"))
            break;
    record->axis_count = i - record->axis_first;
}

int nvt_record_parse(struct nvt_record *record, const char *json, size_t size,
                     struct nvt_error *err)
{
    struct parser *parser = calloc(1, sizeof(*parser));
    *record = (struct nvt_record){0};
    if (!parser)
        return nvt_fail(err, no_memory);
    parser->record = record;
    const int status = parse(parser, json, size, err);
    free(parser);
    if (status)
        nvt_record_free(record);
    else
        find_axes(record);
    return status;
}
