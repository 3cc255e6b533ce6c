#include "ctl_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cut.h"

enum { TRIES = 5, NAMES = 10000 };

const char *nvt_ctl_value(const char *text, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    out[0] = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || line[length] != '\t')
            continue;
        const char *value = line + length + 1;
        const size_t bytes = strcspn(value, "\n");
        snprintf(out, size, "%.*s", (int)(bytes < size ? bytes : size - 1), value);
        break;
    }
    return out;
}

/* --- the file ----------------------------------------------------------------------------------- */

/* 0 with its descriptor, or -1 with errno. */
static int create(const char *path, int *descriptor)
{
    *descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *descriptor < 0 ? -1 : 0;
}

/* "dir/trace.nvt": "dir/trace-dump1.nvt". Whether it fits. */
static int number_name(const char *trace, int number, char *name, size_t size)
{
    const char *slash = strrchr(trace, '/'), *base = slash ? slash + 1 : trace;
    const char *dot = strrchr(base, '.');
    const size_t stem = dot && dot > base ? (size_t)(dot - trace) : strlen(trace);
    return snprintf(name, size, "%.*s-dump%d%s", (int)stem, trace, number, trace + stem) <
           (int)size;
}

static int create_output(const char *trace, const char *output, char *name, size_t size,
                         int *descriptor, struct nvt_error *err)
{
    int status = -1;
    if (output) {
        snprintf(name, size, "%s", output);
        status = create(name, descriptor);
    }
    for (int i = 1; !output && status && i < NAMES; i++) {
        if (!number_name(trace, i, name, size))
            return nvt_fail_at(err, trace, -1, "its name is too long; --output names another file");
        status = create(name, descriptor);
        if (status && errno != EEXIST)
            break;
    }
    return status ? nvt_fail_at(err, name, -1, "%s", strerror(errno)) : 0;
}

/* --- the request -------------------------------------------------------------------------------- */

/* The trace, as it was at an answer of the recorder's. */
struct source {
    char path[PATH_MAX];
    int descriptor; /* or -1 */
    int64_t bytes;
    uint64_t since; /* ticks; 0: all of it is wanted */
};

/* 0, or -1 with err; 1: it has become another file since. */
static int open_source(const struct nvt_ctl_session *session, int64_t last_ns, int64_t patience_ns,
                       struct source *source, struct nvt_error *err)
{
    char request[40], text[NVT_CTL_ANSWER_MOST], value[40];
    struct stat status;
    snprintf(request, sizeof(request), "flush %" PRId64, last_ns);
    const int failed = nvt_ctl_ask(session, request, patience_ns, text, sizeof(text), err);
    if (failed)
        return failed < 0 ? -1 : nvt_fail(err, "%.400s", text);
    nvt_ctl_value(text, "trace", source->path, sizeof(source->path));
    source->bytes = strtoll(nvt_ctl_value(text, "bytes", value, sizeof(value)), NULL, 10);
    source->since = strtoull(nvt_ctl_value(text, "since", value, sizeof(value)), NULL, 10);
    if (source->descriptor >= 0)
        close(source->descriptor);
    source->descriptor = open(source->path, O_RDONLY | O_CLOEXEC);
    if (source->descriptor < 0 || fstat(source->descriptor, &status))
        return nvt_fail_at(err, source->path, -1, "%s", strerror(errno));
    nvt_ctl_value(text, "inode", value, sizeof(value));
    return strtoull(value, NULL, 10) == (uint64_t)status.st_ino ? 0 : 1;
}

/* All of it, or the last part, into a file that is there. 0, or -1 with err. */
static int fill(const struct source *source, int64_t last_ns, const char *name,
                struct nvt_error *err)
{
    char path[40], kept[40];
    /* That name may be another file's by now. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", source->descriptor);
    snprintf(kept, sizeof(kept), "%.6g s", (double)last_ns / 1e9);
    return nvt_cut_copy(path, source->bytes, source->since, source->since ? kept : NULL, name, err);
}

int nvt_ctl_dump(const struct nvt_ctl_session *session, const char *output, int64_t last_ns,
                 int64_t patience_ns, char *name, size_t size, struct nvt_error *err)
{
    struct source source = {.descriptor = -1};
    int to = -1, status = 1;
    for (int i = 0; i < TRIES && status == 1; i++)
        status = open_source(session, last_ns, patience_ns, &source, err);
    if (status == 1)
        status = nvt_fail_at(err, source.path, -1, "is cut off all the time: it cannot be copied");
    if (!status)
        status = create_output(source.path, output, name, size, &to, err);
    if (!status)
        status = fill(&source, last_ns, name, err);
    if (to >= 0 && close(to) && !status)
        status = nvt_fail_at(err, name, -1, "%s", strerror(errno));
    if (status && to >= 0)
        unlink(name);
    if (source.descriptor >= 0)
        close(source.descriptor);
    return status;
}
