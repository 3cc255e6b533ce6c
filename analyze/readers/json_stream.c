#include "json_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_YAJL
#include "json_repair.h"
#include "yajl_memory.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#define CHUNK (64 * 1024)

struct stream {
    struct nvt_yajl_memory memory;
    const char *path;
    const struct nvt_json_handler *handler;
    void *context;
    struct nvt_error *err;
    int depth;
    int values;                     /* something was called since the last chunk */
    int64_t offset;                 /* of the chunk, in the text */
    int64_t last_value;             /* offset of the chunk that had the last value */
    int is_cut;                     /* what was compressed ends in the middle */
    struct nvt_json_repair *repair; /* NULL: what is no JSON is an error */
    struct nvt_buffer repaired;     /* a chunk as it came out of that */
};

/* --- bytes --- */

#ifdef HAVE_ZLIB
typedef gzFile source;

static source source_open(const char *path)
{
    return gzopen(path, "rbe");
}

static void source_close(source file)
{
    gzclose(file);
}

/* Whether a text could be an object or an array. */
static int may_be_json(const unsigned char *text, int size)
{
    int at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at == size || text[at] == '{' || text[at] == '[';
}

static int source_read(struct stream *stream, source file, unsigned char *out)
{
    int code, size = gzread(file, out, CHUNK);
    const char *text = gzerror(file, &code);
    size_t prefix = strlen(stream->path);
    if (!strncmp(text, stream->path, prefix) && !strncmp(text + prefix, ": ", 2))
        text += prefix + 2;
    stream->is_cut = code == Z_BUF_ERROR;
    if (size < 0 || (!size && stream->is_cut))
        return nvt_fail_at(stream->err, stream->path, gzoffset(file), "is cut or damaged: %s",
                           code == Z_ERRNO ? strerror(errno) : text);
    if (gztell(file) / NVT_JSON_RATIO > gzoffset(file) + (CHUNK * 4))
        return nvt_fail_at(stream->err, stream->path, gzoffset(file),
                           "grows more than %d-fold when unpacked: no trace does", NVT_JSON_RATIO);
    if (!stream->offset && !gzdirect(file) && !may_be_json(out, size))
        return nvt_fail_at(stream->err, stream->path, -1,
                           "is gzip of something that is not JSON: unpack it with gunzip first");
    return size;
}
#else
typedef FILE *source;

static source source_open(const char *path)
{
    return fopen(path, "rbe");
}

static void source_close(source file)
{
    fclose(file);
}

static int source_read(struct stream *stream, source file, unsigned char *out)
{
    size_t size = fread(out, 1, CHUNK, file);
    if (ferror(file))
        return nvt_fail_at(stream->err, stream->path, stream->offset, "cannot be read: %s",
                           strerror(errno));
    if (!stream->offset && size > 1 && out[0] == 0x1f && out[1] == 0x8b)
        return nvt_fail_at(stream->err, stream->path, -1,
                           "is compressed, and this nvtally was built without zlib (zlib1g-dev)");
    return (int)size;
}
#endif

/* --- yajl's callbacks: 1 goes on, 0 ends --- */

static int opened(struct stream *stream, int is_array)
{
    stream->values = 1;
    if (stream->depth++ == NVT_JSON_DEPTH) {
        nvt_fail(stream->err, "nests deeper than %d levels", NVT_JSON_DEPTH);
        return 0;
    }
    return !stream->handler->open(stream->context, is_array);
}

static int on_map(void *context)
{
    return opened(context, 0);
}

static int on_array(void *context)
{
    return opened(context, 1);
}

static int on_close(void *context)
{
    struct stream *stream = context;
    stream->values = 1;
    stream->depth--;
    return !stream->handler->close(stream->context);
}

static int on_key(void *context, const unsigned char *text, size_t size)
{
    struct stream *stream = context;
    stream->values = 1;
    return !stream->handler->key(stream->context, (const char *)text, size);
}

static int on_value(struct stream *stream, enum nvt_json_type type, const void *text, size_t size)
{
    stream->values = 1;
    return !stream->handler->value(stream->context, type, text, size);
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
    return on_value(context, NVT_JSON_TEXT, text, size);
}

static int on_number(void *context, const char *text, size_t size)
{
    return on_value(context, NVT_JSON_NUMBER, text, size);
}

static int on_boolean(void *context, int value)
{
    return on_value(context, value ? NVT_JSON_TRUE : NVT_JSON_FALSE, "", 0);
}

static int on_null(void *context)
{
    return on_value(context, NVT_JSON_NULL, "", 0);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_close,
    .yajl_start_array = on_array,
    .yajl_end_array = on_close,
};

/* --- reading --- */

