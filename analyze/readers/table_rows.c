/*
 * Rows of files of tables, unpacked into their places, on several threads if there are many.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/packed.h"
#include "../model/layout.h"
#include "../model/parallel.h"
#include "tables.h"

#define BLOCK 1024u /* values that are unpacked at once */

/* The rows that a column can refer to: of tables in front of its own in the file. */
static uint64_t rows_before(const struct nvt_tables_reading *reading, uint32_t table,
                            enum nvt_table_number target)
{
    for (uint32_t i = 0; i < table; i++)
        if (reading->tables[i].is == &nvt_layout()[target])
            return reading->tables[i].rows;
    return 0;
}

/* --- rows --------------------------------------------------------------------------------------- */

/* Rows of a column being unpacked. */
struct filling {
    const struct nvt_tables_reading *reading;
    const struct nvt_file_table *table;
    const struct nvt_file_column *column;
    uint32_t row, count; /* of the table */
    uint64_t *values;
};

/* Whether all values may be there. */
static int are_right(const struct filling *filling)
{
    const struct nvt_file_column *column = filling->column;
    const uint64_t *values = filling->values, most = column->most;
    const int none = column->is->meaning == NVT_MEANS_ROW_OR_NONE;
    const int own = &nvt_layout()[column->is->target] == filling->table->is;
    int wrong = 0;
    switch (column->is->meaning) {
    case NVT_MEANS_SIGNED:
        for (uint32_t i = 0; column->is->width == 4 && i < filling->count; i++)
            wrong |= values[i] != (uint64_t)(int64_t)(int32_t)values[i];
        break;
    case NVT_MEANS_TIME:
    case NVT_MEANS_TIME_OR_NONE:
        for (uint32_t i = 0; i < filling->count; i++)
            wrong |= !nvt_layout_is_time(column->is, values[i]);
        break;
    case NVT_MEANS_REAL:
        for (uint32_t i = 0; i < filling->count; i++)
            wrong |= !nvt_bits_are_finite(values[i]);
        break;
    case NVT_MEANS_ROW_AND_1: /* of its own table a lower one */
        for (uint32_t i = 0; i < filling->count; i++)
            wrong |= values[i] > (own ? filling->row + (uint64_t)i : most);
        break;
    case NVT_MEANS_TEXT:
    case NVT_MEANS_ROW:
    case NVT_MEANS_ROW_OR_NONE:
        for (uint32_t i = 0; i < filling->count; i++)
            wrong |= values[i] >= most && !(none && values[i] == NVT_NONE);
        break;
    default:
        for (uint32_t i = 0; i < filling->count; i++)
            wrong |= values[i] > most;
    }
    return !wrong;
}

static void add_base(const struct filling *filling)
{
    const struct nvt_file_column *base = &filling->table->columns[filling->column->base - 1];
    const int64_t *from =
        nvt_layout_values(filling->reading->trace, filling->table->is, base->number);
    for (uint32_t i = 0; i < filling->count; i++)
        filling->values[i] =
            (uint64_t)from[filling->row + i] + (uint64_t)nvt_unzigzag(filling->values[i]);
}

static void store(const struct filling *filling)
{
    char *to =
        nvt_layout_values(filling->reading->trace, filling->table->is, filling->column->number);
    const uint32_t *texts = filling->reading->strings.ids;
    const uint64_t *values = filling->values;
    const uint32_t width = filling->column->is->width, count = filling->count;
    to += (size_t)filling->row * width;
    if (filling->column->is->meaning == NVT_MEANS_TEXT && !filling->reading->is_same_text)
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)(void *)to)[i] = texts[values[i]];
    else if (width == 8)
        memcpy(to, values, count * sizeof(*values));
    else if (width == 4)
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)(void *)to)[i] = (uint32_t)values[i];
    else if (width == 2)
        for (uint32_t i = 0; i < count; i++)
            ((uint16_t *)(void *)to)[i] = (uint16_t)values[i];
    else
        for (uint32_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = (uint8_t)values[i];
}

