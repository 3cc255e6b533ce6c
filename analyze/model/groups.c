#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/grow.h"
#include "column.h"

void nvt_groups_free(struct nvt_groups *groups)
{
    nvt_strings_free(groups->names);
    nvt_map_free(&groups->paths);
    for (uint32_t i = 0; i < groups->count; i++) {
        free(groups->groups[i].narrow);
        free(groups->groups[i].wide);
        free(groups->groups[i].pieces);
    }
    for (size_t i = 0; i < groups->owned_count; i++)
        nvt_column_free(groups->owned[i]);
    free(groups->owned);
    free(groups->groups);
    free(groups->items);
    free(groups->translated);
    free(groups->scratch);
    *groups = (struct nvt_groups){0};
}

void nvt_groups_trace(struct nvt_groups *groups, const struct nvt_trace *trace)
{
    free(groups->translated);
    groups->trace = trace;
    groups->translated_count = nvt_strings_count(trace->strings);
    groups->translated = malloc((size_t)groups->translated_count * sizeof(*groups->translated));
    if (!groups->translated) {
        groups->translated_count = 0;
        groups->failed = 1;
        return;
    }
    memset(groups->translated, 0xff, groups->translated_count * sizeof(*groups->translated));
}

static uint32_t add_text(struct nvt_groups *groups, const char *text, size_t length)
{
    if (!groups->names)
        groups->names = nvt_strings_new();
    uint32_t id = groups->names ? nvt_strings_add(groups->names, text, length) : NVT_NO_STRING;
    groups->failed |= id == NVT_NO_STRING;
    return id;
}

uint32_t nvt_groups_text(struct nvt_groups *groups, const char *text)
{
    return add_text(groups, text, strlen(text));
}

uint32_t nvt_groups_string(struct nvt_groups *groups, uint32_t string)
{
    if (string >= groups->translated_count)
        return nvt_groups_text(groups, "");
    uint32_t *known = &groups->translated[string];
    if (*known == NVT_NO_STRING) {
        size_t length;
        const char *text = nvt_strings_get(groups->trace->strings, string, &length);
        *known = add_text(groups, text, length);
    }
    return *known;
}

const char *nvt_groups_name(const struct nvt_groups *groups, uint32_t name)
{
    return groups->names ? nvt_strings_get(groups->names, name, NULL) : "";
}

static uint32_t child(struct nvt_groups *groups, uint32_t node, uint32_t part)
{
    uint32_t *at = nvt_map_at(&groups->paths, (uint64_t)node << 32 | part);
    if (!at)
        return NVT_NONE;
    if (*at == NVT_MAP_NONE)
        *at = ++groups->nodes;
    return *at;
}

/* Nodes of the tree below which names of ranges and groups hang; no key starts with them. */
enum { ROOT_OF_NAMES = UINT32_MAX - 2, ROOT_OF_GROUPS = UINT32_MAX - 1 };

uint32_t nvt_groups_named(struct nvt_groups *groups, uint32_t domain, uint32_t string)
{
    const struct nvt_domains *domains = &groups->trace->domains;
    uint32_t prefix =
        nvt_groups_string(groups, domain < domains->count ? domains->name[domain] : 0);
    uint32_t name = nvt_groups_string(groups, string);
    uint32_t node = child(groups, ROOT_OF_NAMES, prefix);
    uint32_t *known = nvt_map_at(&groups->paths, (uint64_t)node << 32 | name);
    if (node == NVT_NONE || !known) {
        groups->failed = 1;
        return NVT_NO_STRING;
    }
    if (*known == NVT_MAP_NONE) {
        struct nvt_buffer text = {0};
        uint32_t id = NVT_NO_STRING;
        if (!nvt_buffer_printf(&text, "%s:%s", nvt_groups_name(groups, prefix),
                               nvt_groups_name(groups, name)))
            id = add_text(groups, (const char *)text.data, text.size);
        nvt_buffer_free(&text);
        groups->failed |= id == NVT_NO_STRING;
        *known = id;
    }
    return *known;
}

uint32_t nvt_groups_range(struct nvt_groups *groups, uint32_t range)
{
    const struct nvt_ranges *ranges = &groups->trace->ranges;
    return nvt_groups_named(groups, ranges->domain[range], ranges->name[range]);
}

static uint32_t new_group(struct nvt_groups *groups, const uint32_t *parts, int count)
{
    if (nvt_grow(&groups->groups, groups->count, sizeof(*groups->groups)) ||
        (groups->item_size && nvt_grow(&groups->items, groups->count, groups->item_size)))
        return NVT_NONE;
    if (groups->item_size)
        memset(groups->items + groups->count * groups->item_size, 0, groups->item_size);
    struct nvt_group *group = &groups->groups[groups->count];
    *group = (struct nvt_group){.total = 0};
    memcpy(group->key, parts, (size_t)count * sizeof(*parts));
    return groups->count++;
}

