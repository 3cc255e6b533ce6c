/*
 * stragglers: which rank the others wait for, over many files. A rank is a device of a process; its
 * number is that of the job when it is on record.
 *
 * Clocks of machines differ by more than what is looked for, so none are compared: in a collective
 * operation the ranks that come early wait inside of their kernel, and all leave together. So of
 * the kernels that belong together (the n-th of a name on each rank that has such kernels) the
 * shortest is that of the rank that came last, and what the others took longer is what they waited
 * for it. Where a rank has more of a name than another, they are paired by the gaps between them
 * (align.h), or the name is left out. Sends and receives, which concern two ranks only, are left out;
 * collectives of a part of the ranks are taken for those of all.
 *
 * Without such kernels, calls of MPI in which every rank waits for all (nvt_mpi_waits_for_all) are taken in their place,
 * on one communicator (straggler_ranks.c): a rank is a process then, and what it does outside of MPI counts as computing.
 *
 * The first table has a row a rank: how often it came last, how long it waited, and the time in
 * which it computed, against the median of the ranks. The second one lists the collectives with the
 * longest waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sample.h"
#include "../../lib/text.h"
#include "../model/align.h"
#include "../device/devices.h"
#include "../../lib/map.h"
#include "../../lib/grow.h"
#include "report.h"
#include "../studies/straggler_ranks.h"

/* Collectives that are listed. */
#define LONGEST 20

/* A collective: what is known of its kernels on the ranks seen so far. */
struct collective {
    uint32_t name, number;      /* name in `names` */
    uint32_t ranks;             /* that have it */
    uint32_t shortest, longest; /* ranks */
    int64_t least, most, sum;   /* ns */
};

/* The collectives of a name on a rank. */
struct series {
    uint32_t rank, name;
    uint32_t count;
    uint32_t offset; /* so many of the first are not paired */
    int64_t *ends;
};

struct stragglers {
    struct nvt_ranks ranks;
    uint32_t parties;
    struct nvt_strings *names;
    struct nvt_map by_rank; /* rank << 32 | name -> series */
    struct series *series;
    uint32_t series_count;
    uint32_t *paired;       /* of each name, so many of every rank; 0: left out */
    struct nvt_map by_name; /* name << 32 | number -> collective */
    struct collective *items;
    uint32_t count;
};

static struct collective *collective_at(struct stragglers *all, uint32_t name, uint32_t number)
{
    struct collective *item = nvt_map_item(&all->by_name, (uint64_t)name << 32 | number,
                                           &all->items, &all->count, sizeof(*item));
    if (item) {
        item->name = name;
        item->number = number;
    }
    return item;
}

static struct series *series_at(struct stragglers *all, uint32_t rank, uint32_t name)
{
    struct series *series = nvt_map_item(&all->by_rank, (uint64_t)rank << 32 | name, &all->series,
                                         &all->series_count, sizeof(*series));
    if (series) {
        series->rank = rank;
        series->name = name;
    }
    return series;
}

/* Called with each collective of a rank and which of its name it is there, from 1 on. */
typedef int (*visit)(struct stragglers *all, struct series *series,
                     const struct nvt_rank_part *part, uint32_t number);

static int for_each(struct stragglers *all, uint32_t rank, visit what)
{
    const struct nvt_trace *trace = all->ranks.items[rank].trace;
    struct nvt_map numbers = {0};
    int status = 0;
    for (uint32_t i = 0; i < all->ranks.items[rank].part_count && !status; i++) {
        const struct nvt_rank_part *part = &all->ranks.items[rank].parts[i];
        uint32_t name = nvt_strings_add_text(all->names, nvt_name(trace, part->name));
        uint32_t *number = name == NVT_NO_STRING ? NULL : nvt_map_at(&numbers, name);
        struct series *series = number ? series_at(all, rank, name) : NULL;
        if (!series)
            status = -1;
        else {
            *number = *number == NVT_MAP_NONE ? 1 : *number + 1;
            status = what(all, series, part, *number);
        }
    }
    nvt_map_free(&numbers);
    return status;
}

static int note_end(struct stragglers *all, struct series *series, const struct nvt_rank_part *part,
                    uint32_t number)
{
    if (nvt_grow(&series->ends, series->count, sizeof(*series->ends)))
        return -1;
    series->ends[series->count++] = part->end;
    all->ranks.items[series->rank].takes_part = 1;
    (void)number;
    return 0;
}

