/*
 * stages: the stages of a pipeline, by the messages between ranks or the ranges of their steps: how long each waits for the stages
 * before and behind it, in all and by micro-batch. Ranges are asked where messages do not say every stage (stages_by_range.h).
 *
 * A message is known by its two ends (rank_digest.h), and waits are as in stragglers: what its operation takes longer than the shorter
 * one of its two ends, which is the transfer, as far as no kernel computes meanwhile. Between two ranks, messages in the
 * direction of the first one are forward, the others backward; those between places of another axis (a ring of context
 * parallelism) do not count. A rank's stage is its place in the pipeline where groups say it, else how
 * many ranks are before it; unknown where messages go round, as with interleaved stages. The number of a micro-batch counts the
 * messages of a direction in an iteration, where each iteration has as many.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/quantity_text.h"
#include "../../lib/text.h"
#include "../studies/rank_pairs.h"
#include "report.h"
#include "stages_by_range.h"

enum direction { FORWARD, BACKWARD, DIRECTIONS };

/* What a rank has to do with another one. */
struct link {
    uint32_t rank;         /* of the job's */
    uint32_t peer;         /* the number of the other one */
    int is_known, is_next; /* it has begun; the other one is the next stage, else the one before */
    uint32_t counts[DIRECTIONS]; /* messages */
    double waited;               /* ns */
};

/* A stage in a micro-batch: of its messages of each direction, what they wait. */
struct cell {
    double waited[DIRECTIONS];
    uint32_t counts[DIRECTIONS];
};

struct job {
    struct nvt_ranks ranks;
    struct nvt_rank_pairs pairs;
    struct nvt_map ranks_of; /* by number */
    struct nvt_map links_of; /* rank << 32 | peer -> of links */
    struct link *links;
    uint32_t link_count;
    uint32_t *stages;           /* of each rank; NVT_NONE: unknown */
    uint32_t *batches;          /* of each rank, in an iteration; 0: unknown */
    uint32_t stage_count, most; /* stages, and micro-batches of one, that are known */
    struct cell *cells;         /* by stage, of all micro-batches each */
    uint64_t left_out;          /* messages whose other end is not there */
};

struct message {
    struct link *link;
    enum direction direction;
    uint32_t number; /* of the link's in that direction, from 0 */
    double waited;
};

typedef void (*visit_message)(struct job *job, const struct message *message);

static void free_job(struct job *job)
{
    nvt_rank_pairs_free(&job->pairs);
    nvt_ranks_free(&job->ranks);
    nvt_map_free(&job->ranks_of);
    nvt_map_free(&job->links_of);
    free(job->links);
    free(job->stages);
    free(job->batches);
    free(job->cells);
}

/* --- messages --- */

/* Whether a part is a message whose ends are known, "3 to 7": the number of the other one, and whether this rank sent it. */
static int read_ends(const struct nvt_ranks *ranks, const struct nvt_rank *rank, uint32_t part,
                     uint32_t *peer, int *is_sent)
{
    const struct nvt_rank_group *group = &ranks->groups[nvt_rank_part_group(rank, part)];
    if (!(group->flags & NVT_GROUP_PAIR) || (group->flags & NVT_GROUP_ASSUMED))
        return 0;
    const char *name = nvt_strings_get(ranks->names, group->name, NULL);
    char *end;
    const unsigned long from = strtoul(name, &end, 10);
    if (end == name || strncmp(end, " to ", 4) != 0)
        return 0;
    const unsigned long to = strtoul(end + 4, NULL, 10);
    *is_sent = rank->number == (int64_t)from;
    *peer = (uint32_t)(*is_sent ? to : from);
    return from != to;
}

/* Whether two ranks are of different stages, as far as their places in the job say: those of a ring of another axis are not. */
static int is_of_pipeline(const struct nvt_rank *a, const struct nvt_rank *b)
{
    int differs = 1;
    for (size_t i = 0; i < NVT_RANK_AXES; i++) {
        const int is_known = a->places[i] != NVT_NONE && b->places[i] != NVT_NONE;
        if (is_known && i == NVT_AXIS_PIPELINE)
            return a->places[i] != b->places[i];
        differs &= !is_known || a->places[i] == b->places[i];
    }
    return differs;
}

static double wait_of(const struct nvt_rank_part *part, const struct nvt_rank_collective *of)
{
    const int64_t wait =
        part->end - part->start - (part->after.work - part->before.work) - of->least;
    return wait > 0 ? (double)wait : 0;
}

