/* Files of messages: their bytes, plain or unpacked. */
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"

#define CHUNK (256 * 1024)

#ifdef HAVE_ZLIB
#include <zlib.h>

typedef gzFile source;

static source source_open(const char *path)
{
    return gzopen(path, "rbe");
}

static void source_close(source file)
{
    gzclose(file);
}

/* Bytes; 0 at the end, -1 where it is damaged or ends in the middle of its compressed form, -2 where it grows too much. */
static int source_read(source file, uint8_t *out, unsigned room)
{
    int code;
    const int size = gzread(file, out, room);
    gzerror(file, &code);
    if (size < 0 || (!size && code == Z_BUF_ERROR))
        return -1;
    return gztell(file) / NVT_WIRE_RATIO > gzoffset(file) + CHUNK ? -2 : size;
}

static size_t inflate_into(z_stream *stream, uint8_t *out, size_t room)
{
    stream->next_out = out;
    stream->avail_out = (uInt)room;
    const int status = inflate(stream, Z_SYNC_FLUSH);
    return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR
               ? room - stream->avail_out
               : 0;
}

size_t nvt_wire_head(const uint8_t *head, size_t size, uint8_t *out, size_t room)
{
    if (size < 3 || head[0] != 0x1f || head[1] != 0x8b || head[2] != 8) {
        memcpy(out, head, size < room ? size : room);
        return size < room ? size : room;
    }
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)head, .avail_in = (uInt)size};
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return 0;
    const size_t made = inflate_into(&stream, out, room);
    inflateEnd(&stream);
    return made;
}

uint8_t *nvt_wire_inflate(const uint8_t *data, size_t packed, size_t *size)
{
    struct nvt_buffer out = {0};
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)data, .avail_in = (uInt)packed};
    int status = packed > UINT32_MAX || inflateInit(&stream) != Z_OK ? Z_MEM_ERROR : Z_OK;
    if (status != Z_OK)
        return NULL;
    while (status == Z_OK) {
        if (out.size / NVT_WIRE_RATIO > packed + CHUNK || nvt_buffer_reserve(&out, CHUNK)) {
            status = Z_MEM_ERROR;
            break;
        }
        stream.next_out = out.data + out.size;
        stream.avail_out = CHUNK;
        status = inflate(&stream, Z_NO_FLUSH);
        out.size += CHUNK - stream.avail_out;
    }
    inflateEnd(&stream);
    *size = out.size;
    if (status == Z_STREAM_END && out.data)
        return out.data;
    nvt_buffer_free(&out);
    return NULL;
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

static int source_read(source file, uint8_t *out, unsigned room)
{
    const size_t size = fread(out, 1, room, file);
    return ferror(file) ? -1 : (int)size;
}

size_t nvt_wire_head(const uint8_t *head, size_t size, uint8_t *out, size_t room)
{
    memcpy(out, head, size < room ? size : room);
    return size < room ? size : room;
}

uint8_t *nvt_wire_inflate(const uint8_t *data, size_t packed, size_t *size)
{
    (void)data;
    (void)packed;
    *size = 0;
    return NULL;
}
#endif

struct file {
    const char *path;
    source source;
    struct nvt_buffer bytes; /* that were read and not handed over, from `at` on */
    size_t at;
    int ended;
    nvt_wire_handler *handler;
    void *context;
    uint64_t messages;
    struct nvt_error *err;
};

/* Read on. 0; 1: there is no more, or it is damaged; -1 with err filled. */
static int read_on(struct file *file)
{
    if (file->ended)
        return 1;
    if (file->at && file->bytes.data) {
        file->bytes.size -= file->at;
        memmove(file->bytes.data, file->bytes.data + file->at, file->bytes.size);
        file->at = 0;
    }
    if (nvt_buffer_reserve(&file->bytes, CHUNK))
        return nvt_fail_at(file->err, file->path, -1, "out of memory");
    const int size = source_read(file->source, file->bytes.data + file->bytes.size, CHUNK);
    if (size == -2)
        return nvt_fail_at(file->err, file->path, -1,
                           "grows more than %d-fold when unpacked: no trace does", NVT_WIRE_RATIO);
    file->bytes.size += size > 0 ? (size_t)size : 0;
    file->ended = size <= 0;
    return file->ended;
}

/* Whether what is there cannot be a field, however much follows: a field's head has 20 bytes at most. */
static int is_malformed(const struct nvt_wire_field *field, size_t left)
{
    const int is_cut = field->number && field->type == NVT_WIRE_BYTES && field->size;
    return is_cut ? field->size > NVT_WIRE_MESSAGE : left >= 20;
}

/* The next field of the outermost message. 1; 0 at the end; 2: it is cut or malformed; -1 with err filled. */
static int next(struct file *file, struct nvt_wire_field *field)
{
    for (;;) {
        struct nvt_wire rest = nvt_wire_of(file->bytes.data, file->bytes.size);
        if (file->at)
            rest.at += file->at;
        const int found = nvt_wire_next(&rest, field);
        if (found > 0) {
            file->at = (size_t)(rest.at - file->bytes.data);
            return 1;
        }
        if (found < 0 && is_malformed(field, file->bytes.size - file->at))
            return 2;
        const int status = read_on(file);
        if (status < 0)
            return -1;
        if (status > 0)
            return file->at == file->bytes.size ? 0 : 2;
    }
}

static int read_all(struct file *file, int *cut)
{
    struct nvt_wire_field field;
    int found;
    while ((found = next(file, &field)) == 1) {
        if (field.type != NVT_WIRE_BYTES)
            continue;
        file->messages++;
        if (file->handler(file->context, field.number, nvt_wire_in(&field), file->err))
            return -1;
    }
    *cut = found == 2;
    if (found == 2 && !file->messages)
        return nvt_fail_at(file->err, file->path, -1, "is cut or damaged: it holds no message");
    return found < 0 ? -1 : 0;
}

int nvt_wire_read(const char *path, nvt_wire_handler *handler, void *context, int *cut,
                  struct nvt_error *err)
{
    struct file file = {.path = path, .handler = handler, .context = context, .err = err};
    file.source = source_open(path);
    if (!file.source)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    const int status = read_all(&file, cut);
    source_close(file.source);
    nvt_buffer_free(&file.bytes);
    return status;
}
