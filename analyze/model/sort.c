#include "sort.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "column.h"

/* A row with its key beside it, so that merging reads memory in order. */
struct item {
    int64_t key;
    uint32_t row;
};

/* Parts of rows in order that do not interleave: a thread of a trace, say. */
#define PILES 64

struct run {
    uint32_t from, end;
    uint32_t next; /* run of the same pile, or of the list that is to be merged; NO_RUN: none */
};

#define NO_RUN UINT32_MAX

struct piles {
    struct run *runs;
    uint32_t run_count;
    uint32_t first[PILES], last[PILES]; /* runs of each pile */
    uint32_t rank[PILES];               /* piles by their ends, ascending */
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

static uint32_t end_of(const struct piles *piles, uint32_t pile)
{
    return piles->runs[piles->last[pile]].end - 1;
}

/* Put a run behind the pile with the latest end that it can continue, or on a new one; -1: there
 * are too many. The pile's place in `rank` moves up. */
static int put_on_pile(struct piles *piles, const int64_t *key, const int64_t *tie, uint32_t run)
{
    uint32_t from = piles->runs[run].from, end = piles->runs[run].end, at = piles->count;
    while (at > 0 && !row_before(key, tie, end_of(piles, piles->rank[at - 1]), from))
        at--;
    uint32_t pile = at ? piles->rank[at - 1] : piles->count;
    if (pile == PILES)
        return -1;
    if (at) {
        at--;
        piles->runs[piles->last[pile]].next = run;
    } else {
        memmove(piles->rank + 1, piles->rank, piles->count * sizeof(*piles->rank));
        piles->first[pile] = run;
        piles->count++;
    }
    piles->last[pile] = run;
    for (;
         at + 1 < piles->count && row_before(key, tie, end_of(piles, piles->rank[at + 1]), end - 1);
         at++)
        piles->rank[at] = piles->rank[at + 1];
    piles->rank[at] = pile;
    return 0;
}

static int add_run(struct piles *piles, uint32_t from, uint32_t end)
{
    if (nvt_grow(&piles->runs, piles->run_count, sizeof(*piles->runs)))
        return -1;
    piles->runs[piles->run_count++] = (struct run){from, end, NO_RUN};
    return 0;
}

/* Divide the rows into runs and the runs among piles. 1: that is more piles than it is good for,
 * only the runs were made; -1: out of memory. */
static int make_piles(struct piles *piles, const int64_t *key, const int64_t *tie, uint32_t count)
{
    int too_many = 0;
    for (uint32_t from = 0; from < count;) {
        uint32_t end = run_end(key, tie, from, count);
        if (add_run(piles, from, end))
            return -1;
        if (!too_many)
            too_many = put_on_pile(piles, key, tie, piles->run_count - 1) != 0;
        from = end;
    }
    return too_many;
}

/* The first row of a pile that is still to come. */
struct head {
    struct item item;
    uint32_t end; /* of the run it is in */
    uint32_t next;
};

/* Merge all piles at once: the heads are kept in order, and the one that is taken sinks to its new
 * place, which is mostly near. No memory but the result. */
static void merge_piles(const struct piles *piles, const int64_t *key, const int64_t *tie,
                        uint32_t *order)
{
    struct head heads[PILES];
    uint32_t count = 0;
    for (uint32_t p = 0; p < piles->count; p++) {
        const struct run *run = &piles->runs[piles->first[p]];
        struct head head = {{key[run->from], run->from}, run->end, run->next};
        uint32_t at = count++;
        for (; at > 0 && comes_before(&head.item, &heads[at - 1].item, tie); at--)
            heads[at] = heads[at - 1];
        heads[at] = head;
    }
    while (count) {
        struct head head = heads[0];
        *order++ = head.item.row;
        if (++head.item.row == head.end) {
            if (head.next == NO_RUN) {
                memmove(heads, heads + 1, --count * sizeof(*heads));
                continue;
            }
            const struct run *run = &piles->runs[head.next];
            head = (struct head){{0, run->from}, run->end, run->next};
        }
        head.item.key = key[head.item.row];
        uint32_t at = 0;
        for (; at + 1 < count && comes_before(&heads[at + 1].item, &head.item, tie); at++)
            heads[at] = heads[at + 1];
        heads[at] = head;
    }
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

/* Rows in no order at all. */
static int sort_runs(struct piles *piles, const int64_t *key, const int64_t *tie, uint32_t count,
                     uint32_t *order)
{
    struct item *from = nvt_column_grow(NULL, count * sizeof(*from));
    struct item *to = nvt_column_grow(NULL, count * sizeof(*to));
    int status = from && to ? 0 : -1;
    if (!status) {
        for (uint32_t i = 0; i < count; i++)
            from[i] = (struct item){key[i], i};
        const struct item *sorted = merge_runs(piles, from, to, tie);
        for (uint32_t i = 0; i < count; i++)
            order[i] = sorted[i].row;
    }
    nvt_column_free(from);
    nvt_column_free(to);
    return status;
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
    int status = make_piles(&piles, key, tie, count);
    if (status >= 0)
        *order = nvt_large_alloc(count * sizeof(**order));
    if (*order && status)
        status = sort_runs(&piles, key, tie, count, *order);
    else if (*order)
        merge_piles(&piles, key, tie, *order);
    else
        status = -1;
    if (status) {
        free(*order);
        *order = NULL;
    }
    free(piles.runs);
    return status;
}

#define GATHER(type)                                                                               \
    do {                                                                                           \
        const type *from = column;                                                                 \
        type *to = out;                                                                            \
        for (uint32_t i = 0; i < count; i++)                                                       \
            to[i] = from[order[i]];                                                                \
    } while (0)

static void gather(const void *column, size_t width, const uint32_t *order, uint32_t count,
                   void *out)
{
    switch (width) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    default:
        GATHER(uint64_t);
        break;
    }
}

/* Nothing is to be done where all are the same, as in a column that the trace has no use for; and
 * no memory is touched. */
static int all_same(const void *column, size_t width, uint32_t count)
{
    return !count || !memcmp(column, (const char *)column + width, width * (count - 1));
}

void nvt_sort_free(struct nvt_sort_scratch *scratch)
{
    nvt_column_free(scratch->wide);
    nvt_column_free(scratch->narrow);
    *scratch = (struct nvt_sort_scratch){0};
}

int nvt_sort_column(void *column, size_t width, const uint32_t *order, uint32_t count,
                    struct nvt_sort_scratch *scratch)
{
    void *old;
    memcpy(&old, column, sizeof(old));
    if (all_same(old, width, count))
        return 0;
    void **spare = width == sizeof(uint64_t) ? &scratch->wide : &scratch->narrow;
    size_t each = width == sizeof(uint64_t) ? width : sizeof(uint32_t);
    void *fresh = nvt_column_grow(*spare, each * count);
    if (!fresh)
        return -1;
    *spare = fresh;
    gather(old, width, order, count, fresh);
    if (width == each) {
        *spare = old;
        memcpy(column, &fresh, sizeof(fresh));
    } else {
        memcpy(old, fresh, width * count);
    }
    return 0;
}

/* Values up to which they are inserted one by one: a table of counts takes longer. */
#define INSERTED 48

static void insert_values(uint32_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void nvt_sort_values(uint32_t *values, uint32_t *scratch, size_t count)
{
    uint32_t *from = values, *to = scratch, differing = 0;
    if (count <= INSERTED) {
        insert_values(values, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        differing |= values[i] ^ values[0];
    for (int byte = 0; byte < 4; byte++) {
        size_t places[256] = {0}, at = 0, next;
        if (!(differing >> 8 * byte & 0xff))
            continue;
        for (size_t i = 0; i < count; i++)
            places[from[i] >> 8 * byte & 0xff]++;
        for (int i = 0; i < 256; i++, at = next) {
            next = at + places[i];
            places[i] = at;
        }
        for (size_t i = 0; i < count; i++)
            to[places[from[i] >> 8 * byte & 0xff]++] = from[i];
        uint32_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != values)
        memcpy(values, from, count * sizeof(*values));
}
