#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/json_scan.h"
#include "json_flat.h"

struct flattening {
    struct json_flat flat;
    char path[1024];
    size_t ends[NVT_JSON_DEPTH + 1]; /* of the path of each open bracket */
    int next[NVT_JSON_DEPTH + 1];    /* item of an array; -1: it is an object */
    int depth;
};

static void place_item(struct flattening *flattening)
{
    const int depth = flattening->depth;
    if (depth && flattening->next[depth] >= 0)
        snprintf(flattening->path + flattening->ends[depth],
                 sizeof(flattening->path) - flattening->ends[depth], "%s%d",
                 flattening->ends[depth] ? "." : "", flattening->next[depth]++);
}

static int on_open(void *context, int is_array)
{
    struct flattening *flattening = context;
    place_item(flattening);
    flattening->depth++;
    flattening->ends[flattening->depth] = strlen(flattening->path);
    flattening->next[flattening->depth] = is_array ? 0 : -1;
    return 0;
}

static int on_close(void *context)
{
    struct flattening *flattening = context;
    flattening->path[flattening->ends[flattening->depth--]] = 0;
    return 0;
}

static int on_key(void *context, const char *text, size_t size)
{
    struct flattening *flattening = context;
    const size_t end = flattening->ends[flattening->depth];
    snprintf(flattening->path + end, sizeof(flattening->path) - end, "%s%.*s", end ? "." : "",
             (int)size, text);
    return 0;
}

static int on_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    struct flattening *flattening = context;
    struct json_flat *flat = &flattening->flat;
    place_item(flattening);
    flat->values = realloc(flat->values, (flat->count + 1) * sizeof(*flat->values));
    assert_non_null(flat->values);
    flat->values[flat->count++] = (struct json_flat_value){
        strdup(flattening->path), size ? strndup(text, size) : strdup(""), type};
    return 0;
}

struct json_flat json_flat(const char *text)
{
    static const struct nvt_json_handler handler = {
        .open = on_open, .close = on_close, .key = on_key, .value = on_value};
    struct flattening flattening = {.depth = 0};
    struct nvt_json_scan scan = {.handler = &handler, .context = &flattening, .base = -1};
    if (nvt_json_scan(&scan, text, strlen(text), 1) != NVT_JSON_MORE ||
        !nvt_json_scan_is_whole(&scan))
        fail_msg("no JSON: %s", text);
    nvt_json_scan_free(&scan);
    return flattening.flat;
}

void json_flat_free(struct json_flat *flat)
{
    for (size_t i = 0; i < flat->count; i++) {
        free(flat->values[i].path);
        free(flat->values[i].text);
    }
    free(flat->values);
}

const struct json_flat_value *json_flat_at(const struct json_flat *flat, const char *format, ...)
{
    char path[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(path, sizeof(path), format, values);
    va_end(values);
    for (size_t i = 0; i < flat->count; i++)
        if (!strcmp(flat->values[i].path, path))
            return &flat->values[i];
    return NULL;
}
