#include "compare_rates.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/buckets.h"

#define LEAST       0.05 /* a change of less is none */
#define RATES_SHOWN 3

static const struct {
    enum nvt_count of, to;
    double factor;
    const char *name;
} kinds[] = {
    {NVT_COUNT_INSTRUCTIONS, NVT_COUNT_CYCLES, 1, "instructions per cycle"},
    {NVT_COUNT_CACHE_MISSES, NVT_COUNT_INSTRUCTIONS, 1000,
     "misses of the last cache per 1,000 instructions"},
    {NVT_COUNT_BRANCH_MISSES, NVT_COUNT_INSTRUCTIONS, 1000,
     "mispredicted branches per 1,000 instructions"},
};

/* The rate of each of some calls whose counts are known. Returns how many. */
static size_t values_of(const struct nvt_counted_ranges *counted, const uint32_t *rows,
                        uint32_t count, uint32_t rate, double *values)
{
    size_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *of = counted->all[rows[i]].of;
        if (of[kinds[rate].of] >= 0 && of[kinds[rate].to] > 0)
            values[known++] =
                kinds[rate].factor * (double)of[kinds[rate].of] / (double)of[kinds[rate].to];
    }
    return known;
}

static int add_rate(struct nvt_compared_rates *rates, size_t side, uint32_t name, uint32_t rate,
                    const double *values, size_t count)
{
    if (count < NVT_TYPICAL_LEAST)
        return 0;
    if (nvt_grow(&rates->items, rates->count, sizeof(*rates->items)))
        return -1;
    struct nvt_compared_rate *item = &rates->items[rates->count];
    *item = (struct nvt_compared_rate){.name = name, .rate = rate, .side = (uint32_t)side};
    if (nvt_typical_of_times(values, count, NVT_NO_RANK, &item->typical))
        return -1;
    rates->count += isfinite(item->typical.log) && isfinite(item->typical.error);
    return 0;
}

int nvt_compared_rates_add(struct nvt_compared_rates *rates, size_t side,
                           const struct nvt_counted_ranges *counted)
{
    const struct nvt_trace *trace = counted->ranges.trace;
    const uint32_t count = trace->ranges.count;
    struct nvt_buckets calls = {0};
    uint32_t *names = malloc(((size_t)count + 1) * sizeof(*names));
    double *values = malloc(((size_t)count + 1) * sizeof(*values));
    int status = names && values ? 0 : -1;
    nvt_groups_trace(&rates->names, trace);
    for (uint32_t i = 0; i < count && !status; i++) {
        const uint32_t name = nvt_groups_range(&rates->names, i);
        names[i] = nvt_groups_key(&rates->names, &name, 1);
        status = names[i] == NVT_NONE ? -1 : 0;
    }
    if (!status)
        status = nvt_buckets_make(&calls, names, rates->names.count, NULL, count);
    for (uint32_t name = 0; name < rates->names.count && !status; name++)
        for (uint32_t rate = 0; rate < NVT_COUNT_OF(kinds) && !status; rate++)
            status = add_rate(rates, side, name, rate, values,
                              values_of(counted, &calls.rows[calls.first[name]],
                                        calls.first[name + 1] - calls.first[name], rate, values));
    nvt_buckets_free(&calls);
    free(names);
    free(values);
    return status || nvt_groups_failed(&rates->names) ? -1 : 0;
}

/* --- what differs ------------------------------------------------------------------------------- */

/* The items of a side among those of one range and rate, which begin at `first`, by side; *count gets how many. */
static const struct nvt_compared_rate *find(const struct nvt_compared_rates *rates,
                                            const struct nvt_compared_rate *first, uint32_t side,
                                            size_t *count)
{
    const struct nvt_compared_rate *end = rates->items + rates->count, *at = first;
    while (at < end && at->name == first->name && at->rate == first->rate && at->side < side)
        at++;
    *count = 0;
    while (at + *count < end && at[*count].name == first->name && at[*count].rate == first->rate &&
           at[*count].side == side)
        ++*count;
    return at;
}

static int by_key(const void *left, const void *right)
{
    const struct nvt_compared_rate *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->rate != b->rate)
        return a->rate < b->rate ? -1 : 1;
    return (a->side > b->side) - (a->side < b->side);
}

