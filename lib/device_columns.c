#include "device_columns.h"

#include <stdlib.h>
#include <string.h>

#include "varints.h"

/* --- writing ------------------------------------------------------------------------------------ */

/* A column in the making: what it takes in each encoding, and where it goes. */
struct making {
    uint64_t first, last;
    uint64_t run;                /* of `last`, so far */
    uint64_t plain, delta, runs; /* bytes; runs without the last one */
    int varies;
    enum nvt_device_encoding encoding;
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
    return nvt_varint_length(column->last) + nvt_varint_length(column->run);
}

static inline void weigh(struct making *column, uint64_t value)
{
    column->plain += nvt_varint_length(value);
    if (value == column->last) {
        column->delta++;
        column->run++;
        return;
    }
    column->varies = 1;
    column->delta += nvt_varint_length(nvt_zigzag((int64_t)(value - column->last)));
    column->runs += run_bytes(column);
    column->last = value;
    column->run = 1;
}

/* A field that the rows before did not have. */
static void begin_column(struct group *group, const struct nvt_device_row *row)
{
    struct making *column = &group->column[group->fields];
    uint64_t value = group->rows ? 0 : row->fields[group->fields];
    *column = (struct making){.first = value,
                              .last = value,
                              .run = group->rows,
                              .plain = group->rows,
                              .delta = group->rows + nvt_varint_length(value)};
    group->fields++;
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

static void choose(struct making *column)
{
    uint64_t runs = column->runs + run_bytes(column);
    column->encoding = NVT_COLUMN_PLAIN;
    column->bytes = column->plain;
    if (!column->varies) {
        column->encoding = column->first ? NVT_COLUMN_CONSTANT : NVT_COLUMN_ZERO;
        column->bytes = column->first ? nvt_varint_length(column->first) : 0;
        return;
    }
    if (column->delta < column->bytes) {
        column->encoding = NVT_COLUMN_DELTA;
        column->bytes = column->delta;
    }
    /* Runs are quicker where they are long. */
    if (runs <= column->bytes / 2) {
        column->encoding = NVT_COLUMN_RUNS;
        column->bytes = runs;
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
            choose(column);
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

static inline void put_value(struct making *column, uint8_t *data, uint64_t value)
{
    if (column->encoding == NVT_COLUMN_PLAIN) {
        put(column, data, value);
    } else if (column->encoding == NVT_COLUMN_DELTA) {
        put(column, data, nvt_zigzag((int64_t)(value - column->last)));
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
            put_value(&group->column[i], out->data, row.fields[i]);
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

static int open_column(struct nvt_device_column *column, uint64_t rows)
{
    const uint8_t *at = column->at;
    switch (column->encoding) {
    case NVT_COLUMN_ZERO:
        return at == column->end ? 0 : -1;
    case NVT_COLUMN_CONSTANT:
        column->value = number(&at, column->end);
        return at == column->end ? 0 : -1;
    case NVT_COLUMN_PLAIN:
        return nvt_varints_are(at, column->end, rows) ? 0 : -1;
    case NVT_COLUMN_DELTA:
        column->value = number(&at, column->end);
        column->at = at;
        return at && nvt_varints_are(at, column->end, rows) ? 0 : -1;
    case NVT_COLUMN_RUNS:
        return are_runs(at, column->end, rows) ? 0 : -1;
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
        if (open_column(&group->column[i], rows))
            return NULL;
    }
    return at;
}

/* Whether every row of every group has its place. */
static int is_order(const struct nvt_device_columns *columns)
{
    uint64_t left[NVT_DEVICE_GROUPS];
    const uint8_t *at = columns->order;
    for (uint32_t i = 0; i < columns->groups; i++)
        left[i] = columns->group[i].rows;
    while (at && at < columns->end && columns->groups) {
        uint64_t run = number(&at, columns->end), group = run % columns->groups;
        run /= columns->groups;
        if (!at || !run || run > left[group])
            return 0;
        left[group] -= run;
    }
    for (uint32_t i = 0; i < columns->groups; i++)
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
    columns->has_pext = nvt_has_pext();
    return columns->order && !is_order(columns) ? -1 : 0;
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

void nvt_device_column_take(struct nvt_device_column *column, uint64_t *values, size_t count,
                            int has_pext)
{
    uint64_t value = column->value;
    switch (column->encoding) {
    case NVT_COLUMN_PLAIN:
        column->at = nvt_varints_take(column->at, column->end, values, count, has_pext);
        return;
    case NVT_COLUMN_DELTA:
        column->at = nvt_varints_take(column->at, column->end, values, count, has_pext);
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
        nvt_device_column_take(&group->column[i], &row->fields[i], 1, 0);
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
