#include "layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "sort.h"

/* What the types of trace.h mean, and the tables that they refer to. */
#define MEANS_int32_t              NVT_MEANS_SIGNED, 0
#define MEANS_int64_t              NVT_MEANS_SIGNED, 0
#define MEANS_nvt_ns               NVT_MEANS_TIME, 0
#define MEANS_nvt_ns_or_none       NVT_MEANS_TIME_OR_NONE, 0
#define MEANS_uint8_t              NVT_MEANS_NUMBER, 0
#define MEANS_uint32_t             NVT_MEANS_NUMBER, 0
#define MEANS_uint64_t             NVT_MEANS_NUMBER, 0
#define MEANS_double               NVT_MEANS_REAL, 0
#define MEANS_nvt_text             NVT_MEANS_TEXT, 0
#define MEANS_nvt_process_row      NVT_MEANS_ROW, NVT_TABLE_processes
#define MEANS_nvt_process_or_none  NVT_MEANS_ROW_OR_NONE, NVT_TABLE_processes
#define MEANS_nvt_thread_row       NVT_MEANS_ROW, NVT_TABLE_threads
#define MEANS_nvt_thread_or_none   NVT_MEANS_ROW_OR_NONE, NVT_TABLE_threads
#define MEANS_nvt_domain_row       NVT_MEANS_ROW, NVT_TABLE_domains
#define MEANS_nvt_counter_row      NVT_MEANS_ROW, NVT_TABLE_counters
#define MEANS_nvt_collective_and_1 NVT_MEANS_ROW_AND_1, NVT_TABLE_collectives
#define MEANS_nvt_call_frame_and_1 NVT_MEANS_ROW_AND_1, NVT_TABLE_call_frames
#define MEANS_nvt_detail_row       NVT_MEANS_DETAIL, 0
#define MEANS_nvt_linked_row       NVT_MEANS_LINKED, 0
#define MEANS_nvt_linked_count     NVT_MEANS_LINKED, 0
#define MEANS_nvt_linked_ns        NVT_MEANS_LINKED, 0
#define MEANS_nvt_linked_level     NVT_MEANS_LINKED, 0

#define COLUMN(type, field) {#field, sizeof(type), MEANS_##type},
#define DEFINE_COLUMNS(member, row, columns, ...)                                                  \
    static const struct nvt_layout_column columns_of_##member[] = {columns(COLUMN)};
NVT_TABLES(DEFINE_COLUMNS)

