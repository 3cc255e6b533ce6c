/*
 * A column of numbers as trace files have it (docs/trace-format.md): most columns stay the same for many rows, or grow
 * a little from row to row, and then take few bytes; a reader can skip a column. Numbers have 64 bits. The column's
 * name, row count and encoding are stored outside of it.
 */
#ifndef NVT_PACKED_H
#define NVT_PACKED_H

#include "buffer.h"

/* The varint at *at, which then is behind it; 0, and *at NULL, where there is none or was none before. */
static inline uint64_t nvt_varint_next(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    if (*at)
        *at = nvt_varint_get(*at, end, &value);
    return *at ? value : 0;
}

enum nvt_packing {
    NVT_PACKED_ZERO,     /* all 0; no bytes */
    NVT_PACKED_CONSTANT, /* a varint: what all of them are */
    NVT_PACKED_PLAIN,    /* planes: the lowest byte of each, then the second of each, … */
    NVT_PACKED_DELTA,    /* a varint, then planes: zigzag of the difference to that before it */
    NVT_PACKED_RUNS,     /* for each run varints: value, count */
};

/* --- reading --- */

/* Bytes that somebody else owns, and how far they have been read. */
struct nvt_packed {
    const uint8_t *at, *end;
    uint64_t value; /* constant; that of the run; the one before */
    uint64_t left;  /* of the run */
    uint32_t rows;  /* in each plane */
    uint8_t planes, encoding;
};

/* A column of so many rows. 0, or -1 when anything of it is not as it has to be: what is read
 * afterwards cannot fail. */
int nvt_packed_open(struct nvt_packed *column, const uint8_t *at, const uint8_t *end,
                    unsigned encoding, uint32_t rows);

/* The next `count` values, of which there are so many left. */
void nvt_packed_take(struct nvt_packed *column, uint64_t *values, size_t count);

/* --- writing --- */

/* What values take in each encoding, as they come. */
struct nvt_packing_choice {
    uint64_t first, last;
    uint32_t since;        /* row from which on all have `last` */
    uint64_t plain, delta; /* all bits that values and differences have */
    uint64_t runs;         /* bytes, without the last one; UINT64_MAX: it is no use */
    uint32_t run_count;
    int varies;
    /* When it is chosen: */
    enum nvt_packing encoding;
    unsigned planes;
    uint64_t bytes;
};

/* Runs are not looked at any longer where they are shorter than that, but for so many. */
#define NVT_RUN_LENGTH 4
#define NVT_RUNS_LEAST 16

static inline unsigned nvt_varint_length(uint64_t value)
{
    return (70u - (unsigned)__builtin_clzll(value | 1)) / 7;
}

static inline uint64_t nvt_run_bytes(const struct nvt_packing_choice *column, uint32_t row)
{
    return nvt_varint_length(column->last) + nvt_varint_length(row - column->since);
}

static inline void nvt_packing_begin(struct nvt_packing_choice *column, uint64_t value)
{
    *column = (struct nvt_packing_choice){.first = value, .last = value, .plain = value};
}

/* The value of a row behind the first. */
static inline void nvt_packing_weigh(struct nvt_packing_choice *column, uint64_t value,
                                     uint32_t row)
{
    if (value == column->last)
        return;
    column->varies = 1;
    column->plain |= value;
    column->delta |= nvt_zigzag((int64_t)(value - column->last));
    if (++column->run_count > NVT_RUNS_LEAST + row / NVT_RUN_LENGTH)
        column->runs = UINT64_MAX;
    if (column->runs != UINT64_MAX)
        column->runs += nvt_run_bytes(column, row);
    column->last = value;
    column->since = row;
}

/* The encoding that takes least, of so many rows. */
void nvt_packing_choose(struct nvt_packing_choice *column, uint32_t rows);

/* Append a column: varint of bytes << 3 | encoding, then the bytes. 0, or -1 when out of memory. */
int nvt_packed_put(struct nvt_buffer *out, const uint64_t *values, uint32_t rows);

#endif
