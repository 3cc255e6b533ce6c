#include "rank_pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../model/align.h"
#include "../model/clock_fit.h"

/* Ranks leave a collective within this, or within a quarter of what they wait in it. */
#define TOGETHER_NS 20000

/* The collectives of a kind on a rank. */
struct series {
    uint32_t rank, kind;
    uint32_t count;
    uint32_t offset; /* so many of the first are not paired */
    uint32_t *parts;
    int64_t *ends;
    uint64_t last_sequence;
};

struct pairing {
    struct nvt_rank_pairs *pairs;
    struct nvt_ranks *ranks;
    struct nvt_map kind_of;   /* group << 32 | name */
    struct nvt_map series_of; /* kind << 32 | rank */
    struct series *series;
    uint32_t series_count;
    struct nvt_map item_of; /* kind << 32 | number */
};

/* --- what there is --- */

static struct series *series_at(struct pairing *all, uint32_t rank, uint32_t part)
{
    struct nvt_rank_pairs *pairs = all->pairs;
    const uint32_t name = nvt_rank_part_name(&all->ranks->items[rank], part);
    const uint32_t group = nvt_rank_part_group(&all->ranks->items[rank], part);
    const uint32_t before = pairs->kind_count;
    const uint32_t kind = nvt_map_row(&all->kind_of, (uint64_t)group << 32 | name, &pairs->kinds,
                                      &pairs->kind_count, sizeof(*pairs->kinds));
    if (kind == NVT_MAP_NONE)
        return NULL;
    if (kind == before)
        pairs->kinds[kind] = (struct nvt_rank_kind){.name = name, .group = group, .by_sequence = 1};
    struct series *series = nvt_map_item(&all->series_of, (uint64_t)kind << 32 | rank, &all->series,
                                         &all->series_count, sizeof(*series));
    if (series) {
        series->rank = rank;
        series->kind = kind;
    }
    return series;
}

static int add_part(struct pairing *all, uint32_t rank, uint32_t index)
{
    const struct nvt_rank_part *part = &all->ranks->items[rank].parts[index];
    struct series *series = series_at(all, rank, index);
    if (!series || nvt_grow(&series->parts, series->count, sizeof(*series->parts)) ||
        nvt_grow(&series->ends, series->count, sizeof(*series->ends)))
        return -1;
    struct nvt_rank_kind *kind = &all->pairs->kinds[series->kind];
    if (part->sequence > UINT32_MAX || (series->count && part->sequence <= series->last_sequence))
        kind->by_sequence = 0;
    series->last_sequence = part->sequence;
    series->parts[series->count] = index;
    series->ends[series->count++] = part->end;
    return 0;
}

/* Kinds begin as paired by their sequence numbers; ranks of groups are counted. 0, or -1 when out of memory. */
static int add_parts(struct pairing *all)
{
    struct nvt_map seen = {0}; /* group << 32 | rank */
    int failed = 0;
    for (uint32_t i = 0; i < all->ranks->count && !failed; i++) {
        const struct nvt_rank *rank = &all->ranks->items[i];
        all->pairs->parties += rank->part_count > 0;
        for (uint32_t k = 0; k < rank->part_count && !failed; k++) {
            const uint32_t group = nvt_rank_part_group(rank, k);
            uint32_t *at = nvt_map_at(&seen, (uint64_t)group << 32 | i);
            failed = !at || add_part(all, i, k);
            if (at && *at == NVT_MAP_NONE) {
                *at = 0;
                all->ranks->groups[group].present++;
            }
        }
    }
    nvt_map_free(&seen);
    return failed ? -1 : 0;
}

/* --- which belong together --- */

static int is_whole(const struct nvt_rank_group *group)
{
    return (group->flags & (NVT_GROUP_ASSUMED | NVT_GROUP_CALLS)) != 0;
}

static void judge_kind(const struct pairing *all, struct nvt_rank_kind *kind)
{
    const struct nvt_rank_group *group = &all->ranks->groups[kind->group];
    kind->by_sequence &= !(group->flags & NVT_GROUP_ASSUMED);
    if (group->size && group->present > group->size && !is_whole(group))
        kind->state = NVT_KIND_CROWDED;
    else if (kind->ranks < (is_whole(group) ? all->pairs->parties : group->present))
        kind->state = NVT_KIND_NOT_ALL;
}

/* Align the ranks that have more of a kind than the one with the fewest; `least` is that of each kind. */
static void align_ranks(struct pairing *all, const uint32_t *least)
{
    for (uint32_t i = 0; i < all->series_count; i++) {
        struct series *series = &all->series[i];
        struct nvt_rank_kind *kind = &all->pairs->kinds[series->kind];
        if (kind->by_sequence || series->count == kind->fewest ||
            (kind->state != NVT_KIND_PAIRED && kind->state != NVT_KIND_BY_GAPS))
            continue;
        kind->state = nvt_align(all->series[least[series->kind]].ends, kind->fewest, series->ends,
                                series->count, &series->offset)
                          ? NVT_KIND_BY_GAPS
                          : NVT_KIND_UNEVEN;
    }
}

