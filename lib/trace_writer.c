#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "create_file.h"
#include "keep_file.h"

/* How long a named pipe's reader may take to open it. */
enum { READER_WAIT_MS = 1000 };

struct nvt_trace_writer {
    int descriptor;
    int seekable;
    int created; /* by us: nothing had this name before */
    int holds;   /* the file is as it was, and what is to replace it is in `held` */
    struct nvt_buffer held;
    int fresh; /* descriptor of what shall take the file's place; -1: nothing, or it has */
    struct nvt_keep_names *names; /* of both; NULL: the file itself is written to */
    int named; /* a regular file that has a name: it can be removed under our hands */
    char *path;
    uint64_t size;     /* of the file up to the last whole chunk */
    uint64_t unpacked; /* bytes of all chunks before compression */
    int level;
    struct nvt_buffer out;
#ifdef HAVE_ZSTD
    ZSTD_CCtx *zstd;
#endif
};

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static int write_all(int descriptor, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static void free_writer(struct nvt_trace_writer *writer)
{
#ifdef HAVE_ZSTD
    ZSTD_freeCCtx(writer->zstd);
#endif
    nvt_buffer_free(&writer->out);
    nvt_buffer_free(&writer->held);
    if (writer->fresh >= 0) {
        unlink(writer->names->fresh);
        close(writer->fresh);
    }
    free(writer->names);
    free(writer->path);
    free(writer);
}

/* The first bytes of a file; how many, or -1 with errno. */
static ssize_t read_start(const char *path, char *start, size_t size)
{
    ssize_t got = -1;
    int file;
    do
        file = open(path, O_RDONLY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return -1;
    do
        got = read(file, start, size);
    while (got < 0 && errno == EINTR);
    int cause = errno;
    close(file);
    errno = cause;
    return got;
}

/* Refuse to replace a file that has something in it and is no trace. */
static int check_trace(const char *path, struct nvt_error *err)
{
    char start[8];
    ssize_t got = read_start(path, start, sizeof(start));
    if (got < 0)
        return nvt_fail_at(err, path, -1, "cannot be read and is not replaced: %s",
                           strerror(errno));
    return memcmp(start, NVT_FILE_MAGIC, (size_t)got)
               ? nvt_fail_at(err, path, -1,
                             "is not a trace and is not replaced: choose another name")
               : 0;
}

/* None is replaced that is being written: whoever writes one holds a lock on it, where the file system has
 * locks. The size is asked for behind it. */
static int take_file(int descriptor, const char *path, struct nvt_error *err)
{
    struct stat status, named;
    if (fstat(descriptor, &status))
        status = (struct stat){0};
    /* Whoever cuts its trace gives the name to another file, which is locked before, and unlocks the old one. */
    if ((flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) ||
        (!stat(path, &named) && (named.st_ino != status.st_ino || named.st_dev != status.st_dev)))
        return nvt_fail_at(err, path, -1, NVT_WRITTEN_BY_ANOTHER);
    if (!fstat(descriptor, &status) && !status.st_size)
        return 0;
    return check_trace(path, err);
}

/* A named pipe that nobody reads would keep us until somebody does: its reader, often started a moment before us, has READER_WAIT_MS to
 * come. *held keeps the reader until we have it; -1: it is none. 0, or -1 with err. */
static int hold_pipe(const char *path, int *held, struct nvt_error *err)
{
    struct stat status;
    *held = -1;
    if (stat(path, &status) || !S_ISFIFO(status.st_mode))
        return 0;
    for (int waited_ms = 0;; waited_ms += 10) {
        *held = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (*held >= 0 || errno != ENXIO || waited_ms >= READER_WAIT_MS)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return *held < 0 && errno == ENXIO ? nvt_fail_at(err, path, -1, "is a pipe that nobody reads")
                                       : 0;
}

/* The descriptor of the file, with what it holds; or -1 with err. */
static int open_trace(const char *path, struct nvt_error *err)
{
    struct stat status;
    int held;
    if (hold_pipe(path, &held, err))
        return -1;
    int descriptor = nvt_open_file(path), cause = errno;
    if (held >= 0)
        close(held);
    if (descriptor < 0)
        return nvt_fail_at(err, path, -1, "cannot be created: %s", strerror(cause));
    if (!fstat(descriptor, &status) && S_ISREG(status.st_mode) &&
        take_file(descriptor, path, err)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* The file goes on under its other name, and the new one is written. 0, or -1 with errno. */
static int take_place(struct nvt_trace_writer *writer)
{
    if (writer->fresh < 0)
        return 0;
    if (nvt_keep_file(writer->names))
        return -1;
    close(writer->descriptor);
    writer->descriptor = writer->fresh;
    writer->fresh = -1;
    return 0;
}

/* What was kept back, in place of what the file held. All of it is tried again when that fails. */
static int write_held(struct nvt_trace_writer *writer)
{
    if (!writer->held.size)
        return 0;
    if (take_place(writer) || ftruncate(writer->descriptor, 0) ||
        lseek(writer->descriptor, 0, SEEK_SET) < 0 ||
        write_all(writer->descriptor, writer->held.data, writer->held.size))
        return -1;
    nvt_buffer_free(&writer->held);
    writer->held = (struct nvt_buffer){0};
    return 0;
}

static int put_out(struct nvt_trace_writer *writer, const uint8_t *data, size_t size)
{
    if (writer->holds) {
        errno = ENOMEM;
        return nvt_buffer_append(&writer->held, data, size);
    }
    return write_held(writer) || write_all(writer->descriptor, data, size);
}

static int set_up(struct nvt_trace_writer *writer, const char *path, int level, int created)
{
    struct stat status;
    writer->path = strdup(path);
    writer->level = level;
    writer->seekable = !fstat(writer->descriptor, &status) && S_ISREG(status.st_mode);
    writer->named = writer->seekable && status.st_nlink > 0;
    writer->created = writer->seekable && created;
    writer->holds = writer->seekable && !created;
#ifdef HAVE_ZSTD
    writer->zstd = ZSTD_createCCtx();
    return writer->path && writer->zstd ? 0 : -1;
#else
    return writer->path ? 0 : -1;
#endif
}

static struct nvt_trace_writer *open_version(const char *path, unsigned version, int level,
                                             struct nvt_error *err)
{
    struct stat status;
    uint8_t header[NVT_FILE_HEADER] = {0};
    struct nvt_trace_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    writer->fresh = -1;
    int created = lstat(path, &status) && errno == ENOENT;
    writer->descriptor = open_trace(path, err);
    if (writer->descriptor < 0) {
        free_writer(writer);
        return NULL;
    }
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): eight bytes, no text */
    memcpy(header, NVT_FILE_MAGIC, 8);
    put(header + 8, version, 4);
    if (set_up(writer, path, level, created))
        nvt_fail_at(err, path, -1, "out of memory");
    else if (put_out(writer, header, sizeof(header)))
        nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    else {
        writer->size = sizeof(header);
        return writer;
    }
    nvt_trace_writer_discard(writer);
    return NULL;
}

struct nvt_trace_writer *nvt_trace_writer_open(const char *path, int level, struct nvt_error *err)
{
    return open_version(path, NVT_FILE_VERSION, level, err);
}

/* What has that name already makes way if it is an older trace, or a link, whose file stays. */
static int check_kept(const char *kept, struct nvt_error *err)
{
    struct stat status;
    if (lstat(kept, &status))
        return errno == ENOENT ? 0 : nvt_fail_at(err, kept, -1, "%s", strerror(errno));
    if (S_ISLNK(status.st_mode))
        return 0;
    if (!S_ISREG(status.st_mode))
        return nvt_fail_at(err, kept, -1, "is not a regular file");
    int file = open(kept, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int is_written = file >= 0 && flock(file, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (file >= 0)
        close(file);
    return is_written ? nvt_fail_at(err, kept, -1, NVT_WRITTEN_BY_ANOTHER) : check_trace(kept, err);
}

/* The hidden file, empty and locked; -1 with err. */
static int open_fresh(const char *path, mode_t mode, struct nvt_error *err)
{
    int fresh = nvt_create_file(path);
    if (fresh < 0)
        return nvt_fail_at(err, path, -1, "%s", strerror(errno));
    if (flock(fresh, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        close(fresh);
        return nvt_fail_at(err, path, -1, NVT_WRITTEN_BY_ANOTHER);
    }
    (void)fchmod(fresh, mode & 0777);
    return fresh;
}

int nvt_trace_writer_keep(struct nvt_trace_writer *writer, struct nvt_error *err)
{
    struct stat status;
    struct nvt_error why = NVT_ERROR_INIT;
    char text[1200];
    if (!writer->holds || fstat(writer->descriptor, &status) || !status.st_size || !status.st_nlink)
        return 0;
    writer->names = malloc(sizeof(*writer->names));
    if (!writer->names)
        return nvt_fail_at(err, writer->path, -1, "out of memory");
    if (!nvt_keep_names(writer->path, writer->names, &why) &&
        !check_kept(writer->names->kept, &why))
        writer->fresh = open_fresh(writer->names->fresh, status.st_mode, &why);
    if (writer->fresh >= 0)
        return 0;
    return nvt_fail_at(err, writer->path, -1,
                       "is there and cannot be kept (--force-overwrite replaces it, -o names "
                       "another file): %s",
                       nvt_error_text(&why, text, sizeof(text)));
}

const char *nvt_trace_writer_kept(const struct nvt_trace_writer *writer)
{
    return writer->names && writer->fresh < 0 ? writer->names->kept : NULL;
}

int nvt_trace_writer_begin(struct nvt_trace_writer *writer, struct nvt_error *err)
{
    writer->holds = 0;
    if (write_held(writer))
        return nvt_fail_at(err, writer->path, -1, "cannot be written: %s", strerror(errno));
    return 0;
}

void nvt_trace_writer_discard(struct nvt_trace_writer *writer)
{
    if (writer->created && writer->path)
        unlink(writer->path);
    close(writer->descriptor);
    free_writer(writer);
}

static struct nvt_trace_writer *begun(struct nvt_trace_writer *writer, struct nvt_error *err)
{
    if (writer && nvt_trace_writer_begin(writer, err)) {
        nvt_trace_writer_discard(writer);
        return NULL;
    }
    return writer;
}

struct nvt_trace_writer *nvt_trace_writer_new(const char *path, int level, struct nvt_error *err)
{
    return begun(nvt_trace_writer_open(path, level, err), err);
}

struct nvt_trace_writer *nvt_trace_writer_new_tables(const char *path, int level,
                                                     struct nvt_error *err)
{
    return begun(open_version(path, NVT_FILE_TABLES, level, err), err);
}

/* Whether a reader takes a chunk of `size` bytes that is stored in so many: with it, too, the file
 * must not unpack to more than NVT_FILE_RATIO times its size. */
static int is_taken(const struct nvt_trace_writer *writer, size_t size, size_t stored)
{
    return writer->unpacked + size <= NVT_FILE_GRACE + (writer->size + stored) * NVT_FILE_RATIO;
}

/* The payload behind room for the header in writer->out, compressed when that is shorter and readers
 * take it. 0 or -1. */
static int store(struct nvt_trace_writer *writer, const void *payload, size_t size, int *packed)
{
    writer->out.size = 0;
    *packed = 0;
#ifdef HAVE_ZSTD
    if (writer->level > 0 && size > 64) {
        if (nvt_buffer_reserve(&writer->out, NVT_CHUNK_HEADER + ZSTD_compressBound(size)))
            return -1;
        size_t length = ZSTD_compressCCtx(writer->zstd, writer->out.data + NVT_CHUNK_HEADER,
                                          writer->out.capacity - NVT_CHUNK_HEADER, payload, size,
                                          writer->level);
        if (!ZSTD_isError(length) && length < size && is_taken(writer, size, length)) {
            writer->out.size = NVT_CHUNK_HEADER + length;
            *packed = 1;
            return 0;
        }
    }
#endif
    if (nvt_buffer_reserve(&writer->out, NVT_CHUNK_HEADER + size))
        return -1;
    writer->out.size = NVT_CHUNK_HEADER;
    return nvt_buffer_append(&writer->out, payload, size);
}

static void fill_header(const struct nvt_buffer *out, const struct nvt_chunk *chunk,
                        size_t raw_size, int packed)
{
    uint8_t *header = out->data;
    size_t stored = out->size - NVT_CHUNK_HEADER;
    memset(header, 0, NVT_CHUNK_HEADER);
    put(header, NVT_CHUNK_MAGIC, 4);
    put(header + 4, chunk->kind, 2);
    put(header + 6, (chunk->flags & NVT_CHUNK_CARRIED) | (packed ? NVT_CHUNK_ZSTD : 0), 2);
    put(header + 8, chunk->process, 4);
    put(header + 12, chunk->thread, 4);
    put(header + 16, chunk->count, 4);
    put(header + 20, stored, 4);
    put(header + 24, raw_size, 4);
    put(header + 32, chunk->first, 8);
    put(header + 40, chunk->last, 8);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, NVT_CHUNK_HEADER - 8);
    XXH3_64bits_update(&state, header + NVT_CHUNK_HEADER, stored);
    put(header + 56, XXH3_64bits_digest(&state), 8);
}

/* A chunk with its header, which unpacks to so many bytes. */
static int append(struct nvt_trace_writer *writer, const struct nvt_buffer *out, size_t unpacked,
                  struct nvt_error *err)
{
    if (!put_out(writer, out->data, out->size)) {
        writer->size += out->size;
        writer->unpacked += unpacked;
        return 0;
    }
    int cause = errno;
    /* What was written of it is no chunk: the next one must not follow half of this one. */
    if (writer->seekable && !writer->held.size &&
        (ftruncate(writer->descriptor, (off_t)writer->size) ||
         lseek(writer->descriptor, (off_t)writer->size, SEEK_SET) < 0))
        cause = errno;
    return nvt_fail_at(err, writer->path, (int64_t)writer->size, "cannot be written: %s",
                       strerror(cause));
}

int nvt_trace_writer_chunk(struct nvt_trace_writer *writer, const struct nvt_chunk *chunk,
                           const void *payload, size_t size, struct nvt_error *err)
{
    int packed;
    if (size > NVT_CHUNK_MAX)
        return nvt_fail_at(err, writer->path, (int64_t)writer->size, "a chunk of %zu bytes", size);
    if (store(writer, payload, size, &packed))
        return nvt_fail_at(err, writer->path, (int64_t)writer->size, "out of memory");
    fill_header(&writer->out, chunk, size, packed);
    return append(writer, &writer->out, size, err);
}

int nvt_trace_writer_copy(struct nvt_trace_writer *writer, const struct nvt_chunk *chunk,
                          const struct nvt_buffer *stored, struct nvt_error *err)
{
    return is_taken(writer, chunk->raw_size, stored->size - NVT_CHUNK_HEADER)
               ? append(writer, stored, chunk->raw_size, err)
               : 1;
}

int nvt_trace_writer_is_file(const struct nvt_trace_writer *writer)
{
    return writer->named;
}

int nvt_trace_writer_has_begun(const struct nvt_trace_writer *writer)
{
    return !writer->holds && !writer->held.size;
}

const char *nvt_trace_writer_path(const struct nvt_trace_writer *writer)
{
    return writer->path;
}

int nvt_trace_writer_replace(struct nvt_trace_writer *writer, struct nvt_trace_writer *fresh,
                             struct nvt_error *err)
{
    struct stat old, named;
    char *real = realpath(writer->path, NULL);
    /* Only where our own file still has the name. */
    if (!real || fstat(writer->descriptor, &old) || stat(real, &named) ||
        old.st_ino != named.st_ino || old.st_dev != named.st_dev) {
        free(real);
        return nvt_fail_at(err, writer->path, -1, "is not the file that is being written");
    }
    (void)fchmod(fresh->descriptor, old.st_mode & 0777);
    int status = rename(fresh->path, real), cause = errno;
    free(real);
    if (status)
        return nvt_fail_at(err, writer->path, -1, "cannot be replaced: %s", strerror(cause));
    int descriptor = writer->descriptor;
    writer->descriptor = fresh->descriptor;
    writer->size = fresh->size;
    writer->unpacked = fresh->unpacked;
    close(descriptor);
    free_writer(fresh);
    return 0;
}

uint64_t nvt_trace_writer_size(const struct nvt_trace_writer *writer)
{
    return writer->size;
}

int nvt_trace_writer_close(struct nvt_trace_writer *writer, struct nvt_error *err)
{
    int status = 0;
    struct stat now;
    if (writer->named && !fstat(writer->descriptor, &now) && !now.st_nlink)
        status = nvt_fail_at(err, writer->path, -1, "was removed while it was written");
    if (close(writer->descriptor) && !status)
        status = nvt_fail_at(err, writer->path, -1, "cannot be written: %s", strerror(errno));
    free_writer(writer);
    return status;
}
