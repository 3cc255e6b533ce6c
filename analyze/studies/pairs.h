/*
 * What wholes are made of: weights by a whole and a part of it, such as a range and the functions that ran in it. Both are
 * numbers.
 */
#ifndef NVT_PAIRS_H
#define NVT_PAIRS_H

#include "../../lib/map.h"

struct nvt_pair {
    uint32_t whole, part;
    uint32_t count; /* how often it was added to */
    int64_t weight;
};

/* Zero-initialise; release with nvt_pairs_free. */
struct nvt_pairs {
    struct nvt_map rows; /* whole << 32 | part -> item */
    struct nvt_pair *items;
    uint32_t count;
    /* from nvt_pairs_sort on: items[first[k] .. first[k + 1]) are those of whole k */
    uint32_t *first;
};

/* 0, or -1 when out of memory. */
int nvt_pairs_add(struct nvt_pairs *pairs, uint32_t whole, uint32_t part, int64_t weight);

/* Put the items of each whole, of `wholes` many, side by side, those with the most weight first (of the same one, those with the
 * lesser part). Nothing can be added after it. 0, or -1 when out of memory. */
int nvt_pairs_sort(struct nvt_pairs *pairs, uint32_t wholes);
void nvt_pairs_free(struct nvt_pairs *pairs);

/* The part of a whole with the most weight; NULL: it has none. */
static inline const struct nvt_pair *nvt_pairs_most(const struct nvt_pairs *pairs, uint32_t whole)
{
    uint32_t first = pairs->first[whole];
    return first < pairs->first[whole + 1] ? &pairs->items[first] : NULL;
}

#endif
