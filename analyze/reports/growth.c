/*
 * growth: what each range, call and device operation costs an iteration over a number that was varied, and how that
 * grows with it (analyze/sweeps/sweeps.h, analyze/sweeps/growth.h); the dearest at the largest number first.
 */
#include "../sweeps/growth.h"

#include <math.h>
#include <stdlib.h>

#include "../sweeps/sweeps.h"
#include "report.h"

enum {
    CONFIGURATION,
    AXIS,
    KIND,
    NAME,
    RUNS,
    STATISTIC,
    LEAST,
    LEAST_NS,
    LARGEST,
    LARGEST_NS,
    ENTRIES,
    SHARE,
    LAW,
    OFF,
    EXPONENT,
    LOW,
    HIGH,
    CHANCE,
    COLUMNS
};

static const struct nvt_column_spec columns[COLUMNS] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [AXIS] = {"axis", "", NVT_TEXT, 0, 0},
    [KIND] = {"kind", "", NVT_TEXT, 0, 0},
    [NAME] = {"name", "", NVT_TEXT, 0, 0},
    [RUNS] = {"runs", "", NVT_INT, 0, 0},
    [STATISTIC] = {"statistic", "", NVT_TEXT, 0, 0},
    [LEAST] = {"least", "", NVT_REAL, NVT_SHORTEST, 0},
    [LEAST_NS] = {"cost at the least", "ns", NVT_REAL, 0, 0},
    [LARGEST] = {"largest", "", NVT_REAL, NVT_SHORTEST, 0},
    [LARGEST_NS] = {"cost at the largest", "ns", NVT_REAL, 0, 0},
    [ENTRIES] = {"entries", "", NVT_REAL, 1, 0},
    [SHARE] = {"of the iteration", "%", NVT_REAL, 1, 0},
    [LAW] = {"growth", "", NVT_TEXT, 0, 0},
    [OFF] = {"off by", "%", NVT_REAL, 1, 0},
    [EXPONENT] = {"exponent", "", NVT_REAL, 2, 0},
    [LOW] = {"low", "", NVT_REAL, 2, 0},
    [HIGH] = {"high", "", NVT_REAL, 2, 0},
    [CHANCE] = {"by noise", "%", NVT_REAL, 2, 0},
};

/* The law that describes it, "not shown" where it does not rise; and its exponent. */
static void put_growth(struct nvt_table *table, size_t row, const struct nvt_sweep *sweep,
                       const struct nvt_sweep_item *item)
{
    const struct nvt_growth *growth = &item->growth;
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    char text[NVT_GROWTH_TEXT];
    if (item->count < 3)
        return;
    if (!law->rises)
        nvt_table_set_text(table, row, LAW, "not shown");
    else if (!growth->is_described)
        nvt_table_set_text(table, row, LAW, "by no law");
    else {
        nvt_table_set_text(table, row, LAW, nvt_growth_text(growth, sweep->axis, text));
        nvt_table_set_real(table, row, OFF, 100 * law->off);
    }
    nvt_table_set_real(table, row, EXPONENT, growth->p);
    if (isfinite(growth->p)) {
        nvt_table_set_real(table, row, LOW, growth->power.low);
        nvt_table_set_real(table, row, HIGH, growth->power.high);
    }
    if (growth->values > 1)
        nvt_table_set_real(table, row, CHANCE, 100 * growth->chance);
}

static void put_item(struct nvt_table *table, const struct nvt_sweep *sweep,
                     const struct nvt_sweep_item *item)
{
    const struct nvt_sweep_value *least = nvt_sweep_least(item);
    const struct nvt_sweep_value *largest = nvt_sweep_largest(item);
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, sweep->where);
    nvt_table_set_text(table, row, AXIS, sweep->axis);
    nvt_table_set_text(table, row, KIND, nvt_sweep_kind_name(item->kind));
    nvt_table_set_text(table, row, NAME, item->name);
    nvt_table_set_int(table, row, RUNS, (int64_t)item->count);
    nvt_table_set_text(table, row, STATISTIC, item->is_mean ? "mean" : "median");
    nvt_table_set_real(table, row, LEAST, least->n);
    nvt_table_set_real(table, row, LEAST_NS, least->ns);
    nvt_table_set_real(table, row, LARGEST, largest->n);
    nvt_table_set_real(table, row, LARGEST_NS, largest->ns);
    nvt_table_set_real(table, row, ENTRIES, largest->count);
    nvt_table_set_real(table, row, SHARE, 100 * nvt_sweep_share(sweep, item));
    put_growth(table, row, sweep, item);
}

static int dearer(const void *left, const void *right)
{
    const struct nvt_sweep_item *const *a = left, *const *b = right;
    const struct nvt_sweep_value *x = nvt_sweep_largest(*a), *y = nvt_sweep_largest(*b);
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : (*a > *b) - (*a < *b);
}

/* Its items, the dearest first, without those of one value. How many these are; SIZE_MAX: out of memory. */
static size_t put_sweep(struct nvt_table *table, const struct nvt_sweep *sweep)
{
    const struct nvt_sweep_item **items = calloc(sweep->count + 1, sizeof(const void *));
    size_t alone = 0;
    if (!items)
        return SIZE_MAX;
    for (size_t i = 0; i < sweep->count; i++)
        items[i] = &sweep->items[i];
    qsort((void *)items, sweep->count, sizeof(const void *), dearer);
    for (size_t i = 0; i < sweep->count; i++)
        if (items[i]->value_count > 1)
            put_item(table, sweep, items[i]);
        else
            alone++;
    free((void *)items);
    return alone;
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_sweeps sweeps = {0};
    size_t alone = 0;
    int status = nvt_sweeps_of(input, NULL, &sweeps, err);
    struct nvt_table *table = status
                                  ? NULL
                                  : nvt_report_table(&nvt_report_growth, input,
                                                     "Cost over the number that was varied", err);
    for (size_t i = 0; i < sweeps.count && table && !status; i++) {
        size_t left = put_sweep(table, &sweeps.items[i]);
        status = left == SIZE_MAX ? nvt_fail(err, "out of memory") : 0;
        alone += left;
    }
    if (table && !status && !nvt_table_rows(table))
        nvt_note(
            input,
            nvt_input_has_part(input)
                ? "note: growth compares whole runs: not parts of them (--filter-nvtx, "
                  "--filter-time)"
                : "note: growth needs three runs with iterations that differ in one number alone");
    else if (table && !status && alone)
        nvt_note(input, "note: %zu name%s of growth occur%s with one value only, and %s left out",
                 alone, alone == 1 ? "" : "s", alone == 1 ? "s" : "", alone == 1 ? "is" : "are");
    for (size_t i = 0; i < sweeps.count && table && !status; i++)
        if (sweeps.items[i].without)
            nvt_note(input,
                     "note: growth is over %s above 0, without %zu run%s of %s with 0 or less",
                     sweeps.items[i].axis, sweeps.items[i].without,
                     sweeps.items[i].without == 1 ? "" : "s", sweeps.items[i].where);
    nvt_sweeps_free(&sweeps);
    if (status) {
        nvt_table_free(table);
        return -1;
    }
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_growth = {
    .name = "growth",
    .about =
        "how costs of ranges, calls and device operations grow with a number, over several runs",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = COLUMNS,
    .make = make,
};
