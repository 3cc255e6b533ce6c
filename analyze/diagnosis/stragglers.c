#include "stragglers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"

/* Where no group is known to be slow, longer collectives are the cause if they are this part of what is waited for a rank. */
#define TRANSFER_PART 0.67

/* Who waits for less than this share of its time for a rank is not one of those that wait for it. */
#define LEAST_WAIT 0.01

static int waits(const struct nvt_stragglers *all, const struct nvt_rank_wait *wait, uint32_t late)
{
    return wait->late == late &&
           nvt_rank_wait_ns(wait) >= LEAST_WAIT * nvt_straggler_span(all, wait->waiting);
}

static double median(double *values, size_t count)
{
    return count ? nvt_sample_median(values, count) : 0;
}

/* Medians of those that wait for it; `values` has room for all ranks five times. */
static void find_medians(const struct nvt_stragglers *all, struct nvt_straggler *item,
                         double *values)
{
    double *const compute = values + all->ranks.count, *const idle = compute + all->ranks.count,
                  *const kernels = idle + all->ranks.count,
                  *const clocks = kernels + all->ranks.count;
    size_t count = 0, known = 0, compared = 0;
    for (uint32_t i = 0; i < all->blame.wait_count; i++) {
        const struct nvt_rank_wait *wait = &all->blame.waits[i];
        if (!waits(all, wait, item->rank))
            continue;
        values[count] = all->blame.waited[wait->waiting];
        if (!isnan(all->ranks.items[wait->waiting].clock))
            clocks[known++] = all->ranks.items[wait->waiting].clock;
        const struct nvt_rank_share *share = &all->shares[wait->waiting];
        count++;
        item->caused_ns += nvt_rank_wait_ns(wait);
        if (isnan(share->span))
            continue;
        compute[compared] = share->compute;
        kernels[compared] = share->kernels;
        idle[compared++] = share->idle;
    }
    item->waiting = (uint32_t)count;
    item->caused_ns /= count ? (double)count : 1;
    item->waited_ns = median(values, count);
    item->compared = (uint32_t)compared;
    item->compute_ns = median(compute, compared);
    item->idle_ns = median(idle, compared);
    item->kernels = median(kernels, compared);
    item->clock = median(clocks, known);
    item->excess_ns = item->waited_ns - all->blame.waited[item->rank];
}

/*
 * That of most of what is waited for it. Stages of a pipeline wait for the work of another by design, so that work is the cause only
 * of a rank that computes for longer in all, and its host of one whose device is idle for longer.
 */
static uint8_t cause_of(const struct nvt_stragglers *all, const struct nvt_straggler *item)
{
    const struct nvt_rank *rank = &all->ranks.items[item->rank];
    const struct nvt_rank_share *share = &all->shares[item->rank];
    const double least = NVT_STRAGGLER_SHARE * share->span;
    const double longer = share->compute - item->compute_ns, later = share->idle - item->idle_ns;
    const double more =
        (share->kernels - item->kernels) * item->compute_ns / fmax(item->kernels, 1);
    double ns[NVT_LATE_CAUSES] = {0};
    uint8_t most = NVT_LATE_UNKNOWN;
    for (uint32_t i = 0; i < all->blame.wait_count; i++)
        for (int k = 0; k < NVT_LATE_CAUSES && all->blame.waits[i].late == item->rank; k++)
            ns[k] += all->blame.waits[i].ns[k];
    for (int k = 0; k < NVT_LATE_CAUSES; k++)
        most = ns[k] > ns[most] ? (uint8_t)k : most;
    if (most == NVT_LATE_TRANSFER) /* by itself enough */
        return item->waiting && ns[most] / item->waiting >= least ? most : NVT_LATE_UNKNOWN;
    if (most == NVT_LATE_MISSING)
        return NVT_LATE_UNKNOWN;
    if (isnan(share->span) || !item->compared || (longer < least && later < least))
        return NVT_LATE_UNKNOWN;
    if (rank->device == NVT_NONE)
        return NVT_LATE_OUTSIDE;
    if (longer >= later)
        return 2 * more >= longer ? NVT_LATE_WORK
               : nvt_is_clocked_down(rank->clock, item->clock, item->compute_ns, longer)
                   ? NVT_LATE_CLOCK
                   : NVT_LATE_KERNELS;
    const uint8_t host =
        ns[NVT_LATE_GARBAGE] > ns[NVT_LATE_HOST] ? NVT_LATE_GARBAGE : NVT_LATE_HOST;
    return ns[NVT_LATE_LOADING] > ns[host] ? NVT_LATE_LOADING : host;
}

/* How often it is late to collectives, and when, in its own trace. */
static void find_moments(const struct nvt_stragglers *all, struct nvt_straggler *item)
{
    const struct nvt_rank *rank = &all->ranks.items[item->rank];
    const int64_t first = rank->from->trace->first_ns; /* the others may wait since before it */
    for (uint32_t i = 0; i < rank->part_count; i++) {
        const struct nvt_rank_collective *of = nvt_rank_collective_of(&all->pairs, item->rank, i);
        if (!of || of->shortest != item->rank || of->most <= of->least)
            continue;
        item->last++;
        const int64_t since = nvt_clock_since(rank->parts[i].start, of->most - of->least);
        nvt_longest_add(&item->moments, since > first ? since : first,
                        (double)(of->most - of->least));
    }
}

