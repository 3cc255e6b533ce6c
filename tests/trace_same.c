#include "trace_same.h"

#include <stdio.h>
#include <string.h>

#include "../analyze/model/layout.h"

static int is_same_text(const struct nvt_trace *a, uint64_t x, const struct nvt_trace *b,
                        uint64_t y)
{
    size_t x_size, y_size;
    const char *x_text = nvt_strings_get(a->strings, (uint32_t)x, &x_size);
    const char *y_text = nvt_strings_get(b->strings, (uint32_t)y, &y_size);
    return x_size == y_size && !memcmp(x_text, y_text, x_size);
}

/* The row of a column from which on it is not the same, or NVT_NONE. */
static uint32_t find_row(const struct nvt_trace *a, const struct nvt_trace *b,
                         const struct nvt_layout_table *table, uint32_t column, uint64_t values[2])
{
    const struct nvt_layout_column *is = &table->columns[column];
    const char *before = nvt_layout_values(a, table, column);
    const char *after = nvt_layout_values(b, table, column);
    for (uint32_t row = 0; row < nvt_layout_rows(a, table); row++) {
        nvt_layout_take(is, before + (size_t)row * is->width, 1, &values[0]);
        nvt_layout_take(is, after + (size_t)row * is->width, 1, &values[1]);
        if (is->meaning == NVT_MEANS_TEXT ? !is_same_text(a, values[0], b, values[1])
                                          : values[0] != values[1])
            return row;
    }
    return NVT_NONE;
}

static const char *find_in_table(const struct nvt_trace *a, const struct nvt_trace *b,
                                 const struct nvt_layout_table *table, char *text, size_t size)
{
    uint32_t rows = nvt_layout_rows(a, table);
    if (rows != nvt_layout_rows(b, table)) {
        snprintf(text, size, "%s had %u rows, and has %u", table->name, rows,
                 nvt_layout_rows(b, table));
        return text;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t values[2];
        uint32_t row = find_row(a, b, table, i, values);
        if (row == NVT_NONE)
            continue;
        snprintf(text, size, "%s.%s, row %u of %u: 0x%llx is now 0x%llx", table->name,
                 table->columns[i].name, row, rows, (unsigned long long)values[0],
                 (unsigned long long)values[1]);
        return text;
    }
    return NULL;
}

static const char *find_in_lines(const char *name, const char *a, const char *b, char *text,
                                 size_t size)
{
    if (!strcmp(a ? a : "", b ? b : ""))
        return NULL;
    snprintf(text, size, "%s: '%s' is now '%s'", name, a ? a : "", b ? b : "");
    return text;
}

const char *trace_difference(const struct nvt_trace *before, const struct nvt_trace *after,
                             char *text, size_t size)
{
    const char *found = NULL;
    for (size_t i = 0; i < NVT_TABLE_COUNT && !found; i++)
        found = find_in_table(before, after, &nvt_layout()[i], text, size);
    found = found ? found : find_in_lines("format", before->format, after->format, text, size);
    found = found ? found : find_in_lines("warning", before->warning, after->warning, text, size);
    found = found ? found : find_in_lines("notes", before->notes, after->notes, text, size);
    if (!found && before->is_truncated != after->is_truncated)
        found = "one of them is truncated";
    if (!found && (before->origin_ns != after->origin_ns || before->first_ns != after->first_ns ||
                   before->last_ns != after->last_ns || before->levels_ns != after->levels_ns ||
                   before->is_late != after->is_late)) {
        snprintf(text, size, "the extent was %lld to %lld (%lld), and is %lld to %lld (%lld)",
                 (long long)before->first_ns, (long long)before->last_ns,
                 (long long)before->levels_ns, (long long)after->first_ns,
                 (long long)after->last_ns, (long long)after->levels_ns);
        found = text;
    }
    return found;
}
