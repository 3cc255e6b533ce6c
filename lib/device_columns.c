#include "device_columns.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* --- writing ------------------------------------------------------------------------------------ */

/* A column in the making: what it takes in each encoding, and where it goes. */
struct making {
    uint64_t first, last;
    uint64_t run;          /* of `last`, so far */
    uint64_t plain, delta; /* all bits that values and differences have */
    uint64_t runs;         /* bytes, without the last one */
    int varies;
    enum nvt_device_encoding encoding;
    unsigned planes;
    uint64_t bytes;
    size_t at; /* in the buffer */
};

struct group {
    uint32_t kind, rows, fields;
    struct making column[NVT_DEVICE_FIELDS_MAX];
};

struct maker {
    struct group groups[NVT_DEVICE_GROUPS];
    uint32_t count;
    int has_order;
    /* Of the order. */
    uint32_t run_group;
    uint64_t run;
};

static int is_timed(uint32_t kind)
{
    return kind < NVT_DEVICE_TIMED;
}

/* The end becomes the difference to the start. */
static void fold_end(struct nvt_device_row *row)
{
    if (is_timed(row->kind))
        row->fields[NVT_ROW_END] =
            nvt_zigzag((int64_t)(row->fields[NVT_ROW_END] - row->fields[NVT_ROW_START]));
}

static void unfold_end(struct nvt_device_row *row)
{
    if (is_timed(row->kind))
        row->fields[NVT_ROW_END] =
            row->fields[NVT_ROW_START] + (uint64_t)nvt_unzigzag(row->fields[NVT_ROW_END]);
}

static unsigned varint_length(uint64_t value)
{
    return (70u - (unsigned)__builtin_clzll(value | 1)) / 7;
}

/* Bytes that a number with these bits has. */
static unsigned byte_length(uint64_t bits)
{
    return (71u - (unsigned)__builtin_clzll(bits | 1)) / 8;
}

static struct group *group_of(struct maker *maker, uint32_t kind)
{
    for (uint32_t i = 0; i < maker->count; i++)
        if (maker->groups[i].kind == kind)
            return &maker->groups[i];
    if (maker->count == NVT_DEVICE_GROUPS)
        return NULL;
    maker->groups[maker->count].kind = kind;
    return &maker->groups[maker->count++];
}

static uint64_t run_bytes(const struct making *column)
{
    return varint_length(column->last) + varint_length(column->run);
}

static inline void weigh(struct making *column, uint64_t value)
{
    if (value == column->last) {
        column->run++;
        return;
    }
    column->varies = 1;
    column->plain |= value;
    column->delta |= nvt_zigzag((int64_t)(value - column->last));
    column->runs += run_bytes(column);
    column->last = value;
    column->run = 1;
}

/* A field that the rows before did not have. */
static void begin_column(struct group *group, const struct nvt_device_row *row)
{
    uint64_t value = group->rows ? 0 : row->fields[group->fields];
    group->column[group->fields++] =
        (struct making){.first = value, .last = value, .run = group->rows, .plain = value};
}

static void weigh_row(struct group *group, const struct nvt_device_row *row)
{
    uint32_t count = row->count;
    /* An end is written with every start, as the difference 0 would say something else. */
    if (is_timed(row->kind) && count <= NVT_ROW_END)
        count = NVT_ROW_END + 1;
    while (group->fields < count)
        begin_column(group, row);
    for (uint32_t i = 0; i < group->fields; i++)
        weigh(&group->column[i], row->fields[i]);
    group->rows++;
}

static int has(const struct maker *maker, uint32_t kind)
{
    for (uint32_t i = 0; i < maker->count; i++)
        if (maker->groups[i].kind == kind)
            return 1;
    return 0;
}

/* A pool's size is that after the allocation before; a wait's device is found by its context. */
static int needs_order(const struct maker *maker)
{
    return (has(maker, NVT_DEVICE_MEMORY) && has(maker, NVT_DEVICE_POOL)) ||
           (has(maker, NVT_DEVICE_CONTEXT) && has(maker, NVT_DEVICE_SYNC));
}

static int weigh_rows(struct maker *maker, const uint8_t *rows, size_t size)
{
    struct nvt_device_reader reader = {rows, rows + size, 0};
    struct nvt_device_row row;
    int more;
    while ((more = nvt_device_reader_next(&reader, &row)) > 0) {
        struct group *group = group_of(maker, row.kind);
        if (!group || group->rows == UINT32_MAX)
            return -1;
        fold_end(&row);
        weigh_row(group, &row);
    }
    return more;
}

static void choose(struct making *column, uint64_t rows)
{
    unsigned plain = byte_length(column->plain), delta = byte_length(column->delta);
    uint64_t runs = column->runs + run_bytes(column);
    if (!column->varies) {
        column->encoding = column->first ? NVT_COLUMN_CONSTANT : NVT_COLUMN_ZERO;
        column->bytes = column->first ? varint_length(column->first) : 0;
        return;
    }
    column->encoding = delta < plain ? NVT_COLUMN_DELTA : NVT_COLUMN_PLAIN;
    column->planes = delta < plain ? delta : plain;
    column->bytes = rows * column->planes;
    if (runs <= column->bytes / 2) {
        column->encoding = NVT_COLUMN_RUNS;
        column->bytes = runs;
    } else if (delta < plain) {
        column->bytes += varint_length(column->first);
    }
}