/* 0, or -1 when out of memory. */
static int judge_kinds(struct pairing *all)
{
    struct nvt_rank_kind *kinds = all->pairs->kinds;
    uint32_t *least = malloc(((size_t)all->pairs->kind_count + 1) * sizeof(*least));
    if (!least)
        return -1;
    for (uint32_t i = 0; i < all->series_count; i++) {
        const struct series *series = &all->series[i];
        struct nvt_rank_kind *kind = &kinds[series->kind];
        if (!kind->ranks++ || series->count < kind->fewest) {
            kind->fewest = series->count;
            least[series->kind] = i;
        }
        kind->most = series->count > kind->most ? series->count : kind->most;
    }
    for (uint32_t i = 0; i < all->pairs->kind_count; i++)
        judge_kind(all, &kinds[i]);
    align_ranks(all, least);
    free(least);
    return 0;
}

static int is_paired(const struct nvt_rank_kind *kind)
{
    return kind->state == NVT_KIND_PAIRED || kind->state == NVT_KIND_BY_GAPS;
}

/* Whether the ranks of an assumed group leave together, but for what clocks differ by: 1 or 0, or -1 when out of memory. */
static int leave_together(const struct pairing *all, uint32_t kind, const uint32_t *of_kind,
                          uint32_t count)
{
    const uint32_t paired = all->pairs->kinds[kind].fewest;
    const struct series *first = &all->series[of_kind[0]];
    double *waits = malloc(((size_t)paired + 1) * sizeof(*waits));
    int result = waits ? 1 : -1;
    for (uint32_t k = 1; k < count && result > 0; k++) {
        const struct series *other = &all->series[of_kind[k]];
        struct nvt_clock_fit fit;
        if (nvt_clock_fit(first->ends + first->offset, other->ends + other->offset, paired, &fit)) {
            result = -1;
            break;
        }
        for (uint32_t i = 0; i < paired; i++) {
            const struct nvt_rank_part
                *a = &all->ranks->items[first->rank].parts[first->parts[first->offset + i]],
                *b = &all->ranks->items[other->rank].parts[other->parts[other->offset + i]];
            waits[i] = (double)llabs((a->end - a->start) - (b->end - b->start));
        }
        const double wait = nvt_sample_median(waits, paired) / 4;
        result = fit.residual_ns <= (wait > TOGETHER_NS ? wait : TOGETHER_NS);
    }
    free(waits);
    return result;
}

/* 0, or -1 when out of memory. */
static int check_assumed(struct pairing *all)
{
    uint32_t *of_kind = malloc(((size_t)all->series_count + 1) * sizeof(*of_kind));
    int failed = !of_kind;
    for (uint32_t kind = 0; kind < all->pairs->kind_count && !failed; kind++) {
        uint32_t count = 0;
        if (!is_paired(&all->pairs->kinds[kind]) ||
            !(all->ranks->groups[all->pairs->kinds[kind].group].flags & NVT_GROUP_ASSUMED))
            continue;
        for (uint32_t i = 0; i < all->series_count; i++)
            if (all->series[i].kind == kind)
                of_kind[count++] = i;
        const int together = count ? leave_together(all, kind, of_kind, count) : 1;
        failed = together < 0;
        if (!together)
            all->pairs->kinds[kind].state = NVT_KIND_SCATTERED;
    }
    free(of_kind);
    return failed ? -1 : 0;
}

/* --- collectives --- */

static void add_time(struct nvt_rank_collective *item, uint32_t rank, int64_t time)
{
    if (!item->ranks || time < item->least) {
        item->least = time;
        item->shortest = rank;
    }
    if (!item->ranks || time > item->most) {
        item->most = time;
        item->longest = rank;
    }
    item->ranks++;
    item->sum = nvt_clock_sum(item->sum, time);
}

/* 0, or -1 when out of memory. */
static int pair_series(struct pairing *all, const struct series *series)
{
    struct nvt_rank_pairs *pairs = all->pairs;
    const struct nvt_rank_kind *kind = &pairs->kinds[series->kind];
    const struct nvt_rank *rank = &all->ranks->items[series->rank];
    const uint32_t count = kind->by_sequence ? series->count : kind->fewest;
    for (uint32_t i = 0; i < count && is_paired(kind); i++) {
        const uint32_t part = series->parts[series->offset + i];
        const uint32_t number = kind->by_sequence ? (uint32_t)rank->parts[part].sequence : i + 1;
        const uint32_t row = nvt_map_row(&all->item_of, (uint64_t)series->kind << 32 | number,
                                         &pairs->items, &pairs->count, sizeof(*pairs->items));
        if (row == NVT_MAP_NONE)
            return -1;
        pairs->items[row].kind = series->kind;
        pairs->items[row].number = number;
        add_time(&pairs->items[row], series->rank, rank->parts[part].end - rank->parts[part].start);
        pairs->of[pairs->firsts[series->rank] + part] = row;
    }
    return 0;
}

