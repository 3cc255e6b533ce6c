#include "rank_blame.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "spent.h"

/* Collectives that began before a stretch of time and are looked at for those that reach into it. */
#define LOOKED_BACK 64
/* And so many before the one that is looked at. */
#define LOOKED_AT 1024
/* What is known of a cause makes this part of a wait at least. */
#define LEAST_PART 0.25
/* A rank computes for longer than another one from this part of its time on. */
#define MORE_WORK 0.05
/* By so much the clocks of the others are higher, at least. */
#define LEAST_CLOCK 1.03

const char *nvt_late_cause_text(enum nvt_late_cause cause)
{
    static const char *const texts[NVT_LATE_CAUSES] = {
        [NVT_LATE_KERNELS] = "its kernels take longer",
        [NVT_LATE_CLOCK] = "its clock is lower",
        [NVT_LATE_WORK] = "it runs more kernels",
        [NVT_LATE_HOST] = "its host launches late",
        [NVT_LATE_LOADING] = "it waits for a batch",
        [NVT_LATE_GARBAGE] = "it collects garbage",
        [NVT_LATE_OUTSIDE] = "it is outside of collectives for longer",
        [NVT_LATE_TRANSFER] = "longer collectives of another group",
        [NVT_LATE_BUBBLE] = "its turn in the pipeline (bubble)",
        [NVT_LATE_MISSING] = "may wait for a rank that is not in the input",
        [NVT_LATE_UNKNOWN] = "unknown"};
    return texts[cause];
}

/* Time of a part in which no kernel computes. */
static double exposed_of(const struct nvt_rank_part *part)
{
    return (double)(part->end - part->start - (part->after.work - part->before.work));
}

double nvt_rank_exposed_wait(const struct nvt_rank_pairs *pairs, struct nvt_rank_member member)
{
    const struct nvt_rank_part *part = nvt_rank_part_of(pairs, member);
    const struct nvt_rank_collective *item =
        nvt_rank_collective_of(pairs, member.rank, member.part);
    if (!item)
        return 0;
    const double wait = (double)(part->end - part->start - item->least);
    return fmax(fmin(wait, exposed_of(part)), 0);
}

/* What a rank did since the collective of the group before. */
struct since {
    double work, idle, loading, collecting, kernels, waits, transfer;
    double missing;  /* in groups of which ranks are not in the input */
    double clock;    /* MHz, NaN unknown */
    double unpaired; /* in communication of which no wait is known */
};

/* When a rank waited in collectives, ended those of groups of which ranks are not in the input, and was in those that are not paired. */
struct times {
    struct nvt_spent waits, missing, unpaired;
};

struct blaming {
    struct nvt_rank_blame *blame;
    const struct nvt_rank_pairs *pairs;
    /* Of each part: the last of its group before it on the rank that all left together, NVT_NONE: there is none. */
    uint32_t *before;
    uint8_t *is_overlapped; /* of each collective: kernels of a rank compute during most of it */
    struct times *times;    /* of each rank */
    struct nvt_map wait_of;
};

static void find_overlapped(struct blaming *all)
{
    for (uint32_t i = 0; i < all->pairs->count; i++)
        for (uint32_t k = 0; k < all->pairs->items[i].ranks; k++) {
            const struct nvt_rank_part *part =
                nvt_rank_part_of(all->pairs, all->pairs->members[all->pairs->items[i].member + k]);
            all->is_overlapped[i] |= 2 * exposed_of(part) < (double)(part->end - part->start);
        }
}

/* Of a part, in the order of parts. 0, or -1 when out of memory. */
static int add_times(struct times *times, const struct nvt_rank_pairs *pairs, uint32_t rank,
                     uint32_t number)
{
    const struct nvt_rank_part *part = &pairs->ranks->items[rank].parts[number];
    const uint32_t group = nvt_rank_part_group(&pairs->ranks->items[rank], number);
    const int64_t exposed = (int64_t)fmax(exposed_of(part), 0);
    if (!nvt_rank_collective_of(pairs, rank, number))
        return nvt_spent_add(&times->unpaired, part->start, nvt_clock_sum(part->start, exposed));
    const int64_t met = nvt_clock_sum(
        part->start, (int64_t)nvt_rank_exposed_wait(pairs, (struct nvt_rank_member){rank, number}));
    if (nvt_rank_group_is_part(&pairs->ranks->groups[group]) && met < part->end &&
        nvt_spent_add(&times->missing, met, part->end))
        return -1;
    return met > part->start ? nvt_spent_add(&times->waits, part->start, met) : 0;
}

static int64_t spent_in(const struct nvt_spent *spent, int64_t from, int64_t to)
{
    return to > from ? nvt_spent_until(spent, to) - nvt_spent_until(spent, from) : 0;
}

