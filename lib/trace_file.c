#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct nvt_trace_file {
    int descriptor;
    char *path;
    int64_t size;
    int64_t offset; /* of the chunk being read */
    struct nvt_chunk_memory memory;
    int64_t unpacked; /* bytes of all chunks that were skipped */
};

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void nvt_chunk_memory_free(struct nvt_chunk_memory *memory)
{
    nvt_buffer_free(&memory->stored);
    nvt_buffer_free(&memory->raw);
#ifdef HAVE_ZSTD
    ZSTD_freeDCtx(memory->unpacker);
#endif
    memory->unpacker = NULL;
}

void nvt_trace_file_close(struct nvt_trace_file *file)
{
    if (!file)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    nvt_chunk_memory_free(&file->memory);
    free(file->path);
    free(file);
}

/* Bytes from a place in the file; fewer at its end, or when the disk fails: then *cause is why. */
static size_t read_at(const struct nvt_trace_file *file, int64_t offset, void *data, size_t size,
                      int *cause)
{
    size_t done = 0;
    *cause = 0;
    while (done < size) {
        ssize_t got =
            pread(file->descriptor, (char *)data + done, size - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            *cause = errno;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static int fail_short(const struct nvt_trace_file *file, int64_t offset, int cause,
                      struct nvt_error *err)
{
    if (cause)
        return nvt_fail_at(err, file->path, offset, "cannot be read: %s", strerror(cause));
    return nvt_fail_at(err, file->path, offset, "the last chunk is cut");
}

static int check_header(struct nvt_trace_file *file, unsigned version, struct nvt_error *err)
{
    uint8_t header[NVT_FILE_HEADER];
    int cause;
    size_t size = read_at(file, 0, header, sizeof(header), &cause);
    if (cause)
        return fail_short(file, (int64_t)size, cause, err);
    if (!size)
        return nvt_fail_at(err, file->path, -1, "is empty, not a trace");
    if (size < sizeof(header) || memcmp(header, NVT_FILE_MAGIC, 8))
        return nvt_fail_at(err, file->path, -1, "is not an nvtally trace");
    if (get(header + 8, 4) == version)
        return 0;
    if (get(header + 8, 4) == NVT_FILE_TABLES)
        return nvt_fail_at(err, file->path, 8, "is an export, not a recording");
    return nvt_fail_at(err, file->path, 8,
                       "has trace format %u, this program reads formats %u and %u: use a newer "
                       "nvtally",
                       (unsigned)get(header + 8, 4), NVT_FILE_VERSION, NVT_FILE_TABLES);
}

static struct nvt_trace_file *open_version(const char *path, unsigned version,
                                           struct nvt_error *err)
{
    struct nvt_trace_file *file = calloc(1, sizeof(*file));
    if (file) {
        file->descriptor = -1;
        file->path = strdup(path);
    }
    if (!file || !file->path) {
        nvt_fail_at(err, path, -1, "out of memory");
        nvt_trace_file_close(file);
        return NULL;
    }
    do /* on some file systems, opening takes its time */
        file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (file->descriptor < 0 && errno == EINTR);
    struct stat status;
    int failed = file->descriptor < 0 || fstat(file->descriptor, &status);
    if (failed)
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    else
        file->size = status.st_size;
    if (failed || check_header(file, version, err)) {
        nvt_trace_file_close(file);
        return NULL;
    }
    file->offset = NVT_FILE_HEADER;
    return file;
}

struct nvt_trace_file *nvt_trace_file_open(const char *path, struct nvt_error *err)
{
    return open_version(path, NVT_FILE_VERSION, err);
}

/* Whether somebody writes the file: its writer holds the lock alone as long as it lives. */
static int is_locked(int descriptor)
{
    if (flock(descriptor, LOCK_SH | LOCK_NB))
        return errno == EWOULDBLOCK;
    flock(descriptor, LOCK_UN);
    return 0;
}

int nvt_trace_file_is_written(const struct nvt_trace_file *file)
{
    struct stat own, named;
    if (is_locked(file->descriptor))
        return 1;
    /* Who cuts the front off gives the name to another file. */
    int fresh = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int is_written = fresh >= 0 && !fstat(file->descriptor, &own) && !fstat(fresh, &named) &&
                     (own.st_ino != named.st_ino || own.st_dev != named.st_dev) && is_locked(fresh);
    if (fresh >= 0)
        close(fresh);
    return is_written;
}

struct nvt_trace_file *nvt_trace_file_open_tables(const char *path, struct nvt_error *err)
{
    return open_version(path, NVT_FILE_TABLES, err);
}

static int unpack(const struct nvt_trace_file *file, int64_t offset, const struct nvt_chunk *chunk,
                  struct nvt_chunk_memory *memory, struct nvt_error *err)
{
#ifdef HAVE_ZSTD
    const uint8_t *stored = memory->stored.data + NVT_CHUNK_HEADER;
    if (ZSTD_getFrameContentSize(stored, chunk->stored_size) != chunk->raw_size)
        return nvt_fail_at(err, file->path, offset, "a chunk's size is wrong");
    memory->raw.size = 0;
    if (!memory->unpacker)
        memory->unpacker = ZSTD_createDCtx();
    if (!memory->unpacker || nvt_buffer_reserve(&memory->raw, (size_t)chunk->raw_size + 1))
        return nvt_fail_at(err, file->path, offset, "out of memory");
    size_t got = ZSTD_decompressDCtx(memory->unpacker, memory->raw.data, chunk->raw_size, stored,
                                     chunk->stored_size);
    if (ZSTD_isError(got) || got != chunk->raw_size)
        return nvt_fail_at(err, file->path, offset, "a chunk cannot be unpacked");
    return 0;
#else
    (void)chunk;
    (void)memory;
    return nvt_fail_at(err, file->path, offset,
                       "is compressed, and this nvtally was built without zstd");
#endif
}

static int decode_header(const struct nvt_trace_file *file, int64_t offset, const uint8_t *header,
                         struct nvt_chunk *chunk, struct nvt_error *err)
{
    if (get(header, 4) != NVT_CHUNK_MAGIC)
        return nvt_fail_at(err, file->path, offset, "no chunk starts here");
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
        return nvt_fail_at(err, file->path, offset, "a chunk's sizes are impossible");
    return 0;
}

/* The header and the bytes behind it. */
static uint64_t checksum(const uint8_t *header, size_t size)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, NVT_CHUNK_HEADER - 8);
    XXH3_64bits_update(&state, header + NVT_CHUNK_HEADER, size);
    return XXH3_64bits_digest(&state);
}

int nvt_trace_file_header(const struct nvt_trace_file *file, struct nvt_chunk *chunk,
                          struct nvt_error *err)
{
    uint8_t header[NVT_CHUNK_HEADER];
    int cause;
    /* A recorder may have appended more since: that is not of this file until it grows. */
    if (file->offset >= file->size)
        return 0;
    size_t size = read_at(file, file->offset, header, sizeof(header), &cause);
    if (size < sizeof(header))
        return fail_short(file, file->offset, cause, err);
    if (decode_header(file, file->offset, header, chunk, err))
        return -1;
    if ((int64_t)chunk->stored_size > file->size - file->offset - NVT_CHUNK_HEADER)
        return nvt_fail_at(err, file->path, file->offset, "the last chunk is cut");
    if ((file->unpacked + chunk->raw_size - NVT_FILE_GRACE) / NVT_FILE_RATIO >
        file->offset + chunk->stored_size)
        return nvt_fail_at(err, file->path, file->offset,
                           "grows more than %d-fold when unpacked: no recording does",
                           NVT_FILE_RATIO);
    return 1;
}

void nvt_trace_file_skip(struct nvt_trace_file *file, const struct nvt_chunk *chunk)
{
    file->offset += NVT_CHUNK_HEADER + (int64_t)chunk->stored_size;
    file->unpacked += chunk->raw_size;
}

int nvt_trace_file_stored(const struct nvt_trace_file *file, int64_t offset,
                          const struct nvt_chunk *chunk, struct nvt_chunk_memory *memory,
                          struct nvt_error *err)
{
    struct nvt_chunk again;
    int cause;
    size_t size = NVT_CHUNK_HEADER + (size_t)chunk->stored_size;
    memory->stored.size = 0;
    if ((int64_t)size > file->size - offset)
        return nvt_fail_at(err, file->path, offset, "the last chunk is cut");
    if (nvt_buffer_reserve(&memory->stored, size))
        return nvt_fail_at(err, file->path, offset, "out of memory");
    uint8_t *header = memory->stored.data;
    if (read_at(file, offset, header, size, &cause) < size)
        return fail_short(file, offset, cause, err);
    /* The file may have changed since its header was read. */
    if (decode_header(file, offset, header, &again, err))
        return -1;
    if (again.stored_size != chunk->stored_size || again.raw_size != chunk->raw_size ||
        again.flags != chunk->flags || checksum(header, chunk->stored_size) != get(header + 56, 8))
        return nvt_fail_at(err, file->path, offset, "a chunk is damaged");
    memory->stored.size = size;
    return 0;
}

int nvt_trace_file_load(const struct nvt_trace_file *file, int64_t offset,
                        const struct nvt_chunk *chunk, struct nvt_chunk_memory *memory,
                        const uint8_t **payload, struct nvt_error *err)
{
    if (nvt_trace_file_stored(file, offset, chunk, memory, err))
        return -1;
    if ((chunk->flags & NVT_CHUNK_ZSTD) && unpack(file, offset, chunk, memory, err))
        return -1;
    *payload =
        chunk->flags & NVT_CHUNK_ZSTD ? memory->raw.data : memory->stored.data + NVT_CHUNK_HEADER;
    return 0;
}

int nvt_trace_file_next(struct nvt_trace_file *file, struct nvt_chunk *chunk,
                        const uint8_t **payload, struct nvt_error *err)
{
    int status = nvt_trace_file_header(file, chunk, err);
    if (status > 0 && nvt_trace_file_load(file, file->offset, chunk, &file->memory, payload, err))
        return -1;
    if (status > 0)
        nvt_trace_file_skip(file, chunk);
    return status;
}

int64_t nvt_trace_file_offset(const struct nvt_trace_file *file)
{
    return file->offset;
}

void nvt_trace_file_rewind(struct nvt_trace_file *file)
{
    file->offset = NVT_FILE_HEADER;
    file->unpacked = 0;
}

int64_t nvt_trace_file_size(const struct nvt_trace_file *file)
{
    return file->size;
}

void nvt_trace_file_grow(struct nvt_trace_file *file, int64_t size)
{
    file->size = size;
}
