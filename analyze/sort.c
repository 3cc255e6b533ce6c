#include "sort.h"

#include <stdlib.h>
#include <string.h>

static int in_order(const int64_t *key, const int64_t *tie, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (key[i] < key[i - 1] || (tie && key[i] == key[i - 1] && tie[i] > tie[i - 1]))
            return 0;
    return 1;
}

/* Signed times in unsigned order. */
static uint64_t unsigned_key(int64_t key)
{
    return (uint64_t)key ^ (UINT64_C(1) << 63);
}

/* One stable counting pass over byte `shift / 8` of the keys; skipped when all agree in it. */
static int radix_pass(const int64_t *key, unsigned shift, const uint32_t *from, uint32_t *to,
                      uint32_t count)
{
    size_t starts[257] = {0};
    for (uint32_t i = 0; i < count; i++)
        starts[((unsigned_key(key[i]) >> shift) & 0xff) + 1]++;
    for (unsigned byte = 0; byte < 256; byte++)
        if (starts[byte + 1] == count)
            return 0;
    for (unsigned byte = 1; byte < 257; byte++)
        starts[byte] += starts[byte - 1];
    for (uint32_t i = 0; i < count; i++)
        to[starts[(unsigned_key(key[from[i]]) >> shift) & 0xff]++] = from[i];
    return 1;
}

struct tied_row {
    int64_t tie;
    uint32_t row;
    uint32_t position;
};

static int by_tie(const void *left, const void *right)
{
    const struct tied_row *a = left, *b = right;
    if (a->tie != b->tie)
        return a->tie < b->tie ? 1 : -1;
    return (a->position > b->position) - (a->position < b->position);
}

/* Put rows [from, to) of the order, which share their key, in order of tie. */
static int order_ties(const int64_t *tie, uint32_t *order, uint32_t from, uint32_t to)
{
    struct tied_row *rows = malloc((to - from) * sizeof(*rows));
    if (!rows)
        return -1;
    for (uint32_t i = from; i < to; i++)
        rows[i - from] = (struct tied_row){tie[order[i]], order[i], i};
    qsort(rows, to - from, sizeof(*rows), by_tie);
    for (uint32_t i = from; i < to; i++)
        order[i] = rows[i - from].row;
    free(rows);
    return 0;
}

static int order_all_ties(const int64_t *key, const int64_t *tie, uint32_t *order, uint32_t count)
{
    for (uint32_t from = 0; from < count;) {
        uint32_t to = from + 1;
        while (to < count && key[order[to]] == key[order[from]])
            to++;
        if (to - from > 1 && order_ties(tie, order, from, to))
            return -1;
        from = to;
    }
    return 0;
}

int nvt_sort_order(const int64_t *key, const int64_t *tie, uint32_t count, uint32_t **order)
{
    *order = NULL;
    if (in_order(key, tie, count))
        return 0;
    uint32_t *from = malloc(count * sizeof(*from));
    uint32_t *to = malloc(count * sizeof(*to));
    if (!from || !to)
        goto fail;
    for (uint32_t i = 0; i < count; i++)
        from[i] = i;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (radix_pass(key, shift, from, to, count)) {
            uint32_t *swap = from;
            from = to;
            to = swap;
        }
    }
    if (tie && order_all_ties(key, tie, from, count))
        goto fail;
    free(to);
    *order = from;
    return 0;
fail:
    free(from);
    free(to);
    return -1;
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
