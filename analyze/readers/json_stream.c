#include "json_stream.h"

#include <string.h>

#include "json_ahead.h"

struct stream {
    const char *path;
    const struct nvt_json_handler *handler;
    const struct nvt_json_ahead *ahead;
    struct nvt_json_scan scan;
    /* the beginning of a token whose end is in the next part, and that part */
    struct nvt_buffer rest;
    int64_t offset; /* of the text that is scanned */
    struct nvt_error *err;
};

static int no_memory(const struct stream *stream)
{
    return nvt_fail_at(stream->err, stream->path, -1, "out of memory");
}

static int too_long(const struct stream *stream, int64_t at)
{
    return nvt_fail_at(stream->err, stream->path, at, "has a value longer than %d bytes",
                       NVT_JSON_TOKEN);
}

/* Why the scanner ended. -1 with err filled. */
static int explain(const struct stream *stream, enum nvt_json_scanned scanned)
{
    const int64_t at = stream->offset + (int64_t)stream->scan.used;
    const char *problem = stream->scan.problem;
    if (scanned == NVT_JSON_STOPPED) {
        stream->err->offset = at;
        return nvt_error_in(stream->err, stream->path);
    }
    if (!problem)
        return nvt_fail_at(stream->err, stream->path, at, "nests deeper than %d levels",
                           NVT_JSON_DEPTH);
    if (!strcmp(problem, NVT_JSON_TOO_LONG))
        return too_long(stream, at);
    if (!strcmp(problem, NVT_JSON_NO_MEMORY))
        return no_memory(stream);
    if (!strcmp(problem, NVT_JSON_SEVERAL))
        return nvt_fail_at(
            stream->err, stream->path, at,
            "is several JSON values one after the other (lines of JSON?), not a trace");
    return nvt_fail_at(stream->err, stream->path, at, "is not JSON: %s", problem);
}

/* Scan a text of which the last token may be cut: that is kept. 0, or -1 with err filled. */
static int scan(struct stream *stream, const uint8_t *text, size_t size, int is_last)
{
    const enum nvt_json_scanned scanned =
        nvt_json_scan(&stream->scan, (const char *)text, size, is_last);
    const size_t used = stream->scan.used, left = size - used;
    if (scanned != NVT_JSON_MORE)
        return explain(stream, scanned);
    stream->offset += (int64_t)used;
    if (left > NVT_JSON_TOKEN)
        return too_long(stream, stream->offset);
    if (text != stream->rest.data)
        return nvt_buffer_append(&stream->rest, text + used, left) ? no_memory(stream) : 0;
    if (left && text)
        memmove(stream->rest.data, text + used, left);
    stream->rest.size = left;
    return 0;
}

/* A part of the text, of which a beginning may have been read ahead. 0, or -1 with err filled. */
static int take_part(struct stream *stream, struct nvt_json_part *part)
{
    size_t from = 0;
    if (stream->rest.size) {
        if (nvt_buffer_append(&stream->rest, part->text.data, part->text.size))
            return no_memory(stream);
        return scan(stream, stream->rest.data, stream->rest.size, 0);
    }
    stream->offset = part->offset;
    if (stream->ahead && part->closed && nvt_json_scan_is_at_item(&stream->scan) &&
        stream->ahead->is_next(stream->scan.context)) {
        from = part->closed;
        if (stream->ahead->take(stream->scan.context, part->items)) {
            stream->err->offset = stream->offset;
            return nvt_error_in(stream->err, stream->path);
        }
        nvt_json_scan_end_item(&stream->scan);
    }
    stream->offset += (int64_t)from;
    return part->text.size > from ? scan(stream, part->text.data + from, part->text.size - from, 0)
                                  : 0;
}

/* The text ends, or what was compressed does. 0, or -1 with err filled. */
static int end(struct stream *stream, int status, int is_cut)
{
    const struct nvt_json_handler *handler = stream->handler;
    struct nvt_json_scan *scan_of = &stream->scan;
    if (status < 0 && !is_cut)
        return -1;
    if (!is_cut && scan(stream, stream->rest.data, stream->rest.size, 1))
        return -1;
    if (!is_cut && scan_of->depth == 1 && handler->may_end && handler->may_end(scan_of->context))
        return 0;
    if ((scan_of->depth || is_cut) && handler->cut && !handler->cut(scan_of->context))
        return 0;
    if (status < 0)
        return -1;
    if (scan_of->depth)
        return nvt_fail_at(stream->err, stream->path, stream->offset,
                           "ends in the middle, %d brackets are open", scan_of->depth);
    return nvt_json_scan_is_whole(scan_of)
               ? 0
               : nvt_fail_at(stream->err, stream->path, stream->offset,
                             "is not JSON: it ends before its first value does");
}

int nvt_json_stream_ahead(const char *path, const struct nvt_json_handler *handler, void *context,
                          const struct nvt_json_ahead *ahead, uint64_t *repaired,
                          struct nvt_error *err)
{
    struct nvt_error unused = NVT_ERROR_INIT;
    struct stream stream = {.path = path,
                            .handler = handler,
                            .ahead = ahead,
                            .scan = {.handler = handler, .context = context, .base = -1},
                            .err = err ? err : &unused};
    struct nvt_json_parts *parts = nvt_json_parts_open(path, ahead, repaired != NULL, stream.err);
    struct nvt_json_part *part = NULL;
    int status = 0;
    if (!parts)
        return -1;
    while (!status && (part = nvt_json_parts_next(parts))->status > 0)
        status = take_part(&stream, part);
    if (!status) {
        if (part->status < 0)
            *stream.err = part->err;
        status = end(&stream, part->status, nvt_json_parts_is_cut(parts));
    }
    nvt_json_parts_close(parts, repaired);
    nvt_json_scan_free(&stream.scan);
    nvt_buffer_free(&stream.rest);
    return status;
}

int nvt_json_stream(const char *path, const struct nvt_json_handler *handler, void *context,
                    uint64_t *repaired, struct nvt_error *err)
{
    return nvt_json_stream_ahead(path, handler, context, NULL, repaired, err);
}
