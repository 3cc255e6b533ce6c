/* JSON as a pickle of the same values, so that what is dumped as either has one reader. */
#include <string.h>

#include "flight.h"
#include "json_stream.h"

#define LEVELS (NVT_JSON_DEPTH + 2)

struct writer {
    struct nvt_buffer *out;
    struct nvt_error *err;
    char closes[LEVELS]; /* the opcode that ends each open list or dict */
    unsigned depth;
};

static int put(const struct writer *writer, const void *bytes, size_t size)
{
    return nvt_buffer_append(writer->out, bytes, size) ? nvt_fail(writer->err, "out of memory") : 0;
}

static int on_open(void *context, int is_array)
{
    struct writer *writer = context;
    if (writer->depth == LEVELS)
        return nvt_fail(writer->err, "is nested too deeply");
    writer->closes[writer->depth++] = is_array ? 'e' : 'u'; /* APPENDS, SETITEMS */
    return put(writer, is_array ? "](" : "}(", 2);
}

static int on_close(void *context)
{
    struct writer *writer = context;
    return put(writer, &writer->closes[--writer->depth], 1);
}

/* BINUNICODE: four bytes of size, the lowest first. */
static int put_text(void *context, const char *text, size_t size)
{
    const uint8_t head[] = {'X', (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                            (uint8_t)(size >> 24)};
    return put(context, head, sizeof(head)) || (size && put(context, text, size)) ? -1 : 0;
}

static int on_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    switch (type) {
    case NVT_JSON_NULL:
        return put(context, "N", 1);
    case NVT_JSON_FALSE:
        return put(context, "\x89", 1);
    case NVT_JSON_TRUE:
        return put(context, "\x88", 1);
    case NVT_JSON_TEXT:
        return put_text(context, text, size);
    default: /* a line: LONG or FLOAT */
        return put(context,
                   memchr(text, '.', size) || memchr(text, 'e', size) || memchr(text, 'E', size)
                       ? "F"
                       : "L",
                   1) ||
                       put(context, text, size) || put(context, "\n", 1)
                   ? -1
                   : 0;
    }
}

int nvt_json_as_pickle(const char *path, struct nvt_buffer *out, struct nvt_error *err)
{
    static const struct nvt_json_handler handler = {
        .open = on_open, .close = on_close, .key = put_text, .value = on_value};
    struct writer writer = {.out = out, .err = err};
    return put(&writer, "\x80\x02", 2) || nvt_json_stream(path, &handler, &writer, NULL, err) ||
                   put(&writer, ".", 1)
               ? -1
               : 0;
}
