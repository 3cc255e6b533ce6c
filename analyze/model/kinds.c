#include "kinds.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"

/* A table of NVT_NONE, or NULL: out of memory. */
static uint32_t *new_table(size_t cells)
{
    uint32_t *table = malloc((cells + 1) * sizeof(*table));
    if (table)
        memset(table, 0xff, (cells + 1) * sizeof(*table));
    return table;
}

uint32_t *nvt_number_strings(const struct nvt_trace *trace, const uint32_t *ids, uint32_t count,
                             uint32_t *used)
{
    uint32_t strings = nvt_strings_count(trace->strings), *numbers = new_table(strings);
    *used = 0;
    for (uint32_t i = 0; numbers && i < count; i++)
        if (ids[i] < strings && numbers[ids[i]] == NVT_NONE)
            numbers[ids[i]] = (*used)++;
    return numbers;
}

struct lookup {
    uint32_t *numbers; /* of the names */
    uint32_t names;
    uint32_t *table; /* [thread][domain][style][number of the name], where it is small */
    struct nvt_map pairs, map;
    int by_thread;
};

/* Where the kind of a range is kept; NULL when out of memory. */
static uint32_t *kind_at(struct lookup *lookup, const struct nvt_trace *trace, uint32_t range)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint64_t style = ranges->style[range] != NVT_PUSH_POP;
    uint64_t thread = lookup->by_thread ? ranges->thread[range] : 0;
    if (lookup->table)
        return &lookup
                    ->table[((thread * trace->domains.count + ranges->domain[range]) * 2 + style) *
                                lookup->names +
                            lookup->numbers[ranges->name[range]]];
    uint32_t *pair =
        nvt_map_at(&lookup->pairs, (uint64_t)ranges->domain[range] << 32 | ranges->name[range]);
    if (!pair)
        return NULL;
    if (*pair == NVT_MAP_NONE)
        *pair = (uint32_t)lookup->pairs.used;
    return nvt_map_at(&lookup->map, (uint64_t)*pair << 33 | thread << 1 | style);
}

static int prepare(struct lookup *lookup, const struct nvt_trace *trace)
{
    lookup->numbers =
        nvt_number_strings(trace, trace->ranges.name, trace->ranges.count, &lookup->names);
    uint64_t owners = lookup->by_thread ? trace->threads.count : 1;
    uint64_t cells = owners * trace->domains.count * 2;
    if (!lookup->numbers)
        return -1;
    if (cells > NVT_KINDS_TABLE || cells * lookup->names > NVT_KINDS_TABLE)
        return 0;
    lookup->table = new_table((size_t)cells * lookup->names);
    return lookup->table ? 0 : -1;
}

int nvt_kinds_make(struct nvt_kinds *kinds, const struct nvt_trace *trace, int by_thread)
{
    struct lookup lookup = {.by_thread = by_thread};
    *kinds = (struct nvt_kinds){.of = new_table(trace->ranges.count)};
    int status = kinds->of ? prepare(&lookup, trace) : -1;
    for (uint32_t i = 0; i < trace->ranges.count && !status; i++) {
        uint32_t *kind = kind_at(&lookup, trace, i);
        if (kind && *kind == NVT_NONE)
            *kind = kinds->count++;
        if (kind)
            kinds->of[i] = *kind;
        status = kind ? 0 : -1;
    }
    nvt_map_free(&lookup.pairs);
    nvt_map_free(&lookup.map);
    free(lookup.numbers);
    free(lookup.table);
    return status;
}

void nvt_kinds_free(struct nvt_kinds *kinds)
{
    free(kinds->of);
    *kinds = (struct nvt_kinds){0};
}
