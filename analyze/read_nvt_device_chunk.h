/*
 * Inside the reader of DEVICE chunks: a chunk while it is read, and what its rows are made of.
 */
#ifndef NVT_READ_NVT_DEVICE_CHUNK_H
#define NVT_READ_NVT_DEVICE_CHUNK_H

#include "read_nvt.h"

/* What has been found out about a name of a chunk; NVT_NO_STRING: nothing yet. The model's ids. */
struct nvt_device_name {
    uint32_t full, part; /* of a kernel, with and without its parameters */
    uint32_t call;       /* of a call, without its version */
};

/* A chunk being read: its process and its own list of names. */
struct nvt_device_chunk {
    struct nvt_nvt_reader *reader;
    struct nvt_nvt_devices *devices;
    struct nvt_trace *trace;
    uint32_t process; /* index in the file */
    uint32_t owner;   /* row in the model */
    uint64_t ticks;
    uint32_t *names; /* the model's ids */
    struct nvt_device_name *known;
    uint64_t name_count;
    uint64_t tid;    /* that called last */
    uint32_t caller; /* the same as an index, NVT_NONE: nobody did */
};

/* A kernel's name as people write it, once for every name, and the part of it that is the
 * function's. NVT_NO_STRING when out of memory. */
uint32_t nvt_device_full_name(const struct nvt_device_chunk *chunk, uint32_t mangled);
uint32_t nvt_device_short_name(const struct nvt_device_chunk *chunk, uint32_t full);

/* A call's name without the version that CUPTI adds to it. NVT_NO_STRING when out of memory. */
uint32_t nvt_device_call_name(const struct nvt_device_chunk *chunk, uint32_t name);

/* A thread known by its tid only, until all threads are. UINT32_MAX when out of memory. */
uint32_t nvt_device_caller(const struct nvt_device_chunk *chunk, uint64_t tid);

/*
 * Kernels and calls, which most rows are, as long as nothing is unusual about them: the reader
 * stands then behind the last of them, and what comes is to be read field by field. 0, or -1 when
 * out of memory.
 */
int nvt_device_plain_rows(struct nvt_device_chunk *chunk, struct nvt_device_reader *rows);

/* The same into lanes. */
int nvt_device_lane_rows(struct nvt_device_chunk *chunk, struct nvt_device_reader *rows);

/* A row of any kind into the model, and into lanes. 0, or -1 when out of memory. */
int nvt_device_read_row(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);
int nvt_device_lane_row(const struct nvt_device_chunk *chunk, const struct nvt_device_row *row);

/* A row that is being read. */
struct nvt_device_fields {
    const uint8_t *at;   /* NULL: cut */
    const uint8_t *stop; /* of the row */
    const uint8_t *end;  /* of the chunk */
    int has_pext;        /* of nvt_varint_take */
};

/* Reads beyond the row are found out later: it is quicker where there are bytes left. */
static inline uint64_t nvt_device_field(struct nvt_device_fields *fields)
{
    uint64_t value = 0;
    if (fields->at)
        fields->at = nvt_varint_take(fields->at, fields->end, &value, fields->has_pext);
    return value;
}

/* What all of them begin with. 0: the row has not got that much, or no times. */
struct nvt_device_times {
    uint64_t start, end, correlation;
};

static inline struct nvt_device_times nvt_device_times(struct nvt_device_fields *fields,
                                                       uint64_t last_start)
{
    struct nvt_device_times times;
    times.start = last_start + (uint64_t)nvt_unzigzag(nvt_device_field(fields));
    times.end = times.start + (uint64_t)nvt_unzigzag(nvt_device_field(fields));
    times.correlation = nvt_device_field(fields);
    return times;
}

#endif
