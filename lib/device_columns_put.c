/*
 * Writing device rows as columns. Rows are gone through twice: to see what each column takes in each
 * encoding, and to put their values where those of the columns go. Most fields of a row are those of
 * the row of the same kind before it, and its last bytes then are the same bytes: only what is in
 * front of these is decoded, and kept for the second time.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "device_columns.h"
#include "grow.h"

/* A column in the making: what it takes, and where it goes. */
struct making {
    struct nvt_packing_choice is;
    size_t at; /* in the buffer */
};

struct group {
    uint32_t kind, rows, fields;
    uint32_t taken; /* rows, this time */
    /* The row before: its fields, of which the first `written` are in its bytes. The end is the zigzag
     * difference to the start. */
    uint64_t row[NVT_DEVICE_FIELDS_MAX];
    uint32_t written;
    const uint8_t *body, *end;
    struct making column[NVT_DEVICE_FIELDS_MAX];
    uint32_t varying[NVT_DEVICE_FIELDS_MAX], varying_count; /* columns that rows have bytes in */
};

struct maker {
    struct group groups[NVT_DEVICE_GROUPS];
    uint32_t count;
    /* Of each row: its group << 8 | count of values, and the values of so many fields, from the first,
     * behind which nothing changed. */
    uint64_t *kept;
    size_t kept_count, kept_capacity;
    /* Of the order, if there is one. */
    int has_order;
    uint32_t run_group;
    uint64_t run;
};

/* --- rows, where they differ from the one before ------------------------------------------------- */

struct rows {
    const uint8_t *at, *end;
    uint64_t last_start;
    int has_pext;
};

static int is_timed(const struct group *group)
{
    return group->kind < NVT_DEVICE_TIMED;
}

static struct group *group_of(struct maker *maker, uint64_t kind)
{
    for (uint32_t i = 0; i < maker->count; i++)
        if (maker->groups[i].kind == kind)
            return &maker->groups[i];
    if (maker->count == NVT_DEVICE_GROUPS || kind > UINT32_MAX)
        return NULL;
    maker->groups[maker->count].kind = (uint32_t)kind;
    return &maker->groups[maker->count++];
}

static inline uint64_t eight(const uint8_t *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof(bytes));
    return le64toh(bytes);
}

/* How many bytes at the end of both are the same. */
static inline size_t same_bytes(const uint8_t *a, const uint8_t *a_end, const uint8_t *b,
                                const uint8_t *b_end)
{
    size_t most = (size_t)(a_end - a), same = 0;
    most = (size_t)(b_end - b) < most ? (size_t)(b_end - b) : most;
    while (most - same >= 8) {
        uint64_t differing = eight(a_end - same - 8) ^ eight(b_end - same - 8);
        if (differing)
            return same + (size_t)__builtin_clzll(differing) / 8;
        same += 8;
    }
    while (same < most && a_end[-1 - (ptrdiff_t)same] == b_end[-1 - (ptrdiff_t)same])
        same++;
    return same;
}

/* How many varints end in there. */
static inline uint32_t ends(const uint8_t *at, const uint8_t *end)
{
    uint32_t count = 0;
    for (; end - at >= 8; at += 8)
        count += (uint32_t)(((~eight(at) >> 7 & UINT64_C(0x0101010101010101)) *
                             UINT64_C(0x0101010101010101)) >>
                            56);
    for (; at < end; at++)
        count += *at < 0x80;
    return count;
}

/* Where the fields begin that are the same as in the row before; *count gets how many. */
static inline const uint8_t *same_fields(const struct group *group, const uint8_t *body,
                                         const uint8_t *end, uint32_t *count)
{
    const uint8_t *at = group->taken ? end - same_bytes(body, end, group->body, group->end) : end;
    /* The first of them may be the end of another number. */
    while (at < end && *at >= 0x80)
        at++;
    at += at < end;
    *count = ends(at, end);
    return at;
}

/* Fields up to `stop` into the group's row; it is quicker where there are bytes behind them. Returns how
 * many, or UINT32_MAX: they are none, or too many. */
