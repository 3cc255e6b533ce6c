/*
 * ranks: a job at a glance, a row for each rank: what its device did, what it waited for others and others for it, and which
 * ranks differ from those like it.
 *
 * A rank's work is known as in stragglers (rank_digest.h), whom others wait for as in rank_blame.h. It differs where one of its
 * numbers is apart from the median of the ranks of its stage of the pipeline (of all, where none is known) by 5 % of its time, of memory
 * by 5 % of the median, and by five of their standard deviations (1.4826 times the median absolute deviation): with fewer than four
 * of them nobody does. A straggler is one of the finding straggler (stragglers.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/sample.h"
#include "../../lib/text.h"
#include "../device/devices.h"
#include "../diagnosis/stragglers.h"
#include "report.h"

#define LEAST_RANKS 4
#define LEAST_SHARE 0.05
#define DEVIATIONS  5
/* Of a normal distribution, by its median absolute deviation. */
#define OF_MAD 1.4826

/* What ranks are compared by. */
enum value { COMPUTE, IDLE, COMMUNICATION, PEAK, VALUES };

/* The ranks that one is compared with: NaN where they are too few, or it is not known of them. */
struct usual {
    double median[VALUES], deviation[VALUES];
};

struct job {
    struct nvt_stragglers all;
    struct usual *usual; /* of each rank */
    double *caused;      /* of each rank: what those that wait for it do so, ns in the mean */
    uint32_t *waiting;   /* how many these are */
};

/* What can be compared of it with the others: NaN, nothing. */
static double value_of(const struct job *job, uint32_t rank, enum value value)
{
    const struct nvt_rank *item = &job->all.ranks.items[rank];
    const struct nvt_rank_share *share = job->all.shares ? &job->all.shares[rank] : NULL;
    switch (value) {
    case COMPUTE:
        return share ? share->compute : (double)item->compute;
    case IDLE:
        return share ? share->idle : (double)item->idle;
    case COMMUNICATION:
        return share ? share->communication : (double)item->communication;
    default:
        return item->peak < 0 ? NAN : (double)item->peak;
    }
}

static double span_of(const struct job *job, uint32_t rank)
{
    return job->all.shares ? nvt_straggler_span(&job->all, rank)
                           : (double)job->all.ranks.items[rank].span;
}

/* --- what is usual --- */

static uint32_t stage_of(const struct nvt_rank *rank)
{
    return rank->places[NVT_AXIS_PIPELINE];
}

/* The median of values and their deviation; `values` are then in another order. */
static void find_usual(double *values, size_t count, double *median, double *deviation)
{
    *median = *deviation = NAN;
    if (count < LEAST_RANKS)
        return;
    nvt_sample_sort(values, count);
    *median = nvt_sample_quantile(values, count, 0.5);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - *median);
    nvt_sample_sort(values, count);
    *deviation = OF_MAD * nvt_sample_quantile(values, count, 0.5);
}

/* Of all ranks of the stage that a rank is the first of. `values` has room for all. */
static void find_usual_of(struct job *job, uint32_t first, double *values)
{
    struct usual usual;
    const struct nvt_rank *items = job->all.ranks.items;
    const uint32_t count = job->all.ranks.count;
    for (enum value value = 0; value < VALUES; value++) {
        size_t known = 0;
        for (uint32_t i = first; i < count; i++) {
            const double of = value_of(job, i, value);
            if (stage_of(&items[i]) == stage_of(&items[first]) && !isnan(of))
                values[known++] = of;
        }
        find_usual(values, known, &usual.median[value], &usual.deviation[value]);
    }
    for (uint32_t i = first; i < count; i++)
        if (stage_of(&items[i]) == stage_of(&items[first]))
            job->usual[i] = usual;
}

static int is_first_of_stage(const struct nvt_ranks *ranks, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (stage_of(&ranks->items[i]) == stage_of(&ranks->items[rank]))
            return 0;
    return 1;
}

/* --- what is not --- */

/* By how much a value is apart from what is usual, where that is much; else 0. */
static double excess_of(const struct job *job, uint32_t rank, enum value value)
{
    const double median = job->usual[rank].median[value];
    const double apart = value_of(job, rank, value) - median;
    const double least = LEAST_SHARE * (value == PEAK ? median : span_of(job, rank));
    /* NaN is no excess. */
    return fabs(apart) >= least && fabs(apart) > DEVIATIONS * job->usual[rank].deviation[value]
               ? apart
               : 0;
}

static void append(char *out, size_t size, const char *text)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
}