/* 0, or -1 when out of memory. */
static int walk_rank(struct job *job, uint32_t rank, visit_message visit)
{
    const struct nvt_rank *item = &job->ranks.items[rank];
    for (uint32_t i = 0; i < item->part_count; i++) {
        uint32_t peer;
        int is_sent;
        if (!read_ends(&job->ranks, item, i, &peer, &is_sent))
            continue;
        const struct nvt_rank_collective *of = nvt_rank_collective_of(&job->pairs, rank, i);
        const uint32_t other = nvt_map_get(&job->ranks_of, peer);
        if (!of || of->ranks != 2 || other == NVT_MAP_NONE) {
            job->left_out++;
            continue;
        }
        if (!is_of_pipeline(item, &job->ranks.items[other]))
            continue;
        struct link *link = nvt_map_item(&job->links_of, (uint64_t)rank << 32 | peer, &job->links,
                                         &job->link_count, sizeof(*link));
        if (!link)
            return -1;
        if (!link->is_known)
            *link = (struct link){.rank = rank, .peer = peer, .is_known = 1, .is_next = is_sent};
        const enum direction direction = is_sent == link->is_next ? FORWARD : BACKWARD;
        const struct message message = {link, direction, link->counts[direction]++,
                                        wait_of(&item->parts[i], of)};
        visit(job, &message);
    }
    return 0;
}

static int walk(struct job *job, visit_message visit)
{
    int failed = 0;
    for (uint32_t i = 0; i < job->link_count; i++)
        job->links[i].counts[FORWARD] = job->links[i].counts[BACKWARD] = 0;
    job->left_out = 0;
    for (uint32_t i = 0; i < job->ranks.count && !failed; i++)
        failed = walk_rank(job, i, visit);
    return failed;
}

static void add_wait(struct job *job, const struct message *message)
{
    (void)job;
    message->link->waited += message->waited;
}

static void add_to_cell(struct job *job, const struct message *message)
{
    const uint32_t rank = message->link->rank, batches = job->batches[rank];
    if (!batches || job->stages[rank] == NVT_NONE)
        return;
    struct cell *cell =
        &job->cells[(size_t)job->stages[rank] * job->most + message->number % batches];
    cell->waited[message->direction] += message->waited;
    cell->counts[message->direction]++;
}

/* --- stages --- */

/* Each is behind those before it. */
static void count_stages(struct job *job)
{
    int changes = 1;
    for (uint32_t i = 0; i < job->link_count; i++)
        job->stages[job->links[i].rank] = 0;
    for (uint32_t turn = 0; turn <= job->ranks.count && changes; turn++) {
        changes = 0;
        for (uint32_t i = 0; i < job->link_count; i++) {
            const struct link *link = &job->links[i];
            const uint32_t peer = nvt_map_get(&job->ranks_of, link->peer);
            if (link->is_next || peer == NVT_MAP_NONE ||
                job->stages[link->rank] > job->stages[peer])
                continue;
            job->stages[link->rank] = job->stages[peer] + 1;
            changes = 1;
        }
    }
    for (uint32_t i = 0; i < job->ranks.count && changes; i++)
        job->stages[i] = NVT_NONE; /* they go round */
}

static void find_stages(struct job *job)
{
    uint32_t known = 0, with_links = 0;
    for (uint32_t i = 0; i < job->ranks.count; i++)
        job->stages[i] = NVT_NONE;
    for (uint32_t i = 0; i < job->link_count; i++) {
        const uint32_t rank = job->links[i].rank;
        const uint32_t place = job->ranks.items[rank].places[NVT_AXIS_PIPELINE];
        with_links++;
        known += place != NVT_NONE;
        job->stages[rank] = place;
    }
    if (known < with_links)
        count_stages(job);
    for (uint32_t i = 0; i < job->ranks.count; i++)
        if (job->stages[i] != NVT_NONE && job->stages[i] >= job->stage_count)
            job->stage_count = job->stages[i] + 1;
}

/* Where each iteration has as many, and all links of a rank agree. */
static void find_batches(struct job *job)
{
    for (uint32_t i = 0; i < job->link_count; i++) {
        const struct link *link = &job->links[i];
        const uint32_t iterations = job->ranks.items[link->rank].iterations;
        uint32_t *batches = &job->batches[link->rank];
        const uint32_t count = iterations && link->counts[FORWARD] % iterations == 0 &&
                                       link->counts[BACKWARD] % iterations == 0
                                   ? link->counts[FORWARD] / iterations
                                   : 0;
        *batches = *batches == NVT_NONE || *batches == count ? count : 0;
    }
    for (uint32_t i = 0; i < job->ranks.count; i++) {
        if (job->batches[i] == NVT_NONE)
            job->batches[i] = 0;
        job->most = job->batches[i] > job->most ? job->batches[i] : job->most;
    }
}

/* 0, or -1 with err. */
static int make_job(struct job *job, const struct nvt_making *making)
{
    if (nvt_ranks_find(&job->ranks, making->input, NULL, 0, making->err) ||
        nvt_rank_pairs_make(&job->pairs, &job->ranks, making->err))
        return -1;
    const size_t count = (size_t)job->ranks.count + 1;
    int failed = 0;
    job->stages = malloc(count * sizeof(*job->stages));
    job->batches = malloc(count * sizeof(*job->batches));
    for (uint32_t i = 0; i < job->ranks.count && !failed; i++)
        failed = job->ranks.items[i].number >= 0 &&
                 nvt_map_set(&job->ranks_of, (uint64_t)job->ranks.items[i].number, i);
    failed = failed || !job->stages || !job->batches || walk(job, add_wait);
    if (!failed) {
        memset(job->batches, 0xff, count * sizeof(*job->batches));
        find_stages(job);
        find_batches(job);
        job->cells = calloc((size_t)job->stage_count * job->most + 1, sizeof(*job->cells));
        failed = !job->cells || walk(job, add_to_cell);
    }
    return failed ? nvt_fail(making->err, "out of memory") : 0;
}

