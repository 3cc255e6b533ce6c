#include "iterations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gaps.h"
#include "../../lib/bisect.h"
#include "../../lib/map.h"
#include "../model/sort.h"
#include "../model/recorded_parts.h"

#define CANDIDATES 128
/* A loop of fewer rounds cannot be told from chance. */
#define ROUNDS 4
/* Scores this near to the best are as good. */
#define AS_GOOD 0.005

/* A pair of neighbouring names: where it occurs, and how evenly. */
struct pair {
    uint32_t count, last;
    double gaps, squares; /* of the distances between its places */
    double pause;         /* of the device before it, added up */
};

struct candidate {
    uint32_t pair;
    uint32_t count;
    double unevenness, pause, score;
};

struct search {
    const struct nvt_trace *trace;
    uint32_t *ops;   /* rows in the order of launch */
    uint32_t *pairs; /* of every operation: its name and the one before */
    uint32_t count;
    struct pair *table;
    uint32_t pair_count;
    uint32_t *places; /* of the pair being scored, and `count` behind the last */
    uint32_t place_count;
    int64_t (*busy)[2]; /* from when to when the device has an operation, apart and ascending */
    uint32_t busy_count;
};

/* Operations of the device in the order of their launches; of their starts where one is not known.
 */
static int order_ops(struct search *search, const struct nvt_used_device *device)
{
    const struct nvt_ops *ops = &search->trace->ops;
    int64_t *launches = malloc(((size_t)device->count + 1) * sizeof(*launches));
    uint32_t *order = NULL;
    int known = 1, status = launches && search->ops ? 0 : -1;
    for (uint32_t i = 0; !status && i < device->count; i++) {
        launches[i] = ops->launch[device->ops[i]];
        known &= launches[i] != INT64_MIN;
    }
    if (!status && known)
        status = nvt_sort_order(launches, NULL, device->count, &order);
    for (uint32_t i = 0; !status && i < device->count; i++)
        search->ops[i] = device->ops[order ? order[i] : i];
    search->count = device->count;
    free(order);
    free(launches);
    return status;
}

static int number_pairs(struct search *search)
{
    const uint32_t *names = search->trace->ops.name;
    struct nvt_map map = {0};
    int status = search->pairs ? 0 : -1;
    for (uint32_t i = 0; i < search->count && !status; i++) {
        uint64_t before = i ? names[search->ops[i - 1]] : NVT_NONE;
        search->pairs[i] =
            nvt_map_number(&map, before << 32 | names[search->ops[i]], &search->pair_count);
        status = search->pairs[i] == NVT_MAP_NONE ? -1 : 0;
    }
    nvt_map_free(&map);
    return status;
}

/* Where pairs occur and how evenly, and the pauses of the device before them. */
static int describe_pairs(struct search *search)
{
    const struct nvt_ops *ops = &search->trace->ops;
    int64_t until = INT64_MIN;
    search->table = calloc((size_t)search->pair_count + 1, sizeof(*search->table));
    if (!search->table)
        return -1;
    for (uint32_t i = 0; i < search->count; i++) {
        struct pair *pair = &search->table[search->pairs[i]];
        int64_t start = ops->start[search->ops[i]], end = ops->end[search->ops[i]];
        if (pair->count++) {
            double gap = i - pair->last;
            pair->gaps += gap;
            pair->squares += gap * gap;
        }
        if (until != INT64_MIN && start > until)
            pair->pause += (double)(start - until);
        pair->last = i;
        until = end > until ? end : until;
    }
    return 0;
}

static int by_evenness(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->unevenness < b->unevenness || a->unevenness > b->unevenness)
        return a->unevenness < b->unevenness ? -1 : 1;
    if (a->pause < b->pause || a->pause > b->pause)
        return a->pause > b->pause ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

/* The pairs that are worth a trial, the most even ones first; *count of them, NULL: out of memory.
 */
static struct candidate *choose(const struct search *search, uint32_t *count)
{
    struct candidate *candidates = malloc(((size_t)search->pair_count + 1) * sizeof(*candidates));
    *count = 0;
    for (uint32_t i = 0; candidates && i < search->pair_count; i++) {
        const struct pair *pair = &search->table[i];
        if (pair->count < ROUNDS || pair->count > search->count / 2)
            continue;
        double gaps = pair->count - 1, mean = pair->gaps / gaps;
        double variance = pair->squares / gaps - mean * mean;
        /* In steps of a thousandth: smaller differences say nothing. */
        double unevenness = variance > 0 ? round(1000 * sqrt(variance) / mean) : 0;
        candidates[(*count)++] =
            (struct candidate){i, pair->count, unevenness, pair->pause / pair->count, 0};
    }
    if (candidates)
        qsort(candidates, *count, sizeof(*candidates), by_evenness);
    if (*count > CANDIDATES)
        *count = CANDIDATES;
    return candidates;
}

