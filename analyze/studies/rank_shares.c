#include "rank_shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/quantity_text.h"
#include "../../lib/sample.h"
#include "rank_clocks.h"

/* A file with less than this part of the median span does not narrow what the others are compared by. */
#define LEAST_SPAN 0.25
/* What the ends of a collective are apart by on two clocks, at most: ns. */
#define TOLERANCE_NS 100000
/* From this part on, spans of files differ. */
#define SPANS_DIFFER 0.1
/* Ranks that do not meet are compared where their times are as long, but for this part. */
#define ALIKE 0.05

static struct nvt_rank_share whole_of(const struct nvt_rank *rank)
{
    return (struct nvt_rank_share){.span = (double)rank->span,
                                   .compute = (double)rank->compute,
                                   .idle = (double)rank->idle,
                                   .communication = (double)rank->communication,
                                   .kernels = rank->kernels,
                                   .part = 1};
}

/* Whether files cover different times: ranks have different numbers of a kind that are paired, or cannot be and spans differ. */
static int are_uneven(const struct nvt_rank_pairs *pairs)
{
    const struct nvt_ranks *ranks = pairs->ranks;
    int64_t least = INT64_MAX, most = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        least = ranks->items[i].span < least ? ranks->items[i].span : least;
        most = ranks->items[i].span > most ? ranks->items[i].span : most;
    }
    const int differ = (double)least < (1 - SPANS_DIFFER) * (double)most;
    for (uint32_t i = 0; i < pairs->kind_count; i++) {
        const struct nvt_rank_kind *kind = &pairs->kinds[i];
        const int is_paired = kind->state == NVT_KIND_PAIRED || kind->state == NVT_KIND_BY_GAPS;
        if (kind->ranks > 1 && kind->fewest < kind->most &&
            (is_paired || (kind->state == NVT_KIND_UNEVEN && differ)))
            return 1;
    }
    return 0;
}

/* The time in common of those that meet. */
struct window {
    double median; /* of their spans */
    int64_t from, to;
};

struct sharing {
    const struct nvt_rank_pairs *pairs;
    struct nvt_rank_clock_fit *clocks;
    struct nvt_rank_share *shares;
    double *values; /* room for a number of each rank */
};

/* Of the ranks with that root. */
static struct window window_of(const struct sharing *all, uint32_t root)
{
    const struct nvt_ranks *ranks = all->pairs->ranks;
    struct window window = {.from = INT64_MIN, .to = INT64_MAX};
    size_t count = 0;
    for (uint32_t i = 0; i < ranks->count; i++)
        if (all->clocks[i].root == root)
            all->values[count++] = (double)ranks->items[i].span;
    window.median = nvt_sample_median(all->values, count);
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct nvt_rank *rank = &ranks->items[i];
        if (all->clocks[i].root != root || (double)rank->span < LEAST_SPAN * window.median)
            continue;
        const int64_t from = nvt_rank_clock_time(all->clocks, i, rank->first),
                      to = nvt_rank_clock_time(all->clocks, i,
                                               nvt_clock_sum(rank->first, rank->span));
        window.from = from > window.from ? from : window.from;
        window.to = to < window.to ? to : window.to;
    }
    return window;
}