/* 0, or -1 when out of memory. */
static int find_before(struct blaming *all)
{
    const struct nvt_ranks *ranks = all->pairs->ranks;
    int failed = 0;
    for (uint32_t i = 0; i < ranks->count && !failed; i++) {
        struct nvt_map last = {0};
        for (uint32_t k = 0; k < ranks->items[i].part_count && !failed; k++) {
            const uint32_t at = all->pairs->firsts[i] + k, of = all->pairs->of[at];
            all->before[at] = NVT_NONE;
            failed = add_times(&all->times[i], all->pairs, i, k);
            if (of == NVT_NONE || failed)
                continue;
            uint32_t *before = nvt_map_at(&last, nvt_rank_part_group(&ranks->items[i], k));
            failed = !before;
            if (!before)
                break;
            all->before[at] = *before == NVT_MAP_NONE ? NVT_NONE : *before;
            if (!all->is_overlapped[of])
                *before = k;
        }
        nvt_map_free(&last);
    }
    return failed ? -1 : 0;
}

static struct since since_before(const struct blaming *all, struct nvt_rank_member member)
{
    const struct nvt_rank *rank = &all->pairs->ranks->items[member.rank];
    const struct nvt_rank_part *part = nvt_rank_part_of(all->pairs, member);
    const uint32_t first = all->pairs->firsts[member.rank];
    const uint32_t before = all->before[first + member.part];
    const int has_before = before != NVT_NONE;
    static const struct nvt_rank_done nothing;
    const struct nvt_rank_done *from = has_before ? &rank->parts[before].after : &nothing;
    struct since since = {.work = (double)(part->before.work - from->work),
                          .idle = (double)(part->before.idle - from->idle),
                          .loading = (double)(part->before.loading - from->loading),
                          .collecting = (double)(part->before.collecting - from->collecting),
                          .clock = rank->clock,
                          .kernels = (double)part->before.kernels - from->kernels};
    const struct times *times = &all->times[member.rank];
    const int64_t begin = has_before ? rank->parts[before].end : rank->first;
    since.waits = (double)spent_in(&times->waits, begin, part->start);
    since.missing = (double)spent_in(&times->missing, begin, part->start);
    since.unpaired = (double)spent_in(&times->unpaired, begin, part->start);
    since.transfer = fmax((double)(part->start - begin) - since.work - since.idle - since.waits -
                              since.missing - since.unpaired,
                          0);
    return since;
}

/* The collective in which the rank of a part waited longest since the one before it, or, of `missing`, the part of a group of
 * which ranks are not in the input that took longest. NVT_NONE: none. */
static uint32_t longest_wait(const struct blaming *all, struct nvt_rank_member member, int missing)
{
    const struct nvt_rank *rank = &all->pairs->ranks->items[member.rank];
    const uint32_t first = all->pairs->firsts[member.rank];
    const uint32_t before = all->before[first + member.part];
    const int64_t begin = before == NVT_NONE ? INT64_MIN : rank->parts[before].end,
                  end = rank->parts[member.part].start;
    int64_t most = 0;
    uint32_t longest = NVT_NONE;
    uint32_t k = before == NVT_NONE || before < LOOKED_BACK ? 0 : before - LOOKED_BACK;
    if (member.part - k > LOOKED_AT)
        k = member.part - LOOKED_AT;
    for (; k < member.part; k++) {
        const struct nvt_rank_part *part = &rank->parts[k];
        const int64_t met = nvt_clock_sum(
            part->start,
            (int64_t)nvt_rank_exposed_wait(all->pairs, (struct nvt_rank_member){member.rank, k}));
        const int64_t from = missing ? met : part->start, to = missing ? part->end : met;
        const int64_t ns = (to < end ? to : end) - (from > begin ? from : begin);
        if (ns > most && all->pairs->of[first + k] != NVT_NONE &&
            (!missing ||
             nvt_rank_group_is_part(&all->pairs->ranks->groups[nvt_rank_part_group(rank, k)]))) {
            most = ns;
            longest = missing ? k : all->pairs->of[first + k];
        }
    }
    return longest;
}

