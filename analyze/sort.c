#include "sort.h"

#include <stdlib.h>
#include <string.h>

/* A row with its key beside it, so that merging reads memory in order. */
struct item {
    int64_t key;
    uint32_t row;
};

/* Parts of rows in order that do not interleave: a thread of a trace, say. */
#define PILES 64

struct run {
    uint32_t from, end, pile;
};

struct piles {
    struct run *runs;
    uint32_t run_count, run_capacity;
    uint32_t last[PILES]; /* row at the end of each pile */
    uint32_t rank[PILES]; /* piles by their ends, ascending */
    uint32_t size[PILES];
    uint32_t count;
};

static int ties_before(const struct item *a, const struct item *b, const int64_t *tie)
{
    if (tie && tie[a->row] != tie[b->row])
        return tie[a->row] > tie[b->row];
    return a->row < b->row;
}

/* A total order: what is equal keeps the order of its rows. */
static inline int comes_before(const struct item *a, const struct item *b, const int64_t *tie)
{
    if (__builtin_expect(a->key == b->key, 0))
        return ties_before(a, b, tie);
    return a->key < b->key;
}

static int row_before(const int64_t *key, const int64_t *tie, uint32_t a, uint32_t b)
{
    struct item left = {key[a], a}, right = {key[b], b};
    return comes_before(&left, &right, tie);
}

/* Where the run that starts at `from` ends: rows up to there are in order. */
static uint32_t run_end(const int64_t *key, const int64_t *tie, uint32_t from, uint32_t count)
{
    uint32_t end = from + 1;
    while (end < count && (key[end] > key[end - 1] || row_before(key, tie, end - 1, end)))
        end++;
    return end;
}

/* Without a branch that depends on which side is next: there is no pattern in it. */
static void merge(const struct item *left, const struct item *middle, const struct item *end,
                  struct item *out, const int64_t *tie)
{
    const struct item *right = middle;
    while (left < middle && right < end) {
        int take = comes_before(right, left, tie);
        *out++ = *(take ? right : left);
        right += take;
        left += !take;
    }
    memcpy(out, left, (size_t)(middle - left) * sizeof(*left));
    out += middle - left;
    memcpy(out, right, (size_t)(end - right) * sizeof(*right));
}

/* The pile with the latest end that a run can continue, or a new one; PILES: there are too many.
 * Its place in `rank` moves up. */
static uint32_t choose_pile(struct piles *piles, const int64_t *key, const int64_t *tie,
                            uint32_t from, uint32_t end)
{
    uint32_t at = piles->count;
    while (at > 0 && !row_before(key, tie, piles->last[piles->rank[at - 1]], from))
        at--;
    uint32_t pile = at ? piles->rank[at - 1] : piles->count;
    if (pile == PILES)
        return PILES;
    if (at)
        at--;
    else {
        memmove(piles->rank + 1, piles->rank, piles->count * sizeof(*piles->rank));
        piles->count++;
    }
    piles->last[pile] = end - 1;
    piles->size[pile] += end - from;
    for (; at + 1 < piles->count && row_before(key, tie, piles->last[piles->rank[at + 1]], end - 1);
         at++)
        piles->rank[at] = piles->rank[at + 1];
    piles->rank[at] = pile;
    return pile;
}

static int add_run(struct piles *piles, uint32_t from, uint32_t end, uint32_t pile)
{
    if (piles->run_count == piles->run_capacity) {
        uint32_t capacity = piles->run_capacity ? piles->run_capacity * 2 : 64;
        struct run *runs = realloc(piles->runs, capacity * sizeof(*runs));
        if (!runs)
            return -1;
        piles->runs = runs;
        piles->run_capacity = capacity;
    }
    piles->runs[piles->run_count++] = (struct run){from, end, pile};
    return 0;
}

/* Divide the rows into runs and the runs among piles. When that is more piles than it is good for,
 * every run is a pile of its own. */
static int make_piles(struct piles *piles, const int64_t *key, const int64_t *tie, uint32_t count)
{
    int too_many = 0;
    for (uint32_t from = 0; from < count;) {
        uint32_t end = run_end(key, tie, from, count);
        uint32_t pile = too_many ? PILES : choose_pile(piles, key, tie, from, end);
        too_many |= pile == PILES;
        if (add_run(piles, from, end, pile))
            return -1;
        from = end;
    }
    return too_many;
}

/* The items pile by pile; `runs` becomes what is to be merged. */
static void lay_out(struct piles *piles, const int64_t *key, struct item *items)
{
    uint32_t at[PILES], next = 0;
    for (uint32_t i = 0; i < piles->count; i++) {
        at[i] = next;
        next += piles->size[i];
    }
    for (uint32_t r = 0; r < piles->run_count; r++) {
        const struct run *run = &piles->runs[r];
        for (uint32_t row = run->from; row < run->end; row++)
            items[at[run->pile]++] = (struct item){key[row], row};
    }
    for (uint32_t i = 0; i < piles->count; i++)
        piles->runs[i] = (struct run){at[i] - piles->size[i], at[i], i};
    piles->run_count = piles->count;
}

/* Merge neighbouring runs until one is left. Returns where it is: in `from` or in `to`. */
static struct item *merge_runs(struct piles *piles, struct item *from, struct item *to,
                               const int64_t *tie)
{
    while (piles->run_count > 1) {
        uint32_t merged = 0;
        for (uint32_t r = 0; r < piles->run_count; r += 2) {
            struct run run = piles->runs[r];
            uint32_t middle = run.end;
            if (r + 1 < piles->run_count)
                run.end = piles->runs[r + 1].end;
            merge(from + run.from, from + middle, from + run.end, to + run.from, tie);
            piles->runs[merged++] = run;
        }
        piles->run_count = merged;
        struct item *swap = from;
        from = to;
        to = swap;
    }
    return from;
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
    struct piles piles = {0};
    struct item *from = malloc(count * sizeof(*from)), *to = malloc(count * sizeof(*to));
    int too_many = make_piles(&piles, key, tie, count);
    *order = malloc(count * sizeof(**order));
    if (from && to && *order && too_many >= 0) {
        if (too_many)
            for (uint32_t i = 0; i < count; i++)
                from[i] = (struct item){key[i], i};
        else
            lay_out(&piles, key, from);
        const struct item *sorted = merge_runs(&piles, from, to, tie);
        for (uint32_t i = 0; i < count; i++)
            (*order)[i] = sorted[i].row;
    } else {
        free(*order);
        *order = NULL;
    }
    free(piles.runs);
    free(from);
    free(to);
    return *order ? 0 : -1;
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
    /* All the same, as a column that the trace has no use for is: nothing to be done, and no memory
     * to be touched. */
    if (!count || !memcmp(column, (char *)column + width, width * (count - 1)))
        return;
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
