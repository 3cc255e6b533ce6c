/*
 * Digests of processes by what NCCL says of its collectives (record --trace nccl, lib/nccl_payload.h), where no device was recorded:
 * each lasts from the begin of its first channel on the device to the end of its last. What a process does outside of them counts as
 * its work. Messages are left out: their numbers are a rank's own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/nccl_payload.h"
#include "../device/messages.h"
#include "../model/payload.h"
#include "rank_digest.h"

/* A collective: its range, and when it begins on the device. */
struct said {
    uint32_t process, range;
    uint64_t communicator, sequence;
    int64_t start;
};

/* The number behind a name in the text of a payload; UINT64_MAX: there is none. */
static uint64_t number_in(const char *payload, const char *name)
{
    const char *found = strstr(payload, name);
    found = found ? found + strlen(name) : "";
    return *found >= '0' && *found <= '9' ? strtoull(found, NULL, 10) : UINT64_MAX;
}

static int read_said(const char *payload, struct said *said)
{
    said->communicator = number_in(payload, "\"communicator\":");
    said->sequence = number_in(payload, "\"sequence\":");
    return said->communicator != UINT64_MAX && said->sequence < UINT32_MAX;
}

static uint64_t key_of(const struct said *said)
{
    return (said->communicator ^ (uint64_t)said->process << 48 ^ said->sequence << 20) *
           UINT64_C(0x9E3779B97F4A7C15);
}

static int is_of_nccl(const struct nvt_trace *trace, uint32_t domain)
{
    return !strcmp(nvt_domain_name(trace, domain), NVT_NCCL_DOMAIN);
}

/* Whether a range is a collective that ended when its last channel had. */
static int is_collective(const struct nvt_trace *trace, uint32_t range, struct said *said)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const char *name = nvt_name(trace, ranges->name[range]);
    if (!is_of_nccl(trace, ranges->domain[range]) || ranges->style[range] != NVT_START_END ||
        !(ranges->flags[range] & NVT_RANGE_HAS_PAYLOAD) ||
        ranges->flags[range] & NVT_RANGE_PARTIAL || !strcmp(name, "Send") || !strcmp(name, "Recv"))
        return 0;
    const char *payload = nvt_name(trace, ranges->payload[range]);
    said->process = trace->threads.process[ranges->thread[range]];
    said->range = range;
    return number_in(payload, "\"until done\":") == 1 && read_said(payload, said);
}

/* Begins on the device by collective: rows of marks. 0, or -1 when out of memory. */
static int find_begins(const struct nvt_trace *trace, struct nvt_map *begins)
{
    const struct nvt_marks *marks = &trace->marks;
    for (uint32_t i = 0; i < marks->count; i++) {
        struct said said = {0};
        if (!is_of_nccl(trace, marks->domain[i]) ||
            strcmp(nvt_name(trace, marks->name[i]), NVT_NCCL_BEGINS) != 0 ||
            !read_said(nvt_name(trace, marks->payload[i]), &said))
            continue;
        said.process = trace->threads.process[marks->thread[i]];
        uint32_t *at = nvt_map_at(begins, key_of(&said));
        if (!at)
            return -1;
        *at = i;
    }
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct said *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->range > b->range) - (a->range < b->range);
}

/* Collectives whose begin and end are known, by process, in the order of their begins. 0, or -1 when out of memory. */
static int find_all(const struct nvt_trace *trace, struct said **all, uint32_t *count)
{
    struct nvt_map begins = {0};
    int failed = find_begins(trace, &begins);
    for (uint32_t i = 0; i < trace->ranges.count && !failed; i++) {
        struct said said;
        if (!is_collective(trace, i, &said))
            continue;
        const uint32_t mark = nvt_map_get(&begins, key_of(&said));
        if (mark == NVT_MAP_NONE || trace->marks.time[mark] > trace->ranges.end[i])
            continue;
        said.start = trace->marks.time[mark];
        failed = nvt_grow(all, *count, sizeof(**all));
        if (!failed)
            (*all)[(*count)++] = said;
    }
    nvt_map_free(&begins);
    if (!failed && *count)
        qsort(*all, *count, sizeof(**all), by_start);
    return failed ? -1 : 0;
}

/* NVT_NONE when out of memory. */
static uint32_t group_of(struct nvt_ranks *ranks, const struct nvt_trace *trace,
                         const struct said *said)
{
    const char *payload = nvt_name(trace, trace->ranges.payload[said->range]);
    const uint64_t size = number_in(payload, "\"ranks\":");
    char key[64], name[64];
    struct nvt_rank_group group = {.size = size < NVT_NONE ? (uint32_t)size : 0};
    snprintf(key, sizeof(key), "NCCL %" PRIx64, said->communicator);
    if (!nvt_member_text(payload, "\"group\"", name, sizeof(name)) || !*name)
        snprintf(name, sizeof(name), "%s", key);
    group.name = nvt_strings_add_text(ranks->names, name);
    return group.name == NVT_NO_STRING ? NVT_NONE : nvt_ranks_group(ranks, key, &group);
}

/* 0, or -1 when out of memory. `outside`: what the process did outside of collectives before it. */
static int add_part(struct nvt_ranks *ranks, struct nvt_rank *rank, const struct said *said,
                    int64_t outside)
{
    const struct nvt_trace *trace = rank->from->trace;
    struct nvt_message message;
    struct nvt_rank_part part = {
        .name =
            nvt_strings_add_text(ranks->names, nvt_name(trace, trace->ranges.name[said->range])),
        .group = group_of(ranks, trace, said),
        .sequence = said->sequence,
        .bus_bytes = NAN,
        .start = said->start,
        .end = trace->ranges.end[said->range],
        .before = {.work = outside}};
    if (nvt_message_launched(trace, said->range, &message) && message.bytes != NVT_MESSAGE_UNKNOWN)
        part.bus_bytes = (double)message.bytes * nvt_bus_factor(message.name, message.ranks);
    part.after = part.before;
    return part.name == NVT_NO_STRING || part.group == NVT_NONE || nvt_rank_add_part(rank, &part);
}

/* The collectives of one process. */
static int add_process(struct nvt_ranks *ranks, const struct nvt_input_trace *from,
                       const struct said *all, uint32_t count)
{
    struct nvt_rank *rank = nvt_ranks_add(ranks, from, all->process, NVT_NONE);
    int64_t until = all->start, outside = 0;
    if (!rank)
        return -1;
    rank->is_of_nccl = 1;
    rank->first = all->start;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t end = from->trace->ranges.end[all[i].range];
        outside += all[i].start > until ? all[i].start - until : 0;
        until = end > until ? end : until;
        if (add_part(ranks, rank, &all[i], outside))
            return -1;
    }
    rank->span = until - rank->first;
    rank->compute = outside;
    rank->communication = rank->span - outside;
    return 0;
}

int nvt_ranks_of_nccl(struct nvt_ranks *ranks, const struct nvt_input_trace *from)
{
    struct said *all = NULL;
    uint32_t count = 0;
    int failed = find_all(from->trace, &all, &count);
    for (uint32_t i = 0, end; i < count && !failed; i = end) {
        for (end = i; end < count && all[end].process == all[i].process;)
            end++;
        failed = add_process(ranks, from, &all[i], end - i);
    }
    free(all);
    return failed ? -1 : 0;
}
