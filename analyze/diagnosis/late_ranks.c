#include "late_ranks.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../model/recorded_parts.h"
#include "../studies/mpi_chain.h"

/* Of a wait so much at least is put down to a rank; so many waits a chain of them is followed through. */
#define LEAST_PART 0.1
#define MOST_LINKS 64

/* Waits, in the whole trace. */
struct all_waits {
    double ns, count;
    struct nvt_longest longest;
};

/* Waits of a rank for another one in a range; ns, count and longest are of the steady part. */
struct group {
    /* first: of those of the same late rank, range and state */
    uint32_t rank, late, late_range, first;
    uint8_t state;
    double ns, count;
    double through_ns; /* of it what other ranks pass on */
    struct nvt_longest longest;
    uint32_t range, call; /* of the longest */
    struct all_waits all;
};

/* What of a wait a rank is the first cause of. */
struct part {
    const struct nvt_mpi_wait *wait; /* that is added */
    /* in which others wait for that rank: the same, or that which it comes from */
    const struct nvt_mpi_wait *first;
    double ns;
};

/* What a rank waits, in a state, for others in a range of a name. */
struct turns {
    double ns; /* in the steady part */
    struct all_waits all;
};

struct groups {
    struct nvt_late_ranks *ranks;
    struct nvt_mpi_places places;
    struct nvt_map by_late; /* late rank << 32 | range, and by_state by that and the state */
    uint32_t late_count;
    struct nvt_map by_state; /* number of the above << 32 | state -> first group */
    struct nvt_map by_rank;  /* first group << 32 | rank -> group */
    struct group *items;
    uint32_t count;
    struct nvt_strings *names; /* of ranges, of all traces */
    struct nvt_map turns;      /* rank << 32 | name and state -> place in turn_items */
    struct turns *turn_items;
    uint32_t turn_count;
};

static void add_wait(struct all_waits *all, const struct part *part)
{
    nvt_longest_add(&all->longest, part->wait->start, part->ns);
    all->ns += part->ns;
    all->count++;
}

static double usual_of(const struct all_waits *all)
{
    return nvt_usual_time(all->ns, all->count, all->longest.ns[0], all->longest.ns[1]);
}

/* NULL: it is in no list, or out of memory. */
static struct turns *turns_of(struct groups *groups, uint32_t rank, uint8_t state, uint32_t late,
                              uint32_t late_range)
{
    const char *range = nvt_name(nvt_mpi_trace(&groups->ranks->waits.job, late), late_range);
    const uint32_t name = nvt_strings_add_text(groups->names, range);
    uint32_t *at = name == NVT_NO_STRING
                       ? NULL
                       : nvt_map_at(&groups->turns,
                                    (uint64_t)rank << 32 | (name * NVT_MPI_WAIT_STATES + state));
    if (!at || (*at == NVT_MAP_NONE &&
                nvt_grow(&groups->turn_items, groups->turn_count, sizeof(*groups->turn_items))))
        return NULL;
    if (*at == NVT_MAP_NONE) {
        *at = groups->turn_count;
        groups->turn_items[groups->turn_count++] = (struct turns){0};
    }
    return &groups->turn_items[*at];
}

const char *nvt_late_per(const struct nvt_trace *trace)
{
    return nvt_is_torch_alone(trace)
               ? "in the second half between the first and the last collective"
               : "in the second half between the first and the last MPI call";
}

/* --- steady parts ------------------------------------------------------------------------------- */

