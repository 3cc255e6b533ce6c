#include "create_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_file.h"

/* Whether the file that `path` names stands in a folder for all, and its owner is neither us nor
 * the owner of the folder. */
static int is_planted(const char *path, const struct stat *file)
{
    struct stat folder;
    const char *slash = strrchr(path, '/');
    char *name = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int known = name && !stat(name, &folder);
    free(name);
    if (!known)
        return 1;
    return (folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
           file->st_uid != geteuid() && file->st_uid != folder.st_uid;
}

/* What stands there is a link: follow it when it may be. */
static int open_link(const char *path)
{
    struct stat link;
    if (lstat(path, &link))
        return -1;
    if (S_ISLNK(link.st_mode) && is_planted(path, &link)) {
        errno = EPERM;
        return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
}

/* -1 with the errno of what went wrong before. */
static int close_failed(int descriptor)
{
    int cause = errno;
    close(descriptor);
    errno = cause;
    return -1;
}

int nvt_open_file(const char *path)
{
    struct stat file;
    int descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    int is_link = descriptor < 0 && errno == ELOOP;
    if (is_link)
        /* cppcheck-suppress resourceLeak ; none is open: is_link says so */
        descriptor = open_link(path);
    if (descriptor < 0)
        return -1;
    int failed = fstat(descriptor, &file);
    if (!failed && S_ISREG(file.st_mode) && !is_link && is_planted(path, &file)) {
        errno = EPERM;
        failed = -1;
    }
    return failed ? close_failed(descriptor) : descriptor;
}

int nvt_create_file(const char *path)
{
    struct stat file;
    int descriptor = nvt_open_file(path);
    if (descriptor >= 0 && !fstat(descriptor, &file) && S_ISREG(file.st_mode) && file.st_size &&
        ftruncate(descriptor, 0))
        return close_failed(descriptor);
    return descriptor;
}

FILE *nvt_create_stream(const char *path)
{
    int descriptor = nvt_create_file(path);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (descriptor >= 0 && !stream)
        close(descriptor);
    return stream;
}

int nvt_stream_end(FILE *out, const char *name, int failed, struct nvt_error *err)
{
    int unwritten = fflush(out) || ferror(out), reason = errno;
    if (out != stdout && fclose(out) && !unwritten) {
        unwritten = 1;
        reason = errno;
    }
    if (failed)
        return -1;
    return unwritten ? nvt_fail_at(err, name, -1, "cannot be written: %s", strerror(reason)) : 0;
}

char *nvt_replacement_of(const char *path, struct nvt_error *err)
{
    struct stat status;
    char *replacement = NULL;
    int is_there = !lstat(path, &status), is_file = !is_there || S_ISREG(status.st_mode);
    if (is_there && is_file) {
        /* One that somebody else has put there is not taken. */
        int there = nvt_open_file(path);
        if (there < 0) {
            nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
            return NULL;
        }
        close(there);
    }
    if (asprintf(&replacement, "%s%s", path, is_file ? ".partial" : "") < 0) {
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    return replacement;
}

int nvt_replacement_end(char *replacement, const char *path, int failed, struct nvt_error *err)
{
    int status = failed ? -1 : 0;
    if (strcmp(replacement, path) != 0) {
        if (!failed && rename(replacement, path))
            status = nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
        if (status)
            unlink(replacement);
    }
    free(replacement);
    return status;
}

int nvt_check_not_stdout(const char *output, const char *what, const char *kind,
                         struct nvt_error *err)
{
    if (!output || strcmp(output, "-") != 0)
        return 0;
    return nvt_fail(err, "-o -: %s cannot go to standard output; a %s of that name is ./-", what,
                    kind);
}

int nvt_check_output(const char *output, const char *input, struct nvt_error *err)
{
    struct stat out, in;
    if (stat(output, &out) || stat(input, &in) || !S_ISREG(in.st_mode) || out.st_dev != in.st_dev ||
        out.st_ino != in.st_ino)
        return 0;
    return nvt_fail_at(err, output, -1, "is an input: give another name with -o");
}

int nvt_check_not_trace(const char *output, struct nvt_error *err)
{
    static const char database[] = "SQLite format 3";
    char start[sizeof(database)] = "";
    int there = open(output, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = there < 0 ? 0 : read(there, start, sizeof(start));
    if (there >= 0)
        close(there);
    if (got < (ssize_t)sizeof(start) ||
        (memcmp(start, database, sizeof(database)) != 0 && memcmp(start, NVT_FILE_MAGIC, 8) != 0))
        return 0;
    return nvt_fail_at(err, output, -1, "is a trace, and is not replaced: give another name");
}
