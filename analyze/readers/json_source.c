#include "json_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_repair.h"
#include "json_stream.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
typedef gzFile file_handle;
#else
typedef FILE *file_handle;
#endif

struct nvt_json_source {
    const char *path;
    file_handle file;
    int64_t read;   /* bytes of the file's text */
    int64_t given;  /* bytes of parts */
    size_t zeros;   /* zero bytes that were read last, and not given yet */
    int is_cut;     /* what was compressed ends in the middle */
    int is_over;    /* no more is read: it ends, */
    int has_failed; /* or for that reason */
    struct nvt_error reason;
    int repairs;
    struct nvt_json_repair repair;
    struct nvt_buffer raw;    /* what is being repaired */
    struct nvt_buffer behind; /* the cut of the last part: the next one begins with it */
};

/* Bytes that any file may have grown by. */
#define NVT_JSON_FREE (256 * 1024)

/* --- bytes --- */

#ifdef HAVE_ZLIB
static file_handle open_file(const char *path)
{
    file_handle file = gzopen(path, "rbe");
    if (file)
        gzbuffer(
            file,
            64 * 1024); /* an eighth of what is asked for: zlib reads or unpacks to there at once */
    return file;
}

static void close_file(file_handle file)
{
    gzclose(file);
}

/* Whether a text could be an object or an array. */
static int may_be_json(const unsigned char *text, int size)
{
    int at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at == size || text[at] == '{' || text[at] == '[' || text[at] == '/';
}

static int read_file(struct nvt_json_source *source, unsigned char *out, unsigned wanted,
                     struct nvt_error *err)
{
    file_handle file = source->file;
    int code, size = gzread(file, out, wanted);
    const char *text = gzerror(file, &code);
    size_t prefix = strlen(source->path);
    if (!strncmp(text, source->path, prefix) && !strncmp(text + prefix, ": ", 2))
        text += prefix + 2;
    source->is_cut = code == Z_BUF_ERROR;
    if (size < 0 || (!size && source->is_cut))
        return nvt_fail_at(err, source->path, gzoffset(file), "is cut or damaged: %s",
                           code == Z_ERRNO ? strerror(errno) : text);
    if (gztell(file) / NVT_JSON_RATIO > gzoffset(file) + NVT_JSON_FREE)
        return nvt_fail_at(err, source->path, gzoffset(file),
                           "grows more than %d-fold when unpacked: no trace does", NVT_JSON_RATIO);
    if (!source->read && !gzdirect(file) && !may_be_json(out, size))
        return nvt_fail_at(err, source->path, -1,
                           "is gzip of something that is not JSON: unpack it with gunzip first");
    return size;
}
#else
static file_handle open_file(const char *path)
{
    return fopen(path, "rbe");
}

static void close_file(file_handle file)
{
    fclose(file);
}

static int read_file(struct nvt_json_source *source, unsigned char *out, unsigned wanted,
                     struct nvt_error *err)
{
    size_t size = fread(out, 1, wanted, source->file);
    if (ferror(source->file))
        return nvt_fail_at(err, source->path, source->read, "cannot be read: %s", strerror(errno));
    if (!source->read && size > 1 && out[0] == 0x1f && out[1] == 0x8b)
        return nvt_fail_at(err, source->path, -1,
                           "is compressed, and this nvtally was built without zlib (zlib1g-dev)");
    return (int)size;
}
#endif

static int no_memory(const struct nvt_json_source *source, struct nvt_error *err)
{
    return nvt_fail_at(err, source->path, -1, "out of memory");
}