/* A side's rate against the first side's. */
struct compared {
    uint32_t name, rate, side;
};

struct changes {
    struct compared *items;
    struct nvt_change *changes; /* as many */
    size_t count;
};

/* Compare what a side has from there on. 0 or -1. */
static int measure(const struct nvt_compared_rates *rates, const struct nvt_compared_rate *first,
                   uint32_t side, struct changes *all)
{
    size_t counts[2];
    const struct nvt_compared_rate *found[2] = {find(rates, first, 0, &counts[0]),
                                                find(rates, first, side, &counts[1])};
    struct nvt_typical *series = calloc(counts[0] + counts[1] + 1, sizeof(*series));
    if (!series)
        return -1;
    for (size_t k = 0, at = 0; k < 2; k++)
        for (size_t i = 0; i < counts[k]; i++)
            series[at++] = found[k][i].typical;
    const struct nvt_side a = {series, counts[0]}, b = {series + counts[0], counts[1]};
    const size_t at = all->count;
    const int status = counts[1] ? nvt_change_measure(&a, &b, &all->changes[at]) : 0;
    if (!status && counts[1]) {
        all->items[at] = (struct compared){first->name, first->rate, side};
        all->count++;
    }
    free(series);
    return status;
}

static int measure_all(const struct nvt_compared_rates *rates, size_t sides, struct changes *all)
{
    for (size_t i = 0; i < rates->count; i++) {
        const struct nvt_compared_rate *item = &rates->items[i];
        if (item->side || (i && item[-1].name == item->name && item[-1].rate == item->rate))
            continue;
        for (uint32_t side = 1; side < sides; side++)
            if (measure(rates, item, side, all))
                return -1;
    }
    return 0;
}

/* By how much it has changed at least, of a logarithm; 0: it may be less than LEAST. */
static double changed(const struct nvt_change *change)
{
    if (isnan(change->low) || isnan(change->high) || !(change->low > 0))
        return 0;
    const double least = fmax(log(change->low), -log(change->high));
    return least >= log1p(LEAST) ? least : 0;
}

static int put_change(const struct nvt_compared_rates *rates, const struct compared *compared,
                      const struct nvt_change *change, struct nvt_buffer *out)
{
    return nvt_buffer_printf(
        out, "%s%s has %.3g %s on side A, %.3g on side %c: %.3g %% of it (%.3g to %.3g %%)",
        out->size ? "; " : "", nvt_groups_part(&rates->names, compared->name, 0),
        change->typical[0], kinds[compared->rate].name, change->typical[1],
        (char)('A' + compared->side), 100 * change->ratio, 100 * change->low, 100 * change->high);
}

/* Those that changed most, the most changed first. */
static int put_most(const struct nvt_compared_rates *rates, struct changes *all,
                    struct nvt_buffer *out)
{
    int failed = 0;
    for (int shown = 0; shown < RATES_SHOWN && !failed; shown++) {
        size_t most = all->count;
        for (size_t i = 0; i < all->count; i++)
            if (changed(&all->changes[i]) > 0 &&
                (most == all->count || changed(&all->changes[i]) > changed(&all->changes[most])))
                most = i;
        if (most == all->count)
            break;
        failed = put_change(rates, &all->items[most], &all->changes[most], out);
        all->changes[most].low = NAN;
    }
    return failed ? -1 : 0;
}

int nvt_compared_rates_text(const struct nvt_compared_rates *rates, size_t sides,
                            struct nvt_buffer *out)
{
    const size_t most = rates->count * sides + 1;
    struct changes all = {.items = calloc(most, sizeof(*all.items)),
                          .changes = calloc(most, sizeof(*all.changes))};
    double level = 0;
    int status = all.items && all.changes ? 0 : -1;
    if (!status && rates->count)
        qsort(rates->items, rates->count, sizeof(*rates->items), by_key);
    if (!status)
        status = measure_all(rates, sides, &all);
    if (!status && all.count)
        status = nvt_change_verdicts(all.changes, all.count, NVT_CHANGE_ALPHA, LEAST, &level) ||
                         put_most(rates, &all, out)
                     ? -1
                     : 0;
    free(all.items);
    free(all.changes);
    return status;
}

void nvt_compared_rates_free(struct nvt_compared_rates *rates)
{
    nvt_groups_free(&rates->names);
    free(rates->items);
}