/* Those that not every rank of the group has come to are left out. */
static void drop_partial(struct pairing *all)
{
    struct nvt_rank_pairs *pairs = all->pairs;
    const uint32_t parts = pairs->firsts[all->ranks->count];
    for (uint32_t i = 0; i < parts; i++)
        if (pairs->of[i] != NVT_NONE &&
            pairs->items[pairs->of[i]].ranks < pairs->kinds[pairs->items[pairs->of[i]].kind].ranks)
            pairs->of[i] = NVT_NONE;
}

/* 0, or -1 when out of memory. */
static int list_members(struct pairing *all)
{
    struct nvt_rank_pairs *pairs = all->pairs;
    uint32_t at = 0;
    pairs->members =
        malloc(((size_t)pairs->firsts[all->ranks->count] + 1) * sizeof(*pairs->members));
    if (!pairs->members)
        return -1;
    for (uint32_t i = 0; i < pairs->count; i++) {
        pairs->items[i].member = at;
        at += pairs->items[i].ranks;
        pairs->items[i].ranks = 0;
    }
    for (uint32_t i = 0; i < all->ranks->count; i++)
        for (uint32_t k = 0; k < all->ranks->items[i].part_count; k++) {
            const uint32_t of = pairs->of[pairs->firsts[i] + k];
            if (of != NVT_NONE)
                pairs->members[pairs->items[of].member + pairs->items[of].ranks++] =
                    (struct nvt_rank_member){i, k};
        }
    return 0;
}

static int pair_all(struct pairing *all)
{
    struct nvt_rank_pairs *pairs = all->pairs;
    uint32_t parts = 0;
    pairs->firsts = malloc(((size_t)all->ranks->count + 1) * sizeof(*pairs->firsts));
    if (!pairs->firsts || add_parts(all))
        return -1;
    for (uint32_t i = 0; i < all->ranks->count; i++) {
        pairs->firsts[i] = parts;
        parts += all->ranks->items[i].part_count;
    }
    pairs->firsts[all->ranks->count] = parts;
    pairs->of = malloc(((size_t)parts + 1) * sizeof(*pairs->of));
    if (!pairs->of)
        return -1;
    memset(pairs->of, 0xff, ((size_t)parts + 1) * sizeof(*pairs->of));
    if (judge_kinds(all) || check_assumed(all))
        return -1;
    for (uint32_t i = 0; i < all->series_count; i++)
        if (pair_series(all, &all->series[i]))
            return -1;
    drop_partial(all);
    return list_members(all);
}

int nvt_rank_pairs_make(struct nvt_rank_pairs *pairs, struct nvt_ranks *ranks,
                        struct nvt_error *err)
{
    struct pairing all = {.pairs = pairs, .ranks = ranks};
    pairs->ranks = ranks;
    const int failed = pair_all(&all);
    for (uint32_t i = 0; i < all.series_count; i++) {
        free(all.series[i].parts);
        free(all.series[i].ends);
    }
    free(all.series);
    nvt_map_free(&all.kind_of);
    nvt_map_free(&all.series_of);
    nvt_map_free(&all.item_of);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_rank_pairs_free(struct nvt_rank_pairs *pairs)
{
    free(pairs->kinds);
    free(pairs->items);
    free(pairs->members);
    free(pairs->firsts);
    free(pairs->of);
}

const char *nvt_rank_kind_note(const struct nvt_rank_pairs *pairs, uint32_t kind, char *out,
                               size_t size)
{
    const struct nvt_rank_kind *of = &pairs->kinds[kind];
    const struct nvt_rank_group *group = &pairs->ranks->groups[of->group];
    char name[320], text[160];
    snprintf(name, sizeof(name), "%.120s%s%s", nvt_strings_get(pairs->ranks->names, of->name, NULL),
             group->name ? " of group " : "",
             group->name ? nvt_rank_group_text(pairs->ranks, of->group, text, sizeof(text)) : "");
    if (of->state == NVT_KIND_CROWDED)
        snprintf(out, size,
                 "%s is left out: %u ranks name the group, which has %u: which of them "
                 "are in it together is unknown",
                 name, group->present, group->size);
    else if (of->state == NVT_KIND_SCATTERED)
        snprintf(out, size,
                 "%s is left out: no group is recorded, and the ranks do not leave it "
                 "together: which of them wait for which is unknown",
                 name);
    else if (of->state == NVT_KIND_NOT_ALL)
        snprintf(out, size, "%s is left out: not every rank has it", name);
    else if (of->by_sequence || of->fewest == of->most)
        return NULL;
    else
        snprintf(out, size, "ranks have %u to %u of %s: %s", of->fewest, of->most, name,
                 of->state == NVT_KIND_UNEVEN ? "left out" : "paired by the gaps between them");
    return out;
}
