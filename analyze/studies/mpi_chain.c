#include "mpi_chain.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "spent.h"

/* So many of the waits before one are looked at for the longest. */
#define LOOKED_AT 256

/* The waits of a rank, in the order of their starts. */
struct own {
    size_t *items;
    uint32_t count;
    struct nvt_spent spent;
    /* When it left the last collective and the one before, on the axis of rank 0; INT64_MIN: none yet. */
    int64_t left[2];
};

struct chain {
    const struct nvt_mpi_waits *waits;
    struct nvt_mpi_link *links;
    struct own *ranks;
    size_t *order;       /* waits by their ends on the axis of rank 0 */
    int64_t *ends;       /* of each wait on that axis */
    struct nvt_map pair; /* lower rank << 32 | higher: number of times */
    int64_t *times;      /* when they last left a call together, on that axis */
    uint32_t pairs;
};

/* A wait with its time, to be sorted. */
struct timed {
    int64_t time;
    size_t item;
};

static int by_time(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Each rank's waits, and all by their ends. 0, or -1 when out of memory. */
static int sort_waits(struct chain *chain)
{
    const struct nvt_mpi_waits *waits = chain->waits;
    struct timed *timed = malloc((waits->count + 1) * sizeof(*timed));
    int failed = !timed;
    for (size_t i = 0; i < waits->count && !failed; i++)
        timed[i] = (struct timed){waits->items[i].start, i};
    if (!failed)
        qsort(timed, waits->count, sizeof(*timed), by_time);
    for (size_t i = 0; i < waits->count && !failed; i++) {
        const struct nvt_mpi_wait *wait = &waits->items[timed[i].item];
        struct own *own = &chain->ranks[wait->rank];
        failed = nvt_grow(&own->items, own->count, sizeof(*own->items)) ||
                 nvt_spent_add(&own->spent, wait->start, wait->end);
        if (!failed)
            own->items[own->count++] = timed[i].item;
    }
    for (size_t i = 0; i < waits->count && !failed; i++) {
        const struct nvt_mpi_wait *wait = &waits->items[i];
        chain->ends[i] = nvt_mpi_time(&waits->job, wait->rank, 0, wait->end);
        timed[i] = (struct timed){chain->ends[i], i};
    }
    if (!failed)
        qsort(timed, waits->count, sizeof(*timed), by_time);
    for (size_t i = 0; i < waits->count && !failed; i++)
        chain->order[i] = timed[i].item;
    free(timed);
    return failed ? -1 : 0;
}

static int64_t waited(const struct own *own, int64_t from, int64_t to)
{
    return to <= from ? 0 : nvt_spent_until(&own->spent, to) - nvt_spent_until(&own->spent, from);
}

/* The longest of a rank's waits that begin in a stretch of time of its own axis; SIZE_MAX: none. */
static size_t longest_in(const struct chain *chain, uint32_t rank, int64_t from, int64_t to)
{
    const struct own *own = &chain->ranks[rank];
    const struct nvt_mpi_wait *items = chain->waits->items;
    uint32_t low = 0, high = own->count;
    size_t longest = SIZE_MAX;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (items[own->items[middle]].start < to)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low, k = 0; i-- > 0 && k < LOOKED_AT; k++) {
        const struct nvt_mpi_wait *wait = &items[own->items[i]];
        if (wait->end <= from)
            break;
        if (longest == SIZE_MAX ||
            wait->end - wait->start > items[longest].end - items[longest].start)
            longest = own->items[i];
    }
    return longest;
}

static int is_collective(const struct nvt_mpi_wait *wait)
{
    return wait->state == NVT_MPI_WAIT_NXN || wait->state == NVT_MPI_WAIT_BARRIER;
}

/* A rank left a collective that it began to wait in at `starts`: all waits in it end at once. */
static void leave(struct own *own, int64_t starts, int64_t end)
{
    if (starts >= own->left[0]) {
        own->left[1] = own->left[0];
        own->left[0] = end;
    } else if (end > own->left[0])
        own->left[0] = end;
}

