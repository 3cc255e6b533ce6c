#include "stages.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "rank_pairs.h"

enum direction { FORWARD, BACKWARD, DIRECTIONS };

/* What a rank has to do with another one. */
struct link {
    uint32_t rank;         /* of the job's */
    uint32_t peer;         /* the number of the other one */
    int is_known, is_next; /* it has begun; the other one is the next stage, else the one before */
    uint32_t counts[DIRECTIONS]; /* messages */
    double waited;               /* ns */
};

struct job {
    struct nvt_stages *made;
    const struct nvt_ranks *ranks; /* of it */
    struct nvt_rank_pairs pairs;
    struct nvt_map ranks_of; /* by number */
    struct nvt_map links_of; /* rank << 32 | peer -> of links */
    struct link *links;
    uint32_t link_count;
    uint32_t *stages;              /* of each rank; NVT_NONE: unknown */
    uint32_t *batches;             /* of each rank, in an iteration; 0: unknown */
    uint32_t stage_count, most;    /* stages, and micro-batches of one, that are known */
    struct nvt_stage_batch *cells; /* by stage, of all micro-batches each */
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
    const struct nvt_rank *item = &job->ranks->items[rank];
    for (uint32_t i = 0; i < item->part_count; i++) {
        uint32_t peer;
        int is_sent;
        if (!read_ends(job->ranks, item, i, &peer, &is_sent))
            continue;
        const struct nvt_rank_collective *of = nvt_rank_collective_of(&job->pairs, rank, i);
        const uint32_t other = nvt_map_get(&job->ranks_of, peer);
        if (!of || of->ranks != 2 || other == NVT_MAP_NONE) {
            job->made->left_out++;
            continue;
        }
        if (!is_of_pipeline(item, &job->ranks->items[other]))
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
    job->made->left_out = 0;
    for (uint32_t i = 0; i < job->ranks->count && !failed; i++)
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
    struct nvt_stage_batch *cell =
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
    for (uint32_t turn = 0; turn <= job->ranks->count && changes; turn++) {
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
    for (uint32_t i = 0; i < job->ranks->count && changes; i++)
        job->stages[i] = NVT_NONE; /* they go round */
}

static void find_stages(struct job *job)
{
    uint32_t known = 0, with_links = 0;
    for (uint32_t i = 0; i < job->ranks->count; i++)
        job->stages[i] = NVT_NONE;
    for (uint32_t i = 0; i < job->link_count; i++) {
        const uint32_t rank = job->links[i].rank;
        const uint32_t place = job->ranks->items[rank].places[NVT_AXIS_PIPELINE];
        with_links++;
        known += place != NVT_NONE;
        job->stages[rank] = place;
    }
    if (known < with_links)
        count_stages(job);
    for (uint32_t i = 0; i < job->ranks->count; i++)
        if (job->stages[i] != NVT_NONE && job->stages[i] >= job->stage_count)
            job->stage_count = job->stages[i] + 1;
}

/* Where each iteration has as many, and all links of a rank agree. */
static void find_batches(struct job *job)
{
    for (uint32_t i = 0; i < job->link_count; i++) {
        const struct link *link = &job->links[i];
        const uint32_t iterations = job->ranks->items[link->rank].iterations;
        uint32_t *batches = &job->batches[link->rank];
        const uint32_t count = iterations && link->counts[FORWARD] % iterations == 0 &&
                                       link->counts[BACKWARD] % iterations == 0
                                   ? link->counts[FORWARD] / iterations
                                   : 0;
        *batches = *batches == NVT_NONE || *batches == count ? count : 0;
    }
    for (uint32_t i = 0; i < job->ranks->count; i++) {
        if (job->batches[i] == NVT_NONE)
            job->batches[i] = 0;
        job->most = job->batches[i] > job->most ? job->batches[i] : job->most;
    }
}

/* 0, or -1 when out of memory. */
static int find_all(struct job *job)
{
    const size_t count = (size_t)job->ranks->count + 1;
    job->stages = malloc(count * sizeof(*job->stages));
    job->batches = malloc(count * sizeof(*job->batches));
    if (!job->stages || !job->batches)
        return -1;
    for (uint32_t i = 0; i < job->ranks->count; i++)
        if (job->ranks->items[i].number >= 0 &&
            nvt_map_set(&job->ranks_of, (uint64_t)job->ranks->items[i].number, i))
            return -1;
    if (walk(job, add_wait))
        return -1;
    memset(job->batches, 0xff, count * sizeof(*job->batches));
    find_stages(job);
    find_batches(job);
    job->cells = calloc((size_t)job->stage_count * job->most + 1, sizeof(*job->cells));
    return !job->cells || walk(job, add_to_cell) ? -1 : 0;
}

/* --- what there is of each ------------------------------------------------------------------------- */

/* 0, or -1 when out of memory. */
static int add_rank(struct job *job, uint32_t rank)
{
    struct nvt_stages *made = job->made;
    double waited[2] = {0, 0};
    int has_links = 0;
    for (uint32_t i = 0; i < job->link_count; i++)
        if (job->links[i].rank == rank) {
            waited[job->links[i].is_next] += job->links[i].waited;
            has_links = 1;
        }
    if (!has_links)
        return 0;
    if (nvt_grow(&made->items, made->count, sizeof(*made->items)))
        return -1;
    made->items[made->count++] = (struct nvt_stage){
        rank,      job->stages[rank], job->batches[rank], job->ranks->items[rank].compute,
        waited[0], waited[1]};
    return 0;
}

/* The cells of which there is anything. */
static void take_cells(struct job *job)
{
    struct nvt_stages *made = job->made;
    made->batches = job->cells;
    job->cells = NULL;
    for (uint32_t i = 0; i < job->stage_count; i++)
        for (uint32_t k = 0; k < job->most; k++) {
            struct nvt_stage_batch cell = made->batches[(size_t)i * job->most + k];
            cell.stage = i;
            cell.batch = k;
            if (cell.counts[FORWARD] || cell.counts[BACKWARD])
                made->batches[made->batch_count++] = cell;
        }
}

/* Whether messages say the stage of every rank that has any. */
static int is_known_by_messages(const struct job *job)
{
    for (uint32_t i = 0; i < job->link_count; i++)
        if (job->stages[job->links[i].rank] == NVT_NONE)
            return 0;
    return job->link_count > 0;
}

/* 0, or -1 when out of memory. */
static int take_all(struct job *job)
{
    int failed = 0;
    job->made->by_ranges = !is_known_by_messages(job) && nvt_has_stage_ranges(job->ranks);
    if (job->made->by_ranges)
        return nvt_stages_by_range(job->made);
    for (uint32_t i = 0; i < job->ranks->count && !failed; i++)
        failed = add_rank(job, i);
    if (!failed)
        take_cells(job);
    return failed;
}

int nvt_stages_make(struct nvt_stages *stages, const struct nvt_input *input, struct nvt_error *err)
{
    struct job job = {.made = stages, .ranks = &stages->ranks};
    int status = nvt_ranks_find(&stages->ranks, input, NULL, 0, err);
    if (!status)
        status = nvt_rank_pairs_make(&job.pairs, &stages->ranks, err);
    if (!status && (find_all(&job) || take_all(&job)))
        status = nvt_fail(err, "out of memory");
    free_job(&job);
    return status;
}

void nvt_stages_free(struct nvt_stages *stages)
{
    nvt_ranks_free(&stages->ranks);
    free(stages->items);
    free(stages->batches);
    *stages = (struct nvt_stages){.items = NULL};
}