static int explain(struct stream *stream, yajl_handle parser, yajl_status status)
{
    int64_t at = stream->offset + (int64_t)yajl_get_bytes_consumed(parser);
    if (status == yajl_status_client_canceled) {
        stream->err->offset = at;
        return nvt_error_in(stream->err, stream->path);
    }
    unsigned char *text = yajl_get_error(parser, 0, NULL, 0);
    size_t length = text ? strcspn((const char *)text, "\n") : 0;
    static const char prefix[] = "parse error: ";
    const char *what = (const char *)text;
    if (length > sizeof(prefix) && !strncmp(what, prefix, sizeof(prefix) - 1)) {
        what += sizeof(prefix) - 1;
        length -= sizeof(prefix) - 1;
    }
    static const char several[] = "trailing garbage";
    if (length == sizeof(several) - 1 && !strncmp(what, several, length))
        nvt_fail_at(stream->err, stream->path, at,
                    "is several JSON values one after the other (lines of JSON?), not a trace");
    else
        nvt_fail_at(stream->err, stream->path, at, "is not JSON: %.*s", (int)length,
                    text ? what : "out of memory");
    yajl_free_error(parser, text);
    return -1;
}

/* 0, or -1 with err filled. */
static int parse_chunk(struct stream *stream, yajl_handle parser, const unsigned char *text,
                       size_t size)
{
    struct nvt_buffer *repaired = &stream->repaired;
    const size_t read = size;
    if (stream->repair) {
        repaired->size = 0;
        if (size ? nvt_json_repair(stream->repair, text, size, repaired)
                 : nvt_json_repair_end(stream->repair, repaired))
            return nvt_fail_at(stream->err, stream->path, -1, "out of memory");
        text = repaired->data;
        size = repaired->size;
    }
    yajl_status status = size ? yajl_parse(parser, text, size) : yajl_status_ok;
    if (status != yajl_status_ok)
        return explain(stream, parser, status);
    stream->offset += (int64_t)read;
    return 0;
}

static int parse(struct stream *stream, source file)
{
    unsigned char chunk[CHUNK];
    int size;
    if (setjmp(stream->memory.out))
        return nvt_fail_at(stream->err, stream->path, -1, "out of memory");
    yajl_handle parser = yajl_alloc(&callbacks, &stream->memory.functions, stream);
    /* Names come from programs, which do not all write UTF-8. */
    yajl_config(parser, yajl_dont_validate_strings, 1);
    while ((size = source_read(stream, file, chunk)) > 0) {
        stream->values = 0;
        if (parse_chunk(stream, parser, chunk, (size_t)size))
            return -1;
        if (stream->values)
            stream->last_value = stream->offset;
        else if (stream->offset - stream->last_value > NVT_JSON_TOKEN)
            return nvt_fail_at(stream->err, stream->path, stream->last_value,
                               "has a value longer than %d bytes", NVT_JSON_TOKEN);
    }
    if ((size < 0 && !stream->is_cut) || (!size && parse_chunk(stream, parser, chunk, 0)))
        return -1;
    if (!stream->is_cut && stream->depth == 1 && stream->handler->may_end &&
        stream->handler->may_end(stream->context))
        return 0;
    if ((stream->depth || stream->is_cut) && stream->handler->cut &&
        !stream->handler->cut(stream->context))
        return 0;
    if (size < 0)
        return -1;
    if (stream->depth)
        return nvt_fail_at(stream->err, stream->path, stream->offset,
                           "ends in the middle, %d brackets are open", stream->depth);
    yajl_status status = yajl_complete_parse(parser);
    return status == yajl_status_ok ? 0 : explain(stream, parser, status);
}

int nvt_json_stream(const char *path, const struct nvt_json_handler *handler, void *context,
                    uint64_t *repaired, struct nvt_error *err)
{
    struct nvt_error unused = NVT_ERROR_INIT;
    struct nvt_json_repair repair = {0};
    struct stream stream = {.path = path,
                            .handler = handler,
                            .context = context,
                            .err = err ? err : &unused,
                            .repair = repaired ? &repair : NULL};
    source file = source_open(path);
    if (!file)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    nvt_yajl_memory_init(&stream.memory);
    int status = parse(&stream, file);
    nvt_yajl_memory_free(&stream.memory);
    source_close(file);
    if (repaired)
        *repaired = repair.repaired;
    nvt_json_repair_free(&repair);
    nvt_buffer_free(&stream.repaired);
    return status;
}
#else
int nvt_json_stream(const char *path, const struct nvt_json_handler *handler, void *context,
                    uint64_t *repaired, struct nvt_error *err)
{
    (void)repaired;
    (void)handler;
    (void)context;
    return nvt_fail_at(err, path, -1,
                       "is JSON, and this nvtally was built without yajl (libyajl-dev)");
}
#endif