/* What a rank did between the ends of the first and the last of its collectives in the window. */
static struct nvt_rank_share share_of(const struct sharing *all, uint32_t number,
                                      const struct window *window)
{
    const struct nvt_rank *rank = &all->pairs->ranks->items[number];
    uint32_t first = NVT_NONE, last = NVT_NONE, paired = 0;
    double exposed = 0;
    for (uint32_t i = 0; i < rank->part_count; i++) {
        const int64_t end = nvt_rank_clock_time(all->clocks, number, rank->parts[i].end);
        if (!nvt_rank_collective_of(all->pairs, number, i))
            continue;
        paired++;
        if (end < window->from || end > nvt_clock_sum(window->to, TOLERANCE_NS))
            continue;
        first = first == NVT_NONE ? i : first;
        last = i;
    }
    struct nvt_rank_share share = {NAN, NAN, NAN, NAN, NAN, 1, 1};
    if (first == last || (double)rank->span < LEAST_SPAN * window->median)
        return share;
    const struct nvt_rank_part *from = &rank->parts[first], *to = &rank->parts[last];
    for (uint32_t i = first + 1; i <= last; i++) {
        const struct nvt_rank_part *part = &rank->parts[i];
        exposed +=
            fmax((double)(part->end - part->start - (part->after.work - part->before.work)), 0);
    }
    share.span = (double)nvt_clock_since(to->end, from->end);
    share.compute = (double)(to->after.work - from->after.work);
    share.idle = (double)(to->after.idle - from->after.idle);
    share.communication = fmin(exposed, fmax(share.span - share.compute - share.idle, 0));
    share.kernels = (double)to->after.kernels - from->after.kernels;
    share.part = (double)paired / rank->part_count;
    return share;
}

/* Ranks that do not meet most others are compared with them only where that is over as long a time. */
static void leave_out_others(const struct sharing *all)
{
    const uint32_t count = all->pairs->ranks->count;
    size_t known = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!isnan(all->shares[i].span))
            all->values[known++] = all->shares[i].span;
    const double median = known ? nvt_sample_median(all->values, known) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (fabs(all->shares[i].span - median) > ALIKE * median)
            all->shares[i] = (struct nvt_rank_share){NAN, NAN, NAN, NAN, NAN, 1, 1};
}

static void narrow(const struct sharing *all)
{
    for (uint32_t root = 0; root < all->pairs->ranks->count; root++) {
        if (all->clocks[root].root != root)
            continue;
        const struct window window = window_of(all, root);
        for (uint32_t i = 0; i < all->pairs->ranks->count; i++)
            if (all->clocks[i].root == root)
                all->shares[i] = share_of(all, i, &window);
    }
    leave_out_others(all);
}

struct nvt_rank_share *nvt_rank_shares(const struct nvt_rank_pairs *pairs)
{
    const uint32_t count = pairs->ranks->count;
    struct sharing all = {.pairs = pairs,
                          .shares = malloc(((size_t)count + 1) * sizeof(*all.shares)),
                          .values = malloc(((size_t)count + 1) * sizeof(*all.values))};
    int failed = !all.shares || !all.values;
    for (uint32_t i = 0; i < count && !failed; i++)
        all.shares[i] = whole_of(&pairs->ranks->items[i]);
    if (!failed && pairs->parties > 1 && nvt_rank_has_done(&pairs->ranks->items[0]) &&
        are_uneven(pairs)) {
        all.clocks = nvt_rank_clocks(pairs);
        failed = !all.clocks;
        if (!failed)
            narrow(&all);
    }
    free(all.clocks);
    free(all.values);
    if (!failed)
        return all.shares;
    free(all.shares);
    return NULL;
}

const char *nvt_rank_shares_note(const struct nvt_ranks *ranks, const struct nvt_rank_share *shares,
                                 char *out, size_t size)
{
    uint32_t apart = 0, example = 0, part = NVT_NONE;
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (!shares[i].is_part)
            continue;
        if (isnan(shares[i].span))
            example = apart++ ? example : i;
        else
            part = i;
    }
    if (!apart && part == NVT_NONE)
        return NULL;
    if (part == NVT_NONE)
        snprintf(out, size,
                 "files of ranks cover different times, with too few collectives in common: what "
                 "ranks compute is not compared");
    else if (!apart)
        snprintf(out, size,
                 "files of ranks cover different times: ranks are compared within the %s that all "
                 "have",
                 NVT_TIME(shares[part].span));
    else
        snprintf(out, size,
                 "files of ranks cover different times: ranks are compared within %s, %u cannot be "
                 "(rank %lld)",
                 NVT_TIME(shares[part].span), apart, (long long)nvt_rank_shown(ranks, example));
    return out;
}
