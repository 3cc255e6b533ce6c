#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#include "column.h"
#include "../../lib/map.h"
#include "../../lib/grow.h"
#include "sort.h"

static int reserve(void *items, uint32_t *capacity, uint32_t count, uint64_t more, size_t width)
{
    void **column = items;
    uint64_t wanted = count + more, twice = (uint64_t)*capacity * 2;
    if (wanted <= *capacity)
        return 0;
    if (wanted < twice)
        wanted = twice;
    if (wanted < 16)
        wanted = 16;
    if (wanted > UINT32_MAX - 1)
        return -1;
    void *grown = nvt_column_grow(*column, (size_t)wanted * width);
    if (!grown)
        return -1;
    *column = grown;
    *capacity = (uint32_t)wanted;
    return 0;
}

int nvt_lane_ranges_reserve(struct nvt_lane_ranges *ranges, uint64_t more)
{
    return reserve(&ranges->items, &ranges->capacity, ranges->count, more, sizeof(*ranges->items));
}

int nvt_lane_calls_reserve(struct nvt_lane_calls *calls, uint64_t more)
{
    return reserve(&calls->items, &calls->capacity, calls->count, more, sizeof(*calls->items));
}

int nvt_lanes_reserve_ops(struct nvt_lanes *lanes, uint64_t more)
{
    return reserve(&lanes->ops, &lanes->op_capacity, lanes->op_count, more, sizeof(*lanes->ops));
}

void nvt_lanes_free(struct nvt_lanes *lanes)
{
    for (uint32_t i = 0; lanes->items && i < lanes->count; i++) {
        nvt_column_free(lanes->items[i].ranges.items);
        nvt_column_free(lanes->items[i].calls.items);
    }
    for (uint32_t i = 0; lanes->ids && i < lanes->id_count; i++)
        nvt_column_free(lanes->ids[i].first);
    free(lanes->items);
    nvt_column_free(lanes->ops);
    free(lanes->ids);
    free(lanes->kinds);
    free(lanes->number);
    free(lanes->name);
    *lanes = (struct nvt_lanes){0};
}

/* --- kinds --- */

uint32_t nvt_lanes_add_kind(struct nvt_lanes *lanes, const struct nvt_lane_kind *kind)
{
    if (lanes->kind_count == NVT_NONE - NVT_LANE_KIND)
        return NVT_NONE;
    if (nvt_grow(&lanes->kinds, lanes->kind_count, sizeof(*lanes->kinds)))
        return NVT_NONE;
    lanes->kinds[lanes->kind_count] = *kind;
    return NVT_LANE_KIND | lanes->kind_count++;
}

/* --- which call launched what --- */

/* Ids lie as close as that, or there is no table for them. What is not written to takes addresses
 * only. */
#define IDS_A_CALL 8
#define IDS_MORE   (1u << 22)

static int make_tables(struct nvt_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->id_count; i++) {
        struct nvt_lane_ids *ids = &lanes->ids[i];
        if (ids->low > ids->high)
            continue;
        uint64_t size = (uint64_t)ids->high - ids->low + 1;
        if (size > (uint64_t)ids->calls * IDS_A_CALL + IDS_MORE)
            return 1;
        ids->first = nvt_column_grow(NULL, (size_t)size * sizeof(*ids->first));
        if (!ids->first)
            return -1;
    }
    return 0;
}

int nvt_lanes_link(struct nvt_lanes *lanes, const struct nvt_trace *trace)
{
    uint32_t strings = nvt_strings_count(trace->strings);
    int status = make_tables(lanes);
    lanes->number = malloc(((size_t)strings + 1) * sizeof(*lanes->number));
    lanes->name = malloc(((size_t)strings + 1) * sizeof(*lanes->name));
    if (!lanes->number || !lanes->name)
        return -1;
    memset(lanes->number, 0xff, strings * sizeof(*lanes->number));
    /* From the last to the first, so that those of a call are in the order of the file. */
    for (uint32_t i = lanes->op_count; !status && i-- > 0;) {
        struct nvt_lane_op *op = &lanes->ops[i];
        const struct nvt_lane_ids *ids = &lanes->ids[op->next];
        if (op->name < strings && lanes->number[op->name] == NVT_NONE) {
            lanes->name[lanes->names] = op->name;
            lanes->number[op->name] = lanes->names++;
        }
        uint32_t *first = op->id && op->id >= ids->low && op->id <= ids->high
                              ? &ids->first[op->id - ids->low]
                              : &lanes->loose;
        op->next = *first;
        *first = i + 1;
    }
    return status;
}

/* --- order --- */

/* The order of rows by these keys; *order NULL: they are in order. */
static int find_order(int64_t *start, int64_t *end, uint32_t count, uint32_t **order)
{
    *order = NULL;
    int status = start && end ? nvt_sort_order(start, end, count, order) : -1;
    nvt_column_free(start);
    nvt_column_free(end);
    return status;
}

#define DEFINE_SORT(what, end_of)                                                                  \
    static int sort_##what(struct nvt_lane_##what *rows)                                           \
    {                                                                                              \
        uint32_t *order;                                                                           \
        size_t room = (size_t)rows->count + 1;                                                     \
        int64_t *start = nvt_column_grow(NULL, room * sizeof(*start));                             \
        int64_t *end = nvt_column_grow(NULL, room * sizeof(*end));                                 \
        for (uint32_t i = 0; start && end && i < rows->count; i++) {                               \
            start[i] = rows->items[i].start;                                                       \
            end[i] = end_of;                                                                       \
        }                                                                                          \
        if (find_order(start, end, rows->count, &order))                                           \
            return -1;                                                                             \
        if (!order)                                                                                \
            return 0;                                                                              \
        void *sorted = nvt_column_grow(NULL, room * sizeof(*rows->items));                         \
        struct nvt_lane_##what old = *rows;                                                        \
        if (sorted) {                                                                              \
            rows->items = sorted;                                                                  \
            rows->capacity = rows->count;                                                          \
            for (uint32_t i = 0; i < rows->count; i++)                                             \
                rows->items[i] = old.items[order[i]];                                              \
            nvt_column_free(old.items);                                                            \
        }                                                                                          \
        free(order);                                                                               \
        return sorted ? 0 : -1;                                                                    \
    }