static void find_places(struct search *search, uint32_t pair)
{
    search->place_count = 0;
    for (uint32_t i = 0; i < search->count; i++)
        if (search->pairs[i] == pair)
            search->places[search->place_count++] = i;
    search->places[search->place_count] = search->count;
}

/*
 * How many operations of two pieces of the sequence are the same: place by place, or if one is
 * longer, from both ends.
 */
static uint32_t same(const struct search *search, uint32_t a, uint32_t a_end, uint32_t b,
                     uint32_t b_end)
{
    const uint32_t *names = search->trace->ops.name, *ops = search->ops;
    uint32_t equal = 0;
    if (a_end - a == b_end - b) {
        for (; a < a_end; a++, b++)
            equal += names[ops[a]] == names[ops[b]];
        return equal;
    }
    for (; a < a_end && b < b_end && names[ops[a]] == names[ops[b]]; a++, b++)
        equal++;
    for (; a < a_end && b < b_end && names[ops[a_end - 1]] == names[ops[b_end - 1]];
         a_end--, b_end--)
        equal++;
    return equal;
}

static uint32_t longer(const uint32_t *places, uint32_t k)
{
    uint32_t a = places[k + 1] - places[k], b = places[k + 2] - places[k + 1];
    return a > b ? a : b;
}

/* The share of operations that pieces have in common with the next ones. Warm-up, taken to be the
 * first quarter, and the last piece, which may be cut off, do not count. */
static double score(struct search *search, uint32_t pair)
{
    uint64_t equal = 0, all = 0;
    find_places(search, pair);
    const uint32_t *places = search->places;
    for (uint32_t k = search->place_count >= 8 ? search->place_count / 4 : 0;
         k + 2 < search->place_count; k++) {
        equal += same(search, places[k], places[k + 1], places[k + 1], places[k + 2]);
        all += longer(places, k);
    }
    return all ? (double)equal / (double)all : 0;
}

/* The best candidate, NULL when there is no loop. */
static const struct candidate *best_of(struct search *search, struct candidate *candidates,
                                       uint32_t count)
{
    const struct candidate *best = NULL;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].score = score(search, candidates[i].pair);
        most = candidates[i].score > most ? candidates[i].score : most;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct candidate *it = &candidates[i];
        if (it->score < NVT_ITERATIONS_SCORE || it->score < most - AS_GOOD)
            continue;
        if (!best || it->count > best->count ||
            (it->count == best->count && it->pause > best->pause))
            best = it;
    }
    return best;
}

/* When the device has at least one operation: its operations come in the order of their starts. */
static int find_busy(struct search *search, const struct nvt_used_device *device)
{
    const struct nvt_ops *ops = &search->trace->ops;
    const int64_t least = nvt_gap_least(search->trace);
    search->busy = calloc((size_t)device->count + 1, sizeof(*search->busy));
    if (!search->busy)
        return -1;
    for (uint32_t i = 0; i < device->count; i++) {
        int64_t start = ops->start[device->ops[i]], end = ops->end[device->ops[i]];
        int64_t *last = search->busy_count ? search->busy[search->busy_count - 1] : NULL;
        if (last && !nvt_is_gap(last[1], start, least))
            last[1] = end > last[1] ? end : last[1];
        else {
            search->busy[search->busy_count][0] = start;
            search->busy[search->busy_count++][1] = end;
        }
    }
    return 0;
}

/* How much of [from, to) the device has an operation. */
static int64_t busy_between(const struct search *search, int64_t from, int64_t to)
{
    uint32_t low = 0;
    int64_t busy = 0;
    NVT_BISECT(low, to > from ? search->busy_count : 0, search->busy[low][1] <= from);
    for (; to > from && low < search->busy_count && search->busy[low][0] < to; low++) {
        int64_t start = search->busy[low][0], end = search->busy[low][1];
        busy += (end < to ? end : to) - (start > from ? start : from);
    }
    return busy;
}

/* A piece, as if it were the last one: from its first start to its last end. Its operations may
 * have run in another order than that of their launches. */