/* --- slow groups --- */

/* Transfers of each kind: their sum, what they move (NaN unknown), and their number; of the collectives of all ranks. */
struct transfers {
    double *ns, *bytes;
    uint32_t *counts;
};

static struct transfers add_transfers(const struct nvt_rank_pairs *pairs)
{
    struct transfers all = {calloc((size_t)pairs->kind_count + 1, sizeof(*all.ns)),
                            calloc((size_t)pairs->kind_count + 1, sizeof(*all.bytes)),
                            calloc((size_t)pairs->kind_count + 1, sizeof(*all.counts))};
    for (uint32_t i = 0; i < pairs->count && all.ns && all.bytes && all.counts; i++) {
        const struct nvt_rank_member member = pairs->members[pairs->items[i].member];
        all.ns[pairs->items[i].kind] += (double)pairs->items[i].least;
        all.bytes[pairs->items[i].kind] += nvt_rank_part_of(pairs, member)->bus_bytes;
        all.counts[pairs->items[i].kind]++;
    }
    return all;
}

/* Whether two kinds do the same in groups alike: as many collectives of the same bytes among as many ranks, all
 * of them in the input. */
static int are_alike(const struct nvt_rank_pairs *pairs, const struct transfers *all, uint32_t a,
                     uint32_t b)
{
    const struct nvt_rank_kind *kinds = pairs->kinds;
    const struct nvt_rank_group *groups = pairs->ranks->groups;
    return !nvt_rank_group_is_part(&groups[kinds[a].group]) &&
           !nvt_rank_group_is_part(&groups[kinds[b].group]) && kinds[a].name == kinds[b].name &&
           kinds[a].ranks == kinds[b].ranks && all->counts[a] == all->counts[b] &&
           (isnan(all->bytes[a]) ? isnan(all->bytes[b])
                                 : fabs(all->bytes[a] - all->bytes[b]) <= 0.01 * all->bytes[a]);
}

/* By how much more the collectives of a kind take than those of groups alike, in all; what one of either takes. */
static double excess_of(const struct nvt_rank_pairs *pairs, const struct transfers *all,
                        uint32_t kind, double *own, double *others)
{
    double ns = 0, count = 0;
    for (uint32_t i = 0; i < pairs->kind_count; i++)
        if (i != kind && are_alike(pairs, all, i, kind)) {
            ns += all->ns[i];
            count += all->counts[i];
        }
    if (!all->counts[kind] || count <= 0)
        return 0;
    *own = all->ns[kind] / all->counts[kind];
    *others = ns / count;
    return all->counts[kind] * (*own - *others);
}

/* Which group of a rank holds it up. 0, or -1 when out of memory. */
static int find_slow_kind(const struct nvt_stragglers *all, struct nvt_straggler *item)
{
    const struct nvt_rank *rank = &all->ranks.items[item->rank];
    struct transfers transfers = add_transfers(&all->pairs);
    double most = 0, own = 0, others = 0;
    uint32_t last = NVT_NONE;
    const int failed = !transfers.ns || !transfers.bytes || !transfers.counts;
    for (uint32_t i = 0; i < rank->part_count && !failed; i++) {
        const struct nvt_rank_collective *of = nvt_rank_collective_of(&all->pairs, item->rank, i);
        if (!of || of->kind == last)
            continue;
        last = of->kind;
        const double excess = excess_of(&all->pairs, &transfers, of->kind, &own, &others);
        if (excess > most) {
            most = excess;
            item->kind = of->kind;
            item->transfer_ns = own;
            item->others_ns = others;
        }
    }
    free(transfers.ns);
    free(transfers.bytes);
    free(transfers.counts);
    return failed ? -1 : 0;
}

/* Whether longer collectives of its groups are most of why a rank is late. */
static int is_by_transfer(const struct nvt_stragglers *all, uint32_t rank)
{
    double transfer = 0, ns = 0;
    for (uint32_t i = 0; i < all->blame.wait_count; i++)
        if (all->blame.waits[i].late == rank) {
            transfer += all->blame.waits[i].ns[NVT_LATE_TRANSFER];
            ns += nvt_rank_wait_ns(&all->blame.waits[i]);
        }
    return transfer >= TRANSFER_PART * ns;
}

/* Marks, by `seen`, the ranks that wait for an item's: how many of these were not marked. */
static uint32_t mark_waiting(const struct nvt_stragglers *all, uint32_t rank, uint8_t *seen)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->blame.wait_count; i++) {
        const struct nvt_rank_wait *wait = &all->blame.waits[i];
        if (!waits(all, wait, rank) || seen[wait->waiting])
            continue;
        seen[wait->waiting] = 1;
        count++;
    }
    return count;
}