/* Every table begins with its two counts, and its columns follow as they are listed. */
struct table_head {
    uint32_t count, capacity;
};
#define COLUMNS_OF(member) NVT_COUNT_OF(columns_of_##member)
#define CHECK_TABLE(member, ...)                                                                   \
    _Static_assert(sizeof(struct nvt_##member) ==                                                  \
                       sizeof(struct table_head) + COLUMNS_OF(member) * sizeof(void *),            \
                   "columns lie behind each other");
NVT_TABLES(CHECK_TABLE)

/* Which of a table's columns it is. */
#define PLACE(member, field)                                                                       \
    (offsetof(struct nvt_##member, field) - sizeof(struct table_head)) / sizeof(void *)
#define TIMES_TIMELESS(member) NVT_TIMELESS, NVT_NONE, NVT_NONE
#define TIMES_MOMENTS(member)  NVT_MOMENTARY, PLACE(member, time), PLACE(member, time)
#define TIMES_SPANS(member)    NVT_SPANS, PLACE(member, start), PLACE(member, end)
#define TIMES_NESTED(member)   NVT_NESTED, PLACE(member, start), PLACE(member, end)
#define OWNER_NOBODY(member)   NVT_NONE
#define OWNER_PROCESS(member)  PLACE(member, process)
#define OWNER_THREAD(member)   PLACE(member, thread)
#define OWNER_COUNTER(member)  PLACE(member, counter)
#define DESCRIBE(member, row, columns, times, owner, extent)                                       \
    {#member,                                                                                      \
     offsetof(struct nvt_trace, member),                                                           \
     columns_of_##member,                                                                          \
     COLUMNS_OF(member),                                                                           \
     nvt_##row##_reserve,                                                                          \
     TIMES_##times(member),                                                                        \
     OWNER_##owner(member),                                                                        \
     NVT_##extent},
static const struct nvt_layout_table tables[NVT_TABLE_COUNT] = {NVT_TABLES(DESCRIBE)};

/* Numbers that analyses take for places in arrays, or for one of two. */
static const struct {
    enum nvt_table_number table;
    const char *column;
    uint64_t most;
} limits[] = {
    {NVT_TABLE_event_costs, "what", NVT_COSTS - 1},
    {NVT_TABLE_event_costs, "ps", NVT_COST_MOST},
    {NVT_TABLE_ranges, "style", NVT_START_END},
    {NVT_TABLE_counters, "values", NVT_COUNTER_SINCE_START},
    {NVT_TABLE_ops, "kind", NVT_OP_MEMSET},
    {NVT_TABLE_apis, "class", NVT_API_OTHER},
    {NVT_TABLE_mpi_calls, "kind", NVT_MPI_KINDS - 1},
    {NVT_TABLE_memory, "kind", NVT_MEMORY_FREE},
};

const struct nvt_layout_table *nvt_layout(void)
{
    return tables;
}

static char *table_of(const struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    return (char *)(uintptr_t)trace + table->at;
}

/* Where a column's pointer is. */
static char *place_of(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                      uint32_t column)
{
    return table_of(trace, table) + sizeof(struct table_head) + column * sizeof(void *);
}

uint32_t nvt_layout_rows(const struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    uint32_t rows;
    memcpy(&rows, table_of(trace, table), sizeof(rows));
    return rows;
}

void nvt_layout_set_rows(struct nvt_trace *trace, const struct nvt_layout_table *table,
                         uint32_t rows)
{
    memcpy(table_of(trace, table), &rows, sizeof(rows));
}

void *nvt_layout_values(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                        uint32_t column)
{
    void *values;
    memcpy(&values, place_of(trace, table, column), sizeof(values));
    return values;
}

/* --- times and owners --- */

int64_t *nvt_layout_starts(const struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    return nvt_layout_values(trace, table, table->start);
}

int64_t *nvt_layout_ends(const struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    return nvt_layout_values(trace, table, table->end);
}

int nvt_layout_is_owned_by(const struct nvt_layout_table *table, enum nvt_table_number owner)
{
    return table->owner != NVT_NONE && table->columns[table->owner].target == owner;
}

uint32_t nvt_layout_process(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                            uint32_t row)
{
    const uint32_t *owners = nvt_layout_values(trace, table, table->owner);
    switch (table->columns[table->owner].target) {
    case NVT_TABLE_threads:
        return trace->threads.process[owners[row]];
    case NVT_TABLE_counters:
        return trace->counters.process[owners[row]];
    default:
        return owners[row];
    }
}

int nvt_layout_sort(struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    const uint32_t rows = nvt_layout_rows(trace, table);
    struct nvt_sort_scratch scratch = {0};
    uint32_t *order;
    int status = 0;
    if (nvt_sort_order(nvt_layout_starts(trace, table),
                       table->times == NVT_NESTED ? nvt_layout_ends(trace, table) : NULL, rows,
                       &order))
        return -1;
    if (!order)
        return 0;
    /* Of what was gathered. */
    memcpy(table_of(trace, table) + offsetof(struct table_head, capacity), &rows, sizeof(rows));
    for (uint32_t i = 0; i < table->count; i++)
        status |= nvt_sort_column(place_of(trace, table, i), table->columns[i].width, order, rows,
                                  &scratch);
    nvt_sort_free(&scratch);
    free(order);
    return status;
}

#define KEEP(type)                                                                                 \
    for (uint32_t i = 0; i < rows; i++)                                                            \
        if (place[i] != NVT_NONE)                                                                  \
            ((type *)values)[place[i]] = ((const type *)values)[i];

void nvt_layout_keep(struct nvt_trace *trace, const struct nvt_layout_table *table,
                     const uint32_t *place, uint32_t count)
{
    const uint32_t rows = nvt_layout_rows(trace, table);
    for (uint32_t column = 0; column < table->count; column++) {
        void *values = nvt_layout_values(trace, table, column);
        switch (table->columns[column].width) {
        case 1:
            KEEP(uint8_t)
            break;
        case 2:
            KEEP(uint16_t)
            break;
        case 4:
            KEEP(uint32_t)
            break;
        default:
            KEEP(uint64_t)
        }
    }
    nvt_layout_set_rows(trace, table, count);
}

/* --- numbers --- */

void nvt_layout_take(const struct nvt_layout_column *column, const void *values, uint32_t count,
                     uint64_t *out)
{
    const uint8_t *bytes = values;
    const uint16_t *words = values;
    const uint32_t *halves = values;
    int is_signed = column->meaning == NVT_MEANS_SIGNED;
    switch (column->width) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            out[i] = bytes[i];
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            out[i] = words[i];
        break;
    case 4:
        for (uint32_t i = 0; i < count; i++)
            out[i] = is_signed ? (uint64_t)(int64_t)(int32_t)halves[i] : halves[i];
        break;
    default:
        memcpy(out, values, count * sizeof(*out));
    }
}

uint64_t nvt_layout_most(const struct nvt_layout_table *table, uint32_t column)
{
    for (size_t i = 0; i < NVT_COUNT_OF(limits); i++)
        if (&tables[limits[i].table] == table &&
            !strcmp(limits[i].column, table->columns[column].name))
            return limits[i].most;
    return UINT64_MAX;
}

/* --- checking --- */

static inline int is_time(enum nvt_column_meaning meaning, int64_t value)
{
    return nvt_clock_within(value) == value ||
           (meaning == NVT_MEANS_TIME_OR_NONE && value == INT64_MIN);
}

int nvt_layout_is_time(const struct nvt_layout_column *column, uint64_t value)
{
    return is_time(column->meaning, (int64_t)value);
}

/* All bits that any of a column's numbers has: none of them is larger. Sixteen bytes at a time, as this is done to all of a trace. */
static uint64_t bits_of(const void *values, uint32_t width, uint32_t rows)
{
    const uint8_t *at = values;
    uint64_t bits = 0, others = 0, words[2];
    size_t left = (size_t)rows * width;
    for (; left >= sizeof(words); left -= sizeof(words), at += sizeof(words)) {
        memcpy(words, at, sizeof(words));
        bits |= words[0];
        others |= words[1];
    }
    memset(words, 0, sizeof(words));
    if (left)
        memcpy(words, at, left);
    bits |= others | words[0] | words[1];
    if (width <= 4)
        bits = (bits | bits >> 32) & UINT32_MAX;
    if (width <= 2)
        bits = (bits | bits >> 16) & UINT16_MAX;
    if (width == 1)
        bits = (bits | bits >> 8) & UINT8_MAX;
    return bits;
}

/* Whether any value is wrong is found out without a branch for each; which one it is, only then. */
#define FIND_WRONG(type, is_wrong)                                                                 \
    do {                                                                                           \
        const type *values = nvt_layout_values(trace, table, number);                              \
        int wrong = 0;                                                                             \
        for (uint32_t i = 0; i < rows; i++)                                                        \
            wrong |= is_wrong;                                                                     \
        for (uint32_t i = 0; wrong && i < rows; i++)                                               \
            if (is_wrong)                                                                          \
                return i;                                                                          \
        return rows;                                                                               \
    } while (0)

/* The first row in which a number is larger than that, or how many rows there are. */
static uint32_t find_large(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                           uint32_t number, uint64_t most)
{
    const uint32_t rows = nvt_layout_rows(trace, table), width = table->columns[number].width;
    if (!rows || bits_of(nvt_layout_values(trace, table, number), width, rows) <= most)
        return rows;
    if (width == 1)
        FIND_WRONG(uint8_t, values[i] > most);
    if (width == 4)
        FIND_WRONG(uint32_t, values[i] > most);
    FIND_WRONG(uint64_t, values[i] > most);
}

/* A kernel's is a row of kernels, a copy's one of migrations. */
static uint32_t find_wrong_detail(const struct nvt_trace *trace,
                                  const struct nvt_layout_table *table, uint32_t number)
{
    const uint32_t rows = nvt_layout_rows(trace, table);
    const uint32_t there[4] = {
        [NVT_OP_KERNEL] = trace->kernels.count, [NVT_OP_MEMCPY] = trace->migrations.count};
    const uint8_t *kind = trace->ops.kind;
    FIND_WRONG(uint32_t, (values[i] >= there[kind[i] & 3]) & (values[i] != NVT_NONE));
}

/* The first row of a column that refers to what is not there, or is no time, or is too large; or how many rows there are. */
static uint32_t find_wrong(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                           uint32_t number)
{
    const struct nvt_layout_column *column = &table->columns[number];
    const uint32_t rows = nvt_layout_rows(trace, table);
    const uint32_t there = nvt_layout_rows(trace, &tables[column->target]);
    switch (column->meaning) {
    case NVT_MEANS_NUMBER:
        return find_large(trace, table, number, nvt_layout_most(table, number));
    case NVT_MEANS_REAL:
        FIND_WRONG(uint64_t, !nvt_bits_are_finite(values[i]));
    case NVT_MEANS_TEXT: /* the empty one is always there */
        return find_large(trace, table, number, nvt_strings_count(trace->strings) - 1);
    case NVT_MEANS_ROW:
        return there ? find_large(trace, table, number, there - 1) : 0;
    case NVT_MEANS_ROW_OR_NONE:
        FIND_WRONG(uint32_t, (values[i] >= there) & (values[i] != NVT_NONE));
    case NVT_MEANS_ROW_AND_1:
        if (table != &tables[column->target])
            return find_large(trace, table, number, there);
        FIND_WRONG(uint32_t, values[i] > i);
    case NVT_MEANS_DETAIL:
        return find_wrong_detail(trace, table, number);
    case NVT_MEANS_TIME: /* of 62 bits: the two upmost are the same */
        FIND_WRONG(uint64_t, (int)((values[i] ^ values[i] << 1) >> 63));
    case NVT_MEANS_TIME_OR_NONE:
        FIND_WRONG(int64_t, !is_time(column->meaning, values[i]));
    default:
        return rows;
    }
}

/* Whether nvt_trace_finish is still to make a column. */
static int is_to_come(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                      uint32_t column)
{
    return trace->ops_unlinked && table == &tables[NVT_TABLE_ops] &&
           (column == PLACE(ops, thread) || column == PLACE(ops, launch));
}

int nvt_layout_check_table(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                           const char **column, uint32_t *row)
{
    const uint32_t rows = nvt_layout_rows(trace, table);
    for (uint32_t i = 0; i < table->count; i++) {
        *row = is_to_come(trace, table, i) ? rows : find_wrong(trace, table, i);
        *column = table->columns[i].name;
        if (*row < rows)
            return -1;
    }
    return 0;
}

const char *nvt_layout_check(const struct nvt_trace *trace, const char **column, uint32_t *row)
{
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (nvt_layout_check_table(trace, &tables[i], column, row))
            return tables[i].name;
    return NULL;
}
