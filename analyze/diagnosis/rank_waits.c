#include "rank_waits.h"

#include <stdio.h>
#include <string.h>

static const char all_files[] =
    "read whole files of all ranks of the job together: only these show "
    "what is a wait for a late rank and what is transfer";

static int is_straggler(const struct nvt_stragglers *all, uint32_t rank)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].rank == rank)
            return 1;
    return 0;
}

static void add_part(const struct nvt_stragglers *all, struct nvt_rank_member member,
                     struct nvt_rank_waits *waits)
{
    const struct nvt_rank *rank = &all->ranks.items[member.rank];
    const struct nvt_rank_part *part = &rank->parts[member.part];
    const uint32_t of = all->pairs.of[all->pairs.firsts[member.rank] + member.part];
    const struct nvt_rank_group *group = &all->ranks.groups[nvt_rank_part_group(rank, member.part)];
    const double exposed =
        fmax((double)(part->end - part->start - (part->after.work - part->before.work)), 0);
    const double wait = nvt_rank_exposed_wait(&all->pairs, member);
    waits->exposed += exposed;
    if (nvt_rank_group_is_part(group)) {
        waits->missing += exposed;
        waits->group =
            waits->group == NVT_NONE ? nvt_rank_part_group(rank, member.part) : waits->group;
    }
    if (of == NVT_NONE) {
        waits->unknown += exposed;
        return;
    }
    const struct nvt_rank_reason *reason = &all->blame.reasons[of];
    const uint32_t late = reason->rank;
    if (reason->cause == NVT_LATE_MISSING) {
        waits->missing += wait;
        waits->group = waits->group == NVT_NONE ? reason->group : waits->group;
        return;
    }
    /* A straggler that waits for what it held up itself has no other one to wait for. */
    if (late != member.rank && is_straggler(all, late)) {
        waits->stragglers += wait;
        return;
    }
    waits->others += wait;
    waits->messages += group->flags & NVT_GROUP_PAIR || reason->cause == NVT_LATE_BUBBLE ? wait : 0;
}

struct nvt_rank_waits nvt_rank_waits_of(const struct nvt_stragglers *all, uint32_t rank,
                                        int64_t from, int64_t to)
{
    struct nvt_rank_waits waits = {.group = NVT_NONE};
    const struct nvt_rank *item = &all->ranks.items[rank];
    for (uint32_t i = 0; i < item->part_count; i++)
        if (item->parts[i].start >= from && item->parts[i].start < to)
            add_part(all, (struct nvt_rank_member){rank, i}, &waits);
    return waits;
}

/* The sums of the ranks that a finding is about, of what begins in [from, to). How many ranks these are. */
static uint32_t waits_in(const struct nvt_stragglers *all, const struct nvt_finding *finding,
                         int64_t from, int64_t to, struct nvt_rank_waits *sum)
{
    uint32_t count = 0;
    *sum = (struct nvt_rank_waits){.group = NVT_NONE};
    for (uint32_t i = 0; i < all->ranks.count; i++) {
        const struct nvt_rank *rank = &all->ranks.items[i];
        if (rank->from->trace != finding->trace ||
            (finding->process != NVT_NONE && finding->process != rank->process))
            continue;
        const struct nvt_rank_waits waits = nvt_rank_waits_of(all, i, from, to);
        count++;
        sum->exposed += waits.exposed;
        sum->unknown += waits.unknown;
        sum->missing += waits.missing;
        sum->stragglers += waits.stragglers;
        sum->others += waits.others;
        sum->messages += waits.messages;
        sum->group = sum->group == NVT_NONE ? waits.group : sum->group;
    }
    return count;
}

static void tell_missing(const struct nvt_stragglers *all, const struct nvt_rank_waits *waits,
                         struct nvt_finding *finding)
{
    const struct nvt_rank_group *group = &all->ranks.groups[waits->group];
    char text[160];
    nvt_finding_append(
        finding,
        "; %u of %u ranks of group %.60s are in the input: it may be a wait for one that "
        "is not",
        group->present, group->size,
        nvt_rank_group_text(&all->ranks, waits->group, text, sizeof(text)));
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", all_files);
}