/* In what a rank differs, in out, which is returned: "computes longer (+21.9 %), straggler (…)"; NULL: in nothing. */
static const char *outlier_text(const struct job *job, uint32_t rank, char *out, size_t size)
{
    static const struct {
        enum value value;
        int is_of_time; /* what it differs by is a part of the rank's time, else of the median */
        const char *more, *less;
    } texts[] = {{COMPUTE, 0, "computes longer", "computes less"},
                 {IDLE, 1, "is idle longer", "is idle less"},
                 {COMMUNICATION, 1, "communicates longer", "communicates less"},
                 {PEAK, 0, "more memory", "less memory"}};
    const double span = span_of(job, rank);
    out[0] = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++) {
        const double excess = excess_of(job, rank, texts[i].value);
        const double whole = texts[i].is_of_time ? span : job->usual[rank].median[texts[i].value];
        char text[80];
        if (excess == 0 || !(whole > 0))
            continue;
        snprintf(text, sizeof(text), "%s (%+.1f %%%s)", excess > 0 ? texts[i].more : texts[i].less,
                 100 * excess / whole, texts[i].is_of_time ? " of its time" : "");
        append(out, size, text);
    }
    for (uint32_t i = 0; i < job->all.count; i++)
        if (job->all.items[i].rank == rank) {
            char text[80];
            snprintf(text, sizeof(text), "straggler (%s)",
                     nvt_late_cause_text((enum nvt_late_cause)job->all.items[i].cause));
            append(out, size, text);
        }
    return out[0] ? out : NULL;
}

/* --- the job --- */

/* What is waited for each rank. */
static void add_waits(struct job *job)
{
    for (uint32_t i = 0; i < job->all.blame.wait_count; i++) {
        const struct nvt_rank_wait *wait = &job->all.blame.waits[i];
        const double ns = nvt_rank_wait_ns(wait);
        job->caused[wait->late] += ns;
        job->waiting[wait->late] += ns > 0;
    }
    for (uint32_t i = 0; i < job->all.ranks.count; i++)
        job->caused[i] /= job->waiting[i] ? job->waiting[i] : 1;
}

/* 0, or -1 with err. */
static int make_job(struct job *job, const struct nvt_making *making)
{
    if (nvt_stragglers_make(&job->all, making->input, NULL, 0, making->err))
        return -1;
    const size_t room = (size_t)job->all.ranks.count + 1;
    job->usual = calloc(room, sizeof(*job->usual));
    job->caused = calloc(room, sizeof(*job->caused));
    job->waiting = calloc(room, sizeof(*job->waiting));
    double *values = malloc(room * sizeof(*values));
    int status = job->usual && job->caused && job->waiting && values
                     ? 0
                     : nvt_fail(making->err, "out of memory");
    if (!status)
        add_waits(job);
    for (uint32_t i = 0; i < job->all.ranks.count && !status; i++)
        if (is_first_of_stage(&job->all.ranks, i))
            find_usual_of(job, i, values);
    free(values);
    return status;
}

static void free_job(struct job *job)
{
    nvt_stragglers_free(&job->all);
    free(job->usual);
    free(job->caused);
    free(job->waiting);
}

/* --- tables --- */

static void put_rank(struct nvt_table *table, const struct job *job, uint32_t rank)
{
    const struct nvt_rank *item = &job->all.ranks.items[rank];
    const struct nvt_trace *trace = item->from->trace;
    const int is_device = item->device != NVT_NONE;
    const int has_waits = job->all.blame.waited != NULL && item->part_count;
    char text[256];
    nvt_table_put(table, nvt_rank_shown(&job->all.ranks, rank), nvt_file_name(trace->path),
                  trace->processes.pid[item->process],
                  NVT_IF(is_device, NVT_DEVICE(trace, item->process, item->device)));
    for (size_t i = 0; i < NVT_RANK_AXES; i++)
        nvt_table_more(table, NVT_IF(item->places[i] != NVT_NONE, item->places[i]));
    nvt_table_more(table, item->span, NVT_IF(is_device, item->span - item->idle));
    nvt_table_more(table, is_device ? nvt_percent(item->span - item->idle, item->span) : NAN);
    nvt_table_more(table, item->compute, item->communication,
                   nvt_percent(item->communication, item->span));
    nvt_table_more(table, NVT_IF(has_waits, (int64_t)job->all.blame.waited[rank]),
                   has_waits ? nvt_percent(job->all.blame.waited[rank], item->span) : NAN);
    nvt_table_more(table, NVT_IF(has_waits, (int64_t)job->caused[rank]),
                   NVT_IF(has_waits, job->waiting[rank]));
    nvt_table_more(table, NVT_IF(item->peak >= 0, item->peak),
                   outlier_text(job, rank, text, sizeof(text)));
}

