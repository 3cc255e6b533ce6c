/*
 * stragglers: which rank the others wait for, over many files. A rank is a device of a process; its
 * number is that of the job when it is on record.
 *
 * Which collectives belong together, and what is waited in them, is in rank_pairs.h: each is compared within its group.
 * Messages count where both ends are known, or all ranks send as often and leave together.
 *
 * Without kernels that communicate, calls of MPI in which every rank waits for all (nvt_mpi_waits_for_all) are taken in their
 * place, on one communicator (rank_digest_mpi.c): a rank is a process then, and what it does outside of MPI counts as computing.
 *
 * The first table has a row a rank: how often it came last, how long it waited, and the time in
 * which it computed, against the median of the ranks. The second one lists the collectives with the
 * longest waits. The third one has whom ranks wait for and why that one is late (rank_blame.h), as far as no kernel computes
 * meanwhile; the fourth one splits the collectives of each group into waits and transfer, the shortest kernel of each, with its bus
 * bandwidth (messages.h). The last one has how far clocks are from that of the first rank that a rank meets (rank_clocks.h), where
 * traces know the time of day.
 */
#include <math.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/sample.h"
#include "../../lib/text.h"
#include "../device/devices.h"
#include "../input/clocks.h"
#include "../studies/rank_blame.h"
#include "../studies/rank_clocks.h"
#include "../studies/rank_shares.h"
#include "../studies/rank_sums.h"
#include "report.h"

/* Collectives that are listed, and kinds that are noted. */
#define LONGEST 20
#define NOTED   8

/* Groups of which ranks are missing: what those that are there wait for may be one of these. */
static void note_missing(const struct nvt_ranks *ranks, struct nvt_input *input)
{
    uint32_t noted = 0;
    char text[160];
    for (uint32_t i = 0; i < ranks->group_count && noted < NOTED; i++) {
        const struct nvt_rank_group *group = &ranks->groups[i];
        if (group->present < 2 || group->present >= group->size)
            continue;
        noted++;
        nvt_note(
            input,
            "note: %u of %u ranks of group %s are in the input: the last of these may wait for "
            "one that is not",
            group->present, group->size, nvt_rank_group_text(ranks, i, text, sizeof(text)));
    }
}

static void note_kinds(const struct nvt_rank_pairs *pairs, struct nvt_input *input)
{
    uint32_t noted = 0;
    char text[512];
    note_missing(pairs->ranks, input);
    if (pairs->ranks->left_out)
        nvt_note(
            input,
            "note: %llu collective calls are left out: they are on another communicator or group "
            "than the one that is taken for that of all ranks",
            (unsigned long long)pairs->ranks->left_out);
    for (uint32_t i = 0; i < pairs->kind_count; i++)
        if (nvt_rank_kind_note(pairs, i, text, sizeof(text)) && noted++ < NOTED)
            nvt_note(input, "note: %s", text);
    if (noted > NOTED)
        nvt_note(input, "note: %u more names are left out, or paired by the gaps between them",
                 noted - NOTED);
}

/* 0, or -1 when out of memory. */
static int put_stragglers_ranks(struct nvt_table *table, const struct nvt_rank_pairs *pairs,
                                struct nvt_input *input)
{
    const struct nvt_ranks *ranks = pairs->ranks;
    struct nvt_rank_share *shares = nvt_rank_shares(pairs);
    double *values = malloc(((size_t)ranks->count + 1) * sizeof(*values));
    const int failed = !shares || !values;
    size_t known = 0;
    char note[200];
    for (uint32_t i = 0; i < ranks->count && !failed; i++)
        if (!isnan(shares[i].compute))
            values[known++] = shares[i].compute;
    const double median = nvt_sample_median(values, known);
    free(values);
    for (uint32_t i = 0; i < ranks->count && !failed; i++) {
        const struct nvt_rank *rank = &ranks->items[i];
        const struct nvt_trace *trace = rank->from->trace;
        const struct nvt_rank_standing standing = nvt_rank_standing_of(pairs, i);
        nvt_table_put(
            table, nvt_rank_shown(ranks, i), nvt_file_name(trace->path),
            trace->processes.pid[rank->process],
            NVT_IF(rank->device != NVT_NONE, NVT_DEVICE(trace, rank->process, rank->device)),
            rank->span, rank->compute, nvt_percent(shares[i].compute, median) - 100,
            standing.collectives);
        if (standing.collectives)
            nvt_table_more(table, standing.last, nvt_percent(standing.last, standing.collectives),
                           standing.waited, nvt_percent(standing.waited, rank->span));
    }
    if (!failed && nvt_rank_shares_note(ranks, shares, note, sizeof(note)))
        nvt_note(input, "note: %s", note);
    free(shares);
    return failed ? -1 : 0;
}

