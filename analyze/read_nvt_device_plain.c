/*
 * Kernels and API calls of a DEVICE chunk, straight into the model's columns. Of a kernel's fields
 * the last dozen, its graph and its shape, are the same bytes over and over: they are looked up
 * as they are.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "read_nvt_device_chunk.h"

/* Bytes that are looked up, at most, and places for them: a power of two. */
#define TAIL   32
#define SHAPES 256

struct nvt_device_shape {
    uint64_t bytes[TAIL / 8]; /* zero behind the last */
    uint32_t size;            /* 0: there is none here */
    uint32_t kernel;          /* row of the model */
};

/* The row of kernels with this shape, in the bytes up to the row's end. NVT_NONE: it cannot be
 * told. */
static uint32_t add_shape(const struct nvt_device_chunk *chunk, struct nvt_device_fields fields)
{
    uint64_t of[NVT_KERNEL_FIELDS] = {0};
    fields.end = fields.stop;
    for (size_t i = NVT_OP_GRAPH; i < NVT_KERNEL_FIELDS && fields.at < fields.stop; i++) {
        of[i] = nvt_device_field(&fields);
        if (!fields.at)
            return NVT_NONE;
    }
    const struct nvt_kernel kernel = {.grid_x = (uint32_t)of[NVT_KERNEL_GRID],
                                      .grid_y = (uint32_t)of[NVT_KERNEL_GRID + 1],
                                      .grid_z = (uint32_t)of[NVT_KERNEL_GRID + 2],
                                      .block_x = (uint32_t)of[NVT_KERNEL_BLOCK],
                                      .block_y = (uint32_t)of[NVT_KERNEL_BLOCK + 1],
                                      .block_z = (uint32_t)of[NVT_KERNEL_BLOCK + 2],
                                      .registers = (uint32_t)of[NVT_KERNEL_REGISTERS],
                                      .static_shared = (uint32_t)of[NVT_KERNEL_STATIC_SHARED],
                                      .dynamic_shared = (uint32_t)of[NVT_KERNEL_DYNAMIC_SHARED],
                                      .local_memory = of[NVT_KERNEL_LOCAL],
                                      .graph = of[NVT_OP_GRAPH],
                                      .graph_node = of[NVT_OP_NODE]};
    return nvt_trace_kernel(chunk->trace, &kernel);
}

/* The bytes up to the row's end as numbers, zero behind them: TAIL at most. */
static inline void take_tail(const struct nvt_device_fields *fields, size_t size, uint64_t *bytes)
{
    if (fields->end - fields->at < TAIL) {
        memset(bytes, 0, TAIL);
        memcpy(bytes, fields->at, size);
        return;
    }
    /* All of them, as a copy of unknown length takes longer. */
    memcpy(bytes, fields->at, TAIL);
    for (size_t i = 0; i < TAIL / 8; i++) {
        size_t left = size > i * 8 ? size - i * 8 : 0;
        uint64_t mask = left < 8 ? (UINT64_C(1) << left * 8) - 1 : UINT64_MAX;
        uint64_t bits = le64toh(bytes[i]) & mask;
        bytes[i] = htole64(bits);
    }
}

static uint32_t shape_of(const struct nvt_device_chunk *chunk,
                         const struct nvt_device_fields *fields)
{
    uint64_t bytes[TAIL / 8];
    size_t size = (size_t)(fields->stop - fields->at);
    if (!size || size > TAIL)
        return NVT_NONE;
    take_tail(fields, size, bytes);
    uint64_t hash = bytes[0] * UINT64_C(0x9E3779B97F4A7C15) ^
                    bytes[1] * UINT64_C(0xBF58476D1CE4E5B9) ^
                    (bytes[2] + bytes[3]) * UINT64_C(0x94D049BB133111EB);
    struct nvt_device_shape *shape = &chunk->devices->shapes[(hash ^ hash >> 32) % SHAPES];
    if (shape->size == size && shape->bytes[0] == bytes[0] && shape->bytes[1] == bytes[1] &&
        shape->bytes[2] == bytes[2] && shape->bytes[3] == bytes[3])
        return shape->kernel;
    uint32_t kernel = add_shape(chunk, *fields);
    if (kernel != NVT_NONE) {
        memcpy(shape->bytes, bytes, sizeof(bytes));
        shape->size = (uint32_t)size;
        shape->kernel = kernel;
    }
    return kernel;
}

