#include "trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct nvt_trace_file {
    FILE *stream;
    char *path;
    int64_t offset; /* of the chunk being read */
    struct nvt_buffer stored, raw;
};

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void nvt_trace_file_close(struct nvt_trace_file *file)
{
    if (!file)
        return;
    if (file->stream)
        fclose(file->stream);
    nvt_buffer_free(&file->stored);
    nvt_buffer_free(&file->raw);
    free(file->path);
    free(file);
}

static int check_header(struct nvt_trace_file *file, struct nvt_error *err)
{
    uint8_t header[NVT_FILE_HEADER];
    size_t size = fread(header, 1, sizeof(header), file->stream);
    if (!size)
        return nvt_fail_at(err, file->path, -1, "is empty, not a trace");
    if (size < sizeof(header) || memcmp(header, NVT_FILE_MAGIC, 8))
        return nvt_fail_at(err, file->path, -1, "is not an nvtally trace");
    if (get(header + 8, 4) != NVT_FILE_VERSION)
        return nvt_fail_at(err, file->path, 8,
                           "has trace format %u, this program reads format %u: use a newer nvtally",
                           (unsigned)get(header + 8, 4), NVT_FILE_VERSION);
    file->offset = NVT_FILE_HEADER;
    return 0;
}

struct nvt_trace_file *nvt_trace_file_open(const char *path, struct nvt_error *err)
{
    struct nvt_trace_file *file = calloc(1, sizeof(*file));
    if (file)
        file->path = strdup(path);
    if (!file || !file->path) {
        nvt_fail_at(err, path, -1, "out of memory");
        nvt_trace_file_close(file);
        return NULL;
    }
    file->stream = fopen(path, "rbe");
    if (!file->stream)
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    if (!file->stream || check_header(file, err)) {
        nvt_trace_file_close(file);
        return NULL;
    }
    return file;
}

/* Read `size` bytes, growing the buffer as they arrive: a length field alone allocates nothing. */
static int read_stored(struct nvt_trace_file *file, size_t size, struct nvt_error *err)
{
    file->stored.size = 0;
    while (file->stored.size < size) {
        size_t part = size - file->stored.size < 65536 ? size - file->stored.size : 65536;
        if (nvt_buffer_reserve(&file->stored, part))
            return nvt_fail_at(err, file->path, file->offset, "out of memory");
        size_t got = fread(file->stored.data + file->stored.size, 1, part, file->stream);
        file->stored.size += got;
        if (got < part)
            return nvt_fail_at(err, file->path, file->offset, "the last chunk is cut");
    }
    return 0;
}

static int unpack(struct nvt_trace_file *file, const struct nvt_chunk *chunk, struct nvt_error *err)
{
#ifdef HAVE_ZSTD
    unsigned long long size = ZSTD_getFrameContentSize(file->stored.data, chunk->stored_size);
    if (size != chunk->raw_size)
        return nvt_fail_at(err, file->path, file->offset, "a chunk's size is wrong");
    file->raw.size = 0;
    if (nvt_buffer_reserve(&file->raw, chunk->raw_size + 1))
        return nvt_fail_at(err, file->path, file->offset, "out of memory");
    size_t got = ZSTD_decompress(file->raw.data, chunk->raw_size, file->stored.data,
                                 chunk->stored_size);
    if (ZSTD_isError(got) || got != chunk->raw_size)
        return nvt_fail_at(err, file->path, file->offset, "a chunk cannot be unpacked");
    return 0;
#else
    (void)chunk;
    return nvt_fail_at(err, file->path, file->offset,
                       "is compressed, and this nvtally was built without zstd");
#endif
}

static int decode_header(struct nvt_trace_file *file, const uint8_t *header,
                         struct nvt_chunk *chunk, struct nvt_error *err)
{
    if (get(header, 4) != NVT_CHUNK_MAGIC)
        return nvt_fail_at(err, file->path, file->offset, "no chunk starts here");
    chunk->kind = (uint16_t)get(header + 4, 2);
    chunk->flags = (uint16_t)get(header + 6, 2);
    chunk->process = (uint32_t)get(header + 8, 4);
    chunk->thread = (uint32_t)get(header + 12, 4);
    chunk->count = (uint32_t)get(header + 16, 4);
    chunk->stored_size = (uint32_t)get(header + 20, 4);
    chunk->raw_size = (uint32_t)get(header + 24, 4);
    chunk->first = get(header + 32, 8);
    chunk->last = get(header + 40, 8);
    if (chunk->raw_size > NVT_CHUNK_MAX || chunk->stored_size > NVT_CHUNK_MAX ||
        (!(chunk->flags & NVT_CHUNK_ZSTD) && chunk->raw_size != chunk->stored_size))
        return nvt_fail_at(err, file->path, file->offset, "a chunk's sizes are impossible");
    return 0;
}

static uint64_t checksum(const uint8_t *header, const uint8_t *payload, size_t size)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, NVT_CHUNK_HEADER - 8);
    XXH3_64bits_update(&state, payload, size);
    return XXH3_64bits_digest(&state);
}

int nvt_trace_file_next(struct nvt_trace_file *file, struct nvt_chunk *chunk,
                        const uint8_t **payload, struct nvt_error *err)
{
    uint8_t header[NVT_CHUNK_HEADER];
    size_t size = fread(header, 1, sizeof(header), file->stream);
    if (!size && !ferror(file->stream))
        return 0;
    if (size < sizeof(header))
        return nvt_fail_at(err, file->path, file->offset, "the last chunk is cut");
    if (decode_header(file, header, chunk, err) || read_stored(file, chunk->stored_size, err))
        return -1;
    if (checksum(header, file->stored.data, chunk->stored_size) != get(header + 56, 8))
        return nvt_fail_at(err, file->path, file->offset, "a chunk is damaged");
    if ((chunk->flags & NVT_CHUNK_ZSTD) && unpack(file, chunk, err))
        return -1;
    *payload = chunk->flags & NVT_CHUNK_ZSTD ? file->raw.data : file->stored.data;
    file->offset += NVT_CHUNK_HEADER + (int64_t)chunk->stored_size;
    return 1;
}

int64_t nvt_trace_file_offset(const struct nvt_trace_file *file)
{
    return file->offset;
}
