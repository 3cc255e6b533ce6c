/*
 * Inside of the reader of our own format: NVTX's counters. Definitions and samples are kept as they come, and
 * put into the trace when all of the file has been read, as a sample may come before what says how to read it.
 */
#ifndef NVT_READ_NVT_COUNTERS_H
#define NVT_READ_NVT_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct nvt_cursor;
struct nvt_nvt_process;
struct nvt_nvt_reader;

/* A number in the samples of a counter. */
struct nvt_nvt_leaf {
    uint64_t offset; /* in a sample, bytes */
    uint32_t row;    /* in the model */
    uint8_t size;
    char form; /* as struct nvt_nvtx_type has it */
    uint8_t has_last;
    double scale, last; /* `last`: the value of its latest sample */
};

struct nvt_nvt_counter {
    uint32_t domain, name, unit, description; /* in the model */
    uint64_t schema, flags;
    uint64_t numerator, denominator;
    uint32_t first_leaf, leaf_count;
    int has_leaves; /* they have been looked for */
};

struct nvt_nvt_sample {
    uint64_t ticks;      /* of the event */
    int64_t time;        /* that the program gave, */
    uint64_t counter;    /* id */
    uint64_t bits;       /* of a number */
    size_t offset, size; /* of extended payloads in the reader's blobs; size 0: there are none */
    uint32_t process;    /* in the file */
    uint32_t thread, domain; /* in the model */
    uint32_t type;           /* of the number: NVTX's, or NVT_SAMPLE_NO_VALUE */
    uint8_t clock;           /* of `time`: enum nvt_sample_clock */
};

struct nvt_nvt_counters {
    struct nvt_nvt_counter *items;
    uint64_t count, capacity;
    struct nvt_nvt_leaf *leaves;
    uint64_t leaf_count, leaf_capacity;
    struct nvt_nvt_sample *samples;
    uint64_t sample_count, sample_capacity;
};

/* A definition of a domain of the model (NVT_MAP_NONE: it is not defined). 0, or -1. */
int nvt_nvt_define_counter(struct nvt_nvt_reader *reader, struct nvt_nvt_process *process,
                           uint32_t domain, uint64_t id, struct nvt_cursor bytes);

/* A sample, with its extended payloads if there are any. 0, or -1 when out of memory. */
int nvt_nvt_keep_sample(struct nvt_nvt_reader *reader, const struct nvt_nvt_sample *sample,
                        const uint8_t *payloads, size_t size);

/* Fill the trace's counters and their samples, whose times start at `origin` (ns of CLOCK_MONOTONIC; the trace's
 * origin_ns is that of CLOCK_REALTIME). 0, or -1 when out of memory. */
int nvt_nvt_complete_counters(struct nvt_nvt_reader *reader, int64_t origin);

void nvt_nvt_counters_free(struct nvt_nvt_counters *counters);

#endif