/* A row of each late rank and cause, added up over the ranks that wait for it. 0, or -1 when out of memory. */
static int put_causes(struct nvt_table *table, const struct nvt_rank_blame *blame)
{
    const struct nvt_ranks *ranks = blame->pairs->ranks;
    struct nvt_rank_late_sum *reasons = nvt_rank_late_sums(blame);
    for (size_t i = 0; i < (size_t)ranks->count * NVT_LATE_CAUSES && reasons; i++)
        if (reasons[i].waiting)
            nvt_table_put(table, nvt_rank_shown(ranks, (uint32_t)(i / NVT_LATE_CAUSES)),
                          nvt_late_cause_text((enum nvt_late_cause)(i % NVT_LATE_CAUSES)),
                          reasons[i].waiting, (int64_t)reasons[i].ns, (int64_t)reasons[i].most,
                          reasons[i].share);
    free(reasons);
    return reasons ? 0 : -1;
}

/* 0, or -1 when out of memory. */
static int put_groups(struct nvt_table *table, const struct nvt_rank_pairs *pairs)
{
    const struct nvt_ranks *ranks = pairs->ranks;
    struct nvt_rank_group_sum *sums = nvt_rank_group_sums(pairs);
    for (uint32_t i = 0; i < ranks->group_count && sums; i++) {
        char text[160];
        if (sums[i].collectives)
            nvt_table_put(table, nvt_rank_group_text(ranks, i, text, sizeof(text)),
                          ranks->groups[i].present, sums[i].collectives, sums[i].waited,
                          sums[i].transfer, sums[i].bus);
    }
    free(sums);
    return sums ? 0 : -1;
}

/* --- clocks --- */

/* Ranks that are compared with their own first one, as they meet that of the job in no collective. */
static void note_roots(const struct nvt_ranks *ranks, const struct nvt_rank_clock_fit *clocks,
                       struct nvt_input *input)
{
    uint32_t apart = 0, example = 0;
    for (uint32_t i = 0; i < ranks->count; i++)
        if (clocks[i].root && clocks[i].root != i) {
            example = apart++ ? example : i;
        }
    if (apart)
        nvt_note(input,
                 "note: clocks of %u rank%s are compared with another one's than rank %lld's, as "
                 "they meet it in no "
                 "collectives: rank %lld's with rank %lld's",
                 apart, apart == 1 ? "" : "s", (long long)nvt_rank_shown(ranks, 0),
                 (long long)nvt_rank_shown(ranks, example),
                 (long long)nvt_rank_shown(ranks, clocks[example].root));
}

/* Of ranks of other traces than the first that they meet. 0, or -1 when out of memory. */
static int put_clocks(struct nvt_table *table, const struct nvt_rank_pairs *pairs,
                      struct nvt_input *input)
{
    const struct nvt_ranks *ranks = pairs->ranks;
    struct nvt_rank_clock_fit *clocks = nvt_rank_clocks(pairs);
    for (uint32_t i = 0; i < ranks->count && clocks; i++) {
        const struct nvt_trace *own = ranks->items[i].from->trace,
                               *first = ranks->items[clocks[i].root].from->trace;
        if (own == first)
            continue;
        const int64_t start = ranks->items[i].first, begin = nvt_rank_clock_time(clocks, i, start),
                      end = nvt_rank_clock_time(clocks, i,
                                                nvt_clock_sum(start, ranks->items[i].span));
        const int is_known = nvt_has_realtime(own) && nvt_has_realtime(first);
        const double drift = (double)(end - begin - ranks->items[i].span);
        nvt_table_put(
            table, nvt_rank_shown(ranks, i), nvt_rank_shown(ranks, clocks[i].through),
            clocks[i].steps,
            NVT_IF(is_known,
                   nvt_clock_since(nvt_clock_sum(start, nvt_realtime_shift(own, first)), begin)),
            ranks->items[i].span > 0 ? 0 - 1e6 * drift / (double)ranks->items[i].span : NAN,
            clocks[i].residual_ns, nvt_rank_shown(ranks, clocks[i].root));
    }
    const int failed = !clocks;
    if (clocks && pairs->parties > 1)
        note_roots(ranks, clocks, input);
    free(clocks);
    return failed ? -1 : 0;
}

/* --- the report --- */

/* 0, or -1 when out of memory. */
static int put_waits(struct nvt_table *table, const struct nvt_rank_pairs *pairs)
{
    const struct nvt_ranks *ranks = pairs->ranks;
    uint32_t count;
    const struct nvt_rank_collective **items = nvt_rank_longest_waits(pairs, &count);
    for (uint32_t i = 0; i < count && i < LONGEST; i++) {
        const struct nvt_rank_collective *item = items[i];
        const struct nvt_rank_kind *kind = &pairs->kinds[item->kind];
        char group[160];
        nvt_table_put(table, nvt_strings_get(ranks->names, kind->name, NULL),
                      nvt_rank_group_text(ranks, kind->group, group, sizeof(group)), item->number,
                      item->most - item->least, nvt_rank_all_waits(item),
                      nvt_rank_shown(ranks, item->shortest), nvt_rank_shown(ranks, item->longest));
    }
    free((void *)items);
    return items ? 0 : -1;
}

