/*
 * Rows about devices (device_rows.h) as columns, which is how trace files have them (docs/trace-format.md,
 * DEVICE_COLUMNS): the rows of a kind together, and of these each field for itself. Most fields of kernels and calls
 * stay the same for many rows, or grow a little from row to row, so a column packs into few bytes, and a reader can
 * skip the columns that it does not need.
 *
 * Groups of rows behind each other: varint kind, varint count of rows, varint count of columns, and
 * for each column, field 0 first, varint of bytes << 3 | encoding, then the bytes. Of kinds with
 * times column 0 is the start itself and column 1 the zigzag difference of the end to it. A
 * row's other fields are 0.
 *
 * What stands behind the groups (of which there are as many as the first varint says) is their
 * order, for rows whose order counts across groups: runs, each a varint of rows x groups + group.
 * Without it the groups are to be read one after the other.
 */
#ifndef NVT_DEVICE_COLUMNS_H
#define NVT_DEVICE_COLUMNS_H

#include "buffer.h"
#include "device_rows.h"
#include "packed.h"

/* --- writing --- */

/*
 * Append these rows, the bytes of a batch (nvt_device_batch_rows), as columns. 0, or -1 with *out
 * as it was: out of memory, bytes that are no rows, or rows that columns do not suit (more than
 * NVT_DEVICE_GROUPS kinds, more rows than half of the columns' bytes).
 */
int nvt_device_columns_put(struct nvt_buffer *out, const uint8_t *rows, size_t size);

/* --- reading --- */

#define NVT_DEVICE_GROUPS 32u

struct nvt_device_group {
    uint32_t kind, rows, columns;
    uint32_t taken;                                  /* rows, by nvt_device_group_row */
    struct nvt_packed column[NVT_DEVICE_FIELDS_MAX]; /* those beyond `columns`: all 0 */
};

/* Bytes that somebody else owns. */
struct nvt_device_columns {
    struct nvt_device_group group[NVT_DEVICE_GROUPS];
    uint32_t groups;
    uint64_t rows;              /* of all groups: half as many as there are bytes at most */
    const uint8_t *order, *end; /* NULL: groups one after the other */
    uint32_t run, run_left;     /* group, and rows of it in the order's run */
};

/* Find out what is where. 0, or -1 when anything of it is not as it has to be: what is read
 * afterwards cannot fail. */
int nvt_device_columns_open(struct nvt_device_columns *columns, const uint8_t *at,
                            const uint8_t *end);

/* The next row of a group. 1, or 0 behind the last. */
int nvt_device_group_row(struct nvt_device_group *group, struct nvt_device_row *row);

/* The next row in order. 1, or 0 behind the last. */
int nvt_device_columns_next(struct nvt_device_columns *columns, struct nvt_device_row *row);

#endif
