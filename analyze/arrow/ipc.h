/*
 * Arrow IPC files (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format), of one record batch: what nvtally's
 * streams (arrow.h) hand out, written as it stands in memory. Readers map it.
 *
 * Columns are numbers ("c", "C", "s", "S", "i", "I", "l", "L", "g") or texts ("U") in a dictionary of 32-bit indices.
 */
#ifndef NVT_ARROW_IPC_H
#define NVT_ARROW_IPC_H

#include <stdio.h>

#include "arrow.h"

/* Which of a batch's columns and rows are written. */
struct nvt_arrow_choice {
    int64_t skipped;     /* this column is not; -1: all are */
    const int64_t *rows; /* `count` of them, in this order; NULL: all */
    int64_t count;
};

/* Write a file. 0, or -1: out of memory, another kind of column, or `out` failed (errno). */
int nvt_arrow_write(FILE *out, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                    const struct nvt_arrow_choice *choice);

#endif