/* The second half of each process's iterations. 0, or -1 when out of memory. */
static int find_iterations(struct nvt_late_ranks *ranks, const struct nvt_mpi_file *file)
{
    const struct nvt_trace *trace = file->from->trace;
    uint32_t count = 0, *rows = nvt_iterations(trace, &count);
    uint32_t *own = calloc((size_t)trace->processes.count + 1, 2 * sizeof(*own));
    uint32_t *seen = own ? own + trace->processes.count : NULL;
    for (uint32_t i = 0; rows && own && i < count; i++)
        own[trace->threads.process[trace->ranges.thread[rows[i]]]]++;
    for (uint32_t i = 0; rows && seen && i < count; i++) {
        uint32_t process = trace->threads.process[trace->ranges.thread[rows[i]]];
        uint32_t rank = file->rank_of[process];
        if (rank == NVT_NONE || seen[process]++ < own[process] / 2)
            continue;
        struct nvt_late_waiting *waiting = &ranks->waiting[rank];
        if (!waiting->has_iterations)
            *waiting = (struct nvt_late_waiting){.from = trace->ranges.start[rows[i]],
                                                 .to = trace->ranges.end[rows[i]],
                                                 .has_iterations = 1};
        waiting->units++;
        if (trace->ranges.end[rows[i]] > waiting->to)
            waiting->to = trace->ranges.end[rows[i]];
    }
    int failed = !rows || !own;
    free(rows);
    free(own);
    return failed ? -1 : 0;
}

/* 0, or -1 when out of memory. */
static int find_steady_parts(struct nvt_late_ranks *ranks)
{
    const struct nvt_mpi_job *job = &ranks->waits.job;
    ranks->waiting = calloc((size_t)job->count + 1, sizeof(*ranks->waiting));
    for (size_t i = 0; ranks->waiting && i < job->file_count; i++) {
        const struct nvt_mpi_file *file = &job->files[i];
        struct nvt_mpi_process *processes = nvt_mpi_processes(file->from->trace);
        if (!processes || find_iterations(ranks, file)) {
            free(processes);
            return -1;
        }
        for (uint32_t k = 0; k < file->from->trace->processes.count; k++) {
            struct nvt_late_waiting *waiting =
                file->rank_of[k] == NVT_NONE ? NULL : &ranks->waiting[file->rank_of[k]];
            if (waiting && !waiting->has_iterations) {
                waiting->from = nvt_late_from(&processes[k]);
                waiting->to = processes[k].last;
                waiting->units = 1;
            }
            if (waiting)
                waiting->span_ns = nvt_recorded_ns(file->from->trace, waiting->from, waiting->to);
        }
        free(processes);
    }
    return ranks->waiting ? 0 : -1;
}

/* --- groups ------------------------------------------------------------------------------------- */

/* NVT_NONE when out of memory. */
static uint32_t group_of(struct groups *groups, const struct part *part, uint32_t late_range)
{
    const struct nvt_mpi_wait *wait = part->first;
    const uint32_t late = nvt_map_number(&groups->by_late, (uint64_t)wait->late << 32 | late_range,
                                         &groups->late_count);
    if (late == NVT_MAP_NONE)
        return NVT_NONE;
    uint32_t *first = nvt_map_at(&groups->by_state, (uint64_t)late << 32 | wait->state);
    if (!first)
        return NVT_NONE;
    if (*first == NVT_MAP_NONE)
        *first = groups->count;
    uint32_t *own = nvt_map_at(&groups->by_rank, (uint64_t)*first << 32 | part->wait->rank);
    if (!own ||
        (*own == NVT_MAP_NONE && nvt_grow(&groups->items, groups->count, sizeof(*groups->items))))
        return NVT_NONE;
    if (*own != NVT_MAP_NONE)
        return *own;
    *own = groups->count;
    groups->items[groups->count] = (struct group){.rank = part->wait->rank,
                                                  .late = wait->late,
                                                  .late_range = late_range,
                                                  .first = *first,
                                                  .state = wait->state};
    return groups->count++;
}

static void add_steady(struct groups *groups, struct group *group, struct turns *turns,
                       const struct part *part)
{
    if (part->ns > group->longest.ns[0]) {
        struct nvt_mpi_place place = nvt_mpi_waiting_place(&groups->places, part->wait);
        group->range = place.range;
        group->call = place.call;
    }
    nvt_longest_add(&group->longest, part->wait->start, part->ns);
    group->ns += part->ns;
    group->through_ns += part->first == part->wait ? 0 : part->ns;
    group->count++;
    turns->ns += part->ns;
}