/* Ranks that wait for each other, and for no straggler (`name`, NULL: there is none). */
static void tell_others(struct nvt_finding *finding, const struct nvt_rank_waits *waits,
                        const char *name, double ns)
{
    const double share = 100 * ns / finding->whole_ns;
    if (2 * waits->messages > waits->others) {
        snprintf(finding->what, sizeof(finding->what),
                 "%.0f %% of GPU time is waiting for messages of other ranks: in a pipeline, its "
                 "bubble",
                 share);
        snprintf(
            finding->remedy, sizeof(finding->remedy),
            "nvtally stats -r stages shows the bubble of each stage; more micro-batches, "
            "interleaved stages or a schedule with less bubble (1F1B, zero bubble), stages that "
            "take as long as each other");
    } else {
        snprintf(
            finding->what, sizeof(finding->what),
            "%.0f %% of GPU time is waiting for other ranks in collectives: rank imbalance, %s%s",
            share, name ? "besides straggler " : "no single straggler", name ? name : "");
        snprintf(
            finding->remedy, sizeof(finding->remedy),
            "balance the work of ranks in each iteration (samples bucketed by length, experts), "
            "and look for what disturbs ranks by turns (data loading, garbage collection)");
    }
    nvt_finding_append(finding, "; %s of it are waits for other ranks, the rest is transfer",
                       NVT_TIME(ns));
}

/* Whether most of what a finding is about lies where the file of another rank has nothing, so that no wait is known. */
static int is_unknown(const struct nvt_stragglers *all, const struct nvt_rank_waits *waits)
{
    return all->shares[0].is_part && 2 * waits->unknown > waits->exposed;
}

/* Such a finding: it stays unless the rank waits for stragglers most of the time where that is known. */
static int explain_unknown(const struct nvt_stragglers *all, const char *name,
                           struct nvt_finding *finding)
{
    struct nvt_rank_waits waits;
    (void)waits_in(all, finding, INT64_MIN, INT64_MAX, &waits);
    if (name && 2 * waits.stragglers > waits.exposed - waits.unknown)
        return 0;
    nvt_finding_append(finding, "; not all files of ranks have these collectives: it may be a wait "
                                "for another rank");
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", all_files);
    return 1;
}

/* Whether waits for stragglers are most of what a finding's ranks wait, which is most of their communication. */
static int is_explained(const struct nvt_stragglers *all, const struct nvt_rank_waits *waits)
{
    return all->count && waits->stragglers > waits->others &&
           2 * (waits->stragglers + waits->others) > waits->exposed - waits->unknown;
}

/* Whether a finding stays. */
static int explain(const struct nvt_stragglers *all, const char *name, struct nvt_finding *finding)
{
    struct nvt_rank_waits waits;
    const uint32_t count = waits_in(all, finding, finding->from, finding->to, &waits);
    if (!count || !(finding->units > 0) || waits.exposed <= 0)
        return 1;
    if (is_unknown(all, &waits))
        return explain_unknown(all, name, finding);
    const double units = finding->units * count, late = waits.stragglers / units,
                 others = waits.others / units,
                 known = finding->cost_ns * (1 - waits.unknown / waits.exposed);
    if (name && (2 * late > known || is_explained(all, &waits)))
        return 0;
    if (2 * waits.missing > waits.exposed) {
        tell_missing(all, &waits, finding);
        return 1;
    }
    if (name && late > 0) {
        finding->cost_ns -= late;
        nvt_finding_append(finding, "; a further %s %s are waiting for %s%s", NVT_TIME(late),
                           finding->per, name, all->count > 1 ? " and others" : "");
    }
    if (2 * others > known - late) {
        tell_others(finding, &waits, name, others);
        finding->cost_ns = fmin(others, finding->cost_ns);
    }
    return 1;
}

void nvt_rank_waits_explain(const struct nvt_stragglers *all, const char *cause, const char *name,
                            struct nvt_findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct nvt_finding *finding = &findings->items[i];
        if (finding->cause == cause && !explain(all, name, finding))
            continue;
        findings->items[kept++] = *finding;
    }
    findings->count = kept;
}