/* When both last left a collective before a moment. */
static int64_t left_before(const struct chain *chain, const struct nvt_mpi_wait *wait,
                           int64_t moment)
{
    int64_t last = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        const int64_t left = chain->ranks[i < 2 ? wait->rank : wait->late].left[i % 2];
        last = left > last && left <= moment ? left : last;
    }
    return last;
}

/* What the late rank of a wait passes on; `together`: when both last left a call together, on the axis of rank 0. */
static struct nvt_mpi_link link_of(const struct chain *chain, const struct nvt_mpi_wait *wait,
                                   int64_t together)
{
    const struct nvt_mpi_job *job = &chain->waits->job;
    const int known = together != INT64_MIN;
    const int64_t own_from = known ? nvt_mpi_time(job, 0, wait->rank, together) : INT64_MIN,
                  late_from = known ? nvt_mpi_time(job, 0, wait->late, together) : INT64_MIN,
                  late_to = nvt_mpi_time(job, wait->rank, wait->late, wait->end);
    const double more = (double)(waited(&chain->ranks[wait->late], late_from, late_to) -
                                 waited(&chain->ranks[wait->rank], own_from, wait->start));
    const double length = (double)(wait->end - wait->start);
    struct nvt_mpi_link link = {.via = SIZE_MAX};
    if (more <= 0)
        return link;
    link.via = longest_in(chain, wait->late, late_from, late_to);
    if (link.via != SIZE_MAX)
        link.passed = more < length ? more / length : 1;
    return link;
}

/* In the order of their ends, so that what was before each is known. 0, or -1 when out of memory. */
static int link_waits(struct chain *chain)
{
    const struct nvt_mpi_waits *waits = chain->waits;
    for (size_t i = 0; i < waits->count; i++) {
        const struct nvt_mpi_wait *wait = &waits->items[chain->order[i]];
        const uint32_t low = wait->rank < wait->late ? wait->rank : wait->late,
                       high = wait->rank < wait->late ? wait->late : wait->rank;
        uint32_t *at = nvt_map_at(&chain->pair, (uint64_t)low << 32 | high);
        if (!at ||
            (*at == NVT_MAP_NONE && nvt_grow(&chain->times, chain->pairs, sizeof(*chain->times))))
            return -1;
        if (*at == NVT_MAP_NONE) {
            *at = chain->pairs;
            chain->times[chain->pairs++] = INT64_MIN;
        }
        const int64_t starts = nvt_mpi_time(&waits->job, wait->rank, 0, wait->start),
                      end = chain->ends[chain->order[i]], left = left_before(chain, wait, starts);
        chain->links[chain->order[i]] =
            link_of(chain, wait, left > chain->times[*at] ? left : chain->times[*at]);
        chain->times[*at] = end;
        if (is_collective(wait)) {
            leave(&chain->ranks[wait->rank], starts, end);
            leave(&chain->ranks[wait->late], starts, end);
        }
    }
    return 0;
}

struct nvt_mpi_link *nvt_mpi_links(const struct nvt_mpi_waits *waits)
{
    const uint32_t ranks = waits->job.count;
    struct chain chain = {.waits = waits,
                          .links = calloc(waits->count + 1, sizeof(*chain.links)),
                          .ranks = calloc((size_t)ranks + 1, sizeof(*chain.ranks)),
                          .order = malloc((waits->count + 1) * sizeof(*chain.order)),
                          .ends = malloc((waits->count + 1) * sizeof(*chain.ends))};
    int failed = !chain.links || !chain.ranks || !chain.order || !chain.ends;
    for (uint32_t i = 0; i < ranks && !failed; i++)
        chain.ranks[i].left[0] = chain.ranks[i].left[1] = INT64_MIN;
    failed = failed || sort_waits(&chain) || link_waits(&chain);
    for (uint32_t i = 0; i < ranks && chain.ranks; i++) {
        free(chain.ranks[i].items);
        nvt_spent_free(&chain.ranks[i].spent);
    }
    nvt_map_free(&chain.pair);
    free(chain.times);
    free(chain.ranks);
    free(chain.order);
    free(chain.ends);
    if (!failed)
        return chain.links;
    free(chain.links);
    return NULL;
}
