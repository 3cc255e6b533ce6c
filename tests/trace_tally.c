#include "trace_tally.h"

#include <sys/stat.h>

#include "../lib/buffer.h"
#include "../lib/trace_file.h"

/* A THREAD_END row: events, dropped, nested, unwritten, ns waited (docs/trace-format.md). */
static int add_end(struct trace_tally *tally, const uint8_t *at, size_t size)
{
    const uint8_t *end = at + size;
    uint64_t values[5] = {0};
    for (int i = 0; i < 5 && at; i++)
        at = nvt_varint_get(at, end, &values[i]);
    tally->stated += values[0];
    tally->dropped += values[1];
    tally->nested += values[2];
    tally->unwritten += values[3];
    tally->waited_ns += values[4];
    tally->threads++;
    return at ? 0 : -1;
}

int trace_tally_read(const char *path, struct trace_tally *tally, struct nvt_error *err)
{
    struct stat status;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    *tally = (struct trace_tally){0};
    struct nvt_trace_file *file = nvt_trace_file_open(path, err);
    if (!file)
        return -1;
    int more, ended = 0, malformed = 0;
    while ((more = nvt_trace_file_next(file, &chunk, &payload, err)) > 0) {
        if (chunk.kind == NVT_CHUNK_EVENTS)
            tally->events += chunk.count;
        else if (chunk.kind == NVT_CHUNK_THREAD_END)
            malformed |= add_end(tally, payload, chunk.raw_size);
        ended |= chunk.kind == NVT_CHUNK_END;
    }
    nvt_trace_file_close(file);
    if (!stat(path, &status))
        tally->bytes = (uint64_t)status.st_size;
    if (!more && (malformed || !ended))
        more = nvt_fail_at(err, path, -1, malformed ? "a thread's end is malformed" : "is cut");
    return more;
}
