/* One JSON object as a list of members, parsed by yajl's callbacks. */
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_YAJL

#include "../../lib/grow.h"
#include "../readers/yajl_memory.h"

#define DEPTH_MAX   16
#define MEMBERS_MAX 4096
#define KEY_MAX     1024

struct parser {
    struct nvt_record *record;
    char key[KEY_MAX];          /* path of the member that comes next */
    size_t key_ends[DEPTH_MAX]; /* length of the path of each open object */
    int depth;                  /* open objects */
    int arrays;                 /* open arrays, whose content is left out */
    int done;                   /* the outermost object was closed */
    const char *problem;        /* static text */
};

static int refuse(struct parser *parser, const char *problem)
{
    parser->problem = problem;
    return 0;
}

static int add(struct parser *parser, enum nvt_value_type type, const char *text, size_t size)
{
    if (parser->arrays)
        return 1;
    if (!parser->depth)
        return refuse(parser, "is not a JSON object");
    struct nvt_record *record = parser->record;
    if (record->count >= MEMBERS_MAX)
        return refuse(parser, "has too many members");
    /* The capacity is the next power of two, so it is known without being kept. */
    if (nvt_grow(&record->members, record->count, sizeof(*record->members)))
        return refuse(parser, "out of memory");
    struct nvt_member member = {strdup(parser->key), strndup(text, size), NAN, type};
    if (!member.key || !member.text) {
        free(member.key);
        free(member.text);
        return refuse(parser, "out of memory");
    }
    if (type == NVT_VALUE_NUMBER)
        member.number = strtod(member.text, NULL);
    record->members[record->count++] = member;
    return 1;
}

static int on_null(void *context)
{
    return add(context, NVT_VALUE_NULL, "", 0);
}

static int on_boolean(void *context, int value)
{
    const char *text = value ? "true" : "false";
    return add(context, NVT_VALUE_BOOL, text, strlen(text));
}

static int on_number(void *context, const char *text, size_t size)
{
    return add(context, NVT_VALUE_NUMBER, text, size);
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
    return add(context, NVT_VALUE_TEXT, (const char *)text, size);
}

static int on_start_map(void *context)
{
    struct parser *parser = context;
    if (parser->arrays)
        return 1;
    if (parser->depth == DEPTH_MAX)
        return refuse(parser, "is nested too deeply");
    parser->key_ends[parser->depth] = parser->depth ? strlen(parser->key) : 0;
    parser->depth++;
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t size)
{
    struct parser *parser = context;
    if (parser->arrays)
        return 1;
    size_t at = parser->key_ends[parser->depth - 1];
    if (at + size + 2 > KEY_MAX)
        return refuse(parser, "has too long a name in it");
    if (at)
        parser->key[at++] = '.';
    memcpy(parser->key + at, text, size);
    parser->key[at + size] = 0;
    return 1;
}

static int on_end_map(void *context)
{
    struct parser *parser = context;
    if (!parser->arrays)
        parser->done = --parser->depth == 0;
    return 1;
}

static int on_start_array(void *context)
{
    struct parser *parser = context;
    if (!parser->depth)
        return refuse(parser, "is not a JSON object");
    parser->arrays++;
    return 1;
}

static int on_end_array(void *context)
{
    struct parser *parser = context;
    parser->arrays--;
    return 1;
}

/* Parse with memory that is left by a jump when it runs out. 0, or -1 with err. */
static int parse(struct parser *parser, struct nvt_yajl_memory *memory, const char *json,
                 size_t size, struct nvt_error *err)
{
    static const yajl_callbacks callbacks = {on_null,    on_boolean,     NULL,         NULL,
                                             on_number,  on_string,      on_start_map, on_key,
                                             on_end_map, on_start_array, on_end_array};
    if (setjmp(memory->out))
        return nvt_fail(err, "out of memory");
    yajl_handle handle = yajl_alloc(&callbacks, &memory->functions, parser);
    yajl_status parsed = yajl_parse(handle, (const unsigned char *)json, size);
    if (parsed == yajl_status_ok)
        parsed = yajl_complete_parse(handle);
    if (parsed == yajl_status_ok && parser->done && !parser->problem)
        return 0;
    nvt_fail(err, "%s", parser->problem ? parser->problem : "is not valid JSON");
    if (err)
        err->offset = (int64_t)yajl_get_bytes_consumed(handle);
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
    struct nvt_yajl_memory memory;
    struct parser *parser = calloc(1, sizeof(*parser));
    *record = (struct nvt_record){0};
    if (!parser)
        return nvt_fail(err, "out of memory");
    parser->record = record;
    nvt_yajl_memory_init(&memory);
    int status = parse(parser, &memory, json, size, err);
    nvt_yajl_memory_free(&memory);
    free(parser);
    if (status)
        nvt_record_free(record);
    else
        find_axes(record);
    return status;
}

#else

int nvt_record_parse(struct nvt_record *record, const char *json, size_t size,
                     struct nvt_error *err)
{
    (void)json;
    (void)size;
    *record = (struct nvt_record){0};
    return nvt_fail(err, "cannot be read: this nvtally was built without yajl (libyajl-dev)");
}

#endif
