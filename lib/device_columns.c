#include "device_columns.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A varint within the bytes; *at is NULL when there is none. */
static uint64_t number(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    if (*at)
        *at = nvt_varint_get(*at, end, &value);
    return *at ? value : 0;
}

/* Whether runs are of so many rows in all. */
static int are_runs(const uint8_t *at, const uint8_t *end, uint64_t rows)
{
    while (at && at < end) {
        number(&at, end);
        uint64_t count = number(&at, end);
        if (!at || !count || count > rows)
            return 0;
        rows -= count;
    }
    return at && !rows;
}

/* So many planes of as many bytes as there are rows. */
static int open_planes(struct nvt_device_column *column, uint32_t rows)
{
    size_t size = (size_t)(column->end - column->at);
    if (!rows || size % rows || size / rows > sizeof(uint64_t))
        return rows || size ? -1 : 0;
    column->rows = rows;
    column->planes = (uint8_t)(size / rows);
    return 0;
}

static int open_column(struct nvt_device_column *column, uint32_t rows)
{
    switch (column->encoding) {
    case NVT_COLUMN_ZERO:
        return column->at == column->end ? 0 : -1;
    case NVT_COLUMN_CONSTANT:
        column->value = number(&column->at, column->end);
        return column->at == column->end ? 0 : -1;
    case NVT_COLUMN_PLAIN:
        return open_planes(column, rows);
    case NVT_COLUMN_DELTA:
        column->value = number(&column->at, column->end);
        return column->at ? open_planes(column, rows) : -1;
    case NVT_COLUMN_RUNS:
        return are_runs(column->at, column->end, rows) ? 0 : -1;
    default:
        return -1;
    }
}

static const uint8_t *open_group(struct nvt_device_group *group, const uint8_t *at,
                                 const uint8_t *end)
{
    uint64_t kind = number(&at, end), rows = number(&at, end), columns = number(&at, end);
    if (!at || kind > UINT32_MAX || rows > UINT32_MAX || columns > NVT_DEVICE_FIELDS_MAX ||
        (kind < NVT_DEVICE_TIMED && columns <= NVT_ROW_END))
        return NULL;
    *group = (struct nvt_device_group){
        .kind = (uint32_t)kind, .rows = (uint32_t)rows, .columns = (uint32_t)columns};
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t size = number(&at, end);
        if (!at || size >> 3 > (uint64_t)(end - at))
            return NULL;
        group->column[i] = (struct nvt_device_column){
            .at = at, .end = at + (size >> 3), .encoding = (uint8_t)(size & 7)};
        at += size >> 3;
        if (open_column(&group->column[i], (uint32_t)rows))
            return NULL;
    }
    return at;
}

/* Whether every row of every group has its place. */
static int is_order(const struct nvt_device_columns *columns)
{
    const uint32_t groups = columns->groups;
    uint64_t left[NVT_DEVICE_GROUPS] = {0};
    const uint8_t *at = columns->order;
    if (!groups)
        return at == columns->end;
    for (uint32_t i = 0; i < groups; i++)
        left[i] = columns->group[i].rows;
    while (at && at < columns->end) {
        uint64_t value = number(&at, columns->end), run = value / groups, group = value % groups;
        if (!at || !run || run > left[group])
            return 0;
        left[group] -= run;
    }
    for (uint32_t i = 0; i < groups; i++)
        if (left[i])
            return 0;
    return at == columns->end;
}

int nvt_device_columns_open(struct nvt_device_columns *columns, const uint8_t *at,
                            const uint8_t *end)
{
    size_t size = (size_t)(end - at);
    uint64_t groups = number(&at, end);
    columns->groups = 0;
    columns->rows = 0;
    if (!at || groups > NVT_DEVICE_GROUPS)
        return -1;
    while (columns->groups < groups) {
        at = open_group(&columns->group[columns->groups], at, end);
        if (!at)
            return -1;
        columns->rows += columns->group[columns->groups++].rows;
    }
    if (columns->rows > size / 2)
        return -1;
    columns->order = at < end ? at : NULL;
    columns->end = end;
    columns->run = columns->run_left = 0;
    return columns->order && !is_order(columns) ? -1 : 0;
}

/* --- planes --- */

/* Rows put together at once. */
#define TOGETHER 16

#ifdef __SSE2__
static inline __m128i plane(const struct nvt_device_column *column, unsigned i)
{
    return i < column->planes
               ? _mm_loadu_si128((const __m128i *)(column->at + (size_t)i * column->rows))
               : _mm_setzero_si128();
}