uint32_t nvt_groups_key(struct nvt_groups *groups, const uint32_t *parts, int count)
{
    uint32_t node = ROOT_OF_GROUPS;
    for (int i = 0; i < count - 1 && node != NVT_NONE; i++)
        node = child(groups, node, parts[i]);
    uint32_t *group = node == NVT_NONE
                          ? NULL
                          : nvt_map_at(&groups->paths, (uint64_t)node << 32 | parts[count - 1]);
    if (group && *group == NVT_MAP_NONE)
        *group = new_group(groups, parts, count);
    if (!group || *group == NVT_NONE) {
        groups->failed = 1;
        return NVT_NONE;
    }
    return *group;
}

/* Turn a group's values of 32 bits into ones of 64. 0, or -1 when out of memory. */
static int widen(struct nvt_group *group)
{
    int64_t *wide = malloc(group->capacity * sizeof(*wide));
    if (!wide)
        return -1;
    for (size_t i = 0; i < group->kept; i++)
        wide[i] = group->narrow[i];
    free(group->narrow);
    group->narrow = NULL;
    group->wide = wide;
    return 0;
}

int nvt_group_grow(struct nvt_group *group, int64_t value)
{
    const size_t needed = group->kept + 1;
    if (group->wide ? nvt_reserve(&group->wide, &group->capacity, needed, sizeof(*group->wide))
                    : nvt_reserve(&group->narrow, &group->capacity, needed, sizeof(*group->narrow)))
        return -1;
    return group->narrow && (uint64_t)value > UINT32_MAX ? widen(group) : 0;
}

static int add_piece(struct nvt_group *to, const struct nvt_piece *piece)
{
    if (nvt_grow(&to->pieces, to->piece_count, sizeof(*to->pieces)))
        return -1;
    to->pieces[to->piece_count++] = *piece;
    return 0;
}

void nvt_groups_piece(struct nvt_groups *groups, uint32_t group, const struct nvt_piece *piece)
{
    if (group == NVT_NONE || !piece->count)
        return;
    struct nvt_group *to = &groups->groups[group];
    if (add_piece(to, piece)) {
        groups->failed = 1;
        return;
    }
    to->count += piece->count;
    to->total = nvt_clock_sum(to->total, (int64_t)piece->sums.sum);
}

void nvt_groups_own(struct nvt_groups *groups, void *column)
{
    if (nvt_grow(&groups->owned, groups->owned_count, sizeof(*groups->owned))) {
        nvt_column_free(column);
        groups->failed = 1;
        return;
    }
    groups->owned[groups->owned_count++] = column;
}

void nvt_groups_durations(struct nvt_groups *groups, uint32_t count, const uint32_t *names,
                          const int64_t *starts, const int64_t *ends)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = nvt_groups_string(groups, names[i]);
        nvt_groups_add(groups, nvt_groups_key(groups, &name, 1), ends[i] - starts[i]);
    }
}

int nvt_groups_finish(struct nvt_groups *groups, struct nvt_error *err)
{
    size_t most = 0;
    groups->total = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        struct nvt_group *group = &groups->groups[i];
        groups->total += (double)group->total;
        most = group->count > most ? group->count : most;
        if (group->kept && !group->wide) {
            const struct nvt_piece kept = {group->narrow, group->kept,
                                           nvt_sums_of(group->narrow, group->kept), 0};
            groups->failed |= add_piece(group, &kept) != 0;
        }
    }
    free(groups->scratch);
    groups->scratch = malloc((most + 2) * sizeof(*groups->scratch));
    if (groups->failed || !groups->scratch)
        return nvt_fail(err, "out of memory");
    return 0;
}

struct nvt_summary nvt_groups_summary(struct nvt_groups *groups, uint32_t group)
{
    const struct nvt_group *from = &groups->groups[group];
    struct nvt_summary summary;
    if (!from->wide) {
        nvt_sample_summary_pieces(from->pieces, from->piece_count, groups->scratch, &summary);
    } else {
        size_t n = 0;
        for (size_t i = 0; i < from->kept; i++)
            groups->scratch[n++] = (double)from->wide[i];
        for (uint32_t k = 0; k < from->piece_count; k++)
            for (size_t i = 0; i < from->pieces[k].count; i++)
                groups->scratch[n++] = from->pieces[k].values[i];
        nvt_sample_summary(groups->scratch, n, &summary);
    }
    return summary;
}
