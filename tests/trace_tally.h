/*
 * What a trace says of itself, chunk by chunk and in little memory, however large it is: for tests
 * and benches whose traces would not fit as tables.
 */
#ifndef NVT_TESTS_TRACE_TALLY_H
#define NVT_TESTS_TRACE_TALLY_H

#include <stdint.h>

#include "../lib/error.h"

struct trace_tally {
    uint64_t events;    /* NVTX events in the chunks, each of whose checksums was right */
    uint64_t dropped;   /* of threads that ended: at full buffers, */
    uint64_t nested;    /* in signal handlers, */
    uint64_t unwritten; /* drained and not written */
    uint64_t waited_ns; /* time that they waited for room */
    uint64_t stated;    /* events that their ends state; equal to `events` when all is well */
    uint32_t threads;   /* that ended */
    uint64_t bytes;     /* of the file */
};

/* 0, or -1 with err: the file cannot be read, is damaged, or is cut. */
int trace_tally_read(const char *path, struct trace_tally *tally, struct nvt_error *err);

#endif
