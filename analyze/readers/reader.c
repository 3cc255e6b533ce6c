#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../lib/count_of.h"
#include "compensate.h"
#include "other_formats.h"
#include "spool.h"

#define NVT_READER_LINE(name) &nvt_reader_##name,
static const struct nvt_reader *const readers[] = {NVT_READERS(NVT_READER_LINE)};
#undef NVT_READER_LINE

#define HEAD_BYTES (64 * 1024)
#define READERS    NVT_COUNT_OF(readers)

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
        const char *other = nvt_other_format(head, size);
        nvt_fail_at(err, path, -1, "%s", other ? other : "is not a trace of a known format");
    }
    return NULL;
}

static void state(const struct nvt_reader *reader, struct nvt_trace *trace)
{
    trace->format = reader->name;
    trace->recorder = reader->recorder;
    trace->tells_mpi_peers = reader->tells_mpi_peers;
    trace->lacks_page_faults = reader->lacks_page_faults;
}

void nvt_reader_state(struct nvt_trace *trace, const char *name)
{
    for (size_t i = 0; i < READERS; i++)
        if (!strcmp(readers[i]->name, name))
            state(readers[i], trace);
}

int nvt_reader_begin_anew(struct nvt_trace *trace)
{
    struct nvt_trace *fresh = nvt_trace_new(trace->path, trace->format), begun = *trace;
    if (!fresh)
        return -1;
    *trace = *fresh;
    trace->recorder = begun.recorder;
    trace->tells_mpi_peers = begun.tells_mpi_peers;
    trace->lacks_page_faults = begun.lacks_page_faults;
    *fresh = begun;
    nvt_trace_free(fresh);
    return 0;
}

static struct nvt_trace *new_trace(const struct nvt_reader *reader, const struct nvt_spool *spool)
{
    struct nvt_trace *trace = nvt_trace_new(spool->name, reader->name);
    if (trace)
        state(reader, trace);
    return trace;
}

/* A trace that is read and not finished; NULL with err filled. What is refused is tried once more, and then it is the first reason
 * that counts. */
static struct nvt_trace *read_tables(const struct nvt_reader *reader, const struct nvt_spool *spool,
                                     struct nvt_error *err)
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    struct nvt_trace *trace = new_trace(reader, spool);
    if (!trace) {
        nvt_fail_at(err, spool->name, -1, "out of memory");
        return NULL;
    }
    if (!reader->read(spool->path, trace, err))
        return trace;
    nvt_trace_free(trace);
    trace = reader->read_repaired ? new_trace(reader, spool) : NULL;
    if (trace && reader->read_repaired(spool->path, trace, &ignored)) {
        nvt_trace_free(trace);
        trace = NULL;
    }
    return trace;
}

static struct nvt_trace *read_whole(const struct nvt_reader *reader, const struct nvt_spool *spool,
                                    int compensate, struct nvt_error *err)
{
    struct nvt_trace *trace = read_tables(reader, spool, err);
    if (!trace) {
        nvt_error_in(err, spool->name);
        return NULL;
    }
    if ((compensate && nvt_compensate(trace, err)) || nvt_trace_finish(trace, err)) {
        nvt_error_in(err, spool->name);
        nvt_trace_free(trace);
        return NULL;
    }
    return trace;
}

static struct nvt_trace *read_trace(const char *path, int compensate, struct nvt_error *err)
{
    struct nvt_spool spool;
    if (nvt_spool_open(&spool, path, err))
        return NULL;
    const struct nvt_reader *reader = recognize(spool.path, err);
    struct nvt_trace *trace = reader ? read_whole(reader, &spool, compensate, err) : NULL;
    if (!trace)
        nvt_spool_rename(&spool, err);
    nvt_spool_close(&spool);
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

struct nvt_trace *nvt_trace_read_beginning(const char *path, int64_t most, struct nvt_error *err)
{
    enum { TIMES = 4 };
    struct nvt_spool spool = {.name = path, .path = path};
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || status.st_size / TIMES < most) {
        nvt_fail_at(err, path, -1, "is not long enough to be begun with");
        return NULL;
    }
    const struct nvt_reader *reader = recognize(path, err);
    struct nvt_trace *trace = reader && reader->read_beginning ? new_trace(reader, &spool) : NULL;
    if (!trace) {
        nvt_fail_at(err, path, -1, "is read as a whole");
        return NULL;
    }
    if (reader->read_beginning(path, most, trace, err) || nvt_trace_finish(trace, err)) {
        nvt_trace_free(trace);
        return NULL;
    }
    return trace;
}

/* Read a file by way of lanes: a trace without tables, or NULL. */
static struct nvt_trace *read_by_lanes(const struct nvt_reader *reader,
                                       const struct nvt_spool *spool, struct nvt_launches *launches)
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    struct nvt_lanes lanes = {0};
    struct nvt_trace *trace = new_trace(reader, spool);
    if (trace && (reader->read_lanes(spool->path, trace, &lanes) || nvt_lanes_link(&lanes, trace) ||
                  nvt_trace_finish(trace, &ignored) || nvt_launches_of(launches, &lanes))) {
        nvt_trace_free(trace);
        trace = NULL;
    }
    nvt_lanes_free(&lanes);
    return trace;
}

/* *launches stays NULL where it was to be read as a whole. */
static struct nvt_trace *read_launches(const struct nvt_reader *reader,
                                       const struct nvt_spool *spool,
                                       struct nvt_launches **launches, struct nvt_error *err)
{
    struct nvt_launches *made = reader->read_lanes ? calloc(1, sizeof(*made)) : NULL;
    struct nvt_trace *trace = made ? read_by_lanes(reader, spool, made) : NULL;
    if (trace) {
        *launches = made;
        return trace;
    }
    free(made);
    return read_whole(reader, spool, 0, err);
}

struct nvt_trace *nvt_trace_read_launches(const char *path, struct nvt_launches **launches,
                                          struct nvt_error *err)
{
    struct nvt_spool spool;
    *launches = NULL;
    if (nvt_spool_open(&spool, path, err))
        return NULL;
    const struct nvt_reader *reader = recognize(spool.path, err);
    struct nvt_trace *trace = reader ? read_launches(reader, &spool, launches, err) : NULL;
    if (!trace)
        nvt_spool_rename(&spool, err);
    nvt_spool_close(&spool);
    return trace;
}