/* 0, or -1: a value is one that may not be there. */
static int fill_column(struct filling filling, struct nvt_packed *packed, uint32_t rows)
{
    uint64_t values[BLOCK];
    const uint32_t end = filling.row + rows;
    filling.values = values;
    for (; filling.row < end; filling.row += filling.count) {
        filling.count = end - filling.row < BLOCK ? end - filling.row : BLOCK;
        nvt_packed_take(packed, values, filling.count);
        if (filling.column->base)
            add_base(&filling);
        if (!are_right(&filling))
            return -1;
        /* Zeros are there already. */
        if (packed->encoding != NVT_PACKED_ZERO || filling.column->base ||
            filling.column->is->meaning == NVT_MEANS_TEXT)
            store(&filling);
    }
    return 0;
}

/* A kernel's is a row of kernels, a copy's one of migrations. */
static int are_details(const struct nvt_tables_reading *reading, uint32_t table, uint32_t row,
                       uint32_t rows)
{
    const struct nvt_ops *ops = &reading->trace->ops;
    uint64_t kernels = rows_before(reading, table, NVT_TABLE_kernels);
    uint64_t migrations = rows_before(reading, table, NVT_TABLE_migrations);
    int wrong = 0;
    for (uint32_t i = row; i < row + rows; i++) {
        uint64_t most = ops->kind[i] == NVT_OP_KERNEL   ? kernels
                        : ops->kind[i] == NVT_OP_MEMCPY ? migrations
                                                        : 0;
        wrong |= ops->detail[i] != NVT_NONE && ops->detail[i] >= most;
    }
    return !wrong;
}

/* 0, or -1: the chunk is malformed. */
static int fill_rows(const struct nvt_tables_reading *reading, const struct nvt_file_part *part,
                     const uint8_t *payload)
{
    const struct nvt_file_table *table = &reading->tables[part->table];
    struct nvt_cursor cursor = {payload, payload + part->header.raw_size};
    const uint32_t row = (uint32_t)part->header.first, rows = part->header.count;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct nvt_file_column *column = &table->columns[i];
        uint64_t size = nvt_cursor_varint(&cursor);
        const uint8_t *bytes = nvt_cursor_bytes(&cursor, size >> 3);
        struct nvt_packed packed;
        if (!bytes || nvt_packed_open(&packed, bytes, bytes + (size >> 3), size & 7, rows))
            return -1;
        if (column->is &&
            fill_column((struct filling){reading, table, column, row, 0, NULL}, &packed, rows))
            return -1;
    }
    return table->is == &nvt_layout()[NVT_TABLE_ops] &&
                   !are_details(reading, part->table, row, rows)
               ? -1
               : 0;
}

static void note_damage(struct nvt_tables_reading *reading, size_t part, int no_memory,
                        const struct nvt_error *err)
{
    pthread_mutex_lock(&reading->lock);
    if (part < reading->damaged) {
        reading->damaged = part;
        reading->err = *err;
    }
    reading->no_memory |= no_memory;
    pthread_mutex_unlock(&reading->lock);
}

static void fill_parts(void *context, size_t worker)
{
    struct nvt_tables_reading *reading = context;
    struct nvt_chunk_memory memory = {0};
    const uint8_t *payload;
    size_t i;
    (void)worker;
    while ((i = __atomic_fetch_add(&reading->next, 1, __ATOMIC_RELAXED)) < reading->part_count) {
        const struct nvt_file_part *part = &reading->parts[i];
        struct nvt_error err = NVT_ERROR_INIT;
        errno = 0;
        if (!reading->tables[part->table].is)
            continue;
        if (nvt_trace_file_load(reading->file, part->offset, &part->header, &memory, &payload,
                                &err))
            note_damage(reading, i, errno == ENOMEM, &err);
        else if (fill_rows(reading, part, payload)) {
            nvt_fail_at(&err, reading->trace->path, part->offset, "rows of %s are malformed",
                        reading->tables[part->table].is->name);
            note_damage(reading, i, 0, &err);
        }
    }
    nvt_chunk_memory_free(&memory);
}

