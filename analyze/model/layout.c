#include "layout.h"

#include <math.h>
#include <string.h>

#include "../../lib/clock.h"

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
#define DEFINE_COLUMNS(member, row, columns)                                                       \
    static const struct nvt_layout_column columns_of_##member[] = {columns(COLUMN)};
NVT_TABLES(DEFINE_COLUMNS)

/* Every table begins with its two counts, and its columns follow as they are listed. */
struct table_head {
    uint32_t count, capacity;
};
#define COLUMNS_OF(member) (sizeof(columns_of_##member) / sizeof(columns_of_##member[0]))
#define CHECK_TABLE(member, row, columns)                                                          \
    _Static_assert(sizeof(struct nvt_##member) ==                                                  \
                       sizeof(struct table_head) + COLUMNS_OF(member) * sizeof(void *),            \
                   "columns lie behind each other");
NVT_TABLES(CHECK_TABLE)

#define DESCRIBE(member, row, columns)                                                             \
    {#member, offsetof(struct nvt_trace, member), columns_of_##member, COLUMNS_OF(member),         \
     nvt_##row##_reserve},
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

uint32_t nvt_layout_rows(const struct nvt_trace *trace, const struct nvt_layout_table *table)
{
    struct table_head head;
    memcpy(&head, (const char *)trace + table->at, sizeof(head));
    return head.count;
}

void nvt_layout_set_rows(struct nvt_trace *trace, const struct nvt_layout_table *table,
                         uint32_t rows)
{
    memcpy((char *)trace + table->at, &rows, sizeof(rows));
}

void *nvt_layout_values(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                        uint32_t column)
{
    void *values;
    memcpy(&values,
           (const char *)trace + table->at + sizeof(struct table_head) + column * sizeof(values),
           sizeof(values));
    return values;
}

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
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (&tables[limits[i].table] == table &&
            !strcmp(limits[i].column, table->columns[column].name))
            return limits[i].most;
    return UINT64_MAX;
}

/* --- checking --- */

static int is_finite(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value);
}

int nvt_layout_is_time(const struct nvt_layout_column *column, uint64_t value)
{
    return nvt_clock_within((int64_t)value) == (int64_t)value ||
           (column->meaning == NVT_MEANS_TIME_OR_NONE && (int64_t)value == INT64_MIN);
}

static int is_detail(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t detail = trace->ops.detail[op];
    uint32_t rows = trace->ops.kind[op] == NVT_OP_KERNEL   ? trace->kernels.count
                    : trace->ops.kind[op] == NVT_OP_MEMCPY ? trace->migrations.count
                                                           : 0;
    return detail == NVT_NONE || detail < rows;
}

static int is_right(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                    uint32_t column, uint64_t value, uint32_t row)
{
    const struct nvt_layout_column *is = &table->columns[column];
    uint32_t rows = nvt_layout_rows(trace, &tables[is->target]);
    switch (is->meaning) {
    case NVT_MEANS_NUMBER:
        return value <= nvt_layout_most(table, column);
    case NVT_MEANS_REAL:
        return is_finite(value);
    case NVT_MEANS_TEXT:
        return value < nvt_strings_count(trace->strings);
    case NVT_MEANS_ROW:
        return value < rows;
    case NVT_MEANS_ROW_OR_NONE:
        return value < rows || value == NVT_NONE;
    case NVT_MEANS_ROW_AND_1:
        return value <= (table == &tables[is->target] ? row : rows);
    case NVT_MEANS_DETAIL:
        return is_detail(trace, row);
    case NVT_MEANS_TIME:
    case NVT_MEANS_TIME_OR_NONE:
        return nvt_layout_is_time(is, value);
    default:
        return 1;
    }
}

const char *nvt_layout_check(const struct nvt_trace *trace, const char **column, uint32_t *row)
{
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &tables[i];
        uint32_t rows = nvt_layout_rows(trace, table);
        for (uint32_t k = 0; k < table->count; k++) {
            const char *values = nvt_layout_values(trace, table, k);
            for (uint32_t at = 0; at < rows; at++) {
                uint64_t value;
                nvt_layout_take(&table->columns[k], values + (size_t)at * table->columns[k].width,
                                1, &value);
                if (!is_right(trace, table, k, value, at)) {
                    *column = table->columns[k].name;
                    *row = at;
                    return table->name;
                }
            }
        }
    }
    return NULL;
}
