#include "collective_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/collective_payload.h"
#include "../../lib/nccl_payload.h"
#include "communication.h"
#include "messages.h"
#include "project.h"

struct collectives {
    struct nvt_groups *groups; /* by the text of the message, which they carry */
    const struct nvt_trace *trace;
    uint32_t *range_of; /* operations of the trace -> NCCL's range around them, or what follows */
};

/* Instead of a range: no communication, and none that was found. */
#define NO_MESSAGE (NVT_NONE - 1)
#define NO_RANGE   NVT_NONE

/* The row of what PyTorch says and 1, 0 where it says nothing. */
static uint32_t told_row(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t detail = trace->ops.detail[op];
    return trace->ops.kind[op] == NVT_OP_KERNEL && detail != NVT_NONE
               ? trace->kernels.collective[detail]
               : 0;
}

static struct nvt_message message_of(const struct collectives *all, uint32_t op)
{
    const struct nvt_ops *ops = &all->trace->ops;
    uint32_t row = told_row(all->trace, op);
    if (row)
        return nvt_message_told(all->trace, row - 1);
    if (all->range_of[op] != NO_RANGE)
        return nvt_message_ranged(all->trace, all->range_of[op]);
    struct nvt_message message = {.bytes = NVT_MESSAGE_UNKNOWN};
    snprintf(message.name, sizeof(message.name), "%s", nvt_name(all->trace, ops->short_name[op]));
    if (ops->bytes[op] && ops->bytes[op] <= INT64_MAX)
        message.bytes = ops->bytes[op];
    return message;
}

static int keep_range(void *context, uint32_t op, const uint32_t *ranges, uint32_t count)
{
    struct collectives *all = context;
    const struct nvt_trace *trace = all->trace;
    for (uint32_t i = 0; i < count && all->range_of[op] != NO_MESSAGE; i++)
        if (!strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[ranges[i]]]),
                    "NCCL") &&
            strncmp(nvt_name(trace, trace->ranges.name[ranges[i]]), "ncclGroup", 9) != 0)
            all->range_of[op] = ranges[i];
    return 0;
}

/* The group of a message, new or old. */
static uint32_t group_of(struct nvt_groups *groups, const struct nvt_message *message)
{
    char text[256];
    snprintf(text, sizeof(text), "%s|%s|%" PRIu32 "|%" PRIu64, message->name, message->type,
             message->ranks, message->bytes);
    uint32_t key = nvt_groups_text(groups, text);
    uint32_t group = nvt_groups_key(groups, &key, 1);
    struct nvt_message *kept = nvt_groups_item(groups, group);
    if (kept)
        *kept = *message;
    return group;
}

/* Which operations communicate, and the ranges of those that nobody tells of. 0, or -1 when out of
 * memory. */
static int find_ranges(struct collectives *all)
{
    const struct nvt_trace *trace = all->trace;
    int has_untold = 0;
    all->range_of = malloc(((size_t)trace->ops.count + 1) * sizeof(*all->range_of));
    if (!all->range_of)
        return -1;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        int is_told = told_row(trace, i) != 0;
        int is_message = is_told || nvt_is_communication(trace, i);
        all->range_of[i] = is_message ? NO_RANGE : NO_MESSAGE;
        has_untold |= is_message && !is_told;
    }
    return has_untold ? nvt_project(trace, 0, keep_range, all, NULL) : 0;
}

/* Whether NCCL itself says what it did. */
static int has_nccl(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->domains.count; i++)
        if (!strcmp(nvt_domain_name(trace, i), NVT_NCCL_DOMAIN))
            return 1;
    return 0;
}

int nvt_collective_calls_add(struct nvt_groups *groups, const struct nvt_trace *trace)
{
    struct collectives all = {groups, trace, NULL};
    const struct nvt_ops *ops = &trace->ops;
    int status = find_ranges(&all), found = 0;
    const char *domain = has_nccl(trace) ? NVT_NCCL_DOMAIN : NVT_COLLECTIVE_DOMAIN;
    for (uint32_t i = 0; i < ops->count && !status; i++) {
        if (all.range_of[i] == NO_MESSAGE)
            continue;
        struct nvt_message message = message_of(&all, i);
        found = 1;
        nvt_groups_add(groups, group_of(groups, &message), ops->end[i] - ops->start[i]);
    }
    free(all.range_of);
    for (uint32_t i = 0; i < trace->ranges.count && !status && !found; i++) {
        struct nvt_message message;
        if (!strcmp(nvt_domain_name(trace, trace->ranges.domain[i]), domain) &&
            nvt_message_launched(trace, i, &message) &&
            !(trace->ranges.flags[i] & NVT_RANGE_PARTIAL))
            nvt_groups_add(groups, group_of(groups, &message),
                           trace->ranges.end[i] - trace->ranges.start[i]);
    }
    return status;
}