/* More of the file behind a buffer, but for zero bytes at the end: of a file that was made larger than what was written into it. 1; 0: there is no more; -1 with err filled. */
static int append_read(struct nvt_json_source *source, struct nvt_buffer *out,
                       struct nvt_error *err)
{
    if (nvt_buffer_reserve(out, source->zeros + NVT_JSON_PART))
        return no_memory(source, err);
    uint8_t *const from = out->data + out->size, *const text = from + source->zeros;
    const int size = read_file(source, text, NVT_JSON_PART, err);
    if (size < 0)
        return -1;
    if (!source->read && size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        memset(text, ' ', 3); /* the mark of UTF-8, which programs of Windows write */
    source->read += size;
    size_t used = (size_t)size;
    while (used && !text[used - 1])
        used--;
    if (used) { /* those before were not at the end */
        memset(from, 0, source->zeros);
        out->size += source->zeros + used;
        source->zeros = 0;
    }
    source->zeros += (size_t)size - used;
    if (source->zeros > NVT_JSON_TOKEN) /* more than any text has */
        source->zeros = NVT_JSON_TOKEN;
    return size > 0;
}

static int append_repaired(struct nvt_json_source *source, struct nvt_buffer *out,
                           struct nvt_error *err)
{
    source->raw.size = 0;
    const int more = append_read(source, &source->raw, err);
    if (more < 0)
        return -1;
    if (more ? nvt_json_repair(&source->repair, source->raw.data, source->raw.size, out)
             : nvt_json_repair_end(&source->repair, out))
        return no_memory(source, err);
    if (source->repair.token.size > NVT_JSON_TOKEN)
        return nvt_fail_at(err, source->path, source->read, "has a value longer than %d bytes",
                           NVT_JSON_TOKEN);
    return more;
}

/* --- parts --- */

static int is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The last byte in front of `at` that is no white space: where it is, 0 where there is none. */
static size_t before(const uint8_t *text, size_t at)
{
    while (at > 0 && is_blank(text[at - 1]))
        at--;
    return at ? at - 1 : 0;
}

/* Where the last object begins that follows another one, in a list as it seems; `size`: there is none. */
static size_t last_item(const uint8_t *text, size_t size)
{
    for (size_t at = size; at-- > 0;) {
        const uint8_t *brace = memrchr(text, '{', at + 1);
        if (!brace)
            break;
        at = (size_t)(brace - text);
        const size_t comma = before(text, at);
        if (text[comma] == ',' && text[before(text, comma)] == '}')
            return at;
    }
    return size;
}

/* Read until the part has its size. Why that ends early is kept until all before it was given. */
static void fill(struct nvt_json_source *source, struct nvt_buffer *part)
{
    while (!source->is_over && part->size < NVT_JSON_PART) {
        const int more = source->repairs ? append_repaired(source, part, &source->reason)
                                         : append_read(source, part, &source->reason);
        source->is_over = more <= 0;
        source->has_failed = more < 0;
    }
}

int nvt_json_source_next(struct nvt_json_source *source, struct nvt_buffer *part, int64_t *offset,
                         struct nvt_error *err)
{
    part->size = 0;
    *offset = source->given;
    if (nvt_buffer_append(part, source->behind.data, source->behind.size))
        return no_memory(source, err);
    source->behind.size = 0;
    fill(source, part);
    const size_t cut = source->is_over ? part->size : last_item(part->data, part->size);
    if (part->size > cut && nvt_buffer_append(&source->behind, part->data + cut, part->size - cut))
        return no_memory(source, err);
    part->size = cut;
    source->given += (int64_t)cut;
    if (!cut && source->has_failed && err)
        *err = source->reason;
    return cut ? 1 : source->has_failed ? -1 : 0;
}

int nvt_json_source_is_cut(const struct nvt_json_source *source)
{
    return source->is_cut;
}

uint64_t nvt_json_source_repaired(const struct nvt_json_source *source)
{
    return source->repair.repaired;
}

struct nvt_json_source *nvt_json_source_open(const char *path, int repairs, struct nvt_error *err)
{
    struct nvt_json_source *source = calloc(1, sizeof(*source));
    if (!source) {
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    source->path = path;
    source->repairs = repairs;
    source->file = open_file(path);
    if (!source->file) {
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
        free(source);
        return NULL;
    }
    return source;
}

void nvt_json_source_close(struct nvt_json_source *source)
{
    if (!source)
        return;
    close_file(source->file);
    nvt_json_repair_free(&source->repair);
    nvt_buffer_free(&source->raw);
    nvt_buffer_free(&source->behind);
    free(source);
}