/* The collective that one of a rank belongs to. NULL: to none, or (*failed) out of memory. */
static struct collective *collective_of(struct stragglers *all, const struct series *series,
                                        uint32_t number, int *failed)
{
    uint32_t paired = all->paired[series->name];
    *failed = 0;
    if (number <= series->offset || number - series->offset > paired)
        return NULL;
    struct collective *item = collective_at(all, series->name, number - series->offset);
    *failed = !item;
    return item;
}

static int note_time(struct stragglers *all, struct series *series,
                     const struct nvt_rank_part *part, uint32_t number)
{
    int failed;
    struct collective *item = collective_of(all, series, number, &failed);
    if (!item)
        return failed ? -1 : 0;
    int64_t time = part->end - part->start;
    if (!item->ranks || time < item->least) {
        item->least = time;
        item->shortest = series->rank;
    }
    if (!item->ranks || time > item->most) {
        item->most = time;
        item->longest = series->rank;
    }
    item->ranks++;
    item->sum += time;
    return 0;
}

/* Add what a rank waited in a collective, once the times of all ranks are known. */
static int note_wait(struct stragglers *all, struct series *series,
                     const struct nvt_rank_part *part, uint32_t number)
{
    struct nvt_rank *rank = &all->ranks.items[series->rank];
    int failed;
    const struct collective *item = collective_of(all, series, number, &failed);
    if (!item)
        return failed ? -1 : 0;
    rank->collectives++;
    rank->waited += part->end - part->start - item->least;
    rank->last += item->shortest == series->rank && item->most > item->least;
    return 0;
}

/* --- which belong together --- */

/* Names that a note is made of, at most. */
#define NOTED 8

/* Of a name: the rank with the fewest, the fewest and the most, how many ranks have it. */
struct counts {
    uint32_t least; /* series */
    uint32_t fewest, most, ranks;
    int apart; /* nobody knows which belong together */
};

static void count_names(const struct stragglers *all, struct counts *counts)
{
    for (uint32_t i = 0; i < all->series_count; i++) {
        const struct series *series = &all->series[i];
        struct counts *name = &counts[series->name];
        if (!name->ranks++ || series->count < name->fewest) {
            name->fewest = series->count;
            name->least = i;
        }
        name->most = series->count > name->most ? series->count : name->most;
    }
}

/* Align the ranks that have more of a name than the one with the fewest. */
static void align_ranks(struct stragglers *all, struct counts *counts)
{
    for (uint32_t i = 0; i < all->series_count; i++) {
        struct series *series = &all->series[i];
        struct counts *name = &counts[series->name];
        if (name->ranks < all->parties || name->apart)
            name->apart = 1;
        else if (series->count > name->fewest)
            name->apart = !nvt_align(all->series[name->least].ends, name->fewest, series->ends,
                                     series->count, &series->offset);
    }
}

static void note_name(const struct stragglers *all, struct nvt_input *input,
                      const struct counts *counts, const char *name)
{
    if (counts->ranks < all->parties)
        nvt_note(input, "note: %s is left out: not every rank has it", name);
    else
        nvt_note(input, "note: ranks have %u to %u of %s: %s", counts->fewest, counts->most, name,
                 counts->apart ? "left out" : "paired by the gaps between them");
}

/* How many of each name are paired; what is not, or not by mere counting, is said. */
static int pair_names(struct stragglers *all, struct nvt_input *input)
{
    uint32_t count = nvt_strings_count(all->names), noted = 0;
    struct counts *counts = calloc((size_t)count + 1, sizeof(*counts));
    all->paired = calloc((size_t)count + 1, sizeof(*all->paired));
    if (!counts || !all->paired) {
        free(counts);
        return -1;
    }
    count_names(all, counts);
    align_ranks(all, counts);
    for (uint32_t i = 0; i < count; i++) {
        all->paired[i] = counts[i].apart ? 0 : counts[i].fewest;
        if ((counts[i].apart || counts[i].fewest < counts[i].most) && noted++ < NOTED)
            note_name(all, input, &counts[i], nvt_strings_get(all->names, i, NULL));
    }
    if (noted > NOTED)
        nvt_note(input, "note: %u more names are left out, or paired by the gaps between them",
                 noted - NOTED);
    free(counts);
    return 0;
}

