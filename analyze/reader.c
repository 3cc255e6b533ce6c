#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "compensate.h"

/* Every format; the first one that recognizes the file reads it. */
static const struct nvt_reader *const readers[] = {
    &nvt_reader_nvt,
    &nvt_reader_nsys,
    &nvt_reader_kineto,
};

#define HEAD_BYTES (64 * 1024)
#define READERS    (sizeof(readers) / sizeof(readers[0]))

static const struct nvt_reader *recognize(const char *path, struct nvt_error *err)
{
    static _Thread_local uint8_t head[HEAD_BYTES];
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file) {
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    if (!fstat(fileno(file), &status) && S_ISDIR(status.st_mode)) {
        nvt_fail_at(err, path, -1, "is a directory, not a trace");
        fclose(file);
        return NULL;
    }
    size_t size = fread(head, 1, sizeof(head), file);
    int failed = ferror(file);
    fclose(file);
    if (failed)
        nvt_fail_at(err, path, -1, "cannot be read: %s", strerror(errno));
    else if (!size)
        nvt_fail_at(err, path, -1, "is empty, not a trace");
    else {
        for (size_t i = 0; i < READERS; i++)
            if (readers[i]->recognizes(head, size))
                return readers[i];
        if (nvt_is_nsys_report(path))
            return &nvt_reader_nsys_report;
        nvt_fail_at(err, path, -1, "is not a trace of a known format");
    }
    return NULL;
}

static struct nvt_trace *read_trace(const char *path, int compensate, struct nvt_error *err)
{
    const struct nvt_reader *reader = recognize(path, err);
    if (!reader)
        return NULL;
    struct nvt_trace *trace = nvt_trace_new(path, reader->name);
    if (!trace) {
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    if (reader->read(path, trace, err) || (compensate && nvt_compensate(trace, err)) ||
        nvt_trace_finish(trace, err)) {
        nvt_error_in(err, path);
        nvt_trace_free(trace);
        return NULL;
    }
    return trace;
}

struct nvt_trace *nvt_trace_read(const char *path, struct nvt_error *err)
{
    return read_trace(path, 0, err);
}

struct nvt_trace *nvt_trace_read_compensated(const char *path, struct nvt_error *err)
{
    return read_trace(path, 1, err);
}
