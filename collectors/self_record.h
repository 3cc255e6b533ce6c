/*
 * Recording one's own process: a recorder on a thread of its own, the trace in a memory file. Once a
 * process, since NVTX and CUDA look for a collector once; it goes on until the process exits.
 */
#ifndef NVT_SELF_RECORD_H
#define NVT_SELF_RECORD_H

#include <stdint.h>

#include "../lib/error.h"

enum nvt_self_record_status {
    NVT_SELF_RECORD_OK,
    NVT_SELF_RECORD_OTHER_TOOL,
    NVT_SELF_RECORD_NO_COLLECTOR,
    NVT_SELF_RECORD_SYSTEM
};

/*
 * Start recording, or do nothing where that was done: `library` is the path of libnvtally-inject.so. Sets
 * the environment variables by which NVTX and CUDA find it. Not from two threads at once.
 */
enum nvt_self_record_status nvt_self_record_start(const char *library, struct nvt_error *err);

/*
 * Get all that has happened until now into the memory file: device operations that have ended, NVTX
 * events. Returns the file's path, which may be read at any time (its last chunk may be cut), or NULL
 * when nothing is recorded. *lost: NVTX events lost until now. Not from two threads at once.
 */
const char *nvt_self_record_collect(uint64_t *lost);

/* What a time from start to stop (CLOCK_MONOTONIC) is on the trace's axis: ten microseconds more at
 * both ends, as the clocks agree so well. */
void nvt_self_record_axis(int64_t start, int64_t stop, int64_t *first, int64_t *last);

#endif
