/*
 * Inside the reader of DEVICE chunks: a chunk while it is read, and what its rows are made of.
 */
#ifndef NVT_READ_NVT_DEVICE_CHUNK_H
#define NVT_READ_NVT_DEVICE_CHUNK_H

#include "../../lib/device_columns.h"
#include "nvt.h"

/* What has been found out about a name of a chunk; NVT_NO_STRING: nothing yet. The model's ids. */
struct nvt_device_name {
    uint32_t full, part; /* of a kernel, with and without its parameters */
    uint32_t call;       /* of a call, without its version */
};

/* A chunk being read: its process and its own list of names. */
struct nvt_device_chunk {
    struct nvt_file_reader *reader;
    struct nvt_file_devices *devices;
    struct nvt_trace *trace;
    uint32_t process; /* index in the file */
    uint32_t owner;   /* row in the model */
    uint64_t ticks;
    uint32_t *names; /* the model's ids */
    struct nvt_device_name *known;
    uint64_t name_count;
    uint64_t tid;    /* that called last */
    uint32_t caller; /* its launch as an index, NVT_NONE: unknown */
};

/* A chunk and its columns; calls: they are still to be read. */
struct nvt_device_reading {
    struct nvt_device_chunk chunk;
    struct nvt_device_columns columns;
    struct nvt_device_group *calls;
};

/* A kernel's name as people write it, once for every name, and the part of it that is the
 * function's. NVT_NO_STRING when out of memory. */
uint32_t nvt_device_full_name(const struct nvt_device_chunk *chunk, uint32_t mangled);
uint32_t nvt_device_short_name(const struct nvt_device_chunk *chunk, uint32_t full);

/* A call's name without the version that CUPTI adds to it. NVT_NO_STRING when out of memory. */
uint32_t nvt_device_call_name(const struct nvt_device_chunk *chunk, uint32_t name);

/* What a row says of managed memory, into the model; and what a row of a copy has of that, whose row of migrations goes into
 * *detail. 0, or -1 when out of memory. */
int nvt_device_read_um(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);
int nvt_device_read_migration(const struct nvt_device_chunk *chunk,
                              const struct nvt_device_row *row, uint32_t *detail);

/* Which counter of a device a number stands for, and a sample of all of them. 0, or -1 when out of memory. */
int nvt_device_read_metric(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);
int nvt_device_read_sample(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);

/* A thread known by its tid only, until all threads are. UINT32_MAX when out of memory. */
uint32_t nvt_device_caller(const struct nvt_device_chunk *chunk, uint64_t tid);

/* Whether there are times: CUPTI gives 0 where it has none, and, where the device had no memory for them, what cannot
 * be some. */
static inline int nvt_device_is_timed(uint64_t start, uint64_t end)
{
    return start && end >= start && end <= INT64_MAX;
}

/* The name of that number; 0 beyond the last. */
static inline uint32_t nvt_device_name_at(const struct nvt_device_chunk *chunk, uint64_t number)
{
    return number < chunk->name_count ? chunk->names[number] : 0;
}

/* What is known of it: the last place is that of all numbers beyond the last. */
static inline struct nvt_device_name *nvt_device_known(const struct nvt_device_chunk *chunk,
                                                       uint64_t number)
{
    return &chunk->known[number < chunk->name_count ? number : chunk->name_count];
}

/* Let `caller` be this thread. 0, or -1 when out of memory. */
static inline int nvt_device_find_caller(struct nvt_device_chunk *chunk, uint64_t tid)
{
    if (chunk->caller == NVT_NONE || chunk->tid != tid) {
        chunk->caller = nvt_device_caller(chunk, tid);
        chunk->tid = tid;
    }
    return chunk->caller == UINT32_MAX ? -1 : 0;
}

/* Rows whose columns are read together. */
#define NVT_DEVICE_BLOCK 256

/* All rows of a group of kernels or calls, which most rows are, into the model, and into lanes. 0,
 * or -1 when out of memory. */
int nvt_device_plain_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group);
int nvt_device_lane_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group);

/* Whether rows of that kind are read. */
int nvt_device_knows(uint64_t kind);

/* A row of any kind into the model, and into lanes. 0, or -1 when out of memory. */
int nvt_device_read_row(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);
int nvt_device_lane_row(struct nvt_device_chunk *chunk, const struct nvt_device_row *row);

#endif
