#include "rank_clocks.h"

#include <stdlib.h>

#include "../../lib/grow.h"

/* Collectives that two ranks have in common, from which on they show how clocks are apart. */
#define LEAST_MOMENTS 8

/* A collective that a rank is in. */
struct moment {
    int64_t own, other;
};

static int by_time(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return (a->own > b->own) - (a->own < b->own);
}

/* The ends of what two ranks are in together, in the order of time. NULL: they share too few, or (*failed) out of memory. */
static struct moment *common_ends(const struct nvt_rank_pairs *pairs, uint32_t rank, uint32_t other,
                                  uint32_t *count, int *failed)
{
    struct moment *moments = NULL;
    *count = 0;
    for (uint32_t i = 0; i < pairs->ranks->items[rank].part_count && !*failed; i++) {
        const struct nvt_rank_collective *item = nvt_rank_collective_of(pairs, rank, i);
        const struct nvt_rank_member *members = item ? &pairs->members[item->member] : NULL;
        for (uint32_t k = 0; item && k < item->ranks; k++) {
            if (members[k].rank != other)
                continue;
            *failed = nvt_grow(&moments, *count, sizeof(*moments));
            if (!*failed)
                moments[(*count)++] = (struct moment){pairs->ranks->items[rank].parts[i].end,
                                                      nvt_rank_part_of(pairs, members[k])->end};
            break;
        }
    }
    if (!*failed && *count >= LEAST_MOMENTS) {
        qsort(moments, *count, sizeof(*moments), by_time);
        return moments;
    }
    free(moments);
    return NULL;
}

/* 1: the clock of a rank is known by that of another; 0, or -1 when out of memory. */
static int fit_clock(const struct nvt_rank_pairs *pairs, uint32_t rank, uint32_t other,
                     struct nvt_clock_fit *fit)
{
    uint32_t count;
    int failed = 0;
    struct moment *moments = common_ends(pairs, rank, other, &count, &failed);
    if (!moments)
        return failed ? -1 : 0;
    int64_t *own = malloc((size_t)count * sizeof(*own)),
            *its = malloc((size_t)count * sizeof(*its));
    failed = !own || !its;
    for (uint32_t i = 0; i < count && !failed; i++) {
        own[i] = moments[i].own;
        its[i] = moments[i].other;
    }
    failed = failed || nvt_clock_fit(own, its, count, fit);
    free(own);
    free(its);
    free(moments);
    return failed ? -1 : 1;
}

/* Ranks to go on from, in the order in which they became known. */
struct walk {
    const struct nvt_rank_pairs *pairs;
    struct nvt_rank_clock_fit *clocks;
    uint32_t *order, known;
};

/* 0, or -1 when out of memory. */
static int meet(struct walk *walk, uint32_t rank, uint32_t known)
{
    struct nvt_rank_clock_fit *clock = &walk->clocks[rank];
    const struct nvt_rank *ranks = walk->pairs->ranks->items;
    const int is_one = ranks[rank].from->trace == ranks[known].from->trace;
    if (clock->through != NVT_NONE)
        return 0;
    const int found = is_one ? 1 : fit_clock(walk->pairs, rank, known, &clock->fit);
    if (found <= 0)
        return found;
    clock->through = known;
    clock->root = walk->clocks[known].root;
    clock->steps = walk->clocks[known].steps + 1;
    clock->residual_ns = walk->clocks[known].residual_ns + clock->fit.residual_ns;
    walk->order[walk->known++] = rank;
    return 0;
}

/* Those that a rank is in a collective with, and those of its trace. 0, or -1 when out of memory. */
static int meet_all(struct walk *walk, uint32_t known)
{
    const struct nvt_rank_pairs *pairs = walk->pairs;
    const struct nvt_rank *ranks = pairs->ranks->items;
    int failed = 0;
    for (uint32_t i = 0; i < pairs->ranks->count && !failed; i++)
        if (ranks[i].from->trace == ranks[known].from->trace)
            failed = meet(walk, i, known);
    uint32_t last = NVT_NONE;
    for (uint32_t i = 0; i < ranks[known].part_count && !failed; i++) {
        const struct nvt_rank_collective *item = nvt_rank_collective_of(pairs, known, i);
        /* Of each kind once. */
        if (!item || item->kind == last)
            continue;
        last = item->kind;
        for (uint32_t k = 0; k < item->ranks && !failed; k++)
            failed = meet(walk, pairs->members[item->member + k].rank, known);
    }
    return failed;
}

struct nvt_rank_clock_fit *nvt_rank_clocks(const struct nvt_rank_pairs *pairs)
{
    const uint32_t count = pairs->ranks->count;
    struct walk walk = {.pairs = pairs,
                        .clocks = calloc((size_t)count + 1, sizeof(*walk.clocks)),
                        .order = malloc(((size_t)count + 1) * sizeof(*walk.order))};
    int failed = !walk.clocks || !walk.order;
    for (uint32_t i = 0; i < count && !failed; i++)
        walk.clocks[i].through = NVT_NONE;
    for (uint32_t i = 0, at = 0; i < count && !failed; i++) {
        if (walk.clocks[i].through != NVT_NONE)
            continue;
        walk.clocks[i].through = walk.clocks[i].root = i;
        walk.order[walk.known++] = i;
        for (; at < walk.known && !failed; at++)
            failed = meet_all(&walk, walk.order[at]);
    }
    free(walk.order);
    if (!failed)
        return walk.clocks;
    free(walk.clocks);
    return NULL;
}

int64_t nvt_rank_clock_time(const struct nvt_rank_clock_fit *clocks, uint32_t rank, int64_t moment)
{
    while (clocks[rank].steps) {
        if (clocks[rank].fit.count)
            moment = nvt_clock_fit_apply(&clocks[rank].fit, moment);
        rank = clocks[rank].through;
    }
    return moment;
}
