/*
 * ranks: a job at a glance, a row for each rank: what its device did, what it waited for others and others for it, and which
 * ranks differ from those like it (diagnosis/rank_outliers.h).
 */
#include <math.h>

#include "../../lib/text.h"
#include "../device/devices.h"
#include "../diagnosis/rank_outliers.h"
#include "report.h"

static void put_rank(struct nvt_table *table, const struct nvt_rank_outliers *job, uint32_t rank)
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
                   nvt_rank_outlier_text(job, rank, text, sizeof(text)));
}

/* Means of the ranks at a place of an axis; no row where nobody is. */
static uint32_t put_place(struct nvt_table *table, const struct nvt_rank_outliers *job,
                          enum nvt_rank_axis axis, uint32_t place)
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
static void put_places(struct nvt_table *table, const struct nvt_rank_outliers *job,
                       enum nvt_rank_axis axis)
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
    struct nvt_rank_outliers job = {.usual = NULL};
    char note[200];
    const int status = nvt_rank_outliers_make(&job, making->input, making->err);
    if (!status && job.all.shares &&
        nvt_rank_shares_note(&job.all.ranks, job.all.shares, note, sizeof(note)))
        nvt_note(making->input, "note: %s", note);
    for (uint32_t i = 0; i < job.all.ranks.count && !status; i++)
        put_rank(table, &job, i);
    for (enum nvt_rank_axis axis = 0; axis < NVT_RANK_AXES && !status; axis++)
        put_places(making->tables[1], &job, axis);
    nvt_rank_outliers_free(&job);
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