/* 0, or -1 when out of memory. */
static int add_part(struct groups *groups, const struct part *part)
{
    const struct nvt_late_waiting *waiting = &groups->ranks->waiting[part->wait->rank];
    const struct nvt_mpi_place late = nvt_mpi_late_place(&groups->places, part->first);
    if (late.call || part->first->late == part->wait->rank)
        return 0;
    const uint32_t at = group_of(groups, part, late.range);
    struct turns *turns = at == NVT_NONE ? NULL
                                         : turns_of(groups, part->wait->rank, part->first->state,
                                                    part->first->late, late.range);
    if (!turns)
        return -1;
    add_wait(&groups->items[at].all, part);
    add_wait(&turns->all, part);
    if (part->wait->start >= waiting->from && part->wait->start <= waiting->to)
        add_steady(groups, &groups->items[at], turns, part);
    return 0;
}

/* What each rank of a chain of waits is the first cause of. 0, or -1 when out of memory. */
static int add_waits(struct groups *groups)
{
    const struct nvt_mpi_waits *waits = &groups->ranks->waits;
    struct nvt_mpi_link *links = nvt_mpi_links(waits);
    int failed = !links;
    for (size_t i = 0; i < waits->count && !failed; i++) {
        const struct nvt_mpi_wait *wait = &waits->items[i];
        const double least = LEAST_PART * (double)(wait->end - wait->start);
        double rest = (double)(wait->end - wait->start);
        size_t at = i;
        for (int k = 0; k < MOST_LINKS && at != SIZE_MAX && rest >= least && !failed; k++) {
            const double own = rest * (1 - links[at].passed);
            if (own >= least)
                failed = add_part(groups, &(struct part){wait, &waits->items[at], own});
            rest -= own;
            at = links[at].via;
        }
    }
    free(links);
    return failed ? -1 : 0;
}

/* The part of a rank's steady time that a group takes, of its usual waits. */
static double share_of(struct groups *groups, const struct group *group)
{
    const struct nvt_late_waiting *waiting = &groups->ranks->waiting[group->rank];
    const int is_mutual = group->state == NVT_MPI_WAIT_NXN || group->state == NVT_MPI_WAIT_BARRIER;
    const double span = waiting->span_ns;
    if (span <= 0 || group->count < NVT_LATE_LEAST)
        return 0;
    /* Ranks that are late by turns wait for each other: on a busy machine, or with uneven work that nobody has more of. */
    const struct turns *turns =
        is_mutual ? turns_of(groups, group->late, group->state, group->late, group->late_range)
                  : NULL;
    if (turns && usual_of(&group->all) < NVT_LATE_TIMES * usual_of(&turns->all))
        return 0;
    return (nvt_usual_time(group->ns, group->count, group->longest.ns[0], group->longest.ns[1]) -
            (turns ? turns->ns : 0)) /
           span;
}

static struct nvt_late_rank late_rank_of(const struct group *group)
{
    return (struct nvt_late_rank){.state = (enum nvt_mpi_wait_state)group->state,
                                  .late = group->late,
                                  .late_range = group->late_range,
                                  .rank = group->rank,
                                  .range = group->range,
                                  .call = group->call,
                                  .ns = group->ns,
                                  .count = group->count,
                                  .through_ns = group->through_ns,
                                  .longest = group->longest};
}

