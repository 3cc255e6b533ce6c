/*
 * Collectives of torch.distributed, which `record --pytorch` has as ranges (lib/collective_payload.h). They stay ranges; what
 * their threads wait in becomes rows of mpi_calls, so that ranks are compared by it:
 *
 *   - one whose thread goes on when it is done, from its begin to its end;
 *   - a wait for one that was launched before;
 *   - of those that a backward pass launches itself, as DistributedDataParallel does, the last one of each pass, from its launch
 *     until all of them are done: the pass goes on beside the others, and waits at its end. All ranks launch them in the same
 *     order, so that the last ones of a pass belong together, whatever the others overlap with.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "nvt.h"

int nvt_file_take_collective(struct nvt_file_reader *reader,
                             const struct nvt_pending_payload *pending)
{
    struct nvt_file_collectives *all = &reader->collectives;
    const uint8_t *payload = pending->is_mark
                                 ? NULL
                                 : nvt_file_payload_of(reader, pending, NVT_COLLECTIVE_SCHEMA,
                                                       sizeof(struct nvt_collective_said));
    if (!payload)
        return 0;
    if (nvt_grow(&all->items, all->count, sizeof(*all->items)))
        return -1;
    struct nvt_file_collective *item = &all->items[all->count++];
    item->row = pending->row;
    memcpy(&item->said, payload, sizeof(item->said));
    item->said.group[sizeof(item->said.group) - 1] = 0;
    return 0;
}

/* A communicator's number by its name (FNV-1a): equal in all processes, never 0. */
static uint64_t number_of(const char *group)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *group; group++)
        hash = (hash ^ (uint8_t)*group) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

static uint8_t kind_of(const char *name, uint32_t flags)
{
    if (flags & NVT_COLLECTIVE_WAIT)
        return NVT_MPI_WAIT;
    return !strcmp(name, "send") || !strcmp(name, "recv") ? NVT_MPI_P2P : NVT_MPI_COLLECTIVE;
}

static int add_call(struct nvt_trace *trace, const struct nvt_file_collective *item, int64_t end)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_collective_said *said = &item->said;
    const int is_wait = (said->flags & NVT_COLLECTIVE_WAIT) != 0;
    const uint32_t thread = ranges->thread[item->row];
    const uint32_t group = is_wait ? 0 : nvt_strings_add_text(trace->strings, said->group);
    const struct nvt_mpi_call row = {
        .start = ranges->start[item->row],
        .end = end,
        .thread = thread,
        .name = ranges->name[item->row],
        .communicator = is_wait ? 0 : number_of(said->group),
        .sent = is_wait ? UINT64_MAX : said->given,
        .received = is_wait ? UINT64_MAX : said->taken,
        .peer = said->root >= 0 ? said->root : NVT_MPI_NONE,
        .tag = NVT_MPI_NONE,
        .ranks = is_wait || said->ranks < 0 ? 0 : (uint32_t)said->ranks,
        .group = group,
        .sequence_and_1 = is_wait ? 0 : said->sequence + 1,
        .kind = kind_of(nvt_name(trace, ranges->name[item->row]), said->flags),
        .flags = ranges->flags[item->row] & NVT_RANGE_PARTIAL};
    return group == NVT_NO_STRING || nvt_mpi_call_add(trace, &row) == NVT_NONE ? -1 : 0;
}

static void note_rank(struct nvt_trace *trace, const struct nvt_file_collective *item)
{
    const uint32_t thread = trace->ranges.thread[item->row];
    uint32_t *rank = &trace->processes.rank[trace->threads.process[thread]];
    if (item->said.world > 0 && item->said.world_rank >= 0 && *rank == NVT_NONE)
        *rank = (uint32_t)item->said.world_rank;
}

/* --- what backward passes launch --------------------------------------------------------------- */

/* A backward pass, or one of what they launch (`item` not NULL). */
struct part {
    uint32_t thread;
    int64_t start, end;
    const struct nvt_file_collective *item;
};

/* By thread and time; a pass comes before what it launches. */
static int by_time(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->item != NULL) - (b->item != NULL);
}

/* NULL when out of memory. */
static struct part *find_parts(const struct nvt_file_reader *reader, size_t *count)
{
    const struct nvt_trace *trace = reader->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t pass = nvt_strings_find(trace->strings, "backward", strlen("backward"));
    struct part *parts =
        malloc((reader->collectives.count + ranges->count + (size_t)1) * sizeof(*parts));
    *count = 0;
    for (uint32_t i = 0; parts && pass != NVT_NO_STRING && i < ranges->count; i++)
        if (ranges->name[i] == pass && ranges->style[i] == NVT_PUSH_POP &&
            !strcmp(nvt_domain_name(trace, ranges->domain[i]), NVT_COLLECTIVE_DOMAIN))
            parts[(*count)++] =
                (struct part){ranges->thread[i], ranges->start[i], ranges->end[i], NULL};
    for (size_t i = 0; parts && i < reader->collectives.count; i++) {
        const struct nvt_file_collective *item = &reader->collectives.items[i];
        if (item->said.flags & NVT_COLLECTIVE_BACKWARD)
            parts[(*count)++] = (struct part){ranges->thread[item->row], ranges->start[item->row],
                                              ranges->end[item->row], item};
    }
    if (parts)
        qsort(parts, *count, sizeof(*parts), by_time);
    return parts;
}

/* Of each pass the last one, until all are done. 0, or -1 when out of memory. */
static int add_passes(struct nvt_file_reader *reader)
{
    size_t count;
    struct part *parts = find_parts(reader, &count);
    int failed = !parts;
    for (size_t i = 0; i < count && !failed; i++) {
        const struct part *pass = &parts[i], *last = NULL;
        int64_t done = INT64_MIN;
        for (size_t k = i + 1; !pass->item && k < count && parts[k].item; k++) {
            if (parts[k].thread != pass->thread || parts[k].start > pass->end)
                break;
            last = &parts[k];
            done = last->end > done ? last->end : done;
        }
        if (last)
            failed = add_call(reader->trace, last->item, done < pass->end ? done : pass->end);
    }
    free(parts);
    return failed ? -1 : 0;
}

int nvt_file_complete_collectives(struct nvt_file_reader *reader)
{
    const struct nvt_file_collectives *all = &reader->collectives;
    int failed = 0;
    for (size_t i = 0; i < all->count && !failed; i++) {
        note_rank(reader->trace, &all->items[i]);
        if (all->items[i].said.flags & (NVT_COLLECTIVE_BLOCKS | NVT_COLLECTIVE_WAIT))
            failed = add_call(reader->trace, &all->items[i],
                              reader->trace->ranges.end[all->items[i].row]);
    }
    return failed || (all->count && add_passes(reader)) ? -1 : 0;
}