/* What a column may hold, where all rows are known that there are. Whether zero is among it, which a row has that the
 * file has no column for. */
static int set_most(const struct nvt_tables_reading *reading, uint32_t table,
                    struct nvt_file_column *column)
{
    const struct nvt_layout_table *is = reading->tables[table].is;
    const struct nvt_layout_column *layout = &is->columns[column->number];
    uint64_t rows = rows_before(reading, table, layout->target);
    switch (layout->meaning) {
    case NVT_MEANS_NUMBER:
        column->most = layout->width < 8 ? (UINT64_C(1) << 8 * layout->width) - 1 : UINT64_MAX;
        if (nvt_layout_most(is, column->number) < column->most)
            column->most = nvt_layout_most(is, column->number);
        break;
    case NVT_MEANS_DETAIL:
        column->most = UINT32_MAX;
        break;
    case NVT_MEANS_TEXT:
        rows = reading->strings.count;
        /* fall through */
    case NVT_MEANS_ROW:
    case NVT_MEANS_ROW_OR_NONE:
        column->most = rows;
        return rows > 0;
    case NVT_MEANS_ROW_AND_1:
        column->most = rows;
        break;
    default:
        column->most = UINT64_MAX;
    }
    return 1;
}

/* Room for a table's rows, and what they may hold. 0, 1: it cannot have rows, -1: no memory. */
static int prepare_table(struct nvt_tables_reading *reading, uint32_t number)
{
    struct nvt_file_table *table = &reading->tables[number];
    uint8_t known[NVT_TABLE_COLUMNS_MOST] = {0};
    if (!table->is || !table->rows)
        return 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->columns[i].is) {
            known[table->columns[i].number] = 1;
            set_most(reading, number, &table->columns[i]);
        }
    for (uint32_t i = 0; i < table->is->count; i++) {
        struct nvt_file_column absent = {.number = i};
        if (!known[i] && !set_most(reading, number, &absent))
            return 1;
    }
    return table->is->reserve(reading->trace, table->rows) ? -1 : 0;
}

static void set_rows(struct nvt_tables_reading *reading)
{
    for (uint32_t i = 0; i < reading->table_count; i++)
        if (reading->tables[i].is)
            nvt_layout_set_rows(reading->trace, reading->tables[i].is, reading->tables[i].rows);
}

/* What was read in front of a damaged part. */
static void cut_at(struct nvt_tables_reading *reading, size_t part)
{
    if (part >= reading->part_count)
        return;
    reading->tables[reading->parts[part].table].rows = (uint32_t)reading->parts[part].header.first;
    for (uint32_t i = reading->parts[part].table + 1; i < reading->table_count; i++)
        reading->tables[i].rows = 0;
}

int nvt_tables_fill(struct nvt_tables_reading *reading, struct nvt_error *err)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < reading->table_count; i++) {
        int status = prepare_table(reading, i);
        if (status > 0)
            return nvt_fail_at(err, reading->trace->path, -1,
                               "is malformed: rows of %s refer to what is not there",
                               reading->tables[i].is->name);
        reading->no_memory |= status < 0;
        rows += reading->tables[i].rows;
    }
    if (reading->no_memory)
        return -1;
    reading->damaged = reading->part_count;
    size_t workers = rows < NVT_BESIDE_FROM ? 1 : nvt_thread_count();
    nvt_parallel(fill_parts, reading, workers);
    cut_at(reading, reading->damaged);
    set_rows(reading);
    /* Whatever the file has of it. */
    reading->trace->domains.process[0] = NVT_NONE;
    reading->trace->domains.name[0] = 0;
    if (!reading->trace->domains.count)
        reading->trace->domains.count = 1;
    return reading->no_memory ? -1 : 0;
}