/* How much more the rank that came last did than those that waited for it, by how long they waited. */
static struct since more_than_others(const struct blaming *all,
                                     const struct nvt_rank_collective *item,
                                     struct nvt_rank_member *last, struct since *others)
{
    const struct nvt_rank_member *members = &all->pairs->members[item->member];
    struct since more = {0};
    double weights = 0;
    for (uint32_t i = 0; i < item->ranks; i++)
        if (members[i].rank == item->shortest)
            *last = members[i];
    const struct since own = since_before(all, *last);
    *others = more;
    for (uint32_t i = 0; i < item->ranks; i++) {
        const struct nvt_rank_part *part = nvt_rank_part_of(all->pairs, members[i]);
        const double weight = (double)(part->end - part->start - item->least);
        if (members[i].rank == item->shortest || weight <= 0)
            continue;
        const struct since its = since_before(all, members[i]);
        weights += weight;
        others->work += weight * its.work;
        others->kernels += weight * its.kernels;
        others->clock += weight * its.clock;
        more.work += weight * (own.work - its.work);
        more.idle += weight * (own.idle - its.idle);
        more.loading += weight * (own.loading - its.loading);
        more.collecting += weight * (own.collecting - its.collecting);
        more.kernels += weight * (own.kernels - its.kernels);
        more.waits += weight * (own.waits - its.waits);
        more.transfer += weight * (own.transfer - its.transfer);
        more.missing += weight * (own.missing - its.missing);
        more.unpaired += weight * (own.unpaired - its.unpaired);
    }
    if (weights > 0) {
        others->work /= weights;
        others->kernels /= weights;
        others->clock /= weights;
        more = (struct since){.work = more.work / weights,
                              .idle = more.idle / weights,
                              .loading = more.loading / weights,
                              .collecting = more.collecting / weights,
                              .clock = own.clock,
                              .kernels = more.kernels / weights,
                              .waits = more.waits / weights,
                              .transfer = more.transfer / weights,
                              .missing = more.missing / weights,
                              .unpaired = more.unpaired / weights};
    }
    return more;
}

int nvt_is_clocked_down(double clock, double others, double work, double longer)
{
    const double ratio = others / clock;
    return ratio >= LEAST_CLOCK && 2 * work * (ratio - 1) >= longer;
}

/* Why its kernels took longer. */
static uint8_t cause_of_work(const struct since *more, const struct since *others)
{
    const double each = others->kernels > 0 ? others->work / others->kernels : 0;
    if (2 * more->kernels * each >= more->work && each > 0)
        return NVT_LATE_WORK;
    return nvt_is_clocked_down(more->clock, others->clock, others->work, more->work)
               ? NVT_LATE_CLOCK
               : NVT_LATE_KERNELS;
}

/* Whether the collective is a message to or from a rank that computes as much in all, as a part of its time: stages of a pipeline wait
 * for each other's work by design. */
static int is_bubble(const struct blaming *all, const struct nvt_rank_collective *item)
{
    const struct nvt_ranks *ranks = all->pairs->ranks;
    const struct nvt_rank *own = &ranks->items[item->shortest];
    const struct nvt_rank *other = &ranks->items[item->longest];
    return (ranks->groups[all->pairs->kinds[item->kind].group].flags & NVT_GROUP_PAIR) &&
           (double)own->compute / (double)own->span <
               (double)other->compute / (double)other->span + MORE_WORK;
}

/* Why its device had nothing to run. */
static uint8_t cause_of_idle(const struct since *more)
{
    return 2 * more->loading >= more->idle      ? NVT_LATE_LOADING
           : 2 * more->collecting >= more->idle ? NVT_LATE_GARBAGE
                                                : NVT_LATE_HOST;
}

/* Why the rank that came last did. */
static struct nvt_rank_reason direct_reason(const struct blaming *all, uint32_t collective)
{
    const struct nvt_rank_collective *item = &all->pairs->items[collective];
    struct nvt_rank_reason reason = {
        .rank = item->shortest, .cause = NVT_LATE_UNKNOWN, .via = NVT_NONE, .group = NVT_NONE};
    struct nvt_rank_member last = {0};
    struct since others;
    if (item->ranks < 2 || item->most <= item->least)
        return reason;
    const struct since more = more_than_others(all, item, &last, &others);
    const double most =
        fmax(fmax(fmax(more.work, more.idle), fmax(more.waits, more.transfer)), more.missing);
    if (most < LEAST_PART * (double)(item->most - item->least) || most < more.unpaired)
        return reason;
    if (more.waits >= most) {
        reason.via = longest_wait(all, last, 0);
    } else if (more.missing >= most) {
        const struct nvt_rank *rank = &all->pairs->ranks->items[last.rank];
        const uint32_t part = longest_wait(all, last, 1);
        reason.cause = part == NVT_NONE ? NVT_LATE_UNKNOWN : NVT_LATE_MISSING;
        reason.group = part == NVT_NONE ? NVT_NONE : nvt_rank_part_group(rank, part);
    } else if (more.work >= most && all->pairs->ranks->items[item->shortest].device == NVT_NONE) {
        reason.cause = NVT_LATE_OUTSIDE;
    } else if (more.work >= most && is_bubble(all, item)) {
        reason.cause = NVT_LATE_BUBBLE;
    } else if (more.work >= most) {
        reason.cause = cause_of_work(&more, &others);
    } else if (more.idle >= most) {
        reason.cause = cause_of_idle(&more);
    } else {
        reason.cause = NVT_LATE_TRANSFER;
    }
    return reason;
}

