/*
 * Values in groups: what summaries of traces are made of. A group is known by its key, a few numbers; names become
 * numbers that are equal in all traces.
 *
 * Use: nvt_groups_trace before each trace, nvt_groups_key and nvt_groups_add for each value, then
 * nvt_groups_finish and the summaries. Zero-initialise; release with nvt_groups_free.
 *
 * Groups carry a struct of the caller's where he wants more of them than values: with
 * {.item_size = sizeof(struct sum)} to begin with, nvt_groups_item has that of a group.
 */
#ifndef NVT_GROUPS_H
#define NVT_GROUPS_H

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../../lib/table.h"
#include "../../lib/map.h"
#include "trace.h"

/* Numbers of a key, at most. */
#define NVT_KEY_PARTS 8

/* Its values are kept in 32 bits as long as they fit, as durations mostly do. */
struct nvt_group {
    uint32_t key[NVT_KEY_PARTS];
    int64_t total;
    size_t count;          /* of its values, wherever they are */
    size_t kept, capacity; /* of those that are kept here */
    uint32_t *narrow;      /* or else wide */
    int64_t *wide;
    struct nvt_piece *pieces; /* values that lie elsewhere */
    uint32_t piece_count;
};

struct nvt_groups {
    size_t item_size; /* of the caller's struct, 0: none */
    struct nvt_strings *names;
    struct nvt_group *groups;
    char *items; /* the caller's, one a group */
    uint32_t count;
    struct nvt_map paths; /* node << 32 | part -> node: keys as a tree of their parts */
    uint32_t nodes;
    const struct nvt_trace *trace;
    uint32_t *translated; /* strings of the current trace -> names */
    uint32_t translated_count;
    void **owned; /* columns that slices are of */
    size_t owned_count;
    double *scratch; /* after nvt_groups_finish: room for the largest group */
    double total;    /* after nvt_groups_finish: what all groups have together */
    int failed;      /* out of memory, returned by nvt_groups_finish */
};

void nvt_groups_free(struct nvt_groups *groups);

/* From now on, numbers of strings are those of this trace. */
void nvt_groups_trace(struct nvt_groups *groups, const struct nvt_trace *trace);

/* Whether it ran out of memory, for who needs names alone and no nvt_groups_finish. */
static inline int nvt_groups_failed(const struct nvt_groups *groups)
{
    return groups->failed;
}

/* The number of a string of the current trace, and of any text. */
uint32_t nvt_groups_string(struct nvt_groups *groups, uint32_t string);
uint32_t nvt_groups_text(struct nvt_groups *groups, const char *text);

/* The text of such a number. */
const char *nvt_groups_name(const struct nvt_groups *groups, uint32_t name);

/* "domain:name" of a range of the current trace, as nsys writes it (":name" in the default
 * domain). */
uint32_t nvt_groups_range(struct nvt_groups *groups, uint32_t range);

/* "domain:name" of a domain and a name (a string of the current trace). */
uint32_t nvt_groups_named(struct nvt_groups *groups, uint32_t domain, uint32_t string);

/* The group with this key, added when new; all keys have as many parts. NVT_NONE when out of
 * memory, which the others take. */
uint32_t nvt_groups_key(struct nvt_groups *groups, const uint32_t *parts, int count);

/* The caller's struct of a group, which begins as zeros; valid until there is another group. NULL for NVT_NONE. */
static inline void *nvt_groups_item(const struct nvt_groups *groups, uint32_t group)
{
    return group == NVT_NONE ? NULL : groups->items + (size_t)group * groups->item_size;
}

/* Make room for a value, in 64 bits if it wants them. Of nvt_groups_add only. */
int nvt_group_grow(struct nvt_group *group, int64_t value);

/* Put a value into a group. */
static inline void nvt_groups_add(struct nvt_groups *groups, uint32_t group, int64_t value)
{
    if (group == NVT_NONE)
        return;
    struct nvt_group *to = &groups->groups[group];
    if ((to->kept == to->capacity || (to->narrow && (uint64_t)value > UINT32_MAX)) &&
        nvt_group_grow(to, value)) {
        groups->failed = 1;
        return;
    }
    if (to->narrow)
        to->narrow[to->kept++] = (uint32_t)value;
    else
        to->wide[to->kept++] = value;
    to->count++;
    to->total = nvt_clock_sum(to->total, value);
}

/* The durations of all rows of a table of the current trace, each in the group of its name. */
void nvt_groups_durations(struct nvt_groups *groups, uint32_t count, const uint32_t *names,
                          const int64_t *starts, const int64_t *ends);

/* The text of a part of a group's key that is one. */
static inline const char *nvt_groups_part(const struct nvt_groups *groups, uint32_t group,
                                          size_t part)
{
    return nvt_groups_name(groups, groups->groups[group].key[part]);
}

/* Put values into a group that lie elsewhere, until the groups are released; the same may be in
 * several groups. */
void nvt_groups_piece(struct nvt_groups *groups, uint32_t group, const struct nvt_piece *piece);

/* Free a column (analyze/model/column.h) with the groups. */
void nvt_groups_own(struct nvt_groups *groups, void *column);

/* Before the summaries. 0, or -1 with err filled: out of memory now or before. */
int nvt_groups_finish(struct nvt_groups *groups, struct nvt_error *err);

/* Summary of a group's values. */
struct nvt_summary nvt_groups_summary(struct nvt_groups *groups, uint32_t group);

#endif
