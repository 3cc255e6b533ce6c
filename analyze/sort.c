#include "sort.h"

#include <stdlib.h>
#include <string.h>

/* A row with its key beside it, so that merging reads memory in order. */
struct item {
    int64_t key;
    uint32_t row;
};

static int comes_before(const struct item *a, const struct item *b, const int64_t *tie)
{
    if (a->key != b->key)
        return a->key < b->key;
    return tie && tie[a->row] > tie[b->row];
}

/* Where the run that starts at `from` ends: items up to there are in order. */
static uint32_t run_end(const struct item *items, uint32_t from, uint32_t count, const int64_t *tie)
{
    uint32_t end = from + 1;
    while (end < count && !comes_before(&items[end], &items[end - 1], tie))
        end++;
    return end;
}

/* Stable: of equals, the left one first. */
static void merge(const struct item *left, const struct item *middle, const struct item *end,
                  struct item *out, const int64_t *tie)
{
    const struct item *right = middle;
    while (left < middle && right < end)
        *out++ = comes_before(right, left, tie) ? *right++ : *left++;
    memcpy(out, left, (size_t)(middle - left) * sizeof(*left));
    out += middle - left;
    memcpy(out, right, (size_t)(end - right) * sizeof(*right));
}

/* Merge neighbouring runs of `from` into `to`. Returns how many runs there were. */
static uint32_t merge_pass(const struct item *from, struct item *to, uint32_t count,
                           const int64_t *tie)
{
    uint32_t runs = 0;
    for (uint32_t at = 0; at < count;) {
        uint32_t middle = run_end(from, at, count, tie);
        uint32_t end = middle < count ? run_end(from, middle, count, tie) : count;
        merge(from + at, from + middle, from + end, to + at, tie);
        runs += middle < count ? 2 : 1;
        at = end;
    }
    return runs;
}

static int in_order(const int64_t *key, const int64_t *tie, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (key[i] < key[i - 1] || (tie && key[i] == key[i - 1] && tie[i] > tie[i - 1]))
            return 0;
    return 1;
}

int nvt_sort_order(const int64_t *key, const int64_t *tie, uint32_t count, uint32_t **order)
{
    *order = NULL;
    if (in_order(key, tie, count))
        return 0;
    struct item *from = malloc(count * sizeof(*from)), *to = malloc(count * sizeof(*to));
    *order = malloc(count * sizeof(**order));
    if (!from || !to || !*order) {
        free(from);
        free(to);
        free(*order);
        *order = NULL;
        return -1;
    }
    for (uint32_t i = 0; i < count; i++)
        from[i] = (struct item){key[i], i};
    uint32_t runs;
    do {
        runs = merge_pass(from, to, count, tie);
        struct item *swap = from;
        from = to;
        to = swap;
    } while (runs > 2);
    for (uint32_t i = 0; i < count; i++)
        (*order)[i] = from[i].row;
    free(from);
    free(to);
    return 0;
}

#define APPLY(type)                                                                                \
    do {                                                                                           \
        const type *from = scratch;                                                                \
        type *to = column;                                                                         \
        for (uint32_t i = 0; i < count; i++)                                                       \
            to[i] = from[order[i]];                                                                \
    } while (0)

void nvt_sort_apply(void *column, size_t width, const uint32_t *order, uint32_t count,
                    void *scratch)
{
    memcpy(scratch, column, width * count);
    switch (width) {
    case 1:
        APPLY(uint8_t);
        break;
    case 2:
        APPLY(uint16_t);
        break;
    case 4:
        APPLY(uint32_t);
        break;
    default:
        APPLY(uint64_t);
        break;
    }
}
