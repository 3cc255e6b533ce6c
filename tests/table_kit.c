#include "table_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../lib/render.h"

static const struct nvt_column columns[] = {
    {"Name", NVT_NAMES},
    {"Total (ns)", NVT_NS},
    {"mean", NVT_NS_AVERAGE},
    {"ratio", NVT_REALS("", NVT_SHORTEST)},
    {"steady", "", NVT_BOOL, 0, 0},
    {"PID", NVT_IDS},
};

struct nvt_table *table_new(void)
{
    struct nvt_table *table = nvt_table_new("demo", "A demo", columns, COLUMNS);
    assert_non_null(table);
    return table;
}

void table_add(struct nvt_table *table, const char *name, int64_t total, double mean)
{
    nvt_table_put(table, name, total, mean, mean / 3, total > 1000, 123456);
}

char *table_render_list(const char *format, const struct nvt_tables *tables)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(nvt_format_find(format));
    assert_int_equal(nvt_format_find(format)->render(tables, out), 0);
    fclose(out);
    return text;
}

char *table_render(const char *format, struct nvt_table *table)
{
    struct nvt_tables tables = {.items = &table, .count = 1};
    return table_render_list(format, &tables);
}
