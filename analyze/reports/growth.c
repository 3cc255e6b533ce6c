/*
 * growth: what each range, call and device operation costs an iteration over a number that was varied, and how that
 * grows with it (analyze/sweeps/sweeps.h, analyze/sweeps/growth.h); the dearest at the largest number first.
 */
#include "../sweeps/growth.h"

#include <math.h>
#include <stdlib.h>

#include "../sweeps/sweeps.h"
#include "report.h"

/* The law that describes it, "not shown" where it does not rise; and its exponent. */
static void put_growth(struct nvt_table *table, const struct nvt_sweep *sweep,
                       const struct nvt_sweep_item *item)
{
    const struct nvt_growth *growth = &item->growth;
    const struct nvt_growth_law *law = nvt_growth_law(growth);
    const int is_described = law->rises && growth->is_described;
    const int has_exponent = isfinite(growth->p) != 0;
    char text[NVT_GROWTH_TEXT];
    nvt_table_more(
        table,
        !law->rises     ? "not shown"
        : !is_described ? "by no law"
                        : nvt_growth_text(growth, sweep->axis, text),
        NVT_IF(is_described, 100 * law->off), growth->p, NVT_IF(has_exponent, growth->power.low),
        NVT_IF(has_exponent, growth->power.high), NVT_IF(growth->values > 1, 100 * growth->chance));
}

static void put_item(struct nvt_table *table, const struct nvt_sweep *sweep,
                     const struct nvt_sweep_item *item)
{
    const struct nvt_sweep_value *least = nvt_sweep_least(item);
    const struct nvt_sweep_value *largest = nvt_sweep_largest(item);
    nvt_table_put(table, sweep->where, sweep->axis, nvt_sweep_kind_name(item->kind), item->name,
                  item->count, item->is_mean ? "mean" : "median", least->n, least->ns, largest->n,
                  largest->ns, largest->count, 100 * nvt_sweep_share(sweep, item));
    if (item->count >= 3)
        put_growth(table, sweep, item);
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

static void note_growth_left_out(const struct nvt_making *making, const struct nvt_sweeps *sweeps,
                                 size_t alone)
{
    if (alone)
        nvt_note(making->input,
                 "note: growth leaves out %zu name%s that occur%s with one value only", alone,
                 alone == 1 ? "" : "s", alone == 1 ? "s" : "");
    for (size_t i = 0; i < sweeps->count; i++)
        if (sweeps->items[i].without)
            nvt_note(
                making->input,
                "note: growth is over %s above 0: it leaves out %zu run%s of %s with 0 or less",
                sweeps->items[i].axis, sweeps->items[i].without,
                sweeps->items[i].without == 1 ? "" : "s", sweeps->items[i].where);
}

static int put_all_growth(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_sweeps sweeps = {0};
    size_t alone = 0;
    int status = nvt_sweeps_of(making->input, NULL, &sweeps, making->err);
    for (size_t i = 0; i < sweeps.count && !status; i++) {
        size_t left = put_sweep(table, &sweeps.items[i]);
        status = left == SIZE_MAX ? -1 : 0;
        alone += left;
    }
    if (!status && !nvt_table_rows(table)) {
        alone = 0;
        nvt_note(
            making->input,
            nvt_input_has_part(making->input)
                ? "note: growth compares whole runs, not parts of them (--filter-nvtx, "
                  "--filter-time)"
                : "note: growth needs three runs with iterations that differ in one number only");
    }
    if (!status)
        note_growth_left_out(making, &sweeps, alone);
    nvt_sweeps_free(&sweeps);
    return status;
}

const struct nvt_report nvt_report_growth = {
    .name = "growth",
    .about = "growth of the cost of ranges, calls and device operations with a number, over "
             "several runs",
    .columns = {{"configuration", NVT_NAMES},
                {"axis", NVT_NAMES},
                {"kind", NVT_NAMES},
                {"name", NVT_NAMES},
                {"runs", NVT_COUNTS},
                {"statistic", NVT_NAMES},
                {"least", NVT_REALS("", NVT_SHORTEST)},
                {"cost at the least", NVT_REALS("ns", 0)},
                {"largest", NVT_REALS("", NVT_SHORTEST)},
                {"cost at the largest", NVT_REALS("ns", 0)},
                {"entries", NVT_REALS("", 1)},
                {"of the iteration", NVT_PERCENT},
                {"growth", NVT_NAMES},
                {"off by", NVT_PERCENT},
                {"exponent", NVT_REALS("", 2)},
                {"low", NVT_REALS("", 2)},
                {"high", NVT_REALS("", 2)},
                {"by noise", NVT_REALS("%", 2)}},
    .title = "Growth of cost with the varied number",
    .of_input = put_all_growth,
};