static struct nvt_iteration measure(const struct search *search, uint32_t from, uint32_t to)
{
    const struct nvt_ops *ops = &search->trace->ops;
    int64_t start = ops->start[search->ops[from]], end = ops->end[search->ops[from]];
    for (uint32_t i = from + 1; i < to; i++) {
        uint32_t op = search->ops[i];
        start = ops->start[op] < start ? ops->start[op] : start;
        end = ops->end[op] > end ? ops->end[op] : end;
    }
    return (struct nvt_iteration){start, end - start, 0, to - from, NAN};
}

/* The first iteration begins behind something else than the others do: look whether it is there. */
static void add_first(struct search *search)
{
    uint32_t *places = search->places, first = places[0], length = places[1] - first;
    if (first < length ||
        same(search, first - length, first, first, places[1]) < NVT_ITERATIONS_SCORE * length)
        return;
    memmove(places + 1, places, ((size_t)search->place_count + 1) * sizeof(*places));
    places[0] = first - length;
    search->place_count++;
}

/* One that reaches from one part of the recording into the next is none. */
static void leave_crossing(struct nvt_iterations *iterations, const struct nvt_trace *trace)
{
    uint32_t kept = 0, periods = 0;
    for (uint32_t k = 0; k < iterations->count; k++) {
        const struct nvt_iteration *item = &iterations->items[k];
        if (nvt_is_across_parts(trace, item->start, item->start + item->period))
            continue;
        periods += k < iterations->periods;
        iterations->items[kept++] = *item;
    }
    iterations->count = kept;
    iterations->periods = periods;
}

static int fill(struct nvt_iterations *iterations, struct search *search, uint32_t pair)
{
    find_places(search, pair);
    add_first(search);
    const uint32_t *places = search->places;
    uint32_t count = search->place_count;
    /* The last piece is an iteration unless the recording ended in it, or the loop before. */
    uint64_t last = places[count] - places[count - 1];
    uint64_t usual = places[count - 1] - places[count - 2];
    if (10 * last < 9 * usual || 10 * last > 11 * usual) {
        count--;
        iterations->behind = (uint32_t)last;
    }
    iterations->before = places[0];
    iterations->first_op = search->ops[places[0]];
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): there are two places at least */
    iterations->items = malloc((size_t)count * sizeof(*iterations->items));
    if (!iterations->items)
        return -1;
    for (uint32_t k = 0; k < count; k++) {
        struct nvt_iteration *item = &iterations->items[k];
        *item = measure(search, places[k], places[k + 1]);
        if (k)
            item->match = (double)same(search, places[k - 1], places[k], places[k], places[k + 1]) /
                          (double)longer(places, k - 1);
        if (k)
            item[-1].period = item->start - item[-1].start;
    }
    if (iterations->behind)
        iterations->items[count - 1].period =
            measure(search, places[count], places[count + 1]).start -
            iterations->items[count - 1].start;
    for (uint32_t k = 0; k < count; k++) {
        struct nvt_iteration *item = &iterations->items[k];
        item->busy = busy_between(search, item->start, item->start + item->period);
    }
    iterations->count = count;
    iterations->periods = iterations->behind ? count : count - 1;
    leave_crossing(iterations, search->trace);
    return 0;
}

int nvt_iterations_find(struct nvt_iterations *iterations, const struct nvt_trace *trace,
                        const struct nvt_used_device *device)
{
    size_t room = (size_t)device->count + 2;
    struct search search = {.trace = trace,
                            .ops = malloc(room * sizeof(uint32_t)),
                            .pairs = malloc(room * sizeof(uint32_t)),
                            .places = malloc(room * sizeof(uint32_t))};
    struct candidate *candidates = NULL;
    uint32_t count = 0;
    int status = order_ops(&search, device) || !search.places || number_pairs(&search) ||
                         describe_pairs(&search) || !(candidates = choose(&search, &count))
                     ? -1
                     : 0;
    const struct candidate *best = status ? NULL : best_of(&search, candidates, count);
    if (best) {
        iterations->score = best->score;
        status = find_busy(&search, device) || fill(iterations, &search, best->pair) ? -1 : 0;
    }
    free(candidates);
    free(search.ops);
    free(search.pairs);
    free(search.places);
    free(search.table);
    free(search.busy);
    return status;
}

void nvt_iterations_free(struct nvt_iterations *iterations)
{
    free(iterations->items);
    *iterations = (struct nvt_iterations){0};
}