/* The directory, with room for all columns. */
static int lay_out(struct maker *maker, struct nvt_buffer *out)
{
    if (nvt_buffer_varint(out, maker->count))
        return -1;
    for (uint32_t i = 0; i < maker->count; i++) {
        struct group *group = &maker->groups[i];
        if (nvt_buffer_varint(out, group->kind) || nvt_buffer_varint(out, group->rows) ||
            nvt_buffer_varint(out, group->fields))
            return -1;
        for (uint32_t k = 0; k < group->fields; k++) {
            struct making *column = &group->column[k];
            choose(column, group->rows);
            if (nvt_buffer_varint(out, column->bytes << 3 | column->encoding) ||
                nvt_buffer_reserve(out, column->bytes))
                return -1;
            column->at = out->size;
            out->size += column->bytes;
        }
    }
    return 0;
}

static inline void put(struct making *column, uint8_t *data, uint64_t value)
{
    column->at = (size_t)(nvt_varint_put(data + column->at, value) - data);
}

static inline void put_planes(struct making *column, uint8_t *data, uint64_t value, uint64_t rows)
{
    for (unsigned i = 0; i < column->planes; i++)
        data[column->at + i * rows] = (uint8_t)(value >> 8 * i);
    column->at++;
}

static inline void put_value(struct making *column, uint8_t *data, uint64_t value, uint64_t rows)
{
    if (column->encoding == NVT_COLUMN_PLAIN) {
        put_planes(column, data, value, rows);
    } else if (column->encoding == NVT_COLUMN_DELTA) {
        put_planes(column, data, nvt_zigzag((int64_t)(value - column->last)), rows);
        column->last = value;
    } else if (column->encoding == NVT_COLUMN_RUNS) {
        if (value == column->last) {
            column->run++;
            return;
        }
        put(column, data, column->last);
        put(column, data, column->run);
        column->last = value;
        column->run = 1;
    }
}

/* What comes before the first value, and behind the last. */
static void begin_values(struct making *column, uint8_t *data)
{
    column->last = column->first;
    column->run = 0;
    if (column->encoding == NVT_COLUMN_CONSTANT || column->encoding == NVT_COLUMN_DELTA)
        put(column, data, column->first);
}

static void end_values(struct making *column, uint8_t *data)
{
    if (column->encoding == NVT_COLUMN_RUNS) {
        put(column, data, column->last);
        put(column, data, column->run);
    }
}

static int put_order(struct maker *maker, struct nvt_buffer *out, uint32_t group)
{
    if (!maker->has_order || (group == maker->run_group && maker->run)) {
        maker->run++;
        return 0;
    }
    int status =
        maker->run ? nvt_buffer_varint(out, maker->run * maker->count + maker->run_group) : 0;
    maker->run_group = group;
    maker->run = 1;
    return status;
}

static int put_rows(struct maker *maker, struct nvt_buffer *out, const uint8_t *rows, size_t size)
{
    struct nvt_device_reader reader = {rows, rows + size, 0};
    struct nvt_device_row row;
    while (nvt_device_reader_next(&reader, &row) > 0) {
        struct group *group = group_of(maker, row.kind);
        if (!group || put_order(maker, out, (uint32_t)(group - maker->groups)))
            return -1;
        fold_end(&row);
        for (uint32_t i = 0; i < group->fields; i++)
            put_value(&group->column[i], out->data, row.fields[i], group->rows);
    }
    return maker->has_order ? put_order(maker, out, UINT32_MAX) : 0;
}

static int put_columns(struct maker *maker, struct nvt_buffer *out, const uint8_t *rows,
                       size_t size)
{
    size_t begin = out->size;
    uint64_t count = 0;
    if (lay_out(maker, out))
        return -1;
    for (uint32_t i = 0; i < maker->count; i++) {
        count += maker->groups[i].rows;
        for (uint32_t k = 0; k < maker->groups[i].fields; k++)
            begin_values(&maker->groups[i].column[k], out->data);
    }
    if (count > (out->size - begin) / 2 || put_rows(maker, out, rows, size))
        return -1;
    for (uint32_t i = 0; i < maker->count; i++)
        for (uint32_t k = 0; k < maker->groups[i].fields; k++)
            end_values(&maker->groups[i].column[k], out->data);
    return 0;
}

int nvt_device_columns_put(struct nvt_buffer *out, const uint8_t *rows, size_t size)
{
    size_t before = out->size;
    struct maker *maker = calloc(1, sizeof(*maker));
    if (!maker)
        return -1;
    int status = weigh_rows(maker, rows, size);
    maker->has_order = needs_order(maker);
    if (!status)
        status = put_columns(maker, out, rows, size);
    if (status)
        out->size = before;
    free(maker);
    return status;
}

/* --- reading ------------------------------------------------------------------------------------ */

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