static int by_time(const void *left, const void *right)
{
    const struct nvt_late_rank *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

/* One item for all groups of a late rank, range and state that are told. 0, or -1 when out of memory. */
static int tell(struct groups *groups)
{
    struct nvt_late_ranks *ranks = groups->ranks;
    struct nvt_map items = {0}; /* first group -> item */
    int failed = 0;
    for (uint32_t i = 0; i < groups->count && !failed; i++) {
        const struct group *group = &groups->items[i];
        if (share_of(groups, group) < NVT_LATE_SHARE)
            continue;
        uint32_t *at = nvt_map_at(&items, group->first);
        failed = !at || (*at == NVT_MAP_NONE &&
                         nvt_grow(&ranks->items, ranks->count, sizeof(*ranks->items)));
        if (failed)
            break;
        ranks->waiting[group->rank].told_ns += group->ns;
        if (*at == NVT_MAP_NONE) {
            *at = ranks->count;
            ranks->items[ranks->count++] = late_rank_of(group);
        }
        struct nvt_late_rank *item = &ranks->items[*at];
        uint32_t told = item->ranks + 1;
        /* One that waits for it itself goes first. */
        if (group->ns - group->through_ns > item->ns - item->through_ns)
            *item = late_rank_of(group);
        item->ranks = told;
    }
    nvt_map_free(&items);
    if (ranks->count > 1)
        qsort(ranks->items, ranks->count, sizeof(*ranks->items), by_time);
    return failed ? -1 : 0;
}

static int find_late_ranks(struct nvt_late_ranks *ranks, struct nvt_error *err)
{
    struct groups groups = {.ranks = ranks};
    groups.names = nvt_strings_new();
    int status = !groups.names || find_steady_parts(ranks) ? nvt_fail(err, "out of memory") : 0;
    if (!status)
        status = nvt_mpi_places_make(&groups.places, &ranks->waits.job, err);
    if (!status && (add_waits(&groups) || tell(&groups)))
        status = nvt_fail(err, "out of memory");
    nvt_mpi_places_free(&groups.places);
    nvt_map_free(&groups.by_late);
    nvt_map_free(&groups.by_state);
    nvt_map_free(&groups.by_rank);
    nvt_map_free(&groups.turns);
    nvt_strings_free(groups.names);
    free(groups.turn_items);
    free(groups.items);
    return status;
}

/* --- jobs --------------------------------------------------------------------------------------- */

int nvt_late_jobs_make(struct nvt_late_jobs *jobs, const struct nvt_input *input,
                       struct nvt_error *err)
{
    size_t count = 0;
    int status = 0;
    if (!nvt_input_has_mpi(input))
        return 0;
    jobs->numbers = nvt_input_run_numbers(input, &count);
    jobs->items = calloc(count + 1, sizeof(*jobs->items));
    if (!jobs->numbers || !jobs->items)
        return nvt_fail(err, "out of memory");
    for (; jobs->count < count && !status; jobs->count++) {
        struct nvt_late_ranks *ranks = &jobs->items[jobs->count];
        status = nvt_mpi_waits_make(&ranks->waits, input, jobs->numbers, jobs->count, err);
        if (!status && ranks->waits.count)
            status = find_late_ranks(ranks, err);
    }
    return status;
}

void nvt_late_jobs_free(struct nvt_late_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        nvt_mpi_waits_free(&jobs->items[i].waits);
        free(jobs->items[i].waiting);
        free(jobs->items[i].items);
    }
    free(jobs->items);
    free(jobs->numbers);
    *jobs = (struct nvt_late_jobs){0};
}

/* Whether a rank of a job is a process of a trace (NVT_NONE: any). */
static int is_of(const struct nvt_mpi_job *job, uint32_t rank, const struct nvt_trace *trace,
                 uint32_t process)
{
    return nvt_mpi_trace(job, rank) == trace &&
           (process == NVT_NONE || job->ranks[rank].process == process);
}

int nvt_late_jobs_tell(const struct nvt_late_jobs *jobs, const struct nvt_trace *trace,
                       uint32_t process)
{
    for (size_t i = 0; i < jobs->count; i++)
        for (uint32_t k = 0; k < jobs->items[i].count; k++)
            if (is_of(&jobs->items[i].waits.job, jobs->items[i].items[k].late, trace, process))
                return 1;
    return 0;
}

double nvt_late_jobs_told(const struct nvt_late_jobs *jobs, const struct nvt_trace *trace,
                          uint32_t process)
{
    double ns = 0;
    for (size_t i = 0; i < jobs->count; i++)
        for (uint32_t k = 0; jobs->items[i].waiting && k < jobs->items[i].waits.job.count; k++)
            if (is_of(&jobs->items[i].waits.job, k, trace, process))
                ns += jobs->items[i].waiting[k].told_ns;
    return ns;
}