/* Which belong together, their times, and what each rank waited for. */
static int collect_stragglers(struct stragglers *all, struct nvt_input *input,
                              struct nvt_error *err)
{
    static const visit passes[] = {note_end, note_time, note_wait};
    all->names = nvt_strings_new();
    if (!all->names)
        return nvt_fail(err, "out of memory");
    if (nvt_ranks_find(&all->ranks, input, err))
        return -1;
    if (all->ranks.left_out)
        nvt_note(
            input,
            "note: %llu collective calls are left out: they are on another communicator or group "
            "than the one that is taken for that of all ranks",
            (unsigned long long)all->ranks.left_out);
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < all->ranks.count; i++)
            if (for_each(all, i, passes[pass]))
                return nvt_fail(err, "out of memory");
        for (uint32_t i = 0; !pass && i < all->ranks.count; i++)
            all->parties += (uint32_t)all->ranks.items[i].takes_part;
        if (!pass && pair_names(all, input))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

/* A rank's number, or its place among the ranks that were read where the job's is not known. */
static int64_t shown_number(const struct stragglers *all, uint32_t rank)
{
    return all->ranks.items[rank].number >= 0 ? all->ranks.items[rank].number : rank;
}

static int put_stragglers_ranks(struct nvt_table *table, const struct stragglers *all)
{
    struct nvt_summary compute;
    double *values = malloc(((size_t)all->ranks.count + 1) * sizeof(*values));
    if (!values)
        return -1;
    for (uint32_t i = 0; i < all->ranks.count; i++)
        values[i] = (double)all->ranks.items[i].compute;
    nvt_sample_summary(values, all->ranks.count, &compute);
    free(values);
    for (uint32_t i = 0; i < all->ranks.count; i++) {
        const struct nvt_rank *rank = &all->ranks.items[i];
        const struct nvt_trace *trace = rank->trace;
        nvt_table_put(
            table, shown_number(all, i), nvt_file_name(trace->path),
            trace->processes.pid[rank->process],
            NVT_IF(rank->device != NVT_NONE, NVT_DEVICE(trace, rank->process, rank->device)),
            rank->span, rank->compute, nvt_percent(rank->compute, compute.median) - 100,
            rank->collectives);
        if (rank->collectives)
            nvt_table_more(table, rank->last, nvt_percent(rank->last, rank->collectives),
                           rank->waited, nvt_percent(rank->waited, rank->span));
    }
    return 0;
}

static int by_wait(const void *left, const void *right)
{
    const struct collective *a = left, *b = right;
    int64_t x = a->most - a->least, y = b->most - b->least;
    if (x != y)
        return x < y ? 1 : -1;
    return a->number != b->number ? (a->number < b->number ? -1 : 1)
                                  : (a->name > b->name) - (a->name < b->name);
}

/* The list of the longest waits: sorts the collectives. */
static void put_waits(struct nvt_table *table, struct stragglers *all)
{
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_wait);
    for (uint32_t i = 0; i < all->count && nvt_table_rows(table) < LONGEST; i++) {
        const struct collective *item = &all->items[i];
        if (item->most > item->least)
            nvt_table_put(table, nvt_strings_get(all->names, item->name, NULL), item->number,
                          item->most - item->least, item->sum - item->least * item->ranks,
                          shown_number(all, item->shortest), shown_number(all, item->longest));
    }
}

static int put_stragglers(struct nvt_table *table, const struct nvt_making *making)
{
    struct stragglers all = {0};
    int status = collect_stragglers(&all, making->input, making->err);
    if (!status)
        status = put_stragglers_ranks(table, &all);
    put_waits(making->tables[1], &all);
    if (all.parties < 2)
        nvt_making_leave_out(making, 1);
    if (!status && all.parties < 2)
        nvt_note(making->input, "note: no collectives of two or more ranks in the input");
    nvt_strings_free(all.names);
    nvt_map_free(&all.by_name);
    nvt_map_free(&all.by_rank);
    free(all.paired);
    for (uint32_t i = 0; i < all.series_count; i++)
        free(all.series[i].ends);
    free(all.series);
    free(all.items);
    nvt_ranks_free(&all.ranks);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.title = "Collectives with the longest waits",
     .columns = {{"Collective", NVT_NAMES},
                 {"Number", NVT_COUNTS},
                 {"Longest Wait (ns)", NVT_NS},
                 {"All Waits (ns)", NVT_NS},
                 {"Last Rank", NVT_IDS},
                 {"First Rank", NVT_IDS}}},
    {.title = NULL},
};

const struct nvt_report nvt_report_stragglers = {
    .name = "stragglers",
    .about = "stragglers: ranks that the others wait for in collectives, over many files",
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