/* Follow chains to their first. What is met again on its own chain ends it: a file may say what it likes. */
static void follow_chains(struct blaming *all)
{
    struct nvt_rank_reason *reasons = all->blame->reasons;
    for (uint32_t i = 0; i < all->pairs->count; i++) {
        uint32_t at = i, steps = 0;
        while (reasons[at].via != NVT_NONE && !reasons[at].through && steps < all->pairs->count) {
            at = reasons[at].via;
            steps++;
        }
        /* `at` is a first, or one that was followed before. */
        struct nvt_rank_reason first = reasons[at];
        uint32_t through = first.through + steps;
        for (uint32_t next = i; steps; steps--, through--) {
            const uint32_t via = reasons[next].via;
            reasons[next] =
                (struct nvt_rank_reason){first.rank, first.cause, through, via, first.group};
            next = via;
        }
    }
}

/* 0, or -1 when out of memory. */
static int add_wait(struct blaming *all, uint32_t waiting, uint32_t late, uint8_t cause, double ns)
{
    struct nvt_rank_blame *blame = all->blame;
    struct nvt_rank_wait *wait = nvt_map_item(&all->wait_of, (uint64_t)waiting << 32 | late,
                                              &blame->waits, &blame->wait_count, sizeof(*wait));
    if (!wait)
        return -1;
    wait->waiting = waiting;
    wait->late = late;
    wait->ns[cause] += ns;
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_waits(struct blaming *all)
{
    struct nvt_rank_blame *blame = all->blame;
    for (uint32_t i = 0; i < all->pairs->count; i++) {
        const struct nvt_rank_collective *item = &all->pairs->items[i];
        const struct nvt_rank_reason *reason = &blame->reasons[i];
        for (uint32_t k = 0; k < item->ranks; k++) {
            const struct nvt_rank_member member = all->pairs->members[item->member + k];
            const double ns = nvt_rank_exposed_wait(all->pairs, member);
            blame->met[member.rank]++;
            if (ns <= 0)
                continue;
            blame->waited[member.rank] += ns;
            if (member.rank == reason->rank)
                continue; /* what it held up holds it up */
            if (reason->through)
                blame->through_ns[reason->rank] += ns;
            if (add_wait(all, member.rank, reason->rank, reason->cause, ns))
                return -1;
        }
        blame->last[reason->rank] += item->most > item->least;
    }
    return 0;
}

int nvt_rank_blame_make(struct nvt_rank_blame *blame, const struct nvt_rank_pairs *pairs,
                        struct nvt_error *err)
{
    const size_t ranks = (size_t)pairs->ranks->count + 1,
                 parts = (size_t)pairs->firsts[pairs->ranks->count] + 1;
    struct blaming all = {.blame = blame,
                          .pairs = pairs,
                          .before = malloc(parts * sizeof(*all.before)),
                          .is_overlapped = calloc((size_t)pairs->count + 1, 1),
                          .times = calloc(ranks, sizeof(*all.times))};
    blame->pairs = pairs;
    blame->reasons = malloc(((size_t)pairs->count + 1) * sizeof(*blame->reasons));
    blame->waited = calloc(ranks, sizeof(*blame->waited));
    blame->through_ns = calloc(ranks, sizeof(*blame->through_ns));
    blame->last = calloc(ranks, sizeof(*blame->last));
    blame->met = calloc(ranks, sizeof(*blame->met));
    int failed = !all.before || !all.is_overlapped || !all.times || !blame->reasons ||
                 !blame->waited || !blame->through_ns || !blame->last || !blame->met;
    if (!failed)
        find_overlapped(&all);
    failed = failed || find_before(&all);
    for (uint32_t i = 0; i < pairs->count && !failed; i++)
        blame->reasons[i] = direct_reason(&all, i);
    if (!failed)
        follow_chains(&all);
    failed = failed || add_waits(&all);
    nvt_map_free(&all.wait_of);
    for (uint32_t i = 0; i < pairs->ranks->count && all.times; i++) {
        nvt_spent_free(&all.times[i].waits);
        nvt_spent_free(&all.times[i].missing);
        nvt_spent_free(&all.times[i].unpaired);
    }
    free(all.before);
    free(all.is_overlapped);
    free(all.times);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_rank_blame_free(struct nvt_rank_blame *blame)
{
    free(blame->reasons);
    free(blame->waits);
    free(blame->waited);
    free(blame->through_ns);
    free(blame->last);
    free(blame->met);
}
