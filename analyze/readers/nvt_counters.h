/*
 * Inside of the reader of our own format: NVTX's counters. Definitions and samples are kept as they come, and
 * put into the trace when all of the file has been read, as a sample may come before what says how to read it.
 */
#ifndef NVT_READ_NVT_COUNTERS_H
#define NVT_READ_NVT_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/map.h"

struct nvt_cursor;
struct nvt_file_reader;

/* A number in the samples of a counter. */
struct nvt_file_leaf {
    uint64_t offset; /* in a sample, bytes */
    uint32_t row;    /* in the model */
    uint8_t size;
    char form; /* as struct nvt_nvtx_type has it */
    uint8_t has_last;
    double scale, last; /* `last`: the value of its latest sample */
};

/* One that was defined, or that there is a sample of. */
struct nvt_file_counter {
    uint32_t process;                         /* in the file */
    uint32_t domain, name, unit, description; /* in the model */
    uint64_t id;
    int is_defined;
    uint64_t schema, flags;
    uint64_t numerator, denominator;
    uint32_t first_leaf, leaf_count;
    int has_leaves; /* they have been looked for */
};

/* There may be many. */
struct nvt_file_sample {
    uint64_t ticks;   /* of the event */
    int64_t time;     /* that the program gave, */
    uint64_t value;   /* bits of a number, or where extended payloads begin in the reader's blobs */
    uint32_t size;    /* of those, bytes; 0: there are none */
    uint32_t counter; /* in `items` */
    uint32_t thread;  /* in the model */
    uint8_t type;     /* of the number: NVTX's, or NVT_SAMPLE_NO_VALUE */
    uint8_t clock;    /* of `time`: enum nvt_sample_clock */
};

struct nvt_file_counters {
    struct nvt_file_counter *items;
    uint32_t count;
    struct nvt_file_leaf *leaves;
    uint64_t leaf_count;
    struct nvt_file_sample *samples;
    uint64_t sample_count;
};

/* Which counter it is: of this process in the file, this domain of the model (NVT_MAP_NONE: it is not defined)
 * and this id. */
struct nvt_file_counter_key {
    uint32_t process, domain;
    uint64_t id;
};

/* A definition. 0, or -1. */
int nvt_file_define_counter(struct nvt_file_reader *reader, const struct nvt_file_counter_key *key,
                            struct nvt_cursor bytes);

/* A sample, whose `counter` is filled in, as are `value` and `size` where it has extended payloads. 0, or -1 when
 * out of memory. */
int nvt_file_keep_sample(struct nvt_file_reader *reader, const struct nvt_file_counter_key *key,
                         const struct nvt_file_sample *sample, const uint8_t *payloads,
                         size_t size);

/* Fill the trace's counters and their samples, whose times start at `origin` (ns of CLOCK_MONOTONIC; the trace's
 * origin_ns is that of CLOCK_REALTIME). 0, or -1 when out of memory. */
int nvt_file_complete_counters(struct nvt_file_reader *reader, int64_t origin);

void nvt_file_counters_free(struct nvt_file_counters *counters);

#endif
