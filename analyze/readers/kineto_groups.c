/* What kernels that communicate say of their messages and groups. */
#include "kineto.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

uint32_t nvt_kineto_members(struct nvt_strings *strings, const char *text, size_t size)
{
    char *members = malloc(size + 1);
    size_t length = 0;
    uint32_t id = NVT_NO_STRING;
    for (size_t i = 0; members && i < size; i++)
        if ((text[i] >= '0' && text[i] <= '9') || text[i] == ',' || text[i] == '.')
            members[length++] = text[i];
    if (members)
        id = nvt_strings_add(strings, members, length);
    free(members);
    return id;
}

int nvt_kineto_add_group(struct nvt_kineto *reader, const struct nvt_kineto_group *group)
{
    uint32_t *at = nvt_map_at(&reader->group_of, group->name);
    if (!at || (*at == NVT_MAP_NONE &&
                nvt_grow(&reader->groups, reader->group_count, sizeof(*reader->groups))))
        return -1;
    if (*at == NVT_MAP_NONE)
        *at = reader->group_count++;
    reader->groups[*at] = *group;
    return 0;
}

void nvt_kineto_groups_free(struct nvt_kineto *reader)
{
    nvt_map_free(&reader->group_of);
    free(reader->groups);
}

/* What the head of the file lists, where the event says less. PyTorch cuts long lists of ranks in events. */
static void complete_group(const struct nvt_kineto *reader, struct nvt_collective *row)
{
    const uint32_t at = row->group ? nvt_map_get(&reader->group_of, row->group) : NVT_MAP_NONE;
    if (at == NVT_MAP_NONE)
        return;
    const struct nvt_kineto_group *group = &reader->groups[at];
    if (row->ranks && group->ranks && row->ranks != group->ranks)
        return;
    row->ranks = row->ranks ? row->ranks : group->ranks;
    row->purpose = row->purpose ? row->purpose : group->purpose;
    if (group->members &&
        (!row->members || strstr(nvt_name(reader->trace, row->members), "...") != NULL))
        row->members = group->members;
}

/* The rank at the other end, and 1: what sends says its target, what receives its source. */
static uint32_t peer_of(const struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const char *name = nvt_name(reader->trace, event->collective);
    const int64_t peer = strstr(name, "send")   ? nvt_kineto_int(event, NVT_KN_TARGET, -1)
                         : strstr(name, "recv") ? nvt_kineto_int(event, NVT_KN_SOURCE, -1)
                                                : -1;
    return peer >= 0 && peer < NVT_NONE - 1 ? (uint32_t)peer + 1 : 0;
}

/* Rows of collectives that are looked at for one that is the same: a loop has so many messages. */
#define SAME_COLLECTIVE 64

static int is_same(const struct nvt_collectives *rows, uint32_t i, const struct nvt_collective *row)
{
    return rows->name[i] == row->name && rows->type[i] == row->type &&
           rows->group[i] == row->group && rows->ranks[i] == row->ranks &&
           rows->given[i] == row->given && rows->taken[i] == row->taken &&
           rows->members[i] == row->members && rows->purpose[i] == row->purpose &&
           rows->peer[i] == row->peer;
}

uint32_t nvt_kineto_collective(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const struct nvt_collectives *rows = &reader->trace->collectives;
    struct nvt_collective row = {.name = event->collective,
                                 .type = event->type,
                                 .group = event->group,
                                 .ranks = nvt_kineto_u32(event, NVT_KN_RANKS, 0),
                                 .given = nvt_kineto_size(event, NVT_KN_GIVEN),
                                 .taken = nvt_kineto_size(event, NVT_KN_TAKEN),
                                 .members = event->members,
                                 .purpose = event->purpose,
                                 .peer = peer_of(reader)};
    if (!row.name)
        return 0;
    complete_group(reader, &row);
    for (uint32_t i = rows->count; i-- > 0 && rows->count - i <= SAME_COLLECTIVE;)
        if (is_same(rows, i, &row))
            return i + 1;
    uint32_t added = nvt_collective_add(reader->trace, &row);
    return added == NVT_NONE ? NVT_NONE : added + 1;
}

int nvt_kineto_sequence(struct nvt_kineto *reader, uint32_t process)
{
    const struct nvt_kineto_event *event = &reader->event;
    const struct nvt_sequence row = {.process = process,
                                     .correlation = nvt_kineto_size(event, NVT_KN_CORRELATION),
                                     .number = nvt_kineto_size(event, NVT_KN_SEQUENCE)};
    if (!event->collective || !row.correlation || !(event->have >> NVT_KN_SEQUENCE & 1))
        return 0;
    return nvt_sequence_add(reader->trace, &row) == NVT_NONE ? -1 : 0;
}
