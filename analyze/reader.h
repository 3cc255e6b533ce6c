/*
 * Readers: a file of any known format becomes a trace model. The format is found out by content.
 * A new format is one new file with a struct nvt_reader, and one line in reader.c.
 */
#ifndef NVT_READER_H
#define NVT_READER_H

#include "trace.h"

struct nvt_reader {
    const char *name; /* of the format */
    /* Whether a file that starts with these bytes (up to 64 KiB of them) is of this format. */
    int (*recognizes)(const uint8_t *head, size_t size);
    /* Fill an empty trace, without nvt_trace_finish. 0 or -1. What is cut behind whole data is
     * read as far as it goes, with nvt_trace_warn. */
    int (*read)(const char *path, struct nvt_trace *trace, struct nvt_error *err);
};

extern const struct nvt_reader nvt_reader_nvt;
extern const struct nvt_reader nvt_reader_nsys;
extern const struct nvt_reader nvt_reader_nsys_report;
extern const struct nvt_reader nvt_reader_kineto;

/* Whether the name is that of nsys's own report, a format that nobody but nsys reads. */
int nvt_is_nsys_report(const char *path);

/*
 * Read and finish a trace of any format. Returns the trace (caller frees with nvt_trace_free), or
 * NULL with err filled: no such file, empty file, unknown format, or broken.
 */
struct nvt_trace *nvt_trace_read(const char *path, struct nvt_error *err);

/* The same without the collector's own cost (compensate.h); also NULL when none is on record. */
struct nvt_trace *nvt_trace_read_compensated(const char *path, struct nvt_error *err);

#endif