DEFINE_SORT(ranges, rows->items[i].end)
DEFINE_SORT(calls, start[i] + rows->items[i].length)

int nvt_lane_sort(struct nvt_lane *lane)
{
    return sort_ranges(&lane->ranges) || sort_calls(&lane->calls) ? -1 : 0;
}

/* --- from the model --- */

static int take_ranges(struct nvt_lanes *lanes, const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_map kinds = {0};
    int status = 0;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        struct nvt_lane_ranges *to = &lanes->items[ranges->thread[i]].ranges;
        const struct nvt_lane_kind kind = {ranges->domain[i], ranges->name[i], ranges->style[i]};
        uint32_t number = kind.name;
        if (kind.domain || kind.style != NVT_PUSH_POP) {
            /* There are fewer domains than 2^31: each takes more than two bytes. */
            uint64_t key = (uint64_t)(kind.domain * 2 + (kind.style != NVT_PUSH_POP)) << 32;
            uint32_t *known = nvt_map_at(&kinds, key | kind.name);
            if (known && *known == NVT_MAP_NONE)
                *known = nvt_lanes_add_kind(lanes, &kind);
            number = known ? *known : NVT_NONE;
        }
        status = number == NVT_NONE || nvt_lane_ranges_reserve(to, 1) ? -1 : 0;
        int is_open = kind.style == NVT_PUSH_POP && ranges->flags[i] & NVT_RANGE_UNCLOSED;
        /* It has to hold all that its thread still did. */
        if (!status && is_open && ranges->end[i] < trace->threads.last_ns[ranges->thread[i]])
            status = 1;
        if (!status)
            to->items[to->count++] = (struct nvt_lane_range){ranges->start[i], ranges->end[i],
                                                             number, is_open ? NVT_LANE_OPEN : 0};
    }
    nvt_map_free(&kinds);
    return status;
}

static int add_call(struct nvt_lanes *lanes, uint32_t thread, int64_t start, int64_t end,
                    uint32_t id)
{
    struct nvt_lane_calls *to = &lanes->items[thread].calls;
    if ((uint64_t)(end - start) > UINT32_MAX)
        return 1;
    if (nvt_lane_calls_reserve(to, 1))
        return -1;
    to->items[to->count++] = (struct nvt_lane_call){start, (uint32_t)(end - start), id};
    return 0;
}

/* Calls have their row + 1 for an id. What has no call on record, but a thread and a time, was
 * launched by one of no length, whose id is behind those. */
static int take_ops(struct nvt_lanes *lanes, const struct nvt_trace *trace, uint8_t *launches)
{
    const struct nvt_ops *ops = &trace->ops;
    uint64_t id = (uint64_t)trace->apis.count + 1;
    if (nvt_lanes_reserve_ops(lanes, ops->count))
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        uint64_t length = (uint64_t)(ops->end[i] - ops->start[i]);
        uint32_t call = ops->api[i], thread = ops->thread[i];
        struct nvt_lane_op *op = &lanes->ops[lanes->op_count++];
        *op = (struct nvt_lane_op){.start = ops->start[i],
                                   .length = (uint32_t)length,
                                   .name = ops->kind[i] == NVT_OP_KERNEL ? ops->name[i] : NVT_NONE};
        if (length > UINT32_MAX || id > UINT32_MAX - 2)
            return 1;
        if (call != NVT_NONE) {
            op->id = call + 1;
            launches[call] = 1;
        } else if (thread != NVT_NONE && ops->launch[i] != INT64_MIN) {
            op->id = (uint32_t)id++;
            lanes->items[thread].unsure = 1;
            if (add_call(lanes, thread, ops->launch[i], ops->launch[i], op->id))
                return -1;
        } else if (thread != NVT_NONE) {
            return 1; /* a thread, but no time */
        }
    }
    *lanes->ids = (struct nvt_lane_ids){1, (uint32_t)(id - 1), (uint32_t)(id - 1), NULL};
    return 0;
}

static int take_calls(struct nvt_lanes *lanes, const struct nvt_trace *trace,
                      const uint8_t *launches)
{
    const struct nvt_apis *apis = &trace->apis;
    int status = 0;
    for (uint32_t i = 0; i < apis->count && !status; i++)
        if (launches[i])
            status = add_call(lanes, apis->thread[i], apis->start[i], apis->end[i], i + 1);
    return status;
}

int nvt_lanes_of_trace(struct nvt_lanes *lanes, const struct nvt_trace *trace)
{
    uint8_t *launches = calloc((size_t)trace->apis.count + 1, 1);
    lanes->items = calloc((size_t)trace->threads.count + 1, sizeof(*lanes->items));
    lanes->ids = calloc(1, sizeof(*lanes->ids));
    lanes->id_count = 1;
    int status = launches && lanes->items && lanes->ids ? 0 : -1;
    if (!status) {
        lanes->count = trace->threads.count;
        for (uint32_t i = 0; i < lanes->count; i++)
            lanes->items[i].thread = i;
        status = take_ranges(lanes, trace);
    }
    if (!status)
        status = take_ops(lanes, trace, launches);
    if (!status)
        status = take_calls(lanes, trace, launches);
    if (!status)
        status = nvt_lanes_link(lanes, trace);
    free(launches);
    return status;
}
