/*
 * Readers: a file of any known format becomes a trace model. The format is found out by content.
 * A new format is one new file with a struct nvt_reader nvt_reader_<format>, and its name in
 * NVT_READERS.
 */
#ifndef NVT_READER_H
#define NVT_READER_H

#include "../model/launches.h"
#include "../model/trace.h"

/* Every format: X(name of nvt_reader_<name>). The first one that recognizes a file reads it. */
#define NVT_READERS(X)                                                                             \
    X(nvt)                                                                                         \
    X(tables)                                                                                      \
    X(rocpd)                                                                                       \
    X(nsys)                                                                                        \
    X(flight)                                                                                      \
    X(snapshot)                                                                                    \
    X(xplane)                                                                                      \
    X(perfetto)                                                                                    \
    X(rocprofv3)                                                                                   \
    X(kineto)

struct nvt_reader {
    const char *name; /* of the format */
    enum nvt_recorder recorder;
    int tells_mpi_peers;   /* numbers below zero in mpi_calls.peer are those of lib/mpi_payload.h */
    int lacks_page_faults; /* it reads migrations of managed memory, and no page faults: that there are none of these is not 0 */
    /* Whether a file that starts with these bytes (up to 64 KiB of them) is of this format. */
    int (*recognizes)(const uint8_t *head, size_t size);
    /* Fill an empty trace, without nvt_trace_finish. 0 or -1. What is cut behind whole data is
     * read as far as it goes, with nvt_trace_warn. */
    int (*read)(const char *path, struct nvt_trace *trace, struct nvt_error *err);
    /* `read` for a file that it refused: what is not quite of the format is repaired or left out, with a note of how much, and
     * names may come behind what they name. NULL: it is refused for good. */
    int (*read_repaired)(const char *path, struct nvt_trace *trace, struct nvt_error *err);
    /* `read` for what begins within so many bytes of the file. NULL: it cannot do that. */
    int (*read_beginning)(const char *path, int64_t most, struct nvt_trace *trace,
                          struct nvt_error *err);
    /*
     * `read` with ranges, calls and operations in lanes and not in the trace; NULL: it
     * cannot do that. 0; other than that, the file is to be read with `read`: there is something in
     * it that lanes do not hold, or it is damaged, or there is no memory.
     */
    int (*read_lanes)(const char *path, struct nvt_trace *trace, struct nvt_lanes *lanes);
};

#define NVT_DECLARE_READER(name) extern const struct nvt_reader nvt_reader_##name;
NVT_READERS(NVT_DECLARE_READER)
#undef NVT_DECLARE_READER
/* What a reader states of its traces goes into one: of the format that it was recorded in, where its file says which. A name
 * that no reader has changes nothing. */
void nvt_reader_state(struct nvt_trace *trace, const char *name);

/* A trace that a reader has begun to fill is empty again. 0, or -1 when out of memory: then it is as it was. */
int nvt_reader_begin_anew(struct nvt_trace *trace);

/* The size of a copy or memset as the model has it: 0 is unknown, and so is what is no size. */
static inline uint64_t nvt_reader_size(uint64_t bytes)
{
    return bytes <= INT64_MAX ? bytes : 0;
}

/* Chosen by the file's name alone, when no other reader recognises the file. */
extern const struct nvt_reader nvt_reader_nsys_report;

/* Whether the name is that of nsys's own report, a format that only nsys reads. */
int nvt_is_nsys_report(const char *path);

/*
 * Read and finish a trace of any format. Returns the trace (caller frees with nvt_trace_free), or
 * NULL with err filled: no such file, empty file, unknown format, or broken. "-" is standard input;
 * it and pipes are copied first (spool.h).
 */
struct nvt_trace *nvt_trace_read(const char *path, struct nvt_error *err);

/* The beginning of a file that is several times as long: what stands in its first so many bytes. NULL with err: it is shorter, or
 * not of a format that allows it. */
struct nvt_trace *nvt_trace_read_beginning(const char *path, int64_t most, struct nvt_error *err);

/*
 * For who wants to know only what was launched (launches.h) and the names of things. *launches gets
 * that, to be released with nvt_launches_free and free, and the trace has no ranges, calls and
 * operations; or it gets NULL, and the trace is whole.
 */
struct nvt_trace *nvt_trace_read_launches(const char *path, struct nvt_launches **launches,
                                          struct nvt_error *err);

/* nvt_trace_read without the collector's own cost (compensate.h); also NULL when none was recorded.
 */
struct nvt_trace *nvt_trace_read_compensated(const char *path, struct nvt_error *err);

/* What is said of JSON that is something else than a trace, and of such pickles: folders have them too. */
#define NVT_NO_TRACE_EVENTS "holds no trace events"
#define NVT_NO_SNAPSHOT     "not a memory snapshot of PyTorch"

/* A note about JSON that was repaired (json_repair.h), and how often. */
#define NVT_REPAIRED_NOTE                                                                          \
    "repaired or left out: values that are no JSON, like inf, hexadecimal numbers, "               \
    "lone backslashes, needless commas and comments (%llu)"

/* A note about what stands for no time (docs/trace-format.md, DEVICE), of how many. */
#define NVT_UNTIMED_NOTE "left out: events without times, or that end before they begin (%llu)"

#endif
