#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES "/proc/self/fd/"

static int write_all(int descriptor, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

static int copy(const struct nvt_spool *spool, int from, struct nvt_error *err)
{
    char block[64 * 1024];
    ssize_t size;
    while ((size = read(from, block, sizeof(block))) != 0) {
        if (size < 0 && errno != EINTR)
            return nvt_fail_at(err, spool->name, -1, "cannot be read: %s", strerror(errno));
        if (size > 0 && write_all(spool->descriptor, block, (size_t)size))
            return nvt_fail_at(err, spool->name, -1, "cannot be copied to a temporary file: %s",
                               strerror(errno));
    }
    return 0;
}

/* A file without a name. */
static int create(struct nvt_spool *spool, struct nvt_error *err)
{
    const char *parent = getenv("TMPDIR");
    char name[256];
    int length =
        snprintf(name, sizeof(name), "%s/nvtally-XXXXXX", parent && *parent ? parent : "/tmp");
    spool->descriptor = (size_t)length < sizeof(name) ? mkostemp(name, O_CLOEXEC) : -1;
    if (spool->descriptor < 0)
        return nvt_fail_at(err, spool->name, -1, "no temporary file for it: %s", strerror(errno));
    unlink(name);
    snprintf(spool->copy, sizeof(spool->copy), COPIES "%d", spool->descriptor);
    spool->path = spool->copy;
    return 0;
}

int nvt_spool_open(struct nvt_spool *spool, const char *path, struct nvt_error *err)
{
    struct stat status;
    int is_input = !strcmp(path, "-");
    *spool = (struct nvt_spool){
        .name = is_input ? "standard input" : path, .path = path, .descriptor = -1};
    if (!is_input && (stat(path, &status) || !S_ISFIFO(status.st_mode)))
        return 0;
    int from = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    int failed = create(spool, err) || copy(spool, from, err);
    if (!is_input)
        close(from);
    if (failed)
        nvt_spool_close(spool);
    return failed ? -1 : 0;
}

void nvt_spool_close(struct nvt_spool *spool)
{
    if (spool->descriptor >= 0)
        close(spool->descriptor);
    spool->descriptor = -1;
}

int nvt_spool_descriptor(const char *path)
{
    size_t prefix = sizeof(COPIES) - 1;
    return strncmp(path, COPIES, prefix) ? -1 : (int)strtol(path + prefix, NULL, 10);
}

void nvt_spool_rename(const struct nvt_spool *spool, struct nvt_error *err)
{
    if (err && spool->descriptor >= 0 && !strcmp(err->file, spool->copy))
        snprintf(err->file, sizeof(err->file), "%s", spool->name);
}
