#include "chrome_rows.h"

#include <stdlib.h>

#include "../../lib/grow.h"

/* Of rows that were made up: above the streams' numbers, within the 31 bits that viewers keep. */
#define FIRST_TID (INT64_C(1) << 30)

void nvt_rows_free(struct nvt_rows *rows)
{
    nvt_map_free(&rows->tracks);
    nvt_map_free(&rows->stacks);
    free(rows->rows);
    free(rows->open);
    *rows = (struct nvt_rows){0};
}

const struct nvt_row *nvt_rows_take(struct nvt_rows *rows, uint64_t track, int64_t tid,
                                    int64_t start, int64_t end, int *is_new)
{
    uint32_t *first = nvt_map_at(&rows->tracks, track), at = NVT_MAP_NONE, last = NVT_MAP_NONE;
    *is_new = 0;
    if (!first)
        return NULL;
    for (at = *first; at != NVT_MAP_NONE; at = rows->rows[at].next) {
        struct nvt_row *row = &rows->rows[at];
        if (row->end <= start || row->number + 1 == NVT_ROWS_MOST) {
            row->end = row->end > end ? row->end : end;
            return row;
        }
        last = at;
    }
    at = rows->count;
    if (nvt_grow(&rows->rows, at, sizeof(*rows->rows)))
        return NULL;
    rows->rows[at] = (struct nvt_row){.tid = FIRST_TID + at, .end = end, .next = NVT_MAP_NONE};
    if (last == NVT_MAP_NONE) {
        *first = at;
        if (tid != NVT_ROWS_NO_TID)
            rows->rows[at].tid = tid;
    } else {
        rows->rows[at].number = rows->rows[last].number + 1;
        rows->rows[last].next = at;
    }
    rows->count++;
    *is_new = 1;
    return &rows->rows[at];
}

/* An entry for an open interval: one that was given back, or a new one. */
static uint32_t new_open(struct nvt_rows *rows)
{
    uint32_t at = rows->open_free;
    if (at) {
        rows->open_free = rows->open[at - 1].outer;
        return at - 1;
    }
    if (nvt_grow(&rows->open, rows->open_count, sizeof(*rows->open)))
        return NVT_MAP_NONE;
    return rows->open_count++;
}

int nvt_rows_nests(struct nvt_rows *rows, uint32_t thread, int64_t start, int64_t end)
{
    uint32_t *top = nvt_map_at(&rows->stacks, thread);
    if (!top)
        return -1;
    while (*top != NVT_MAP_NONE && rows->open[*top].end <= start) {
        uint32_t over = *top;
        *top = rows->open[over].outer;
        rows->open[over].outer = rows->open_free;
        rows->open_free = over + 1;
    }
    if (*top != NVT_MAP_NONE && rows->open[*top].end < end)
        return 0;
    uint32_t at = new_open(rows);
    if (at == NVT_MAP_NONE)
        return -1;
    rows->open[at] = (struct nvt_open){.end = end, .outer = *top};
    *top = at;
    return 1;
}
