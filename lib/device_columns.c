#include "device_columns.h"

#include <string.h>

static const uint8_t *open_group(struct nvt_device_group *group, const uint8_t *at,
                                 const uint8_t *end)
{
    uint64_t kind = nvt_varint_next(&at, end), rows = nvt_varint_next(&at, end),
             columns = nvt_varint_next(&at, end);
    if (!at || kind > UINT32_MAX || rows > UINT32_MAX || columns > NVT_DEVICE_FIELDS_MAX ||
        (kind < NVT_DEVICE_TIMED && columns <= NVT_ROW_END))
        return NULL;
    *group = (struct nvt_device_group){
        .kind = (uint32_t)kind, .rows = (uint32_t)rows, .columns = (uint32_t)columns};
    for (uint64_t i = 0; i < columns; i++) {
        uint64_t size = nvt_varint_next(&at, end);
        if (!at || size >> 3 > (uint64_t)(end - at))
            return NULL;
        if (nvt_packed_open(&group->column[i], at, at + (size >> 3), size & 7, (uint32_t)rows))
            return NULL;
        at += size >> 3;
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
        uint64_t value = nvt_varint_next(&at, columns->end), run = value / groups,
                 group = value % groups;
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
    uint64_t groups = nvt_varint_next(&at, end);
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
        nvt_packed_take(&group->column[i], &row->fields[i], 1);
    memset(row->fields + group->columns, 0,
           (NVT_DEVICE_FIELDS_MAX - group->columns) * sizeof(*row->fields));
    unfold_end(row);
    return 1;
}

int nvt_device_columns_next(struct nvt_device_columns *columns, struct nvt_device_row *row)
{
    if (columns->order && !columns->run_left && columns->order < columns->end) {
        uint64_t run = nvt_varint_next(&columns->order, columns->end);
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
