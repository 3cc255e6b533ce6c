#include "tables_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/model/table_file.h"
#include "../lib/trace_file.h"
#include "random_kit.h"

const struct nvt_error tables_no_error = NVT_ERROR_INIT;

static uint64_t state;

/* xorshift64* */
static uint64_t draw(void)
{
    if (!state)
        state = kit_seed(1) | 1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * UINT64_C(2685821657736338717);
}

uint64_t tables_below(uint64_t count)
{
    return draw() % count;
}

/* A value that a column may hold; many are small, the same as others, or as large as can be. */
static uint64_t value_for(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                          uint32_t column, uint32_t row)
{
    const struct nvt_layout_column *is = &table->columns[column];
    uint32_t rows = nvt_layout_rows(trace, &nvt_layout()[is->target]);
    uint64_t most = nvt_layout_most(table, column);
    uint64_t any = tables_below(3) ? tables_below(4) : draw() >> tables_below(64);
    double real = (double)(int64_t)draw() / 1e9;
    switch (is->meaning) {
    case NVT_MEANS_NUMBER:
        return most == UINT64_MAX ? any : tables_below(most + 1);
    case NVT_MEANS_SIGNED:
        return is->width == 8 ? draw() : any;
    case NVT_MEANS_TIME_OR_NONE:
        if (!tables_below(4))
            return (uint64_t)INT64_MIN;
        /* fall through */
    case NVT_MEANS_TIME:
        return (draw() >> (2 + tables_below(60))) * (tables_below(8) ? 1 : UINT64_MAX);
    case NVT_MEANS_REAL:
        memcpy(&any, &real, sizeof(any));
        return any;
    case NVT_MEANS_TEXT:
        return tables_below(nvt_strings_count(trace->strings));
    case NVT_MEANS_ROW:
        return tables_below(rows);
    case NVT_MEANS_ROW_OR_NONE:
        return tables_below(4) ? tables_below(rows) : NVT_NONE;
    case NVT_MEANS_ROW_AND_1:
        return tables_below((&nvt_layout()[is->target] == table ? row : rows) + UINT64_C(1));
    default:
        return 0;
    }
}

void tables_set_value(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                      uint32_t column, uint32_t row, uint64_t value)
{
    char *at = nvt_layout_values(trace, table, column);
    uint32_t width = table->columns[column].width;
    memcpy(at + (size_t)row * width, &value, width); /* little-endian, as the format is */
}

/* Columns that are the same for all rows, or stay the same for long, or jump with each. */
static void fill_column(struct nvt_trace *trace, const struct nvt_layout_table *table,
                        uint32_t column, uint32_t rows)
{
    uint64_t value = 0, often = tables_below(3) ? tables_below(40) + 1 : UINT64_MAX;
    int is_own = table->columns[column].meaning == NVT_MEANS_ROW_AND_1;
    for (uint32_t row = 0; row < rows; row++) {
        if (!row || is_own || tables_below(often) == 0)
            value = value_for(trace, table, column, row);
        tables_set_value(trace, table, column, row, value);
    }
}

static void set_details(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        uint32_t rows = trace->ops.kind[i] == NVT_OP_KERNEL   ? trace->kernels.count
                        : trace->ops.kind[i] == NVT_OP_MEMCPY ? trace->migrations.count
                                                              : 0;
        trace->ops.detail[i] = rows && tables_below(3) ? (uint32_t)tables_below(rows) : NVT_NONE;
    }
}

struct nvt_trace *tables_random_trace(uint32_t rows_most)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("random", "nsys");
    assert_non_null(trace);
    for (unsigned i = 0; i < 40; i++) {
        char text[64];
        int length =
            snprintf(text, sizeof(text), "text %u\n\x01%c of \xc3\xa9", i, i & 1 ? 0 : 'x');
        assert_true(nvt_strings_add(trace->strings, text, (size_t)length) != NVT_NO_STRING);
    }
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++) {
        const struct nvt_layout_table *table = &nvt_layout()[i];
        uint32_t rows = (uint32_t)tables_below(rows_most) + 1;
        assert_int_equal(table->reserve(trace, rows), 0);
        for (uint32_t k = 0; k < table->count; k++)
            if (table->columns[k].meaning != NVT_MEANS_LINKED)
                fill_column(trace, table, k, rows);
        nvt_layout_set_rows(trace, table, rows);
    }
    trace->domains.process[0] = NVT_NONE;
    trace->domains.name[0] = 0;
    set_details(trace);
    trace->origin_ns = (int64_t)draw();
    trace->is_late = (int)tables_below(2);
    trace->is_truncated = (int)tables_below(2);
    nvt_trace_warn(trace, "something is missing");
    nvt_trace_note(trace, "a note");
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

void tables_write_trace(const struct nvt_trace *trace, const char *path)
{
    struct nvt_error err = tables_no_error;
    remove(path);
    if (nvt_tables_write(trace, path, 3, &err))
        fail_msg("%s", err.message);
}