/* --- tables --- */

static void put_rank(struct nvt_table *table, const struct job *job, uint32_t rank)
{
    const struct nvt_rank *item = &job->ranks.items[rank];
    double waited[2] = {0, 0};
    int has_links = 0;
    for (uint32_t i = 0; i < job->link_count; i++)
        if (job->links[i].rank == rank) {
            waited[job->links[i].is_next] += job->links[i].waited;
            has_links = 1;
        }
    if (!has_links)
        return;
    nvt_table_put(table, NVT_IF(job->stages[rank] != NVT_NONE, job->stages[rank]),
                  nvt_rank_shown(&job->ranks, rank), nvt_file_name(item->from->trace->path),
                  NVT_IF(job->batches[rank], job->batches[rank]), item->span, item->compute,
                  waited[0], waited[1], nvt_percent(waited[0] + waited[1], (double)item->span),
                  item->idle);
}

static void put_cell(struct nvt_table *table, uint32_t stage, uint32_t batch,
                     const struct cell *cell)
{
    double average[DIRECTIONS];
    for (enum direction i = 0; i < DIRECTIONS; i++)
        average[i] = cell->counts[i] ? cell->waited[i] / cell->counts[i] : NAN;
    if (cell->counts[FORWARD] || cell->counts[BACKWARD])
        nvt_table_put(table, stage, batch, average[FORWARD], average[BACKWARD]);
}

/* Whether messages say the stage of every rank that has any. */
static int is_known_by_messages(const struct job *job)
{
    for (uint32_t i = 0; i < job->link_count; i++)
        if (job->stages[job->links[i].rank] == NVT_NONE)
            return 0;
    return job->link_count > 0;
}

static void put_messages(struct nvt_table *table, const struct nvt_making *making,
                         const struct job *job)
{
    for (uint32_t i = 0; i < job->ranks.count; i++)
        put_rank(table, job, i);
    for (uint32_t i = 0; i < job->stage_count; i++)
        for (uint32_t k = 0; k < job->most; k++)
            put_cell(making->tables[1], i, k, &job->cells[(size_t)i * job->most + k]);
}

static int put_stages(struct nvt_table *table, const struct nvt_making *making)
{
    struct job job = {0};
    int status = make_job(&job, making);
    const int by_ranges =
        !status && !is_known_by_messages(&job) && nvt_has_stage_ranges(&job.ranks);
    if (by_ranges && nvt_put_stage_ranges(table, making->tables[1], &job.ranks))
        status = nvt_fail(making->err, "out of memory");
    else if (!status && !by_ranges)
        put_messages(table, making, &job);
    if (!status && by_ranges)
        nvt_note(making->input, "note: stages are known by the ranges of their steps, not by "
                                "messages between ranks");
    if (!status && !by_ranges && job.left_out)
        nvt_note(making->input, "note: left out, as the other end is missing: %s",
                 NVT_COUNTED((double)job.left_out, "message", "messages"));
    free_job(&job);
    return status;
}

static const struct nvt_table_kind more[] = {{.title = "Waits for other stages by micro-batch",
                                              .is_optional = 1,
                                              .columns = {{"Stage", NVT_IDS},
                                                          {"Micro-Batch", NVT_IDS},
                                                          {"Forward Avg (ns)", NVT_NS_AVERAGE},
                                                          {"Backward Avg (ns)", NVT_NS_AVERAGE}},
                                              .order = {"Stage", "Micro-Batch"}},
                                             {.title = NULL}};

const struct nvt_report nvt_report_stages = {
    .name = "stages",
    .about = "stages of a pipeline, by messages or ranges: waits for the stages before and behind",
    .needs = NVT_TAKES_DIGESTS,
    .columns = {{"Stage", NVT_IDS},
                {"Rank", NVT_IDS},
                {"File", NVT_SPARE_NAMES},
                {"Micro-Batches", NVT_COUNTS},
                {"Span (ns)", NVT_SPARE_NS},
                {"Compute (ns)", NVT_NS},
                {"For Previous (ns)", NVT_NS_AVERAGE},
                {"For Next (ns)", NVT_NS_AVERAGE},
                {"Bubble (%)", NVT_PERCENT},
                {"Idle (ns)", NVT_SPARE_NS}},
    .title = "Stages of a pipeline",
    .order = {"Stage", "Rank"},
    .nothing =
        "no messages in the input whose two ranks are known, and no ranges of a pipeline's steps",
    .of_input = put_stages,
    .more = more,
};