static inline uint32_t take_fields(struct group *group, const uint8_t *at, const uint8_t *stop,
                                   const uint8_t *end, int has_pext)
{
    uint32_t count = 0;
    while (at && at < stop && count < NVT_DEVICE_FIELDS_MAX)
        at = nvt_varint_take(at, end, &group->row[count++], has_pext);
    return at == stop ? count : UINT32_MAX;
}

/* A row's fields. *changed gets how many of them, from the first, may differ from those before. 0, or
 * -1: they are malformed. */
static int take_row(struct rows *rows, struct group *group, const uint8_t *body, const uint8_t *end,
                    uint32_t *changed)
{
    uint32_t same, count;
    const uint8_t *stop = same_fields(group, body, end, &same);
    count = take_fields(group, body, stop, rows->end, rows->has_pext);
    *changed = count;
    if (!same || count == UINT32_MAX || !count || count + same != group->written) {
        count = take_fields(group, body, end, rows->end, rows->has_pext);
        same = 0;
        if (count == UINT32_MAX)
            return -1;
        memset(group->row + count, 0, (NVT_DEVICE_FIELDS_MAX - count) * sizeof(*group->row));
        *changed = NVT_DEVICE_FIELDS_MAX;
    }
    group->written = count + same;
    group->body = body;
    group->end = end;
    if (is_timed(group) && count) {
        rows->last_start += (uint64_t)nvt_unzigzag(group->row[NVT_ROW_START]);
        group->row[NVT_ROW_START] = rows->last_start;
    }
    /* An end of 0, as the difference 0 would say something else. */
    if (is_timed(group) && group->written <= NVT_ROW_END)
        group->row[NVT_ROW_END] = nvt_zigzag(-(int64_t)group->row[NVT_ROW_START]);
    return 0;
}

/* The next row: 1 with its group, 0 behind the last, -1 where there is none or no room for its kind. */
static int next_row(struct maker *maker, struct rows *rows, struct group **group, uint32_t *changed)
{
    uint64_t kind = 0, size = 0;
    if (rows->at == rows->end)
        return 0;
    const uint8_t *body = nvt_varint_get(rows->at, rows->end, &kind);
    body = body ? nvt_varint_get(body, rows->end, &size) : NULL;
    *group = body && size <= (uint64_t)(rows->end - body) ? group_of(maker, kind) : NULL;
    if (!*group || take_row(rows, *group, body, body + size, changed))
        return -1;
    rows->at = body + size;
    return 1;
}

/* --- what columns take --------------------------------------------------------------------------- */

static void weigh_row(struct group *group, uint32_t changed)
{
    uint32_t count = group->written;
    if (is_timed(group) && count <= NVT_ROW_END)
        count = NVT_ROW_END + 1;
    /* Fields that the rows before did not have. */
    for (; group->fields < count; group->fields++) {
        uint64_t value = group->taken ? 0 : group->row[group->fields];
        nvt_packing_begin(&group->column[group->fields].is, value);
    }
    for (uint32_t i = 0; i < changed && i < group->fields; i++)
        nvt_packing_weigh(&group->column[i].is, group->row[i], group->taken);
    group->taken++;
}

/* Keep a row for the second pass. 0, or -1 when out of memory. */
static int keep_row(struct maker *maker, const struct group *group, uint32_t changed)
{
    if (nvt_reserve(&maker->kept, &maker->kept_capacity,
                    maker->kept_count + NVT_DEVICE_FIELDS_MAX + 1, sizeof(*maker->kept)))
        return -1;
    uint64_t *to = maker->kept + maker->kept_count;
    *to++ = (uint64_t)(group - maker->groups) << 8 | changed;
    memcpy(to, group->row, changed * sizeof(*to));
    maker->kept_count += 1 + changed;
    return 0;
}