/* Names of a kernel; 0: out of memory, or it has none. */
static const struct nvt_device_name *kernel_name(struct nvt_device_chunk *chunk, uint64_t number)
{
    if (number >= chunk->name_count)
        return NULL;
    struct nvt_device_name *known = &chunk->known[number];
    if (known->full == NVT_NO_STRING) {
        known->full = nvt_device_full_name(chunk, chunk->names[number]);
        if (known->full != NVT_NO_STRING)
            known->part = nvt_device_short_name(chunk, known->full);
    }
    return known->full == NVT_NO_STRING || known->part == NVT_NO_STRING ? NULL : known;
}

/* A zero is there already, and writing it would take memory for it. */
#define PUT(column, value)                                                                         \
    if (value)                                                                                     \
    (column) = (value)

/* Returns the start of the row, 0: it is to be read field by field. */
static uint64_t take_kernel(struct nvt_device_chunk *chunk, struct nvt_device_fields *fields,
                            uint64_t last_start)
{
    struct nvt_ops *ops = &chunk->trace->ops;
    struct nvt_device_times times = nvt_device_times(fields, last_start);
    uint64_t number = nvt_device_field(fields);
    uint32_t device = (uint32_t)nvt_device_field(fields),
             context = (uint32_t)nvt_device_field(fields);
    uint32_t stream = (uint32_t)nvt_device_field(fields);
    if (!fields->at || fields->at > fields->stop || !times.start || !times.end)
        return 0;
    const struct nvt_device_name *name = kernel_name(chunk, number);
    uint32_t shape = name ? shape_of(chunk, fields) : NVT_NONE, row = ops->count;
    if (shape == NVT_NONE ||
        (row == ops->capacity && nvt_op_reserve(chunk->trace, (uint64_t)row + 1)))
        return 0;
    ops->start[row] = (int64_t)times.start;
    ops->end[row] = (int64_t)times.end;
    PUT(ops->process[row], chunk->owner);
    PUT(ops->device[row], device);
    PUT(ops->context[row], context);
    PUT(ops->stream[row], stream);
    PUT(ops->correlation[row], times.correlation);
    /* The call, the thread and the launch are found out at the end. */
    ops->name[row] = name->full;
    ops->short_name[row] = name->part;
    PUT(ops->detail[row], shape);
    ops->count++;
    return times.start;
}

static uint64_t take_call(struct nvt_device_chunk *chunk, struct nvt_device_fields *fields,
                          uint64_t last_start)
{
    struct nvt_apis *apis = &chunk->trace->apis;
    struct nvt_device_times times = nvt_device_times(fields, last_start);
    uint64_t class = nvt_device_field(fields), number = nvt_device_field(fields),
             tid = nvt_device_field(fields);
    int32_t result = (int32_t)nvt_device_field(fields);
    if (!fields->at || fields->at > fields->stop || !times.start || !times.end ||
        number >= chunk->name_count)
        return 0;
    struct nvt_device_name *name = &chunk->known[number];
    if (name->call == NVT_NO_STRING)
        name->call = nvt_device_call_name(chunk, chunk->names[number]);
    if (chunk->caller == NVT_NONE || chunk->tid != tid) {
        chunk->caller = nvt_device_caller(chunk, tid);
        chunk->tid = tid;
    }
    uint32_t row = apis->count;
    if (name->call == NVT_NO_STRING || chunk->caller == NVT_NONE ||
        (row == apis->capacity && nvt_api_reserve(chunk->trace, (uint64_t)row + 1)))
        return 0;
    apis->start[row] = (int64_t)times.start;
    apis->end[row] = (int64_t)times.end;
    apis->thread[row] = chunk->caller;
    PUT(apis->correlation[row], times.correlation);
    apis->name[row] = name->call;
    PUT(apis->result[row], result);
    PUT(apis->class[row], class == NVT_CALL_DRIVER ? NVT_API_DRIVER : NVT_API_RUNTIME);
    apis->count++;
    return times.start;
}

int nvt_device_plain_rows(struct nvt_device_chunk *chunk, struct nvt_device_reader *rows)
{
    if (!chunk->devices->shapes)
        chunk->devices->shapes = calloc(SHAPES, sizeof(*chunk->devices->shapes));
    if (!chunk->devices->shapes)
        return -1;
    while (rows->end - rows->at > 2) {
        uint8_t kind = rows->at[0], size = rows->at[1];
        struct nvt_device_fields fields = {rows->at + 2, rows->at + 2 + size, rows->end, 0};
        /* A length of one byte, within the chunk. */
        if (size >= 0x80 || size > rows->end - rows->at - 2)
            break;
        uint64_t start = kind == NVT_DEVICE_KERNEL ? take_kernel(chunk, &fields, rows->last_start)
                         : kind == NVT_DEVICE_API  ? take_call(chunk, &fields, rows->last_start)
                                                   : 0;
        if (!start)
            break;
        rows->last_start = start;
        rows->at = fields.stop;
    }
    return 0;
}
