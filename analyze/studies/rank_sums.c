#include "rank_sums.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"

struct nvt_rank_standing nvt_rank_standing_of(const struct nvt_rank_pairs *pairs, uint32_t rank)
{
    const struct nvt_rank *of = &pairs->ranks->items[rank];
    struct nvt_rank_standing standing = {0};
    for (uint32_t i = 0; i < of->part_count; i++) {
        const struct nvt_rank_collective *item = nvt_rank_collective_of(pairs, rank, i);
        if (!item)
            continue;
        standing.collectives++;
        standing.waited =
            nvt_clock_sum(standing.waited, of->parts[i].end - of->parts[i].start - item->least);
        standing.last += item->shortest == rank && item->most > item->least;
    }
    return standing;
}

struct nvt_rank_late_sum *nvt_rank_late_sums(const struct nvt_rank_blame *blame)
{
    const struct nvt_ranks *ranks = blame->pairs->ranks;
    struct nvt_rank_late_sum *reasons =
        calloc(((size_t)ranks->count + 1) * NVT_LATE_CAUSES, sizeof(*reasons));
    for (uint32_t i = 0; i < blame->wait_count && reasons; i++)
        for (size_t k = 0; k < NVT_LATE_CAUSES; k++) {
            const struct nvt_rank_wait *wait = &blame->waits[i];
            struct nvt_rank_late_sum *reason = &reasons[(size_t)wait->late * NVT_LATE_CAUSES + k];
            const double share = nvt_percent(wait->ns[k], ranks->items[wait->waiting].span);
            reason->ns += wait->ns[k];
            reason->most = fmax(wait->ns[k], reason->most);
            reason->share = fmax(share, reason->share);
            reason->waiting += wait->ns[k] > 0;
        }
    return reasons;
}

/* --- groups ----------------------------------------------------------------------------------------- */

/* The bus bandwidths of a group's collectives. */
struct rates {
    double *values;
    size_t count;
};

/* 0, or -1 when out of memory. */
static int add_to_group(struct nvt_rank_group_sum *sum, struct rates *rates,
                        const struct nvt_rank_pairs *pairs, const struct nvt_rank_collective *item)
{
    const double bytes = nvt_rank_part_of(pairs, pairs->members[item->member])->bus_bytes;
    sum->collectives++;
    sum->waited = nvt_clock_sum(sum->waited, nvt_rank_all_waits(item));
    sum->transfer = nvt_clock_sum(sum->transfer, item->least);
    if (isnan(bytes) || item->least <= 0)
        return 0;
    if (nvt_grow(&rates->values, rates->count, sizeof(*rates->values)))
        return -1;
    rates->values[rates->count++] = bytes / (double)item->least;
    return 0;
}

struct nvt_rank_group_sum *nvt_rank_group_sums(const struct nvt_rank_pairs *pairs)
{
    const size_t count = pairs->ranks->group_count;
    struct nvt_rank_group_sum *sums = calloc(count + 1, sizeof(*sums));
    struct rates *rates = calloc(count + 1, sizeof(*rates));
    int failed = !sums || !rates;
    for (uint32_t i = 0; i < pairs->count && !failed; i++) {
        const uint32_t group = pairs->kinds[pairs->items[i].kind].group;
        if (pairs->items[i].ranks > 1)
            failed = add_to_group(&sums[group], &rates[group], pairs, &pairs->items[i]);
    }
    for (size_t i = 0; i < count && rates && sums; i++) {
        sums[i].bus = nvt_sample_median(rates[i].values, rates[i].count);
        free(rates[i].values);
    }
    free(rates);
    if (failed) {
        free(sums);
        sums = NULL;
    }
    return sums;
}

/* --- waits ------------------------------------------------------------------------------------------ */

static int by_wait(const void *left, const void *right)
{
    const struct nvt_rank_collective *a = *(const struct nvt_rank_collective *const *)left,
                                     *b = *(const struct nvt_rank_collective *const *)right;
    int64_t x = a->most - a->least, y = b->most - b->least;
    if (x != y)
        return x < y ? 1 : -1;
    return a->number != b->number ? (a->number < b->number ? -1 : 1)
                                  : (a->kind > b->kind) - (a->kind < b->kind);
}

const struct nvt_rank_collective **nvt_rank_longest_waits(const struct nvt_rank_pairs *pairs,
                                                          uint32_t *count)
{
    const struct nvt_rank_collective **items = malloc(((size_t)pairs->count + 1) * sizeof(*items));
    *count = 0;
    for (uint32_t i = 0; i < pairs->count && items; i++)
        if (pairs->items[i].most > pairs->items[i].least)
            items[(*count)++] = &pairs->items[i];
    if (items)
        qsort((void *)items, *count, sizeof(*items), by_wait);
    return items;
}
