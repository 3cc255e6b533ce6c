#include "pairs.h"

#include <stdlib.h>

#include "../../lib/clock.h"

int nvt_pairs_add(struct nvt_pairs *pairs, uint32_t whole, uint32_t part, int64_t weight)
{
    struct nvt_pair *pair = nvt_map_item(&pairs->rows, (uint64_t)whole << 32 | part, &pairs->items,
                                         &pairs->count, sizeof(*pair));
    if (!pair)
        return -1;
    pair->whole = whole;
    pair->part = part;
    pair->count++;
    pair->weight = nvt_clock_sum(pair->weight, weight);
    return 0;
}

static int by_weight(const void *left, const void *right)
{
    const struct nvt_pair *a = left, *b = right;
    if (a->whole != b->whole)
        return a->whole < b->whole ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

int nvt_pairs_sort(struct nvt_pairs *pairs, uint32_t wholes)
{
    pairs->first = calloc((size_t)wholes + 2, sizeof(*pairs->first));
    if (!pairs->first)
        return -1;
    if (pairs->count)
        qsort(pairs->items, pairs->count, sizeof(*pairs->items), by_weight);
    for (uint32_t i = 0; i < pairs->count; i++)
        pairs->first[pairs->items[i].whole + 1]++;
    for (uint32_t k = 0; k < wholes; k++)
        pairs->first[k + 1] += pairs->first[k];
    return 0;
}

void nvt_pairs_free(struct nvt_pairs *pairs)
{
    nvt_map_free(&pairs->rows);
    free(pairs->items);
    free(pairs->first);
    *pairs = (struct nvt_pairs){0};
}