/* Four numbers of 32 bits as ones of 64. */
static inline void store_four(uint64_t *values, __m128i low, __m128i high)
{
    _mm_storeu_si128((__m128i *)values, _mm_unpacklo_epi32(low, high));
    _mm_storeu_si128((__m128i *)(values + 2), _mm_unpackhi_epi32(low, high));
}

/* The next rows' lowest four bytes, and their highest. */
static inline void weave(const struct nvt_device_column *column, unsigned from, __m128i *out)
{
    __m128i a = plane(column, from), b = plane(column, from + 1);
    __m128i c = plane(column, from + 2), d = plane(column, from + 3);
    __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
    out[0] = _mm_unpacklo_epi16(ab, cd);
    out[1] = _mm_unpackhi_epi16(ab, cd);
    ab = _mm_unpackhi_epi8(a, b);
    cd = _mm_unpackhi_epi8(c, d);
    out[2] = _mm_unpacklo_epi16(ab, cd);
    out[3] = _mm_unpackhi_epi16(ab, cd);
}

static inline void take_together(struct nvt_device_column *column, uint64_t *values)
{
    __m128i low[4], high[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(),
                               _mm_setzero_si128()};
    weave(column, 0, low);
    if (column->planes > 4)
        weave(column, 4, high);
    for (size_t i = 0; i < 4; i++)
        store_four(values + 4 * i, low[i], high[i]);
    column->at += TOGETHER;
}
#endif

static void take_planes(struct nvt_device_column *column, uint64_t *values, size_t count)
{
#ifdef __SSE2__
    for (; count >= TOGETHER; count -= TOGETHER, values += TOGETHER)
        take_together(column, values);
#endif
    for (; count; count--, column->at++) {
        uint64_t value = 0;
        for (unsigned i = 0; i < column->planes; i++)
            value |= (uint64_t)column->at[(size_t)i * column->rows] << 8 * i;
        *values++ = value;
    }
}

static void take_runs(struct nvt_device_column *column, uint64_t *values, size_t count)
{
    while (count) {
        if (!column->left) {
            column->value = number(&column->at, column->end);
            column->left = number(&column->at, column->end);
        }
        size_t now = column->left < count ? (size_t)column->left : count;
        for (size_t i = 0; i < now; i++)
            values[i] = column->value;
        values += now;
        count -= now;
        column->left -= now;
    }
}

void nvt_device_column_take(struct nvt_device_column *column, uint64_t *values, size_t count)
{
    uint64_t value = column->value;
    switch (column->encoding) {
    case NVT_COLUMN_PLAIN:
        take_planes(column, values, count);
        return;
    case NVT_COLUMN_DELTA:
        take_planes(column, values, count);
        for (size_t i = 0; i < count; i++)
            values[i] = value += (uint64_t)nvt_unzigzag(values[i]);
        column->value = value;
        return;
    case NVT_COLUMN_RUNS:
        take_runs(column, values, count);
        return;
    default:
        for (size_t i = 0; i < count; i++)
            values[i] = value;
    }
}

/* The difference to the start becomes the end. */
static void unfold_end(struct nvt_device_row *row)
{
    if (row->kind < NVT_DEVICE_TIMED)
        row->fields[NVT_ROW_END] =
            row->fields[NVT_ROW_START] + (uint64_t)nvt_unzigzag(row->fields[NVT_ROW_END]);
}

int nvt_device_group_row(struct nvt_device_group *group, struct nvt_device_row *row)
{
    if (group->taken == group->rows)
        return 0;
    group->taken++;
    row->kind = group->kind;
    row->count = group->columns;
    for (uint32_t i = 0; i < group->columns; i++)
        nvt_device_column_take(&group->column[i], &row->fields[i], 1);
    memset(row->fields + group->columns, 0,
           (NVT_DEVICE_FIELDS_MAX - group->columns) * sizeof(*row->fields));
    unfold_end(row);
    return 1;
}

int nvt_device_columns_next(struct nvt_device_columns *columns, struct nvt_device_row *row)
{
    if (columns->order && !columns->run_left && columns->order < columns->end) {
        uint64_t run = number(&columns->order, columns->end);
        columns->run = (uint32_t)(run % columns->groups);
        columns->run_left = (uint32_t)(run / columns->groups);
    }
    if (columns->order) {
        if (!columns->run_left)
            return 0;
        columns->run_left--;
        return nvt_device_group_row(&columns->group[columns->run], row);
    }
    for (; columns->run < columns->groups; columns->run++)
        if (nvt_device_group_row(&columns->group[columns->run], row))
            return 1;
    return 0;
}