/* Items of one slow group. */
static int are_of_one_group(const struct nvt_straggler *a, const struct nvt_straggler *b)
{
    return a->cause == NVT_LATE_TRANSFER && b->cause == NVT_LATE_TRANSFER && a->kind != NVT_NONE &&
           a->kind == b->kind;
}

/* The first item of the slow group of one: that itself, where it is of none. */
static uint32_t first_of_group(const struct nvt_stragglers *all, uint32_t item)
{
    uint32_t first = 0;
    while (first < item && !are_of_one_group(&all->items[first], &all->items[item]))
        first++;
    return first;
}

/* Ranks that one slow group holds up become one item, for which all wait that wait for any of them. 0, or -1 when out of memory. */
static int fold_slow_groups(struct nvt_stragglers *all)
{
    uint32_t kept = 0;
    uint8_t *seen = malloc((size_t)all->ranks.count + 1);
    if (!seen)
        return -1;
    for (uint32_t i = 0; i < all->count; i++) {
        struct nvt_straggler *item = &all->items[i];
        if (item->cause != NVT_LATE_TRANSFER || first_of_group(all, i) != i)
            continue;
        memset(seen, 0, all->ranks.count);
        item->waiting = mark_waiting(all, item->rank, seen);
        for (uint32_t k = i + 1; k < all->count; k++)
            if (are_of_one_group(item, &all->items[k])) {
                item->alike++;
                item->waiting += mark_waiting(all, all->items[k].rank, seen);
            }
    }
    /* From the last on, as those before it say which are the first. */
    for (uint32_t i = all->count; i-- > 0;)
        if (first_of_group(all, i) != i)
            all->items[i].waiting = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].waiting)
            all->items[kept++] = all->items[i];
    all->count = kept;
    free(seen);
    return 0;
}

/* --- all of them --- */

static int by_excess(const void *left, const void *right)
{
    const struct nvt_straggler *a = left, *b = right;
    if (a->excess_ns != b->excess_ns)
        return a->excess_ns < b->excess_ns ? 1 : -1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* 0, or -1 when out of memory. */
static int judge(struct nvt_stragglers *all)
{
    double *values = malloc((5 * (size_t)all->ranks.count + 1) * sizeof(*values));
    double *caused = calloc((size_t)all->ranks.count + 1, sizeof(*caused));
    int failed = !values || !caused;
    for (uint32_t i = 0; i < all->blame.wait_count && !failed; i++)
        caused[all->blame.waits[i].late] += nvt_rank_wait_ns(&all->blame.waits[i]);
    for (uint32_t i = 0; i < all->ranks.count && !failed; i++) {
        const double least = NVT_STRAGGLER_SHARE * nvt_straggler_span(all, i);
        struct nvt_straggler item = {.rank = i};
        if (caused[i] < least || least <= 0)
            continue;
        find_medians(all, &item, values);
        if (item.caused_ns < least || item.excess_ns < least)
            continue;
        item.cause = cause_of(all, &item);
        item.through_ns = all->blame.through_ns[i] / caused[i];
        if (item.cause == NVT_LATE_UNKNOWN)
            continue;
        find_moments(all, &item);
        item.kind = NVT_NONE;
        if (item.cause == NVT_LATE_TRANSFER && find_slow_kind(all, &item)) {
            failed = 1;
            break;
        }
        if (item.cause == NVT_LATE_TRANSFER && item.kind == NVT_NONE && !is_by_transfer(all, i))
            continue;
        failed = nvt_grow(&all->items, all->count, sizeof(*all->items));
        if (!failed)
            all->items[all->count++] = item;
    }
    if (all->count > 1)
        qsort(all->items, all->count, sizeof(*all->items), by_excess);
    failed = failed || fold_slow_groups(all);
    free(values);
    free(caused);
    return failed ? -1 : 0;
}

int nvt_stragglers_make(struct nvt_stragglers *stragglers, const struct nvt_input *input,
                        const size_t *numbers, size_t number, struct nvt_error *err)
{
    if (nvt_ranks_find(&stragglers->ranks, input, numbers, number, err))
        return -1;
    if (!stragglers->ranks.count || !nvt_rank_has_done(&stragglers->ranks.items[0]))
        return 0;
    if (nvt_rank_pairs_make(&stragglers->pairs, &stragglers->ranks, err) ||
        nvt_rank_blame_make(&stragglers->blame, &stragglers->pairs, err))
        return -1;
    stragglers->shares = nvt_rank_shares(&stragglers->pairs);
    if (!stragglers->shares)
        return nvt_fail(err, "out of memory");
    return judge(stragglers) ? nvt_fail(err, "out of memory") : 0;
}

void nvt_stragglers_free(struct nvt_stragglers *stragglers)
{
    free(stragglers->items);
    free(stragglers->shares);
    nvt_rank_blame_free(&stragglers->blame);
    nvt_rank_pairs_free(&stragglers->pairs);
    nvt_ranks_free(&stragglers->ranks);
}