/* Means of the ranks at a place of an axis; no row where nobody is. */
static uint32_t put_place(struct nvt_table *table, const struct job *job, enum nvt_rank_axis axis,
                          uint32_t place)
{
    double span = 0, busy = 0, compute = 0, communication = 0, waited = 0, caused = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->all.ranks.count; i++) {
        const struct nvt_rank *rank = &job->all.ranks.items[i];
        if (rank->places[axis] != place)
            continue;
        count++;
        span += (double)rank->span;
        busy += (double)(rank->span - rank->idle);
        compute += (double)rank->compute;
        communication += (double)rank->communication;
        waited += job->all.blame.waited ? job->all.blame.waited[i] : 0;
        caused += job->caused[i];
    }
    if (count)
        nvt_table_put(table, nvt_rank_axis_name(axis), place, count, nvt_percent(busy, span),
                      compute / count, communication / count, waited / count, caused / count);
    return count;
}

/* Places count from 0 on; a part of a job may lack some. */
static void put_places(struct nvt_table *table, const struct job *job, enum nvt_rank_axis axis)
{
    uint32_t known = 0, most = 0;
    for (uint32_t i = 0; i < job->all.ranks.count; i++)
        if (job->all.ranks.items[i].places[axis] != NVT_NONE) {
            known++;
            most = job->all.ranks.items[i].places[axis] > most
                       ? job->all.ranks.items[i].places[axis]
                       : most;
        }
    for (uint32_t place = 0; known && place <= most; place++)
        known -= put_place(table, job, axis, place);
}

static int put_ranks(struct nvt_table *table, const struct nvt_making *making)
{
    struct job job = {0};
    char note[200];
    const int status = make_job(&job, making);
    if (!status && job.all.shares &&
        nvt_rank_shares_note(&job.all.ranks, job.all.shares, note, sizeof(note)))
        nvt_note(making->input, "note: %s", note);
    for (uint32_t i = 0; i < job.all.ranks.count && !status; i++)
        put_rank(table, &job, i);
    for (enum nvt_rank_axis axis = 0; axis < NVT_RANK_AXES && !status; axis++)
        put_places(making->tables[1], &job, axis);
    free_job(&job);
    return status;
}

static const struct nvt_table_kind more[] = {{.title = "Ranks by place in the job",
                                              .is_optional = 1,
                                              .columns = {{"Parallelism", NVT_NAMES},
                                                          {"Place", NVT_IDS},
                                                          {"Ranks", NVT_COUNTS},
                                                          {"Busy (%)", NVT_PERCENT},
                                                          {"Compute (ns)", NVT_NS_AVERAGE},
                                                          {"Exposed (ns)", NVT_NS_AVERAGE},
                                                          {"Waited (ns)", NVT_NS_AVERAGE},
                                                          {"Caused (ns)", NVT_NS_AVERAGE}}},
                                             {.title = NULL}};

const struct nvt_report nvt_report_ranks = {
    .name = "ranks",
    .about = "ranks of a job: work, waits and memory of each, and which differ",
    .needs = NVT_TAKES_DIGESTS,
    .columns = {{"Rank", NVT_IDS},
                {"File", NVT_SPARE_NAMES},
                {"PID", NVT_SPARE_IDS},
                {"Device", NVT_SPARE_NAMES},
                {"PP", NVT_IDS},
                {"DP", NVT_IDS},
                {"TP", NVT_IDS},
                {"EP", NVT_IDS},
                {"CP", NVT_IDS},
                {"Span (ns)", NVT_SPARE_NS},
                {"Busy (ns)", NVT_SPARE_NS},
                {"Busy (%)", NVT_PERCENT},
                {"Compute (ns)", NVT_NS},
                {"Exposed (ns)", NVT_SPARE_NS},
                {"Exposed (%)", NVT_PERCENT},
                {"Waited (ns)", NVT_SPARE_NS},
                {"Waited (%)", NVT_PERCENT},
                {"Caused (ns)", NVT_NS},
                {"Ranks Waiting", NVT_COUNTS},
                {"Peak (B)", "B", NVT_INT, 0, 0},
                {"Outlier", NVT_NAMES}},
    .title = "Ranks of a job",
    .order = {"Rank"},
    .nothing = "no ranks in the input",
    .of_input = put_ranks,
    .more = more,
};