static int weigh_rows(struct maker *maker, const uint8_t *bytes, size_t size)
{
    struct rows rows = {bytes, bytes + size, 0, nvt_has_pext()};
    struct group *group;
    uint32_t changed;
    int more;
    while ((more = next_row(maker, &rows, &group, &changed)) > 0) {
        weigh_row(group, changed);
        if (keep_row(maker, group, changed < group->fields ? changed : group->fields))
            return -1;
    }
    return more;
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

/* --- columns ------------------------------------------------------------------------------------- */

/* The directory of a group, with room for its columns. */
static int lay_out(struct group *group, struct nvt_buffer *out)
{
    group->rows = group->taken;
    group->taken = 0;
    memset(group->row, 0, sizeof(group->row));
    if (nvt_buffer_varint(out, group->kind) || nvt_buffer_varint(out, group->rows) ||
        nvt_buffer_varint(out, group->fields))
        return -1;
    for (uint32_t i = 0; i < group->fields; i++) {
        struct making *column = &group->column[i];
        nvt_packing_choose(&column->is, group->rows);
        if (nvt_buffer_varint(out, column->is.bytes << 3 | column->is.encoding) ||
            nvt_buffer_reserve(out, column->is.bytes))
            return -1;
        column->at = out->size;
        out->size += column->is.bytes;
        if (column->is.varies)
            group->varying[group->varying_count++] = i;
    }
    return 0;
}

static inline void put(struct making *column, uint8_t *data, uint64_t value)
{
    column->at = (size_t)(nvt_varint_put(data + column->at, value) - data);
}

static inline void put_planes(struct making *column, uint8_t *data, uint64_t value, size_t rows)
{
    for (unsigned i = 0; i < column->is.planes; i++)
        data[column->at + i * rows] = (uint8_t)(value >> 8 * i);
    column->at++;
}

static inline void put_value(const struct group *group, struct making *column, uint8_t *data,
                             uint64_t value)
{
    if (column->is.encoding == NVT_PACKED_PLAIN) {
        put_planes(column, data, value, group->rows);
    } else if (column->is.encoding == NVT_PACKED_DELTA) {
        put_planes(column, data, nvt_zigzag((int64_t)(value - column->is.last)), group->rows);
        column->is.last = value;
    } else if (value != column->is.last) {
        put(column, data, column->is.last);
        put(column, data, group->taken - column->is.since);
        column->is.last = value;
        column->is.since = group->taken;
    }
}

/* What comes before the first value, and behind the last. */
static void begin_values(struct group *group, uint8_t *data)
{
    for (uint32_t i = 0; i < group->fields; i++) {
        struct making *column = &group->column[i];
        column->is.last = column->is.first;
        column->is.since = 0;
        if (column->is.encoding == NVT_PACKED_CONSTANT || column->is.encoding == NVT_PACKED_DELTA)
            put(column, data, column->is.first);
    }
}

static void end_values(struct group *group, uint8_t *data)
{
    for (uint32_t i = 0; i < group->fields; i++) {
        struct making *column = &group->column[i];
        if (column->is.encoding == NVT_PACKED_RUNS) {
            put(column, data, column->is.last);
            put(column, data, group->rows - column->is.since);
        }
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

static int put_rows(struct maker *maker, struct nvt_buffer *out)
{
    const uint64_t *at = maker->kept, *end = maker->kept + maker->kept_count;
    while (at < end) {
        uint32_t number = (uint32_t)(*at >> 8), changed = *at & 0xff;
        struct group *group = &maker->groups[number];
        memcpy(group->row, at + 1, changed * sizeof(*at));
        at += 1 + changed;
        if (put_order(maker, out, number))
            return -1;
        for (uint32_t i = 0; i < group->varying_count; i++)
            put_value(group, &group->column[group->varying[i]], out->data,
                      group->row[group->varying[i]]);
        group->taken++;
    }
    return maker->has_order ? put_order(maker, out, UINT32_MAX) : 0;
}

static int put_columns(struct maker *maker, struct nvt_buffer *out)
{
    size_t begin = out->size;
    uint64_t count = 0;
    int status = nvt_buffer_varint(out, maker->count);
    for (uint32_t i = 0; i < maker->count && !status; i++) {
        status = lay_out(&maker->groups[i], out);
        count += maker->groups[i].rows;
    }
    if (status || count > (out->size - begin) / 2)
        return -1;
    for (uint32_t i = 0; i < maker->count; i++)
        begin_values(&maker->groups[i], out->data);
    if (put_rows(maker, out))
        return -1;
    for (uint32_t i = 0; i < maker->count; i++)
        end_values(&maker->groups[i], out->data);
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
        status = put_columns(maker, out);
    if (status)
        out->size = before;
    free(maker->kept);
    free(maker);
    return status;
}
