/*
 * Rows of Chrome's trace events. Viewers draw the complete events of a row inside each other, and
 * drop one that overlaps another without lying inside it. What would be dropped gets another row.
 */
#ifndef NVT_EXPORT_CHROME_ROWS_H
#define NVT_EXPORT_CHROME_ROWS_H

#include <stdint.h>

#include "../../lib/map.h"

#define NVT_ROWS_NO_TID INT64_MIN
#define NVT_ROWS_MOST   64 /* of a track; what finds none of these free goes to the last */

struct nvt_row {
    int64_t tid;     /* made up, except for most tracks' first */
    int64_t end;     /* of the last event there */
    uint32_t number; /* in its track, from 0 */
    uint32_t next;   /* row of the track, or NVT_MAP_NONE */
};

/* An interval that is open, and the one around it. */
struct nvt_open {
    int64_t end;
    uint32_t outer;
};

/* Zero-initialised it is empty; released with nvt_rows_free. */
struct nvt_rows {
    struct nvt_map tracks; /* key -> first row */
    struct nvt_row *rows;
    uint32_t count;
    struct nvt_map stacks; /* thread -> innermost open interval */
    struct nvt_open *open;
    uint32_t open_count, open_free;
};

void nvt_rows_free(struct nvt_rows *rows);

/*
 * The first row of a track where nothing goes on at `start`; it is taken until `end`. Events of a track come by start.
 * *is_new: whether the row is new; the first one's tid is `tid`, unless that is NVT_ROWS_NO_TID. NULL when out of
 * memory. Good until the next call.
 */
const struct nvt_row *nvt_rows_take(struct nvt_rows *rows, uint64_t track, int64_t tid,
                                    int64_t start, int64_t end, int *is_new);

/*
 * Whether an interval of a thread lies inside those that are open there; it is one of them then.
 * Intervals of a thread come by start, the longer first. 1, 0, or -1 when out of memory.
 */
int nvt_rows_nests(struct nvt_rows *rows, uint32_t thread, int64_t start, int64_t end);

#endif