/* Why they are late, of devices alone: what processes do outside of MPI is not looked at here. 0, or -1 with err. */
static int put_reasons(const struct nvt_making *making, const struct nvt_rank_pairs *pairs)
{
    struct nvt_rank_blame blame = {0};
    int status = 0;
    if (pairs->parties < 2 || !nvt_rank_has_done(&pairs->ranks->items[0])) {
        nvt_making_leave_out(making, 2);
    } else {
        status = nvt_rank_blame_make(&blame, pairs, making->err);
        if (!status && put_causes(making->tables[2], &blame))
            status = nvt_fail(making->err, "out of memory");
    }
    nvt_rank_blame_free(&blame);
    return status;
}

static int put_stragglers(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_ranks ranks = {0};
    struct nvt_rank_pairs pairs = {0};
    int status = nvt_ranks_find(&ranks, making->input, NULL, 0, making->err);
    if (!status)
        status = nvt_rank_pairs_make(&pairs, &ranks, making->err);
    if (!status && (put_stragglers_ranks(table, &pairs, making->input) ||
                    put_waits(making->tables[1], &pairs) || put_groups(making->tables[3], &pairs) ||
                    put_clocks(making->tables[4], &pairs, making->input)))
        status = nvt_fail(making->err, "out of memory");
    if (!status)
        status = put_reasons(making, &pairs);
    if (!status)
        note_kinds(&pairs, making->input);
    if (pairs.parties < 2) {
        nvt_making_leave_out(making, 1);
        nvt_making_leave_out(making, 3);
        nvt_making_leave_out(making, 4);
    }
    if (!status && pairs.parties < 2)
        nvt_note(making->input, "note: no collectives of two or more ranks in the input");
    nvt_rank_pairs_free(&pairs);
    nvt_ranks_free(&ranks);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.title = "Collectives with the longest waits",
     .columns = {{"Collective", NVT_NAMES},
                 {"Group", NVT_NAMES},
                 {"Number", NVT_COUNTS},
                 {"Longest Wait (ns)", NVT_NS},
                 {"All Waits (ns)", NVT_NS},
                 {"Last Rank", NVT_IDS},
                 {"First Rank", NVT_IDS}}},
    {.title = "Why ranks are late",
     .is_optional = 1,
     .columns = {{"Late Rank", NVT_IDS},
                 {"Cause", NVT_NAMES},
                 {"Ranks Waiting", NVT_COUNTS},
                 {"All Waits (ns)", NVT_NS},
                 {"Longest Of A Rank (ns)", NVT_NS},
                 {"Longest Of A Rank (%)", NVT_PERCENT}},
     .order = {"-All Waits (ns)"}},
    {.title = "Groups of ranks",
     .is_optional = 1,
     .columns = {{"Group", NVT_NAMES},
                 {"Ranks", NVT_COUNTS},
                 {"Collectives", NVT_COUNTS},
                 {"Waited (ns)", NVT_NS},
                 {"Transfer (ns)", NVT_NS},
                 {"Bus Med (GB/s)", NVT_REALS("GB/s", 2)}},
     .order = {"-Waited (ns)"}},
    {.title = "Clocks of ranks, by the ends of collectives",
     .is_optional = 1,
     .columns = {{"Rank", NVT_IDS},
                 {"Compared With", NVT_IDS},
                 {"Steps To First", NVT_COUNTS},
                 {"Ahead Of First (ns)", NVT_NS},
                 {"Faster (ppm)", NVT_REALS("ppm", 1)},
                 {"Residual (ns)", NVT_NS_AVERAGE},
                 {"First", NVT_IDS}},
     .order = {"Rank"}},
    {.title = NULL},
};

const struct nvt_report nvt_report_stragglers = {
    .name = "stragglers",
    .about = "stragglers: ranks that the others wait for in collectives, over many files",
    .needs = NVT_TAKES_DIGESTS,
    .columns = {{"Rank", NVT_IDS},
                {"File", NVT_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Device", NVT_NAMES},
                {"Span (ns)", NVT_NS},
                {"Compute (ns)", NVT_NS},
                {"Compute To Median (%)", NVT_PERCENT},
                {"Collectives", NVT_COUNTS},
                {"Came Last", NVT_COUNTS},
                {"Came Last (%)", NVT_PERCENT},
                {"Waited (ns)", NVT_NS},
                {"Waited (%)", NVT_PERCENT}},
    .title = "Stragglers by rank",
    .order = {"Rank"},
    .of_input = put_stragglers,
    .more = more,
};
